/* SPDX-License-Identifier: Apache-2.0 */
/* space.h - how many addresses this process has mapped, in bytes: what is not given back shows. */
#ifndef TESTS_SOURCE_SPACE_H
#define TESTS_SOURCE_SPACE_H

#include <check.h>
#include <stdio.h>
#include <unistd.h>

static inline size_t address_space(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages * (size_t)getpagesize();
}

#endif
