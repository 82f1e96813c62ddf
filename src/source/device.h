/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - binds a source to one CUDA context, and enters that context from any thread.
 *
 * A source is bound to one context at creation: the calling thread's, if it has one on the
 * requested device, otherwise the device's primary context, which the source then retains until it
 * is destroyed. Any thread makes later calls to the driver between an enter and a leave:
 *
 * 1. enter fails in a forked child, and if the context was destroyed or reset: the driver corrupts
 *    its own heap after a thread makes such a context current, and a new context may get its handle;
 * 2. makes the context current if it is not,
 * 3. and puts the thread's stream captures into relaxed mode, in which an allocation does not
 *    invalidate them;
 * 4. the source makes its calls;
 * 5. leave undoes 3 and 2, so that the thread's state is restored.
 *
 * The driver API has no sticky error state, so a failure has no later effect.
 */
#ifndef MAM_SOURCE_DEVICE_H
#define MAM_SOURCE_DEVICE_H

#include <stdatomic.h>

#include "source/driver.h"

struct mam_device {
	/* lock: none, all set by mam_device_bind() */
	const struct mam_driver *driver;
	struct CUctx_st *context;
	unsigned long long id; /* of the context; 0: the driver has no ids (before CUDA 12.0) */
	int ordinal;           /* CUDA device ordinal */
	bool retains_primary;  /* the context is the primary one, and we retain it */
};

/* The thread's state before enter. */
struct mam_device_visit {
	bool pushed;       /* our context is on top of the thread's own */
	unsigned int mode; /* its capture mode */
};

/* A driver call's result and the name of the function. */
struct mam_device_answer {
	unsigned int result;
	const char *function;
};

static inline struct mam_device_answer mam_device_answer_of(const char *function,
							    unsigned int result)
{
	return (struct mam_device_answer){ result, function };
}

/*
 * mam_context_check - whether `context` is still the one whose id was `id`: SUCCESS, or
 * CONTEXT_IS_DESTROYED also for a new context with the same handle. A driver without ids: SUCCESS.
 */
unsigned int mam_context_check(const struct mam_driver *driver, struct CUctx_st *context,
			       unsigned long long id);

/*
 * mam_device_bind - bind `device` to a context on `ordinal`. MAM_DEVICE_CURRENT is the thread's
 * current device, or the first device if no context is current. NO_DEVICE is logged once. After a
 * failure mam_device_unbind() undoes all effects.
 */
enum mam_status mam_device_bind(struct mam_device *device, int ordinal);
void mam_device_unbind(struct mam_device *device);

/* mam_device_report_none - logs, once per process, why there is no device. */
void mam_device_report_none(void);

/* Success: a leave must follow. Any other result (NO_DEVICE in a forked child): it must not. */
struct mam_device_answer mam_device_enter(const struct mam_device *device,
					  struct mam_device_visit *visit);
void mam_device_leave(const struct mam_device *device, struct mam_device_visit *visit);

enum mam_status mam_device_status(const struct mam_device *device, struct mam_device_answer answer);

/*
 * While the process exits, the driver returns DEINITIALIZED from every call. Then no work runs and
 * all memory is gone, so waiting and freeing count as done.
 */
enum mam_status mam_device_status_of_end(const struct mam_device *device,
					 struct mam_device_answer answer);

/*
 * mam_device_quiesce - wait for all work of the context, as cudaFree does, without affecting stream
 * captures.
 *
 * cuCtxSynchronize fails while any stream of the context is in capture, whatever the thread's mode,
 * and invalidates the capture. The library cannot know whether a capture is active. The driver's
 * frees wait for the whole context as well, and do not disturb captures in relaxed mode. So the
 * wait is a small allocation and its free. The allocation is pinned host memory if the device has
 * none left. Without host memory either, the context is synchronized.
 *
 * The driver allocates small blocks from slabs of 2 MiB. Without another block in the slab, each
 * allocation and its free cost 95 us instead of 5 (an H100). `kept` is a block that stays allocated
 * for that reason: the first wait allocates it. With it a strict free costs 2.8 us on an idle H200,
 * where synchronizing the context costs 1.5 us (pairs-h200.csv). Pass NULL for devices that are
 * rarely waited for. mam_device_give_kept() frees it.
 */
struct mam_device_kept {
	_Atomic unsigned long long ticket; /* atomic; 0: none */
};

enum mam_status mam_device_quiesce(const struct mam_device *device, struct mam_device_kept *kept);
void mam_device_give_kept(const struct mam_device *device, struct mam_device_kept *kept);

/*
 * The two halves of a quiesce. mam_device_quiesce_begin: make the small allocation, without a wait;
 * OUT_OF_MEMORY: there is no memory for it. mam_device_quiesce_end: free it, which waits. `ticket`
 * is 0 if the driver is shutting down, and no work runs.
 */
enum mam_status mam_device_quiesce_begin(const struct mam_device *device,
					 unsigned long long *ticket);
enum mam_status mam_device_quiesce_end(const struct mam_device *device, unsigned long long ticket);

/* mam_device_free_bytes - get the device's free memory. False: the driver call failed. */
bool mam_device_free_bytes(const struct mam_device *device, size_t *bytes);

/* mam_device_total_bytes - get the device's total memory. */
enum mam_status mam_device_total_bytes(const struct mam_device *device, size_t *bytes);

#endif
