/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_buffers_many.c - buffers used by many lanes: no block is lost or allocated twice, whichever
 * lanes allocate, free, drain or stop; and memory in buffers never causes NULL.
 */
#include <string.h>

#include "heap/stop.h"
#include "coalesce/buffers_kit.h"

struct plan {
	const char *name;
	uint32_t count, blocks; /* FIFOs per class, and their total capacity */
	uint32_t grid, block;
	uint32_t rounds;
	size_t bytes[4];
	size_t arena;
	uint32_t refuse_every;
	uint32_t stoppers; /* number of blocks, from the first one, with a lane that stops */
	uint32_t seeds, seeds_race;
};

static uint32_t halts, runs;
static uint64_t drained; /* by drains, in a run; atomic */

static uint32_t below(uint32_t n)
{
	return (uint32_t)(simt_random() % n);
}

/* ---- many lanes ---------------------------------------------------------------------------- */

static void begin(struct ckit *kit)
{
	const struct plan *plan = kit->plan;

	buffers_make(plan->count, plan->blocks, (uintptr_t)kit->arena);
	stop_begin((plan->grid - plan->stoppers) * plan->block);
	drained = 0;
}

/* Each lane frees what another one allocated, and sometimes all lanes drain. */
static MAM_KERNEL(churn)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct mam_kbase base = ckit_base(kit);
	uint32_t lanes = simt_block_threads() * mam_grid_blocks(), n, kind;
	size_t bytes;
	void *part;

	if (mam_block() < plan->stoppers && simt_thread() == below(plan->block))
		stop_after(1 + below(12 * plan->rounds));
	for (n = 0; n < plan->rounds; n++) {
		kind = below(4);
		bytes = plan->bytes[kind];
		part = mam_buffers_alloc(buffers, base, bytes);
		if (part)
			ckit_own(kit, part, bytes);
		else
			ckit_fail(kit);
		/* A lane leaves a part in a slot for parts of its size. */
		if (part && below(4)) {
			uint32_t at = below(lanes) * 4 + kind;

			if (mam_atomic_cas64(&kit->kept[at], 0, (uintptr_t)part, MAM_RELEASE,
					     MAM_AT_DEVICE) == 0)
				part = NULL;
		}
		if (!part)
			part = ckit_take(kit, below(lanes) * 4 + kind);
		if (part) {
			ckit_disown(kit, part);
			MAM_KASSERT(mam_buffers_free(buffers, base, part, bytes));
		}
	}
	if (mam_block() >= plan->stoppers)
		stop_leave();
}

/* All remaining parts are freed; then lanes drain together. */
static MAM_KERNEL(drain)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t i = mam_block() * simt_block_threads() + simt_thread();
	void *part;

	for (; i < plan->grid * plan->block * 4; i += simt_block_threads() * mam_grid_blocks()) {
		part = ckit_take(kit, i);
		if (part) {
			ckit_disown(kit, part);
			MAM_KASSERT(mam_buffers_free(buffers, ckit_base(kit), part,
						     plan->bytes[i % 4]));
		}
	}
	mam_syncthreads();
	(void)mam_buffers_drain(buffers, ckit_base(kit));
}

static bool build(struct simt_world *world, void *argument)
{
	const struct plan *plan = ((struct ckit *)argument)->plan;

	return simt_world_launch(world, 1, churn, plan->grid, plan->block, argument) &&
	       simt_world_launch(world, 1, drain, 1, 3, argument);
}

/* Two concurrent kernels, each in a stream; the host drains when both have ended. */
static bool build_streams(struct simt_world *world, void *argument)
{
	const struct plan *plan = ((struct ckit *)argument)->plan;

	return simt_world_launch(world, 1, churn, plan->grid, plan->block, argument) &&
	       simt_world_launch(world, 2, churn, plan->grid, plan->block, argument) &&
	       simt_world_launch(world, 1, churn, plan->grid, plan->block, argument);
}

