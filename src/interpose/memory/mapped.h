/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapped.h - mapped memory for the pools of mam run (--source=vmm).
 *
 * A program must not notice the source of its memory. So a device whose mapped memory would behave
 * differently from memory of cuMemAlloc keeps its chunks, and a message gives the reason.
 */
#ifndef MAM_INTERPOSE_MAPPED_H
#define MAM_INTERPOSE_MAPPED_H

#include <stdbool.h>

#include <mam/source.h>

/* Whether the pools of a device use mapped memory: the user selected it, and the device can. */
bool mam_mapped_is_possible(int device);

/* The driver cannot provide a pool with mapped memory of the device: it is not possible from now on. */
void mam_mapped_refuse(int device);

/*
 * Called when the program has enabled peer access. Mapped memory is accessible to peers in any case,
 * except with MAM_PEERS=none, which a message reports then.
 */
void mam_mapped_note_peer(void);

/* Whether other processes can open mapped memory of a device. */
bool mam_mapped_is_exportable(int device);

/*
 * Creates the source, in the current context: usable by all devices, by network cards if the device
 * can, and for export to other processes if it can. Maps a piece of memory as a trial.
 */
enum mam_status mam_mapped_create(int device, struct mam_source **source);

#endif
