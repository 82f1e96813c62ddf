/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filename.h - file names that differ by process. Shared by the interposer and the
 * command; not installed.
 *
 *   %p  the process ID
 *   %r  the rank of the process (mam_filename_rank()); without a rank "pid" and the process ID,
 *       which no rank can equal
 *   %h  the host name
 *   %%  a percent sign
 *
 * Other percent signs stand for themselves. These functions do not allocate memory.
 */
#ifndef MAM_FILENAME_H
#define MAM_FILENAME_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mam_filename_part {
	MAM_FILENAME_PROCESS = 1 << 0, /* the pattern contains %p */
	MAM_FILENAME_RANK = 1 << 1     /* the pattern contains %r */
};

/*
 * Writes the name that a pattern stands for in this process. Returns the parts that the pattern
 * contains, or -1 if the name needs more than `bytes`, its final NUL included.
 */
int mam_filename_expand(const char *pattern, size_t bytes, char *name);

/*
 * The script that an interpreter runs: the last part of its path, or the name of a Python module.
 * `arguments`: those of the process, each with a NUL, as in /proc/PID/cmdline; the last one may be
 * incomplete. NULL: the program is not Python, or runs no script.
 */
const char *mam_filename_script(const char *arguments, size_t bytes);

/*
 * Returns the rank of this process in a parallel program: the first of these variables that is a
 * number of at most nine digits: RANK (torchrun), OMPI_COMM_WORLD_RANK (Open MPI), PMIX_RANK,
 * PMI_RANK (MPICH, Intel MPI), SLURM_PROCID (srun). -1: none is.
 *
 * A launcher that starts another one sets its variable too, so that of the inner one is first.
 */
long mam_filename_rank(void);

#ifdef __cplusplus
}
#endif

#endif
