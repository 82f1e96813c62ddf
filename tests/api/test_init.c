/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fork: no lock is copied while another thread holds it, and the child recognizes the pools that it
 * lost.
 *
 * Locks are checked: this program is linked with the library's debug build, which aborts on a wrong
 * order.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mam/paper.h>
#include <mam/stats.h>

#include "api/init.h"
#include "api/prompt.h"
#include "pool/pool.h"
#include "stub.h"
#include "suite.h"

#define THREADS 4
#define FORKS 40

static struct mam_pool *host_pool, *device_pool;
static struct stub stub;
static _Atomic bool stop;

static void make_pools(void)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	setenv("MAM_SOURCE", "host", 1);
	attr.source = "host";
	ck_assert_int_eq(mam_pool_create(&attr, &host_pool), MAM_OK);
	stub_init(&stub);
	attr.free_policy = MAM_FREE_STREAM;
	ck_assert_int_eq(mam_pool_create_on(&stub.source, &attr, &device_pool), MAM_OK);
}

/* The child's exit status: 0, or the line of the failed check. */
#define MUST(condition)                            \
	do {                                       \
		if (!(condition))                  \
			_exit(__LINE__ % 255 + 1); \
	} while (0)

static void assert_child_succeeded(pid_t child)
{
	int status;

	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		      "the child exited with status %#x", status);
}

static bool is_intact(struct mam_pool *pool)
{
	return mam_pool_check(pool, NULL, 0) == MAM_OK;
}

static void use(struct mam_pool *pool)
{
	void *blocks[100];

	for (size_t i = 0; i < COUNT_OF(blocks); i++)
		MUST(mam_malloc(pool, 100 * i + 1, &blocks[i]) == MAM_OK);
	for (size_t i = 0; i < COUNT_OF(blocks); i++)
		MUST(mam_free(NULL, blocks[i]) == MAM_OK);
}

static void *keep_busy(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop)) {
		struct mam_pool *const pools[] = { host_pool, device_pool, NULL };
		struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
		struct mam_pool *brief;
		void *block;

		for (size_t i = 0; i < COUNT_OF(pools); i++)
			if (mam_malloc(pools[i], 4096, &block) != MAM_OK ||
			    mam_free(NULL, block) != MAM_OK)
				abort();
		if (MAM_CudaMalloc(&block, 4096) != 0 || MAM_CudaFree(block) != 0)
			abort();
		attr.source = "host";
		if (mam_pool_create(&attr, &brief) != MAM_OK || mam_pool_destroy(brief) != MAM_OK)
			abort();
	}
	return NULL;
}

START_TEST(child_of_many_threads_uses_host_pools)
{
	pthread_t threads[THREADS];

	make_pools();
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, keep_busy, NULL), 0);
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();

		if (child == 0) {
			void *block;

			use(host_pool);
			use(NULL);
			MUST(MAM_CudaMalloc(&block, 1) == 0 && MAM_CudaFree(block) == 0);
			MUST(is_intact(host_pool));
			_exit(0);
		}
		assert_child_succeeded(child);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert(is_intact(host_pool));
	ck_assert(is_intact(device_pool));
}
END_TEST

START_TEST(child_loses_its_device_pools)
{
	void *host_block, *device_block, *block;
	pid_t child;

	make_pools();
	ck_assert_int_eq(mam_malloc(host_pool, 512, &host_block), MAM_OK);
	ck_assert_int_eq(mam_malloc(device_pool, 512, &device_block), MAM_OK);
	child = fork();
	if (child == 0) {
		MUST(mam_malloc(device_pool, 512, &block) == MAM_ERROR_DESTROYED);
		MUST(mam_free(device_pool, device_block) == MAM_ERROR_DESTROYED);
		MUST(mam_pool_destroy(device_pool) == MAM_ERROR_DESTROYED);
		MUST(mam_owner(device_block, NULL, NULL) == MAM_ERROR_NOT_OWNED);
		MUST(stub.shrinks == 0); /* no call to a driver that the child does not have */
		MUST(mam_free(NULL, host_block) == MAM_OK);
		_exit(0);
	}
	assert_child_succeeded(child);
	/* The parent is unaffected. */
	ck_assert_int_eq(mam_free(device_pool, device_block), MAM_OK);
	ck_assert_int_eq(mam_free(host_pool, host_block), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(device_pool), MAM_OK);
	ck_assert_uint_eq(stub.shrinks, 1);
}
END_TEST

/*
 * In a child of its own: creates a pool and forks before the constructors of libmam have run, as the
 * constructor of a program may that is linked to libmam.a. Check's assertions cannot be used yet.
 */
static int early_status = -1;

__attribute__((constructor(101))) static void fork_early(void)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	pid_t parent = fork(), child;
	void *block;

	if (parent != 0) {
		(void)waitpid(parent, &early_status, 0);
		return;
	}
	stub_init(&stub);
	attr.free_policy = MAM_FREE_STREAM;
	MUST(mam_pool_create_on(&stub.source, &attr, &device_pool) == MAM_OK);
	child = fork();
	if (child == 0) {
		MUST(mam_malloc(device_pool, 512, &block) == MAM_ERROR_DESTROYED);
		_exit(0);
	}
	MUST(waitpid(child, &early_status, 0) == child && early_status == 0);
	_exit(0);
}

