/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grow.h - gets memory from the host for a heap that has no room, while the kernel runs.
 *
 * All lanes that find no room end up here, and one of them fetches a grant for all (growth.h,
 * mail.h):
 * 1. IDLE: the lane that changes `stage` to ASKING by compare-and-swap is the requester. It stores
 *    for the host how many grants are wanted in total; mostly the next one was posted ahead of
 *    need.
 * 2. ASKING: the requester polls for the next grant, and sleeps in between. When there is one, it
 *    records its location, and the stage is MAKING. When the host refuses, or time is up, the fetch
 *    fails: the stage is IDLE again, of the next generation, and `cause` has the reason. The other
 *    lanes sleep and poll.
 * 3. MAKING: the metadata of the new part must be zero. It is cut into pieces; each waiting lane
 *    takes one or a few at a time by an atomic and zeroes them with its whole warp. The lane that
 *    completes the last outstanding piece writes the head, enters the part into the table and
 *    raises the count of parts, and the stage is IDLE again, of the next generation.
 *
 * A wait ends when there are more parts than when the lane began to search for room, when a fetch
 * failed, or when the lane's own time is up.
 *
 * Why each piece is zeroed once, by one warp, for one part: one word, `next`, has the number of
 * pieces and how many of them were begun. It is stored with a release after `fresh`, and a lane
 * that takes a piece acquires its old value. So every piece that this value leaves is a piece of
 * `fresh`, which does not change before the piece is done: no lane publishes before all pieces are
 * done, and no lane fetches before the publication. So no zero is written to a part in use, however
 * late a lane comes.
 *
 * A warp that stops forever during a fetch, or with a piece, ends growth but nothing else: the
 * others get NULL when their time is up, counted as SILENT.
 *
 * After a timeout no lane waits for the host again until its beat changes: `silent` has the beat of
 * the timeout.
 *
 * Bound: two atomics and a round trip to host memory if the grant was posted ahead, otherwise the
 * host's time; and the metadata, in pieces, by all waiting warps.
 */
#ifndef MAM_HEAP_GROWTH_GROW_H
#define MAM_HEAP_GROWTH_GROW_H

#include "heap/growth/parts.h"

/* Bytes of metadata that a warp zeroes at once: the minimum worth a warp's time. */
#ifndef MAM_GROW_PIECE
#define MAM_GROW_PIECE 32768u
#endif
#define MAM_GROW_NAP 64u /* ns between looks, at first */
#define MAM_GROW_NAP_MAX 1024u

#define MAM_GROW_PIECES 4u /* that half a warp or more zeroes together */

/*
 * The result of a step. ZERO: also the first piece << 16 and their number << 8. REFUSED: also the
 * cause << 8.
 */
#define MAM_GROW_AGAIN 0u /* nothing yet: call again */
#define MAM_GROW_GROWN 1u /* there are more parts than there were */
#define MAM_GROW_REFUSED 2u
#define MAM_GROW_ZERO \
	3u /* zero these pieces with all lanes, call mam_grow_zeroed(), call
			       again */

/* The state of a waiting lane. */
struct mam_kgrow {
	uint64_t seen;   /* parts, when it began to search for room */
	uint64_t since;  /* mam_timer() */
	uint64_t stage;  /* when the wait began */
	uint64_t ask;    /* the number of its own request to the host; 0: none */
	uint32_t nap;    /* ns */
	uint32_t pieces; /* to take at once */
};

/* `lanes` wait together. */
MAM_KFN void mam_grow_begin(struct mam_growth *growth, uint64_t seen, uint32_t lanes,
			    struct mam_kgrow *mine)
{
	mine->pieces = lanes < 16 ? 1 : MAM_GROW_PIECES;
	mine->seen = seen;
	mine->since = mam_timer();
	mine->stage = mam_atomic_load64(&growth->stage.value, MAM_ACQUIRE, MAM_AT_DEVICE);
	mine->ask = 0;
	mine->nap = MAM_GROW_NAP;
}

/* Bytes of the fresh part's metadata, including its head. */
MAM_KFN uint64_t mam_grow_metadata(struct mam_kpart fresh)
{
	return mam_metadata_plan_of((uint32_t)fresh.shape, (uint32_t)(fresh.shape >> 32)).end;
}

