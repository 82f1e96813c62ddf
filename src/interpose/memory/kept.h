/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.h - memory that the driver retains: freed memory in its stream-ordered pools, and the memory
 * of graphs.
 *
 * A graph with memory nodes holds no memory before it is launched. From then on the driver holds
 * its memory for all graphs of the device, until cuDeviceGraphMemTrim(). Only the driver knows how
 * much that is. Once the process has created a memory node, the account queries the driver's number
 * before each charge against the limit.
 * Threads: any. The guard is up.
 */
#ifndef MAM_INTERPOSE_KEPT_H
#define MAM_INTERPOSE_KEPT_H

#include <stdbool.h>
#include <stddef.h>

/* Records that the process has created a memory node of a graph. */
void mam_kept_note_graphs(void);

/* Whether a memory node exceeds the limit, so that no launch of its graph could stay within it. */
bool mam_kept_is_too_much(size_t bytes);

/*
 * Updates a device's account with the memory of graphs. Makes no driver call if there are no memory
 * nodes.
 */
void mam_kept_look(int device);

/*
 * mam_kept_trim - make the driver release the unused memory that it retains on a device. `over`:
 * the limit is reached rather than the device's capacity; only the memory of graphs counts toward
 * the limit. Returns false if there was nothing to call. pre: no capture restricts the calling
 * thread
 */
bool mam_kept_trim(int device, bool over);

#endif
