/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mix.h - pseudorandom numbers that are the same on the host and in kernels.
 */
#ifndef MAM_TOOLS_BENCH_MIX_H
#define MAM_TOOLS_BENCH_MIX_H

#include "device/port.h"

MAM_KBOTH uint32_t bench_mix(uint32_t x)
{
	x = (x ^ (x >> 16)) * 0x7feb352du;
	x = (x ^ (x >> 15)) * 0x846ca68bu;
	return x ^ (x >> 16);
}

/*
 * The i-th of `count` places in a fixed random order; i is below count, and no place occurs twice.
 * Multiplication by an odd number, and xor with a right shift, are bijections on numbers of that
 * many bits; a result outside the places is mapped again.
 */
MAM_KBOTH uint32_t bench_place(uint32_t i, uint32_t count)
{
	uint32_t mask = 1, bits = 1, half;

	for (; mask < count - 1; bits++)
		mask = mask * 2 + 1;
	half = (bits + 1) / 2;
	do {
		i = (i * 0x9e3779b1u + 0x3c6ef372u) & mask;
		i ^= i >> half;
		i = (i * 0x85ebca6bu) & mask;
		i ^= i >> half;
		i = (i * 0xc2b2ae35u) & mask;
		i ^= i >> half;
	} while (i >= count);
	return i;
}

#endif
