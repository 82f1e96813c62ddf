/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.h - whether mam is active in this process, and the guard around its own calls.
 *
 * There is no constructor: the environment is read when the process first looks up or calls a CUDA
 * function.
 */
#ifndef MAM_INTERPOSE_INIT_H
#define MAM_INTERPOSE_INIT_H

#include <stdatomic.h>
#include <stdbool.h>

enum mam_init_state { MAM_INIT_ASLEEP, MAM_INIT_ON, MAM_INIT_OFF };
extern atomic_int mam_init_state
	__attribute__((visibility("hidden"))); /* atomic; of this process */

/*
 * Returns true if every call must go to the real function. That is the case with MAM_DISABLE, and
 * in the child of a fork of a process that had pools: CUDA does not survive a fork, and the driver
 * should return its own error.
 */
bool mam_init_is_off_slow(void);

static inline bool mam_init_is_off(void)
{
	return atomic_load_explicit(&mam_init_state, memory_order_acquire) != MAM_INIT_ON &&
	       mam_init_is_off_slow();
}

/*
 * mam_init_stand_aside - no call goes through mam: this object was loaded by libmam.so, to record
 * (mam/recorder.h). Without effect if mam is active. mam_init_is_alone - whether that is so.
 */
void mam_init_stand_aside(void);
bool mam_init_is_alone(void);

/* Returns true if mam_count_*() count and the report is wanted. Call mam_init_is_off() first. */
bool mam_init_wants_stats(void);

/* When a freed block may be reused (mam-semantics.7). Call mam_init_is_off() first. */
enum mam_init_policy {
	MAM_INIT_STRICT,   /* the free waits for all work of the block's context */
	MAM_INIT_DEFERRED, /* the free does not wait, but the block stays in quarantine */
	MAM_INIT_STREAM    /* immediately: the program orders all uses of a block */
};
enum mam_init_policy mam_init_policy(void);

/* --capture=allow: pools serve while a stream is in capture. Call mam_init_is_off() first. */
bool mam_init_serves_captures(void);

/* Returns true once this process has looked up or called a CUDA function. */
bool mam_init_is_awake(void);

/*
 * Returns true if mam_init_is_awake() and this is not the child of a vfork() or clone() that shares
 * the memory of the process that first used CUDA. Safe in a signal handler.
 */
bool mam_init_is_at_home(void);

/* Records that there is a pool: the child of a fork will be left to the driver. */
void mam_init_note_pool(void);

/*
 * A part of mam that must act when the process first uses CUDA, or in the child of a fork. parts.c
 * lists all parts in the order in which they start; the last entry has no restart.
 */
struct mam_init_part {
	void (*start)(void);      /* NULL: nothing */
	void (*restart)(void);    /* only this thread is left; others may have held locks */
	void (*first_pool)(void); /* the process creates its first pool; NULL: nothing */
};
extern const struct mam_init_part mam_init_parts[] __attribute__((visibility("hidden")));

/*
 * Above 0 while this thread is inside a call of mam's own. Growth calls cuMemAlloc, and a real
 * cudaMalloc calls the driver. Both reach our functions again, which must then only call the real
 * function. One per thread.
 */
extern __thread int mam_init_depth __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Every replacement function calls this first. */
static inline bool mam_init_passes(void)
{
	return mam_init_depth > 0 || mam_init_is_off();
}

#endif
