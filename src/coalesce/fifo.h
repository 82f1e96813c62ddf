/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fifo.h - a queue of fixed capacity for all lanes of all kernels: 32-bit payloads, first in, first
 * out.
 *
 * Messages are numbered in the order in which they are put. The queue has the number of the head,
 * the complete last message (the tail: number and payload in one word), and an array in which
 * message n has its place at n modulo the capacity, 1 << shift. The next put moves a message into
 * the array. So if messages are put and taken one at a time, no lane reads the array.
 *
 * take:
 * 1. Read the head, then the tail. If the tail is the one before the head, the queue is empty.
 * 2. If the tail is the head, that is the message. Otherwise the message is in the array.
 * 3. Increment the head with a CAS. If it fails, another lane has taken the message; repeat from 1.
 * put:
 * 1. Read the tail, then the head. If the capacity is used up between them, the queue is full.
 * 2. Move the tail into the array with a CAS, over the message that is a capacity older. The CAS
 *    fails if another lane has already moved it.
 * 3. Replace the tail by the new message, with the next number, with a CAS. If it fails, another
 *    lane has put a message; repeat from 1.
 *
 * After Huang, Rodrigues, Jones, Buck, Hwu: Scalable SIMD-parallel memory allocation for many-core
 * machines, J. Supercomputing 64 (2013), section 5.2.1, except for two things:
 *
 * - There both read the head first. If a put reads the head, other lanes put and take, and then the
 *   put reads the tail, it sees more messages than the capacity. The comparison with the capacity
 *   misses that, the put continues, and the queue has one message too many. The next put then moves
 *   the tail over a message that no lane has taken: one payload is lost and another is taken twice.
 *   Read after the tail, the head is never older: see below.
 * - A take that sees more messages than the capacity, or another number in the array, knows that it
 *   is late, and does not try the CAS.
 *
 * Correctness. Head and tail only grow, each by one, and only by a CAS that finds the value its
 * lane has read. Let t be a tail that was read, h a head.
 *
 * - An empty queue's head is one above its tail, and the head is never further above: a take
 *   increments only a head that it saw at or below the tail.
 * - "Empty" is true: with h read before t, and t + 1 = h, the head cannot have moved until t was
 *   read, as there was nothing to take.
 * - "Full" is true: with t read before h, t - h + 1 = capacity, the tail cannot have moved until h
 *   was read, as there was no space for a put.
 * - Never more than the capacity: if the CAS of the tail finds t, t has been the tail since it was
 *   read, so also when h was, and the head is h or more now. If h is above t + 1, the tail has
 *   moved, and the CAS fails.
 * - Message n is in the array before n + 1 is the tail: the lane that puts n + 1 has moved n, or
 *   has seen that another lane did. So a take that sees a tail above h finds h there, or a newer
 *   message, and then its CAS would fail.
 * - A message that was not taken is not overwritten: n - capacity is overwritten only by n, by
 *   lanes that saw n as the tail and space for n + 1, so a head above n - capacity + 1.
 * - A lane that moves n late: its CAS succeeds only if n - capacity is still there. Then no lane
 *   has moved n, so n is still the tail, and the move is correct. Otherwise the CAS has no effect.
 * - A lane that stops forever before any of its steps leaves the queue as it was, or with a tail
 *   that is in the array already. Others see that, and continue.
 * - ABA: a payload may recur, but its number recurs only 2^32 messages later. Numbers wrap there
 *   and continue, as the capacity divides 2^32. A CAS would wrongly succeed if exactly a multiple
 *   of 2^32 messages passed since its lane read the value. That takes a minute at least, as one
 *   FIFO passes less than 10^8 per second.
 *
 * Memory order. A put's last CAS releases, and every change of the tail is a CAS. So a lane that
 * acquires the tail at message t or later observes all that the putters of t and of the messages
 * before wrote and had observed. That includes message h if a third lane moved h into the array. So
 * a take acquires by its read of the tail, and uses no message above the tail it read. The array
 * and the CAS of the head need no order, as only words that are read at once depend on them.
 *
 * A put's read of the tail acquires too, so that the head is not read before it. A take issues its
 * reads of both at the same time. If the head is read later nevertheless, "empty" means only that
 * all messages present at the begin of the call were taken by others, and a tail that is too far
 * below the head means that the take is late.
 *
 * Lock-free: a try fails only because another lane's succeeded. It is at most four accesses (take)
 * or five (put), three or four of them sequential. One lane may lose any number of
 * tries: with mam_fifo_try_put() and _try_take() the caller can do other work then.
 */
#ifndef MAM_COALESCE_FIFO_H
#define MAM_COALESCE_FIFO_H

#include "device/port_global.h"

/* Head, tail and array are in separate lines, so that they are in different parts of the cache. */
#define MAM_FIFO_LINE 128u
#define MAM_FIFO_SHIFT_MAX 16u

struct mam_fifo {
	uint32_t head; /* number of the next message to take; atomic */
	uint32_t shift;
	uint32_t pad0[MAM_FIFO_LINE / 4 - 2];
	uint64_t tail; /* the last message: number << 32 | payload; atomic */
	uint64_t pad1[MAM_FIFO_LINE / 8 - 1];
	/* After it: the array, in the same form; atomic. */
};

