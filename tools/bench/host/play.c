/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play.c - runs a list of events through an allocator, and times it.
 *
 * 1. Cold: on a fresh heap, each operation between two clock reads, whose cost is subtracted:
 *    cold_alloc_mean_ns, cold_free_mean_ns and, of both, cold_event_ns. Then the heap's memory is
 *    read. All remaining live blocks are freed.
 * 2. Warm: WARM_PLAYS times more on the same heap, each timed as a whole and divided by its events;
 *    the median is event_ns.
 * 3. Once more with each operation timed: medians and the 99th percentile of single operations.
 *
 * The clock is read between operations, so that a peer that exceeds its limit is stopped, and its
 * completed part counts: cold_events, done_ratio. Such a peer is not run warm.
 */
#include "play.h"

#define WARM_PLAYS 3
#define LOOK_EVERY 256 /* events between clock reads; a power of two */

struct played {
	size_t done; /* events */
	size_t refused;
	double ns;
};

/* An allocation or a free; returns false if it failed. */
static bool step(struct bench_peer *peer, const struct training_event *event,
		 struct bench_block *blocks)
{
	if (event->bytes > 0)
		return bench_take(peer, event->bytes, &blocks[event->slot]);
	if (blocks[event->slot].address != NULL)
		bench_give(peer, &blocks[event->slot]);
	return true;
}

static struct played play_whole(struct bench_peer *peer, const struct training *script,
				struct bench_block *blocks, uint64_t limit_ns)
{
	uint64_t start = bench_now(), end;
	struct played played = { 0, 0, 0 };
	size_t at;

	for (at = 0; at < script->count; at++) {
		if (at % LOOK_EVERY == LOOK_EVERY - 1 && bench_now() - start > limit_ns)
			break;
		if (!step(peer, &script->events[at], blocks))
			played.refused++;
	}
	end = bench_now();
	played.done = at;
	played.ns =
		(double)(end - start) - (double)(at / LOOK_EVERY + 1) * bench_measure_clock_cost();
	return played;
}

static struct played play_single(struct bench_peer *peer, const struct training *script,
				 struct bench_block *blocks, uint64_t limit_ns,
				 struct bench_times *allocs, struct bench_times *frees)
{
	uint64_t begun = bench_now();
	struct played played = { 0, 0, 0 };
	size_t at;

	for (at = 0; at < script->count; at++) {
		const struct training_event *event = &script->events[at];
		uint64_t start = bench_now(), end;

		if (start - begun > limit_ns)
			break;
		if (!step(peer, event, blocks))
			played.refused++;
		end = bench_now();
		bench_times_add(event->bytes > 0 ? allocs : frees, start, end);
	}
	played.done = at;
	played.ns = allocs->sum + frees->sum;
	return played;
}

static void give_back(struct bench_peer *peer, const struct training *script,
		      struct bench_block *blocks)
{
	size_t i;

	for (i = 0; i < script->slots; i++) {
		if (blocks[i].address != NULL)
			bench_give(peer, &blocks[i]);
	}
	if (peer->finish != NULL)
		peer->finish(peer);
}

bool play_fits(struct bench_peer *peer, const struct training *script, struct bench_block *blocks)
{
	bool good = true;
	size_t at;

	for (at = 0; good && at < script->count; at++)
		good = step(peer, &script->events[at], blocks);
	give_back(peer, script, blocks);
	return good;
}

static void answer_gauge(struct bench_peer *peer, const struct training *script, bool in_chunk,
			 struct bench_sample *sample)
{
	double live = (double)script->peak_bytes;
	struct bench_gauge gauge;

	if (peer->gauge == NULL || !peer->gauge(peer, &gauge))
		return;
	if (in_chunk) {
		bench_sample_add(sample, "reserved_ratio", gauge.high_water / live);
		return;
	}
	bench_sample_add(sample, "reserved_bytes", gauge.peak_reserved);
	bench_sample_add(sample, "reserved_ratio", gauge.peak_reserved / live);
	bench_sample_add(sample, "physical_ratio", gauge.peak_physical / live);
	if (gauge.driver_ms > 0) {
		bench_sample_add(sample, "driver_ms", gauge.driver_ms);
		bench_sample_add(sample, "remaps", gauge.remaps);
	}
}