/* The number of pieces of that metadata. */
MAM_KFN uint64_t mam_grow_pieces(struct mam_kpart fresh)
{
	return (mam_grow_metadata(fresh) + MAM_GROW_PIECE - 1) / MAM_GROW_PIECE;
}

MAM_KFN struct mam_kpart mam_grow_fresh(struct mam_growth *growth)
{
	uint64_t *words = (uint64_t *)&growth->fresh;
	struct mam_kpart fresh;

	fresh.space = mam_atomic_load64(&words[0], MAM_RELAXED, MAM_AT_DEVICE);
	fresh.shape = mam_atomic_load64(&words[1], MAM_RELAXED, MAM_AT_DEVICE);
	return fresh;
}

/* Ends the fetch of `stage`. */
MAM_KFN void mam_grow_end(struct mam_growth *growth, uint64_t stage)
{
	mam_atomic_store64(&growth->stage.value, ((stage >> 8) + 1) << 8 | MAM_STAGE_IDLE,
			   MAM_RELEASE, MAM_AT_DEVICE);
}

/* Ends it without a grant. */
MAM_KFN uint64_t mam_grow_fail(struct mam_growth *growth, uint64_t stage, uint64_t cause)
{
	mam_atomic_store64(&growth->cause, stage >> 8 << 8 | cause, MAM_RELAXED, MAM_AT_DEVICE);
	mam_grow_end(growth, stage);
	return cause << 8 | MAM_GROW_REFUSED;
}

