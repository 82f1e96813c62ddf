/* SPDX-License-Identifier: Apache-2.0 */
/*
 * octree_reference.c - the octree of `mam bench case` by a method other than the kernels': bodies
 * are sorted by their octants from the root down, so those of a cell are neighbors, and a cell with
 * two or more bodies is a node, except at the last level.
 *
 * The last reference is cached, as allocators take turns cell by cell.
 */
#include "octree_reference.h"

#include <math.h>
#include <stdlib.h>

#include "octree_bodies.h"

struct sorted {
	uint64_t key, place;
	uint32_t body;
};

struct cell {
	uint64_t centre;
	uint32_t mass;
	uint32_t children[8]; /* 0: empty; odd: half of it indexes `sorted`; otherwise a cell */
};

struct tree {
	struct octree_reference *found;
	struct sorted *sorted;
	struct cell *cells;
	uint32_t cell_count, cell_room;
	bool failed; /* memory ran out */
};

struct sums {
	uint64_t of[3];
	uint32_t mass;
};

static int compare(const void *a, const void *b)
{
	const struct sorted *one = a, *other = b;

	return (one->key > other->key) - (one->key < other->key);
}

static void sort(struct tree *tree, uint32_t bodies, uint32_t kind)
{
	uint32_t body, level;

	for (body = 0; body < bodies; body++) {
		struct sorted *const here = &tree->sorted[body];

		*here = (struct sorted){ .place = octree_place(body, kind), .body = body };
		for (level = 0; level < OCTREE_LEVELS; level++)
			here->key = here->key << 3 | octree_octant(here->place, level);
	}
	qsort(tree->sorted, bodies, sizeof(*tree->sorted), compare);
}

/* Returns the number of a new cell. */
static uint32_t add_cell(struct tree *tree)
{
	if (tree->cell_count == tree->cell_room) {
		const uint32_t room = tree->cell_room * 2 + 1024;
		struct cell *cells = realloc(tree->cells, room * sizeof(*cells));

		if (cells == NULL) {
			tree->failed = true;
			return 0;
		}
		tree->cells = cells;
		tree->cell_room = room;
	}
	tree->cells[tree->cell_count] = (struct cell){ .mass = 0 };
	return tree->cell_count++;
}

/*
 * Builds the bodies from `first` to before `end`, all in one cell at this level. Returns a cell's
 * child.
 */
static uint32_t build(struct tree *tree, uint32_t first, uint32_t end, uint32_t level,
		      struct sums *sums)
{
	struct octree_reference *const found = tree->found;
	uint32_t cell, i, k, from = first, upto;
	struct cell built = { .mass = 0 };

	if (end - first == 1 || level == OCTREE_LEVELS) {
		for (i = first; i < end; i++) {
			const uint32_t mass = octree_mass(tree->sorted[i].body);

			for (k = 0; k < 3; k++)
				sums->of[k] +=
					(uint64_t)mass * octree_axis(tree->sorted[i].place, k);
			sums->mass += mass;
		}
		return first << 1 | 1;
	}
	cell = add_cell(tree);
	if (tree->failed)
		return 0;
	for (i = 0; i < 8; i++) {
		struct sums part = { .mass = 0 };

		for (upto = from;
		     upto < end && octree_octant(tree->sorted[upto].place, level) == i;)
			upto++;
		if (upto == from)
			continue;
		built.children[i] = build(tree, from, upto, level + 1, &part);
		for (k = 0; k < 3; k++)
			sums->of[k] += part.of[k];
		sums->mass += part.mass;
		from = upto;
	}
	built.mass = sums->mass;
	built.centre = octree_pack((uint32_t)(sums->of[0] / built.mass),
				   (uint32_t)(sums->of[1] / built.mass),
				   (uint32_t)(sums->of[2] / built.mass));
	if (!tree->failed)
		tree->cells[cell] = built;
	found->count++;
	found->levels += level;
	found->sum += octree_value(tree->sorted[first].place, level, built.mass, built.centre);
	return cell << 1;
}

static void pull(struct octree_pulled *pulled, uint64_t place, uint64_t from, uint32_t mass)
{
	const double apart2 = (double)octree_distance2(place, from) + 1;
	const double strength = mass / (apart2 * sqrt(apart2));
	uint32_t i;

	for (i = 0; i < 3; i++)
		pulled->force[i] +=
			strength * ((double)octree_axis(from, i) - octree_axis(place, i));
	pulled->size += strength * sqrt(apart2 - 1);
	pulled->count++;
}

/* Adds all forces of a child of a cell at this level; the root is opened, however far. */
static void walk(const struct tree *tree, struct octree_pulled *pulled, uint64_t place,
		 uint32_t child, uint32_t level)
{
	const struct sorted *const sorted = tree->sorted;
	const struct cell *cell;
	uint32_t i;

	if (child % 2 == 1) {
		for (i = child / 2;
		     i < tree->found->bodies && sorted[i].key == sorted[child / 2].key; i++)
			pull(pulled, place, sorted[i].place, octree_mass(sorted[i].body));
		return;
	}
	cell = &tree->cells[child / 2];
	if (level > 0 && octree_is_far(place, cell->centre, level)) {
		pull(pulled, place, cell->centre, cell->mass);
		return;
	}
	for (i = 0; i < 8; i++) {
		if (cell->children[i] != 0)
			walk(tree, pulled, place, cell->children[i], level + 1);
	}
}

const struct octree_reference *octree_reference_of(uint32_t bodies, uint32_t kind, uint32_t users)
{
	static struct octree_reference known;
	struct tree tree = { .found = &known };
	struct sums sums = { .mass = 0 };
	uint32_t root, body;

	if (known.pulled != NULL && known.bodies == bodies && known.kind == kind &&
	    known.users == users)
		return &known;
	free(known.pulled);
	known = (struct octree_reference){ .bodies = bodies, .kind = kind, .users = users };
	known.pulled = calloc(users > 0 ? users : 1, sizeof(*known.pulled));
	tree.sorted = malloc((bodies > 0 ? bodies : 1) * sizeof(*tree.sorted));
	tree.failed = known.pulled == NULL || tree.sorted == NULL;
	if (!tree.failed && bodies > 0) {
		sort(&tree, bodies, kind);
		root = build(&tree, 0, bodies, 0, &sums);
		for (body = 0; body < users && !tree.failed; body++)
			walk(&tree, &known.pulled[body], octree_place(body, kind), root, 0);
	}
	free(tree.sorted);
	free(tree.cells);
	if (tree.failed) {
		free(known.pulled);
		known.pulled = NULL;
	}
	return tree.failed ? NULL : &known;
}