/* Each operation timed, on a warm heap. */
static void play_warm_single(struct bench_peer *peer, const struct training *script,
			     struct bench_block *blocks, uint64_t limit_ns,
			     struct bench_sample *sample)
{
	struct bench_times allocs = { .ns = NULL }, frees = { .ns = NULL };

	if (bench_times_init(&allocs, script->count) && bench_times_init(&frees, script->count)) {
		play_single(peer, script, blocks, limit_ns, &allocs, &frees);
		give_back(peer, script, blocks);
		bench_sample_add(sample, "alloc_ns", bench_times_quantile(&allocs, 0.5));
		bench_sample_add(sample, "free_ns", bench_times_quantile(&frees, 0.5));
		bench_sample_add(sample, "alloc_p99_ns", bench_times_quantile(&allocs, 0.99));
		bench_sample_add(sample, "free_p99_ns", bench_times_quantile(&frees, 0.99));
		bench_sample_add(sample, "alloc_mean_ns", bench_times_mean(&allocs));
		bench_sample_add(sample, "free_mean_ns", bench_times_mean(&frees));
	}
	bench_times_fini(&allocs);
	bench_times_fini(&frees);
}

static const char *play_all(struct bench_peer *peer, const struct training *script, bool in_chunk,
			    bool may_refuse, const struct bench_effort *effort,
			    struct bench_block *blocks, struct bench_sample *sample)
{
	struct bench_times allocs = { .ns = NULL }, frees = { .ns = NULL };
	struct played cold = play_single(peer, script, blocks, effort->case_ns, &allocs, &frees),
		      played = cold;
	bool whole = cold.done == script->count;
	double cold_ns = cold.ns / (double)cold.done, warm[WARM_PLAYS];
	size_t plays = 0;

	if (whole)
		answer_gauge(peer, script, in_chunk, sample);
	give_back(peer, script, blocks);
	while (whole && plays < WARM_PLAYS && played.ns < (double)effort->case_ns / 4) {
		played = play_whole(peer, script, blocks, effort->case_ns);
		give_back(peer, script, blocks);
		whole = played.done == script->count;
		warm[plays++] = played.ns / (double)played.done;
	}
	if (cold.refused + played.refused > 0 && !may_refuse)
		return "a request was refused";
	bench_sample_add(sample, "event_ns",
			 plays > 0 ? bench_measure_median(warm, plays) : cold_ns);
	bench_sample_add(sample, "cold_event_ns", cold_ns);
	bench_sample_add(sample, "cold_alloc_mean_ns", bench_times_mean(&allocs));
	bench_sample_add(sample, "cold_free_mean_ns", bench_times_mean(&frees));
	bench_sample_add(sample, "cold_events", (double)cold.done);
	bench_sample_add(sample, "done_ratio", (double)cold.done / (double)script->count);
	if (may_refuse)
		bench_sample_add(sample, "failures", (double)cold.refused);
	if (plays > 0 && whole)
		play_warm_single(peer, script, blocks, effort->case_ns, sample);
	return NULL;
}

const char *play_script(struct bench_peer *peer, const struct training *script, bool in_chunk,
			bool may_refuse, const struct bench_effort *effort,
			struct bench_sample *sample)
{
	struct bench_block *blocks;
	const char *why;

	if (peer->on_device && bench_cuda_free_bytes() < script->peak_bytes / 16 * 17)
		return "the device has too little free memory";
	blocks = bench_measure_pages(script->slots * sizeof(*blocks));
	if (blocks == NULL)
		return "no memory for the bench's own tables";
	why = play_all(peer, script, in_chunk, may_refuse, effort, blocks, sample);
	bench_measure_pages_free(blocks, script->slots * sizeof(*blocks));
	return why;
}
