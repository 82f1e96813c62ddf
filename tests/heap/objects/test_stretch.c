/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stretch.c - compares each part of runs_warp.h with a plain model: in a heap with chosen free
 * pages, one warp must get exactly the pages that the model predicts, after exactly as many looks.
 *
 * 1. Lane 0 lays out a heap. All pages are taken except a stretch of `n` pages and shorter ones.
 *    The stretch is where words or rows of words meet, at the start, at the end, or anywhere; one
 *    of its pages may be taken.
 * 2. The model computes, page by page, what the callers must get and which bits are set then.
 * 3. The callers, any lanes of the warp, call the device code; lane 0 compares the bits.
 */
#include "heap/objects/stretch.h"

MAM_KERNEL(sweeps)
{
	struct field *field = argument;
	uint32_t round, page, undone, n;
	struct mam_kwalk walk;

	for (round = 0; round < ROUNDS; round++) {
		if (mam_lane() == 0) {
			start(field);
			n = field->n[0] = some_length(field, field->pages->words * 64);
			lay(field, n);
			field->word = below(2) ? 0 : below(field->pages->words);
			field->end = below(2) ? field->pages->words
					      : field->word + below(field->pages->words -
								    field->word + 1);
			into_heap(field);
			page = lowest(field, field->word, field->end, n);
			field->walk.steps = rows(field, field->word, field->end, page, n);
			field->page[0] = page;
			if (page != MAM_NO_PAGE)
				set(field, page, n, true);
		}
		mam_warp_sync(~0u);
		if (calls(field)) {
			walk = field->walk;
			walk.steps = undone = 0;
			page = mam_runs_sweep_warp(field->pages, &walk, field->mask, field->who,
						   field->n[0], field->word, field->end, &undone);
			MAM_KASSERT(page == field->page[0]);
			MAM_KASSERT(walk.steps == field->walk.steps);
			MAM_KASSERT(!undone);
		}
		mam_warp_sync(~0u);
		if (mam_lane() == 0)
			same_bits(field);
	}
}

/* The expected page of each lane of step 1; returns whether all got one. */
static bool model_packed(struct field *field, uint32_t n)
{
	uint32_t share = 64 / n, lane, word = field->walk.place / 64, nth = 0, hint, last;
	uint32_t first = 0, next, i;
	bool fits, all = true;

	last = word + (field->width - 1) / share;
	field->walk.steps++;
	if (last >= field->pages->words)
		return false;
	field->walk.place = last + 1 == field->pages->words ? 0 : last * 64 + 64;
	for (nth = 0; nth < field->width; nth += share, word++) {
		hint = field->width - nth < share ? field->width - nth : share;
		fits = true;
		for (i = 0; i < hint * n; i++)
			fits &= !is_taken(field, word * 64 + i);
		all &= fits;
		for (next = 0; next < hint; next++) {
			lane = mam_bits_nth(field->mask, first++);
			if (!fits)
				continue;
			field->page[lane] = word * 64 + next * n;
			set(field, field->page[lane], n, true);
		}
	}
	return all;
}

/* Step 2, for lanes without a page. */
static void model_short(struct field *field)
{
	uint32_t looked, rank, lane, word, words = field->pages->words, page, without;

	for (looked = 1;; looked++) {
		without = 0;
		field->walk.steps++;
		for (rank = 0; rank < field->width; rank++) {
			lane = mam_bits_nth(field->mask, rank);
			if (field->n[lane] > 64 || field->page[lane] != MAM_NO_PAGE)
				continue;
			word = (field->walk.place / 64 + rank) % words;
			page = rank < words ? lowest(field, word, word + 1, field->n[lane])
					    : MAM_NO_PAGE;
			field->page[lane] = page;
			if (page == MAM_NO_PAGE)
				without++;
			else
				set(field, page, field->n[lane], true);
		}
		if (!without || looked * 64 >= field->pages->patience)
			return;
		mam_walk_jump(&field->walk, field->pages);
	}
}

