/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture.h - one pool on a ground of its own, and the few lines every pool test would repeat.
 *
 *   struct fixture *f = fixture_new(&(struct mam_pool_config){ .chunk_bytes = MIB });
 *   void *a = take(f, 512);
 *   give(f, a);
 *   fixture_end(f);
 *
 * Each helper asserts what it says. fixture_end proves the pool's invariants once more, that the pool kept to
 * source.h throughout, and that every chunk went back.
 */
#ifndef TESTS_POOL_FIXTURE_H
#define TESTS_POOL_FIXTURE_H

#include <check.h>

#include <mam/stats.h>

#include "scripted_source.h"
#include "pool/pool.h"

/* gcc says it with a macro, clang with a feature. */
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

/* fixture_new - the ground is SPACE_UP with granularity and alignment 512. */
struct fixture *fixture_new(const struct mam_pool_config *config);
/* fixture_on - the same in another layout, granularity, alignment and total (0: the defaults). */
struct fixture *fixture_on(const struct mam_pool_config *config, enum space_layout layout,
			   size_t granularity, size_t alignment, size_t total_bytes);
/* fixture_end - live blocks are dropped with the pool. */
void fixture_end(struct fixture *fixture);

void *take(struct fixture *fixture, size_t bytes);
void *take_aligned(struct fixture *fixture, size_t bytes, size_t alignment);
void give(struct fixture *fixture, void *block);
/* refused - the request gets no block but this status, leaves its output alone and the pool in order. */
void refused(struct fixture *fixture, size_t bytes, size_t alignment, enum mam_status status);
/* kept - the free gets this status and changes nothing. */
void kept(struct fixture *fixture, void *block, enum mam_status status);
void intact(struct fixture *fixture);
struct mam_stats stats_of(struct fixture *fixture);
/* at - the address so many bytes above a block */
void *at(void *block, ptrdiff_t bytes);

/* picture - the segments as text, one letter a segment and its bytes in units: "L2 F1 | L4 F9", chunks divided. */
const char *picture(struct fixture *fixture, size_t unit);
#define ck_assert_picture(fixture, unit, text) ck_assert_str_eq(picture((fixture), (unit)), (text))

/* suite_begin, suite_end - a main of one test case: its name, its tests, run and the exit status. */
TCase *suite_begin(const char *name);
int suite_end(void);

#endif
