/* SPDX-License-Identifier: Apache-2.0 */
/* space.h - how many addresses this process has mapped, in bytes: what is not given back shows. */
#ifndef TESTS_SOURCE_SPACE_H
#define TESTS_SOURCE_SPACE_H

#include <check.h>
#include <stdio.h>
#include <unistd.h>

/*
 * May a test count addresses, or have few? Not where a sanitizer maps and keeps some of its own:
 * gcc says so with a macro, clang with a feature. It is a value and no condition of the
 * preprocessor, so that tests that are left out are compiled all the same.
 */
#if defined(__has_feature)
#define SPACE_HAS(feature) __has_feature(feature)
#else
#define SPACE_HAS(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || SPACE_HAS(address_sanitizer) || \
	defined(__SANITIZE_THREAD__) || SPACE_HAS(thread_sanitizer)
#define SPACE_IS_OURS 0
#else
#define SPACE_IS_OURS 1
#endif

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