/* Steps 3 to 5, for one lane. */
static uint32_t model_scan(struct field *field, uint32_t n)
{
	uint32_t words = field->pages->words, word = field->walk.place / 64, over, page;

	page = lowest(field, word, words, n);
	field->walk.steps += rows(field, word, words, page, n);
	if (page == MAM_NO_PAGE) {
		over = word + n / 64 + 2 < words ? word + n / 64 + 2 : words;
		page = lowest(field, 0, over, n);
		field->walk.steps += rows(field, 0, over, page, n);
	}
	if (page != MAM_NO_PAGE)
		set(field, page, n, true);
	return page;
}

static void model_take(struct field *field)
{
	uint32_t rank, lane, n = field->n[mam_ffs32(field->mask) - 1], min = ~0u;
	bool same = true, few = false;

	for (rank = 0; rank < field->width; rank++)
		same &= field->n[mam_bits_nth(field->mask, rank)] == n;
	if (field->walk.blind && same && n <= 32)
		field->walk.blind = model_packed(field, n);
	for (rank = 0; rank < field->width; rank++) {
		lane = mam_bits_nth(field->mask, rank);
		few |= field->n[lane] <= 64 && field->page[lane] == MAM_NO_PAGE;
	}
	if (few)
		model_short(field);
	for (rank = 0; rank < field->width; rank++) {
		lane = mam_bits_nth(field->mask, rank);
		n = field->n[lane];
		if (field->page[lane] != MAM_NO_PAGE)
			continue;
		if (n < min)
			field->page[lane] = model_scan(field, n);
		if (field->page[lane] == MAM_NO_PAGE) {
			field->refused++;
			min = n < min ? n : min;
		} else {
			field->walk.place = field->page[lane] + n;
			if (field->walk.place == field->pages->words * 64)
				field->walk.place = 0;
		}
	}
}

MAM_KERNEL(takes)
{
	static const uint32_t patience[] = { 0, 1, 64, 65, 128, 300 };
	struct field *field = argument;
	uint32_t round, lane, n, kind, max;
	struct mam_kfound found;
	struct mam_kwalk walk;

	for (round = 0; round < ROUNDS; round++) {
		if (mam_lane() == 0) {
			start(field);
			kind = below(4);
			max = field->pages->words * 64;
			n = some_length(field, max);
			/* Mostly free, with a few words that are not; or mostly taken. */
			if (kind < 2)
				set(field, 0, max, false);
			if (kind == 1)
				for (lane = below(field->width + 1); lane--;)
					set(field, below(max), 1, true);
			if (kind > 1)
				lay(field, n);
			if (kind > 2)
				lay(field, n);
			for (lane = 0; lane < 32; lane++)
				field->n[lane] = n > 2 && kind == 3 ? n - below(2)
						 : below(8)         ? n
								    : some_length(field, max);
			if (kind == 0 || below(2))
				for (lane = 0; lane < 32; lane++)
					field->n[lane] = n;
			if (below(2))
				field->walk.place = 0;
			else if (below(2))
				field->walk.place =
					max - 1 -
					64 * below(field->width < max / 64 ? field->width
									   : max / 64);
			field->pages->patience = patience[below(6)];
			field->pages->undone.value = below(3);
			into_heap(field);
			field->place = field->walk.place;
			field->state = field->walk.state;
			field->blind = field->walk.blind;
			model_take(field);
		}
		mam_warp_sync(~0u);
		if (calls(field)) {
			walk.steps = 0;
			walk.place = walk.state = 0;
			walk.blind = 1 - field->blind;
			/* All lanes use the first caller's search state. */
			if (mam_lane() == mam_ffs32(field->mask) - 1) {
				walk.place = field->place;
				walk.state = field->state;
				walk.blind = field->blind;
			}
			found = mam_runs_take_warp(field->pages, walk, field->mask,
						   field->n[mam_lane()]);
			MAM_KASSERT(found.page == field->page[mam_lane()]);
			MAM_KASSERT(found.walk.steps == field->walk.steps);
			MAM_KASSERT(found.walk.place == field->walk.place);
			MAM_KASSERT(found.walk.blind == field->walk.blind);
			MAM_KASSERT(found.walk.state ==
				    field->walk.state + mam_lane() * MAM_WALK_GOLDEN);
		}
		mam_warp_sync(~0u);
		if (mam_lane() == 0) {
			same_bits(field);
			MAM_KASSERT(field->pages->tally[MAM_TALLY_NO_RUN] == field->refused);
			MAM_KASSERT(!field->pages->tally[MAM_TALLY_CONTENDED]);
		}
	}
}

