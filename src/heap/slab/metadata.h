/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metadata.h - the metadata of an object heap, and its layout.
 *
 * The authoritative state is in three arrays:
 *   units    one bit per unit, 1 = claimed. A unit is a page of 1 KiB; 64 units are a block, whose
 *            bits are one word
 *   owners   one byte per unit: what claimed it
 *   words    one bit per slot, 1 = FREE. Each class has a word for each place in each block where
 *            one of its slabs may start; the word is 0 where there is no slab. So a thread with a
 *            stale idea of where slabs are wins nothing there. That is why classes never share
 *            words, which costs 3.7% of the memory.
 * All others are hints, which may be wrong:
 *   hints    one bit per block for each class: a slab of the class started there at some time
 *   searches  where searches last found room, where they open slabs, and what scans found
 *   handles  for each warp's position on its SM and each class: the last warp there, and where it
 *            found room
 *
 * A new heap is all zeros, except for the head and the header of `units`.
 *
 * The order after the head, each at a cache line: metadata of no pages; tallies; searches; returns;
 * units; owners; words; hints; longs; closes; steps; handles.
 */
#ifndef MAM_HEAP_SLAB_METADATA_H
#define MAM_HEAP_SLAB_METADATA_H

#include "heap/slab/classes.h"
#include "heap/pages/head.h"

/* The owner byte of a unit: 0 (none), the class of the slab, or: */
#define MAM_OWNER_MOVING 128u /* added to a class: the slab is about to open or to close */
#define MAM_OWNER_RUN \
	64u                /* plus 9 to 63: the number of units of a run, of which this is the
				 first */
#define MAM_OWNER_FEW 200u /* plus 1 to 8: likewise, of a shorter run */
#define MAM_FEW_UNITS 8u
#define MAM_OWNER_LONG 254u   /* the first of more units: `longs` of the block has their number */
#define MAM_OWNER_INSIDE 255u /* of a run, except the first */

/* Failed requests and errors, by kind. */
enum mam_object_tally {
	MAM_OBJECT_FULL,      /* NULL: no room, as seen in one scan over everything */
	MAM_OBJECT_CONTENDED, /* NULL: state changed during each of many scans */
	MAM_OBJECT_ZERO,      /* NULL: a request of 0 bytes */
	MAM_OBJECT_TOO_LARGE, /* NULL: more than the whole heap, or an overflow */
	MAM_OBJECT_FOREIGN,   /* invalid free: an address outside of the heap, or one that is
				   not allocated */
	MAM_OBJECT_INTERIOR,  /* invalid free: not the first byte of an object */
	MAM_OBJECT_TWICE,     /* double free */
	/* Of a heap that grows, in place of FULL and CONTENDED: */
	MAM_OBJECT_AT_LIMIT,  /* NULL: no room, and the heap has reached its size limit */
	MAM_OBJECT_POOL_FULL, /* NULL: no room, and the pool had no memory */
	MAM_OBJECT_SILENT,    /* NULL: no room, and the host did not reply in time */
	MAM_OBJECT_NO_SLOT,   /* NULL: no slot of the mailbox was available in time */
	MAM_OBJECT_REFUSED,   /* NULL: no room, and the host replied that it does not serve the
				 heap */
	MAM_OBJECT_TALLIES,
};

/* Each on a cache line of its own. */
struct mam_tallies {
	struct {
		uint64_t value; /* atomic */
		uint64_t pad[MAM_PAGES_LINE / 8 - 1];
	} of[MAM_OBJECT_TALLIES];
};

/* Work done by searches, one row per column of handles, so that two warps rarely share a row. */
struct mam_steps {
	uint64_t searches; /* groups of lanes that did not find room at a glance; atomic, as are
			      all fields here */
	uint64_t looks;
	uint64_t passes; /* scans over everything */
	uint64_t pad;
};

/* A set of classes: class c is bit c % 64 of word c / 64. */
struct mam_kset {
	uint64_t has[2];
};

#define MAM_SCAN_ROOMS 4u

/* The results of scans for one class (scans.h), those with an even and with an odd turn. */
struct mam_scan {
	uint64_t full; /* the last result: 16 times the ticket of a scan, plus the number of blocks
			      with room, or MAM_SCAN_ROOMS + 1 if there are more */
	uint32_t count[2]; /* of these blocks */
	uint32_t next[2];  /* that requests have tried */
	uint32_t rooms[2][MAM_SCAN_ROOMS];
	uint32_t pad[2];
};

