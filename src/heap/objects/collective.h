/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.h - an object of which several lanes have a part each, and how parts are freed.
 *
 *	object      allocated from the heap
 *	+ 0         a header, 16 bytes: a mark, the live bits, and the shape
 *	+ 16        with more than 32 parts: a word of 32 bits for each 32 of them;
 *	            with parts of different sizes: the end of each, 4 or 8 bytes per part
 *	+ front     the parts, without gaps; the first at a multiple of 16
 *
 * A part does not start where an object does, so a free sees it as an interior pointer. Without
 * parts that is an error and rare, so the lookup happens on that path only. Other frees cost
 * nothing more.
 *
 * To free a part:
 * 1. Find the object that contains the address, from the metadata (place.h).
 * 2. Check that the object starts with the mark. The mark is mixed from the object's address, the
 *    heap's address, and a number that the heap drew at random when it first had such an object,
 *    and again after a reset. So no other data passes for a mark.
 * 3. Find the part that starts at the address: of equal parts by a division, otherwise by a search
 *    in the table.
 * 4. Clear its bit by one AND. It releases the accesses to this part, and acquires those to the
 *    parts freed before. If the bit was clear, it is a double free.
 * 5. The lane that made a word 0 lowers the count of nonzero words; up to 32 parts have only one
 *    word. The lane that brought the count to 0 freed the last part: it wipes the mark and frees
 *    the object.
 *
 * To free all parts at once: the word of the named part goes to 0 by compare-and-swap while that
 * part is live, so of two lanes that do so one fails; then all other words.
 *
 * Source: the superblocks of XMalloc (Huang et al., CIT 2010), whose parts each have a header of
 * their own. Here one bit per part serves that purpose, without gaps between parts.
 *
 * Bound: step 1 as in place.h, then one atomic, and one more for a lane that empties a word.
 *
 * Must hold: the holder of a part got it from the lane that allocated the object, after a barrier,
 * so it reads header and table as they were written. A cleared bit is never set again.
 */
#ifndef MAM_HEAP_OBJECTS_COLLECTIVE_H
#define MAM_HEAP_OBJECTS_COLLECTIVE_H

#include "heap/objects/place.h"

#define MAM_COLLECTIVE_PARTS 1024u
#define MAM_COLLECTIVE_WORD 32u /* parts */
#define MAM_COLLECTIVE_GOLDEN 0x9e3779b97f4a7c15u

/* How the shape describes where parts end. */
#define MAM_COLLECTIVE_EQUAL 0u /* all parts have the same size */
#define MAM_COLLECTIVE_SHORT 1u /* a table of 4 bytes per part */
#define MAM_COLLECTIVE_LONG 2u  /* a table of 8 bytes per part */
/* The maximum size of equal parts; larger ones have a table. */
#define MAM_COLLECTIVE_EACH 0xfffffu

struct mam_collective {
	uint64_t mark;  /* atomic */
	uint32_t live;  /* bits of parts; of more than 32, count of nonzero words; atomic */
	uint32_t shape; /* parts minus 1; then 2 bits: how they end; then 20: bytes of each */
};

/* The part that an address names. */
struct mam_kpiece {
	struct mam_collective *whole; /* NULL: not a part */
	uint64_t bytes;               /* of the part */
	uint32_t part, parts;         /* its number, and how many there are */
	bool live;                    /* a snapshot */
	bool inside;                  /* not a part, but inside of an object */
};

/* ---- the shape ------------------------------------------------------------------------------ */

/* `each`: bytes of every part, or 0 if their sizes differ. pre: 1 to MAM_COLLECTIVE_PARTS parts. */
MAM_KFN uint32_t mam_collective_shape(uint32_t parts, uint64_t each, uint64_t total)
{
	if (each && each <= MAM_COLLECTIVE_EACH)
		return (parts - 1) | MAM_COLLECTIVE_EQUAL << 10 | (uint32_t)each << 12;
	return (parts - 1) | (total >> 32 ? MAM_COLLECTIVE_LONG : MAM_COLLECTIVE_SHORT) << 10;
}

MAM_KFN uint32_t mam_collective_parts(uint32_t shape)
{
	return (shape & 1023) + 1;
}

