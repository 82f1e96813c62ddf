/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post_look.h - one look of the host at a mailbox: reads the requests, and replies to them.
 *
 * A look (post_box.h shows how to call it):
 * 1. `beat` is raised.
 * 2. The request for grants is read, and, if the knock changed, all slots. FREE and CANCEL get a
 *    reply at once; invalid messages get BAD.
 * 3. Waiting requests are served from memory that the pool has already: the grants, then the slots.
 * 4. One request that still waits is served with new memory, or refused: the grants, or a slot,
 *    each in its turn. Only one, as new memory takes as long as thousands of other replies:
 *    requests that arrived meanwhile come first. A knock may be lost if two lanes write the same
 *    value at once, so every MAM_POST_SCAN looks all slots are read anyway.
 *
 * Grants ahead of need are another call, mam_post_ahead(), for when nothing waits. A failure is not
 * reported: it is retried after MAM_POST_RETRY_NS, or after the next request.
 *
 * An object that has no record waits until there is another table of them (post_large.h).
 *
 * No request is refused before the frees that arrived meanwhile are read; then it waits for the
 * next look.
 *
 * When the pool refuses new memory for one large object, all waiting requests for as much or more
 * are refused with it, so that no lane times out during hundreds of vain calls. If another thread
 * was in the way (WOULD_WAIT), so are all waiting requests for objects and for smaller grants, as
 * each try waits again.
 *
 * Bound: a look without any request reads one cache line. Otherwise one of each slot, and at most
 * one call for new memory. Invariants: post_box.h.
 */
#ifndef MAM_HEAP_SERVICE_POST_LOOK_H
#define MAM_HEAP_SERVICE_POST_LOOK_H

#include "heap/service/post_large.h"

#define MAM_POST_SCAN 8u

/* The result of a try to get the next grant. */
enum mam_post_try {
	MAM_POST_HAD,
	MAM_POST_NOT_THERE, /* not without new memory */
	MAM_POST_SMALLER,   /* not of that size: the next try is for half */
	MAM_POST_NONE,      /* and no retry helps; see the cause */
};

/* Allocates a block and checks its address. Returns false and sets the cause on failure. */
static inline bool mam_post_take(struct mam_post_box *box, uint64_t bytes, uint64_t alignment,
				 bool may_grow, uint64_t *address, enum mam_mail_cause *cause)
{
	uint64_t found = 0;
	enum mam_status status = box->pool.take(box->pool.user, bytes, alignment, may_grow, &found);

	if (status == MAM_OK && found != 0 && found % alignment == 0) {
		*address = found;
		return true;
	}
	if (status == MAM_OK && found != 0)
		mam_post_drop(box, found);
	if (status == MAM_ERROR_DESTROYED)
		box->ended = true;
	box->held_up = may_grow && status == MAM_ERROR_WOULD_WAIT;
	*cause = box->ended ? MAM_MAIL_ENDED : MAM_MAIL_FULL;
	return false;
}

/* ---- grants ---- */

static inline void mam_post_refuse(struct mam_post_box *box, enum mam_mail_cause cause)
{
	box->counts.refusals++;
	box->open = false;
	mam_post_report(&box->mail->refused, box->asked >> 32 << 8 | cause);
}

/* Posts the memory as the next grant. */
static inline void mam_post_enter(struct mam_post_box *box, uint64_t space, uint32_t blocks)
{
	uint64_t *entry = (uint64_t *)&box->mail->grant[box->posted % MAM_MAIL_GRANTS];
	struct mam_post_grant *grant = &box->grant[box->grants++];

	grant->number = box->posted++;
	grant->space = space;
	grant->blocks = blocks;
	grant->bytes = mam_post_bytes(box, blocks);
	box->held += (uint64_t)blocks << MAM_BLOCK_SHIFT;
	box->counts.posted++;
	box->counts.posted_bytes += grant->bytes;
	mam_post_write(&entry[0], space);
	mam_post_write(&entry[1], blocks | (uint64_t)mam_post_columns(box, blocks) << 32);
	mam_post_report(&box->mail->posted, box->posted);
}

/* One try to post the next grant. */
static inline enum mam_post_try mam_post_fetch(struct mam_post_box *box, bool may_grow,
					       enum mam_mail_cause *cause)
{
	const uint32_t max = mam_post_blocks(box);
	enum mam_status status;
	uint64_t space;

