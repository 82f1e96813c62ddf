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
 * mam_profile_stop - end the profile. The file is complete afterwards; events of calls that other
 * threads are making may be missing. exit() ends it, too; so do _exit() and quick_exit(), but without
 * mam run the last events are then missing. Errors: INVALID_VALUE (mam_profile_start() began none,
 * or mam ctl has ended it).
 */
MAM_API enum mam_status mam_profile_stop(void);

#ifdef __cplusplus
}
#endif
#endif
