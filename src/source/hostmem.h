/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem.h - how much memory the host has, and how much of it may be pinned.
 */
#ifndef MAM_SOURCE_HOSTMEM_H
#define MAM_SOURCE_HOSTMEM_H

#include <stdbool.h>
#include <stddef.h>

struct mam_hostmem {
	size_t total_bytes;     /* of the machine, or what its control group allows, if less */
	size_t available_bytes; /* of these, what could be had without swapping */
};

/*
 * mam_hostmem_read - reads ROOT/proc/meminfo, or asks the kernel where that cannot be read, and
 * ROOT/sys/fs/cgroup; ROOT is "" but in tests. False: neither answered.
 */
bool mam_hostmem_read(const char *root, struct mam_hostmem *host);

/* mam_hostmem_room - what may be pinned: all that is available but a quarter of the total. */
size_t mam_hostmem_room(const struct mam_hostmem *host);

#endif