	*cause = box->ended ? MAM_MAIL_ENDED : MAM_MAIL_LIMIT;
	if (box->ended || max == 0)
		return MAM_POST_NONE;
	status = mam_post_make_room(box, may_grow);
	if (status == MAM_ERROR_WOULD_WAIT)
		return MAM_POST_NOT_THERE;
	box->ended = status == MAM_ERROR_DESTROYED;
	*cause = box->ended ? MAM_MAIL_ENDED : MAM_MAIL_FULL;
	if (status != MAM_OK)
		return MAM_POST_NONE;
	if (box->blocks == 0 || box->blocks > max)
		box->blocks = max;
	if (mam_post_take(box, mam_post_bytes(box, box->blocks), (uint64_t)1 << MAM_BLOCK_SHIFT,
			  may_grow, &space, cause)) {
		mam_post_enter(box, space, box->blocks);
		/* If this was not the first try, more would fail again. */
		box->max_blocks = box->blocks < max || box->max_blocks ? 2 * box->blocks : 0;
		box->blocks = 0;
		return MAM_POST_HAD;
	}
	if (box->ended)
		return MAM_POST_NONE;
	if (!may_grow)
		return MAM_POST_NOT_THERE;
	if (box->blocks <= MAM_GRANT_BLOCKS || box->held_up) {
		box->blocks = 0;
		return MAM_POST_NONE;
	}
	box->blocks = box->blocks / 2 < MAM_GRANT_BLOCKS ? MAM_GRANT_BLOCKS : box->blocks / 2;
	return MAM_POST_SMALLER;
}

/* Step 2 of grants. Returns true if there is a new request. */
static inline bool mam_post_read_ask(struct mam_post_box *box)
{
	const int32_t max = (int32_t)MAM_MAIL_GRANTS;
	const uint64_t asked = mam_post_read(&box->mail->asked);
	const int32_t need = (int32_t)((uint32_t)asked - (uint32_t)box->posted);

	if (asked == box->asked)
		return false;
	box->asked = asked;
	box->counts.asks++;
	box->blocks = 0;
	box->retry_at = 0;
	if (need > max || need < -max || (need < 0 && box->posted < (uint64_t)-need)) {
		box->counts.bad++;
		mam_post_refuse(box, MAM_MAIL_BAD);
		return true;
	}
	box->wanted = box->posted + (uint64_t)(int64_t)need;
	box->target = box->wanted + box->config.ahead;
	box->open = need > 0;
	return true;
}

/* Tries once; closes the request after a reply. Returns true if the caller must try again. */
static inline bool mam_post_serve_ask(struct mam_post_box *box, bool may_grow)
{
	enum mam_mail_cause cause;
	enum mam_post_try came = mam_post_fetch(box, may_grow, &cause);

	if (came == MAM_POST_NONE)
		mam_post_refuse(box, cause);
	if (came == MAM_POST_HAD && box->posted >= box->wanted)
		box->open = false;
	return came == MAM_POST_HAD && box->open;
}

/* ---- slots ---- */

static inline bool mam_post_waits(const struct mam_post_box *box, uint32_t i)
{
	return box->waiting[i / 64] >> i % 64 & 1;
}

static inline bool mam_post_any_waits(const struct mam_post_box *box)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < MAM_POST_WORDS; i++)
		any |= box->waiting[i];
	return any != 0;
}

static inline void mam_post_answer(struct mam_post_box *box, uint32_t i, uint64_t generation,
				   enum mam_mail_cause cause)
{
	mam_post_report(&box->mail->answer[i].stamp, generation << 8 | cause);
}

/* The reply to a waiting ALLOC, whose object, if any, has its record at `record`. */
static inline void mam_post_answer_alloc(struct mam_post_box *box, uint32_t i,
					 enum mam_mail_cause cause, uint64_t address,
					 uint64_t record)
{
	struct mam_mail_answer *answer = &box->mail->answer[i];
	struct mam_post_slot *slot = &box->slot[i];

	box->waiting[i / 64] &= ~((uint64_t)1 << i % 64);
	slot->address = address;
	box->counts.refusals += cause != MAM_MAIL_GIVEN;
	mam_post_write(&answer->address, address);
	mam_post_write(&answer->record, record);
	mam_post_write(&answer->tables, box->tables - 1);
	mam_post_answer(box, i, slot->generation, cause);
}

