/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mpi.c - the kernels of `mam bench mpi`: the ranks exchange the right messages with each
 * coalescer, also if lanes of a warp block one another; no rank waits forever for memory or for a
 * message that does not arrive; and the unit workloads detect errors.
 */
#include "coalesce/kit.h"
#include "bench/papers/mpi/mpi_operations.h"
#include "bench/papers/mpi/mpi_unit.h"

#define RANKS 96u
#define ENTRIES 4096u
#define LONG 100000000u /* ns, which are steps here */

struct own {
	struct device_job job;
	struct device_found found;
	struct mpi_heap heap;
	uint64_t got[2 * RANKS], more[MPI_TIMES * RANKS];
	unsigned int kind;
	uint32_t ranks;
};

static void begin(struct ckit *kit)
{
	struct own *own = kit->own;

	memset(&own->found, 0, sizeof(own->found));
	memset(own->got, 0, sizeof(own->got));
	memset(own->more, 0, sizeof(own->more));
	memset(own->heap.map, 0, mam_map_bytes(ENTRIES));
	mam_map_format(own->heap.map, ENTRIES);
}

static struct ckit *create(enum mam_kway way, uint32_t ranks)
{
	struct ckit *kit = ckit_create(1 << 20, NULL);
	struct own *own = calloc(1, sizeof(*own));

	ck_assert_ptr_nonnull(own);
	ck_assert_uint_le(ranks, RANKS);
	own->heap.map = aligned_alloc(128, (mam_map_bytes(ENTRIES) + 127) / 128 * 128);
	ck_assert_ptr_nonnull(own->heap.map);
	own->kind = way;
	own->ranks = ranks;
	own->job.heap = &own->heap;
	own->job.got = own->got;
	own->job.more = own->more;
	own->job.found = &own->found;
	own->job.own[0] = LONG;
	kit->own = own;
	kit->begin = begin;
	kit->steps_max = 40000000;
	kit->whole = true;
	return kit;
}

static void destroy(struct ckit *kit)
{
	struct own *own = kit->own;

	free(own->heap.map);
	free(own);
	ckit_destroy(kit);
}

static MAM_KERNEL(alltoall)
{
	const struct own *own = ((struct ckit *)argument)->own;

	mpi_alltoall(own->kind, ckit_base(argument), &own->job);
}

static MAM_KERNEL(tree)
{
	const struct own *own = ((struct ckit *)argument)->own;

	mpi_tree(own->kind, ckit_base(argument), &own->job);
}

static MAM_KERNEL(unit)
{
	const struct own *own = ((struct ckit *)argument)->own;

	mpi_unit(own->kind, ckit_base(argument), &own->job);
}

/* Everything succeeded. */
static const char *check_good(void *argument)
{
	const struct ckit *kit = argument;
	const struct own *own = kit->own;
	uint32_t i;

	if (own->found.none || own->found.beyond || own->found.refused)
		return "a rank failed to allocate, receive or free";
	if (own->found.corrupt || own->found.crooked || own->found.objects != own->ranks)
		return "a rank has a wrong result";
	for (i = 0; i < 2 * own->ranks && own->job.own[1] == 0; i++)
		if (own->got[i])
			return "a message was not received";
	return ckit_check_empty(argument);
}

/* It is enough that the run ends. */
static const char *check_nothing(void *argument)
{
	(void)argument;
	return NULL;
}

static const struct geometry {
	uint32_t grid, block;
} geometries[] = { { 2, 8 }, { 1, 36 }, { 3, 1 }, { 1, 1 } };

#define GEOMETRIES (sizeof(geometries) / sizeof(geometries[0]))

/* ---- operations ------------------------------------------------------------------------------ */

START_TEST(alltoall_delivers_all_messages)
{
	const struct geometry g = geometries[(size_t)_i / MAM_WAYS];
	struct ckit *kit = create((enum mam_kway)(_i % MAM_WAYS), g.grid * g.block);
	struct own *own = kit->own;

	own->job.rounds = 2;
	ckit_explore(kit, "all to all", alltoall, g.grid, g.block, CKIT_RACE ? 1 : 2, check_good);
	destroy(kit);
}
END_TEST

START_TEST(tree_delivers_all_messages)
{
	const struct geometry g = geometries[(size_t)_i / MAM_WAYS];
	struct ckit *kit = create((enum mam_kway)(_i % MAM_WAYS), g.grid * g.block);
	struct own *own = kit->own;

	own->job.rounds = 3;
	own->job.flags = MPI_REDUCE;
	ckit_explore(kit, "reduce", tree, g.grid, g.block, CKIT_RACE ? 2 : 5, check_good);
	own->job.flags = MPI_BROADCAST;
	ckit_explore(kit, "broadcast", tree, g.grid, g.block, CKIT_RACE ? 2 : 5, check_good);
	destroy(kit);
}
END_TEST

