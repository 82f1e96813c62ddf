/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.h - one allocation that the driver serves. It is charged to the account, retried after pools
 * have released memory, and reported to the watchers.
 */
#ifndef MAM_INTERPOSE_PASS_H
#define MAM_INTERPOSE_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/memory/account.h"
#include "interpose/routes/table.h"
#include "interpose/watch/watch.h"

/*
 * A size that exceeds every device: the real function returns out of memory, and sets the runtime's
 * last error.
 */
#define MAM_PASS_TOO_MUCH ((size_t)1 << 60)

/* One call in progress. */
struct mam_pass {
	enum mam_table_id function;
	enum mam_road road;
	enum mam_account_kind kind;
	enum mam_why why; /* why no pool serves it; MAM_WHY_NONE: its kind is not pooled. In,
			     * out */
	size_t bytes;     /* as requested */
	size_t taken;     /* as the driver rounds it: the charge */
	void *stream;     /* NULL: not stream-ordered */
	bool is_placed;   /* the memory belongs to `device` and to no context */
	int device;       /* otherwise set to the device of the stream, or of the current
			     * context */
	/*
	 * Calls the real function for `bytes`, which may exceed every device, and sets *key (an
	 * address or a handle) if it succeeds. It passes the program's own pointers, so that a call
	 * that fails leaves them as the driver does.
	 */
	int (*ask)(void *arguments, size_t bytes, uint64_t *key);
	void *arguments;
	uint64_t key; /* out: after success */
};

/* Returns the driver's code. The caller has checked mam_init_passes(). */
int mam_pass_alloc(struct mam_pass *pass);

/* Frees the memory of `key` by calling `release` with it. Returns the driver's code. */
int mam_pass_free(enum mam_table_id function, enum mam_road road, enum mam_account_kind kind,
		  uint64_t key, int (*release)(uint64_t key));

/* Counts a call that does not allocate or free memory itself, or not yet. */
void mam_pass_watch(enum mam_table_id function, enum mam_road road, enum mam_why why, int answer);

/* Returns the size that the driver uses for device memory: small blocks share slabs of 2 MiB. */
size_t mam_pass_rounded(size_t bytes);

#endif
