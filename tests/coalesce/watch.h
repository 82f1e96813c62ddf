/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - a FIFO that is compared with a model after each atomic of device code. To be included
 * before any header of device code except stop.h, which it includes.
 *
 * 1. The head moved: by one, and the lane that moved it must return the model's first message. The
 *    tail moved: by one, and the model has another message.
 * 2. Never more messages than the capacity, and never fewer than 0; each message except the last is
 *    in the array.
 * 3. For each lane inside a call the watch records whether the queue was full, or empty, or moved,
 *    at any time since the call began: the lane's result must be justified by that.
 * 4. Lanes sleep sometimes before an atomic, some of them for a long time (watch.naps).
 */
#ifndef MAM_TESTS_COALESCE_WATCH_H
#define MAM_TESTS_COALESCE_WATCH_H

#include <string.h>

#include "heap/stop.h"
#include "simt/simt.h"

#define WATCH_MESSAGES 64u

struct watch_lane {
	bool inside, was_full, was_empty, head_moved, tail_moved;
	bool due; /* it has moved the head past `payload` */
	bool put; /* it has moved the tail */
	uint32_t payload;
	uint32_t atomics; /* since the call began */
};

static struct {
	const uint32_t *head; /* NULL: no FIFO is watched */
	const uint64_t *tail, *array;
	uint32_t capacity;
	uint32_t front, back; /* the model's numbers: of the head, of the tail */
	uint32_t payload[WATCH_MESSAGES];
	uint32_t lanes, naps; /* lanes; one of `naps` atomics is preceded by a sleep; 0: none */
	struct watch_lane lane[STOP_LANES];
	/* Counts over all runs. */
	uint64_t full, empty, lost, wrapped;
} watch;

/* The current state counts for a call that has just begun, and for all calls in progress. */
STOP_UNSEEN void watch_note(struct watch_lane *lane)
{
	uint32_t held = watch.back - watch.front + 1;

	lane->was_full |= held == watch.capacity;
	lane->was_empty |= held == 0;
}

STOP_UNSEEN void watch_look(void)
{
	struct watch_lane *self = &watch.lane[stop_self()];
	bool taken, put;
	uint32_t i, number;

	self->atomics++;
	if (!watch.head)
		return;
	taken = *watch.head != watch.front;
	put = *watch.tail >> 32 != watch.back;
	if (taken) {
		if (*watch.head != watch.front + 1 || self->due)
			simt_fail("the head moved by more than one", SIMT_SITE);
		self->due = true;
		self->payload = watch.payload[watch.front % WATCH_MESSAGES];
		watch.front++;
		watch.wrapped += !watch.front;
	}
	if (put) {
		if (*watch.tail >> 32 != (uint32_t)(watch.back + 1) || self->put)
			simt_fail("the tail moved by more than one", SIMT_SITE);
		self->put = true;
		watch.back++;
		watch.payload[watch.back % WATCH_MESSAGES] = (uint32_t)*watch.tail;
	}
	if (watch.back - watch.front + 1 > watch.capacity)
		simt_fail("the length exceeds the capacity or is negative", SIMT_SITE);
	for (number = watch.front; number - watch.front < watch.back - watch.front + 1; number++)
		if (number != watch.back &&
		    watch.array[number % watch.capacity] !=
			    ((uint64_t)number << 32 | watch.payload[number % WATCH_MESSAGES]))
			simt_fail("a message is not in its place", SIMT_SITE);
	for (i = 0; i < watch.lanes; i++) {
		if (!watch.lane[i].inside)
			continue;
		watch.lane[i].head_moved |= taken;
		watch.lane[i].tail_moved |= put;
		watch_note(&watch.lane[i]);
	}
}

STOP_UNSEEN void watch_nap(void)
{
	if (watch.naps && simt_random() % watch.naps == 0)
		simt_nanosleep(1u << simt_random() % 10, "naps");
}

STOP_UNSEEN uint64_t watch_atomic(volatile void *where, unsigned int bytes, enum simt_op op,
				  uint64_t operand, uint64_t expected, enum simt_order order,
				  enum simt_scope scope, const char *site)
{
	uint64_t old;

