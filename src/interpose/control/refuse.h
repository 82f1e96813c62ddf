/* SPDX-License-Identifier: Apache-2.0 */
/* refuse.h - whether the memory of this process can be suspended. */
#ifndef MAM_INTERPOSE_REFUSE_H
#define MAM_INTERPOSE_REFUSE_H

/*
 * Returns NULL if all memory of the pools can leave the device, otherwise why not: it is not mapped
 * in pieces, or another process or device can use it at any time.
 */
const char *mam_refuse_why(void);

#endif
