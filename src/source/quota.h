/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota.h - a limit in bytes that several sources share (limit.c charges it, api/quota.c exposes it
 * to programs).
 *
 * A charge is one compare-and-swap, so pools share no lock, and a fork cannot leave one locked.
 * Invariant: `given` is the sum of the bytes that the sharing sources have allocated, and a charge
 * never raises it above `most`. It may exceed `most` only after `most` was lowered.
 */
#ifndef MAM_SOURCE_QUOTA_H
#define MAM_SOURCE_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <mam/source.h>

struct mam_quota {
	_Atomic size_t max;    /* bytes; SIZE_MAX: no limit */
	_Atomic size_t given;  /* bytes */
	_Atomic size_t owners; /* count: the sources that share it, and the program's own handle */
};

static inline bool mam_quota_charge(struct mam_quota *quota, size_t bytes)
{
	size_t given = atomic_load_explicit(&quota->given, memory_order_relaxed);

	do {
		size_t max = atomic_load_explicit(&quota->max, memory_order_relaxed);

		if (given > max || bytes > max - given)
			return false;
	} while (!atomic_compare_exchange_weak(&quota->given, &given, given + bytes));
	return true;
}

static inline void mam_quota_discharge(struct mam_quota *quota, size_t bytes)
{
	atomic_fetch_sub(&quota->given, bytes);
}

static inline size_t mam_quota_left(struct mam_quota *quota)
{
	size_t max = atomic_load_explicit(&quota->max, memory_order_relaxed);
	size_t given = atomic_load_explicit(&quota->given, memory_order_relaxed);

	return given < max ? max - given : 0;
}

static inline void mam_quota_keep(struct mam_quota *quota)
{
	atomic_fetch_add(&quota->owners, 1);
}

/* The last owner frees it. */
static inline void mam_quota_leave(struct mam_quota *quota)
{
	if (atomic_fetch_sub(&quota->owners, 1) == 1)
		free(quota);
}

/*
 * mam_limit_share - a source around `inner` that charges `quota` for its allocations. owns_inner:
 * destroying the source destroys `inner` too. On failure `inner` is unchanged. OUT_OF_HOST_MEMORY.
 */
enum mam_status mam_limit_share(struct mam_source *inner, bool owns_inner, struct mam_quota *quota,
				struct mam_source **source);

/*
 * mam_limit_refuses - whether a grow of `bytes` exceeds the rest of the quota. False for sources of
 * another kind.
 */
bool mam_limit_refuses(const struct mam_source *source, size_t bytes);

/*
 * mam_limit_lost - all memory of the source is gone with its device: discharge it. No effect on
 * sources of another kind.
 */
void mam_limit_lost(struct mam_source *source);

#endif
