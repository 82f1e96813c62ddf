/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - may a heap grow in this process, or is a tool at work under which that goes wrong?
 *
 *   tool                  found by                              why a heap does not grow
 *   Nsight Compute (ncu)  its library, or what it leaves in     it runs a kernel several times, and
 *                         the environment                       puts device memory back in between:
 *                                                               what the host gave is lost then
 *   compute-sanitizer     the same                              memory that came while a kernel ran
 *                                                               is out of bounds: the kernel ends
 *   cuda-gdb              the process's tracer                  the host gets no memory in the time
 *                                                               for which kernels wait
 *
 * The three were seen on an H100 with CUDA 13. Nsight Systems, and debuggers of the host alone,
 * change nothing that matters here.
 *
 * Whether ncu replays kernels, ranges or the whole application is not to be seen from inside; in
 * the last case kernels run once a process. What a sanitizer says of a heap whose pool has had all
 * its memory before the kernel began, is right. And a profiler that a program makes of CUPTI's
 * replay itself looks like any program with CUPTI. Therefore MAM_HEAP_GROWTH: on or off, whatever
 * is found.
 */
#ifndef MAM_HEAP_REPLAY_H
#define MAM_HEAP_REPLAY_H

#include <stdbool.h>

/* mam_replay_tool - the name of the tool that is at work here, or NULL. */
const char *mam_replay_tool(void);

/* mam_replay_lets_grow - by option or by what is found; false is logged, once a process. */
bool mam_replay_lets_grow(void);

#endif