	watch_nap();
	stop_point();
	old = simt_atomic(where, bytes, op, operand, expected, order, scope, site);
	watch_look();
	return old;
}

#undef SIMT_AT32
#undef SIMT_AT64
#define SIMT_AT32(where, op, operand, expected, order, scope) \
	((uint32_t)watch_atomic(SIMT_P32(where), 4, op, operand, expected, order, scope, SIMT_SITE))
#define SIMT_AT64(where, op, operand, expected, order, scope) \
	watch_atomic(SIMT_P64(where), 8, op, operand, expected, order, scope, SIMT_SITE)

#include "coalesce/fifo.h"

/* An empty FIFO that was just formatted, for this number of lanes. */
STOP_UNSEEN void watch_begin(struct mam_fifo *fifo, uint32_t lanes)
{
	watch.head = &fifo->head;
	watch.tail = &fifo->tail;
	watch.array = (const uint64_t *)(fifo + 1);
	watch.capacity = 1u << fifo->shift;
	watch.front = fifo->head;
	watch.back = fifo->head - 1;
	watch.lanes = lanes;
	memset(watch.lane, 0, sizeof(watch.lane));
}

STOP_UNSEEN void watch_enter(void)
{
	struct watch_lane *self = &watch.lane[stop_self()];

	memset(self, 0, sizeof(*self));
	self->inside = true;
	watch_note(self);
}

STOP_UNSEEN void watch_left_put(enum mam_fifo_answer answer)
{
	struct watch_lane *self = &watch.lane[stop_self()];

	self->inside = false;
	MAM_KASSERT(self->put == (answer == MAM_FIFO_DONE) && !self->due);
	MAM_KASSERT(answer != MAM_FIFO_NOT || self->was_full);
	MAM_KASSERT(answer != MAM_FIFO_LOST || self->tail_moved);
	watch.full += answer == MAM_FIFO_NOT;
	watch.lost += answer == MAM_FIFO_LOST || self->atomics > 5;
}

STOP_UNSEEN void watch_left_take(enum mam_fifo_answer answer, uint32_t payload)
{
	struct watch_lane *self = &watch.lane[stop_self()];

	self->inside = false;
	MAM_KASSERT(self->due == (answer == MAM_FIFO_DONE) && !self->put);
	MAM_KASSERT(!self->due || self->payload == payload);
	MAM_KASSERT(answer != MAM_FIFO_NOT || self->was_empty);
	MAM_KASSERT(answer != MAM_FIFO_LOST || self->head_moved);
	watch.empty += answer == MAM_FIFO_NOT;
	watch.lost += answer == MAM_FIFO_LOST || self->atomics > 4;
}

static inline bool watch_put(struct mam_fifo *fifo, uint32_t payload)
{
	bool done;

	watch_enter();
	done = mam_fifo_put(fifo, payload);
	watch_left_put(done ? MAM_FIFO_DONE : MAM_FIFO_NOT);
	return done;
}

static inline bool watch_take(struct mam_fifo *fifo, uint32_t *payload)
{
	bool done;

	watch_enter();
	done = mam_fifo_take(fifo, payload);
	watch_left_take(done ? MAM_FIFO_DONE : MAM_FIFO_NOT, *payload);
	return done;
}

/* One try: at most five accesses. */
static inline enum mam_fifo_answer watch_try_put(struct mam_fifo *fifo, uint32_t payload)
{
	enum mam_fifo_answer answer;

	watch_enter();
	answer = mam_fifo_try_put(fifo, payload);
	MAM_KASSERT(watch.lane[stop_self()].atomics <= 5);
	watch_left_put(answer);
	return answer;
}

/* At most four accesses. */
static inline enum mam_fifo_answer watch_try_take(struct mam_fifo *fifo, uint32_t *payload)
{
	enum mam_fifo_answer answer;

	watch_enter();
	answer = mam_fifo_try_take(fifo, payload);
	MAM_KASSERT(watch.lane[stop_self()].atomics <= 4);
	watch_left_take(answer, *payload);
	return answer;
}

#endif
