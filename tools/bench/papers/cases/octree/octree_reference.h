/* SPDX-License-Identifier: Apache-2.0 */
/*
 * octree_reference.h - the expected octree of `mam bench case`, computed by the host.
 */
#ifndef MAM_TOOLS_BENCH_CASES_OCTREE_REFERENCE_H
#define MAM_TOOLS_BENCH_CASES_OCTREE_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

struct octree_pulled {
	double force[3];
	double size;    /* the sum of the magnitudes of all forces, whatever their direction */
	uint32_t count; /* of bodies and cells that exerted them */
};

struct octree_reference {
	uint32_t bodies, kind, users;
	uint64_t count, levels, sum;  /* nodes; their levels; octree_value() of each */
	struct octree_pulled *pulled; /* on the first `users` bodies */
};

/* octree_reference_of - the reference, valid until the next call; NULL if memory ran out */
const struct octree_reference *octree_reference_of(uint32_t bodies, uint32_t kind, uint32_t users);

#endif
