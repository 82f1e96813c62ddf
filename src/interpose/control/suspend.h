/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suspend.h - suspends this process: its threads are held at their next CUDA call (routes/gate.h),
 * and the memory of all its pools is released to the driver; and resumes it.
 *
 * A thread of its own does the work, so that the caller can report progress and give up. It holds no
 * lock while it waits, and held threads hold none of mam or the driver. The waits are for calls in
 * progress, for captures and for running work; any of them may wait for a thread that is held. So a
 * caller that waits longer than it likes cancels, which opens the gate: nothing has changed then.
 *
 *   suspend   1. Refuse if others may use the memory: processes, peers.
 *             2. Close the gate, and wait until no thread is inside. If a stream is in capture, open
 *                it and wait for the end of the capture first.
 *             3. Wait for the work of all contexts that have pools. Up to here a cancel is possible.
 *             4. Release idle memory, then suspend each pool. After an error, resume the others.
 *   resume    Resume each pool, then open the gate. After an error the process stays suspended, and a
 *             later resume goes on from there.
 *
 * Threads: any; one request at a time.
 */
#ifndef MAM_INTERPOSE_SUSPEND_H
#define MAM_INTERPOSE_SUSPEND_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum mam_suspend_what {
	MAM_SUSPEND_HOST,
	MAM_SUSPEND_FILE,
	MAM_SUSPEND_DISCARD,
	MAM_SUSPEND_RESUME
};

struct mam_suspend_state {
	const char *waits;       /* what the request waits for; NULL: nothing */
	const char *fault;       /* of a request that has ended; NULL: it succeeded */
	uint64_t released, left; /* bytes that a suspend released, and that stay with the driver */
};

/*
 * mam_suspend_begin - start a request. `folder`: of MAM_SUSPEND_FILE. Returns NULL, or why it cannot
 * start.
 */
const char *mam_suspend_begin(enum mam_suspend_what what, const char *folder);

/* mam_suspend_wait - wait up to a tenth of a second. Returns whether the request has ended. */
bool mam_suspend_wait(struct mam_suspend_state *state);

/* mam_suspend_cancel - give up, if that is still possible. The request has ended then. */
bool mam_suspend_cancel(void);

/* The process begins suspended: without memory, and with a closed gate. */
void mam_suspend_from_start(void);

/* Called in the child of a fork. */
void mam_suspend_restart(void);

#endif
