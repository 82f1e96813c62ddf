/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kdebug_churn.c - a debug heap and many lanes at once: without errors nothing is ever
 * reported, whatever sizes follow each other in the same memory; of several frees of one object one
 * succeeds; and each report is delivered once, also when the buffer is full.
 */
#define MAM_REPORTS 8u
#include "heap/debug/debug_kit.h"

#ifdef SIMT_HOOKS
#define SEEDS 10
#else
#define SEEDS 40
#endif

static const size_t sizes[] = { 1, 16, 40, 64, 128, 200, 256, 900, 1024, 2000, 9000 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/*
 * Each lane keeps up to two objects of changing sizes, writes all of their bytes, and frees them.
 */
static MAM_KERNEL(churn)
{
	struct dkit *dkit = argument;
	struct mam_kheap *heap = dkit->kit->heap;
	unsigned char *kept[2] = { NULL, NULL };
	size_t bytes[2] = { 0, 0 };
	uint32_t round, i;

	for (round = 0; round < 8; round++) {
		i = round & 1;
		if (kept[i]) {
			MAM_KASSERT(kept[i][0] == (unsigned char)simt_thread());
			MAM_KASSERT(kept[i][bytes[i] - 1] == (unsigned char)simt_thread());
			MAM_KASSERT(mam_kusable(heap, kept[i]) == bytes[i]);
		}
		if (kept[i] && simt_random() % 3 == 0) {
			bytes[i] = sizes[simt_random() % SIZES];
			kept[i] = mam_krealloc(heap, kept[i], bytes[i]);
		} else {
			MAM_KASSERT(mam_kfree(heap, kept[i]));
			bytes[i] = sizes[simt_random() % SIZES];
			kept[i] = simt_random() % 4 ? mam_kmalloc(heap, bytes[i])
						    : mam_kcalloc(heap, bytes[i], 1);
		}
		MAM_KASSERT(kept[i]);
		memset(kept[i], (int)simt_thread(), bytes[i]);
	}
	MAM_KASSERT(mam_kfree(heap, kept[0]) && mam_kfree(heap, kept[1]));
}

START_TEST(valid_use_reports_nothing)
{
	struct dkit *dkit = dkit_create(24, 2);

	dkit_explore(dkit, "churn without errors", churn, 2, 40, SEEDS, true, dkit_check_quiet);
	dkit_destroy(dkit);
}
END_TEST

/* Objects that several lanes share and all of them write. */
static MAM_KERNEL(shared)
{
	struct dkit *dkit = argument;
	struct mam_kheap *heap = dkit->kit->heap;
	uint32_t round, *all;

	for (round = 0; round < 3; round++) {
		all = mam_kmalloc_shared_block(heap, simt_block_threads() * sizeof(*all));
		MAM_KASSERT(all);
		all[simt_thread()] = round;
		MAM_KASSERT(mam_kfree_shared_block(heap, all));
		all = mam_kmalloc_shared_lanes(heap, ~0u, 32 * sizeof(*all));
		MAM_KASSERT(all);
		all[mam_lane()] = round;
		MAM_KASSERT(mam_kfree_shared_lanes(heap, ~0u, all));
		all = mam_kmalloc_shared_warp(heap, sizeof(*all));
		MAM_KASSERT(all);
		MAM_KASSERT(mam_kfree_shared_lanes(heap, ~0u, all));
	}
}

START_TEST(shared_objects_report_nothing)
{
	struct dkit *dkit = dkit_create(24, 2);

	dkit->kit->whole = true;
	dkit_explore(dkit, "shared", shared, 2, 64, SEEDS / 2, true, dkit_check_quiet);
	dkit_destroy(dkit);
}
END_TEST

/* All lanes free one object: one of them succeeds, and the others are reported. */
static MAM_KERNEL(all_at_once)
{
	struct dkit *dkit = argument;
	struct okit *kit = dkit->kit;
	uint64_t address;

	if (!simt_thread())
		okit_keep(kit, 0, mam_kmalloc(kit->heap, 300));
	mam_syncthreads();
	address = mam_atomic_load64(&kit->kept[0], MAM_ACQUIRE, MAM_AT_DEVICE);
	if (mam_kfree(kit->heap, (void *)(uintptr_t)address))
		(void)mam_atomic_add64(&kit->kept[1], 1, MAM_RELAXED, MAM_AT_DEVICE);
}

static const char *check_all_at_once(void *argument)
{
	const struct dkit *dkit = argument;
	uint32_t i;

	if (dkit->kit->kept[1] != 1)
		return okit_wrong("%u frees succeeded", (uint32_t)dkit->kit->kept[1]);
	if (dkit->growth->told.value + dkit->growth->untold.value != 7)
		return okit_wrong("%u reports", (uint32_t)dkit->growth->told.value);
	for (i = 0; i < 7; i++)
		if (dkit->reports->report[i].stamp != i + 1 ||
		    dkit->reports->report[i].kind != MAM_HEAP_DOUBLE_FREE)
			return okit_wrong("report %u has kind %u", i,
					  (uint32_t)dkit->reports->report[i].kind);
	if (okit_tally(dkit->kit, MAM_OBJECT_TWICE) != 7)
		return "not all double frees were counted";
	return okit_check_empty(dkit->kit);
}

START_TEST(concurrent_double_free_is_reported)
{
	struct dkit *dkit = dkit_create(2, 1);

	dkit_explore(dkit, "all at once", all_at_once, 1, 8, SEEDS * 4, true, check_all_at_once);
	dkit_destroy(dkit);
}
END_TEST

/* ---- reports and the host ---- */

#define TOLD 3

/* The host reads while lanes report: each report is complete, and is read once. */
struct reading {
	struct dkit *dkit;
	uint32_t thread[40][3]; /* coordinates of each lane */
	uint32_t seen[40 * TOLD + 1];
	uint32_t looks; /* 0: the host never looks */
};

/* A foreign address that identifies the lane. */
static MAM_KERNEL(report_errors)
{
	struct reading *reading = argument;
	uintptr_t at = 16 * TOLD * simt_thread() + 16;
	uint32_t i;

	for (i = 0; i < 3; i++)
		reading->thread[simt_thread()][i] = simt_thread_at(i);
	for (i = 0; i < TOLD; i++)
		(void)mam_kfree(reading->dkit->kit->heap, (void *)(at + 16 * i));
}

static void read_reports(void *argument)
{
	struct reading *reading = argument;
	struct mam_reports *reports = reading->dkit->reports;
	uint32_t look, block[3], thread[3];
	uint64_t taken = 0, at;

	for (look = 0; look < reading->looks; look++) {
		struct mam_report *report = &reports->report[taken % MAM_REPORTS];

		if (mam_atomic_load64(&report->stamp, MAM_ACQUIRE, MAM_AT_SYSTEM) != taken + 1) {
			simt_host_yield(SIMT_SITE);
			continue;
		}
		MAM_KASSERT(report->kind == MAM_HEAP_FOREIGN_FREE);
		at = report->address / 16;
		MAM_KASSERT(at && at <= 40 * TOLD && !reading->seen[at]++);
		MAM_KASSERT(mam_who_read(report->finder, block, thread));
		MAM_KASSERT(!(block[0] | block[1] | block[2]));
		MAM_KASSERT(!memcmp(thread, reading->thread[(at - 1) / TOLD], sizeof(thread)));
		MAM_KASSERT(!report->holder.word[1] && !report->giver.word[1]);
		taken++;
		mam_atomic_store64(&reports->taken, taken, MAM_RELEASE, MAM_AT_SYSTEM);
	}
}

static bool build_reading(struct simt_world *world, void *argument)
{
	struct reading *reading = argument;

	return simt_world_launch(world, 0, report_errors, 1, 40, reading) &&
	       simt_world_host(world, read_reports, reading);
}

static void begin_reading(void *argument)
{
	struct reading *reading = argument;

	dkit_begin(reading->dkit);
	memset(reading->seen, 0, sizeof(reading->seen));
}

static const char *check_reading(void *argument)
{
	const struct reading *reading = argument;
	const struct mam_growth *growth = reading->dkit->growth;
	const struct mam_reports *reports = reading->dkit->reports;

	if (growth->told.value + growth->untold.value != 40 * TOLD)
		return "wrong number of reports";
	if (reports->lost != growth->untold.value)
		return okit_wrong("%u reports were lost, but the host sees %u",
				  (uint32_t)growth->untold.value, (uint32_t)reports->lost);
	if (growth->told.value < MAM_REPORTS || growth->told.value - reports->taken > MAM_REPORTS)
		return "more reports than the buffer has room for";
	if (!reading->looks && growth->told.value != MAM_REPORTS)
		return "more reports were written than the buffer has room for";
	return NULL;
}

static void explore_reading(uint32_t looks, uint32_t seeds)
{
	struct reading reading = { .dkit = dkit_create(1, 1), .looks = looks };
	struct simt_case test = {
		.name = looks ? "read meanwhile" : "never read",
		.build = build_reading,
		.argument = &reading,
		.begin = begin_reading,
		.check = check_reading,
		.seeds = seeds,
		.config = { .race = KIT_RACE, .stale = KIT_RACE, .strict = true },
	};

	simt_must_pass(&test);
	dkit_destroy(reading.dkit);
}

START_TEST(unread_reports_fill_buffer)
{
	explore_reading(0, SEEDS * 2);
}
END_TEST

START_TEST(concurrent_reader_sees_each_report_once)
{
	explore_reading(400, 100);
}
END_TEST

/* The host frees the program's addresses. */
static MAM_KERNEL(drained)
{
	struct dkit *dkit = argument;
	struct mam_kheap *heap = dkit->kit->heap;
	uint32_t i;

	for (i = 0; i < 5; i++)
		heap->returns->address[i] = (uintptr_t)mam_kmalloc(heap, 100 + 3000 * i);
	heap->returns->address[i] = heap->returns->address[2];
	heap->returns->told = i + 1;
	mam_kdrain(heap);
	MAM_KASSERT(dkit_only(dkit)->kind == MAM_HEAP_DOUBLE_FREE);
	dkit->growth->told.value = 0;
}

START_TEST(host_free_of_guarded_object_succeeds)
{
	struct dkit *dkit = dkit_create(4, 1);

	dkit_explore(dkit, "drained", drained, 1, 1, 1, false, dkit_check_quiet);
	dkit_destroy(dkit);
}
END_TEST

SIMT_SUITE("kdebug_churn", valid_use_reports_nothing, shared_objects_report_nothing,
	   concurrent_double_free_is_reported, unread_reports_fill_buffer,
	   concurrent_reader_sees_each_report_once, host_free_of_guarded_object_succeeds)
