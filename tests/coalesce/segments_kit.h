/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segments_kit.h - helpers for tests of segments: a base that records the requested bytes, the
 * expected position of each segment, and owners of large segments.
 */
#ifndef MAM_TESTS_COALESCE_SEGMENTS_KIT_H
#define MAM_TESTS_COALESCE_SEGMENTS_KIT_H

#include "coalesce/kit.h"
#include "coalesce/segments.h"

/* A warp's requests, lane 0's first; lanes with numbers of `lanes` or more request nothing. */
struct segs {
	uint32_t lanes;
	uint32_t mask; /* the lanes that call */
	size_t bytes[32];
	size_t want; /* bytes expected from the base in total, if all lanes converge */
	/* The test's own results. */
	size_t asked;      /* bytes requested from the base in total */
	uint32_t together; /* runs in which all lanes that can share a block did */
	uint32_t refused;  /* runs in which the base refused */
};

CKIT_UNSEEN void segs_note(struct ckit *kit, size_t bytes)
{
	struct segs *segs = kit->own;

	segs->asked += bytes;
}

static inline void *segs_base_alloc(void *heap, size_t bytes)
{
	segs_note(heap, bytes);
	return ckit_base_alloc(heap, bytes);
}

/* To be the `begin` of a ckit. */
static inline void segs_begin(struct ckit *kit)
{
	struct segs *segs = kit->own;

	segs->asked = 0;
}

static inline struct mam_kbase segs_base(struct ckit *kit)
{
	struct mam_kbase base = { segs_base_alloc, ckit_base_free, kit, 0 };

	return base;
}

/* The alignment of a request of this size. */
static inline size_t segs_align(size_t bytes)
{
	size_t align = bytes & (~bytes + 1);

	return align < 2 ? 2 : align > 16 ? 16 : align;
}

/*
 * By trying each position: the payload is aligned, and the header that belongs to the position fits
 * before it and can encode the distance.
 */
static inline size_t segs_first_place(size_t before, size_t end, size_t bytes)
{
	size_t at, header;

	for (at = end;; at++) {
		if (at % segs_align(bytes))
			continue;
		header = at % 8 == 0 ? 8 : at % 4 == 0 ? 4 : 2;
		if (at >= end + header && (header > 2 || at - before < 1u << 14))
			return at;
	}
}

/*
 * The total number of bytes requested from the base if all lanes that can share a block converge.
 */
static inline size_t segs_total(const struct segs *segs)
{
	size_t before = 0, end = 0, alone = 0, bytes;
	uint32_t i;

	for (i = 0; i < segs->lanes; i++) {
		bytes = segs->mask >> i & 1 ? segs->bytes[i] : 0;
		if (!bytes)
			continue;
		if (bytes > MAM_SEGMENTS_MAX) {
			alone += segs_first_place(0, 0, bytes) + bytes;
			continue;
		}
		before = segs_first_place(before, end, bytes);
		end = before + bytes;
	}
	return end + alone;
}

/* The number of blocks needed in that case. */
static inline uint32_t segs_blocks(const struct segs *segs)
{
	uint32_t alone = 0, some = 0, i;

	for (i = 0; i < segs->lanes; i++) {
		if (!(segs->mask >> i & 1) || !segs->bytes[i])
			continue;
		some |= segs->bytes[i] <= MAM_SEGMENTS_MAX;
		alone += segs->bytes[i] > MAM_SEGMENTS_MAX;
	}
	return some + alone;
}

#define SEGS_EDGE 12

/* As ckit_own(), but only the first and the last bytes of a large part are written. */
static inline void segs_own(struct ckit *kit, void *part, size_t bytes)
{
	uint32_t number = ckit_note(kit, part, bytes);
	size_t i;

	for (i = 0; i < bytes; i++)
		if (i < SEGS_EDGE || bytes - i <= SEGS_EDGE)
			((unsigned char *)part)[i] = ckit_pattern(number, i);
}

static inline void segs_disown(struct ckit *kit, void *part)
{
	size_t bytes, i;
	uint32_t number = ckit_noted(kit, part, &bytes);

	for (i = 0; i < bytes; i++)
		if (i < SEGS_EDGE || bytes - i <= SEGS_EDGE)
			MAM_KASSERT(((unsigned char *)part)[i] == ckit_pattern(number, i));
	ckit_forget(kit, part);
}

/* A lane that calls gets aligned memory, or NULL. */
static inline void *segs_get(struct ckit *kit, size_t bytes)
{
	void *part = mam_segments_alloc(segs_base(kit), bytes);

	if (!part)
		return NULL;
	MAM_KASSERT((uintptr_t)part % segs_align(bytes) == 0);
	segs_own(kit, part, bytes);
	return part;
}

static inline void segs_release(struct ckit *kit, void *part)
{
	if (!part)
		return;
	segs_disown(kit, part);
	MAM_KASSERT(mam_segments_free(segs_base(kit), part));
}

/* ---- lanes of one warp, one segment each ----------------------------------------------------- */

/* The participating lanes allocate the sizes of the plan, and free what another lane allocated. */
__attribute__((unused)) static MAM_KERNEL(segs_subset)
{
	struct ckit *kit = argument;
	const struct segs *segs = kit->own;
	uint32_t me = simt_thread(), other = (me + 3) % segs->lanes;
	void *part = NULL;

	if (segs->mask >> me & 1) {
		part = segs_get(kit, segs->bytes[me]);
		if (!part && segs->bytes[me])
			ckit_fail(kit);
		MAM_KASSERT(segs->bytes[me] || !part);
	}
	ckit_keep(kit, me, part);
	mam_syncthreads();
	segs_release(kit, ckit_take(kit, other));
}

/* If all lanes that can share a block did, the base got a request of the computed size. */
static inline const char *segs_check_subset(void *argument)
{
	const struct ckit *kit = argument;
	struct segs *segs = kit->own;

	if (kit->allocs == segs_blocks(segs)) {
		segs->together++;
		if (segs->asked != segs->want)
			return "unexpected number of bytes requested from the base";
	}
	return ckit_check_served(argument);
}

#endif
