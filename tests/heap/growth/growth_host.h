/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth_host.h - the host of a heap that grows, as a thread of a simulated world. It serves
 * mailboxes (mail.h) from a pool in the test's memory. growth_kit.h includes this file.
 *
 * 1. The pool: an arena of pieces, each as long as the longest grant with its metadata. The
 *    metadata of a grant starts with arbitrary, nonzero contents.
 * 2. A look: the host increments its beat, then reads the requests. Between any two of its stores
 *    it may be late, be stopped for a while, or die, as the plan specifies; it then acts on what it
 *    had read before.
 * 3. A watcher waits for the kernels of all streams, then makes the host end.
 *
 * Nothing here is shared with the library's host except the protocol, so both are checked against
 * mail.h.
 */
#ifndef MAM_TESTS_HEAP_GROWTH_HOST_H
#define MAM_TESTS_HEAP_GROWTH_HOST_H

#include "heap/growth/records.h"

#ifndef GKIT_PIECES
#define GKIT_PIECES 40u
#endif
#define GKIT_STREAMS 4u

/* How the host behaves. */
struct gkit_host {
	bool absent;               /* the heap does not grow */
	uint32_t min, max;         /* blocks per grant; 0: MAM_GRANT_BLOCKS */
	uint32_t grants;           /* available grants; 0: as many as there are pieces */
	uint32_t larges;           /* large objects at a time; 0: the same */
	enum mam_mail_cause cause; /* the cause when there are no more; 0: MAM_MAIL_LIMIT */
	uint32_t ahead;            /* grants posted before they are requested */
	uint32_t late;             /* maximum number of yields before it serves a request */
	uint32_t lost;             /* of 256 requests, those that it does not see */
	uint32_t dies;             /* maximum number of stores before it dies; 0: it lives */
	uint32_t stops, stopped;   /* max. stores before a stop, and length of the stop in yields */
};

struct gkit_piece {
	bool given;
	bool large; /* for a large object; otherwise for a grant */
	struct mam_large *record;
};

/* The state of the host. */
struct gkit_life {
	uint32_t dies, stops; /* remaining stores until then, plus one; 0: never */
	bool dead;
	uint64_t ask, knock;    /* the last ones that it saw */
	uint32_t lost, refused; /* requests */
	uint32_t looks;
};

/* The heap and what the host knows about it: growth_kit.h. */
struct gkit {
	struct okit o; /* space: the arena; heap: the root */
	uint32_t root_blocks;
	uint64_t root_bytes; /* of head, metadata and growth */
	struct mam_growth *growth;
	struct mam_mail *mail;
	struct gkit_host host;
	struct gkit_life life;
	struct gkit *chained; /* served by the same host */
	uint64_t over;        /* the host must end; atomic */
	struct gkit_piece piece[GKIT_PIECES];
	struct mam_grant grant[GKIT_PIECES]; /* grants allocated from the pool, in order */
	uint32_t granted;                    /* their number */
	uint32_t larges;                     /* live large objects */
	uint64_t held[MAM_MAIL_SLOTS];       /* the answer to each slot's last message */
	struct records records;
	uint64_t wait_ns;
	struct okit *view; /* of the root and each part: growth_check.h */
	bool only_taken;   /* nothing is freed while requests may fail, and the host lives */
};

/* ---- the pool --------------------------------------------------------------------------- */

static inline uint32_t gkit_piece_blocks(const struct gkit *kit)
{
	return kit->host.max + 1;
}

static inline unsigned char *gkit_piece_at(const struct gkit *kit, uint32_t piece)
{
	return kit->o.space +
	       ((size_t)(kit->root_blocks + 1 + piece * gkit_piece_blocks(kit)) << MAM_BLOCK_SHIFT);
}

/* No object may be there: metadata, and memory that was never granted. */
OKIT_UNSEEN void gkit_fence(struct gkit *kit, const unsigned char *from, size_t bytes, bool fenced)
{
	size_t quantum = (size_t)(from - kit->o.space) / OKIT_GRAIN, i;

	for (i = 0; i < bytes / OKIT_GRAIN; i++)
		kit->o.owner[quantum + i] = fenced ? UINT32_MAX : 0;
}

/*
 * Returns a free piece, or GKIT_PIECES: not the next one, so that parts are not in address order.
 */
OKIT_UNSEEN uint32_t gkit_piece_take(struct gkit *kit, bool large)
{
	uint32_t first = (kit->granted + kit->larges) * 7 + 5, i, piece;

	for (i = 0; i < GKIT_PIECES; i++) {
		piece = (first + i) % GKIT_PIECES;
		if (kit->piece[piece].given)
			continue;
		kit->piece[piece].given = true;
		kit->piece[piece].large = large;
		return piece;
	}
	return GKIT_PIECES;
}