/* As before Volta: a lane that spins blocks the other lanes of its warp. */
START_TEST(lockstep_warps_make_progress)
{
	struct ckit *kit = create((enum mam_kway)_i, 40);
	struct own *own = kit->own;
	struct simt_case test = {
		.name = "in lockstep",
		.grid = 1,
		.block = 40,
		.argument = kit,
		.begin = ckit_begin,
		.check = check_good,
		.seeds = 2,
		.policies = 1 << SIMT_BY_WARP,
		.config = { .strict = true, .lockstep = true, .steps_max = 40000000, .whole = true }
	};

	own->job.rounds = 1;
	test.kernel = alltoall;
	simt_must_pass(&test);
	test.kernel = tree;
	own->job.flags = MPI_REDUCE;
	simt_must_pass(&test);
	own->job.flags = MPI_BROADCAST;
	simt_must_pass(&test);
	destroy(kit);
}
END_TEST

/* ---- failures -------------------------------------------------------------------------------- */

/* The run ends, and reports what was missing; ranks that have a result have the right one. */
static const char *check_lacking(void *argument)
{
	const struct own *own = ((struct ckit *)argument)->own;

	if (own->found.none + own->found.beyond == 0)
		return "no failure was reported";
	return own->found.refused ? "a rank failed to free" : NULL;
}

START_TEST(failed_allocations_are_reported)
{
	static const uint32_t after[] = { 1, 2, 9, 20 };
	struct ckit *kit = create((enum mam_kway)(_i % MAM_WAYS), 16);
	struct own *own = kit->own;

	kit->refuse_after = after[_i / MAM_WAYS];
	own->job.rounds = 2;
	/* The base gets fewer calls if each serves many lanes. */
	ckit_explore(kit, "no memory for some ranks", alltoall, 2, 8, 2,
		     kit->refuse_after < 3 ? check_lacking : check_nothing);
	own->job.flags = MPI_REDUCE;
	ckit_explore(kit, "no memory for some ranks of a tree", tree, 2, 8, 2,
		     kit->refuse_after < 3 ? check_lacking : check_nothing);
	destroy(kit);
}
END_TEST

/* A rank that may only wait for a moment gives up, and so do all. */
START_TEST(timeouts_are_reported)
{
	struct ckit *kit = create((enum mam_kway)_i, 16);
	struct own *own = kit->own;

	own->job.rounds = 2;
	own->job.own[0] = 300;
	ckit_explore(kit, "no time", alltoall, 2, 8, 4, check_nothing);
	own->job.flags = MPI_BROADCAST;
	ckit_explore(kit, "no time for a tree", tree, 2, 8, 4, check_nothing);
	destroy(kit);
}
END_TEST

/* Rank 1's message to rank 0 is not sent. */
static MAM_KERNEL(lose)
{
	const struct own *own = ((struct ckit *)argument)->own;
	const struct mpi_rank rank = mpi_rank_of(&own->job);

	if (rank.me == 0)
		MAM_KASSERT(mpi_receive(rank, 1, 0) == NULL);
}

static const char *check_lost(void *argument)
{
	const struct own *own = ((struct ckit *)argument)->own;

	return own->found.beyond == 1 ? NULL : "a lost message was not counted";
}

START_TEST(lost_message_is_counted)
{
	struct ckit *kit = create(MAM_WAY_BASE, 2);
	struct own *own = kit->own;

	own->job.own[0] = 1000;
	ckit_explore(kit, "a lost message", lose, 1, 2, 5, check_lost);
	destroy(kit);
}
END_TEST

/* ---- messages -------------------------------------------------------------------------------- */

/*
 * All ranks send two messages each to rank 0, which receives them in another order of ranks, but
 * each rank's messages in the order sent.
 */
