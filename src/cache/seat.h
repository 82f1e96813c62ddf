/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seat.h - a thread's place at a pool's cache: its bins, and what it did with them.
 *
 * A thread has a seat at each pool that it uses, made at its first request there. The one it used
 * last is compared first. The owner works on its seat inside the handshake; everybody else holds
 * the cache's lock and has stopped the owner (handshake.h).
 *
 * A seat's memory is its thread's: it is given back when the thread ends. When the pool ends first
 * the seat stays, with no pool, until the thread needs one again.
 */
#ifndef MAM_CACHE_SEAT_H
#define MAM_CACHE_SEAT_H

#include "cache/bins.h"
#include "cache/handshake.h"
#include "pool/batch.h"

#define MAM_SEAT_SMALL 128 /* granules: up to here a thread takes more than it was asked for */

struct mam_cache;

struct mam_seat {
	struct mam_handshake hand;
	_Atomic(struct mam_pool *) pool; /* NULL: of none; written by others while stopped */

	/* lock: none, set when it is taken */
	struct mam_cache *cache;
	const void *owner;  /* tells threads apart: mam_seat_self() */
	uint64_t live_key;  /* of tags: mam_tag_live_key() */
	uint64_t round_up;  /* the pool's granule less 1 */
	uint64_t unit_mask; /* granules of 512 bytes in whole granules of the pool */

	/* thread, and others while it is stopped */
	uint64_t most;  /* granules that the bins may hold */
	uint64_t slack; /* a block of up to 1 / 2^slack more serves a request */
	struct mam_tally tally;
	struct mam_bins bins;
	uint8_t appetite[MAM_SEAT_SMALL + 1]; /* blocks to take more of, the next time */

	uint64_t turns; /* thread; count: times that the owner went to the pool */
	uint64_t seen;  /* lock: cache; the same, when somebody last looked */

	struct mam_seat *next, *previous; /* lock: cache; seats of one pool */
	struct mam_seat *of_thread;       /* thread; next of the thread's */
};

/* The seat a thread used last; one of no pool at first. */
extern _Thread_local struct mam_seat *mam_seat_last __attribute__((tls_model("initial-exec")));

static inline const void *mam_seat_self(void)
{
	return &mam_seat_last;
}

/* mam_seat_find - the calling thread's at a pool; NULL: it has none. */
struct mam_seat *mam_seat_find(const struct mam_pool *pool);

/* mam_seat_take - a new one in the thread's list, of no pool yet; NULL: no host memory. */
struct mam_seat *mam_seat_take(void);

/*
 * mam_seat_prepare - to be called before the first seat is taken. `on_exit` is called for each seat
 * of a thread that ends and that still has a pool.
 */
void mam_seat_prepare(void (*on_exit)(struct mam_seat *seat));

/* mam_seat_drop - in a fork's child: a seat of a thread that is not there. */
void mam_seat_drop(struct mam_seat *seat);

#endif
