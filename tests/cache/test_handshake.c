/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handshake: owners add to plain numbers inside, another stops them and reads. Numbers that do
 * not match were read while an owner was inside. With membarrier and with fences.
 */
#include <pthread.h>
#include <sched.h>

#include "cached.h"

#define OWNERS 3
#define STOPS 2000

struct owner {
	struct mam_handshake hand;
	pthread_t thread;
	uint64_t left, right; /* equal whenever nobody is inside */
	uint64_t refused;     /* thread */
};

static struct owner owners[OWNERS];
static struct mam_lock lock;
static _Atomic bool stop;

static void *work(void *argument)
{
	struct owner *owner = argument;

	while (!atomic_load(&stop)) {
		if (mam_handshake_enter(&owner->hand)) {
			owner->left++;
			owner->right++;
			mam_handshake_leave(&owner->hand);
		} else {
			owner->refused++;
			mam_lock_take(&lock);
			mam_lock_release(&lock);
		}
	}
	return NULL;
}

START_TEST(who_is_stopped_is_not_inside)
{
	uint64_t last[OWNERS] = { 0 };

	mam_handshake_use_fences(_i == 1);
	mam_lock_init(&lock, MAM_RANK_CACHE, "test");
	for (int i = 0; i < OWNERS; i++) {
		mam_handshake_init(&owners[i].hand);
		ck_assert_int_eq(owners[i].hand.fences, _i == 1);
		ck_assert_int_eq(pthread_create(&owners[i].thread, NULL, work, &owners[i]), 0);
	}
	for (int n = 0; n < STOPS; n++) {
		mam_lock_take(&lock);
		for (int i = 0; i < OWNERS; i++)
			mam_handshake_stop_begin(&owners[i].hand);
		mam_handshake_fence();
		for (int i = 0; i < OWNERS; i++) {
			mam_handshake_stop_end(&owners[i].hand);
			ck_assert_uint_eq(owners[i].left, owners[i].right);
			ck_assert_uint_ge(owners[i].left, last[i]);
			last[i] = ++owners[i].left;
			owners[i].right++;
			ck_assert_uint_eq(owners[i].left, owners[i].right);
		}
		for (int i = 0; i < OWNERS; i++)
			mam_handshake_go(&owners[i].hand);
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

START_TEST(nobody_enters_twice_or_when_stopped)
{
	struct mam_handshake hand;

	mam_handshake_init(&hand);
	ck_assert(mam_handshake_enter(&hand));
	ck_assert(mam_handshake_is_inside(&hand));
	ck_assert(!mam_handshake_enter(&hand)); /* a signal handler, say */
	ck_assert(mam_handshake_is_inside(&hand));
	mam_handshake_leave(&hand);
	mam_handshake_stop_begin(&hand);
	ck_assert(!mam_handshake_enter(&hand));
	ck_assert(!mam_handshake_is_inside(&hand));
	mam_handshake_go(&hand);
	ck_assert(mam_handshake_enter(&hand));
	mam_handshake_leave(&hand);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("cache/handshake");

	tcase_add_loop_test(tcase, who_is_stopped_is_not_inside, 0, 2);
	tcase_add_test(tcase, nobody_enters_twice_or_when_stopped);
	return suite_end();
}
