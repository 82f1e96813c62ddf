/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scripted_source.h - a source for tests that follows a script, and records the calls that it gets.
 *
 * It returns addresses without memory, in a layout chosen by the test (chunks that touch one
 * another upward or downward, or are scattered). It refuses selected calls, blocks inside a call
 * until the test releases it, and aborts on forbidden calls. It checks the pool's side of the
 * contract of source.h: sizes that are multiples of the granularity, shrink of whole chunks only,
 * one grow or shrink at a time.
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
	SPACE_UP,       /* each chunk at the lowest address that fits: neighbors touch */
	SPACE_DOWN,     /* each chunk at the highest address that fits: later chunks are lower */
	SPACE_SCATTERED /* with gaps, in no order */
};

enum space_call { SPACE_GROW, SPACE_SHRINK, SPACE_QUIESCE, SPACE_CALLS };

struct space_piece {
	uintptr_t base;
	size_t bytes;
	size_t serial; /* n-th piece ever returned: a later piece at the same address differs */
};

struct space {
	struct mam_source source;
	enum space_layout layout;
	size_t total_bytes; /* maximum at one time; 0: no bound */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct space_piece piece[SPACE_PIECES]; /* currently in use by the pool; lock: lock */
	size_t pieces;
	size_t held_bytes;             /* sum of the pieces */
	size_t calls[SPACE_CALLS];     /* including refused ones */
	size_t all_calls;              /* sum over the kinds */
	size_t done[SPACE_CALLS];      /* returned MAM_OK */
	size_t refuse_at[SPACE_CALLS]; /* n-th call of the kind from the start, from 1; 0: none */
	size_t refuse_count[SPACE_CALLS]; /* number of consecutive calls */
	size_t refuse_any_at;             /* the same over all kinds together; 0: none */
	enum mam_status refuse_with;      /* the status of a refusal */
	bool stop_inside[SPACE_CALLS];    /* calls wait until this is false */
	uintptr_t kept;   /* base of the chunk whose shrink was refused last; 0: none */
	size_t inside;    /* calls that wait now */
	uint64_t scatter; /* state of the random generator */

	atomic_bool forbidden;   /* any call aborts the test */
	atomic_int in_exclusive; /* threads inside grow or shrink: at most one */
	atomic_size_t broken; /* times the pool broke source.h's contract; the first is printed */
	atomic_size_t destroyed; /* calls of destroy */
};

/*
 * space_init - granularity and alignment as specified (0: 512); afterwards &space->source is the
 * source.
 */
void space_init(struct space *space, enum space_layout layout, size_t granularity,
		size_t alignment);
void space_fini(struct space *space);

/* space_refuse - the `at`-th call of the kind from now and the count - 1 after it return `with`. */
void space_refuse(struct space *space, enum space_call kind, size_t at, size_t count,
		  enum mam_status with);
/* space_refuse_any - the `at`-th call of any kind from now returns `with`. */
void space_refuse_any(struct space *space, size_t at, enum mam_status with);
void space_refuse_none(struct space *space);

/* space_stop - calls of the kind block inside until space_go. */
void space_stop(struct space *space, enum space_call kind);
void space_go(struct space *space, enum space_call kind);
/* space_wait_inside - wait until a call blocks; false after ten seconds. */
bool space_wait_inside(struct space *space);

#endif
