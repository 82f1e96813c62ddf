/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lists.h - lists of items in pages that kernels allocate as they append: one pass suffices where
 * two would count first. Included after ask.h.
 *
 * A list is a count and a directory of pages, all of one size. To append some items:
 * 1. One atomic adds them to the count; the old value is the place of the first item.
 * 2. The lane that has the first place of a page allocates the page and publishes it: it stores the
 *    address into the directory.
 * 3. A lane that has another place polls the directory until the address is there. After CASE_LOOKS
 *    polls it allocates a page itself and publishes that: the first published page stays, any other
 *    is freed. So no lane waits for a lane that may not be running.
 * 4. Items are written to their places by plain stores: a later kernel reads them.
 * The directory: a word for each of the first `direct` pages, then a word for each of three trees,
 * of one, two and three levels of pages of words, as a file's blocks in Unix (D. Ritchie, K.
 * Thompson, "The UNIX Time-Sharing System", CACM 1974). So lists of the expected length are read
 * without a second load, and those of a bad hash have room, too.
 *
 * Bound: an append is an atomic and a load; one in `items` appended allocates. A list has less than
 * one page that is not full, and less than 2^32 - 2^20 items. Requests of many lists do not wait
 * for each other: many lanes allocate together.
 *
 * Invariants: the pages of a list hold its items without a gap, page n those starting at n * items.
 * A word of a directory changes from 0 to an address, or to CASE_DEAD if allocation failed, and
 * stays so while kernels append. A lane that reads CASE_DEAD drops its items: case_alloc() has
 * counted the failure.
 */
#ifndef MAM_TOOLS_BENCH_CASES_LISTS_H
#define MAM_TOOLS_BENCH_CASES_LISTS_H

#include "bench/papers/cases/ask.h"

#define CASE_LOOKS 400u /* about 40 us: an allocator returns far sooner */
#define CASE_LOOK_NS 100u
#define CASE_DEAD UINT64_C(1) /* in place of an address: there is no page */
#define CASE_TREES 3u

/* Lists of one kind: in `words`, initially zero, each has `direct` + 1 + CASE_TREES of them. */
struct case_lists {
	uint64_t *words;
	uint32_t direct;     /* pages that have a word in the list itself */
	uint32_t page_bytes; /* a multiple of 8 */
	uint32_t items;      /* of a page */
};

MAM_KBOTH uint32_t case_list_words(uint32_t direct)
{
	return direct + 1 + CASE_TREES;
}

MAM_KFN uint64_t *case_list_at(const struct case_lists *lists, uint32_t number)
{
	return lists->words + (uint64_t)number * case_list_words(lists->direct);
}

/* ---- the directory ---- */

/*
 * Allocates and publishes a page; returns the word that the directory then has. `index`: it is a
 * page of words.
 */
MAM_KSLOW uint64_t case_list_offer(const struct device_job *job, uint64_t *slot,
				   uint32_t page_bytes, bool index)
{
	const uint32_t came = mam_warp_active();
	struct case_told *told = case_told_of(job);
	void *mine = case_alloc(job->heap, told, job->flags, page_bytes);
	const uint64_t address = mine != NULL ? (uint64_t)(uintptr_t)mine : CASE_DEAD;
	uint64_t was;
	uint32_t i;

	for (i = 0; index && mine != NULL && i < page_bytes / 8; i++)
		((uint64_t *)mine)[i] = 0;
	/*
	 * A lane that reads an address writes items to the page, and no lane reads these before a
	 * later kernel; accesses of the page's previous owner ended before it was freed. A release
	 * would wait for all stores of this warp: up to 17 us on an H100 that is busy with stores.
	 */
	if (index)
		was = mam_atomic_cas64(slot, 0, address, MAM_ACQ_REL, MAM_AT_DEVICE);
	else
		was = mam_atomic_cas64(slot, 0, address, MAM_RELAXED, MAM_AT_DEVICE);
	if (was != 0 && mine != NULL)
		case_free(job->heap, told, job->flags, mine, page_bytes);
	mam_warp_sync(came);
	return was != 0 ? was : address;
}

