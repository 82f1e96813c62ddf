/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seat.c - the seats of a thread: found, made, and given back when it ends (seat.h).
 *
 * The key's destructor runs once for each time that a seat was taken since it ran last, as the C
 * library has it: a thread whose other destructors allocate gets a new seat, and that goes too. A
 * thread that still does so after the library has given up leaves a seat behind, which others can
 * empty.
 */
#include "cache/seat.h"

#include <pthread.h>
#include <string.h>

#include "base/bits.h"
#include "base/pages.h"

#define SEAT_BYTES mam_round_up(sizeof(struct mam_seat), 4096)

/* What mam_seat_last names before there is one: no pool is its own. */
static struct mam_seat nobody;

_Thread_local struct mam_seat *mam_seat_last
	__attribute__((tls_model("initial-exec"))) = &nobody;
static _Thread_local struct mam_seat *seats __attribute__((tls_model("initial-exec")));

static void (*_Atomic leave)(struct mam_seat *seat); /* atomic; of mam_seat_prepare() */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Atomic bool has_key; /* atomic; the key is there */

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
 * The library is unloaded, or the process ends: threads that go on must not come back to code that
 * is not there. Their seats are left behind.
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

	if (seat) { /* of a pool that ended: its bins are empty, its links none */
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
