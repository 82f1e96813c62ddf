/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiler.h - whether a heap may grow in this process, or a tool is active under which that fails.
 *
 *   tool                  detected by                           why a heap does not grow
 *   Nsight Compute (ncu)  its library, or its variables in      it runs a kernel several times, and
 *                         the environment                       restores device memory in between:
 *                                                               grants from the host are lost then
 *   compute-sanitizer     the same                              memory granted during a kernel is
 *                                                               out of bounds: the kernel aborts
 *   cuda-gdb              the process's tracer                  the host gets no memory in the time
 *                                                               for which kernels wait
 *
 * The three were seen on an H100 with CUDA 13. Nsight Systems, and debuggers of the host only,
 * change nothing that matters here.
 *
 * A process cannot detect whether ncu replays kernels, ranges or the whole application; in the last
 * case kernels run once per process. A sanitizer's reports are right for a heap whose pool had all
 * its memory before the kernel started. And a profiler that a program builds from CUPTI's replay
 * looks like any program with CUPTI. Therefore MAM_HEAP_GROWTH: on or off, whatever is detected.
 */
#ifndef MAM_HEAP_HOST_PROFILER_H
#define MAM_HEAP_HOST_PROFILER_H

#include <stdbool.h>

/* mam_profiler_tool - returns the name of the active tool, or NULL. */
const char *mam_profiler_tool(void);

/*
 * mam_profiler_lets_grow - returns whether heaps may grow, by option or by detection; false is logged
 * once per process.
 */
bool mam_profiler_lets_grow(void);

#endif