static MAM_KERNEL(mixed)
{
	struct ckit *kit = argument;
	const struct own *own = kit->own;
	const struct mpi_rank rank = mpi_rank_of(&own->job);
	struct mpi_message *message;
	double value;
	uint32_t i;

	for (i = 0; i < 2 && rank.me > 0; i++) {
		value = rank.me * 10 + i;
		message = mam_base_alloc(ckit_base(kit), mpi_message_bytes(rank));
		mpi_send(rank, message, 0, 7, &value);
	}
	if (rank.me > 0)
		return;
	for (i = 2 * rank.ranks - 2; i-- > 0;) {
		const uint32_t from = 1 + i % (rank.ranks - 1);

		message = mpi_receive(rank, from, 7);
		MAM_KASSERT(message && message->from == from);
		MAM_KASSERT(mpi_payload(message)[0] == from * 10 + (i < rank.ranks - 1));
		(void)mam_base_free(ckit_base(kit), message);
	}
	device_report(&own->job.found->objects, rank.ranks);
}

START_TEST(messages_of_a_rank_keep_their_order)
{
	struct ckit *kit = create(MAM_WAY_BASE, 6);
	struct own *own = kit->own;

	own->job.rounds = 1;
	ckit_explore(kit, "in the order sent", mixed, 2, 3, 20, check_good);
	destroy(kit);
}
END_TEST

/* ---- unit workloads -------------------------------------------------------------------------- */

START_TEST(unit_workloads_run)
{
	struct ckit *kit = create((enum mam_kway)_i, 40);
	struct own *own = kit->own;
	float sum = 0;
	uint32_t i, j, n = 10;

	own->job.rounds = n;
	own->job.own[1] = 1; /* `got` contains addresses */
	own->job.flags = MPI_CHECK;
	ckit_explore(kit, "an integrity check", unit, 1, 40, 2, check_good);
	own->ranks = 0; /* no results are counted */
	for (i = 0; i < n; i++)
		sum += (float)i;
	own->job.own[0] = mpi_bits(sum);
	own->job.flags = MPI_LINEAR | MPI_TOGETHER;
	ckit_explore(kit, "linear", unit, 1, 40, 2, check_good);
	for (sum = 0, i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			sum += (float)i * (float)j;
	own->job.own[0] = mpi_bits(sum);
	own->job.flags = MPI_QUADRATIC;
	ckit_explore(kit, "quadratic", unit, 1, 40, 2, check_good);
	own->job.own[0]++;
	ck_assert_uint_eq(own->found.corrupt, 0);
	ckit_explore(kit, "a different result", unit, 1, 40, 1, check_nothing);
	ck_assert_uint_eq(own->found.corrupt, 40);
	destroy(kit);
}
END_TEST

/* All ranks get the same memory. */
static void *one_alloc(void *heap, size_t bytes)
{
	(void)bytes;
	return ((struct ckit *)heap)->arena;
}

static bool one_free(void *heap, void *block)
{
	(void)heap;
	(void)block;
	return true;
}

static MAM_KERNEL(overlap)
{
	const struct mam_kbase base = { one_alloc, one_free, argument, 0 };
	const struct own *own = ((struct ckit *)argument)->own;

	mpi_unit(MAM_WAY_BASE, base, &own->job);
}

static const char *check_overlap(void *argument)
{
	const struct own *own = ((struct ckit *)argument)->own;

	return own->found.corrupt > 0 ? NULL : "overlapping memory was not detected";
}

START_TEST(overlapping_memory_is_detected)
{
	struct ckit *kit = create(MAM_WAY_BASE, 2);
	struct own *own = kit->own;
	struct simt_case test = { .name = "overlapping memory",
				  .kernel = overlap,
				  .grid = 1,
				  .block = 2,
				  .argument = kit,
				  .begin = ckit_begin,
				  .check = check_overlap,
				  .seeds = 5,
				  .config = { .whole = true } };

	own->job.rounds = 4;
	own->job.flags = MPI_CHECK;
	simt_must_pass(&test);
	destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mpi");

	tcase_add_loop_test(tcase, alltoall_delivers_all_messages, 0, (int)(MAM_WAYS * GEOMETRIES));
	tcase_add_loop_test(tcase, tree_delivers_all_messages, 0, (int)(MAM_WAYS * GEOMETRIES));
	tcase_add_loop_test(tcase, lockstep_warps_make_progress, 0, MAM_WAYS);
	tcase_add_loop_test(tcase, failed_allocations_are_reported, 0, MAM_WAYS * 4);
	tcase_add_loop_test(tcase, timeouts_are_reported, 0, MAM_WAYS);
	tcase_add_test(tcase, lost_message_is_counted);
	tcase_add_test(tcase, messages_of_a_rank_keep_their_order);
	tcase_add_loop_test(tcase, unit_workloads_run, 0, MAM_WAYS);
	tcase_add_test(tcase, overlapping_memory_is_detected);
	return ckit_run(tcase, "coalesce/mpi");
}
