/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.h - write a pattern into device memory, and see whether it is still there.
 *
 * For tests and for people who look for a stray write: fill a block, let the suspect run, check the
 * block. The pattern is a function of the seed and the place in the block alone, so two blocks with
 * different seeds that overlap show it, and a check needs no copy of what was written.
 *
 * Both calls run a kernel in the context that owns the block, on all of its multiprocessors, and
 * return when all work of that context is done. They must not be made by a thread that is capturing
 * a stream. A mam that was built without a CUDA toolkit has no kernels and answers UNSUPPORTED.
 */
#ifndef MAM_PATTERN_H
#define MAM_PATTERN_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * mam_pattern_fill - write the pattern of `seed` over `bytes` bytes of device memory from `block`,
 * an address that is a multiple of 8 (else INVALID_VALUE). bytes 0: MAM_OK, nothing is done.
 * Errors: UNSUPPORTED (no kernels, or none for this GPU), NO_DEVICE, INVALID_VALUE (also: no device
 * memory), DRIVER.
 */
MAM_API enum mam_status mam_pattern_fill(void *block, size_t bytes, uint64_t seed);

/*
 * mam_pattern_check - is what mam_pattern_fill() wrote still there? `bad_offset` receives the lowest
 * offset in bytes that differs and is left alone when `*intact` becomes true; it may be NULL.
 * bytes 0: intact. Errors as above.
 */
MAM_API enum mam_status mam_pattern_check(void *block, size_t bytes, uint64_t seed, bool *intact,
					  size_t *bad_offset);

#ifdef __cplusplus
}
#endif
#endif
