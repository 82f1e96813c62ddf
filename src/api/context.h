/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.h - the CUDA context whose default pool a call means.
 *
 * A handle alone does not identify a context. A primary context keeps its handle when it is reset,
 * and the driver reuses the handle of a context that cuCtxDestroy() ended, and its addresses too. The
 * id of cuCtxGetId() is never reused. Drivers before CUDA 12.0 have no ids: all are 0 then, and a
 * context that ended is not noticed.
 */
#ifndef MAM_API_CONTEXT_H
#define MAM_API_CONTEXT_H

#include <stdbool.h>

#include <mam/mam.h>

/* More devices than any machine has; a process sees at most its GPUs. */
#define MAM_CONTEXT_DEVICES_MAX 256

struct CUctx_st;

struct mam_context {
	struct CUctx_st *handle; /* NULL: the device's primary context, which is not known yet */
	unsigned long long id;   /* 0: the driver has no ids */
	int device;              /* of CUDA */
};

/*
 * mam_context_find - the context that sources for `device` are bound to (source/device.h): the
 * calling thread's if it is on that device, otherwise the device's primary context.
 * MAM_DEVICE_CURRENT: the device of the thread's context, or the first. The thread's context ended:
 * the primary context, if it was that, and otherwise DRIVER. Costs two calls of the driver, mostly.
 */
enum mam_status mam_context_find(int device, struct mam_context *context);

/*
 * mam_context_retain - find out the handle and id of a context without a handle, which is made if the
 * device has no primary context. mam_context_release() must follow, once a source is bound to it.
 * For other contexts: note whether it is the primary one of its device.
 */
enum mam_status mam_context_retain(struct mam_context *context, bool *retained);
void mam_context_release(const struct mam_context *context, bool retained);

/* mam_context_is_primary - pre: mam_context_retain() returned MAM_OK for it. */
bool mam_context_is_primary(const struct mam_context *context);

/* mam_context_has_ended - whether it was destroyed or reset. */
bool mam_context_has_ended(const struct mam_context *context);

#endif
