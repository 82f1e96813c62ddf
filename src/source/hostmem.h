/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem.h - the size of the host's memory, and the part of it that may be pinned.
 */
#ifndef MAM_SOURCE_HOSTMEM_H
#define MAM_SOURCE_HOSTMEM_H

#include <stdbool.h>
#include <stddef.h>

struct mam_hostmem {
	size_t total_bytes;     /* of the machine, or the limit of its control group, if less */
	size_t available_bytes; /* part of the total that is available without swapping */
};

/*
 * mam_hostmem_read - read ROOT/proc/meminfo, or call sysinfo() if that cannot be read, and
 * ROOT/sys/fs/cgroup. ROOT is "" except in tests. False: neither worked.
 */
bool mam_hostmem_read(const char *root, struct mam_hostmem *host);

/* mam_hostmem_room - bytes that may be pinned: the available bytes minus a quarter of the total. */
size_t mam_hostmem_room(const struct mam_hostmem *host);

#endif