/* The scan that warps share (scans.h). */
struct mam_scan_shared {
	uint64_t work;             /* how far it is */
	uint64_t over;             /* the ticket of the last one that is over */
	uint64_t ticket[2];        /* of the last ones with an even and with an odd turn */
	struct mam_kset wanted;    /* the classes that it is for */
	struct mam_kset wants;     /* those that the next one is for */
	struct mam_kset larger[2]; /* of which it saw free slots; by its turn */
	uint32_t turn;             /* its number */
	uint32_t pad[MAM_PAGES_LINE / 4 - 25];
};

/*
 * The state that searches share (find.h). Two rows of words for each class follow, those of searches,
 * then those of scans: where there was room, plus 1; 0: unknown. All are hints, except `clock`,
 * `scans`, and `shared` without `larger`; all fields are atomic.
 */
struct mam_searches {
	uint32_t frontier; /* unit: searches open groups before it, or move it */
	uint32_t pad0[MAM_PAGES_LINE / 4 - 1];
	uint64_t clock; /* the last number of a request or a scan */
	uint64_t pad1[MAM_PAGES_LINE / 8 - 1];
	struct mam_scan_shared shared;
	struct mam_scan scans[MAM_CLASSES];
};
/* Added to a word of a row while a lane searches for the next one. */
#define MAM_SHARED_BUSY 0x80000000u

/*
 * Addresses that the host frees: it writes them and then `told`; device code takes them in order by
 * raising `taken`.
 */
#ifndef MAM_RETURNS /* smaller in tests */
#define MAM_RETURNS 4096u
#endif
struct mam_returns {
	uint64_t told;  /* total count; written by the host */
	uint64_t epoch; /* mixed into the marks of collective.h; 0: not drawn yet; atomic */
	uint64_t pad0[MAM_PAGES_LINE / 8 - 2];
	uint64_t taken; /* total count; atomic */
	uint64_t pad1[MAM_PAGES_LINE / 8 - 1];
	uint64_t address[MAM_RETURNS]; /* number i at i % MAM_RETURNS */
};

/* Byte offsets from the head. */
struct mam_metadata_plan {
	uint64_t tallies, searches, returns, units, owners, words, hints, longs, closes, steps,
		handles, end;
};

MAM_KBOTH uint64_t mam_metadata_line(uint64_t bytes)
{
	return (bytes + MAM_PAGES_LINE - 1) / MAM_PAGES_LINE * MAM_PAGES_LINE;
}

/*
 * Words of a row that searches share, a power of two: one for each 16 blocks, 16 to 8192. So the
 * groups that a row refers to are at most a small share of the heap.
 */
MAM_KBOTH uint32_t mam_metadata_shared(uint32_t blocks)
{
	uint32_t words = 16;

	while (words < blocks / 16 && words < 8192)
		words *= 2;
	return words;
}

#ifdef MAM_KTABLE
/* Its binary logarithm, without a loop. */
MAM_KFN uint32_t mam_metadata_width(uint32_t blocks)
{
	uint32_t width = blocks >= 32 ? 64 - mam_clz64(blocks / 16 - 1) : 0;

	return width < 4 ? 4 : width < 13 ? width : 13;
}
#endif

/* 64-bit words of `hints` for one class. */
MAM_KBOTH uint32_t mam_metadata_hint_words(uint32_t blocks)
{
	return (blocks + 63) / 64;
}

