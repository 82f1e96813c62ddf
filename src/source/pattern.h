/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.h - the pattern itself, shared by the kernels and the tests that read it on the host.
 */
#ifndef MAM_SOURCE_PATTERN_H
#define MAM_SOURCE_PATTERN_H

#ifdef __CUDACC__
#define MAM_PATTERN_SIDE static __device__ __forceinline__
#else
#define MAM_PATTERN_SIDE static inline
#endif

/*
 * Word `index` of 8 bytes, lowest byte first; a block that ends inside a word holds its low bytes.
 * Each word adds the golden ratio and applies the mixer of Steele, Lea and Flood, "Fast Splittable
 * Pseudorandom Number Generators", OOPSLA 2014: each bit of the seed and of the index affects each
 * bit of the word, so shifted or swapped blocks differ everywhere.
 */
MAM_PATTERN_SIDE unsigned long long mam_pattern_word(unsigned long long seed,
						     unsigned long long index)
{
	unsigned long long word = seed + (index + 1) * 0x9e3779b97f4a7c15ull;

	word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
	word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
	return word ^ (word >> 31);
}

#endif
