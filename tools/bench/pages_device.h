/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_device.h - the few things that `mam bench pages` asks of a device: memory, copies, and a
 * kernel that runs to its end while somebody looks at the clock.
 *
 * After the first thing that goes wrong every call answers false, and pages_device_trouble() says
 * what it was: a device that has failed says nothing more that could be believed. Tests have
 * another one behind these calls, the simulator.
 */
#ifndef MAM_TOOLS_BENCH_PAGES_DEVICE_H
#define MAM_TOOLS_BENCH_PAGES_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pages_job;

/* pages_device_start - once. `heap_bytes`: what CUDA's own in-kernel heap is to have; 0: as it is.
 * False: one sentence in `why`. */
bool pages_device_start(uint64_t heap_bytes, char *why, size_t why_bytes);
/* pages_device_stop - puts back what start changed */
void pages_device_stop(void);
/* pages_device_trouble - one sentence; "" while all is well */
const char *pages_device_trouble(void);

/* pages_device_has - is there a kernel of this name? */
bool pages_device_has(const char *kernel);
/* pages_device_registers - of a thread of this kernel; 0: not known */
unsigned int pages_device_registers(const char *kernel);
uint64_t pages_device_free_bytes(void);
/* pages_device_take - NULL: so much is not to be had, which is no trouble */
void *pages_device_take(uint64_t bytes);
/* pages_device_give - but not after a trouble: a kernel may be using it still */
void pages_device_give(void *memory);

/* All of these wait until it is done, but pages_device_copy(). */
bool pages_device_fill(void *memory, unsigned char value, uint64_t bytes);
bool pages_device_put(void *to, const void *from, uint64_t bytes);   /* from the host */
bool pages_device_fetch(void *to, const void *from, uint64_t bytes); /* to the host */
bool pages_device_copy(void *to, const void *from, uint64_t bytes);

/*
 * pages_device_run - `kernel` with blocks of PAGES_BLOCK for so many threads, to its end. `us`:
 * what lay between an event before it and one behind it; may be NULL.
 */
bool pages_device_run(const char *kernel, uint64_t threads, const struct pages_job *job,
		      double *us);

#endif
