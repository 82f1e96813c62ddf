/* SPDX-License-Identifier: Apache-2.0 */
/* ctl_whole.h - suspend a whole process by the driver's checkpoint, and resume it. */
#ifndef TOOLS_CTL_WHOLE_H
#define TOOLS_CTL_WHOLE_H

#include <stdbool.h>

enum ctl_whole {
	CTL_WHOLE_DONE,
	CTL_WHOLE_RUNS,    /* the process uses CUDA, and is not suspended as a whole */
	CTL_WHOLE_UNKNOWN, /* there is no such process or driver, or the process does not use CUDA */
	CTL_WHOLE_FAILED   /* reported */
};

/*
 * ctl_whole_suspend - hold all CUDA calls of a process, and let the driver move all of its memory to
 * the host. Returns whether it did; otherwise the process runs, or the error says that it cannot. A
 * SIGINT, SIGTERM, SIGHUP or SIGQUIT ends the command, with the process running or suspended.
 */
bool ctl_whole_suspend(long long process);

/* ctl_whole_resume - let a process continue that was suspended or left with held calls. */
enum ctl_whole ctl_whole_resume(long long process);

#endif
