/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics page and fork: the child has the counters of the moment of the fork, as the rest
 * of its memory, although its parent continues to write the shared page.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mam/mam.h>

#include "statpages.h"

#define THREADS 4
#define FORKS 10
#define CALLS 100 /* of each thread, between a fork and the child's first access */

/* Calls of one thread; in private memory, so that a child has those before the fork. */
struct caller {
	struct mam_pool *pool;
	_Atomic uint64_t calls; /* completed pairs */
	pthread_t thread;
};

static struct caller callers[THREADS];
static atomic_bool over;
static _Atomic uint64_t *shared_calls; /* of all processes, to wait for progress of the parent */

/* Without assertions: Check has a lock, which a child would find taken. */
static void *call_until_over(void *argument)
{
	struct caller *caller = argument;
	void *block;

	for (unsigned int i = 0; !atomic_load(&over); i++) {
		size_t bytes = i % 64 == 0 ? 2 * MIB : 100 + i % 1000;

		if (mam_malloc(caller->pool, bytes, &block) != MAM_OK ||
		    mam_free(caller->pool, block) != MAM_OK)
			abort();
		atomic_store(&caller->calls, atomic_load(&caller->calls) + 1);
		atomic_fetch_add(shared_calls, 1);
	}
	return NULL;
}

static uint64_t sum_calls(void)
{
	uint64_t calls = 0;

	for (int i = 0; i < THREADS; i++)
		calls += atomic_load(&callers[i].calls);
	return calls;
}

static void await_calls(void)
{
	uint64_t until = atomic_load(shared_calls) + (uint64_t)THREADS * CALLS;

	while (atomic_load(shared_calls) < until)
		usleep(100);
}

static void start(struct mam_pool *pool)
{
	atomic_store(&over, false);
	for (int i = 0; i < THREADS; i++) {
		callers[i].pool = pool;
		atomic_store(&callers[i].calls, 0);
		ck_assert_int_eq(
			pthread_create(&callers[i].thread, NULL, call_until_over, &callers[i]), 0);
	}
#ifdef __SANITIZE_THREAD__ /* its pthread_once() waits in a child for a thread of the parent */
	for (int i = 0; i < THREADS; i++)
		while (atomic_load(&callers[i].calls) == 0)
			usleep(100);
#endif
}

static void stop(void)
{
	atomic_store(&over, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(callers[i].thread, NULL);
}

static void set_up_calls(void)
{
	set_up();
	shared_calls = mmap(NULL, sizeof(*shared_calls), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared_calls, MAP_FAILED);
}

static bool is_late; /* the child starts after its parent made more calls */

/* Registered before mam's handlers, and so called before them. */
static void begin_late(void)
{
	if (is_late)
		await_calls();
}

static void check_counters(struct mam_pool *pool)
{
	uint64_t calls = sum_calls();
	struct mam_statpage_figures figures;

	mam_statpage_sum(mam_statpage_own(), -1, &figures);
	ck_assert_uint_ge(figures.frees, calls);
	ck_assert_uint_le(figures.allocs, calls + THREADS);
	ck_assert_uint_eq(figures.allocs - figures.frees, figures.live_blocks);
	check_equal(&figures, pool);
	ck_assert_int_eq(mam_pool_check(pool, NULL, 0), MAM_OK);
}

START_TEST(child_has_counters_of_fork)
{
	struct mam_pool *pool;

	ck_assert_int_eq(pthread_atfork(NULL, NULL, begin_late), 0);
	pool = make(_i == 0 ? MAM_CACHE_OFF : MAM_CACHE_ON);
	start(pool);
	is_late = true;
	for (int i = 0; i < FORKS; i++)
		in_child(check_counters, pool);
	stop();
	check_counters(pool);
}
END_TEST

static atomic_bool is_replacing;

/*
 * Called by the library when it has written the counters to the file, before it maps that. A thread
 * that is not stopped makes calls meanwhile.
 */
ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset)
{
	ssize_t written = syscall(SYS_pwrite64, file, data, bytes, offset);

	if (atomic_load(&is_replacing))
		usleep(20000);
	return written;
}

/* The page that the child creates replaces the counters that its threads write. */
static void create_page(struct mam_pool *pool)
{
	struct mam_statpage_figures figures;
	struct mam_stats stats = { .size = sizeof(stats) };
	uint64_t before;

	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	before = stats.allocs;
	start(pool);
	await_calls();
	atomic_store(&is_replacing, true);
	make(MAM_CACHE_ON);
	await_calls();
	ck_assert_int_eq(count_pages(getpid(), NULL), 1);
	stop();
	figures = figures_of(getpid());
	ck_assert_uint_eq(figures.pools, 2);
	ck_assert_uint_eq(figures.allocs, before + sum_calls());
	ck_assert_uint_eq(figures.live_blocks, 0);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.allocs, before + sum_calls());
	ck_assert_int_eq(mam_pool_check(pool, NULL, 0), MAM_OK);
}