static const char *check(void *argument)
{
	runs++;
	halts += stop.stopped;
	if (buffers_cached(0))
		return "a drain left blocks";
	return buffers->moving ? "a lane is still moving a block" : ckit_check_empty(argument);
}

static const char *check_streams(void *argument)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t i;
	void *part;

	for (i = 0; i < plan->grid * plan->block * 4; i++) {
		part = ckit_take(kit, i);
		if (part) {
			ckit_disown(kit, part);
			(void)mam_buffers_free(buffers, ckit_base(kit), part, plan->bytes[i % 4]);
		}
	}
	(void)mam_buffers_drain(buffers, ckit_base(kit));
	return check(argument);
}

static const struct plan plans[] = {
	/* name, count, blocks, grid, block, rounds, bytes, arena, refuse every, stoppers, seeds */
	{ "no FIFO", 0, 256, 2, 3, 6, { 16, 40, 100, 200 }, 1 << 16, 0, 0, 60, 30 },
	{ "one FIFO", 1, 256, 2, 3, 8, { 16, 16, 16, 40 }, 1 << 14, 0, 0, 400, 100 },
	{ "two", 2, 256, 2, 3, 8, { 16, 40, 100, 200 }, 1 << 14, 0, 0, 300, 80 },
	{ "32", 32, 256, 2, 3, 8, { 16, 40, 100, 200 }, 1 << 14, 0, 0, 20, 8 },
	{ "little memory", 1, 256, 2, 3, 8, { 16, 40, 100, 200 }, 320, 0, 0, 200, 50 },
	{ "little memory, two FIFOs", 2, 256, 4, 1, 8, { 16, 16, 32, 64 }, 96, 0, 0, 150, 40 },
	{ "base refuses sometimes", 1, 256, 2, 3, 8, { 16, 40, 100, 200 }, 1 << 14, 3, 0, 200, 50 },
	{ "some large requests", 1, 256, 3, 1, 8, { 16, 16, 9000, 8192 }, 1 << 18, 0, 0, 60, 10 },
	{ "warps", 4, 256, 2, 40, 3, { 16, 40, 40, 48 }, 1 << 14, 0, 0, 10, 3 },
	{ "FIFOs of one block", 32, 32, 2, 40, 3, { 16, 16, 16, 40 }, 1 << 14, 0, 0, 10, 2 },
	{ "one of 32", 1, 32, 2, 40, 3, { 16, 16, 16, 16 }, 1 << 14, 0, 0, 20, 4 },
	{ "one lane stops", 1, 256, 4, 1, 8, { 16, 16, 16, 40 }, 1 << 14, 0, 1, 400, 100 },
	{ "two lanes stop, little memory",
	  1,
	  256,
	  5,
	  1,
	  6,
	  { 16, 16, 40, 64 },
	  160,
	  0,
	  2,
	  150,
	  40 },
	{ "one lane stops in each warp",
	  2,
	  256,
	  3,
	  5,
	  5,
	  { 16, 16, 40, 64 },
	  1 << 14,
	  0,
	  2,
	  100,
	  30 },
};

static void explore(const struct plan *plan,
		    bool (*build_)(struct simt_world *world, void *argument),
		    const char *(*check_)(void *argument), bool served)
{
	struct ckit *kit = ckit_create(plan->arena, plan);

	kit->begin = begin;
	kit->refuse_every = plan->refuse_every;
	kit->steps_max = 4000000;
	runs = halts = 0;
	ckit_explore_world(kit, plan->name, build_, CKIT_RACE ? plan->seeds_race : plan->seeds,
			   check_);
	if (served)
		ck_assert_uint_eq(kit->failed, 0);
	ck_assert(runs < 60 || !plan->stoppers || halts > runs / 3);
	ckit_destroy(kit);
	buffers_drop();
}

START_TEST(no_block_is_lost_or_shared)
{
	const struct plan *plan = &plans[_i];

	explore(plan, build, check, plan->arena >= 1 << 14 && !plan->refuse_every);
}
END_TEST

