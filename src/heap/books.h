/* SPDX-License-Identifier: Apache-2.0 */
/*
 * books.h - what a heap of objects knows of itself, and where it stands.
 *
 * The truth is three things:
 *   units    one bit a unit, 1 = taken: pages of 1 KiB, 64 of them a block, a block one word
 *   owners   one byte a unit: what took it
 *   words    one bit a slot, 1 = FREE. Each class has a word for each place in each block where a
 *            slab of it may begin; that of a place where none is, is 0. So who comes with an old
 *            idea of where slabs are wins nothing there: that is why words are never shared by
 *            classes, and what costs 3.7% of the ground.
 * All else are hints, which may lie:
 *   seats    one bit a block for each class: a slab of the class began there at some time
 *   handles  for each warp's place on its SM and each class, who was there the last time, and where
 *            it found room
 *
 * A new heap is zeros, but for the head and the header of `units`.
 *
 * In this order behind the head, each at a line: books of no pages; tallies; returns; units;
 * owners; words; seats; longs; closes; steps; handles.
 */
#ifndef MAM_HEAP_BOOKS_H
#define MAM_HEAP_BOOKS_H

#include "heap/classes.h"
#include "heap/head.h"

/* What the owner's byte of a unit says: nothing, the class of the slab, or: */
#define MAM_OWNER_MOVING 128u /* added to a class: the slab is about to begin or to end */
#define MAM_OWNER_RUN 64u     /* plus 9 to 63: so many units, of which this is the first */
#define MAM_OWNER_LONG 254u   /* the first of more units: `longs` of the block says how many */
#define MAM_OWNER_INSIDE 255u /* of a run, not the first */

/* What went wrong, or was asked for and is not, and how often. */
enum mam_object_tally {
	MAM_OBJECT_FULL,        /* NULL: no room, as seen in one pass over everything */
	MAM_OBJECT_CONTENDED,   /* NULL: things moved during each of many passes */
	MAM_OBJECT_ZERO,        /* NULL: nothing was asked for */
	MAM_OBJECT_TOO_LARGE,   /* NULL: more than the whole heap, or than numbers can say */
	MAM_OBJECT_FOREIGN,     /* given back: an address outside of the heap, or that nobody has */
	MAM_OBJECT_INTERIOR,    /* given back: not the first byte of an object */
	MAM_OBJECT_TWICE,       /* given back: free already */
	/* Of a heap that grows, in place of FULL and CONTENDED: */
	MAM_OBJECT_AT_LIMIT,  /* NULL: no room, and it is as large as it may be */
	MAM_OBJECT_POOL_FULL, /* NULL: no room, and the pool had none */
	MAM_OBJECT_SILENT,    /* NULL: no room, and the host did not answer in time */
	MAM_OBJECT_NO_SLOT,   /* NULL: no room, and no more grants or large objects can be counted */
	MAM_OBJECT_REFUSED,   /* NULL: no room, and the host answered that it does not serve */
	MAM_OBJECT_TALLIES,
};

/* Each on a line of its own. */
struct mam_tallies {
	struct {
		uint64_t value; /* atomic */
		uint64_t pad[MAM_PAGES_LINE / 8 - 1];
	} of[MAM_OBJECT_TALLIES];
};

/* What searches did, one row a column of handles, so that no two warps meet there often. */
struct mam_steps {
	uint64_t searches; /* groups of lanes that did not find room at once; atomic, as all here */
	uint64_t looks;
	uint64_t passes; /* over everything */
	uint64_t pad;
};

/*
 * Addresses that the host gives back: it writes them and then `told`; device code takes them in
 * order by raising `taken`.
 */
#ifndef MAM_RETURNS /* tests have few */
#define MAM_RETURNS 4096u
#endif
struct mam_returns {
	uint64_t told;  /* count, ever; written by the host */
	uint64_t epoch; /* what marks of collective.h are mixed with; 0: not drawn yet; atomic */
	uint64_t pad0[MAM_PAGES_LINE / 8 - 2];
	uint64_t taken; /* count, ever; atomic */
	uint64_t pad1[MAM_PAGES_LINE / 8 - 1];
	uint64_t address[MAM_RETURNS]; /* number i at i % MAM_RETURNS */
};

/* Bytes from the head to each part. */
struct mam_books_plan {
	uint64_t tallies, returns, units, owners, words, seats, longs, closes, steps, handles, end;
};

MAM_KBOTH uint64_t mam_books_line(uint64_t bytes)
{
	return (bytes + MAM_PAGES_LINE - 1) / MAM_PAGES_LINE * MAM_PAGES_LINE;
}

/* 64-bit words of seats for one class. */
MAM_KBOTH uint32_t mam_books_seat_words(uint32_t blocks)
{
	return (blocks + 63) / 64;
}