/* An invalid message does not change the held memory. */
static inline void mam_post_answer_bad(struct mam_post_box *box, uint32_t i, uint64_t generation)
{
	box->counts.bad++;
	mam_post_write(&box->mail->answer[i].address, 0);
	mam_post_answer(box, i, generation, MAM_MAIL_BAD);
}

static inline void mam_post_read_alloc(struct mam_post_box *box, uint32_t i, uint64_t bytes)
{
	const uint64_t unit = MAM_POST_LARGE_ALIGNMENT;
	struct mam_post_slot *slot = &box->slot[i];

	box->counts.asks++;
	if (bytes == 0 || bytes > MAM_POST_ABSURD) {
		box->counts.refusals++;
		mam_post_answer_bad(box, i, slot->generation);
		return;
	}
	slot->bytes = (bytes + unit - 1) / unit * unit;
	box->waiting[i / 64] |= (uint64_t)1 << i % 64;
}

/* A message that was not there at the last look. */
static inline void mam_post_read_message(struct mam_post_box *box, uint32_t i, uint64_t stamp)
{
	const uint64_t detail = mam_post_detail(&box->mail->ask[i].detail);
	struct mam_post_slot *slot = &box->slot[i];
	/* Of the request that a CANCEL means; otherwise a lane has it. */
	const uint64_t given = stamp >> 8 == slot->generation + 1 ? slot->address : 0;

	slot->seen = stamp;
	if (stamp >> 8 <= slot->generation) {
		mam_post_answer_bad(box, i, stamp >> 8);
		return;
	}
	/* A new message ends the wait of an older one. */
	slot->generation = stamp >> 8;
	slot->address = 0;
	box->waiting[i / 64] &= ~((uint64_t)1 << i % 64);
	switch (stamp & 255) {
	case MAM_MAIL_ALLOC: mam_post_read_alloc(box, i, detail); return;
	case MAM_MAIL_FREE:
		if (mam_post_remove(box, detail))
			break;
		mam_post_answer_bad(box, i, slot->generation);
		return;
	case MAM_MAIL_CANCEL: (void)mam_post_remove(box, given); break;
	default: mam_post_answer_bad(box, i, slot->generation); return;
	}
	mam_post_answer(box, i, slot->generation, MAM_MAIL_GIVEN);
}

/* Step 2 of slots. Returns true if there was a message. */
static inline bool mam_post_read_slots(struct mam_post_box *box)
{
	const uint64_t knock = mam_post_read(&box->mail->knock);
	bool any = false;
	uint64_t stamp;

	if (knock == box->knock && box->looks % MAM_POST_SCAN != 0)
		return false;
	box->knock = knock;
	for (uint32_t i = 0; i < MAM_MAIL_SLOTS; i++) {
		stamp = mam_post_read(&box->mail->ask[i].stamp);
		if (stamp == box->slot[i].seen)
			continue;
		any = true;
		mam_post_read_message(box, i, stamp);
	}
	return any;
}

/* Refuses the waiting requests of at least `bytes`. */
static inline void mam_post_refuse_from(struct mam_post_box *box, uint64_t bytes,
					enum mam_mail_cause cause)
{
	for (uint32_t i = 0; i < MAM_MAIL_SLOTS; i++)
		if (mam_post_waits(box, i) && box->slot[i].bytes >= bytes)
			mam_post_answer_alloc(box, i, cause, 0, 0);
}

/*
 * Before a refusal: a lane that frees an object and then allocates another may have been seen
 * allocating, while its FREE, in a slot that was read before, was not yet seen. Returns true if
 * there was such a message.
 */
static inline bool mam_post_read_ends(struct mam_post_box *box)
{
	bool any = false;
	uint64_t stamp;

	for (uint32_t i = 0; i < MAM_MAIL_SLOTS; i++) {
		stamp = mam_post_read(&box->mail->ask[i].stamp);
		if (stamp == box->slot[i].seen || (stamp & 255) == MAM_MAIL_ALLOC)
			continue;
		any = true;
		mam_post_read_message(box, i, stamp);
	}
	return any;
}