/*
 * Returns the word of the page-th page after the direct ones; NULL if it does not exist. `trees`:
 * the first tree's word. `make`: allocate missing pages of words.
 */
MAM_KSLOW uint64_t *case_list_deep(const struct device_job *job, uint64_t *trees,
				   uint32_t page_bytes, uint64_t page, bool make)
{
	const uint64_t fan = page_bytes / 8;
	uint64_t span = fan, child;
	uint32_t tree;

	for (tree = 0; page >= span; tree++) {
		page -= span;
		span *= fan;
		if (tree == CASE_TREES - 1)
			return NULL;
	}
	trees += tree;
	do {
		child = mam_atomic_load64(trees, MAM_ACQUIRE, MAM_AT_DEVICE);
		if (child == 0 && make)
			child = case_list_offer(job, trees, page_bytes, true);
		if (child <= CASE_DEAD)
			return NULL;
		span /= fan;
		trees = (uint64_t *)(uintptr_t)child + page / span;
		page %= span;
	} while (span > 1);
	return trees;
}

MAM_KFN uint64_t *case_list_slot(const struct device_job *job, uint64_t *list, uint32_t direct,
				 uint32_t page_bytes, uint32_t page, bool make)
{
	if (page < direct)
		return list + 1 + page;
	return case_list_deep(job, list + 1 + direct, page_bytes, page - direct, make);
}

/* ---- appending ---- */

/* case_list_reserve - reserve places for `count` items; returns the first one's place */
MAM_KFN uint32_t case_list_reserve(uint64_t *list, uint32_t count)
{
	return mam_atomic_add32((uint32_t *)list, count, MAM_RELAXED, MAM_AT_DEVICE);
}

/*
 * Allocates the pages from `page` to below `end`. Not inlined, like all functions that allocate:
 * code that rarely allocates does not pay for the registers.
 */
MAM_KSLOW void case_list_ask(const struct device_job *job, uint64_t *list, uint32_t direct,
			     uint32_t page_bytes, uint32_t page, uint32_t end)
{
	const uint32_t came = mam_warp_active();
	uint64_t *slot;

	for (; page < end; page++) {
		slot = case_list_slot(job, list, direct, page_bytes, page, true);
		if (slot != NULL)
			(void)case_list_offer(job, slot, page_bytes, false);
		else
			device_report(&case_told_of(job)->none, 1);
	}
	mam_warp_sync(came);
}

/*
 * case_list_open - allocate the pages whose first places are among the `count` starting at `from`.
 * Call it before any lane of the block waits for a page.
 */
MAM_KFN void case_list_open(const struct device_job *job, const struct case_lists *lists,
			    uint64_t *list, uint32_t from, uint32_t count)
{
	const uint32_t page = (from + lists->items - 1) / lists->items;
	const uint32_t end = (from + count + lists->items - 1) / lists->items;

	if (page < end)
		case_list_ask(job, list, lists->direct, lists->page_bytes, page, end);
}

/* Waits until the page is there; after a long wait, allocates one itself. */
MAM_KSLOW uint64_t case_list_wait(const struct device_job *job, uint64_t *list, uint32_t direct,
				  uint32_t page_bytes, uint32_t page)
{
	const uint32_t came = mam_warp_active();
	uint64_t *slot = case_list_slot(job, list, direct, page_bytes, page, true);
	uint64_t seen = slot != NULL ? 0 : CASE_DEAD;
	uint32_t looks;

	for (looks = 0; seen == 0 && looks < CASE_LOOKS; looks++) {
		seen = mam_atomic_load64(slot, MAM_RELAXED, MAM_AT_DEVICE);
		if (seen == 0)
			mam_nanosleep(CASE_LOOK_NS);
	}
	if (seen == 0)
		seen = case_list_offer(job, slot, page_bytes, false);
	mam_warp_sync(came);
	return seen == CASE_DEAD ? 0 : seen;
}

