/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth.h - the state of a growing heap's grants, in device memory: the layout, for the host,
 * which creates it, and for kernels.
 *
 * Such a heap, the root, is an ordinary object heap with parts. Each grant is one part, with head
 * and metadata of its own after its memory, and independent of the others. The root has tables of
 * them, numbered starting at 1, and a hint where requests start to search: `current` of its head.
 * The first table is here; the host adds others as the number of grants grows (mail.h).
 *
 * Large objects are blocks of the host's pool. Each has a record, in tables that the host adds as
 * their number grows (large.h).
 *
 * One warp at a time fetches a grant (grow.h). `stage` records its generation, which increases
 * whenever a fetch ends, successful or not, and its phase.
 */
#ifndef MAM_HEAP_GROWTH_GROWTH_H
#define MAM_HEAP_GROWTH_GROWTH_H

#include "heap/slab/metadata.h"
#include "heap/growth/mail.h"

/* Parts of the first table; each further table has twice as many as the last. */
#ifndef MAM_PARTS_FIRST /* fewer in tests */
#define MAM_PARTS_FIRST 64u
#endif
/* Minimum blocks of a grant, so that every object that is not large fits: 2 MiB. */
#ifndef MAM_GRANT_BLOCKS /* smaller in tests */
#define MAM_GRANT_BLOCKS 32u
#endif
/* An object that needs more units than this is large: 256 KiB. */
#ifndef MAM_LARGE_UNITS
#define MAM_LARGE_UNITS 256u
#endif

/* Phases of `stage`. */
enum mam_stage {
	MAM_STAGE_IDLE,
	MAM_STAGE_ASKING, /* one lane waits for the host */
	MAM_STAGE_MAKING, /* `fresh` is set, and all waiting warps zero its metadata */
};

/* A number alone on its cache line. */
struct mam_growth_hot {
	uint64_t value; /* atomic */
	uint64_t pad[MAM_PAGES_LINE / 8 - 1];
};

/*
 * The record of a live large object. The host chooses its place (mail.h): a free record of the row
 * that the object's address selects, in any of the tables. So a lookup reads one row of each table.
 */
struct mam_large {
	uint64_t address; /* 0: none; | MAM_LARGE_UNSENT; atomic */
	uint64_t bytes;   /* its size, | MAM_LARGE_MARKED; atomic */
};

#define MAM_LARGE_UNSENT ((uint64_t)1) /* it was freed, but no message could be sent */
#define MAM_LARGE_MARKED ((uint64_t)1) /* lanes have parts of it (collective.h) */

#define MAM_LARGE_ROW 8u /* records of a row: a cache line */
/* Rows of the first table; each further table has twice as many as the last. */
#define MAM_LARGE_ROWS 64u

/* Rows and bytes of table number `table`, from 0. */
MAM_KBOTH uint32_t mam_large_rows(uint32_t table)
{
	return MAM_LARGE_ROWS << table;
}

MAM_KBOTH uint64_t mam_large_table_bytes(uint32_t table)
{
	return (uint64_t)mam_large_rows(table) * MAM_LARGE_ROW * sizeof(struct mam_large);
}

