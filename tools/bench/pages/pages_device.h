/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_device.h - the device calls that `mam bench pages` needs: memory, copies, and running a
 * kernel to its end under a time limit.
 *
 * After the first error every call returns false, and pages_device_trouble() has the error: results
 * of a failed device are not reliable. Tests implement these calls by the simulator.
 */
#ifndef MAM_TOOLS_BENCH_PAGES_DEVICE_H
#define MAM_TOOLS_BENCH_PAGES_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pages_job;

/*
 * pages_device_start - call once. `heap_bytes`: the size of CUDA's own in-kernel heap; 0:
 * unchanged. Returns false with one sentence in `why`.
 */
bool pages_device_start(uint64_t heap_bytes, char *why, size_t why_bytes);
/* pages_device_stop - restore what start changed */
void pages_device_stop(void);
/* pages_device_trouble - return one sentence; "" without an error */
const char *pages_device_trouble(void);

/* pages_device_has - return true if there is a kernel of this name */
bool pages_device_has(const char *kernel);
/* pages_device_registers - registers per thread of this kernel; 0: unknown */
unsigned int pages_device_registers(const char *kernel);
uint64_t pages_device_free_bytes(void);
/* pages_device_take - allocate; NULL if memory is short, which is not recorded as an error */
void *pages_device_take(uint64_t bytes);
/* pages_device_give - free, except after an error: a kernel may still be using the memory */
void pages_device_give(void *memory);

/* All of these are synchronous, except pages_device_copy(). */
bool pages_device_fill(void *memory, unsigned char value, uint64_t bytes);
bool pages_device_put(void *to, const void *from, uint64_t bytes);   /* from the host */
bool pages_device_fetch(void *to, const void *from, uint64_t bytes); /* to the host */
bool pages_device_copy(void *to, const void *from, uint64_t bytes);

/*
 * pages_device_run - run `kernel` with blocks of PAGES_BLOCK for `threads` threads, to its end.
 * `us`: the time between an event before it and one after it; may be NULL.
 */
bool pages_device_run(const char *kernel, uint64_t threads, const struct pages_job *job,
		      double *us);

#endif