MAM_KFN uint32_t mam_collective_kind(uint32_t shape)
{
	return shape >> 10 & 3;
}

/* Words for so many parts; 0: the word in the header suffices. */
MAM_KFN uint32_t mam_collective_words(uint32_t parts)
{
	return parts > MAM_COLLECTIVE_WORD ? (parts + MAM_COLLECTIVE_WORD - 1) / MAM_COLLECTIVE_WORD
					   : 0;
}

/* Bytes from the object to its table. */
MAM_KFN uint32_t mam_collective_table(uint32_t shape)
{
	uint32_t words = mam_collective_words(mam_collective_parts(shape));

	return (uint32_t)sizeof(struct mam_collective) + (words * 4 + 15) / 16 * 16;
}

/* Bytes from the object to its parts. */
MAM_KFN uint32_t mam_collective_front(uint32_t shape)
{
	uint32_t kind = mam_collective_kind(shape);
	uint32_t entry = kind == MAM_COLLECTIVE_LONG ? 8 : kind == MAM_COLLECTIVE_SHORT ? 4 : 0;

	return mam_collective_table(shape) + (mam_collective_parts(shape) * entry + 15) / 16 * 16;
}

/* The bits of the parts of word `i`. */
MAM_KFN uint32_t mam_collective_bits(uint32_t parts, uint32_t i)
{
	uint32_t rest = parts - i * MAM_COLLECTIVE_WORD;

	return rest >= MAM_COLLECTIVE_WORD ? ~0u : (1u << rest) - 1;
}

/* The word that contains the bit of a part. */
MAM_KFN uint32_t *mam_collective_word(struct mam_kpiece piece)
{
	if (piece.parts <= MAM_COLLECTIVE_WORD)
		return &piece.whole->live;
	return (uint32_t *)(piece.whole + 1) + piece.part / MAM_COLLECTIVE_WORD;
}

/* ---- create --------------------------------------------------------------------------------- */

MAM_KFN uint64_t mam_collective_mix(uint64_t x, uint64_t y)
{
	x = (x ^ y) * MAM_COLLECTIVE_GOLDEN;
	return x ^ x >> 29;
}

/* The mark of an object at `whole`; `epoch` is the heap's random number. */
MAM_KFN uint64_t mam_collective_mark(const struct mam_kheap *root, uint64_t epoch,
				     const void *whole)
{
	return mam_collective_mix(
		       mam_collective_mix((uint64_t)(uintptr_t)whole, (uint64_t)(uintptr_t)root),
		       epoch) |
	       1;
}

/* The heap's random number, drawn at first use. */
MAM_KFN uint64_t mam_collective_epoch(struct mam_kheap *root)
{
	uint64_t *where = &root->returns->epoch, drawn, seen;

	seen = mam_atomic_load64(where, MAM_RELAXED, MAM_AT_DEVICE);
	if (seen)
		return seen;
	drawn = mam_collective_mix(mam_timer(), mam_clock()) | 1;
	seen = mam_atomic_cas64(where, 0, drawn, MAM_RELAXED, MAM_AT_DEVICE);
	return seen ? seen : drawn;
}

/*
 * Writes the header of a fresh object, by one lane; the other lanes write what follows it. They
 * order all of it before the first part is freed.
 */
MAM_KSLOW void mam_collective_open(struct mam_kheap *root, void *object, uint32_t shape)
{
	struct mam_collective *whole = (struct mam_collective *)object;
	uint32_t parts = mam_collective_parts(shape), words = mam_collective_words(parts);

	whole->live = words ? words : mam_collective_bits(parts, 0);
	whole->shape = shape;
	mam_atomic_store64(&whole->mark,
			   mam_collective_mark(root, mam_collective_epoch(root), whole),
			   MAM_RELAXED, MAM_AT_DEVICE);
	if (mam_place_grows(root) && !mam_parts_of(root, object))
		mam_large_mark(root, object);
}

/* Records that part `part` ends `end` bytes after the start of the first part. By its lane. */
MAM_KFN void mam_collective_note(void *object, uint32_t shape, uint32_t part, uint64_t end)
{
	unsigned char *table = (unsigned char *)object + mam_collective_table(shape);

	if (mam_collective_kind(shape) == MAM_COLLECTIVE_SHORT)
		((uint32_t *)table)[part] = (uint32_t)end;
	else if (mam_collective_kind(shape) == MAM_COLLECTIVE_LONG)
		((uint64_t *)table)[part] = end;
}

