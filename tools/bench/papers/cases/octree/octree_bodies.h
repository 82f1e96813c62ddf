/* SPDX-License-Identifier: Apache-2.0 */
/*
 * octree_bodies.h - the bodies of the octree of `mam bench case`, as both the host and the kernels
 * compute them, and their shared definition of a node.
 *
 * A body is a number. Its coordinates are integers of OCTREE_LEVELS bits each, packed into one
 * word, so that sums over bodies do not depend on the order. There are OCTREE_CLUSTERS clusters.
 * The bodies of one are in cubes around its center, half as many in each as in the next, whose side
 * is twice as long: density falls with the square of the distance, as in globular clusters, and the
 * tree is deep where it is dense.
 */
#ifndef MAM_TOOLS_BENCH_CASES_OCTREE_BODIES_H
#define MAM_TOOLS_BENCH_CASES_OCTREE_BODIES_H

#include "bench/harness/mix.h"

#define OCTREE_LEVELS 21u /* bits of a coordinate; below them there is no cell */
#define OCTREE_CLUSTERS 64u
#define OCTREE_CUBES 12u
#define OCTREE_AXIS 0x1fffffu /* bits of one */

/* Where bodies are. */
enum octree_kind {
	OCTREE_CLUSTERED,
	OCTREE_ALIKE, /* all in one place */
	OCTREE_TWINS, /* two in each place */
};

struct octree_node {
	uint64_t children[8]; /* 0: empty; an odd number: a body; otherwise a node (octree.h) */
	uint64_t parent;      /* 0: this is the root */
	uint64_t sums[3];     /* of mass times coordinate */
	uint64_t centre;      /* of mass, packed as a body's coordinates are */
	uint32_t mass;
	uint32_t came; /* children that are done, while a kernel climbs */
};

MAM_KBOTH uint32_t octree_axis(uint64_t place, uint32_t axis)
{
	return (uint32_t)(place >> axis * OCTREE_LEVELS) & OCTREE_AXIS;
}

MAM_KBOTH uint64_t octree_pack(uint32_t x, uint32_t y, uint32_t z)
{
	return x | (uint64_t)y << OCTREE_LEVELS | (uint64_t)z << OCTREE_LEVELS * 2;
}

MAM_KBOTH uint32_t octree_coordinate(uint32_t body, uint32_t axis)
{
	const uint32_t quarter = OCTREE_AXIS / 4, chance = bench_mix(body * 4 + axis);
	const uint32_t cluster = bench_mix(body ^ 0x5bd1e995u) % OCTREE_CLUSTERS;
	const uint32_t middle =
		quarter + bench_mix(cluster * 4 + axis + 0x9e3779b9u) % (quarter * 2);
	uint32_t which = bench_mix(body + 0x3c6ef372u), half = quarter, i;

	for (i = 0; i < OCTREE_CUBES && which % 2 == 1; i++) {
		half /= 2;
		which /= 2;
	}
	return middle - half + chance % (half * 2);
}

MAM_KBOTH uint64_t octree_place(uint32_t body, uint32_t kind)
{
	const uint32_t which = kind == OCTREE_ALIKE ? 1 : kind == OCTREE_TWINS ? body / 2 : body;

	return octree_pack(octree_coordinate(which, 0), octree_coordinate(which, 1),
			   octree_coordinate(which, 2));
}

MAM_KBOTH uint32_t octree_mass(uint32_t body)
{
	return 1 + bench_mix(body ^ 0x68e31da4u) % 8;
}

/* The child that contains a place, of its cell at this level; the root's level is 0. */
MAM_KBOTH uint32_t octree_octant(uint64_t place, uint32_t level)
{
	const uint32_t bit = OCTREE_LEVELS - 1 - level;

	return ((uint32_t)(place >> bit) & 1u) |
	       ((uint32_t)(place >> (bit + OCTREE_LEVELS)) & 1u) << 1 |
	       ((uint32_t)(place >> (bit + OCTREE_LEVELS * 2)) & 1u) << 2;
}

MAM_KBOTH uint64_t octree_distance2(uint64_t a, uint64_t b)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		const int64_t d = (int64_t)octree_axis(a, i) - (int64_t)octree_axis(b, i);

		sum += (uint64_t)(d * d);
	}
	return sum;
}

/* Returns true if a cell is far enough to count as one body: farther than its side is long. */
MAM_KBOTH bool octree_is_far(uint64_t from, uint64_t centre, uint32_t level)
{
	const uint64_t side = (uint64_t)1 << (OCTREE_LEVELS - level);

	return side * side < octree_distance2(from, centre);
}

/*
 * A cell's contribution to an order-independent checksum of the cells and their contents; `place`
 * is any in it.
 */
MAM_KBOTH uint64_t octree_value(uint64_t place, uint32_t level, uint32_t mass, uint64_t centre)
{
	const uint32_t axis = OCTREE_AXIS >> (OCTREE_LEVELS - level) << (OCTREE_LEVELS - level);
	const uint64_t corner = place & octree_pack(axis, axis, axis);
	const uint32_t a = bench_mix((uint32_t)corner ^
				     bench_mix((uint32_t)(corner >> 32) + level * 0x9e3779b9u));
	const uint32_t b = bench_mix((uint32_t)centre ^
				     bench_mix((uint32_t)(centre >> 32) + mass * 0x85ebca6bu));

	return (uint64_t)a * (b | 1u);
}

#endif