/* The first record of the row of an address in that table. */
MAM_KBOTH uint32_t mam_large_row(uint64_t address, uint32_t table)
{
	uint64_t mixed = (address >> MAM_UNIT_SHIFT) * 0x9e3779b97f4a7c15u;

	/* Twice, as addresses often have equal distances. */
	mixed = (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15u;
	return ((uint32_t)(mixed >> 32) & (mam_large_rows(table) - 1)) * MAM_LARGE_ROW;
}

struct mam_reports; /* of a heap that is debugged */

struct mam_growth {
	/* These never change. */
	struct mam_mail *mail;       /* in host memory; NULL: the heap does not grow */
	struct mam_reports *reports; /* in host memory; NULL: the heap is not debugged */
	uint64_t wait_ns;            /* maximum time that a lane waits for the host */
	uint64_t salt;               /* of the guards of a heap that is debugged (guard.h) */
	uint64_t pad0[MAM_PAGES_LINE / 8 - 4];

	struct mam_growth_hot stage; /* generation << 8 | enum mam_stage */
	struct mam_growth_hot parts; /* count of those in `part`; raised by the lane that fetched
					one */
	struct mam_growth_hot next;  /* pieces of fresh metadata << 32 | pieces whose zeroing has
					started */
	struct mam_growth_hot done;  /* pieces that are zero */
	/* Written by the lane that fetches, read by all. */
	struct mam_grant fresh;
	uint64_t taken; /* total count of grants */
	uint64_t asks;  /* total count */
	uint64_t
		cause; /* of the last fetch that failed: the stage's generation << 8 | enum mam_mail_cause
			   or MAM_GROWTH_SILENT; atomic */
	uint64_t silent; /* the `beat` seen when a wait timed out, plus 1; 0: none did; atomic */
	uint64_t pad1[MAM_PAGES_LINE / 8 - 6];

	/* The first table: number 0 is the first part; changed only while no kernel runs. */
	struct mam_grant part[MAM_PARTS_FIRST];
	/*
	 * Copies of their heads: this memory never had another use, so an incoherent cache holds
	 * zeros or the right values of it.
	 */
	struct mam_kheap head[MAM_PARTS_FIRST];
	uint64_t part_table[MAM_PARTS_TABLES]; /* the other tables; 0: none; atomic */
	uint64_t pad2[MAM_PAGES_LINE / 8 - MAM_PARTS_TABLES % (MAM_PAGES_LINE / 8)];
	struct mam_large large[MAM_LARGE_ROWS * MAM_LARGE_ROW]; /* the first table */
	uint64_t large_free[MAM_MAIL_SLOTS / 64]; /* a bit per slot, 1: unused; atomic */
	uint64_t large_sent[MAM_MAIL_SLOTS]; /* the stamp of each slot's last message; atomic */
	uint64_t large_unsent;               /* 0: no record is UNSENT; atomic */
	uint64_t large_marked; /* bit i: rows i, i + 64, ... may have MARKED records; atomic */
	uint64_t large_table[MAM_LARGE_TABLES]; /* the tables after the first; 0: none; atomic */
	/*
	 * When a search for a class (0: for runs) failed in the root or in a part: mam_timer() | 1;
	 * 0: none failed. Hints (parts.h); atomic
	 */
	uint64_t dry[MAM_CLASSES + 1][MAM_PARTS_FIRST + 1];
	/* Of a debugged heap (reports.h); a reset keeps them. */
	struct mam_growth_hot told;   /* total of reports written */
	struct mam_growth_hot untold; /* total of reports lost for lack of space */
};

/*
 * A table of parts after the first: grants, then copies of their heads, then what `dry` is for the
 * first table, part by part. All zero when the host provides it.
 */
struct mam_parts_table {
	uint64_t at;
	uint32_t size; /* of parts */
};

/* Size of table number `table`, where 0 is the first. */
MAM_KBOTH uint32_t mam_parts_size(uint32_t table)
{
	return MAM_PARTS_FIRST << table;
}

/* Parts in the tables before that one. */
MAM_KBOTH uint32_t mam_parts_before(uint32_t table)
{
	return MAM_PARTS_FIRST * ((1u << table) - 1);
}

MAM_KBOTH struct mam_grant *mam_parts_grants(struct mam_parts_table table)
{
	return (struct mam_grant *)(uintptr_t)table.at;
}

MAM_KBOTH struct mam_kheap *mam_parts_heads(struct mam_parts_table table)
{
	return (struct mam_kheap *)(uintptr_t)(table.at +
					       mam_metadata_line(table.size *
								 sizeof(struct mam_grant)));
}

MAM_KBOTH uint64_t *mam_parts_dry(struct mam_parts_table table)
{
	return (uint64_t *)(uintptr_t)(mam_parts_heads(table) + table.size);
}

MAM_KBOTH uint64_t mam_parts_table_bytes(uint32_t size)
{
	struct mam_parts_table table;

	table.at = 0;
	table.size = size;
	return (uint64_t)(uintptr_t)(mam_parts_dry(table) + (uint64_t)size * (MAM_CLASSES + 1));
}

/* Bytes from the root's head to its growth. */
MAM_KBOTH uint64_t mam_growth_offset(uint32_t blocks, uint32_t columns)
{
	return mam_metadata_plan_of(blocks, columns).end;
}

/* Causes besides the host's. */
#define MAM_GROWTH_SILENT 128u /* no reply in time */
#define MAM_GROWTH_BUSY 129u   /* no slot was available in time */

#endif