/* ---- find ----------------------------------------------------------------------------------- */

/* The end of a part, from the table. */
MAM_KFN uint64_t mam_collective_end(const unsigned char *table, uint32_t kind, uint32_t part)
{
	if (kind == MAM_COLLECTIVE_LONG)
		return mam_atomic_load64((uint64_t *)(uintptr_t)table + part, MAM_RELAXED,
					 MAM_AT_DEVICE);
	return mam_atomic_load32((uint32_t *)(uintptr_t)table + part, MAM_RELAXED, MAM_AT_DEVICE);
}

/* Steps 2 and 3: `object` has `room` bytes and may have parts. */
MAM_KFN struct mam_kpiece mam_collective_find(struct mam_kheap *root, void *object, uint64_t room,
					      const void *address)
{
	struct mam_collective *whole = (struct mam_collective *)object;
	uint64_t epoch = mam_atomic_load64(&root->returns->epoch, MAM_RELAXED, MAM_AT_DEVICE), at;
	uint32_t shape, parts, kind, low, high, half;
	const unsigned char *table;
	struct mam_kpiece piece;
	uint64_t begin;

	piece.whole = NULL;
	piece.bytes = 0;
	piece.part = 0;
	piece.parts = 0;
	piece.live = false;
	piece.inside = true;
	if (!epoch || room <= sizeof(*whole) ||
	    mam_atomic_load64(&whole->mark, MAM_RELAXED, MAM_AT_DEVICE) !=
		    mam_collective_mark(root, epoch, whole))
		return piece;
	shape = mam_atomic_load32(&whole->shape, MAM_RELAXED, MAM_AT_DEVICE);
	parts = mam_collective_parts(shape);
	kind = mam_collective_kind(shape);
	at = (uint64_t)((uintptr_t)address - (uintptr_t)whole) - mam_collective_front(shape);
	/* An address in front of the parts wraps to more than any object's size. */
	if (at >= room || mam_collective_front(shape) >= room)
		return piece;
	if (kind == MAM_COLLECTIVE_EQUAL) {
		piece.bytes = shape >> 12;
		if (!piece.bytes || at >= piece.bytes * parts || at % piece.bytes)
			return piece;
		piece.part = (uint32_t)(at / piece.bytes);
	} else {
		table = (const unsigned char *)whole + mam_collective_table(shape);
		/* Find the first part that ends after the address. */
		low = 0;
		high = parts;
		MAM_ROLLED
		while (low < high) {
			half = (low + high) / 2;
			if (mam_collective_end(table, kind, half) > at)
				high = half;
			else
				low = half + 1;
		}
		if (low == parts)
			return piece;
		begin = low ? mam_collective_end(table, kind, low - 1) : 0;
		if (begin != at)
			return piece;
		piece.part = low;
		piece.bytes = mam_collective_end(table, kind, low) - begin;
	}
	piece.whole = whole;
	piece.parts = parts;
	piece.live = mam_atomic_load32(mam_collective_word(piece), MAM_RELAXED, MAM_AT_DEVICE) >>
			     piece.part % MAM_COLLECTIVE_WORD &
		     1;
	return piece;
}

/* Steps 1 to 3, for a heap that is not debugged. */
MAM_KSLOW struct mam_kpiece mam_collective_at(struct mam_kheap *root, const void *address)
{
	struct mam_karound around = mam_place_holder(root, address);
	struct mam_kpiece piece;

	if (around.bytes)
		return mam_collective_find(root, around.base, around.bytes, address);
	piece.whole = NULL;
	piece.bytes = 0;
	piece.part = 0;
	piece.parts = 0;
	piece.live = false;
	piece.inside = false;
	return piece;
}

/* Bytes of the part that starts at `address` if it is live; otherwise 0. */
MAM_KSLOW size_t mam_collective_usable(struct mam_kheap *root, const void *address)
{
	struct mam_kpiece piece = mam_collective_at(root, address);

	return piece.live ? (size_t)piece.bytes : 0;
}