/* Step 1. */
MAM_KFN uint64_t mam_grow_ask(struct mam_growth *growth, uint64_t stage, struct mam_kgrow *mine)
{
	struct mam_mail *mail = growth->mail;
	uint64_t silent = mam_atomic_load64(&growth->silent, MAM_RELAXED, MAM_AT_DEVICE);
	uint64_t taken = mam_atomic_load64(&growth->taken, MAM_RELAXED, MAM_AT_DEVICE);

	/* Grants that a silent host posted earlier are available all the same. */
	if (silent && silent == mam_atomic_load64(&mail->beat, MAM_RELAXED, MAM_AT_SYSTEM) + 1 &&
	    mam_atomic_load64(&mail->posted, MAM_RELAXED, MAM_AT_SYSTEM) <= taken)
		return MAM_GROWTH_SILENT << 8 | MAM_GROW_REFUSED;
	if (mam_atomic_cas64(&growth->stage.value, stage, stage | MAM_STAGE_ASKING, MAM_ACQ_REL,
			     MAM_AT_DEVICE) != stage)
		return MAM_GROW_AGAIN;
	/* Only the requester changes these two. */
	mine->ask = mam_atomic_load64(&growth->asks, MAM_RELAXED, MAM_AT_DEVICE) + 1;
	taken = mam_atomic_load64(&growth->taken, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(&mail->asked, mine->ask << 32 | (uint32_t)(taken + 1), MAM_RELEASE,
			   MAM_AT_SYSTEM);
	mam_atomic_store64(&growth->asks, mine->ask, MAM_RELAXED, MAM_AT_DEVICE);
	return MAM_GROW_AGAIN;
}

/* Step 2 of the requester: there is a grant. */
MAM_KFN void mam_grow_take(struct mam_growth *growth, uint64_t stage, uint64_t taken)
{
	uint64_t *from = (uint64_t *)&growth->mail->grant[taken % MAM_MAIL_GRANTS];
	uint64_t *to = (uint64_t *)&growth->fresh;
	struct mam_kpart fresh;

	fresh.space = mam_atomic_load64(&from[0], MAM_RELAXED, MAM_AT_SYSTEM);
	fresh.shape = mam_atomic_load64(&from[1], MAM_RELAXED, MAM_AT_SYSTEM);
	mam_atomic_store64(&to[0], fresh.space, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(&to[1], fresh.shape, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(&growth->taken, taken + 1, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(&growth->done.value, 0, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(&growth->stage.value, stage >> 8 << 8 | MAM_STAGE_MAKING, MAM_RELEASE,
			   MAM_AT_DEVICE);
	/* Last: a lane of an older fetch may take a piece at once, and end the stage. */
	mam_atomic_store64(&growth->next.value, mam_grow_pieces(fresh) << 32, MAM_RELEASE,
			   MAM_AT_DEVICE);
}

/* Returns whether the caller's time is up. */
MAM_KFN bool mam_grow_late(struct mam_growth *growth, const struct mam_kgrow *mine)
{
	return mam_timer() - mine->since >= growth->wait_ns;
}

MAM_KFN void mam_grow_sleep(struct mam_kgrow *mine)
{
	mam_nanosleep(mine->nap);
	if (mine->nap < MAM_GROW_NAP_MAX)
		mine->nap *= 2;
}

/* Step 2 of the requester. */
MAM_KFN uint64_t mam_grow_look(struct mam_growth *growth, uint64_t stage, struct mam_kgrow *mine)
{
	struct mam_mail *mail = growth->mail;
	uint64_t taken = mam_atomic_load64(&growth->taken, MAM_RELAXED, MAM_AT_DEVICE), refused;
	uint64_t beat;

	if (mam_atomic_load64(&mail->posted, MAM_ACQUIRE, MAM_AT_SYSTEM) > taken) {
		mam_grow_take(growth, stage, taken);
		return MAM_GROW_AGAIN;
	}
	refused = mam_atomic_load64(&mail->refused, MAM_ACQUIRE, MAM_AT_SYSTEM);
	if (refused >> 8 == (mine->ask & 0xffffffff))
		return mam_grow_fail(growth, stage, refused & 255);
	if (!mam_grow_late(growth, mine)) {
		mam_grow_sleep(mine);
		return MAM_GROW_AGAIN;
	}
	beat = mam_atomic_load64(&mail->beat, MAM_RELAXED, MAM_AT_SYSTEM);
	mam_atomic_store64(&growth->silent, beat + 1, MAM_RELAXED, MAM_AT_DEVICE);
	return mam_grow_fail(growth, stage, MAM_GROWTH_SILENT);
}

/* Step 3: returns pieces that the caller must zero, encoded as in mam_grow_step(), or AGAIN. */
MAM_KFN uint64_t mam_grow_piece(struct mam_growth *growth, uint32_t max)
{
	uint64_t next = mam_atomic_load64(&growth->next.value, MAM_RELAXED, MAM_AT_DEVICE);
	uint32_t begun = (uint32_t)next, count = (uint32_t)(next >> 32);

	/* So that waiting lanes do not raise the count forever. */
	if (begun >= count)
		return MAM_GROW_AGAIN;
	next = mam_atomic_add64(&growth->next.value, max, MAM_ACQUIRE, MAM_AT_DEVICE);
	begun = (uint32_t)next;
	count = (uint32_t)(next >> 32);
	if (begun >= count)
		return MAM_GROW_AGAIN;
	max = max < count - begun ? max : count - begun;
	return (uint64_t)begun << 16 | max << 8 | MAM_GROW_ZERO;
}

/*
 * mam_grow_step - one step of a wait: returns what the caller must do. Called by one of the lanes
 * that wait together, until it returns GROWN or REFUSED. No collectives.
 */
MAM_KSLOW uint64_t mam_grow_step(struct mam_growth *growth, struct mam_kgrow *mine)
{
	uint64_t stage = mam_atomic_load64(&growth->stage.value, MAM_ACQUIRE, MAM_AT_DEVICE), piece;
	uint64_t cause;

	if (mam_atomic_load64(&growth->parts.value, MAM_ACQUIRE, MAM_AT_DEVICE) != mine->seen)
		return MAM_GROW_GROWN;
	if (stage >> 8 != mine->stage >> 8) {
		/*
		 * A successful fetch may have raised the count of parts before the caller read it.
		 */
		cause = mam_atomic_load64(&growth->cause, MAM_RELAXED, MAM_AT_DEVICE);
		if (cause & 255 && cause >> 8 >= mine->stage >> 8)
			return (cause & 255) << 8 | MAM_GROW_REFUSED;
		mine->stage = stage;
	}
	if ((stage & 255) == MAM_STAGE_IDLE)
		return mam_grow_ask(growth, stage, mine);
	if ((stage & 255) == MAM_STAGE_ASKING && mine->ask)
		return mam_grow_look(growth, stage, mine);
	if ((stage & 255) == MAM_STAGE_MAKING) {
		piece = mam_grow_piece(growth, mine->pieces);
		if (piece != MAM_GROW_AGAIN)
			return piece;
	}
	if (mam_grow_late(growth, mine))
		return MAM_GROWTH_SILENT << 8 | MAM_GROW_REFUSED;
	mam_grow_sleep(mine);
	return MAM_GROW_AGAIN;
}

/* The unit of one store. */
struct mam_kzeros {
	uint64_t half[2];
} __attribute__((aligned(16), may_alias));

/* Zeroes a share of the pieces of `task`: the caller is number `rank` of `lanes`. */
MAM_KFN void mam_grow_zero(struct mam_growth *growth, uint64_t task, uint32_t rank, uint32_t lanes)
{
	struct mam_kpart fresh = mam_grow_fresh(growth);
	struct mam_kzeros *metadata = (struct mam_kzeros *)mam_parts_at(fresh),
			  zeros = { { 0, 0 } };
	uint64_t each = MAM_GROW_PIECE / sizeof(zeros), at = (task >> 16) * each;
	uint64_t last = at + (task >> 8 & 255) * each,
		 end = mam_grow_metadata(fresh) / sizeof(zeros);

	end = end < last ? end : last;
	for (at += rank; at < end; at += lanes)
		metadata[at] = zeros;
}

/* Takes over the table of entry `index`, which the host has provided. */
MAM_KFN void mam_grow_extend(struct mam_growth *growth, uint32_t index)
{
	uint32_t table = 0;

	MAM_ROLLED
	while (index >= mam_parts_before(table + 1))
		table++;
	if (table && !mam_atomic_load64(&growth->part_table[table - 1], MAM_RELAXED, MAM_AT_DEVICE))
		mam_atomic_store64(&growth->part_table[table - 1],
				   mam_atomic_load64(&growth->mail->part_table[table - 1],
						     MAM_RELAXED, MAM_AT_SYSTEM),
				   MAM_RELAXED, MAM_AT_DEVICE);
}

/*
 * Step 3: the pieces of `task` are zero. Called by one of the lanes that zeroed them, after a
 * barrier.
 */
MAM_KSLOW void mam_grow_zeroed(struct mam_growth *growth, uint64_t task)
{
	/*
	 * Read while the caller's piece is outstanding; afterwards it may describe the next part.
	 */
	struct mam_kpart fresh = mam_grow_fresh(growth);
	uint64_t count = task >> 8 & 255;
	uint64_t done =
		mam_atomic_add64(&growth->done.value, count, MAM_ACQ_REL, MAM_AT_DEVICE) + count;
	struct mam_kheap *head;
	uint64_t stage, parts, *words;

	if (done < mam_grow_pieces(fresh))
		return;
	mam_metadata_format(mam_parts_at(fresh), (unsigned char *)(uintptr_t)fresh.space,
			    (uint32_t)fresh.shape, (uint32_t)(fresh.shape >> 32));
	parts = mam_atomic_load64(&growth->parts.value, MAM_RELAXED, MAM_AT_DEVICE);
	mam_grow_extend(growth, (uint32_t)parts);
	head = mam_parts_heap(growth, (uint32_t)parts + 1);
	mam_metadata_head(head, (unsigned char *)(uintptr_t)fresh.space,
			  (unsigned char *)mam_parts_at(fresh), (uint32_t)fresh.shape,
			  (uint32_t)(fresh.shape >> 32));
	head->born = (uint32_t)mam_atomic_load64(&growth->taken, MAM_RELAXED, MAM_AT_DEVICE);
	words = mam_parts_words(growth, (uint32_t)parts);
	/* Releases, as lanes may also read them as a hint. */
	mam_atomic_store64(&words[0], fresh.space, MAM_RELEASE, MAM_AT_DEVICE);
	mam_atomic_store64(&words[1], fresh.shape, MAM_RELEASE, MAM_AT_DEVICE);
	mam_atomic_store64(&growth->parts.value, parts + 1, MAM_RELEASE, MAM_AT_DEVICE);
	stage = mam_atomic_load64(&growth->stage.value, MAM_RELAXED, MAM_AT_DEVICE);
	mam_grow_end(growth, stage);
}

#endif
