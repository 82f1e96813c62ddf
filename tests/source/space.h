/* SPDX-License-Identifier: Apache-2.0 */
/* space.h - how many bytes of addresses this process has mapped, to detect leaks. */
#ifndef TESTS_SOURCE_SPACE_H
#define TESTS_SOURCE_SPACE_H

#include <check.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Whether a test may measure or limit the address space. Not under a sanitizer, which maps and
 * keeps memory of its own: gcc defines a macro for that, clang has a feature test. It is a value
 * and not a condition of the preprocessor, so that skipped tests are still compiled.
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
