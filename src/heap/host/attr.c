/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.c - attr.h: checks by size, then by kind.
 *
 * The first version's struct ended before the fields for growth. A struct longer than this
 * version's comes from a newer program: all fields that this version does not know must be zero.
 */
#include "heap/host/attr.h"

#include <stddef.h>
#include <string.h>

#include "base/bits.h"
#include "base/sized.h"
#include "heap/growth/growth.h"

#define FIRST_BYTES offsetof(struct mam_heap_attr, max_bytes)
#define LOW_MAX 1000u
#define GROW_MIN ((size_t)MAM_GRANT_BLOCKS * MAM_HEAP_BLOCK)
#define WAIT_DEFAULT 100000u
#define WAIT_MAX 10000000u
#define AHEAD_DEFAULT 1u
#define AHEAD_MAX 4u
/* Units are counted as pages are. */
#define BLOCKS_LIMIT (MAM_PAGES_COUNT_MAX / MAM_BLOCK_UNITS)

_Static_assert(FIRST_BYTES == 32, "as programs of the first version have it");
_Static_assert(AHEAD_MAX < MAM_MAIL_GRANTS, "the mailbox holds what is ahead");

static bool asks_for_growth(const struct mam_heap_attr *terms)
{
	return terms->max_bytes != 0 || terms->grow_bytes != 0 || terms->wait_us != 0 ||
	       terms->ahead != 0 || terms->debug != 0;
}

static enum mam_status check_pages(struct mam_heap_attr *terms)
{
	if (terms->page_bytes == 0)
		terms->page_bytes = MAM_HEAP_PAGE_DEFAULT;
	if (terms->low_per_mille == 0)
		terms->low_per_mille = MAM_HEAP_LOW_DEFAULT;
	if (!mam_is_power_of_two(terms->page_bytes) || terms->page_bytes < MAM_HEAP_PAGE_MIN ||
	    terms->page_bytes > MAM_HEAP_PAGE_MAX || terms->low_per_mille > LOW_MAX)
		return MAM_ERROR_INVALID_VALUE;
	if (terms->bytes == 0 || (terms->bytes - 1) / terms->page_bytes >= MAM_PAGES_COUNT_MAX)
		return MAM_ERROR_INVALID_VALUE;
	return asks_for_growth(terms) ? MAM_ERROR_INVALID_VALUE : MAM_OK;
}

static bool blocks_are_counted(size_t bytes)
{
	return bytes != 0 && (bytes - 1) / MAM_HEAP_BLOCK < BLOCKS_LIMIT;
}

/* Checks each field even if the heap does not grow: a program may later change just that one. */
static enum mam_status check_growth(struct mam_heap_attr *terms)
{
	if (terms->max_bytes != 0 && terms->max_bytes < terms->bytes)
		return MAM_ERROR_INVALID_VALUE;
	if (terms->grow_bytes != 0 &&
	    (terms->grow_bytes < GROW_MIN || !blocks_are_counted(terms->grow_bytes)))
		return MAM_ERROR_INVALID_VALUE;
	if (terms->wait_us > WAIT_MAX || terms->debug > 1)
		return MAM_ERROR_INVALID_VALUE;
	if (terms->ahead > AHEAD_MAX && terms->ahead != MAM_HEAP_AHEAD_NONE)
		return MAM_ERROR_INVALID_VALUE;
	if (terms->wait_us == 0)
		terms->wait_us = WAIT_DEFAULT;
	if (terms->ahead == 0)
		terms->ahead = AHEAD_DEFAULT;
	else if (terms->ahead == MAM_HEAP_AHEAD_NONE)
		terms->ahead = 0;
	return MAM_OK;
}

static enum mam_status check_objects(struct mam_heap_attr *terms)
{
	if (terms->page_bytes != 0 || terms->low_per_mille != 0 ||
	    !blocks_are_counted(terms->bytes))
		return MAM_ERROR_INVALID_VALUE;
	return check_growth(terms);
}

enum mam_status mam_heap_attr_read(const struct mam_heap_attr *given, struct mam_heap_attr *terms)
{
	static const struct mam_sized_field fields[] = {
		MAM_SIZED_FIELD(struct mam_heap_attr, max_bytes),
		MAM_SIZED_FIELD(struct mam_heap_attr, grow_bytes),
		MAM_SIZED_FIELD(struct mam_heap_attr, wait_us),
		MAM_SIZED_FIELD(struct mam_heap_attr, ahead),
		MAM_SIZED_FIELD(struct mam_heap_attr, debug),
		MAM_SIZED_FIELD(struct mam_heap_attr, peers),
	};

	if (!given ||
	    !mam_sized_fits(given, sizeof(*given), fields, sizeof(fields) / sizeof(fields[0])))
		return MAM_ERROR_INVALID_VALUE;
	memset(terms, 0, sizeof(*terms));
	mam_sized_read(terms, given, sizeof(*terms));
	if (terms->peers > 1)
		return MAM_ERROR_INVALID_VALUE;
	switch (terms->kind) {
	case MAM_HEAP_OBJECTS: return check_objects(terms);
	case MAM_HEAP_PAGES: return check_pages(terms);
	default: return MAM_ERROR_INVALID_VALUE;
	}
}
