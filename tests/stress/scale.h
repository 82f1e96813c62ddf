/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scale.h - which share of a stress test's work is done: all of it, or less if a sanitizer makes
 * each step slow, or if the library checks all its invariants after each step.
 */
#ifndef TESTS_STRESS_SCALE_H
#define TESTS_STRESS_SCALE_H

#include <stddef.h>
#include <stdlib.h>

#ifndef MAM_DEBUG
#define MAM_DEBUG 0
#endif

/* gcc defines a macro, clang has a feature test. */
#if defined(__has_feature)
#define STRESS_HAS(feature) __has_feature(feature)
#else
#define STRESS_HAS(feature) 0
#endif

#if defined(__SANITIZE_THREAD__) || STRESS_HAS(thread_sanitizer)
#define STRESS_SHARE 50
#define STRESS_TSAN 1
#elif defined(STRESS_SHORT) /* tools/check without --all */
#define STRESS_SHARE 10
#elif defined(__SANITIZE_ADDRESS__) || STRESS_HAS(address_sanitizer)
#define STRESS_SHARE 10
#elif MAM_DEBUG >= 2
#define STRESS_SHARE 20
#else
#define STRESS_SHARE 1
#endif

#ifndef STRESS_TSAN
#define STRESS_TSAN 0
#endif

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static inline unsigned long long from_environment(const char *name, unsigned long long preset)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 10) : preset;
}

#endif