/*
 * case_list_glance - return a page's address if it is there already and has a word in the list;
 * otherwise 0. Several of these loads can be in flight before the first is awaited.
 */
MAM_KFN uint64_t case_list_glance(const struct case_lists *lists, uint64_t *list, uint32_t page)
{
	const uint64_t seen = page < lists->direct ? mam_atomic_load64(list + 1 + page, MAM_RELAXED,
								       MAM_AT_DEVICE)
						   : 0;

	return seen == CASE_DEAD ? 0 : seen;
}

/*
 * case_list_await - return the address of a page in which the caller has a place, and of which it
 * saw `seen`; 0 if allocation failed
 */
MAM_KFN uint64_t case_list_await(const struct device_job *job, const struct case_lists *lists,
				 uint64_t *list, uint32_t page, uint64_t seen)
{
	if (seen != 0)
		return seen;
	return case_list_wait(job, list, lists->direct, lists->page_bytes, page);
}

/* ---- reading, in a later kernel ---- */

MAM_KFN uint32_t case_list_count(uint64_t *list)
{
	return mam_atomic_load32((uint32_t *)list, MAM_RELAXED, MAM_AT_DEVICE);
}

/* case_list_page - return a page's address; 0 if allocation failed */
MAM_KFN uint64_t case_list_page(const struct device_job *job, const struct case_lists *lists,
				uint64_t *list, uint32_t page)
{
	uint64_t *slot = case_list_slot(job, list, lists->direct, lists->page_bytes, page, false);
	const uint64_t seen =
		slot != NULL ? mam_atomic_load64(slot, MAM_RELAXED, MAM_AT_DEVICE) : CASE_DEAD;

	return seen == CASE_DEAD ? 0 : seen;
}

/* case_list_give - free a page; all its readers have passed a barrier since */
MAM_KFN void case_list_give(const struct device_job *job, const struct case_lists *lists,
			    uint64_t page)
{
	case_free(job->heap, case_told_of(job), job->flags, (void *)(uintptr_t)page,
		  lists->page_bytes);
}

MAM_KFN void case_list_give_words(const struct device_job *job, const struct case_lists *lists,
				  uint64_t page, uint32_t levels)
{
	const uint32_t fan = levels > 1 ? lists->page_bytes / 8 : 0;
	const uint32_t fan_below = levels > 2 ? fan : 0;
	uint64_t *words = (uint64_t *)(uintptr_t)page, *below;
	uint32_t i, k;

	if (page <= CASE_DEAD)
		return;
	for (i = 0; i < fan; i++) {
		below = (uint64_t *)(uintptr_t)words[i];
		for (k = 0; words[i] > CASE_DEAD && k < fan_below; k++) {
			if (below[k] > CASE_DEAD)
				case_list_give(job, lists, below[k]);
		}
		if (words[i] > CASE_DEAD)
			case_list_give(job, lists, words[i]);
	}
	case_list_give(job, lists, page);
}

/*
 * case_list_end - by a whole block: free the directory and, with `pages`, the items' pages. The
 * list is empty afterwards.
 */
MAM_KFN void case_list_end(const struct device_job *job, const struct case_lists *lists,
			   uint64_t *list, bool pages)
{
	const uint32_t count = (case_list_count(list) + lists->items - 1) / lists->items;
	uint64_t page;
	uint32_t n, i;

	for (n = mam_thread(); pages && n < count; n += mam_block_threads()) {
		page = case_list_page(job, lists, list, n);
		if (page != 0)
			case_list_give(job, lists, page);
	}
	mam_syncthreads();
	for (i = mam_thread(); i < CASE_TREES; i += mam_block_threads())
		case_list_give_words(job, lists, list[1 + lists->direct + i], i + 1);
	mam_syncthreads();
	for (i = mam_thread(); i < case_list_words(lists->direct); i += mam_block_threads())
		list[i] = 0;
}

#endif
