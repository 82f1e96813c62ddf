/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.cu - the two kernels of <mam/pattern.h>.
 *
 * Each thread handles every n-th word of 8 bytes, where n is the number of threads, so that the
 * threads of a warp access neighboring words. One thread handles the last, shorter word byte by
 * byte: no byte past the block is read or written. The compiler generates code for many
 * architectures from this file; pattern.c contains that code and launches it by name.
 */
#include "source/pattern.h"

/* The lowest offset that differs. The host sets it to all ones before a check and then reads it. */
extern "C" __device__ unsigned long long mam_pattern_bad = ~0ull;

static __device__ __forceinline__ unsigned long long first_word(void)
{
	return (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ unsigned long long stride(void)
{
	return (unsigned long long)gridDim.x * blockDim.x;
}

extern "C" __global__ void mam_pattern_fill_kernel(unsigned char *block, unsigned long long bytes,
						   unsigned long long seed)
{
	const unsigned long long whole = bytes / 8;

	for (unsigned long long i = first_word(); i <= whole; i += stride()) {
		const unsigned long long word = mam_pattern_word(seed, i);

		if (i < whole) {
			((unsigned long long *)block)[i] = word;
			continue;
		}
		for (unsigned long long at = whole * 8; at < bytes; at++)
			block[at] = (unsigned char)(word >> (at % 8 * 8));
	}
}

extern "C" __global__ void mam_pattern_check_kernel(const unsigned char *block,
						    unsigned long long bytes,
						    unsigned long long seed)
{
	const unsigned long long whole = bytes / 8;

	for (unsigned long long i = first_word(); i <= whole; i += stride()) {
		const unsigned long long word = mam_pattern_word(seed, i);
		const unsigned long long end = i < whole ? i * 8 + 8 : bytes;

		if (i < whole && ((const unsigned long long *)block)[i] == word)
			continue;
		for (unsigned long long at = i * 8; at < end; at++) {
			if (block[at] != (unsigned char)(word >> (at % 8 * 8))) {
				/* relaxed, device: the host reads it after the kernel's end */
				atomicMin(&mam_pattern_bad, at);
				break;
			}
		}
	}
}