START_TEST(child_creates_page_while_its_threads_run)
{
	struct mam_pool *pool = make(_i == 0 ? MAM_CACHE_OFF : MAM_CACHE_ON);
	void *block;

	ck_assert_int_eq(mam_malloc(pool, KIB, &block), MAM_OK);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	for (int i = 0; i < FORKS; i++)
		in_child(create_page, pool);
	ck_assert_int_eq(count_pages(0, NULL), 1);
}
END_TEST

static void use_inherited(struct mam_pool *pool)
{
	void *block;

	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(mam_malloc(pool, i % 2 == 0 ? KIB : 2 * MIB, &block), MAM_OK);
		ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	}
	ck_assert_int_eq(count_pages(getpid(), NULL), 0);
	make(MAM_CACHE_ON);
	ck_assert_int_eq(count_pages(getpid(), NULL), 1);
	ck_assert_uint_eq(figures_of(getpid()).pools, 2);
	ck_assert_uint_eq(figures_of(getpid()).allocs, 101);
}

START_TEST(child_of_fork_does_not_write_page_of_parent)
{
	struct mam_pool *pool = make(MAM_CACHE_ON);
	struct mam_statpage_figures figures;
	void *block;

	ck_assert_int_eq(mam_malloc(pool, KIB, &block), MAM_OK);
	in_child(use_inherited, pool);
	figures = figures_of(getpid());
	ck_assert_uint_eq(figures.allocs, 1);
	check_equal(&figures, pool);
	ck_assert_int_eq(count_pages(0, NULL), 1); /* the child's was removed when it exited */
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
}
END_TEST

static void use_inherited_again(struct mam_pool *pool)
{
	void *block;

	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(mam_malloc(pool, i % 2 == 0 ? KIB : 2 * MIB, &block), MAM_OK);
		ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	}
	ck_assert_int_eq(mam_pool_check(pool, NULL, 0), MAM_OK);
}

static void fork_again(struct mam_pool *pool)
{
	void *block;

	ck_assert_int_eq(mam_malloc(pool, KIB, &block), MAM_OK);
	in_child(use_inherited_again, pool);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	make(MAM_CACHE_ON);
	ck_assert_uint_eq(figures_of(getpid()).allocs, 2);
	in_child(use_inherited_again, pool);
	ck_assert_uint_eq(figures_of(getpid()).allocs, 2);
}

/* Before and after the child has a file. */
START_TEST(children_of_children_have_their_own_counters)
{
	struct mam_pool *pool = make(MAM_CACHE_ON);
	void *block;

	ck_assert_int_eq(mam_malloc(pool, KIB, &block), MAM_OK);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	in_child(fork_again, pool);
	ck_assert_uint_eq(figures_of(getpid()).allocs, 1);
	ck_assert_int_eq(count_pages(0, NULL), 1);
}
END_TEST

static void make_second(struct mam_pool *pool)
{
	struct mam_statpage_figures figures;
	struct mam_stats stats = { .size = sizeof(stats) };

	use_inherited_again(pool);
	make(MAM_CACHE_ON);
	use_inherited_again(pool);
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	mam_statpage_sum(mam_statpage_own(), -1, &figures);
	ck_assert_uint_eq(figures.allocs, stats.allocs);
	ck_assert_int_eq(count_pages(0, NULL), 0);
}

/* If the parent has no file, no child has one: pointers into its counters stay valid. */
START_TEST(child_without_a_page_has_counters)
{
	struct mam_statpage_figures figures;
	struct mam_pool *pool;

	setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
	pool = make(MAM_CACHE_ON);
	setenv("XDG_RUNTIME_DIR", folder, 1);
	start(pool);
	for (int i = 0; i < FORKS; i++)
		in_child(check_counters, pool);
	in_child(make_second, pool);
	stop();
	mam_statpage_sum(mam_statpage_own(), -1, &figures);
	check_equal(&figures, pool);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("statpage_fork");
	TCase *tests = suite_case(suite, "statpage_fork");

	tcase_add_checked_fixture(tests, set_up_calls, tear_down);
	tcase_add_loop_test(tests, child_has_counters_of_fork, 0, 2);
	tcase_add_loop_test(tests, child_creates_page_while_its_threads_run, 0, 2);
	tcase_add_test(tests, child_of_fork_does_not_write_page_of_parent);
	tcase_add_test(tests, children_of_children_have_their_own_counters);
	tcase_add_test(tests, child_without_a_page_has_counters);
	return suite_run(suite);
}
