/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - record which code allocates memory of the GPU, between two calls. `mam profile` shows
 * the file; mam-trace.5 describes it.
 *
 * The profile has the blocks of this library's pools, of all threads: those of mam_malloc() and
 * mam_malloc_async(), and therefore of PyTorch, CuPy, Numba and RMM with mam plugged in. Under mam
 * run, it also has what the program allocates with CUDA's functions. A process records one file at a
 * time: for mam run --profile or --trace, for mam ctl, or for these calls. The child of a fork does
 * not continue its parent's profile. Any thread may call them.
 */
#ifndef MAM_PROFILE_H
#define MAM_PROFILE_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * mam_profile_start - begin to record into a file, which is created or replaced. rate 0: all
 * allocations; otherwise, one per that many bytes on average, chosen at random, as mam run
 * --profile-rate does. Blocks that are allocated before are not in the profile, nor are their frees.
 * Errors: INVALID_VALUE (no file name), UNSUPPORTED (the process records a file already, or has
 * MAM_DISABLE=1 under mam run, or libmam-preload.so, which records, cannot be loaded: a message gives
 * the reason), WOULD_WAIT (a thread has not finished its event or write of the last file), IO (the
 * file cannot be written; a message gives the reason).
 */
MAM_API enum mam_status mam_profile_start(const char *file, uint64_t rate);

/*
 * mam_profile_dump - write all events until now to the file, which can then be copied and read by any
 * program, and continue. Until it is called, the newest events are in another file, FILE.ring, where
 * mam profile and mam replay find them, but without their tags. It waits for the disk. Errors:
 * INVALID_VALUE (mam_profile_start() began no profile, or mam ctl has ended it), IO (the file could
 * not be written and ends earlier; a message has the reason).
 */
MAM_API enum mam_status mam_profile_dump(void);

/*
 * mam_profile_stop - end the profile. The file is complete afterwards, and FILE.ring is removed;
 * events of calls that other threads are making may be missing. exit() ends it, too. After _exit(),
 * quick_exit() without mam run, or a signal that kills the process, FILE.ring remains: see
 * mam_profile_dump(). Errors: INVALID_VALUE (mam_profile_start() began none, or mam ctl has ended it).
 */
MAM_API enum mam_status mam_profile_stop(void);

#ifdef __cplusplus
}
#endif
#endif
