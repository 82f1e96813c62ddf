/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.c - the layout of a flame graph.
 *
 * A stack may be as deep as a recursion of the program, so nothing here is recursive.
 */
#include "flame/flame.h"

#include <stdlib.h>

#define RECTS_STEP 256

/* A node as a child, for sorting. */
struct child {
	uint32_t parent;
	uint32_t node;
	double held;
};

/* By parent, and siblings in the reverse of the order in which they are drawn. */
static int compare(const void *left, const void *right)
{
	const struct child *a = left, *b = right;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->held != b->held)
		return a->held < b->held ? -1 : 1;
	return a->node > b->node ? -1 : a->node < b->node;
}

/* All nodes except the root, as children of their parents. */
static struct child *sort_children(const struct profile *profile)
{
	const uint32_t count = profile->node_count;
	struct child *children = calloc(count, sizeof(*children));

	if (!children)
		return NULL;
	for (uint32_t i = 1; i < count; i++)
		children[i] = (struct child){ profile->nodes[i].parent, i, 0 };
	for (uint32_t i = 0; i < profile->leaf_count; i++)
		children[profile->leaves[i].node].held = profile->leaves[i].held;
	for (uint32_t i = count; i-- > 1;)
		children[children[i].parent].held += children[i].held;
	qsort(children + 1, count - 1, sizeof(*children), compare);
	return children;
}

/*
 * Fill the arrays of `flame`. work[3 * count]: for each node, where its children begin; its place;
 * and the nodes whose turn comes.
 */
static void order(struct flame *flame, const struct profile *profile, const struct child *children,
		  uint32_t *work)
{
	const uint32_t count = profile->node_count;
	uint32_t *first = work, *places = first + count, *stack = places + count, waiting = 1;

	for (uint32_t i = 0; i < count; i++)
		first[i] = count;
	for (uint32_t i = count; i-- > 1;)
		first[children[i].parent] = i;
	stack[0] = 0;
	for (uint32_t at = 0; at < count; at++) {
		const uint32_t node = stack[--waiting];

		flame->nodes[at] = node;
		flame->ends[at] = at + 1;
		flame->depths[at] = 0;
		if (node)
			flame->depths[at] = flame->depths[places[profile->nodes[node].parent]] + 1;
		places[node] = at;
		for (uint32_t i = first[node]; i < count && children[i].parent == node; i++)
			stack[waiting++] = children[i].node;
	}
	for (uint32_t at = count; at-- > 1;) {
		const uint32_t parent = places[profile->nodes[flame->nodes[at]].parent];

		if (flame->ends[parent] < flame->ends[at])
			flame->ends[parent] = flame->ends[at];
	}
}

bool flame_init(struct flame *flame, const struct profile *profile)
{
	const size_t count = profile->node_count;
	struct child *children = sort_children(profile);
	uint32_t *work = malloc(3 * count * sizeof(*work));
	bool good;

	*flame = (struct flame){ .count = profile->node_count };
	flame->nodes = malloc(count * sizeof(*flame->nodes));
	flame->ends = malloc(count * sizeof(*flame->ends));
	flame->depths = malloc(count * sizeof(*flame->depths));
	good = children && work && flame->nodes && flame->ends && flame->depths;
	if (good)
		order(flame, profile, children, work);
	else
		flame_fini(flame);
	free(children);
	free(work);
	return good;
}

void flame_fini(struct flame *flame)
{
	free(flame->nodes);
	free(flame->ends);
	free(flame->depths);
	*flame = (struct flame){ 0 };
}

static bool add(struct flame_rects *rects, const struct flame_rect *rect)
{
	struct flame_rect *wider;

	if (rect->width < rects->narrowest)
		return true;
	if (rects->count == rects->room) {
		const size_t room = rects->room ? 2 * rects->room : RECTS_STEP;

		wider = realloc(rects->list, room * sizeof(*wider));
		if (!wider)
			return false;
		rects->list = wider;
		rects->room = room;
	}
	rects->list[rects->count++] = *rect;
	return true;
}

/* lefts[depth]: where the next rectangle of a depth begins. */
static bool place_all(const struct flame *flame, const double *total, struct flame_rects *rects,
		      double *lefts)
{
	const double scale = total[0] > 0 ? rects->width / total[0] : 0;
	struct flame_rect narrow = { .frames = 0 }; /* adjacent siblings so far */
	uint32_t at = 0;

	lefts[0] = 0;
	while (at < flame->count) {
		const uint32_t depth = flame->depths[at];
		struct flame_rect rect = { at, 1, depth, lefts[depth], total[at] * scale };

		lefts[depth] += rect.width;
		if (narrow.frames && (narrow.depth != depth || rect.width >= rects->narrowest)) {
			if (!add(rects, &narrow))
				return false;
			narrow.frames = 0;
		}
		if (rect.width >= rects->narrowest) {
			if (!add(rects, &rect))
				return false;
			if (depth + 1 < flame->count)
				lefts[depth + 1] = rect.x;
			at++;
			continue;
		}
		if (rect.width > 0) {
			rect.x = narrow.frames ? narrow.x : rect.x;
			rect.place = narrow.frames ? narrow.place : at;
			rect.width += narrow.frames ? narrow.width : 0;
			rect.frames += narrow.frames;
			narrow = rect;
		}
		at = flame->ends[at];
	}
	return !narrow.frames || add(rects, &narrow);
}

bool flame_layout(const struct flame *flame, const double *total, struct flame_rects *rects)
{
	double *lefts = malloc(flame->count * sizeof(*lefts));
	bool good = lefts && place_all(flame, total, rects, lefts);

	free(lefts);
	return good;
}
