/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.cu - the two kernels behind <mam/pattern.h>.
 *
 * Each thread takes every n-th word of 8 bytes, n being the number of threads, so that the threads
 * of a warp touch neighbouring words. The thread whose turn the last, shorter word is does it byte
 * by byte: not one byte past the block is read or written. The compiler makes code for many
 * architectures of this file; pattern.c carries it and starts it by name.
 */
#include "source/pattern.h"

/* The lowest offset that differs. The host sets it to all ones before a check and reads it after. */
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
