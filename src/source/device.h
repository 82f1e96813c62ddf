/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - a source's tie to one CUDA context, and visiting it from any thread.
 *
 * A source is bound to one context when it is made: the calling thread's, if it has one on the
 * device asked for, else the device's primary context, which is then kept alive until the source
 * ends. Each later call to the driver, from whichever thread, stands between an enter and a leave:
 *
 * 1. enter refuses in the child of a fork,
 * 2. makes the context current if it is not,
 * 3. and puts the thread's stream captures into relaxed mode, in which allocating does not end
 *    them;
 * 4. the source makes its calls;
 * 5. leave undoes 3 and 2, so that the thread is left as it was found.
 *
 * The driver API keeps no error for later, so a failure leaves nothing behind.
 */
#ifndef MAM_SOURCE_DEVICE_H
#define MAM_SOURCE_DEVICE_H

#include <stdatomic.h>

#include "source/driver.h"

struct mam_device {
	/* lock: none, all set by mam_device_bind() */
	const struct mam_driver *driver;
	struct CUctx_st *context;
	int ordinal;          /* of CUDA */
	bool retains_primary; /* the context is the primary one, and kept alive by us */
};

/* How a thread was found. */
struct mam_device_visit {
	bool pushed;       /* our context lies on top of its own */
	unsigned int mode; /* its capture mode */
};

/* A driver call's answer with the function it came from. */
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
 * mam_device_bind - ties `device` to a context on `ordinal`, or on the thread's current device for
 * MAM_DEVICE_CURRENT, which is the first where no context is current. NO_DEVICE is said once, in
 * the log. A failure leaves nothing that mam_device_unbind() does not undo.
 */
enum mam_status mam_device_bind(struct mam_device *device, int ordinal);
void mam_device_unbind(struct mam_device *device);

/* mam_device_report_none - one line in the log says why there is no device, once in a process. */
void mam_device_report_none(void);

/* Success: a leave must follow. Anything else, NO_DEVICE in the child of a fork: it must not. */
struct mam_device_answer mam_device_enter(const struct mam_device *device,
					  struct mam_device_visit *visit);
void mam_device_leave(const struct mam_device *device, struct mam_device_visit *visit);

enum mam_status mam_device_status(const struct mam_device *device,
				  struct mam_device_answer answer);

/*
 * While the process exits the driver answers every call with DEINITIALIZED: then nothing runs and
 * all memory is gone, so waiting and giving back count as done.
 */
enum mam_status mam_device_status_of_end(const struct mam_device *device,
					 struct mam_device_answer answer);

/*
 * mam_device_quiesce - wait for all work of the context, as cudaFree does, without an effect on
 * stream captures.
 *
 * cuCtxSynchronize fails while any stream of the context is in capture, whatever the thread's mode,
 * and invalidates the capture. The library cannot know whether one is alive. The driver's frees wait
 * for the whole context as well, and in relaxed mode do not disturb captures: so the wait is a small
 * allocation and its free. The allocation is pinned host memory if the device has none left. With no
 * host memory either, the context is synchronized.
 *
 * The driver takes its small blocks from slabs of 2 MiB. Without another block in the slab, each
 * allocation and its free cost 95 us instead of 5 (an H100). `kept` is a block that stays allocated
 * for that reason: the first wait allocates it. With it a strict free costs 2.8 us on an idle H200,
 * where synchronizing the context costs 1.5 (pairs-h200.csv). NULL: none, for devices that are
 * rarely waited for. mam_device_give_kept() frees it.
 */
struct mam_device_kept {
	_Atomic unsigned long long ticket; /* atomic; 0: none */
};

enum mam_status mam_device_quiesce(const struct mam_device *device, struct mam_device_kept *kept);
void mam_device_give_kept(const struct mam_device *device, struct mam_device_kept *kept);

/*
 * The two halves of it. mam_device_quiesce_begin: the small allocation, without a wait;
 * OUT_OF_MEMORY: there is no memory for one. mam_device_quiesce_end: frees it, which waits. `ticket`
 * is 0 if the driver is shutting down, and no work runs.
 */
enum mam_status mam_device_quiesce_begin(const struct mam_device *device,
					 unsigned long long *ticket);
enum mam_status mam_device_quiesce_end(const struct mam_device *device, unsigned long long ticket);

/* mam_device_free_bytes - memory of the device that is free now. False: it could not be found. */
bool mam_device_free_bytes(const struct mam_device *device, size_t *bytes);

/* mam_device_total_bytes - all memory of the device. */
enum mam_status mam_device_total_bytes(const struct mam_device *device, size_t *bytes);

#endif
