/* SPDX-License-Identifier: Apache-2.0 */
/* widen.h - arrays that grow. */
#ifndef TOOLS_WIDEN_H
#define TOOLS_WIDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * widen - make room for one more element in an array with `count` elements of `each` bytes. `array`
 * is the address of the pointer to it, and `*room` the number of elements that fit, 0 at first. False:
 * out of memory, or too many elements; the array is unchanged.
 */
bool widen(void *array, size_t count, size_t *room, size_t each);

/* widen_32 - the same for counts of 32 bits. */
bool widen_32(void *array, uint32_t count, uint32_t *room, size_t each);

#endif
