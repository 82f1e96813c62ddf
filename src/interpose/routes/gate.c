/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.c - see gate.h.
 *
 * The order is that of sequential consistency: a thread adds, then loads `closed`; the thread that
 * closes stores `closed`, then loads the counters. One of the two sees the other.
 */
#define _GNU_SOURCE /* syscall */
#include "interpose/routes/gate.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mam/options.h>

#include "interpose/routes/gate_names.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"

#define STRIPES 64

static struct stripe {
	_Alignas(64) atomic_uint inside; /* atomic */
} stripes[STRIPES];

static atomic_uint closed;  /* atomic; 0 or 1; held threads wait for a change */
static atomic_uint held;    /* atomic; threads */
static atomic_uint threads; /* atomic; that passed so far: gives each its stripe */

atomic_bool mam_gate_found;

static void (*_Atomic on_hold)(void); /* atomic */

static __thread unsigned int depth, stripe; /* stripe 0: none yet */
static __thread bool waits;

static pthread_key_t key; /* has a value in threads that have a stripe */
static bool has_key;      /* lock: written before mam_gate_found */

#define NAMED(name) { NULL, #name },
#define COUNT(name) +1
enum { NAMES = 0 MAM_GATE_NAMES(COUNT) };

struct mam_gate_slot mam_gate_slots[NAMES + MAM_GATE_LOOKUPS]
	__attribute__((visibility("hidden"))) = { MAM_GATE_NAMES(NAMED) };

static atomic_uint *counter(void)
{
	if (stripe == 0) {
		stripe = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % STRIPES + 1;
		if (has_key)
			pthread_setspecific(key, &key);
	}
	return &stripes[stripe - 1].inside;
}

/* A thread that is cancelled or exits inside a call does not return from it. */
static void end_thread(void *unused)
{
	(void)unused;
	if (depth > 0)
		atomic_fetch_sub_explicit(counter(), 1, memory_order_release);
	if (waits)
		atomic_fetch_sub(&held, 1);
	depth = 0;
	waits = false;
}

static void wait_open(void)
{
	void (*call)(void) = atomic_load(&on_hold);
	int error = errno;

	atomic_fetch_add(&held, 1);
	waits = true;
	if (call != NULL)
		call();
	while (atomic_load(&closed) != 0)
		syscall(SYS_futex, &closed, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	waits = false;
	atomic_fetch_sub(&held, 1);
	errno = error;
}

bool mam_gate_enter_slow(void)
{
	atomic_uint *inside;

	if (depth > 0) {
		depth++;
		return true;
	}
	for (inside = counter();; wait_open()) {
		atomic_fetch_add(inside, 1);
		if (atomic_load(&closed) == 0)
			break;
		atomic_fetch_sub(inside, 1);
	}
	depth = 1;
	return true;
}

void mam_gate_end(void)
{
	if (--depth == 0)
		atomic_fetch_sub_explicit(counter(), 1, memory_order_release);
}

void mam_gate_close(void)
{
	atomic_store(&closed, 1);
}

void mam_gate_open(void)
{
	atomic_store(&closed, 0);
	syscall(SYS_futex, &closed, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void mam_gate_on_hold(void (*call)(void))
{
	atomic_store(&on_hold, call);
}

bool mam_gate_is_idle(void)
{
	for (unsigned int i = 0; i < STRIPES; i++)
		if (atomic_load(&stripes[i].inside) != 0)
			return false;
	return true;
}

unsigned int mam_gate_held(void)
{
	return atomic_load(&held);
}

bool mam_gate_has(const char *name)
{
	static const char *const prefixes[] = { MAM_GATE_PREFIXES };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

bool mam_gate_exports(const char *name)
{
	for (size_t i = 0; i < NAMES; i++)
		if (strcmp(name, mam_gate_slots[i].name) == 0)
			return true;
	return false;
}

bool mam_gate_is_stub(const void *function)
{
	const char *at = function;

	return at >= mam_gate_common &&
	       at < mam_gate_stubs + (size_t)MAM_GATE_LOOKUPS * MAM_GATE_STRIDE;
}

static void *stub(unsigned int number)
{
	return (void *)(uintptr_t)(mam_gate_stubs + (size_t)number * MAM_GATE_STRIDE);
}

/* If all slots are in use, the function is not held. */
void *mam_gate_swap(const char *name, void *found)
{
	void *expected;

	if (found == NULL || !mam_gate_exists() || !mam_gate_has(name) || mam_gate_is_stub(found))
		return found;
	for (unsigned int i = 0; i < MAM_GATE_LOOKUPS; i++) {
		expected = NULL;
		if (atomic_compare_exchange_strong(&mam_gate_slots[NAMES + i].function, &expected,
						   found) ||
		    expected == found)
			return stub(i);
	}
	return found;
}

void *mam_gate_original(const char *name)
{
	void *found = mam_real_next(name);

	return found != NULL ? found : mam_real_in("libcuda.so", name);
}

/* Takes the place of a function that the driver does not have. */
static int not_found(void)
{
	return MAM_CUDA_NOT_INITIALIZED;
}

static void *function_of(struct mam_gate_slot *slot)
{
	void *found = atomic_load_explicit(&slot->function, memory_order_acquire);

	if (found == NULL && slot->name != NULL) {
		found = mam_gate_original(slot->name);
		if (found != NULL)
			atomic_store_explicit(&slot->function, found, memory_order_release);
	}
	return found != NULL ? found : (void *)(uintptr_t)not_found;
}

struct mam_gate_call mam_gate_begin(struct mam_gate_slot *slot)
{
	struct mam_gate_call call = { .function = function_of(slot) };

	call.entered = mam_gate_enter();
	return call;
}

void mam_gate_start(void)
{
	bool wanted = strcmp(mam_option_value("MAM_SOURCE"), "vmm") == 0;

	if (wanted && !has_key)
		has_key = pthread_key_create(&key, end_thread) == 0;
	atomic_store(&mam_gate_found, wanted);
}

void mam_gate_restart(void)
{
	if (mam_init_is_awake() && mam_init_is_off())
		atomic_store(&mam_gate_found, false);
	atomic_store(&on_hold, NULL);
	for (unsigned int i = 0; i < STRIPES; i++)
		atomic_store(&stripes[i].inside, 0);
	depth = 0;
	waits = false;
	atomic_store(&held, 0);
	atomic_store(&closed, 0);
}