START_TEST(concurrent_streams_share_buffers)
{
	static const struct plan plan = { "streams",          2,       256, 2, 2,   6,
					  { 16, 40, 40, 64 }, 1 << 14, 0,   0, 200, 50 };

	explore(&plan, build_streams, check_streams, true);
}
END_TEST

/* ---- concurrent drains --------------------------------------------------------------------- */

/* The buffers hold as many blocks as the plan has rounds, in each FIFO of their classes. */
static void begin_cached(struct ckit *kit)
{
	const struct plan *plan = kit->plan;
	uint32_t i, class_;
	char *block;

	begin(kit);
	for (i = 0; i < plan->rounds; i++) {
		class_ = mam_class_of(plan->bytes[i % 4]);
		block = mam_base_alloc(ckit_base(kit), mam_class_bytes(class_));
		MAM_KASSERT(mam_fifo_put(
			mam_buffers_at(buffers, (class_ - 1) * plan->count + i / 4 % plan->count),
			(uint32_t)((uintptr_t)block - (uintptr_t)kit->arena) / 16));
	}
	MAM_KASSERT(buffers_cached(0) == plan->rounds);
}

static MAM_KERNEL(share)
{
	(void)mam_atomic_add64(&drained, mam_buffers_drain(buffers, ckit_base(argument)),
			       MAM_RELAXED, MAM_AT_DEVICE);
}

static const char *check_share(void *argument)
{
	const struct ckit *kit = argument;
	const struct plan *plan = kit->plan;

	if (drained != plan->rounds)
		return "the drains' results do not add up to the cached blocks";
	return check(argument);
}

static const struct plan shares[] = {
	/* name, count, blocks, grid, block, lying, bytes, arena, -, -, seeds */
	{ "drained by one lane", 4, 256, 1, 1, 40, { 16, 40, 100, 200 }, 1 << 14, 0, 0, 3, 3 },
	{ "drained by two lanes", 1, 256, 2, 1, 40, { 16, 16, 16, 8192 }, 1 << 17, 0, 0, 60, 20 },
	{ "drained by warps", 2, 256, 2, 36, 40, { 16, 40, 100, 8192 }, 1 << 17, 0, 0, 20, 5 },
};

START_TEST(concurrent_drains_count_each_block_once)
{
	const struct plan *plan = &shares[_i];
	struct ckit *kit = ckit_create(plan->arena, plan);

	kit->begin = begin_cached;
	ckit_explore(kit, plan->name, share, plan->grid, plan->block,
		     CKIT_RACE ? plan->seeds_race : plan->seeds, check_share);
	ckit_destroy(kit);
	buffers_drop();
}
END_TEST

/*
 * If lanes drain concurrently, each FIFO gets one or two turns, and each lane has one turn without
 * effect.
 */
START_TEST(concurrent_drains_share_turns)
{
	const struct plan *plan = &shares[2];
	struct simt_config config = { .policy = SIMT_BY_LANE };
	struct ckit *kit = ckit_create(plan->arena, plan);
	struct simt_result result;

	kit->begin = begin_cached;
	for (config.seed = 1; config.seed <= 5; config.seed++) {
		ckit_begin(kit);
		simt_set_shape(&config, config.seed);
		ck_assert_msg(simt_launch(&config, share, plan->grid, plan->block, kit, &result) ==
				      SIMT_FINE,
			      "%s", result.text);
		ck_assert_ptr_null(check_share(kit));
		ck_assert_uint_le(buffers->turn,
				  2 * MAM_CLASSES * plan->count + plan->grid * plan->block);
	}
	ckit_destroy(kit);
	buffers_drop();
}
END_TEST

/* ---- two classes --------------------------------------------------------------------------- */

/* How often rivals for one FIFO may lose: test_buffers_tries.c. */
static MAM_KERNEL(rival)
{
	struct ckit *kit = argument;
	size_t bytes = ((const struct plan *)kit->plan)->bytes[0];
	void *part;

	part = mam_buffers_alloc(buffers, ckit_base(kit), bytes);
	ckit_own(kit, part, bytes);
	mam_syncthreads();
	ckit_disown(kit, part);
	MAM_KASSERT(mam_buffers_free(buffers, ckit_base(kit), part, bytes));
}

