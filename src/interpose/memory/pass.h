/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.h - one allocation that stays the driver's: on the account, retried when pools can make
 * room, and told the watchers.
 */
#ifndef MAM_INTERPOSE_PASS_H
#define MAM_INTERPOSE_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/memory/account.h"
#include "interpose/routes/table.h"
#include "interpose/watch/watch.h"

/*
 * A size that no device has: the real function answers out of memory, and sets the runtime's last
 * error.
 */
#define MAM_PASS_TOO_MUCH ((size_t)1 << 60)

/* One call on its way. */
struct mam_pass {
	enum mam_table_id function;
	enum mam_road road;
	enum mam_account_kind kind;
	enum mam_why why;   /* why no pool serves it; MAM_WHY_NONE: its kind is the driver's. In, out */
	size_t bytes;       /* as asked for */
	size_t taken;       /* as the driver takes it: what is charged */
	void *stream;       /* NULL: not of a stream */
	bool is_placed;     /* it is memory of `device`, and of no context's */
	int device;         /* else that of the stream, or of the current context */
	/*
	 * Calls the real function for so many bytes, which may be more than there are anywhere, and
	 * sets *key (an address or a handle) when it succeeds. It passes the program's own pointers
	 * on, which a call that fails then leaves as the driver does.
	 */
	int (*ask)(void *arguments, size_t bytes, uint64_t *key);
	void *arguments;
	uint64_t key;       /* out: after success */
};

/* Returns the driver's code. mam_init_passes() was asked. */
int mam_pass_alloc(struct mam_pass *pass);

/* What lies under `key` is freed by `release`, called with it. Returns the driver's code. */
int mam_pass_free(enum mam_table_id function, enum mam_road road, enum mam_account_kind kind,
		  uint64_t key, int (*release)(uint64_t key));

/* A call that gives or takes no memory by itself, or none yet: counted only. */
void mam_pass_watch(enum mam_table_id function, enum mam_road road, enum mam_why why, int answer);

/* The size as the driver takes it for device memory: small blocks share slabs of 2 MiB. */
size_t mam_pass_rounded(size_t bytes);

#endif
