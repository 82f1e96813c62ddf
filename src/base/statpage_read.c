/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statpage_read.c - sums a statistics page (<mam/statpage.h>). The page belongs to a process that
 * may be running, and may have any contents: indices are checked, and each word is read once.
 */
#include <mam/statpage.h>

#include <stdatomic.h>
#include <string.h>

#define TRIES_MAX 1000

static uint64_t get(const mam_statpage_word *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

/* Of a tally, which its thread writes without atomics. */
static uint64_t get_signed(const int64_t *word)
{
	return (uint64_t)__atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* One version of a pool's counts, and the tallies that are not in it. */
struct view {
	uint64_t live_blocks, live_bytes, live_rounded_bytes, peak_live_bytes;
	uint64_t cached_bytes, retired_bytes, peak_retired_bytes;
	uint64_t reserved_bytes, peak_reserved_bytes;
	uint64_t allocs, frees, failures, driver_calls, driver_ns;
};

static void read_counts(const struct mam_statpage_counts *counts, struct view *view)
{
	*view = (struct view){
		.live_blocks = get(&counts->live_blocks),
		.live_bytes = get(&counts->live_bytes),
		.live_rounded_bytes = get(&counts->live_rounded_bytes),
		.peak_live_bytes = get(&counts->peak_live_bytes),
		.cached_bytes = get(&counts->cached_bytes),
		.retired_bytes = get(&counts->retired_bytes),
		.peak_retired_bytes = get(&counts->peak_retired_bytes),
		.reserved_bytes = get(&counts->reserved_bytes),
		.peak_reserved_bytes = get(&counts->peak_reserved_bytes),
		.allocs = get(&counts->allocs),
		.frees = get(&counts->frees),
		.failures = get(&counts->failures),
		.driver_calls = get(&counts->driver_calls),
		.driver_ns = get(&counts->driver_ns),
	};
}

static void raise_to(uint64_t *peak, uint64_t value)
{
	if ((int64_t)value > (int64_t)*peak)
		*peak = value;
}

/* As pool/batch.c:mam_pool_meet_locked(). */
static void add_tally(const struct mam_tally *tally, struct view *view)
{
	uint64_t highest = view->live_bytes + get_signed(&tally->peak_bytes);
	uint64_t records = view->live_rounded_bytes + view->cached_bytes;
	uint64_t rounded = get_signed(&tally->rounded), kept = get_signed(&tally->kept_bytes);

	raise_to(&view->peak_live_bytes, (int64_t)highest < (int64_t)records ? highest : records);
	raise_to(&view->peak_retired_bytes,
		 view->retired_bytes + get_signed(&tally->peak_kept_bytes));
	view->live_blocks += get_signed(&tally->blocks);
	view->live_bytes += get_signed(&tally->bytes);
	view->live_rounded_bytes += rounded;
	view->cached_bytes -= rounded + kept;
	view->retired_bytes += kept;
	view->allocs += __atomic_load_n(&tally->allocs, __ATOMIC_ACQUIRE);
	view->frees += __atomic_load_n(&tally->frees, __ATOMIC_ACQUIRE);
}

static void read_once(const struct mam_statpage *page, unsigned int number, uint64_t sequence,
		      struct view *view)
{
	const struct mam_statpage_counts *counts = &page->pools[number].counts[sequence & 1];
	uint64_t flushed = get(&counts->flushed);
	uint64_t generation = get(&counts->flushed_generation);

	read_counts(counts, view);
	for (unsigned int i = 0; i < MAM_STATPAGE_TALLIES; i++) {
		const struct mam_tally *tally = &page->tallies[i];

		if (atomic_load_explicit(&tally->pool, memory_order_acquire) != number + 1 ||
		    (flushed == i + 1 && get(&tally->generation) == generation))
			continue;
		add_tally(tally, view);
	}
	raise_to(&view->peak_live_bytes, view->live_bytes);
}

/* If no version was published meanwhile, the counts and tallies are of one moment. */
static void read_pool(const struct mam_statpage *page, unsigned int number, struct view *view)
{
	for (int i = 0; i < TRIES_MAX; i++) {
		uint64_t sequence = get(&page->pools[number].sequence);

		read_once(page, number, sequence, view);
		if (get(&page->pools[number].sequence) == sequence)
			break;
	}
}

static void add_view(const struct view *view, bool ended, struct mam_statpage_figures *figures)
{
	figures->allocs += view->allocs;
	figures->frees += view->frees;
	figures->failures += view->failures;
	figures->live_blocks += view->live_blocks;
	figures->peak_live_bytes += view->peak_live_bytes;
	figures->peak_retired_bytes += view->peak_retired_bytes;
	figures->peak_reserved_bytes += view->peak_reserved_bytes;
	figures->driver_calls += view->driver_calls;
	figures->driver_ns += view->driver_ns;
	if (ended)
		return;
	figures->live_bytes += view->live_bytes;
	figures->cached_bytes += view->cached_bytes;
	figures->retired_bytes += view->retired_bytes;
	figures->reserved_bytes += view->reserved_bytes;
}

/* As the account and the pools of the interposer: device 0 has those of unknown devices. */
static bool is_of(int32_t of, int device)
{
	return device < 0 || (of < 0 || of >= MAM_STATPAGE_DEVICES ? 0 : of) == device;
}

static void sum_pools(const struct mam_statpage *page, int device,
		      struct mam_statpage_figures *figures)
{
	uint64_t past = get(&page->past);
	struct view view;

	if (device < 0) {
		read_counts(&page->ended[past & 1], &view);
		add_view(&view, true, figures);
	}
	for (unsigned int i = 0; i < MAM_STATPAGE_POOLS; i++) {
		const struct mam_statpage_pool *pool = &page->pools[i];
		uint32_t state = atomic_load_explicit(&pool->state, memory_order_acquire);

		if ((state != MAM_STATPAGE_READY && state != MAM_STATPAGE_ENDED) ||
		    past >> 1 == i + 1 || !is_of(pool->device, device))
			continue;
		read_pool(page, i, &view);
		add_view(&view, state == MAM_STATPAGE_ENDED, figures);
		figures->pools++;
		figures->is_used = true;
	}
}

/* The last kind is host memory, which belongs to no device. */
static void sum_device(const struct mam_statpage_device *device,
		       struct mam_statpage_figures *figures)
{
	figures->peak_together += get(&device->peak_together);
	for (int kind = 0; kind + 1 < MAM_STATPAGE_KINDS; kind++)
		if (get(&device->peak[kind]) != 0)
			figures->is_used = true;
}

static uint64_t calls_of(const struct mam_statpage *page, int device)
{
	uint64_t calls = 0;

	for (unsigned int i = 0; i < MAM_STATPAGE_CALLERS; i++)
		for (int fate = 0; fate < MAM_STATPAGE_FATES; fate++)
			calls += get(&page->callers[i].devices[device].calls[fate]);
	return calls;
}

bool mam_statpage_is_sound(const struct mam_statpage *page, size_t bytes)
{
	return bytes == MAM_STATPAGE_BYTES && page->magic == MAM_STATPAGE_MAGIC &&
	       page->bytes == MAM_STATPAGE_BYTES;
}

void mam_statpage_sum(const struct mam_statpage *page, int device,
		      struct mam_statpage_figures *figures)
{
	memset(figures, 0, sizeof(*figures));
	sum_pools(page, device, figures);
	for (int i = 0; i < MAM_STATPAGE_DEVICES; i++) {
		if (device >= 0 && i != device)
			continue;
		sum_device(&page->devices[i], figures);
		figures->calls += calls_of(page, i);
	}
	if (device < 0)
		figures->calls += calls_of(page, MAM_STATPAGE_DEVICES);
}

enum mam_statpage_state mam_statpage_read_pool(const struct mam_statpage *page, unsigned int number,
					       struct mam_statpage_figures *figures)
{
	uint32_t state = atomic_load_explicit(&page->pools[number].state, memory_order_acquire);
	struct view view;

	memset(figures, 0, sizeof(*figures));
	if (state != MAM_STATPAGE_READY && state != MAM_STATPAGE_ENDED)
		return MAM_STATPAGE_FREE;
	read_pool(page, number, &view);
	add_view(&view, state == MAM_STATPAGE_ENDED, figures);
	figures->pools = 1;
	figures->is_used = true;
	return (enum mam_statpage_state)state;
}
