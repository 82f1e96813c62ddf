/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bits.h - overflow checks and rounding for sizes and addresses.
 *
 *   mam_is_power_of_two(0) false, (1) true, (512) true, (513) false
 *   mam_round_up(1, 512) 512, (512, 512) 512, (513, 512) 1024
 *   mam_round_up_overflows(SIZE_MAX - 3, 512) true
 */
#ifndef MAM_BASE_BITS_H
#define MAM_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool mam_is_power_of_two(uint64_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

/* pre: unit is a power of two, and the sum does not overflow (see below) */
static inline uint64_t mam_round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) & ~(unit - 1);
}

static inline uint64_t mam_round_down(uint64_t value, uint64_t unit)
{
	return value & ~(unit - 1);
}

static inline bool mam_round_up_overflows(uint64_t value, uint64_t unit)
{
	return value > UINT64_MAX - (unit - 1);
}

#endif
