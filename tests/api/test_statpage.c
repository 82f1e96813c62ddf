/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics page: its figures are those of mam_pool_stats(); after SIGKILL they include every
 * completed call of each thread; exit, folders that cannot be used, and any contents.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mam/pools.h>
#include <mam/statpage.h>
#include <mam/stats.h>

#include "statpages.h"

#define THREADS 16
#define KEPT 32
#define KILLS 20
#define DEAD_MAX 32 /* src/base/statpage.c */

/* One call: small and large blocks, retired ones, failures. */
static void call_once(struct mam_pool *pool, void **blocks, int i)
{
	static uint32_t random = 1;
	size_t reclaimed, bytes, most = i % 7 == 0 ? 3 * MIB : 8 * KIB;
	void **block, *none;
	uint64_t ticket;

	random = random * 1664525 + 1013904223;
	block = &blocks[random >> 16 & (KEPT - 1)];
	if (i % 64 == 0)
		ck_assert_int_eq(mam_pool_reclaim(pool, UINT64_MAX, &reclaimed), MAM_OK);
	if (i % 500 == 0)
		ck_assert_int_ne(mam_malloc(pool, SIZE_MAX / 2, &none), MAM_OK);
	if (*block == NULL) {
		ck_assert_int_eq(mam_malloc(pool, 1 + (random >> 8) % most, block), MAM_OK);
		return;
	}
	ck_assert_int_eq(i % 11 != 0 ? mam_free(pool, *block)
				     : mam_pool_retire_shared(pool, *block, &ticket, &bytes),
			 MAM_OK);
	*block = NULL;
}

/* The page is read first: mam_pool_stats() flushes the thread's tally. */
START_TEST(page_has_figures_of_pool)
{
	struct mam_pool *pool = make(_i == 0 ? MAM_CACHE_OFF : MAM_CACHE_ON);
	struct mam_statpage_figures figures;
	void *blocks[KEPT] = { NULL };

	for (int i = 0; i < 6000; i++) {
		call_once(pool, blocks, i);
		if (i % 37 != 0)
			continue;
		figures = figures_of(getpid());
		check_equal(&figures, pool);
	}
	/* Each flush begins a new generation. */
	ck_assert_int_eq(atomic_load(&mam_statpage_own()->tallies[0].generation) > 100, _i == 1);
}
END_TEST

START_TEST(page_has_peaks_while_a_scope_is_open)
{
	struct mam_pool *pool = make(MAM_CACHE_ON);
	struct mam_statpage_figures figures;
	void *block;

	ck_assert_int_eq(mam_malloc(pool, 3 * MIB, &block), MAM_OK);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	ck_assert_int_eq(mam_stats_push(pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, MIB, &block), MAM_OK);
	figures = figures_of(getpid());
	check_equal(&figures, pool);
	ck_assert_uint_eq(figures.peak_live_bytes, 3 * MIB);
}
END_TEST

/* More pools than the page has places: the sums stay. */
START_TEST(ended_pools_are_counted)
{
	struct mam_statpage_figures figures;
	struct mam_pool *pool;
	void *block;

	for (int i = 0; i < 3 * MAM_STATPAGE_POOLS; i++) {
		pool = make(MAM_CACHE_ON);
		ck_assert_int_eq(mam_malloc(pool, MIB, &block), MAM_OK);
		ck_assert_int_eq(mam_free(pool, block), MAM_OK);
		ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	}
	figures = figures_of(getpid());
	ck_assert_uint_eq(figures.allocs, 3 * MAM_STATPAGE_POOLS);
	ck_assert_uint_eq(figures.frees, 3 * MAM_STATPAGE_POOLS);
	ck_assert_uint_eq(figures.peak_live_bytes, 3 * MAM_STATPAGE_POOLS * MIB);
	ck_assert_uint_eq(figures.reserved_bytes, 0);
	ck_assert_uint_eq(figures.live_blocks, 0);
}
END_TEST

/* More threads than the page has tallies: those without one are counted when they flush. */
struct late {
	struct mam_pool *pool;
	pthread_barrier_t *barrier;
};

static void *use_and_stay(void *argument)
{
	struct late *late = argument;
	void *block;

	ck_assert_int_eq(mam_malloc(late->pool, KIB, &block), MAM_OK);
	ck_assert_int_eq(mam_free(late->pool, block), MAM_OK);
	pthread_barrier_wait(late->barrier);
	return NULL;
}

