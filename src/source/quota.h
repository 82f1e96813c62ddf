/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota.h - a number of bytes that several sources share (limit.c charges it, api/quota.c names it
 * to programs).
 *
 * A charge is one compare-and-swap, so that no lock stands between pools, and none can be caught by
 * a fork. What holds: `given` is the sum of what the sources that share it have given, and a charge
 * never takes it over `most`. It may be over `most` only after that was lowered.
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
	_Atomic size_t most;   /* bytes; SIZE_MAX: no limit */
	_Atomic size_t given;  /* bytes */
	_Atomic size_t owners; /* count: the sources that share it, and the program's own handle */
};

static inline bool mam_quota_charge(struct mam_quota *quota, size_t bytes)
{
	size_t given = atomic_load_explicit(&quota->given, memory_order_relaxed);

	do {
		size_t most = atomic_load_explicit(&quota->most, memory_order_relaxed);

		if (given > most || bytes > most - given)
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
	size_t most = atomic_load_explicit(&quota->most, memory_order_relaxed);
	size_t given = atomic_load_explicit(&quota->given, memory_order_relaxed);

	return given < most ? most - given : 0;
}

static inline void mam_quota_keep(struct mam_quota *quota)
{
	atomic_fetch_add(&quota->owners, 1);
}

/* The last owner to go frees it. */
static inline void mam_quota_leave(struct mam_quota *quota)
{
	if (atomic_fetch_sub(&quota->owners, 1) == 1)
		free(quota);
}

/*
 * mam_limit_share - a source around `inner` that charges `quota` for what it gives. owns_inner: it
 * ends with it; on failure `inner` is untouched. OUT_OF_HOST_MEMORY.
 */
enum mam_status mam_limit_share(struct mam_source *inner, bool owns_inner, struct mam_quota *quota,
				struct mam_source **source);

/*
 * mam_limit_refuses - whether the quota has less left than a grow of `bytes` takes. Of a source of
 * another kind: false.
 */
bool mam_limit_refuses(const struct mam_source *source, size_t bytes);

/*
 * mam_limit_lost - all that the source gave is gone with its device: it is charged no longer. Of a
 * source of another kind: nothing.
 */
void mam_limit_lost(struct mam_source *source);

#endif
