/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h - the GPU calls that benchmarks of kernels need: memory, copies, and running a kernel to
 * its end under a time limit.
 *
 * After the first error every call returns false, and bench_gpu_trouble() has the error: results of
 * a failed device are not reliable. All calls must be in one thread.
 */
#ifndef MAM_TOOLS_BENCH_GPU_H
#define MAM_TOOLS_BENCH_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * bench_gpu_start - call once. `heap_bytes`: the size of CUDA's own in-kernel heap, which must be
 * set before a module is loaded; 0: unchanged. Returns false with one sentence in `why`.
 */
bool bench_gpu_start(uint64_t heap_bytes, char *why, size_t why_bytes);
/*
 * bench_gpu_limit - seconds after which a kernel is considered hung; BENCH_GRACE in the environment
 * overrides them
 */
unsigned int bench_gpu_limit(void);
/* bench_gpu_warm - make a first launch, which is slow; after modules are loaded */
bool bench_gpu_warm(void);
/* bench_gpu_stop - restore what start changed */
void bench_gpu_stop(void);
/* bench_gpu_trouble - return one sentence; "" without an error */
const char *bench_gpu_trouble(void);
/* bench_gpu_fail - record an error found by the caller; the first one stays */
void bench_gpu_fail(const char *sentence);

/*
 * bench_gpu_module - load a fat binary; NULL with one sentence in `why`, without recording an error
 */
void *bench_gpu_module(const void *image, char *why, size_t why_bytes);
/* bench_gpu_kernel - find a kernel of a module; NULL if it has none of this name */
void *bench_gpu_kernel(void *module, const char *name);
/* bench_gpu_registers - registers per thread of this kernel; 0: unknown */
unsigned int bench_gpu_registers(void *kernel);
/* bench_gpu_sms - SMs of the device; 0: unknown */
unsigned int bench_gpu_sms(void);
/* bench_gpu_warps - maximum warps that the device runs at once; 0: unknown */
unsigned int bench_gpu_warps(void);
/*
 * bench_gpu_resident - number of blocks of `threads` threads of this kernel that run at the same
 * time on an otherwise idle device; 0: unknown, or not a single one fits
 */
unsigned int bench_gpu_resident(void *kernel, unsigned int threads);

uint64_t bench_gpu_free_bytes(void);
/* bench_gpu_take - allocate; NULL if memory is short, which is not recorded as an error */
void *bench_gpu_take(uint64_t bytes);
/* bench_gpu_give - free, except after an error: a kernel may still be using the memory */
void bench_gpu_give(void *memory);

/* All of these are synchronous, except bench_gpu_copy(). */
bool bench_gpu_fill(void *memory, unsigned char value, uint64_t bytes);
bool bench_gpu_put(void *to, const void *from, uint64_t bytes);   /* from the host */
bool bench_gpu_fetch(void *to, const void *from, uint64_t bytes); /* to the host */
bool bench_gpu_copy(void *to, const void *from, uint64_t bytes);

/*
 * bench_gpu_run - run `kernel` with `blocks` blocks of `threads` threads and `job`, its one
 * parameter, to its end. `name` is for messages. `us`: the time between an event before it and one
 * after it; may be NULL.
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
