/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrong.h - faults in src/cache and src/stream and src/pool, of which at most one is active.
 *
 * wrong.tab lists the lines that are replaced, and wrong.awk writes the sources with these lines.
 */
#ifndef TESTS_STREAM_WRONG_H
#define TESTS_STREAM_WRONG_H

#include <stdbool.h>

enum wrong {
	NOTHING,
	/* src/stream/reclaim.c */
	PENDING_PASSES,  /* memory under a fence that has not passed is released */
	REFUSED_PASSES,  /* the same for memory whose fence the driver refused */
	FENCE_FIRST,     /* the fence is recorded before the open list is closed */
	HANDLE_ONLY,     /* a fence covers memory of the stream that had the handle before */
	OPEN_UNLOCKED,   /* the open list is replaced without the pool's lock */
	STREAM_UNLOCKED, /* memory leaves a stream without the stream lock */
	/* src/stream/stream.c */
	OWNER_BY_HANDLE, /* a stream uses memory of the stream that had its handle before */
	/* src/stream/borrow.c */
	NO_ORDER, /* a stream does not wait for the fence of the memory that it borrows */
	/* src/stream/drain.c */
	SWEEP_LATE, /* open memory is moved after the wait for all work */
	NO_WAIT,    /* there is no such wait */
	BURIED,     /* the record of an orphan is freed although a thread cache uses it */
	ENDS_EARLY, /* a pool ends without a wait for its streams' work */
	/* src/stream/pin.c */
	NOT_PINNED,     /* a thread cache does not keep the record */
	UNPIN_UNLOCKED, /* the count of pins changes without the pool's lock */
	PUT_UNLOCKED,   /* blocks join a stream's memory without it */
	/* src/pool/streamlist.c */
	OFFER_ENDED, /* a request uses the list that it was offered after that list has ended */
	DRAWS_ALL,   /* a block draws neighbors out of lists of other streams */
	/* src/cache/async.c */
	ID_UNKNOWN,  /* blocks of the bins serve another stream with the same handle */
	NOT_ENTERED, /* the owner does not enter its thread cache */
	EVICTS_LESS, /* a block of each eviction is forgotten */
	NOT_COUNTED, /* an eviction does not change the count of all bins */
};

extern enum wrong wrong_now;
bool wrong(enum wrong which);

#endif