MAM_KBOTH struct mam_books_plan mam_books_plan_of(uint32_t blocks, uint32_t columns)
{
	struct mam_books_plan plan;

	plan.tallies = mam_books_line(mam_head_bytes(0));
	plan.returns = plan.tallies + sizeof(struct mam_tallies);
	plan.units = plan.returns + mam_books_line(sizeof(struct mam_returns));
	plan.owners = mam_books_line(plan.units + mam_pages_bytes(blocks * MAM_BLOCK_UNITS));
	plan.words = plan.owners + mam_books_line((uint64_t)blocks * MAM_BLOCK_UNITS);
	plan.seats = mam_books_line(plan.words + (uint64_t)blocks * MAM_BLOCK_WORDS * 8);
	plan.longs = mam_books_line(plan.seats +
				    (uint64_t)mam_books_seat_words(blocks) * MAM_CLASSES * 8);
	plan.closes = mam_books_line(plan.longs + (uint64_t)blocks * 4);
	plan.steps = mam_books_line(plan.closes + (uint64_t)blocks * 4);
	plan.handles = plan.steps + columns * sizeof(struct mam_steps);
	plan.end = mam_books_line(plan.handles + (uint64_t)columns * MAM_CLASSES * 8);
	return plan;
}

/* Rows of handles for a heap of so many blocks: one for each 256 KiB, 32 to 8192. */
MAM_KBOTH uint32_t mam_books_columns(uint32_t blocks)
{
	uint32_t columns = 32;

	while (columns < blocks / 4 && columns < 8192)
		columns *= 2;
	return columns;
}

/* The head of a heap of objects whose books begin at `at`, an address on the device. */
MAM_KBOTH void mam_books_head(struct mam_kheap *head, unsigned char *ground, unsigned char *at,
			      uint32_t blocks, uint32_t columns)
{
	struct mam_books_plan plan = mam_books_plan_of(blocks, columns);

	head->ground = ground;
	head->pages = 0;
	head->shift = MAM_UNIT_SHIFT;
	head->layout = MAM_HEAP_LAYOUT;
	head->blocks = blocks;
	head->columns = columns - 1;
	head->words = (uint64_t *)(at + plan.words);
	head->owners = (uint64_t *)(at + plan.owners);
	head->seats = (uint64_t *)(at + plan.seats);
	head->handles = (uint64_t *)(at + plan.handles);
	head->longs = (uint32_t *)(at + plan.longs);
	head->closes = (uint32_t *)(at + plan.closes);
	head->steps = (struct mam_steps *)(at + plan.steps);
	head->born = 0;
	head->growth = NULL;
	head->current = 0;
	head->units = (struct mam_pages *)(at + plan.units);
	head->tallies = (struct mam_tallies *)(at + plan.tallies);
	head->returns = (struct mam_returns *)(at + plan.returns);
}

/* A new heap in zeroed memory, by the host or by one lane before others come. */
MAM_KBOTH void mam_books_format(struct mam_kheap *head, unsigned char *ground, uint32_t blocks,
				uint32_t columns)
{
	mam_books_head(head, ground, (unsigned char *)head, blocks, columns);
	mam_pages_format((struct mam_pages *)(head + 1), 0, 5);
	mam_pages_format(head->units, blocks * MAM_BLOCK_UNITS, 5);
}

/* The words of a class: `blocks` times mam_class_words(). */
MAM_KBOTH uint64_t *mam_books_words(const struct mam_kheap *heap, uint32_t class_)
{
	return heap->words + (uint64_t)mam_class_words_before(class_) * heap->blocks;
}

/* How many they are. */
MAM_KBOTH uint32_t mam_books_word_count(const struct mam_kheap *heap, uint32_t class_)
{
	return heap->blocks << (6 - mam_class_span_shift(class_));
}

/* The first unit of the slab that has this word of its class. */
MAM_KBOTH uint32_t mam_books_unit(uint32_t class_, uint32_t word)
{
	return word << mam_class_span_shift(class_);
}

/* The address of a slot. */
MAM_KBOTH unsigned char *mam_books_at(const struct mam_kheap *heap, uint32_t class_, uint32_t word,
				      uint32_t slot)
{
	return heap->ground + ((uint64_t)mam_books_unit(class_, word) << MAM_UNIT_SHIFT) +
	       slot * mam_class_bytes(class_);
}

#ifdef MAM_KTABLE
/* The same by traits. */
MAM_KFN uint64_t *mam_traits_words(const struct mam_kheap *heap, uint64_t traits)
{
	return heap->words + (uint64_t)mam_traits_words_before(traits) * heap->blocks;
}

MAM_KFN unsigned char *mam_traits_at(const struct mam_kheap *heap, uint64_t traits, uint32_t word,
				     uint32_t slot)
{
	return heap->ground +
	       ((uint64_t)word << (mam_traits_span_shift(traits) + MAM_UNIT_SHIFT)) +
	       slot * mam_traits_bytes(traits);
}
#endif

#endif