MAM_KBOTH struct mam_metadata_plan mam_metadata_plan_of(uint32_t blocks, uint32_t columns)
{
	struct mam_metadata_plan plan;

	plan.tallies = mam_metadata_line(mam_head_bytes(0));
	plan.searches = plan.tallies + sizeof(struct mam_tallies);
	plan.returns = plan.searches + sizeof(struct mam_searches) +
		       mam_metadata_line(MAM_CLASSES * 8 * (uint64_t)mam_metadata_shared(blocks));
	plan.units = plan.returns + mam_metadata_line(sizeof(struct mam_returns));
	plan.owners = mam_metadata_line(plan.units + mam_pages_bytes(blocks * MAM_BLOCK_UNITS));
	plan.words = plan.owners + mam_metadata_line((uint64_t)blocks * MAM_BLOCK_UNITS);
	plan.hints = mam_metadata_line(plan.words + (uint64_t)blocks * MAM_BLOCK_WORDS * 8);
	plan.longs = mam_metadata_line(plan.hints +
				       (uint64_t)mam_metadata_hint_words(blocks) * MAM_CLASSES * 8);
	plan.closes = mam_metadata_line(plan.longs + (uint64_t)blocks * 4);
	plan.steps = mam_metadata_line(plan.closes + (uint64_t)blocks * 4);
	plan.handles = plan.steps + columns * sizeof(struct mam_steps);
	plan.end = mam_metadata_line(plan.handles + (uint64_t)columns * MAM_CLASSES * 8);
	return plan;
}

/* Rows of handles for a heap of so many blocks: one for each 256 KiB, 32 to 8192. */
MAM_KBOTH uint32_t mam_metadata_columns(uint32_t blocks)
{
	uint32_t columns = 32;

	while (columns < blocks / 4 && columns < 8192)
		columns *= 2;
	return columns;
}

/* Fills the head of an object heap whose metadata starts at `at`, an address on the device. */
MAM_KBOTH void mam_metadata_head(struct mam_kheap *head, unsigned char *space, unsigned char *at,
				 uint32_t blocks, uint32_t columns)
{
	struct mam_metadata_plan plan = mam_metadata_plan_of(blocks, columns);

	head->space = space;
	head->pages = 0;
	head->shift = MAM_UNIT_SHIFT;
	head->layout = MAM_HEAP_LAYOUT;
	head->blocks = blocks;
	head->columns = columns - 1;
	head->words = (uint64_t *)(at + plan.words);
	head->owners = (uint64_t *)(at + plan.owners);
	head->hints = (uint64_t *)(at + plan.hints);
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

/*
 * Creates a new heap in zeroed memory; called by the host, or by one lane before others access it.
 */
MAM_KBOTH void mam_metadata_format(struct mam_kheap *head, unsigned char *space, uint32_t blocks,
				   uint32_t columns)
{
	mam_metadata_head(head, space, (unsigned char *)head, blocks, columns);
	mam_pages_format((struct mam_pages *)(head + 1), 0, 5);
	mam_pages_format(head->units, blocks * MAM_BLOCK_UNITS, 5);
}

/* Directly after the tallies, so that the head needs no address of it. */
MAM_KBOTH struct mam_searches *mam_metadata_searches(const struct mam_kheap *heap)
{
	return (struct mam_searches *)(heap->tallies + 1);
}

/* The words of a class: `blocks` times mam_class_words(). */
MAM_KBOTH uint64_t *mam_metadata_words(const struct mam_kheap *heap, uint32_t class_)
{
	return heap->words + (uint64_t)mam_class_words_before(class_) * heap->blocks;
}

/* The number of these words. */
MAM_KBOTH uint32_t mam_metadata_word_count(const struct mam_kheap *heap, uint32_t class_)
{
	return heap->blocks << (6 - mam_class_span_shift(class_));
}

/* The first unit of the slab with this word of its class. */
MAM_KBOTH uint32_t mam_metadata_unit(uint32_t class_, uint32_t word)
{
	return word << mam_class_span_shift(class_);
}

/* The address of a slot. */
MAM_KBOTH unsigned char *mam_metadata_at(const struct mam_kheap *heap, uint32_t class_,
					 uint32_t word, uint32_t slot)
{
	return heap->space + ((uint64_t)mam_metadata_unit(class_, word) << MAM_UNIT_SHIFT) +
	       slot * mam_class_bytes(class_);
}

#ifdef MAM_KTABLE
/* The same from traits. */
MAM_KFN uint64_t *mam_traits_words(const struct mam_kheap *heap, uint64_t traits)
{
	return heap->words + (uint64_t)mam_traits_words_before(traits) * heap->blocks;
}

MAM_KFN unsigned char *mam_traits_at(const struct mam_kheap *heap, uint64_t traits, uint32_t word,
				     uint32_t slot)
{
	return heap->space + ((uint64_t)word << (mam_traits_span_shift(traits) + MAM_UNIT_SHIFT)) +
	       slot * mam_traits_bytes(traits);
}
#endif

#endif
