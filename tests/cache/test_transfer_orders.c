/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transfer cache, its bins, tags and locks in all schedules of a few threads that deviate at a
 * few points, and in random ones. Threads give blocks, take them and evict them. No block may be
 * lost or be in two places, and what one thread wrote about a block must be visible to the next.
 *
 * Each rule of transfer.c is broken once: the search must find it.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "device/port.h"
#include "simt/explore.h"
#include "simt/host.h"
#include "simt/suite.h"
#include "wrong_transfer.h"

#define THREADS 3
#define BLOCKS_EACH 2
#define BLOCKS (THREADS * BLOCKS_EACH)
#define FILLED (MAM_TRANSFER_STACKS * MAM_TRANSFER_BATCHES - 1) /* leaves place for one batch */
#define BASE ((uintptr_t)0x7000000000)
#define GRANULES 3
#define LIMIT 100000

struct thread {
	unsigned number; /* from 1; also of its bins */
	struct mam_bins bins;
};

static struct state {
	struct mam_transfer transfer;
	struct thread threads[THREADS];
	unsigned holder[BLOCKS + FILLED]; /* number of the thread that has the block; 0: cached */
	bool filled;
} state;

static uintptr_t address(unsigned block)
{
	return BASE + (uintptr_t)block * GRANULES * MAM_BLOCKTAG_GRANULE;
}

static unsigned block_at(uintptr_t where)
{
	return (unsigned)((where - BASE) / (GRANULES * MAM_BLOCKTAG_GRANULE));
}

static void push(struct thread *thread, unsigned block)
{
	MAM_KASSERT(state.holder[block] == thread->number);
	state.holder[block] = 0;
	mam_bins_push(&thread->bins, address(block), mam_blocktag_find(address(block), GRANULES),
		      GRANULES);
}

static bool pop(struct thread *thread)
{
	mam_blocktag_word *tag;
	uintptr_t where;
	unsigned block;

	if (mam_bins_best(&thread->bins, GRANULES, GRANULES) == 0)
		return false;
	where = mam_bins_pop(&thread->bins, GRANULES, &tag);
	MAM_KASSERT(where != 0);
	mam_blocktag_write(tag, MAM_BLOCKTAG_NONE);
	block = block_at(where);
	MAM_KASSERT(state.holder[block] == 0);
	state.holder[block] = thread->number;
	return true;
}

static size_t give(struct thread *thread)
{
	return wrong_transfer == WRONG_NOTHING
		       ? mam_transfer_give(&state.transfer, &thread->bins, LIMIT)
		       : wrong_transfer_give(&state.transfer, &thread->bins, LIMIT);
}

static bool take(struct thread *thread)
{
	return wrong_transfer == WRONG_NOTHING
		       ? mam_transfer_take(&state.transfer, &thread->bins, GRANULES, GRANULES)
		       : wrong_transfer_take(&state.transfer, &thread->bins, GRANULES, GRANULES);
}

static size_t evict(void *blocks[MAM_BATCH_BLOCKS])
{
	return wrong_transfer == WRONG_NOTHING ? mam_transfer_evict(&state.transfer, blocks)
					       : wrong_transfer_evict(&state.transfer, blocks);
}

/* Frees its blocks one by one, and overflows each time. */
static void gives(void *argument)
{
	struct thread *thread = argument;

	for (unsigned i = 0; i < BLOCKS_EACH; i++) {
		push(thread, (thread->number - 1) * BLOCKS_EACH + i);
		if (give(thread) == 0)
			MAM_KASSERT(pop(thread));
	}
}

static void takes(void *argument)
{
	struct thread *thread = argument;

	for (unsigned i = 0; i < BLOCKS_EACH; i++)
		if (take(thread))
			MAM_KASSERT(pop(thread));
}

static void gives_and_takes(void *argument)
{
	gives(argument);
	takes(argument);
}

static void evicts(void *argument)
{
	const struct thread *thread = argument;
	void *blocks[MAM_BATCH_BLOCKS];
	size_t count = evict(blocks);

	for (size_t i = 0; i < count; i++) {
		unsigned block = block_at((uintptr_t)blocks[i]);

		MAM_KASSERT(state.holder[block] == 0);
		state.holder[block] = thread->number;
	}
}

