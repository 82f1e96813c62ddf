/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stretch_stopped.c - a warp searches for a run while a lane of another warp takes a page of
 * it.
 *
 * In `stopped` that page is kept, or freed: the result must be that stretch, or the next one after
 * the page, never none. In `undone` the other lane claims the stretch and a page that is taken.
 * That claim is undone, so the result is the stretch.
 */
#include "heap/objects/stretch.h"

/*
 * Two warps: one sweeps, a lane of the other takes a page of the run that the sweep is about to
 * find.
 */
MAM_KERNEL(stopped)
{
	struct field *field = argument;
	uint32_t round, page, undone, n, words, i;
	struct mam_kwalk walk;

	if (simt_thread() > 32)
		return;
	for (round = 0; round < ROUNDS; round++) {
		if (simt_thread() == 0) {
			start(field);
			words = field->pages->words;
			n = field->n[0] = some_length(field, words * 64);
			lay(field, n);
			/* Mostly there is another stretch after the page, too. */
			lay(field, n);
			page = field->first = lowest(field, 0, words, n);
			field->steps[0] = rows(field, 0, words, page, n);
			field->other = page == MAM_NO_PAGE ? 0 : page + below(n);
			into_heap(field);
			set(field, field->other, 1, true);
			page = field->next = lowest(field, 0, words, n);
			field->steps[1] = rows(field, 0, words, page, n);
			field->delay = below(field->width * 8 * field->steps[0] + 8);
			field->back = below(2);
			field->undone = 0;
		}
		mam_syncthreads();
		n = field->n[0];
		words = field->pages->words;
		if (simt_thread() == 32) {
			for (i = 0; i < field->delay; i++)
				mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
			field->had =
				!(mam_bitmap_claim(mam_pages_bits(field->pages), field->other / 64,
						   (uint64_t)1 << field->other % 64) >>
					  field->other % 64 &
				  1);
			for (i = below(64); field->back && i--;)
				mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
			if (field->back && field->had)
				(void)mam_bitmap_release(mam_pages_bits(field->pages),
							 field->other / 64,
							 (uint64_t)1 << field->other % 64);
		} else if (calls(field)) {
			walk = field->walk;
			walk.steps = undone = 0;
			page = mam_runs_sweep_warp(field->pages, &walk, field->mask, field->who, n,
						   0, words, &undone);
			MAM_KASSERT(page == field->first || page == field->next);
			/* Stopped: the second part starts with the word that contains the page. */
			i = field->steps[0] + rows(field, field->other / 64, words, field->next, n);
			MAM_KASSERT((page == field->first && walk.steps == field->steps[0]) ||
				    (page == field->next &&
				     (walk.steps == field->steps[1] || walk.steps == i)));
			if (mam_lane() == field->who) {
				field->page[0] = page;
				field->undone = undone;
			}
		}
		mam_syncthreads();
		if (simt_thread() == 0) {
			page = field->page[0];
			MAM_KASSERT(page == (field->had ? field->next : field->first) ||
				    (field->had && field->back));
			set(field, field->other, 1, !field->had || !field->back);
			MAM_KASSERT(field->pages->undone.value == field->undone);
			if (page != MAM_NO_PAGE)
				set(field, page, n, true);
			same_bits(field);
		}
	}
}

/* As in `stopped`, for one lane in one word; the other lane's page is any free one. */
MAM_KERNEL(within)
{
	struct field *field = argument;
	uint32_t round, page, n;
	uint64_t other;

	if (simt_thread() % 32)
		return;
	for (round = 0; round < ROUNDS; round++) {
		if (simt_thread() == 0) {
			start(field);
			field->pages->words = 1;
			n = field->n[0] = 2 + below(31);
			set(field, 0, 64, false);
			into_heap(field);
			field->other = below(64);
			field->first = 0;
			set(field, field->other, 1, true);
			field->next = lowest(field, 0, 1, n);
			field->delay = below(4);
		}
		mam_syncthreads();
		n = field->n[0];
		other = (uint64_t)1 << field->other;
		if (simt_thread() == 32) {
			for (page = 0; page < field->delay; page++)
				mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
			field->had =
				!(mam_bitmap_claim(mam_pages_bits(field->pages), 0, other) & other);
		} else {
			field->page[0] = mam_runs_take_within(field->pages, 0, n);
		}
		mam_syncthreads();
		if (simt_thread() == 0) {
			page = field->page[0];
			MAM_KASSERT(page == (field->had ? field->next : field->first));
			set(field, page, n, true);
			same_bits(field);
		}
	}
}

/* A page that was seen taken by a claim that is undone must not cause a failure. */
MAM_KERNEL(undone)
{
	struct field *field = argument;
	uint32_t round, n, i, at, given_up;
	struct mam_kwalk walk;
	bool contended;

	if (simt_thread() > 32)
		return;
	for (round = 0; round < ROUNDS; round++) {
		if (simt_thread() == 0) {
			do
				start(field);
			while (field->width > 7);
			field->pages->words = 5;
			/*
			 * From one word into the next; mostly where a scan that starts at the first
			 * word looks once.
			 */
			n = field->n[0] = 2 + below(below(2) ? 60 : 100);
			at = field->first = 64 * (below(4) ? 3 : 1) - 1 - below(n < 64 ? n : 63);
			n = field->n[0] = at % 64 + n < 64 ? 64 - at % 64 : n;
			set(field, at, n, false);
			into_heap(field);
			field->walk.place = below(2) ? 0 : 64 * below(5);
			field->delay = below(16);
		}
		mam_syncthreads();
		n = field->n[0];
		at = field->first;
		if (simt_thread() == 32) {
			for (i = 0; i < field->delay; i++)
				mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
			given_up = 0;
			MAM_KASSERT(mam_runs_claim(field->pages, at, at + n + 1, &given_up) !=
				    MAM_NO_PAGE);
		} else if (calls(field)) {
			/*
			 * The lane with the request comes last: the others must not look before it
			 * started.
			 */
			for (i = mam_lane() == field->who ? below(24) : 0; i--;)
				mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
			walk = field->walk;
			contended = false;
			MAM_KASSERT(mam_runs_scan_warp(field->pages, &walk, field->mask, field->who,
						       n, &contended) == at);
			MAM_KASSERT(!contended);
		}
		mam_syncthreads();
		if (simt_thread() == 0) {
			set(field, at, n, true);
			same_bits(field);
		}
	}
}

START_TEST(sweep_finds_run_despite_taken_page)
{
	explore("a page taken during the sweep", stopped, 64, 20);
}
END_TEST

START_TEST(search_in_word_skips_taken_page)
{
	explore("within a word", within, 64, 20);
}
END_TEST

START_TEST(undone_claim_hides_no_run)
{
	explore("undone claims", undone, 64, 60);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("stretch stopped");

	tcase_add_test(tcase, sweep_finds_run_despite_taken_page);
	tcase_add_test(tcase, search_in_word_skips_taken_page);
	tcase_add_test(tcase, undone_claim_hides_no_run);
	return kit_run(tcase, "heap/stretch stopped");
}
