/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scripted_source.h - a source for tests that does what it is told, and remembers what was asked of it.
 *
 * It hands out addresses with nothing behind them, in a layout chosen by the test (chunks that touch one another
 * upward or downward, or lie scattered), refuses at chosen calls, stops inside a call until let go, and aborts on
 * calls it was told must not come. It checks the pool's side of the contract of source.h: sizes that are multiples
 * of the granularity, shrink of whole chunks only, one grow or shrink at a time.
 */
#ifndef TESTS_POOL_SCRIPTED_SOURCE_H
#define TESTS_POOL_SCRIPTED_SOURCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/source.h>

#define SPACE_PIECES 512

enum space_layout {
	SPACE_UP,       /* each chunk at the lowest address that fits: neighbours touch */
	SPACE_DOWN,     /* each chunk at the highest address that fits: later chunks lie lower */
	SPACE_SCATTERED /* with gaps, in no order */
};

enum space_call { SPACE_GROW, SPACE_SHRINK, SPACE_QUIESCE, SPACE_CALLS };

struct space_piece {
	uintptr_t base;
	size_t bytes;
	size_t serial; /* n-th piece ever given: tells a piece from a later one in its place */
};

struct space {
	struct mam_source source;
	enum space_layout layout;
	size_t total_bytes; /* most it gives at once; 0: no bound */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct space_piece piece[SPACE_PIECES]; /* given out now; lock: lock */
	size_t pieces;
	size_t held_bytes;             /* sum of the pieces */
	size_t calls[SPACE_CALLS];     /* made, refused ones too */
	size_t all_calls;              /* sum over the kinds */
	size_t done[SPACE_CALLS];      /* answered MAM_OK */
	size_t refuse_at[SPACE_CALLS]; /* n-th call of the kind from the start, from 1; 0: none */
	size_t refuse_count[SPACE_CALLS]; /* how many in a row */
	size_t refuse_any_at;             /* the same over all kinds together; 0: none */
	enum mam_status refuse_with;      /* the answer when refusing */
	bool stop_inside[SPACE_CALLS];    /* calls wait until this is false */
	uintptr_t kept;   /* base of the chunk whose shrink was refused last; 0: none */
	size_t inside;    /* calls waiting now */
	uint64_t scatter; /* state of the scattering */

	atomic_bool forbidden;   /* any call aborts the test */
	atomic_int in_exclusive; /* threads inside grow or shrink: at most one */
	atomic_size_t broken; /* times the pool broke source.h's contract; the first is printed */
	atomic_size_t destroyed; /* calls of destroy */
};

/* space_init - granularity and alignment as given (0: 512); afterwards &ground->source is the source. */
void space_init(struct space *space, enum space_layout layout, size_t granularity,
		size_t alignment);
void space_fini(struct space *space);

/* space_refuse - the `at`-th call of the kind from now and the count - 1 after it answer `with`. */
void space_refuse(struct space *space, enum space_call kind, size_t at, size_t count,
		  enum mam_status with);
/* space_refuse_any - the `at`-th call of any kind from now answers `with`. */
void space_refuse_any(struct space *space, size_t at, enum mam_status with);
void space_refuse_none(struct space *space);

/* space_stop - calls of the kind stay inside until space_go. */
void space_stop(struct space *space, enum space_call kind);
void space_go(struct space *space, enum space_call kind);
/* space_wait_inside - until a call waits; false after ten seconds. */
bool space_wait_inside(struct space *space);

#endif