START_TEST(threads_without_a_tally_are_counted_later)
{
	enum { COUNT = MAM_STATPAGE_TALLIES + 20 };
	static pthread_t threads[COUNT];
	struct mam_statpage_figures figures;
	pthread_barrier_t barrier;
	struct late late = { make(MAM_CACHE_ON), &barrier };

	pthread_barrier_init(&barrier, NULL, COUNT);
	for (int i = 0; i < COUNT; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use_and_stay, &late), 0);
	for (int i = 0; i < COUNT; i++)
		pthread_join(threads[i], NULL);
	figures = figures_of(getpid());
	ck_assert_uint_eq(figures.allocs, COUNT);
	check_equal(&figures, late.pool);
	for (int i = 0; i < MAM_STATPAGE_TALLIES; i++)
		ck_assert_uint_eq(map_page(getpid())->tallies[i].pool, 0);
}
END_TEST

/* ---- killed ---- */

/* Calls of one thread of the killed process; in memory shared with the test. */
struct done {
	_Atomic uint64_t allocs, frees, live_bytes; /* of completed calls */
	_Atomic uint64_t giving, taking;            /* bytes of the call in progress */
} __attribute__((aligned(64)));

struct work {
	struct mam_pool *pool;
	struct done *done;
	uint32_t random;
};

static void *work_forever(void *argument)
{
	struct work *work = argument;
	struct done *done = work->done;
	size_t sizes[KEPT] = { 0 };
	void *blocks[KEPT] = { NULL };

	for (;;) {
		unsigned int at;
		size_t bytes;

		work->random = work->random * 1664525 + 1013904223;
		at = work->random >> 24 & (KEPT - 1);
		bytes = sizes[at];
		if (bytes != 0) {
			atomic_store(&done->giving, bytes);
			if (mam_free(work->pool, blocks[at]) != MAM_OK)
				abort();
			sizes[at] = 0;
			atomic_fetch_add(&done->frees, 1);
			atomic_fetch_sub(&done->live_bytes, bytes);
			atomic_store(&done->giving, 0);
			continue;
		}
		bytes = 1 + (work->random >> 8) % (work->random >> 29 == 0 ? MIB : 4 * KIB);
		atomic_store(&done->taking, bytes);
		if (mam_malloc(work->pool, bytes, &blocks[at]) != MAM_OK)
			abort();
		sizes[at] = bytes;
		atomic_fetch_add(&done->allocs, 1);
		atomic_fetch_add(&done->live_bytes, bytes);
		atomic_store(&done->taking, 0);
	}
	return NULL;
}

