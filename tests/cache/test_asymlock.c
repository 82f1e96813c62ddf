/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The asymmetric lock: owners update plain counters inside it, and another thread stops them and
 * reads. Counters that differ were read while an owner was inside. With membarrier and with fences.
 */
#include <pthread.h>
#include <sched.h>

#include "../base/membarrier.h"
#include "cached.h"

#define OWNERS 3
#define STOPS 2000

struct owner {
	struct mam_asymlock hand;
	pthread_t thread;
	uint64_t left, right; /* equal whenever no owner is inside */
	uint64_t refused;     /* thread */
};

static struct owner owners[OWNERS];
static struct mam_lock lock;
static _Atomic bool stop;

static void *work(void *argument)
{
	struct owner *owner = argument;

	while (!atomic_load(&stop)) {
		if (mam_asymlock_enter(&owner->hand)) {
			owner->left++;
			owner->right++;
			mam_asymlock_leave(&owner->hand);
		} else {
			owner->refused++;
			mam_lock_take(&lock);
			mam_lock_release(&lock);
		}
	}
	return NULL;
}

START_TEST(stopped_owner_is_not_inside)
{
	uint64_t last[OWNERS] = { 0 };

	mam_asymlock_use_fences(_i == 1);
	mam_lock_init(&lock, MAM_RANK_CACHE, "test");
	for (int i = 0; i < OWNERS; i++) {
		mam_asymlock_init(&owners[i].hand);
		ck_assert_int_eq(owners[i].hand.fences, _i == 1);
		ck_assert_int_eq(pthread_create(&owners[i].thread, NULL, work, &owners[i]), 0);
	}
	for (int n = 0; n < STOPS; n++) {
		mam_lock_take(&lock);
		for (int i = 0; i < OWNERS; i++)
			mam_asymlock_stop_begin(&owners[i].hand);
		mam_asymlock_fence();
		for (int i = 0; i < OWNERS; i++) {
			mam_asymlock_stop_end(&owners[i].hand);
			ck_assert_uint_eq(owners[i].left, owners[i].right);
			ck_assert_uint_ge(owners[i].left, last[i]);
			last[i] = ++owners[i].left;
			owners[i].right++;
			ck_assert_uint_eq(owners[i].left, owners[i].right);
		}
		for (int i = 0; i < OWNERS; i++)
			mam_asymlock_go(&owners[i].hand);
		mam_lock_release(&lock);
		if (n % 16 == 0)
			sched_yield();
	}
	atomic_store(&stop, true);
	for (int i = 0; i < OWNERS; i++) {
		pthread_join(owners[i].thread, NULL);
		ck_assert_uint_eq(owners[i].left, owners[i].right);
	}
}
END_TEST

START_TEST(owner_cannot_enter_twice_or_when_stopped)
{
	struct mam_asymlock hand;

	mam_asymlock_init(&hand);
	ck_assert(mam_asymlock_enter(&hand));
	ck_assert(mam_asymlock_is_inside(&hand));
	ck_assert(!mam_asymlock_enter(&hand)); /* for example in a signal handler */
	ck_assert(mam_asymlock_is_inside(&hand));
	mam_asymlock_leave(&hand);
	mam_asymlock_stop_begin(&hand);
	ck_assert(!mam_asymlock_enter(&hand));
	ck_assert(!mam_asymlock_is_inside(&hand));
	mam_asymlock_go(&hand);
	ck_assert(mam_asymlock_enter(&hand));
	mam_asymlock_leave(&hand);
}
END_TEST

static struct mam_asymlock *watched;
static unsigned barriers, waits, requests;

/*
 * The owner has entered, and its store becomes visible now. If it had read the request, its reads
 * would see it.
 */
static void show_owner(void)
{
	barriers++;
	requests += atomic_load(&watched->request);
	atomic_store(&watched->busy, 1);
}

static void let_owner_leave(void)
{
	waits++;
	atomic_store(&watched->busy, 0);
}

static void watch(struct mam_asymlock *hand)
{
	watched = hand;
	at_barrier = show_owner;
	at_yield = let_owner_leave;
}

static void ck_assert_watched(void)
{
	at_barrier = NULL;
	at_yield = NULL;
	ck_assert_uint_eq(barriers, 1);
	ck_assert_uint_eq(requests, 1); /* stored before the barrier */
	ck_assert_uint_eq(waits, 1);    /* busy was read after it */
}

START_TEST(stopper_waits_for_owner_visible_at_barrier)
{
	struct mam_asymlock hand;

	mam_asymlock_init(&hand);
	watch(&hand);
	mam_asymlock_stop_begin(&hand);
	mam_asymlock_fence();
	mam_asymlock_stop_end(&hand);
	ck_assert_watched();
	mam_asymlock_go(&hand);
}
END_TEST

struct other {
	struct mam_pool *pool;
	pthread_barrier_t ready, done;
};

/* A thread that has a cache, and does not access it from `ready` to `done`. */
static void *own_a_cache(void *argument)
{
	struct other *other = argument;

	pool_free(other->pool, pool_alloc(other->pool, 512));
	pthread_barrier_wait(&other->ready);
	pthread_barrier_wait(&other->done);
	return NULL;
}

static void trim(struct mam_pool *pool)
{
	ck_assert_int_eq(mam_pool_trim(pool, 0, NULL), MAM_OK);
}

static void check(struct mam_pool *pool)
{
	ck_assert_int_eq(mam_pool_check(pool, NULL, 0), MAM_OK);
}

static void count(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	ck_assert_uint_eq(stats.allocs, 1);
}

/* The same with calls that read or empty the caches of all threads. */
START_TEST(pool_waits_for_owner_visible_at_barrier)
{
	static void (*const calls[])(struct mam_pool * pool) = { trim, check, count };
	struct other other = { .pool = cached_pool(64 * KIB) };
	struct mam_cache *cache = mam_handle_storage(other.pool)->cache;
	pthread_t thread;

	pthread_barrier_init(&other.ready, NULL, 2);
	pthread_barrier_init(&other.done, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, own_a_cache, &other), 0);
	pthread_barrier_wait(&other.ready);
	ck_assert_ptr_nonnull(cache->tcaches);
	ck_assert_ptr_null(cache->tcaches->next);
	watch(&cache->tcaches->hand);
	calls[_i](other.pool);
	ck_assert_watched();
	pthread_barrier_wait(&other.done);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	done_with(other.pool);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("cache/asymlock");

	tcase_add_loop_test(tcase, stopped_owner_is_not_inside, 0, 2);
	tcase_add_test(tcase, owner_cannot_enter_twice_or_when_stopped);
	tcase_add_test(tcase, stopper_waits_for_owner_visible_at_barrier);
	tcase_add_loop_test(tcase, pool_waits_for_owner_visible_at_barrier, 0, 3);
	return suite_end();
}
