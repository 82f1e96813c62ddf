/* SPDX-License-Identifier: Apache-2.0 */
/*
 * octree_reference.h - what the octree of `mam bench case` must be, reckoned by the host.
 */
#ifndef MAM_TOOLS_BENCH_CASES_OCTREE_REFERENCE_H
#define MAM_TOOLS_BENCH_CASES_OCTREE_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

struct octree_pulled {
	double force[3];
	double size;    /* of all that pulled, whatever the direction */
	uint32_t count; /* of bodies and cells that did */
};

struct octree_reference {
	uint32_t bodies, kind, users;
	uint64_t count, levels, sum;  /* nodes; their levels; octree_value() of each */
	struct octree_pulled *pulled; /* on the first `users` bodies */
};

/* octree_reference_of - stays until another is asked for; NULL: memory ran out */
const struct octree_reference *octree_reference_of(uint32_t bodies, uint32_t kind, uint32_t users);

#endif