/* Returns whether objects can be placed now. Otherwise they wait, or slot `i` is refused. */
static inline bool mam_post_has_table(struct mam_post_box *box, uint32_t i, bool may_grow)
{
	enum mam_status status = box->cramped ? mam_post_extend(box, may_grow) : MAM_OK;

	if (status == MAM_ERROR_WOULD_WAIT)
		return false;
	box->cramped = false;
	if (status == MAM_OK)
		return true;
	box->ended = box->ended || status == MAM_ERROR_DESTROYED;
	mam_post_answer_alloc(box, i, box->ended ? MAM_MAIL_ENDED : MAM_MAIL_FULL, 0, 0);
	return false;
}

/* Gives a block to a waiting ALLOC, or, without a record for it, back to the pool. */
static inline void mam_post_give_large(struct mam_post_box *box, uint32_t i, uint64_t address)
{
	uint64_t record;

	box->cramped = !mam_post_place(box, address, box->slot[i].bytes, &record);
	if (!box->cramped)
		mam_post_answer_alloc(box, i, MAM_MAIL_GIVEN, address, record);
	else
		mam_post_drop(box, address);
}

static inline void mam_post_serve_slot(struct mam_post_box *box, uint32_t i, bool may_grow)
{
	const uint64_t bytes = box->slot[i].bytes;
	enum mam_mail_cause cause = MAM_MAIL_LIMIT;
	const bool fits = bytes <= mam_post_room(box);
	uint64_t address;

	if (!mam_post_has_table(box, i, may_grow))
		return;
	if (fits && mam_post_take(box, bytes, MAM_POST_LARGE_ALIGNMENT, may_grow, &address, &cause))
		mam_post_give_large(box, i, address);
	else if (fits && !may_grow && !box->ended)
		return;
	/* The freed memory may suffice at the next look; or the request was canceled. */
	else if (mam_post_read_ends(box))
		return;
	else if (fits)
		mam_post_refuse_from(box, box->held_up ? 0 : bytes, cause);
	else
		mam_post_answer_alloc(box, i, cause, 0, 0);
}

/* Step 4 of slots: the next one in turn. */
static inline void mam_post_serve_turn(struct mam_post_box *box)
{
	uint32_t i;

	for (uint32_t n = 0; n < MAM_MAIL_SLOTS; n++) {
		i = (box->turn + n) % MAM_MAIL_SLOTS;
		if (!mam_post_waits(box, i))
			continue;
		box->turn = i + 1;
		mam_post_serve_slot(box, i, true);
		return;
	}
}

/* ---- the look ---- */

/* mam_post_look - one look. Returns true if there was a message, or a request still waits. */
static inline bool mam_post_look(struct mam_post_box *box)
{
	bool any;

	mam_post_report(&box->mail->beat, ++box->beat);
	any = mam_post_read_ask(box);
	any = mam_post_read_slots(box) || any || box->open || mam_post_any_waits(box);
	box->looks++;
	if (!any)
		return false;
	while (box->open && mam_post_serve_ask(box, false))
		;
	for (uint32_t i = 0; i < MAM_MAIL_SLOTS; i++)
		if (mam_post_waits(box, i))
			mam_post_serve_slot(box, i, false);
	if (box->open)
		(void)mam_post_serve_ask(box, true);
	else
		mam_post_serve_turn(box);
	return true;
}

/*
 * mam_post_ahead - posts at most one grant before it is requested. `now` in ns of any clock;
 * may_grow as in struct mam_post_pool. Returns true if one was posted, or if a smaller one is worth
 * a try now.
 */
static inline bool mam_post_ahead(struct mam_post_box *box, uint64_t now, bool may_grow)
{
	enum mam_mail_cause cause;
	enum mam_post_try came;

	if (box->posted >= box->target || box->open || box->ended || now < box->retry_at)
		return false;
	came = mam_post_fetch(box, false, &cause);
	if (came == MAM_POST_NOT_THERE && may_grow)
		came = mam_post_fetch(box, true, &cause);
	if (came == MAM_POST_NONE)
		box->retry_at = now + MAM_POST_RETRY_NS;
	return came == MAM_POST_HAD || came == MAM_POST_SMALLER;
}

#endif
