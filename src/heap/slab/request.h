/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - the request of one lane, and the state of its search.
 *
 * It is a variable in memory, which functions that are not inlined change through its address. In
 * registers it would count for every kernel with a call: nvcc gives a function registers on top of
 * those that its callers keep across the call. So code with collectives keeps little across a call,
 * and reads what it needs again.
 */
#ifndef MAM_HEAP_SLAB_REQUEST_H
#define MAM_HEAP_SLAB_REQUEST_H

#include "heap/slab/find.h"
#include "heap/slab/scans.h"

/* The slot of a lane that wants none, that found none, that failed, or that has its object. */
#define MAM_SLOT_OUT 65u
#define MAM_SLOT_NONE 66u
#define MAM_SLOT_REFUSED 67u
#define MAM_SLOT_DONE 68u

struct mam_krequest {
	uint32_t mask;         /* lanes that search together */
	uint32_t runs_mask;    /* those of them that search for runs */
	void *object;          /* NULL: nothing yet */
	uint32_t class_;       /* 1 if it wants no slot */
	uint32_t units;        /* of a run; 0: it wants no run */
	struct mam_kslot mine; /* slot MAM_SLOT_OUT: it wants no slot */
	struct mam_kheap *root;
	struct mam_kheap *heap; /* the root or a part: where it searches */
	/*
	 * Of a heap that grows, otherwise NULL. Then failed requests are not counted by a search,
	 * slots are found by looks or by a scan, and a search stops when `current` of the root no
	 * longer equals `was`, as other lanes have found room elsewhere, or when this shows that a
	 * fetch is in progress.
	 */
	uint64_t *stage;
	uint32_t was;
	bool all; /* scan everything */
	/* A search by one lane: the slots that it won, for others, too. */
	struct mam_kfind found;
	/* A scan (search.h), and a search for runs (spans.h), by all lanes. */
	uint32_t word;        /* where the last look found room; or MAM_NO_WORD */
	uint32_t room;        /* the class that it found room for */
	uint32_t unit;        /* of a run; or MAM_NO_PAGE */
	uint32_t doubt;       /* not 0: there may be more room */
	uint32_t closes;      /* closed groups, ever, of the caller's blocks */
	uint32_t last_doubt;  /* of all lanes, in the last scan */
	uint32_t last_closes; /* likewise */
	uint32_t block;       /* the next one for the lane to look at */
	uint32_t end;         /* of those that the warp looks at */
	uint32_t piece;       /* the leader's: scans.h */
	uint32_t alone;       /* scan without other warps */
	uint32_t spare;       /* then: a block with room for a run; or MAM_NO_PAGE */
	uint64_t since;       /* scans.h */
	struct mam_kset scan; /* the classes of the scan that is shared */
	struct mam_kwanted wanted;
	struct mam_kresult result;
	struct mam_kwalk walk;
};

#endif
