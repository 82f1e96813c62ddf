/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.h - the return addresses of the calling thread's stack, fast.
 *
 *   1. libunwind's unw_backtrace() remembers for each return address how to find the next frame. It
 *      is loaded at the first stack, for mam alone (RTLD_LOCAL).
 *   2. If libunwind.so.8 is missing, or while another thread loads it, or under ThreadSanitizer, the C
 *      library's backtrace() unwinds.
 *   3. libunwind 1.6 never forgets an address. After code that was on a stack is unloaded, other
 *      code may be loaded there, and libunwind would read wild addresses. From then on backtrace()
 *      unwinds. The same applies to the child of a fork if another thread was in libunwind, whose
 *      locks would stay taken.
 *
 * It needs about 10 KiB of stack while a library is loaded, and then 2 KiB: the caller provides them
 * (altstack.h).
 * No lock is held while a library is loaded: a thread that allocates in a constructor holds the
 * dynamic linker's lock and may wait for mam's.
 * Measured, for stacks of 10, 30, 60 and 100 frames: libunwind 1.6.2 takes 0.12, 0.28, 0.55 and 0.9
 * us, backtrace() of glibc 2.36 takes 2 to 7, 16, 39 and 67 us, so that both are here.
 */
#ifndef MAM_INTERPOSE_UNWIND_H
#define MAM_INTERPOSE_UNWIND_H

#include <stddef.h>

/* Returns the number of frames, innermost first, mam's own included. Any thread; no lock. */
size_t mam_unwind(void **frames, size_t max);

/* Called when code that was on a stack has been unloaded, before the next mam_unwind(). */
void mam_unwind_distrust(void);

/* Called in the child of a fork. */
void mam_unwind_restart(void);

#endif