static void run_until_killed(struct done *done, enum mam_cache_mode cache)
{
	struct mam_pool *pool = make(cache);
	static struct work work[THREADS];
	pthread_t thread;

	/* Check has a handler that ends the whole group, and sanitizers have one, too. */
	signal(SIGINT, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	for (int i = 0; i < THREADS; i++) {
		work[i] = (struct work){ pool, &done[i], (uint32_t)i + 1 };
		if (pthread_create(&thread, NULL, work_forever, &work[i]) != 0)
			_exit(1);
	}
	for (;;)
		pause();
}

static bool all_began(const struct done *done)
{
	for (int i = 0; i < THREADS; i++)
		if (atomic_load(&done[i].allocs) < 100)
			return false;
	return true;
}

static void check_killed(pid_t process, struct done *done)
{
	struct mam_statpage_figures figures = figures_of(process);
	uint64_t allocs = 0, frees = 0, live = 0, giving = 0, taking = 0;

	for (int i = 0; i < THREADS; i++) {
		allocs += atomic_load(&done[i].allocs);
		frees += atomic_load(&done[i].frees);
		live += atomic_load(&done[i].live_bytes);
		giving += atomic_load(&done[i].giving);
		taking += atomic_load(&done[i].taking);
	}
	/* `live_bytes` of one thread may lack a call that is counted, and is in giving or taking. */
	ck_assert_uint_ge(figures.allocs, allocs);
	ck_assert_uint_le(figures.allocs, allocs + THREADS);
	ck_assert_uint_ge(figures.frees, frees);
	ck_assert_uint_le(figures.frees, frees + THREADS);
	ck_assert_int_ge((int64_t)figures.live_bytes, (int64_t)(live - giving - taking));
	ck_assert_int_le((int64_t)figures.live_bytes, (int64_t)(live + giving + taking));
	ck_assert_int_ge((int64_t)figures.live_blocks, (int64_t)(allocs - frees) - THREADS);
	ck_assert_int_le((int64_t)figures.live_blocks, (int64_t)(allocs - frees) + THREADS);
	ck_assert_int_ge((int64_t)figures.reserved_bytes, (int64_t)(live - giving - taking));
}

START_TEST(killed_process_leaves_every_completed_call)
{
	const int signals[] = { SIGKILL, SIGSEGV, SIGINT };
	struct done *done = mmap(NULL, THREADS * sizeof(*done), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	ck_assert_ptr_ne(done, MAP_FAILED);
	for (int i = 0; i < KILLS; i++) {
		memset(done, 0, THREADS * sizeof(*done));
		pid = fork();
		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			run_until_killed(done, i % 4 == 0 ? MAM_CACHE_OFF : MAM_CACHE_ON);
		while (!all_began(done))
			ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
		usleep((useconds_t)(i * 700));
		kill(pid, i < 3 ? signals[i] : SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
		check_killed(pid, done);
	}
	ck_assert_int_eq(count_pages(0, NULL), KILLS);
}
END_TEST

/* ---- readers ---- */

static atomic_bool over;

static void *work_for_a_while(void *argument)
{
	struct mam_pool *pool = argument;
	void *block;

	for (int i = 0; i < 20000; i++) {
		size_t bytes = i % 50 == 0 ? 2 * MIB : 100 + (size_t)i % 1000;

		ck_assert_int_eq(mam_malloc(pool, bytes, &block), MAM_OK);
		ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	}
	return NULL;
}

static void *read_on(void *argument)
{
	const struct mam_statpage *page = argument;
	struct mam_statpage_figures figures;

	while (!atomic_load(&over)) {
		mam_statpage_sum(page, -1, &figures);
		ck_assert_uint_eq(figures.pools, 1);
	}
	return NULL;
}

/* The reader's own mapping: as another process. */
START_TEST(readers_do_not_disturb_writers)
{
	struct mam_pool *pool = make(MAM_CACHE_ON);
	struct mam_statpage_figures figures;
	pthread_t threads[4], reader;

	ck_assert_int_eq(
		pthread_create(&reader, NULL, read_on, (void *)(uintptr_t)map_page(getpid())), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, work_for_a_while, pool), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&over, true);
	pthread_join(reader, NULL);
	figures = figures_of(getpid());
	check_equal(&figures, pool);
	ck_assert_uint_eq(figures.allocs, 4 * 20000);
}
END_TEST

/* A process that was killed between two stores: what a reader must not count twice. */
START_TEST(half_done_changes_are_counted_once)
{
	static struct mam_statpage page;
	struct mam_statpage_figures figures;
	struct mam_statpage_pool *pool = &page.pools[3];

	atomic_store(&pool->state, MAM_STATPAGE_READY);
	atomic_store(&pool->sequence, 6);
	atomic_store(&pool->counts[0].allocs, 100);
	atomic_store(&pool->counts[0].flushed, 8);
	atomic_store(&pool->counts[0].flushed_generation, 5);
	atomic_store(&pool->counts[1].allocs, 77); /* the version that is being written */
	page.tallies[7] = (struct mam_tally){ .allocs = 10, .number = 8, .pool = 4 };
	page.tallies[9] = (struct mam_tally){ .allocs = 1, .number = 10, .pool = 4 };
	page.tallies[11] = (struct mam_tally){ .allocs = 1000, .number = 12, .pool = 5 };
	atomic_store(&page.tallies[7].generation, 5);
	atomic_store(&page.tallies[9].generation, 5);
	mam_statpage_sum(&page, -1, &figures);
	ck_assert_uint_eq(figures.allocs, 101); /* the tally was added to the counts */
	atomic_store(&page.tallies[7].generation, 6);
	mam_statpage_sum(&page, -1, &figures);
	ck_assert_uint_eq(figures.allocs, 111); /* it was cleared, and used again */
	atomic_store(&page.ended[1].allocs, 2000);
	atomic_store(&page.ended[0].allocs, 1);
	mam_statpage_sum(&page, -1, &figures);
	ck_assert_uint_eq(figures.allocs, 112);
	atomic_store(&pool->state, MAM_STATPAGE_ENDED);
	atomic_store(&page.past, 1 | 4 << 1);
	mam_statpage_sum(&page, -1, &figures);
	ck_assert_uint_eq(figures.allocs, 2000); /* the pool is in `ended` already */
}
END_TEST

START_TEST(any_contents_can_be_read)
{
	char *bytes = aligned_alloc(128, sizeof(struct mam_statpage));
	struct mam_statpage *page = (struct mam_statpage *)(void *)bytes;
	struct mam_statpage_figures figures;
	uint32_t random = 1;

	ck_assert_ptr_nonnull(bytes);
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < sizeof(*page); i++) {
			random = random * 1664525 + 1013904223;
			bytes[i] = (char)(round == 0 ? 0xff : random >> 24);
		}
		for (int i = 0; i < MAM_STATPAGE_POOLS; i++)
			atomic_store(&page->pools[i].state, (uint32_t)i % 4);
		for (int i = 0; i < MAM_STATPAGE_TALLIES; i++)
			atomic_store(&page->tallies[i].pool,
				     (uint32_t)i % (MAM_STATPAGE_POOLS + 2));
		atomic_store(&page->past, 1);
		for (int device = 0, pools = 0; device < MAM_STATPAGE_DEVICES; device++) {
			mam_statpage_sum(page, device, &figures);
			pools += (int)figures.pools;
			if (device + 1 == MAM_STATPAGE_DEVICES)
				ck_assert_int_eq(pools, MAM_STATPAGE_POOLS / 2);
		}
		mam_statpage_sum(page, -1, &figures);
		ck_assert_uint_eq(figures.pools, MAM_STATPAGE_POOLS / 2);
		ck_assert(!mam_statpage_is_sound(page, MAM_STATPAGE_BYTES));
		page->magic = MAM_STATPAGE_MAGIC;
		page->bytes = MAM_STATPAGE_BYTES;
		ck_assert(mam_statpage_is_sound(page, MAM_STATPAGE_BYTES));
		ck_assert(!mam_statpage_is_sound(page, MAM_STATPAGE_BYTES - 1));
	}
	free(bytes);
}
END_TEST

