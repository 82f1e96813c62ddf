/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.h - memory that the driver keeps for itself: freed memory in its stream-ordered pools, and the
 * memory of graphs.
 *
 * A graph with memory nodes holds no memory before it is launched. From then on the driver holds it
 * for all graphs of the device, until cuDeviceGraphMemTrim(). How much that is, only the driver knows.
 * Once the process has made a memory node, the account gets the driver's number before each charge
 * against the limit.
 * Threads: any. The guard is up.
 */
#ifndef MAM_INTERPOSE_KEPT_H
#define MAM_INTERPOSE_KEPT_H

#include <stdbool.h>
#include <stddef.h>

/* The process has made a memory node of a graph. */
void mam_kept_note_graphs(void);

/* Whether a memory node is larger than the limit: no launch of its graph could stay within it. */
bool mam_kept_is_too_much(size_t bytes);

/* Updates the account of a device with what graphs hold. No call to the driver without memory nodes. */
void mam_kept_look(int device);

/*
 * mam_kept_trim - make the driver release what it keeps of a device and nothing uses. `over`: it is
 * the limit that is reached, and not the device; only the memory of graphs counts under the limit.
 * False: there was nothing to call. pre: no capture restricts the calling thread
 */
bool mam_kept_trim(int device, bool over);

#endif
