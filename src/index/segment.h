/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h - the records of a pool: segments and chunks.
 *
 *   chunk 0                                  chunk 1 (newest)
 *   +-------+------+------------+-----+      +------+-----------------------+
 *   | block | free | block      | blk |      | blk  | tail                  |
 *   +-------+------+------------+-----+      +------+-----------------------+
 *
 * A chunk is divided into segments without gaps. A segment is live (a block that a caller holds),
 * retired (a block that no caller holds and that must not be reused yet) or free. There are never
 * two free neighbors: they are joined at once. A free segment with a live one above it is called a
 * free block. The free end of the newest chunk is the tail: it is used only when no free block
 * fits.
 *
 * On a source that maps memory in pieces, a chunk is an address range (range.h). A part of it
 * without memory is also a segment: void (unmapped). There are never two void neighbors. Such a
 * pool has no tail: above its highest block the range is unmapped.
 *
 * Device memory is never read or written: all metadata of a segment is in its record of 64 bytes,
 * one cache line. A record is in
 *   - a group of its neighbors, always; the tree by address contains the groups (addrtree.h);
 *   - the list of its chunk's segments in address order (prev, next), always: split and join find
 *     neighbors without a search;
 *   - the segregated free lists, when free and not the tail, or when void (freelists.h);
 *   - the map from block to record, when live (blockmap.h);
 *   - the queue of retired blocks, when retired (retire.c).
 */
#ifndef MAM_INDEX_SEGMENT_H
#define MAM_INDEX_SEGMENT_H

#include "base/rbtree.h"
#include "base/records.h"

enum mam_segment_state {
	MAM_SEGMENT_IDLE = 0, /* the record is not in use */
	MAM_SEGMENT_FREE = 1,
	MAM_SEGMENT_LIVE = 2,
	MAM_SEGMENT_RETIRED = 3,
	MAM_SEGMENT_UNMAPPED = 4, /* addresses without memory (range.h) */
	MAM_SEGMENT_MOVING = 5,   /* used by the thread that calls the source */
	MAM_SEGMENT_LOST = 6,    /* as VOID, but the source failed there: must not be tried again */
	MAM_SEGMENT_LEAVING = 7, /* mapped, but unused: unmapped after a fence (pool/alias.h) */
	MAM_SEGMENT_HELD = 256   /* + handle of a stream free list: in that list (streamlist.h) */
};

/* lock: pool, all fields */
struct mam_segment {
	uint64_t base;  /* device address */
	uint64_t bytes; /* a multiple of the granule */
	uint32_t group; /* the group of neighbors that contains it (addrtree.h) */
	uint32_t prev;  /* segment below in the chunk; 0: it is the first */
	uint32_t next;  /* segment above in the chunk; 0: it is the last */
	uint32_t chunk; /* handle of its chunk */
	union {
		struct {
			struct mam_rbnode by_size; /* valid in the first of its peers */
			uint32_t peer_prev;        /* 0: the first */
			uint32_t peer_next;        /* 0: the last */
		};
		uint64_t requested; /* live: size that the caller requested */
		struct {
			uint64_t retired_ticket; /* retired: its ticket */
			uint32_t retired_next;   /* retired: the one retired after it; 0: none */
		};
		uint32_t leaving_next; /* leaving: another one of its group; 0: none */
	};
	/* enum mam_segment_state; a separate word, as it is written before sizes are read */
	uint32_t state;
};

/* Maximum number of records per new segment: its own, and one for a group (addrtree.h). */
#define MAM_SEGMENT_RECORDS 2u

_Static_assert(sizeof(struct mam_segment) == 64, "a segment record is one cache line");

/* lock: pool, all fields */
struct mam_chunk {
	uint64_t base;
	uint64_t bytes;
	uint64_t high;        /* highest end of any block so far, from its base */
	uint64_t live_blocks; /* count, retired ones too */
	uint32_t last;        /* its highest segment; its only one while live_blocks is 0 */
	uint32_t older;       /* next in the list of chunks, newest first */
	uint32_t newer;
	uint32_t unused[5];
};

_Static_assert(sizeof(struct mam_chunk) == 64, "a record's size is a multiple of 16");

static inline struct mam_segment *mam_segment_at(const struct mam_records *segments,
						 uint32_t handle)
{
	return (struct mam_segment *)mam_records_at(segments, handle);
}

/*
 * mam_segments_init - records for segments. Record 0 stands for no segment. Its address is above
 * every other, and its links are written but never read: peers.h relies on both.
 */
static inline enum mam_status mam_segments_init(struct mam_records *segments)
{
	enum mam_status status = mam_records_init(segments, sizeof(struct mam_segment));

	if (status == MAM_OK)
		mam_segment_at(segments, 0)->base = UINT64_MAX;
	return status;
}

static inline struct mam_chunk *mam_chunk_at(const struct mam_records *chunks, uint32_t handle)
{
	return (struct mam_chunk *)mam_records_at(chunks, handle);
}

static inline uint64_t mam_segment_end(const struct mam_segment *segment)
{
	return segment->base + segment->bytes;
}

#endif
