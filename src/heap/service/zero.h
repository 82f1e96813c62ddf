/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zero.h - zeroes device memory while kernels run, which may wait for it.
 *
 * Copies from zeros in pinned host memory, in a stream of its own: the copy engine needs no
 * multiprocessor, but the driver's fills are kernels, which do not run while other kernels fill the
 * device. No call waits for the device except mam_zero_close() and mam_zero_wait(), and these only
 * for the copies. One thread at a time may use it.
 */
#ifndef MAM_HEAP_SERVICE_ZERO_H
#define MAM_HEAP_SERVICE_ZERO_H

#include "heap/service/copy.h"

#define MAM_ZERO_BYTES ((size_t)256 << 10) /* of zeros, and the maximum of one copy */

struct mam_zero {
	const struct mam_copy *reach;
	struct CUstream_st *stream;
	const void *zeros;
	uintptr_t at; /* of the memory that is being zeroed; 0: none */
};

/*
 * mam_zero_open - `zeros`: MAM_ZERO_BYTES of pinned memory that never change. Returns UNSUPPORTED if
 * the driver lacks a function, otherwise what the driver returned.
 */
enum mam_status mam_zero_open(struct mam_zero *zero, const struct mam_copy *reach,
			      const void *zeros);

/*
 * mam_zero_memory - starts to zero `bytes` at `at`, or looks whether that has ended: OK. Returns
 * WOULD_WAIT meanwhile, and while other memory is being zeroed. DRIVER and others: it has not begun.
 */
enum mam_status mam_zero_memory(struct mam_zero *zero, uintptr_t at, size_t bytes);

/* mam_zero_wait - waits for copies in progress: before their memory is freed. */
void mam_zero_wait(struct mam_zero *zero);

void mam_zero_close(struct mam_zero *zero);

#endif
