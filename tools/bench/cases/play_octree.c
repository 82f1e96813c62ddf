/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_octree.c - not there yet.
 */
#include "cases.h"

void case_plan_octree(struct device_plan *plan)
{
	(void)plan;
}

bool case_play_octree(struct device_run *run, struct device_heap *heap,
		      const struct device_cell *cell)
{
	(void)run;
	(void)heap;
	(void)cell;
	return true;
}