START_TEST(child_of_constructor_loses_its_device_pools)
{
	ck_assert_int_eq(early_status, 0);
}
END_TEST

START_TEST(child_can_fork_again)
{
	pid_t child;

	make_pools();
	child = fork();
	if (child == 0) {
		pid_t grandchild = fork();
		int status;

		if (grandchild == 0) {
			use(host_pool);
			_exit(0);
		}
		MUST(waitpid(grandchild, &status, 0) == grandchild && status == 0);
		use(host_pool);
		_exit(0);
	}
	assert_child_succeeded(child);
}
END_TEST

START_TEST(paper_environment_on_host_memory_survives_fork)
{
	void *block;
	pid_t child;

	make_pools();
	ck_assert_int_eq(MAM_CudaMalloc(&block, 512), 0);
	child = fork();
	if (child == 0) {
		MUST(MAM_CudaFree(block) == 0);
		MUST(MAM_Destroy() == 401); /* that was the last block */
		_exit(0);
	}
	assert_child_succeeded(child);
	ck_assert_int_eq(MAM_CudaFree(block), 0);
}
END_TEST

static _Atomic int step; /* 1: the lock is held; 2: release it */

/* Like a thread that trims a pool of the device, and waits there for a kernel. */
static void *hold_grow_lock(void *unused)
{
	(void)unused;
	mam_lock_take(&device_pool->grow_lock);
	atomic_store(&step, 1);
	while (atomic_load(&step) < 2)
		usleep(200);
	mam_lock_release(&device_pool->grow_lock);
	return NULL;
}

static void *fork_meanwhile(void *unused)
{
	pid_t child = fork();

	(void)unused;
	if (child == 0)
		_exit(0);
	assert_child_succeeded(child);
	return NULL;
}

/* A thread that a kernel waits for is served by other pools while a fork waits for that thread. */
START_TEST(fork_that_waits_for_one_pool_blocks_no_other)
{
	pthread_t holder, forker;
	void *block = NULL;

	make_pools();
	ck_assert_int_eq(mam_malloc(host_pool, 2 << 20, &block), MAM_OK);
	ck_assert_int_eq(mam_free(host_pool, block), MAM_OK);
	ck_assert_int_eq(pthread_create(&holder, NULL, hold_grow_lock, NULL), 0);
	while (atomic_load(&step) < 1)
		usleep(200);
	ck_assert_int_eq(pthread_create(&forker, NULL, fork_meanwhile, NULL), 0);
	/* Once the fork has the first pool's grow lock, it waits for the second one's. */
	while (mam_lock_take_within(&host_pool->grow_lock, 0)) {
		mam_lock_release(&host_pool->grow_lock);
		usleep(200);
	}
	usleep(20000);
	ck_assert_int_eq(mam_prompt_alloc(host_pool, 2 << 20, 0, 1000000, &block), MAM_OK);
	ck_assert_int_eq(mam_prompt_free(host_pool, block), MAM_OK);
	ck_assert_int_eq(mam_prompt_alloc(host_pool, (size_t)1 << 30, 0, 1000000, &block),
			 MAM_ERROR_WOULD_WAIT);
	atomic_store(&step, 2);
	pthread_join(holder, NULL);
	pthread_join(forker, NULL);
	ck_assert(is_intact(host_pool));
}
END_TEST

static unsigned prepares, parents, children;

static void prepare_above(void)
{
	/* By now the fork holds all locks of mam. */
	ck_assert(!mam_lock_take_within(&device_pool->grow_lock, 0));
	ck_assert(!mam_lock_take_within(&host_pool->lock, 0));
	ck_assert_uint_eq(parents, prepares);
	prepares++;
}

static void parent_above(void)
{
	ck_assert(!mam_lock_take_within(&device_pool->grow_lock, 0)); /* still held */
	parents++;
}

static void child_above(void)
{
	children++;
}

START_TEST(layer_above_prepares_last_and_resumes_first)
{
	static const struct mam_above above = { prepare_above, parent_above, child_above };
	pid_t child;

	make_pools();
	mam_init_above(&above);
	for (int i = 0; i < 2; i++) {
		child = fork();
		if (child == 0) {
			MUST(children == 1 && parents == prepares - 1);
			MUST(is_intact(host_pool));
			_exit(0);
		}
		assert_child_succeeded(child);
	}
	ck_assert_uint_eq(prepares, 2);
	ck_assert_uint_eq(parents, 2);
	ck_assert_uint_eq(children, 0);
	ck_assert(is_intact(host_pool));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("api/init");
	TCase *tests = suite_case(suite, "fork");

	tcase_add_test(tests, child_of_many_threads_uses_host_pools);
	tcase_add_test(tests, child_loses_its_device_pools);
	tcase_add_test(tests, child_of_constructor_loses_its_device_pools);
	tcase_add_test(tests, child_can_fork_again);
	tcase_add_test(tests, paper_environment_on_host_memory_survives_fork);
	tcase_add_test(tests, fork_that_waits_for_one_pool_blocks_no_other);
	tcase_add_test(tests, layer_above_prepares_last_and_resumes_first);
	return suite_run(suite);
}
