/* SPDX-License-Identifier: Apache-2.0 */
/* oom_others.h - the memory of other processes of this user, for the out-of-memory report. */
#ifndef MAM_INTERPOSE_OOM_OTHERS_H
#define MAM_INTERPOSE_OOM_OTHERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mam_oom_other {
	pid_t process;
	uint64_t bytes; /* of all its GPUs */
	char program[64];
};

/*
 * Finds the running processes that use mam and have most memory, largest first. Returns their
 * number, at most `room`. They are found by their statistics pages (<mam/statpage.h>). NVML also
 * knows processes without mam, but is not used: loading and initializing it takes locks of the
 * dynamic linker and of the driver, which other threads may hold for any time.
 * Bound: 20 ms. One caller at a time.
 */
size_t mam_oom_others_find(struct mam_oom_other *others, size_t room);

#endif