static void begin(void *argument)
{
	(void)argument;
	memset(&state.transfer, 0, sizeof(state.transfer));
	memset(state.holder, 0, sizeof(state.holder));
	mam_transfer_init(&state.transfer);
	for (unsigned i = 0; i < THREADS; i++) {
		struct thread *thread = &state.threads[i];

		memset(thread, 0, sizeof(*thread));
		thread->number = i + 1;
		thread->bins.key = mam_blocktag_cached_key(thread->number);
	}
	for (unsigned block = 0; block < BLOCKS + FILLED; block++) {
		mam_blocktag_word *tag = mam_blocktag_make(address(block), GRANULES);

		if (!tag)
			abort();
		mam_blocktag_write(tag, MAM_BLOCKTAG_NONE);
		state.holder[block] = block < BLOCKS ? block / BLOCKS_EACH + 1 : 1;
	}
	for (unsigned block = BLOCKS; state.filled && block < BLOCKS + FILLED; block++) {
		push(&state.threads[0], block);
		if (mam_transfer_give(&state.transfer, &state.threads[0].bins, LIMIT) != 1)
			abort();
	}
}

/* Every block is held by a thread, or in exactly one cache. */
static const char *check(void *argument)
{
	const char *why = mam_transfer_check(&state.transfer);
	void *blocks[MAM_BATCH_BLOCKS];
	size_t count;

	(void)argument;
	for (unsigned i = 0; i < THREADS && !why; i++) {
		why = mam_bins_check(&state.threads[i].bins);
		if (state.threads[i].bins.lost != 0)
			return "a block looked like one that was freed twice";
		while (pop(&state.threads[i]))
			continue;
	}
	while ((count = mam_transfer_evict(&state.transfer, blocks)) != 0)
		for (size_t i = 0; i < count; i++)
			state.holder[block_at((uintptr_t)blocks[i])]++;
	if (state.transfer.lost != 0)
		return "a block of a batch looked like one that was freed twice";
	for (unsigned block = 0; block < BLOCKS + (state.filled ? FILLED : 0); block++)
		if (state.holder[block] == 0)
			return "a block was lost";
	return why;
}

typedef void work(void *argument);

static const struct row {
	const char *name;
	work *works[THREADS];
	bool filled;
	unsigned deviations;
	enum wrong_transfer wrong;
	enum simt_verdict verdict; /* of a fault; SIMT_FINE: any */
} rows[] = {
	{ "give and take", { gives, takes }, false, 3, WRONG_NOTHING, SIMT_FINE },
	{ "both give and take",
	  { gives_and_takes, gives_and_takes },
	  false,
	  2,
	  WRONG_NOTHING,
	  SIMT_FINE },
	{ "one gives, two take", { gives, takes, takes }, false, 2, WRONG_NOTHING, SIMT_FINE },
	{ "give, take, evict", { gives, takes, evicts }, false, 2, WRONG_NOTHING, SIMT_FINE },
	{ "place for one", { gives, gives, takes }, true, 2, WRONG_NOTHING, SIMT_FINE },
	{ "no lock", { gives, takes }, false, 2, WRONG_NO_LOCK, SIMT_FINE },
	{ "unlock relaxed", { gives, takes }, false, 2, WRONG_UNLOCK_RELAXED, SIMT_RACE },
	{ "no recheck in take", { gives, takes, takes }, false, 2, WRONG_NO_RECHECK, SIMT_FINE },
	{ "no recheck in give", { gives, gives }, true, 2, WRONG_NO_RECHECK, SIMT_FINE },
	{ "no unpack", { gives, gives }, true, 2, WRONG_NO_UNPACK, SIMT_FINE },
};

#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

static bool build(struct simt_world *world, void *argument)
{
	const struct row *row = argument;

	for (unsigned i = 0; i < THREADS; i++)
		if (row->works[i] && !simt_world_host(world, row->works[i], &state.threads[i]))
			return false;
	return true;
}

START_TEST(no_block_is_lost_or_in_two_places)
{
	struct row row = rows[_i];
	struct simt_case test = {
		.name = row.name,
		.build = build,
		.argument = &row,
		.begin = begin,
		.check = check,
		.deviations = row.deviations,
		.seeds = 500,
		.config = { .race = true, .stale = true, .atomics_only = true, .steps_max = 5000 }
	};

	state.filled = row.filled;
	wrong_transfer = row.wrong;
	if (row.wrong == WRONG_NOTHING)
		simt_must_pass(&test);
	else
		simt_must_fail(&test, row.verdict);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("orders");

	simt_host_init();
	tcase_add_loop_test(tests, no_block_is_lost_or_in_two_places, 0, ROWS);
	return simt_run_case(tests, "cache/transfer_orders");
}