/* ---- processes and folders ---- */

static void make_one(struct mam_pool *pool)
{
	void *block;

	pool = make(MAM_CACHE_ON);
	ck_assert_int_eq(mam_malloc(pool, KIB, &block), MAM_OK);
}

START_TEST(exit_removes_page)
{
	in_child(make_one, NULL);
	ck_assert_int_eq(count_pages(0, NULL), 0);
}
END_TEST

START_TEST(old_pages_of_dead_processes_are_removed)
{
	char path[PATH_MAX];
	int file;

	snprintf(path, sizeof(path), "%s/mam", folder);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	for (int i = 0; i < DEAD_MAX + 9; i++) {
		const struct timespec times[2] = { { i, 0 }, { i, 0 } };

		snprintf(path, sizeof(path), "%s/mam/%ld-%d-0", folder, (long)getpid(), i + 1);
		file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		ck_assert_int_ge(file, 0);
		ck_assert_int_eq(futimens(file, times), 0);
		close(file);
	}
	make(MAM_CACHE_ON);
	ck_assert_int_eq(count_pages(0, NULL), DEAD_MAX + 1);
	snprintf(path, sizeof(path), "%s/mam/%ld-9-0", folder, (long)getpid());
	ck_assert_int_ne(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/mam/%ld-10-0", folder, (long)getpid());
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

enum refusal { OTHERS_READ, IS_FILE, IS_LINK, NO_FOLDER, REFUSALS };

static void spoil(enum refusal refusal, const char *pages)
{
	char other[PATH_MAX];

	switch (refusal) {
	case OTHERS_READ:
		ck_assert_int_eq(mkdir(pages, 0755), 0);
		ck_assert_int_eq(chmod(pages, 0755), 0);
		break;
	case IS_FILE: close(open(pages, O_WRONLY | O_CREAT, 0600)); break;
	case IS_LINK: /* even if the folder there is ours */
		snprintf(other, sizeof(other), "%s/other", folder);
		ck_assert_int_eq(mkdir(other, 0700), 0);
		ck_assert_int_eq(symlink(other, pages), 0);
		break;
	default: setenv("XDG_RUNTIME_DIR", "/nonexistent", 1); break;
	}
}

START_TEST(folder_that_cannot_be_used_is_no_error)
{
	struct mam_statpage_figures figures;
	char pages[PATH_MAX];
	struct mam_pool *pool;
	void *blocks[KEPT] = { NULL };

	snprintf(pages, sizeof(pages), "%s/mam", folder);
	spoil((enum refusal)_i, pages);
	pool = make(MAM_CACHE_ON);
	for (int i = 0; i < 1000; i++)
		call_once(pool, blocks, i);
	mam_statpage_sum(mam_statpage_own(), -1, &figures);
	check_equal(&figures, pool);
	ck_assert_int_eq(count_pages(0, NULL), 0);
	unlink(pages);
	snprintf(pages, sizeof(pages), "%s/other", folder);
	rmdir(pages);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("statpage");
	TCase *tests = suite_case(suite, "statpage");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, page_has_figures_of_pool, 0, 2);
	tcase_add_test(tests, page_has_peaks_while_a_scope_is_open);
	tcase_add_test(tests, ended_pools_are_counted);
	tcase_add_test(tests, threads_without_a_tally_are_counted_later);
	tcase_add_test(tests, killed_process_leaves_every_completed_call);
	tcase_add_test(tests, readers_do_not_disturb_writers);
	tcase_add_test(tests, half_done_changes_are_counted_once);
	tcase_add_test(tests, any_contents_can_be_read);
	tcase_add_test(tests, exit_removes_page);
	tcase_add_test(tests, old_pages_of_dead_processes_are_removed);
	tcase_add_loop_test(tests, folder_that_cannot_be_used_is_no_error, 0, REFUSALS);
	return suite_run(suite);
}
