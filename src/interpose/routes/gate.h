/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - holds the program's threads at their next CUDA call while its memory is suspended.
 *
 * Each call that submits work, allocates, frees or asks for an address passes a gate:
 *   hooks  (table.h) begin with MAM_GATE_PASS().
 *   other functions of the driver (gate_names.h) are reached through stubs (gate_stubs.c), which call
 *          mam_gate_begin(), the function with the same arguments, and mam_gate_end(). A program that
 *          is linked to the driver binds to a stub of the same name; lookups return numbered ones.
 *
 * A call is inside from begin to end. A thread adds itself to a counter before it looks whether the
 * gate is closed, and mam_gate_close() closes before it reads the counters. So after mam_gate_is_idle()
 * returned true, no thread is inside until the gate opens. Threads count in different cache lines.
 *
 * A held thread is outside the driver and holds no lock of mam: it waits at the beginning of the
 * outermost call. It may hold locks of the program or of libcudart. A thread inside that waits for
 * such a lock never leaves, so a caller that closes must give up after a time.
 *
 * mam's own calls (mam_init_depth above 0) and calls inside calls are not held.
 *
 * Bound: two atomic additions per call. Without --source=vmm nothing is held, a hook only reads
 * whether there is a gate, and lookups return the driver's functions.
 */
#ifndef MAM_INTERPOSE_GATE_H
#define MAM_INTERPOSE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "interpose/routes/init.h"

#define MAM_GATE_STACK_WORDS 10

/* Whether this process has a gate. */
extern atomic_bool mam_gate_found __attribute__((visibility("hidden"))); /* atomic */

static inline bool mam_gate_exists(void)
{
	return atomic_load_explicit(&mam_gate_found, memory_order_relaxed);
}

/* mam_gate_enter - wait until the gate is open. Returns whether mam_gate_leave() must follow. */
bool mam_gate_enter_slow(void) __attribute__((visibility("hidden")));
void mam_gate_end(void) __attribute__((visibility("hidden")));

static inline bool mam_gate_enter(void)
{
	return !mam_init_passes() && mam_gate_exists() && mam_gate_enter_slow();
}

static inline void mam_gate_leave(const bool *entered)
{
	if (*entered)
		mam_gate_end();
}

/* The first declaration of a hook: the thread is inside until the end of the block. */
#define MAM_GATE_PASS() \
	__attribute__((cleanup(mam_gate_leave), unused)) const bool inside = mam_gate_enter()

/* Closes the gate, which returns at once, or opens it. */
void mam_gate_close(void);
void mam_gate_open(void);

/*
 * mam_gate_on_hold - call this function in each thread that is about to be held, before it waits.
 * NULL: none. It must not call CUDA.
 */
void mam_gate_on_hold(void (*call)(void));

/* Whether no thread is inside. */
bool mam_gate_is_idle(void);

/* How many threads are held. */
unsigned int mam_gate_held(void);

/* Whether a name, as passed to dlsym() or cuGetProcAddress(), is one of gate_names.h. */
bool mam_gate_has(const char *name);

/* Whether this object exports a stub of that name. */
bool mam_gate_exports(const char *name);

/* Whether a function is a stub. */
bool mam_gate_is_stub(const void *function);

/* Returns the stub for the driver's function of such a name: `found` itself if there is no gate. */
void *mam_gate_swap(const char *name, void *found);

/* Returns the driver's function of an ELF name that is exported here, or NULL. */
void *mam_gate_original(const char *name);

/* Called when the process first uses CUDA, and in the child of a fork. */
void mam_gate_start(void);
void mam_gate_restart(void);

/*
 * A stub's function. The first slots belong to the names of MAM_GATE_NAMES, the others to functions
 * that lookups found.
 */
struct mam_gate_slot {
	void *_Atomic function; /* atomic; NULL: not known yet, or none */
	const char *name;       /* NULL: of a lookup */
};

/*
 * The order to a stub. If `entered`: call the function and then mam_gate_end(); otherwise jump to
 * the function.
 */
struct mam_gate_call {
	void *function;
	long entered;
};
struct mam_gate_call mam_gate_begin(struct mam_gate_slot *slot)
	__attribute__((visibility("hidden")));

#define MAM_GATE_LOOKUPS 512 /* stubs for lookups */
#define MAM_GATE_STRIDE 32   /* bytes of a stub */
/* The code of all stubs is between the first and the end of the second. */
extern const char mam_gate_common[] __attribute__((visibility("hidden")));
extern const char mam_gate_stubs[] __attribute__((visibility("hidden")));

#endif