/*
 * While a claim is open, a request does not fail with certainty; after a bounded number of scans it
 * gives up.
 */
MAM_KERNEL(contended)
{
	struct field *field = argument;
	struct mam_kwalk walk;
	bool gave_up = false;

	if (mam_lane() == 0) {
		do
			start(field);
		while (field->width > 3);
		field->pages->words = 1;
		field->pages->open.value = 1;
		into_heap(field);
	}
	mam_warp_sync(~0u);
	if (!calls(field))
		return;
	walk = field->walk;
	walk.place = 0;
	MAM_KASSERT(mam_runs_scan_warp(field->pages, &walk, field->mask, field->who, 2, &gave_up) ==
		    MAM_NO_PAGE);
	MAM_KASSERT(gave_up);
	MAM_KASSERT(walk.steps == 2 * MAM_SCANS_MAX);
}

/* Adjacent runs are freed, some of whose pages are free already: each affected lane gets false. */
MAM_KERNEL(releases)
{
	struct field *field = argument;
	uint32_t round, n, apart, rank, lane, first;

	for (round = 0; round < ROUNDS; round++) {
		if (mam_lane() == 0) {
			start(field);
			field->pages->words = WORDS;
			n = field->n[0] = 1 + below(34);
			for (apart = 1; apart < n; apart *= 2)
				;
			first = below(6) * apart + (below(4) ? 0 : below(2));
			for (lane = below(8); lane--;)
				set(field, below(first + apart * field->width), 1, false);
			into_heap(field);
			field->refused = 0;
			for (rank = 0; rank < field->width; rank++) {
				lane = mam_bits_nth(field->mask, rank);
				field->page[lane] = first + rank * apart;
				for (n = 0; n < field->n[0]; n++)
					if (!is_taken(field, field->page[lane] + n))
						field->refused |= 1u << lane;
				set(field, field->page[lane], n, false);
			}
		}
		mam_warp_sync(~0u);
		if (calls(field))
			MAM_KASSERT(mam_runs_release_warp(field->pages, field->page[mam_lane()],
							  field->n[0], field->mask) ==
				    !(field->refused >> mam_lane() & 1));
		mam_warp_sync(~0u);
		if (mam_lane() == 0)
			same_bits(field);
	}
}

START_TEST(sweep_matches_model)
{
	explore("one warp sweeps", sweeps, 32, 10);
}
END_TEST

START_TEST(take_matches_model)
{
	explore("one warp takes", takes, 32, 20);
}
END_TEST

START_TEST(scan_gives_up_while_claim_is_open)
{
	explore("a claim stays open", contended, 32, 1);
}
END_TEST

START_TEST(release_matches_model)
{
	explore("adjacent runs are freed", releases, 32, 10);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("stretch");

	tcase_add_test(tcase, sweep_matches_model);
	tcase_add_test(tcase, take_matches_model);
	tcase_add_test(tcase, scan_gives_up_while_claim_is_open);
	tcase_add_test(tcase, release_matches_model);
	return kit_run(tcase, "heap/stretch");
}