static const char *check_rivals(void *argument)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;

	if (buffers_cached(mam_class_of(plan->bytes[1])) != plan->rounds / 2)
		return "a block of another class was allocated";
	(void)mam_buffers_drain(buffers, ckit_base(kit));
	return check(argument);
}

/* Every other block is in the next class. */
START_TEST(concurrent_classes_do_not_mix)
{
	static const struct plan plan = { "rivals at two FIFOs", 2,       256, 1, 6,   12,
					  { 40, 60, 40, 60 },    1 << 12, 0,   0, 300, 80 };
	struct ckit *kit = ckit_create(plan.arena, &plan);

	kit->begin = begin_cached;
	ckit_explore(kit, plan.name, rival, plan.grid, plan.block,
		     CKIT_RACE ? plan.seeds_race : plan.seeds, check_rivals);
	ckit_destroy(kit);
	buffers_drop();
}
END_TEST

/* ---- memory in buffers never causes NULL ----------------------------------------------------- */

/*
 * A base that counts bytes, so only the number of freed bytes matters, not their addresses. All its
 * memory is in buffers, in small blocks. Lanes request larger blocks, and all of these requests can
 * be served once all small blocks were freed to the base, by whichever lanes.
 */
static struct {
	size_t used, max;
} budget;

STOP_UNSEEN bool budget_reserve(size_t bytes)
{
	if (budget.used + bytes > budget.max)
		return false;
	budget.used += bytes;
	return true;
}

STOP_UNSEEN size_t budget_bytes(const struct ckit *kit, const unsigned char *block)
{
	return (size_t)kit->extent[(block - kit->arena) / 16] * 16;
}

STOP_UNSEEN void budget_unreserve(size_t bytes)
{
	budget.used -= bytes;
}

static void *budget_alloc(void *heap, size_t bytes)
{
	bytes = (bytes + 15) / 16 * 16;
	return budget_reserve(bytes) ? ckit_base_alloc(heap, bytes) : NULL;
}

static bool budget_free(void *heap, void *block)
{
	size_t bytes = budget_bytes(heap, block);
	bool done;

	/* The call takes time, while other lanes search for the block it moves. */
	mam_nanosleep(below(500));
	done = ckit_base_free(heap, block);
	budget_unreserve(bytes);
	return done;
}

static struct mam_kbase budget_base(struct ckit *kit)
{
	struct mam_kbase base = { budget_alloc, budget_free, kit, 0 };

	return base;
}

/* The plan's arena is the base's total, in as many blocks as the plan has rounds. */
static void begin_full(struct ckit *kit)
{
	const struct plan *plan = kit->plan;
	size_t bytes = plan->arena / plan->rounds;
	uint32_t i;
	void *block[64];

	begin(kit);
	budget.used = 0;
	budget.max = plan->arena;
	for (i = 0; i < plan->rounds; i++)
		block[i] = mam_base_alloc(budget_base(kit), bytes);
	for (i = 0; i < plan->rounds; i++)
		MAM_KASSERT(mam_buffers_free(buffers, budget_base(kit), block[i], bytes));
	MAM_KASSERT(buffers_cached(0) == plan->rounds && budget.used == budget.max);
}

static MAM_KERNEL(want)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t me = mam_block() * simt_block_threads() + simt_thread();
	size_t bytes = plan->bytes[me % 4];
	void *part = mam_buffers_alloc(buffers, budget_base(kit), bytes);

	if (!part) {
		ckit_fail(kit);
		return;
	}
	ckit_own(kit, part, bytes);
	ckit_keep(kit, me * 4 + me % 4, part);
}

static bool build_want(struct simt_world *world, void *argument)
{
	const struct plan *plan = ((struct ckit *)argument)->plan;

	return simt_world_launch(world, 1, want, plan->grid, plan->block, argument) &&
	       simt_world_launch(world, 1, drain, 1, 2, argument);
}

