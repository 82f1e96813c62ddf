/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h - lanes in a binary heap, ordered by the smallest key, and by the smallest number among
 * equal keys. A lane is in one heap at most and knows its position there. log2 of the size per
 * call.
 */
#ifndef MAM_TESTS_SIMT_HEAP_H
#define MAM_TESTS_SIMT_HEAP_H

#include "simt/lane.h"

void simt_heap_add(struct simt_lane **heap, uint32_t *count, struct simt_lane *lane);
void simt_heap_remove(struct simt_lane **heap, uint32_t *count, struct simt_lane *lane);

#endif
