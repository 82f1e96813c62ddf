/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth.h - what a heap that grows knows of its grants, in device memory: the layout, for the host,
 * which makes it, and for kernels.
 *
 * Such a heap, the root, is a heap of objects as any other, and parts: each grant is one more, with
 * head and books of its own behind its ground, and knows nothing of the others. The root has a table
 * of them, numbered from 1 on, and a hint where requests begin to look, `current` of its head.
 *
 * One warp at a time fetches a grant (grow.h), as `stage` says: its generation, which goes up
 * whenever a fetch ends, well or not, and its phase.
 */
#ifndef MAM_HEAP_GROWTH_H
#define MAM_HEAP_GROWTH_H

#include "heap/books.h"
#include "heap/mail.h"

#ifndef MAM_PARTS_MAX
#define MAM_PARTS_MAX 64u
#endif
/* A grant has as many blocks at least, so that what is not large always fits: 2 MiB. */
#ifndef MAM_GRANT_BLOCKS /* tests have few */
#define MAM_GRANT_BLOCKS 32u
#endif
/* What needs more units than this is large: 256 KiB. */
#ifndef MAM_LARGE_UNITS
#define MAM_LARGE_UNITS 256u
#endif

/* Phases of `stage`. */
enum mam_stage {
	MAM_STAGE_IDLE,
	MAM_STAGE_ASKING, /* one lane waits for the host */
	MAM_STAGE_MAKING, /* `fresh` is there, and its books are being zeroed by all who wait */
};

/* A number alone on its line. */
struct mam_growth_hot {
	uint64_t value; /* atomic */
	uint64_t pad[MAM_PAGES_LINE / 8 - 1];
};

/* What a slot of the mailbox is to the device. */
enum mam_large_phase {
	MAM_LARGE_FREE,
	MAM_LARGE_ASKING,
	MAM_LARGE_LIVE,
	MAM_LARGE_LEAVING, /* a FREE or a CANCEL was posted: free once it is answered */
};

struct mam_large {
	uint64_t state;   /* generation << 8 | enum mam_large_phase; atomic */
	uint64_t address; /* of the object while it is LIVE, else 0; atomic */
	uint64_t bytes;   /* that it has; atomic */
	uint64_t marked;  /* the state, if lanes have parts of it (collective.h); atomic */
};

/* Where a large object may be remembered: large.h. */
#define MAM_LARGE_HINTS (4 * MAM_MAIL_SLOTS)

struct mam_reports; /* of a heap that is debugged */

struct mam_growth {
	/* Never changes. */
	struct mam_mail *mail; /* in host memory; NULL: it does not grow */
	struct mam_reports *reports; /* in host memory; NULL: it is not debugged */
	uint64_t wait_ns;      /* how long a lane waits for the host at most */
	uint64_t salt;         /* of the guards of a heap that is debugged (guard.h) */
	uint64_t pad0[MAM_PAGES_LINE / 8 - 4];

	struct mam_growth_hot stage; /* generation << 8 | enum mam_stage */
	struct mam_growth_hot parts; /* count of those in `part`; raised by who fetched one */
	struct mam_growth_hot next;  /* pieces of fresh books << 32 | those that somebody has begun to zero */
	struct mam_growth_hot done;  /* and that are zero */
	/* Of who fetches, and read by all. */
	struct mam_grant fresh;
	uint64_t taken; /* count of grants, ever */
	uint64_t asks;  /* count, ever */
	uint64_t cause; /* of the last fetch that failed: the stage's generation << 8 | enum mam_mail_cause
			   or MAM_GROWTH_SILENT; atomic */
	uint64_t silent; /* the `beat` that was there when a wait ended in vain, and 1; 0: none did;
			    atomic */
	uint64_t pad1[MAM_PAGES_LINE / 8 - 6];

	struct mam_grant part[MAM_PARTS_MAX]; /* number 0 on; changed only while no kernel runs */
	/*
	 * Their heads once more: as this memory never was anything else, what a cache that nobody
	 * keeps up to date has of it is zeros or right.
	 */
	struct mam_kheap head[MAM_PARTS_MAX];
	uint64_t large_free[MAM_MAIL_SLOTS / 64]; /* a bit a slot, 1: nobody's; atomic */
	uint32_t large_hint[MAM_LARGE_HINTS]; /* slots by what lies there: hints; atomic */
	struct mam_large large[MAM_MAIL_SLOTS];
	/* When a class, or 0 for runs, was not found in the root or in a part: mam_timer() | 1; 0: it
	   was not. Hints (parts.h); atomic */
	uint64_t dry[MAM_CLASSES + 1][MAM_PARTS_MAX + 1];
	/* Of a heap that is debugged (reports.h); a reset leaves them as they are. */
	struct mam_growth_hot told;   /* reports that were written, ever */
	struct mam_growth_hot untold; /* and that were not, for want of room */
};

/* Bytes from the root's head to its growth. */
MAM_KBOTH uint64_t mam_growth_offset(uint32_t blocks, uint32_t columns)
{
	return mam_books_plan_of(blocks, columns).end;
}

/* Causes beside the host's. */
#define MAM_GROWTH_SILENT 128u /* no answer in time */
#define MAM_GROWTH_PARTS 129u  /* the table of parts is full */

#endif
