/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_tree_text.c - a view as a tree of text, callers above the functions that they call.
 */
#include <math.h>
#include <stdlib.h>

#include "profile/profile_view.h"

#define SHARE_MIN 0.01 /* smaller nodes are not printed */
#define INDENT_MAX 60  /* columns */

struct tree {
	const struct profile_view *view;
	double *value;               /* of each node with those below it */
	struct profile_amount *live; /* likewise */
	uint32_t *order;             /* nodes: children next to each other, the largest first */
	uint32_t *first;             /* of each node, its first child in `order` */
	uint32_t *count;             /* of each node, its children */
};

static const struct tree *sorting; /* of qsort() */

static int by_parent_and_value(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct profile_node *nodes = sorting->view->profile->nodes;
	double one = fabs(sorting->value[left]), other = fabs(sorting->value[right]);

	if (nodes[left].parent != nodes[right].parent)
		return nodes[left].parent < nodes[right].parent ? -1 : 1;
	if (one != other)
		return one < other ? 1 : -1;
	return (left > right) - (left < right);
}

static void sum(struct tree *tree)
{
	const struct profile *profile = tree->view->profile;

	for (uint32_t i = 0; i < profile->node_count; i++) {
		tree->value[i] = tree->view->value[i];
		tree->live[i] = tree->view->live[i];
	}
	for (uint32_t i = profile->node_count; i-- > 1;) {
		uint32_t parent = profile->nodes[i].parent;

		tree->value[parent] += tree->value[i];
		tree->live[parent].bytes += tree->live[i].bytes;
		tree->live[parent].count += tree->live[i].count;
	}
}

static void arrange(struct tree *tree)
{
	const struct profile *profile = tree->view->profile;

	for (uint32_t i = 1; i < profile->node_count; i++)
		tree->order[i - 1] = i;
	sorting = tree;
	qsort(tree->order, profile->node_count - 1, sizeof(*tree->order), by_parent_and_value);
	for (uint32_t i = profile->node_count - 1; i-- > 0;) {
		uint32_t parent = profile->nodes[tree->order[i]].parent;

		tree->first[parent] = i;
		tree->count[parent]++;
	}
}

static void put_node(FILE *file, const struct tree *tree, uint32_t node, uint32_t depth)
{
	const struct profile *profile = tree->view->profile;
	double total = fabs(tree->value[0]);

	fprintf(file, "%12s %6.1f%% %10s  %*s", profile_bytes(tree->live[node].bytes).text,
		total > 0 ? 100 * tree->value[node] / total : 0,
		profile_blocks(tree->live[node].count).text,
		(int)(2 * depth < INDENT_MAX ? 2 * depth : INDENT_MAX), "");
	profile_put_frame(file, profile, profile->nodes[node].frame);
	fputc('\n', file);
}

/* Print the nodes in order: `next` of each depth is the position of its next child in `order`. */
static bool put_nodes(FILE *file, const struct tree *tree)
{
	const struct profile *profile = tree->view->profile;
	uint32_t *done = calloc(profile->node_count, sizeof(*done));
	uint32_t node = 0, depth = 0;

	if (!done)
		return false;
	put_node(file, tree, 0, 0);
	for (;;) {
		uint32_t child;

		if (done[node] < tree->count[node]) {
			child = tree->order[tree->first[node] + done[node]++];
			if (fabs(tree->value[child]) < SHARE_MIN * fabs(tree->value[0]) ||
			    tree->value[child] == 0) {
				done[node] = tree->count[node]; /* the rest is smaller */
				continue;
			}
			node = child;
			put_node(file, tree, node, ++depth);
		} else if (node == 0) {
			break;
		} else {
			node = profile->nodes[node].parent;
			depth--;
		}
	}
	free(done);
	return true;
}

bool profile_write_tree(FILE *file, const struct profile_view *view)
{
	const uint32_t nodes = view->profile->node_count;
	struct tree tree = {
		.view = view,
		.value = malloc(nodes * sizeof(*tree.value)),
		.live = malloc(nodes * sizeof(*tree.live)),
		.order = malloc(nodes * sizeof(*tree.order)),
		.first = calloc(nodes, sizeof(*tree.first)),
		.count = calloc(nodes, sizeof(*tree.count)),
	};
	bool good = tree.value && tree.live && tree.order && tree.first && tree.count;

	if (good) {
		sum(&tree);
		arrange(&tree);
		fprintf(file, "%12s %7s %10s  %s\n", "bytes", "share", "blocks", "place");
		good = put_nodes(file, &tree);
	}
	free(tree.value);
	free(tree.live);
	free(tree.order);
	free(tree.first);
	free(tree.count);
	return good;
}
