/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seat.c - the caches of a thread: found, made, and freed when it ends (seat.h).
 *
 * The C library runs the key's destructor once each time that a thread cache was made since the
 * last run. A thread whose other destructors allocate gets a new thread cache, which is freed as
 * well. If a thread still allocates after the library's last run, its thread cache is leaked; other
 * threads can empty it.
 */
#include "cache/seat.h"

#include <pthread.h>
#include <string.h>

#include "base/bits.h"
#include "base/pages.h"

#define SEAT_BYTES mam_round_up(sizeof(struct mam_seat), 4096)

/* Initial value of mam_seat_last: it belongs to no pool. */
static struct mam_seat nobody;

_Thread_local struct mam_seat *mam_seat_last
	__attribute__((tls_model("initial-exec"))) = &nobody;
static _Thread_local struct mam_seat *seats __attribute__((tls_model("initial-exec")));

static void (*_Atomic leave)(struct mam_seat *seat); /* atomic; from mam_seat_prepare() */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Atomic bool has_key; /* atomic; the key exists */

static void thread_ends(void *first)
{
	void (*on_exit)(struct mam_seat *) = atomic_load(&leave);
	struct mam_seat *seat = first, *next;

	seats = NULL;
	mam_seat_last = &nobody;
	for (; seat; seat = next) {
		next = seat->of_thread;
		on_exit(seat);
		mam_pages_unmap(seat, SEAT_BYTES);
	}
}

static void make_key(void)
{
	mam_handshake_prepare();
	has_key = pthread_key_create(&key, thread_ends) == 0;
}

/*
 * The library is unloaded, or the process ends: threads that continue must not call code that is
 * unmapped. Their thread caches are leaked.
 */
__attribute__((destructor)) static void drop_key(void)
{
	if (atomic_exchange(&has_key, false))
		pthread_key_delete(key);
}

void mam_seat_prepare(void (*on_exit)(struct mam_seat *seat))
{
	atomic_store(&leave, on_exit);
	pthread_once(&once, make_key);
}

struct mam_seat *mam_seat_find(const struct mam_pool *pool)
{
	for (struct mam_seat *seat = seats; seat; seat = seat->of_thread) {
		if (atomic_load_explicit(&seat->pool, memory_order_acquire) == pool) {
			mam_seat_last = seat;
			return seat;
		}
	}
	return NULL;
}

struct mam_seat *mam_seat_take(void)
{
	struct mam_seat *seat = mam_seat_find(NULL);

	if (seat) { /* of a pool that ended: its bins are empty, it is not linked */
		struct mam_seat *of_thread = seat->of_thread;

		memset(seat, 0, sizeof(*seat));
		seat->of_thread = of_thread;
	} else {
		if (!has_key)
			return NULL;
		seat = mam_pages_map(SEAT_BYTES);
		if (!seat)
			return NULL;
		seat->of_thread = seats;
		if (pthread_setspecific(key, seat) != 0) {
			mam_pages_unmap(seat, SEAT_BYTES);
			return NULL;
		}
		seats = seat;
	}
	mam_handshake_init(&seat->hand);
	seat->owner = mam_seat_self();
	return seat;
}

void mam_seat_drop(struct mam_seat *seat)
{
	mam_pages_unmap(seat, SEAT_BYTES);
}