/* The memory's previous contents: a pattern that no heap writes, in and before the metadata. */
OKIT_UNSEEN void gkit_spoil(unsigned char *from, size_t bytes)
{
	uint64_t *word = (uint64_t *)from;
	size_t i;

	for (i = 0; i < bytes / 8; i++)
		word[i] = 0xa5c3a5c3a5c3a5c3 + i;
}

/*
 * Memory and metadata for one grant, with a varying number of blocks. Returns false if there is
 * none.
 */
OKIT_UNSEEN bool gkit_grant(struct gkit *kit, struct mam_grant *grant)
{
	const struct gkit_host *host = &kit->host;
	uint32_t piece;
	uint64_t metadata;

	if (kit->granted >= host->grants || (piece = gkit_piece_take(kit, false)) == GKIT_PIECES)
		return false;
	grant->space = (uintptr_t)gkit_piece_at(kit, piece);
	grant->blocks = host->min + kit->granted % (host->max - host->min + 1);
	grant->columns = kit->o.columns;
	metadata = mam_metadata_plan_of(grant->blocks, grant->columns).end;
	MAM_KASSERT(metadata <= 1u << MAM_BLOCK_SHIFT);
	gkit_spoil(gkit_piece_at(kit, piece) + ((size_t)grant->blocks << MAM_BLOCK_SHIFT),
		   metadata);
	gkit_fence(kit, gkit_piece_at(kit, piece), (size_t)grant->blocks << MAM_BLOCK_SHIFT, false);
	kit->grant[kit->granted++] = *grant;
	return true;
}

/* ---- mailbox words ---------------------------------------------------------------------- */

static inline uint64_t gkit_load(uint64_t *where)
{
	return simt_atomic(where, 8, SIMT_LOAD, 0, 0, MAM_ACQUIRE, MAM_AT_SYSTEM, "host reads");
}

/* Returns false if the host died before the store. */
static inline bool gkit_store(struct gkit *kit, uint64_t *where, uint64_t value)
{
	struct gkit_life *life = &kit->life;
	uint32_t i;

	if (life->dead || (life->dies && !--life->dies)) {
		life->dead = true;
		return false;
	}
	if (life->stops && !--life->stops)
		for (i = 0; i < kit->host.stopped && !gkit_load(&kit->over); i++)
			simt_host_yield("host is stopped");
	(void)simt_atomic(where, 8, SIMT_STORE, value, 0, MAM_RELEASE, MAM_AT_SYSTEM,
			  "host writes");
	return true;
}

static inline void gkit_be_late(struct gkit *kit)
{
	uint32_t yields = kit->host.late ? (uint32_t)(simt_random() % (kit->host.late + 1)) : 0;

	while (yields-- && !gkit_load(&kit->over))
		simt_host_yield("host is late");
}

/*
 * Posts the grant of this number: its entry, then the count. Until then the host owns its metadata.
 */
static inline bool gkit_post(struct gkit *kit, uint64_t number)
{
	struct mam_grant *entry = &kit->mail->grant[number % MAM_MAIL_GRANTS], grant;
	uint64_t *metadata;

	if (!gkit_grant(kit, &grant))
		return false;
	metadata =
		(uint64_t *)(uintptr_t)(grant.space + ((uint64_t)grant.blocks << MAM_BLOCK_SHIFT));
	metadata[0] = metadata[200] = metadata[1000] = 0xffff;
	*entry = grant;
	return gkit_store(kit, &kit->mail->posted, number + 1);
}

/*
 * Grants: as many as requested, or the cause of refusal; and some ahead. Returns false if the host
 * died.
 */
static inline bool gkit_look_grants(struct gkit *kit)
{
	uint64_t asked = gkit_load(&kit->mail->asked), posted = kit->mail->posted;
	uint64_t ask = asked >> 32, wanted = asked & 0xffffffff;
	struct gkit_life *life = &kit->life;

	if (ask == life->ask)
		return true;
	life->ask = ask;
	if (kit->host.lost && simt_random() % 256 < kit->host.lost) {
		life->lost++;
		return true;
	}
	gkit_be_late(kit);
	/* No lane requests more than one at a time, and the number of entries is limited. */
	MAM_KASSERT(wanted <= posted + 1);
	while (posted < wanted + kit->host.ahead && gkit_post(kit, posted))
		posted++;
	if (life->dead)
		return false;
	if (posted >= wanted)
		return true;
	life->refused++;
	return gkit_store(kit, &kit->mail->refused, ask << 8 | kit->host.cause);
}

/* ---- large objects ---------------------------------------------------------------------- */

/* The piece of a large object, or GKIT_PIECES. */
OKIT_UNSEEN uint32_t gkit_large_piece(const struct gkit *kit, uint64_t address)
{
	uint32_t piece;

	for (piece = 0; piece < GKIT_PIECES; piece++)
		if (kit->piece[piece].given && kit->piece[piece].large &&
		    (uintptr_t)gkit_piece_at(kit, piece) == address)
			return piece;
	return GKIT_PIECES;
}

