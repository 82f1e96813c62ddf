/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fork: the child finds the locks free whatever other threads did, and a pool that is usable or
 * abandoned.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/epoch.h"
#include "fixture.h"

#define CHILD_OK 42

static const struct mam_pool_config config = { .chunk_bytes = 64 * KIB, .growth_bytes = 64 * KIB };

/* Forks around the pool's calls and runs `child` in the child process; it must return true. */
static void fork_into(struct fixture *f, bool (*child)(struct fixture *f, void *block), void *block)
{
	int status = 0;
	pid_t pid;

	mam_pool_fork_prepare(f->pool);
	mam_epoch_fork_prepare();
	pid = fork();
	if (pid == 0) {
		alarm(20);
		mam_epoch_fork_child();
		mam_pool_fork_child(f->pool);
		_exit(child(f, block) ? CHILD_OK : 1);
	}
	mam_epoch_fork_parent();
	mam_pool_fork_parent(f->pool);
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_OK,
		      "the child exited with %#x", (unsigned)status);
}

static bool goes_on(struct fixture *f, void *block)
{
	void *other = NULL;

	return mam_pool_free(f->pool, block) == MAM_OK &&
	       mam_pool_alloc(f->pool, 128 * KIB, 0, &other) == MAM_OK &&
	       mam_pool_check(f->pool, NULL, 0) == MAM_OK;
}

START_TEST(pool_stays_usable_if_source_survives_fork)
{
	struct fixture *f = fixture_new(&config);
	void *block = alloc(f, 512);

	fork_into(f, goes_on, block);
	dealloc(f, block); /* the child's actions affect only the child */
	intact(f);
	fixture_end(f);
}
END_TEST

static bool is_abandoned(struct fixture *f, void *block)
{
	void *other = NULL;

	return mam_pool_free(f->pool, block) == MAM_ERROR_DESTROYED &&
	       mam_pool_alloc(f->pool, 512, 0, &other) == MAM_ERROR_DESTROYED &&
	       mam_pool_fini(f->pool) == MAM_ERROR_DESTROYED && f->space.all_calls == 1;
}

START_TEST(pool_is_abandoned_in_child_if_source_is_lost)
{
	struct fixture *f = fixture_new(&config);
	void *block = alloc(f, 512);

	f->space.source.properties.survives_fork = false;
	fork_into(f, is_abandoned, block);
	dealloc(f, block);
	fixture_end(f);
}
END_TEST

/*
 * Does not call the source: in this process the lock of the source may belong to a thread that does
 * not exist here.
 */
static bool is_whole(struct fixture *f, void *block)
{
	struct mam_segment_info info;

	return atomic_load(&f->pool->waiting) == 0 && /* threads that wait are not here */
	       mam_pool_check(f->pool, NULL, 0) == MAM_OK &&
	       mam_pool_find(f->pool, block, &info) == MAM_OK &&
	       mam_pool_free(f->pool, block) == MAM_OK;
}

static atomic_bool stop;

static void *churn(void *user)
{
	struct fixture *f = user;

	while (!atomic_load(&stop)) {
		void *block = NULL;

		if (mam_pool_alloc(f->pool, 100 * KIB, 0, &block) == MAM_OK)
			mam_pool_free(f->pool, block);
		mam_pool_trim(f->pool, 0, NULL);
	}
	return NULL;
}

START_TEST(child_of_busy_process_finds_pool_intact)
{
	struct fixture *f = fixture_new(&config);
	void *block = alloc(f, 512);
	pthread_t other[2];

	atomic_store(&stop, false);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&other[i], NULL, churn, f), 0);
	for (int i = 0; i < 20; i++)
		fork_into(f, is_whole, block);
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(other[i], NULL);
	intact(f);
	fixture_end(f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/fork");

	tcase_add_test(tcase, pool_stays_usable_if_source_survives_fork);
	tcase_add_test(tcase, pool_is_abandoned_in_child_if_source_is_lost);
	tcase_add_test(tcase, child_of_busy_process_finds_pool_intact);
	return suite_end();
}