/* ---- free ----------------------------------------------------------------------------------- */

/* Wipes the mark, so that the object no longer passes for one with parts. pre: exclusive access. */
MAM_KFN void mam_collective_close(struct mam_collective *whole)
{
	mam_atomic_store64(&whole->mark, 0, MAM_RELAXED, MAM_AT_DEVICE);
}

/*
 * The object at `object` is freed as a whole: with its last part, or because the host, which does
 * not see parts, frees it. pre: exclusive access.
 */
MAM_KFN void mam_collective_wipe(struct mam_kheap *root, void *object)
{
	uint64_t epoch = mam_atomic_load64(&root->returns->epoch, MAM_RELAXED, MAM_AT_DEVICE);

	if (epoch && mam_atomic_load64((uint64_t *)object, MAM_RELAXED, MAM_AT_DEVICE) ==
			     mam_collective_mark(root, epoch, object))
		mam_collective_close((struct mam_collective *)object);
}

/*
 * Step 5, by the lane that has just emptied `words` words: closes the object and returns true if
 * they were the last.
 */
MAM_KFN bool mam_collective_empty(struct mam_kpiece piece, uint32_t words)
{
	if (piece.parts > MAM_COLLECTIVE_WORD &&
	    mam_atomic_add32(&piece.whole->live, 0 - words, MAM_ACQ_REL, MAM_AT_DEVICE) != words)
		return false;
	mam_collective_close(piece.whole);
	return true;
}

/* Step 4, for the parts of one word whose bits are set in `given`; returns the old word. */
MAM_KFN uint32_t mam_collective_leave(uint32_t *word, uint32_t given)
{
	return mam_atomic_and32(word, ~given, MAM_ACQ_REL, MAM_AT_DEVICE);
}

/* Returns whether that emptied the word. */
MAM_KFN bool mam_collective_emptied(uint32_t old, uint32_t given)
{
	return (old & given) && !(old & ~given);
}

/* The result of a free of parts. */
enum mam_collective_answer {
	MAM_COLLECTIVE_TWICE, /* double free; nothing has changed */
	MAM_COLLECTIVE_GIVEN,
	MAM_COLLECTIVE_LAST, /* and the caller must free the object */
};

/* Steps 4 and 5 by a single lane. */
MAM_KFN enum mam_collective_answer mam_collective_drop(struct mam_kpiece piece)
{
	uint32_t given = 1u << piece.part % MAM_COLLECTIVE_WORD, old;

	if (!piece.live)
		return MAM_COLLECTIVE_TWICE;
	old = mam_collective_leave(mam_collective_word(piece), given);
	if (!(old & given))
		return MAM_COLLECTIVE_TWICE;
	return mam_collective_emptied(old, given) && mam_collective_empty(piece, 1)
		       ? MAM_COLLECTIVE_LAST
		       : MAM_COLLECTIVE_GIVEN;
}

/* The same for all parts, called once, with a live part. */
MAM_KFN enum mam_collective_answer mam_collective_drop_all(struct mam_kpiece piece)
{
	uint32_t given = 1u << piece.part % MAM_COLLECTIVE_WORD, emptied = 1, i, seen, old;
	uint32_t *own;

	if (!piece.live)
		return MAM_COLLECTIVE_TWICE;
	own = mam_collective_word(piece);
	seen = mam_atomic_load32(own, MAM_RELAXED, MAM_AT_DEVICE);
	MAM_ROLLED
	for (;;) {
		if (!(seen & given))
			return MAM_COLLECTIVE_TWICE;
		old = mam_atomic_cas32(own, seen, 0, MAM_ACQ_REL, MAM_AT_DEVICE);
		if (old == seen)
			break;
		seen = old;
	}
	MAM_ROLLED
	for (i = 0; i < mam_collective_words(piece.parts); i++) {
		old = mam_atomic_xchg32((uint32_t *)(piece.whole + 1) + i, 0, MAM_ACQ_REL,
					MAM_AT_DEVICE);
		emptied += old != 0;
	}
	return mam_collective_empty(piece, emptied) ? MAM_COLLECTIVE_LAST : MAM_COLLECTIVE_GIVEN;
}

#endif