enum mam_fifo_answer {
	MAM_FIFO_DONE,
	MAM_FIFO_NOT,  /* a put: it was full; a take: it was empty */
	MAM_FIFO_LOST, /* another lane was faster; nothing has changed */
};

/* Bytes of device memory for 1 << shift messages, `shift` up to MAM_FIFO_SHIFT_MAX. */
MAM_KBOTH size_t mam_fifo_bytes(uint32_t shift)
{
	return sizeof(struct mam_fifo) +
	       (((size_t)8 << shift) + MAM_FIFO_LINE - 1) / MAM_FIFO_LINE * MAM_FIFO_LINE;
}

/* The place of message `number` in the array. */
MAM_KBOTH uint64_t *mam_fifo_place(struct mam_fifo *fifo, uint32_t shift, uint32_t number)
{
	return (uint64_t *)(fifo + 1) + (number & ((1u << shift) - 1));
}

/* By the host or one lane, in memory of that size: empty; `first` is the first message's number. */
MAM_KBOTH void mam_fifo_format(struct mam_fifo *fifo, uint32_t shift, uint32_t first)
{
	uint32_t i, number;

	fifo->head = first;
	fifo->shift = shift;
	fifo->tail = (uint64_t)(first - 1) << 32;
	/* As if all messages before had passed, except the tail, which is not in the array yet. */
	for (i = 0; i < 1u << shift; i++) {
		number = first - 1 + i;
		*mam_fifo_place(fifo, shift, number) = (uint64_t)(number - (1u << shift)) << 32;
	}
}

/* One try. */
MAM_KFN enum mam_fifo_answer mam_fifo_try_put(struct mam_fifo *fifo, uint32_t payload)
{
	uint32_t shift = mam_constant32(&fifo->shift), head, number;
	uint64_t tail = mam_atomic_load64(&fifo->tail, MAM_ACQUIRE, MAM_AT_DEVICE), old, *place;

	number = (uint32_t)(tail >> 32);
	place = mam_fifo_place(fifo, shift, number);
	head = mam_atomic_load32(&fifo->head, MAM_RELAXED, MAM_AT_DEVICE);
	/* Issued at the same time. */
	old = mam_atomic_load64(place, MAM_RELAXED, MAM_AT_DEVICE);
	if (number - head + 1 == 1u << shift)
		return MAM_FIFO_NOT;
	if ((uint32_t)(old >> 32) + (1u << shift) == number)
		(void)mam_atomic_cas64(place, old, tail, MAM_RELAXED, MAM_AT_DEVICE);
	return mam_atomic_cas64(&fifo->tail, tail, (uint64_t)(number + 1) << 32 | payload,
				MAM_RELEASE, MAM_AT_DEVICE) == tail
		       ? MAM_FIFO_DONE
		       : MAM_FIFO_LOST;
}

/* One try. Changes `*payload` only on success. */
MAM_KFN enum mam_fifo_answer mam_fifo_try_take(struct mam_fifo *fifo, uint32_t *payload)
{
	uint32_t shift = mam_constant32(&fifo->shift);
	uint32_t head = mam_atomic_load32(&fifo->head, MAM_RELAXED, MAM_AT_DEVICE), held;
	uint64_t message = mam_atomic_load64(&fifo->tail, MAM_ACQUIRE, MAM_AT_DEVICE);

	held = (uint32_t)(message >> 32) - head + 1;
	if (!held)
		return MAM_FIFO_NOT;
	if (held > 1u << shift)
		return MAM_FIFO_LOST;
	if (held > 1)
		message = mam_atomic_load64(mam_fifo_place(fifo, shift, head), MAM_RELAXED,
					    MAM_AT_DEVICE);
	if ((uint32_t)(message >> 32) != head ||
	    mam_atomic_cas32(&fifo->head, head, head + 1, MAM_RELAXED, MAM_AT_DEVICE) != head)
		return MAM_FIFO_LOST;
	*payload = (uint32_t)message;
	return MAM_FIFO_DONE;
}

/* Returns whether it was empty at some time since the call began. */
MAM_KFN bool mam_fifo_is_empty(struct mam_fifo *fifo)
{
	uint32_t head = mam_atomic_load32(&fifo->head, MAM_RELAXED, MAM_AT_DEVICE);
	uint64_t tail = mam_atomic_load64(&fifo->tail, MAM_ACQUIRE, MAM_AT_DEVICE);

	return (uint32_t)(tail >> 32) + 1 == head;
}

/* False: it was full. */
MAM_KFN bool mam_fifo_put(struct mam_fifo *fifo, uint32_t payload)
{
	enum mam_fifo_answer answer;

	MAM_ROLLED
	do
		answer = mam_fifo_try_put(fifo, payload);
	while (answer == MAM_FIFO_LOST);
	return answer == MAM_FIFO_DONE;
}

/* False: it was empty. */
MAM_KFN bool mam_fifo_take(struct mam_fifo *fifo, uint32_t *payload)
{
	enum mam_fifo_answer answer;

	MAM_ROLLED
	do
		answer = mam_fifo_try_take(fifo, payload);
	while (answer == MAM_FIFO_LOST);
	return answer == MAM_FIFO_DONE;
}

#endif
