/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice.c - the page size, L and heap size that the random-walk paper's model recommends for a
 * burst.
 *
 * 1. Page size: the power of two from 256 bytes up that wastes least, among those for which no
 *    request takes more pages than a word of the bitmap has. Of sizes that waste the same it is the
 *    largest, which takes the fewest pages.
 * 2. L: the smallest share in thousandths at which (11), in whole steps and with words of 64,
 *    expects no more than the allowed steps; a search gives up after S_L failures (steps.h).
 * 3. Heap: the used pages and the burst leave L free: (used + burst) / (1 - L) pages, rounded up to
 *    whole words.
 * 4. Steps: a warp of mam's pages searches together, with a word of 64 pages per lane, so it takes
 *    the steps of CoRW; TAS and WAS are equal. (11) uses the free share at the burst's end for the
 *    whole burst. The expected value is its mean over the burst: on an H100, with 1,048,576 pages
 *    and 1% or 0.5% free, it is within 12% of the measurement while at most four fifths of those
 *    are taken. A request for several pages counts as that many requests for one page, which
 *    underestimates its steps.
 */
#include <math.h>

#include "advise.h"
#include "bench/harness/steps.h"
#include "mam/heap.h"

#define WORD 64.0
#define PARTS 32     /* of a burst, over which a mean is taken */
#define SLACK 0.005  /* steps: the chance that the first probe does not suffice is never 0 */
#define LOW_MAX 990u /* thousandths; a heap that must be entirely free has no capacity */

double advise_steps(double t, double a, double n, unsigned int lanes)
{
	double sum = 0;
	int i;

	for (i = 0; i < PARTS; i++)
		sum += bench_steps_corw_whole(t, a - n * (i + 0.5) / PARTS, 0, WORD, lanes);
	return sum / PARTS;
}

static double pages_of(uint64_t bytes, uint64_t page_bytes)
{
	return ceil((double)bytes / (double)page_bytes);
}

/* The mean bytes and pages per request. */
static void mean_of(const struct advise_ask *ask, uint64_t page_bytes, double *bytes, double *pages)
{
	double weights = 0;
	size_t i;

	*bytes = *pages = 0;
	for (i = 0; i < ask->size_count; i++) {
		*bytes += ask->sizes[i].weight * (double)ask->sizes[i].bytes;
		*pages += ask->sizes[i].weight * pages_of(ask->sizes[i].bytes, page_bytes);
		weights += ask->sizes[i].weight;
	}
	if (weights > 0) {
		*bytes /= weights;
		*pages /= weights;
	} else {
		*bytes = (double)ask->page_bytes;
		*pages = pages_of(ask->page_bytes, page_bytes);
	}
}

double advise_waste(const struct advise_ask *ask, uint64_t page_bytes)
{
	double bytes, pages;

	mean_of(ask, page_bytes, &bytes, &pages);
	return 1 - bytes / (pages * (double)page_bytes);
}

double advise_burst(const struct advise_ask *ask, uint64_t page_bytes)
{
	double bytes, pages;

	mean_of(ask, page_bytes, &bytes, &pages);
	return ceil((double)ask->threads * pages);
}

static uint64_t largest(const struct advise_ask *ask)
{
	uint64_t max = ask->size_count > 0 ? 0 : ask->page_bytes;
	size_t i;

	for (i = 0; i < ask->size_count; i++)
		max = ask->sizes[i].bytes > max ? ask->sizes[i].bytes : max;
	return max;
}

/* Returns 0 if no page is large enough. */
static uint64_t find_page(const struct advise_ask *ask)
{
	uint64_t bytes, best = 0;
	double waste, min = 2;

	for (bytes = MAM_HEAP_PAGE_MIN; bytes <= MAM_HEAP_PAGE_MAX; bytes *= 2) {
		if (largest(ask) > bytes * ADVISE_RUN)
			continue;
		waste = advise_waste(ask, bytes);
		if (waste <= min + 1e-9) {
			min = waste < min ? waste : min;
			best = bytes;
		}
	}
	return best;
}

static unsigned int find_low(const struct advise_ask *ask)
{
	unsigned int low;

	for (low = 1; low < LOW_MAX; low++) {
		if (bench_steps_corw_whole(1, low / 1000.0, 0, WORD, ask->lanes) <=
		    ask->was_max + SLACK)
			break;
	}
	return low;
}

static struct advise_expect expect(const struct advise_ask *ask, double t, double a, double n)
{
	struct advise_expect expect = { .free_before = a / t, .free_after = (a - n) / t };

	expect.steps = advise_steps(t, a, n, ask->lanes);
	expect.steps_limit = bench_steps_corw_whole(t, a, n, WORD, ask->lanes);
	expect.us = ask->step_us > 0 ? ask->first_us + ask->step_us * expect.steps : 0;
	return expect;
}

const char *advise_compute(const struct advise_ask *ask, struct advice *advice)
{
	const double taken = ceil((1 - ask->free) * (double)ask->pages);
	double now, burst, then, pages;

	*advice = (struct advice){ .page_bytes = find_page(ask) };
	if (advice->page_bytes == 0)
		return "a request takes more than 64 pages of 4 MiB; ask a pool for it, not a heap";
	burst = advise_burst(ask, advice->page_bytes);
	advice->waste = advise_waste(ask, advice->page_bytes);
	advice->low = find_low(ask);
	advice->patience = floor(bench_steps_bound(advice->low / 1000.0));
	then = ceil(taken * (double)ask->page_bytes / (double)advice->page_bytes);
	pages = ceil((then + burst) / (1 - advice->low / 1000.0) / WORD) * WORD;
	if (pages > (double)ADVISE_PAGES_MAX)
		return "a heap has 4294967232 pages at most, and that is too few; use several";
	advice->burst_pages = (uint64_t)burst;
	advice->heap_pages = (uint64_t)pages;
	advice->heap_bytes = advice->heap_pages * advice->page_bytes;
	advice->then = expect(ask, pages, pages - then, burst);
	if (ask->pages == 0)
		return NULL;
	now = advise_burst(ask, ask->page_bytes);
	advice->knows_now = now <= (double)ask->pages - taken;
	if (advice->knows_now)
		advice->now = expect(ask, (double)ask->pages, (double)ask->pages - taken, now);
	return NULL;
}
