/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture.h - one pool on a source of its own, and helpers shared by all pool tests.
 *
 *   struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = MIB });
 *   void *a = alloc(f, 512);
 *   dealloc(f, a);
 *   fixture_end(f);
 *
 * Each helper asserts that its call succeeds. fixture_end checks the pool's invariants once more,
 * that the pool followed source.h throughout, and that it returned every chunk.
 */
#ifndef TESTS_POOL_FIXTURE_H
#define TESTS_POOL_FIXTURE_H

#include <check.h>

#include <mam/stats.h>

#include "scripted_source.h"
#include "pool/pool.h"

/* gcc defines a macro, clang has a feature test. */
#if defined(__has_feature)
#define TESTS_HAS(feature) __has_feature(feature)
#else
#define TESTS_HAS(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || TESTS_HAS(thread_sanitizer)
#define TESTS_TSAN 1
#else
#define TESTS_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__) || TESTS_HAS(address_sanitizer)
#define TESTS_ASAN 1
#else
#define TESTS_ASAN 0
#endif

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

struct fixture {
	struct space space;
	struct mam_pool *pool;
};

/* fixture_new - the source uses SPACE_UP with granularity and alignment 512. */
struct fixture *fixture_new(const struct mam_pool_config *config);
/* fixture_on - the same with another layout, granularity, alignment and total (0: the defaults). */
struct fixture *fixture_on(const struct mam_pool_config *config, enum space_layout layout,
			   size_t granularity, size_t alignment, size_t total_bytes);
/* fixture_end - drops live blocks together with the pool. */
void fixture_end(struct fixture *fixture);

void *alloc(struct fixture *fixture, size_t bytes);
void *alloc_aligned(struct fixture *fixture, size_t bytes, size_t alignment);
void dealloc(struct fixture *fixture, void *block);
/*
 * refused - the request must fail with this status, leave its output unchanged and the pool intact.
 */
void refused(struct fixture *fixture, size_t bytes, size_t alignment, enum mam_status status);
/* kept - the free must return this status and change nothing. */
void kept(struct fixture *fixture, void *block, enum mam_status status);
void intact(struct fixture *fixture);
struct mam_stats stats_of(struct fixture *fixture);
/* at - the address `bytes` above a block */
void *at(void *block, ptrdiff_t bytes);

/*
 * picture - the segments as text: a letter and the size in units for each, with "|" between chunks:
 * "L2 F1 | L4 F9".
 */
const char *picture(struct fixture *fixture, size_t unit);
#define ck_assert_picture(fixture, unit, text) ck_assert_str_eq(picture((fixture), (unit)), (text))

/*
 * suite_begin, suite_end - main() of a suite with one test case: its name, its tests, the run and
 * the exit status.
 */
TCase *suite_begin(const char *name);
int suite_end(void);

#endif