static const char *check_want(void *argument)
{
	const struct ckit *kit = argument;

	return kit->failed ? "a request failed although memory was in buffers" : check(argument);
}

static const struct plan wants[] = {
	/* name, count, blocks, grid, block, lying, bytes, all bytes, -, -, seeds */
	{ "half of it for one lane", 1, 256, 1, 1, 8, { 64, 0, 0, 0 }, 128, 0, 0, 3, 3 },
	{ "all of it for two lanes", 1, 256, 2, 1, 8, { 64, 64, 0, 0 }, 128, 0, 0, 500, 100 },
	{ "all of it for two lanes, one large",
	  2,
	  256,
	  2,
	  1,
	  20,
	  { 1024, 9216, 0, 0 },
	  10240,
	  0,
	  0,
	  200,
	  50 },
	{ "all of it for four lanes", 2, 256, 4, 1, 8, { 32, 32, 32, 32 }, 128, 0, 0, 300, 80 },
	{ "all of it for a warp's lanes", 1, 256, 1, 4, 8, { 32, 32, 32, 32 }, 128, 0, 0, 300, 80 },
	{ "some of the same class", 1, 256, 4, 1, 8, { 16, 32, 64, 16 }, 128, 0, 0, 300, 80 },
};

START_TEST(cached_memory_never_causes_null)
{
	const struct plan *plan = &wants[_i];
	struct ckit *kit = ckit_create(1 << 15, plan);

	kit->begin = begin_full;
	kit->steps_max = 4000000;
	ckit_explore_world(kit, plan->name, build_want, CKIT_RACE ? plan->seeds_race : plan->seeds,
			   check_want);
	ckit_destroy(kit);
	buffers_drop();
}
END_TEST

/* ---- time until a request fails ------------------------------------------------------------ */

static uint64_t waited;

static MAM_KERNEL(refused)
{
	uint64_t since = mam_clock();

	MAM_KASSERT(!mam_buffers_alloc(buffers, ckit_base(argument), 40));
	waited = mam_clock() - since;
}

/*
 * A request does not wait if no lane moves a block; if a lane has stopped, it waits for a fixed
 * time only.
 */
START_TEST(wait_for_moving_lanes_is_bounded)
{
	static const struct plan plan = { "patience", 1, 256, 1, 1, 0, { 0 }, 1 << 12, 0, 0, 0, 0 };
	struct simt_config config = { .seed = 1 };
	struct ckit *kit = ckit_create(plan.arena, &plan);
	struct simt_result result;

	kit->begin = begin;
	kit->max_bytes = 1;
	for (config.policy = SIMT_BY_LANE; config.policy < SIMT_POLICIES; config.policy++) {
		ckit_begin(kit);
		buffers->moving = (uint32_t)_i;
		simt_set_shape(&config, config.policy);
		ck_assert_msg(simt_launch(&config, refused, 1, 1, kit, &result) == SIMT_FINE, "%s",
			      result.text);
		ck_assert_uint_eq(kit->refusals, 2);
		if (_i)
			ck_assert_uint_ge(waited, MAM_BUFFERS_PATIENCE * 100);
		else
			ck_assert_uint_lt(waited, MAM_BUFFERS_PATIENCE * 10);
	}
	ckit_destroy(kit);
	buffers_drop();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("concurrent buffers");

	tcase_add_loop_test(tcase, no_block_is_lost_or_shared, 0, sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, concurrent_streams_share_buffers);
	tcase_add_loop_test(tcase, concurrent_drains_count_each_block_once, 0,
			    sizeof(shares) / sizeof(shares[0]));
	tcase_add_test(tcase, concurrent_drains_share_turns);
	tcase_add_test(tcase, concurrent_classes_do_not_mix);
	tcase_add_loop_test(tcase, wait_for_moving_lanes_is_bounded, 0, 2);
	tcase_add_loop_test(tcase, cached_memory_never_causes_null, 0,
			    sizeof(wants) / sizeof(wants[0]));
	return ckit_run(tcase, "coalesce/concurrent buffers");
}
