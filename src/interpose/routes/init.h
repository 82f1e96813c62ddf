/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.h - whether mam takes part in this process at all, and the guard around its own calls.
 *
 * There is no constructor: the environment is read when CUDA's name is first heard, in a lookup
 * or a call.
 */
#ifndef MAM_INTERPOSE_INIT_H
#define MAM_INTERPOSE_INIT_H

#include <stdbool.h>

/*
 * True: every call goes to the real function. So with MAM_DISABLE, and in the child of a fork of
 * a process that had pools: CUDA does not survive a fork, and the driver knows best what to
 * answer.
 */
bool mam_init_is_off(void);

/*
 * True: mam_count_*() keep their numbers and the report is wanted. Only meaningful where
 * mam_init_is_off() was asked.
 */
bool mam_init_wants_stats(void);

/* When a freed block may be used again (mam-run.1, FREE POLICIES). Asked as above. */
enum mam_init_policy {
	MAM_INIT_STRICT,   /* the free waits for all work of the block's context */
	MAM_INIT_DEFERRED, /* it does not, and the block waits in quarantine */
	MAM_INIT_STREAM    /* at once: the program's users of a block are in one order */
};
enum mam_init_policy mam_init_policy(void);

/* --capture=allow: pools serve while a stream is in capture. Asked as above. */
bool mam_init_serves_captures(void);

/* True: CUDA's name was heard in this process. */
bool mam_init_is_awake(void);

/*
 * The same, and this is not the child of a vfork() or clone() that shares the memory of the process
 * where it was heard. Safe in a signal handler.
 */
bool mam_init_is_at_home(void);

/* There is a pool: the child of a fork will be left to the driver. */
void mam_init_note_pool(void);

/*
 * A part of mam that has something to do when CUDA's name is first heard, or in the child of a
 * fork. All parts are in parts.c, in the order in which they start; the last has no restart.
 */
struct mam_init_part {
	void (*start)(void);   /* NULL: nothing */
	void (*restart)(void); /* all of the parent's threads but one are gone, and may have held locks */
};
extern const struct mam_init_part mam_init_parts[] __attribute__((visibility("hidden")));

/*
 * Above 0 while this thread is inside a call of mam's own: growth calls cuMemAlloc, a real
 * cudaMalloc calls the driver, and both arrive at our functions again, which must then be as if
 * they were not there. thread
 */
extern __thread int mam_init_depth __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What every replacement asks first. */
static inline bool mam_init_passes(void)
{
	return mam_init_depth > 0 || mam_init_is_off();
}

#endif
