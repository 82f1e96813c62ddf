/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.h - write a pattern into device memory, and check whether it is intact.
 *
 * For tests and for debugging stray writes: fill a block, run the suspect, check the block. The
 * pattern depends only on the seed and the offset in the block. So overlapping blocks with
 * different seeds are detected, and a check needs no copy of the written data.
 *
 * Both calls run a kernel in the context that owns the block, on all of its multiprocessors, and
 * return when all work of that context is done. A thread that is capturing a stream must not make
 * them. A mam that was built without a CUDA toolkit has no kernels and returns UNSUPPORTED.
 */
#ifndef MAM_PATTERN_H
#define MAM_PATTERN_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * mam_pattern_fill - write the pattern of `seed` over `bytes` bytes of device memory at `block`, an
 * address that must be a multiple of 8. bytes 0: MAM_OK, a no-op. Errors: UNSUPPORTED (no kernels,
 * or none for this GPU), NO_DEVICE, INVALID_VALUE (the alignment; not device memory), DRIVER.
 */
MAM_API enum mam_status mam_pattern_fill(void *block, size_t bytes, uint64_t seed);

/*
 * mam_pattern_check - check whether the pattern of mam_pattern_fill() is intact. `bad_offset` (may
 * be NULL) receives the lowest offset in bytes that differs, and is not written if `*intact`
 * becomes true. bytes 0: intact. Errors as above.
 */
MAM_API enum mam_status mam_pattern_check(void *block, size_t bytes, uint64_t seed, bool *intact,
					  size_t *bad_offset);

#ifdef __cplusplus
}
#endif
#endif
