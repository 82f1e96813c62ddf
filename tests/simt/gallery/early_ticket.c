/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early_ticket.c - a queue's reader takes a slot that has a ticket but no value yet.
 *
 * A writer takes the next number from `tail`, and then writes its value to the slot of that number.
 * The bug: a reader sees that `tail` has moved, takes the slot, and reads it before the
 * writer has filled it.
 * Seen in: queues of free pages, where two atomic additions look like a whole queue. The window is
 * two instructions for most warps, and milliseconds for one that is not scheduled. The twin's
 * reader waits until the slot has a value; its writer is running, so the wait is short.
 * Found by: any policy that stops a writer between its ticket and its store.
 */
#include "simt/gallery/gallery.h"

struct queue {
	uint32_t bug, wrong;
	uint32_t head, tail;
	uint32_t slots[GALLERY_LANES]; /* 0: no value yet */
	uint32_t seen[GALLERY_LANES];  /* how often a value was taken */
};

MAM_KFN void queue_put(struct queue *queue, uint32_t value)
{
	uint32_t ticket = mam_atomic_add32(&queue->tail, 1, MAM_RELAXED, MAM_AT_DEVICE);

	mam_atomic_store32(&queue->slots[ticket], value, MAM_RELEASE, MAM_AT_DEVICE);
}

/*
 * Returns a value, or 0 if none arrived, which is an error here, as each lane puts a value first.
 */
MAM_KFN uint32_t queue_take(struct queue *queue)
{
	uint32_t ticket = mam_atomic_load32(&queue->head, MAM_RELAXED, MAM_AT_DEVICE);

	while (ticket < mam_atomic_load32(&queue->tail, MAM_RELAXED, MAM_AT_DEVICE)) {
		uint32_t found = mam_atomic_cas32(&queue->head, ticket, ticket + 1, MAM_RELAXED,
						  MAM_AT_DEVICE);

		if (found == ticket) {
			uint32_t *slot = &queue->slots[ticket];
			uint32_t value = mam_atomic_load32(slot, MAM_ACQUIRE, MAM_AT_DEVICE);

			/* The one place: only the twin waits for the value. */
			while (!queue->bug && value == 0) {
				mam_nanosleep(20);
				value = mam_atomic_load32(slot, MAM_ACQUIRE, MAM_AT_DEVICE);
			}
			return value;
		}
		ticket = found;
	}
	return 0;
}

MAM_KERNEL(gallery_early_ticket)
{
	struct queue *queue = (struct queue *)argument;

	queue_put(queue, gallery_index() + 1);

	uint32_t value = queue_take(queue);

	if (value == 0 || mam_atomic_add32(&queue->seen[value - 1], 1, MAM_RELAXED, MAM_AT_DEVICE))
		gallery_wrong(&queue->wrong);
}

static void queue_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	(void)grid;
	(void)block;
	((struct queue *)state)->bug = bug;
}

static const char *queue_check(void *state)
{
	return ((struct queue *)state)->wrong ? "a reader got no value" : NULL;
}

const struct gallery_row gallery_early_ticket_row = {
	.name = "early_ticket",
	.what = "a queue's slot is read before it is filled",
	.kernel = gallery_early_ticket,
	.bytes = sizeof(struct queue),
	.grid = 2,
	.block = 2,
	.begin = queue_begin,
	.check = queue_check,
	.plain = GALLERY_WRONG,
	.hooks = GALLERY_WRONG,
};
