/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h - the few things that benchmarks of kernels ask of a GPU: memory, copies, and a kernel that
 * runs to its end while somebody looks at the clock.
 *
 * After the first thing that goes wrong every call answers false, and bench_gpu_trouble() says what
 * it was: a device that has failed says nothing more that could be believed. All in one thread.
 */
#ifndef MAM_TOOLS_BENCH_GPU_H
#define MAM_TOOLS_BENCH_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bench_gpu_start - once. `heap_bytes`: what CUDA's own in-kernel heap is to have, which must be
 * said before a module is loaded; 0: as it is. False: one sentence in `why`. */
bool bench_gpu_start(uint64_t heap_bytes, char *why, size_t why_bytes);
/* bench_gpu_limit - seconds, after which a kernel is taken for one that hangs; BENCH_GRACE in the
 * environment says another number of them */
unsigned int bench_gpu_limit(void);
/* bench_gpu_warm - a first launch, which is slow; once modules are loaded */
bool bench_gpu_warm(void);
/* bench_gpu_stop - puts back what start changed */
void bench_gpu_stop(void);
/* bench_gpu_trouble - one sentence; "" while all is well */
const char *bench_gpu_trouble(void);
/* bench_gpu_fail - a trouble that somebody else found; the first one stays */
void bench_gpu_fail(const char *sentence);

/* bench_gpu_module - a fat binary; NULL: one sentence in `why`, and no trouble */
void *bench_gpu_module(const void *image, char *why, size_t why_bytes);
/* bench_gpu_kernel - of a module; NULL: it has none of this name */
void *bench_gpu_kernel(void *module, const char *name);
/* bench_gpu_registers - of a thread of this kernel; 0: not known */
unsigned int bench_gpu_registers(void *kernel);
/* bench_gpu_sms - of the device; 0: not known */
unsigned int bench_gpu_sms(void);
/* bench_gpu_warps - that the device runs at once, at most; 0: not known */
unsigned int bench_gpu_warps(void);
/* bench_gpu_resident - so many blocks of so many threads of this kernel run at the same time, if
 * nothing else does; 0: not known, or not one does */
unsigned int bench_gpu_resident(void *kernel, unsigned int threads);

uint64_t bench_gpu_free_bytes(void);
/* bench_gpu_take - NULL: so much is not to be had, which is no trouble */
void *bench_gpu_take(uint64_t bytes);
/* bench_gpu_give - but not after a trouble: a kernel may be using it still */
void bench_gpu_give(void *memory);

/* All of these wait until it is done, but bench_gpu_copy(). */
bool bench_gpu_fill(void *memory, unsigned char value, uint64_t bytes);
bool bench_gpu_put(void *to, const void *from, uint64_t bytes);   /* from the host */
bool bench_gpu_fetch(void *to, const void *from, uint64_t bytes); /* to the host */
bool bench_gpu_copy(void *to, const void *from, uint64_t bytes);

/*
 * bench_gpu_run - `kernel` with so many blocks of so many threads and `job`, its one parameter, to
 * its end. `name` is for sentences. `us`: what lay between an event before it and one behind it;
 * may be NULL.
 */
bool bench_gpu_run(void *kernel, const char *name, unsigned int blocks, unsigned int threads,
		   const void *job, double *us);

/* Extents of a grid, in blocks, or of a block, in threads. */
struct bench_gpu_dims {
	unsigned int x, y, z;
};

/* bench_gpu_run_shape - the same with a grid and blocks of these extents */
bool bench_gpu_run_shape(void *kernel, const char *name, struct bench_gpu_dims grid,
			 struct bench_gpu_dims block, const void *job, double *us);

#endif