OKIT_UNSEEN enum mam_mail_cause gkit_large_alloc(struct gkit *kit, uint64_t bytes,
						 uint64_t *address, struct mam_mail_answer *answer)
{
	uint32_t piece;

	if (!bytes)
		return MAM_MAIL_BAD;
	if (kit->larges >= kit->host.larges || bytes > (uint64_t)gkit_piece_blocks(kit)
							       << MAM_BLOCK_SHIFT)
		return kit->host.cause;
	piece = gkit_piece_take(kit, true);
	if (piece == GKIT_PIECES)
		return MAM_MAIL_FULL;
	kit->larges++;
	*address = (uintptr_t)gkit_piece_at(kit, piece);
	kit->piece[piece].record =
		records_take(&kit->records, *address, simt_random(), &answer->tables);
	answer->record = (uintptr_t)kit->piece[piece].record;
	gkit_fence(kit, gkit_piece_at(kit, piece),
		   (size_t)gkit_piece_blocks(kit) << MAM_BLOCK_SHIFT, false);
	return MAM_MAIL_GIVEN;
}

OKIT_UNSEEN enum mam_mail_cause gkit_large_free(struct gkit *kit, uint64_t address)
{
	uint32_t piece = gkit_large_piece(kit, address);

	if (piece == GKIT_PIECES)
		return MAM_MAIL_BAD;
	records_give(&kit->records, kit->piece[piece].record);
	kit->piece[piece].given = false;
	kit->larges--;
	gkit_fence(kit, gkit_piece_at(kit, piece),
		   (size_t)gkit_piece_blocks(kit) << MAM_BLOCK_SHIFT, true);
	return MAM_MAIL_GIVEN;
}

/* Serves one slot if it has a request. Returns false if the host died. */
static inline bool gkit_look_slot(struct gkit *kit, uint32_t slot)
{
	uint64_t stamp = gkit_load(&kit->mail->ask[slot].stamp), detail, address = 0;
	struct mam_mail_answer *answer = &kit->mail->answer[slot];
	enum mam_mail_cause cause = MAM_MAIL_BAD;

	if (stamp >> 8 == answer->stamp >> 8)
		return true;
	detail = gkit_load(&kit->mail->ask[slot].detail);
	gkit_be_late(kit);
	switch (stamp & 255) {
	case MAM_MAIL_ALLOC:
		cause = gkit_large_alloc(kit, detail, &address, answer);
		kit->held[slot] = address;
		if (!gkit_store(kit, &answer->address, address))
			return false;
		break;
	case MAM_MAIL_FREE:
		cause = gkit_large_free(kit, detail);
		kit->held[slot] = 0;
		break;
	case MAM_MAIL_CANCEL:
		cause = MAM_MAIL_GIVEN;
		if (kit->held[slot] && stamp >> 8 == (answer->stamp >> 8) + 1)
			cause = gkit_large_free(kit, kit->held[slot]);
		kit->held[slot] = 0;
	}
	MAM_KASSERT(cause != MAM_MAIL_BAD);
	return gkit_store(kit, &answer->stamp, stamp >> 8 << 8 | cause);
}

/* Serves all slots if the device has knocked, and otherwise from time to time. */
static inline bool gkit_look_slots(struct gkit *kit)
{
	uint64_t knock = gkit_load(&kit->mail->knock);
	uint32_t slot;

	if (knock == kit->life.knock && ++kit->life.looks % 64)
		return true;
	kit->life.knock = knock;
	for (slot = 0; slot < MAM_MAIL_SLOTS; slot++)
		if (!gkit_look_slot(kit, slot))
			return false;
	return true;
}

/* ---- threads of a world ----------------------------------------------------------------- */

static inline uint32_t gkit_chance(uint32_t max)
{
	return max ? 1 + (uint32_t)(simt_random() % max) : 0;
}

/* The host: serves the mailbox of `argument` and of those chained to it, until the test is over. */
static inline void gkit_serve(void *argument)
{
	struct gkit *kit;

	for (kit = argument; kit; kit = kit->chained) {
		kit->life.dies = gkit_chance(kit->host.dies);
		kit->life.stops = gkit_chance(kit->host.stops);
	}
	while (!gkit_load(&((struct gkit *)argument)->over)) {
		for (kit = argument; kit; kit = kit->chained)
			if (!gkit_store(kit, &kit->mail->beat, kit->mail->beat + 1) ||
			    !gkit_look_grants(kit) || !gkit_look_slots(kit))
				return;
		simt_host_yield("host looks");
	}
}

/* When the kernels of streams 1 to GKIT_STREAMS have ended, the host may end. */
static inline void gkit_watch(void *argument)
{
	struct gkit *kit = argument;
	unsigned int stream;

	for (stream = 1; stream <= GKIT_STREAMS; stream++)
		simt_host_wait(stream, "watcher");
	(void)simt_atomic(&kit->over, 8, SIMT_STORE, 1, 0, MAM_RELEASE, MAM_AT_SYSTEM, "over");
}

#endif
