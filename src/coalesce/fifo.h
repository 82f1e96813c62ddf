/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fifo.h - a queue of fixed capacity for all lanes of all kernels: 32-bit payloads, first in, first
 * out.
 *
 * Messages are numbered in the order in which they come in. There is the number of the head, the
 * whole of the last message (the tail: number and payload in one word), and an array in which
 * message n has its place at n modulo the capacity, 1 << shift. The array gets a message when the
 * next one comes in, so where one comes and goes at a time nobody reads the array.
 *
 * take:
 * 1. Read the head, then the tail. The tail is the one before the head: there is nothing.
 * 2. The tail is the head: that is the message. Else it is in the array.
 * 3. Raise the head by one with a CAS. Lost: somebody has taken that one; again from 1.
 * put:
 * 1. Read the tail, then the head. As many messages are between them as there may be: full.
 * 2. Move the tail into the array, over the message that is a capacity older, by a CAS; it fails if
 *    somebody has done so already.
 * 3. Replace the tail by the new message, its number one higher, by a CAS. Lost: somebody has put
 *    one; again from 1.
 *
 * After Huang, Rodrigues, Jones, Buck, Hwu: Scalable SIMD-parallel memory allocation for many-core
 * machines, J. Supercomputing 64 (2013), section 5.2.1, but for two things:
 *
 * - There both read the head first. A put that reads the head, then lets others put and take, and
 *   then reads the tail, sees more messages than there may be; what is compared with the capacity
 *   passes it by, the put goes on, and one message too many is in. The next put then moves the tail
 *   over a message that nobody has taken: one payload is lost and another one had twice. Read after
 *   the tail, the head is never older: see below.
 * - A take that finds more messages than there may be, or another number in the array, knows that
 *   it is late, and does not try the CAS.
 *
 * Why it is right. Head and tail only grow, each by one, and only by a CAS that finds the value its
 * owner has read. Let t be a tail that was read, h a head.
 *
 * - An empty queue's head is one above its tail, and no head is further above: a take raises only a
 *   head that it saw at or below the tail.
 * - "Empty" is true: with h read before t, and t + 1 = h, the head cannot have moved until t was
 *   read, as there was nothing to take.
 * - "Full" is true: with t read before h, t - h + 1 = capacity, the tail cannot have moved until h
 *   was read, as nothing more went in.
 * - Never more than the capacity: if the CAS of the tail finds t, t has been the tail since it was
 *   read, so also when h was, and the head is h or more now. If h is above t + 1, the tail has
 *   moved, and the CAS fails.
 * - Message n is in the array before n + 1 is the tail: whoever puts n + 1 has moved n, or has
 *   seen that somebody did. So a take that sees a tail above h finds h there, or something newer,
 *   and then its CAS would fail.
 * - Nothing is overwritten that was not taken: over n - capacity goes n alone, by lanes that saw n
 *   as the tail and room for n + 1, so a head above n - capacity + 1.
 * - A lane that comes late with the move of n: the CAS wins only where n - capacity still is, so
 *   nobody has moved n, so n is still the tail, and it does what was to be done. Else it does
 *   nothing.
 * - A lane that stops for ever before any of its steps leaves the queue as it was, or with a tail
 *   that is in the array already. Others see that, and go on.
 * - ABA: a payload may come again, its number does not, but for 2^32 later. Numbers wrap there and
 *   go on, as the capacity divides 2^32. Somebody who sleeps between a read and its CAS while
 *   exactly a multiple of 2^32 messages pass would be fooled: a minute at least, as one FIFO passes
 *   less than 10^8 a second.
 *
 * Orders. A put's last CAS releases, and every change of the tail is a CAS, so who acquires the
 * tail from message t on has all that the putters of t and of the messages before wrote and had
 * seen: also that of h, when a third lane moved h into the array. So a take acquires by its read
 * of the tail, and uses nothing that is above the tail it read. The array and the CAS of the head
 * need no order, as nothing but words that are read at once depend on them.
 *
 * A put's read of the tail acquires too, so that the head is not read before it. A take's reads of
 * both are on their way at the same time. Where the head comes later all the same, an "empty" says
 * only that all that was in when the call began was taken by others, and a tail that is too far
 * below the head that the take is late.
 *
 * Lock-free: a try is lost only because another lane's was won. It is at most four accesses (take)
 * or five (put), three or four of them one after the other. One lane may lose any number of tries:
 * mam_fifo_try_put() and _try_take() let the caller do something else then.
 */
#ifndef MAM_COALESCE_FIFO_H
#define MAM_COALESCE_FIFO_H

#include "heap/port_global.h"

/* Head, tail and array are in lines of their own: they then lie in different parts of the cache. */
#define MAM_FIFO_LINE 128u
#define MAM_FIFO_SHIFT_MAX 16u

struct mam_fifo {
	uint32_t head; /* number of the message that is taken next; atomic */
	uint32_t shift;
	uint32_t pad0[MAM_FIFO_LINE / 4 - 2];
	uint64_t tail; /* the message that was put last: number << 32 | payload; atomic */
	uint64_t pad1[MAM_FIFO_LINE / 8 - 1];
	/* Behind it: the array, in the same form; atomic. */
};

enum mam_fifo_answer {
	MAM_FIFO_DONE,
	MAM_FIFO_NOT,  /* a put: it was full; a take: it was empty */
	MAM_FIFO_LOST, /* somebody else was faster, and nothing is done */
};

/* Bytes of device memory for 1 << shift messages, `shift` up to MAM_FIFO_SHIFT_MAX. */
MAM_KBOTH size_t mam_fifo_bytes(uint32_t shift)
{
	return sizeof(struct mam_fifo) +
	       (((size_t)8 << shift) + MAM_FIFO_LINE - 1) / MAM_FIFO_LINE * MAM_FIFO_LINE;
}

/* Where message `number` is, or will be. */
MAM_KBOTH uint64_t *mam_fifo_place(struct mam_fifo *fifo, uint32_t shift, uint32_t number)
{
	return (uint64_t *)(fifo + 1) + (number & ((1u << shift) - 1));
}

/* By the host or one lane, in memory of that size: empty, and the first message will be `first`. */
MAM_KBOTH void mam_fifo_format(struct mam_fifo *fifo, uint32_t shift, uint32_t first)
{
	uint32_t i, number;

	fifo->head = first;
	fifo->shift = shift;
	fifo->tail = (uint64_t)(first - 1) << 32;
	/* As if all those before had been there, but the tail, which is to be moved yet. */
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
	/* On its way at the same time. */
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

/* One try. Unless it is done, `*payload` is not changed. */
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

/* Was it, at some time since the call began? */
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
