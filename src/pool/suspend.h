/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suspend.h - the pool's part of mam_pool_suspend() and mam_pool_resume(): the memory of a pool is
 * released to the source, and its addresses stay. src/suspend has the steps, and the contents.
 *
 *   pieces of a part      [ blocks ][ blocks, free ][   unmapped   ][ blocks ]
 *   the pool's records       stay, and frees change them as always
 *   suspended                released   released                      released
 *
 * A suspended pool allocates nothing: each path of an allocation ends at pool->suspended, under the
 * pool's lock (space.c, stream/stream.c). Thread caches are empty and stay so (cache/cache.c). So a
 * free needs no memory: it changes records as always, and its block is free memory without memory
 * until the pool is resumed. No piece is mapped, moved or released by other functions meanwhile, so
 * the tables of pieces stay as they are. Nothing looks whether a piece is suspended, except the
 * counts: a table's bytes are physical_bytes + suspended_bytes.
 *
 * A lazy suspension only makes allocations fail, until another pool needs the memory (api/oom.c).
 *
 * Pieces that are entirely free are released as by a trim, before the others; those that become
 * free later are not mapped again. A piece that is mapped at two addresses, because the source
 * refused to unmap one, is not suspended.
 *
 * lock: grow_lock is held by all callers and changes all fields below, except where noted.
 */
#ifndef MAM_POOL_SUSPEND_H
#define MAM_POOL_SUSPEND_H

#include "pool/range.h"

enum mam_suspended_state {
	MAM_SUSPENDED_OUT,    /* not mapped */
	MAM_SUSPENDED_MAPPED, /* mapped again, without its contents */
	MAM_SUSPENDED_LOADED, /* mapped, with its contents */
	MAM_SUSPENDED_GONE    /* all of it was freed: its addresses belong to the unmapped ones */
};

struct mam_suspended {
	struct mam_piece piece;
	uint64_t offset; /* sum of the bytes of the pieces before it */
	unsigned part;
	enum mam_suspended_state state;
};

struct mam_suspension {
	struct mam_suspended *pieces; /* from malloc() */
	size_t count;
	uint64_t bytes; /* sum of all pieces */
	/*
	 * Of a lazy suspension, which has no pieces: suspend the pool now, because others need its
	 * memory; NULL: it is suspended. grow_lock is held.
	 */
	enum mam_status (*spill)(struct mam_pool *pool);
	uint64_t since; /* lazy suspensions of the process, in order; counted from 1 */
	/* Frees it. `abandoned`: no driver call, as the context is gone. */
	void (*end)(struct mam_suspension *suspension, bool abandoned);
};

/*
 * mam_suspend_set - from now on allocations fail, or no longer. DESTROYED. Without grow_lock: only
 * to set it in advance.
 */
enum mam_status mam_suspend_set(struct mam_pool *pool, bool suspended);

/*
 * mam_suspend_settle - empty the caches and the stream free lists, wait for all work of the source's
 * context, and release the pieces that are free. Errors of the wait; of the release: none.
 */
enum mam_status mam_suspend_settle(struct mam_pool *pool);

/* mam_suspend_list - list the pieces, all LOADED. OUT_OF_HOST_MEMORY. */
enum mam_status mam_suspend_list(const struct mam_pool *pool, struct mam_suspension *suspension);

/*
 * mam_suspend_release - unmap a piece that is mapped; then it is OUT. On errors nothing changed.
 * mam_suspend_map - map one that is OUT; then it is MAPPED, or GONE if all of it is free by now.
 * OUT_OF_MEMORY (also: the pool's limit), DRIVER: nothing changed.
 */
enum mam_status mam_suspend_release(struct mam_pool *pool, struct mam_suspended *suspended);
enum mam_status mam_suspend_map(struct mam_pool *pool, struct mam_suspended *suspended);

/* mam_suspend_is_free - whether all of the piece is free, so that its contents are not needed. */
bool mam_suspend_is_free(struct mam_pool *pool, const struct mam_suspended *suspended);

/* mam_suspend_keep - the pool has this suspension; NULL: no longer any. */
void mam_suspend_keep(struct mam_pool *pool, struct mam_suspension *suspension);

/* mam_suspend_end - the pool has ended: free its suspension, and the host memory that it kept. */
void mam_suspend_end(struct mam_pool *pool, bool abandoned);

#endif
