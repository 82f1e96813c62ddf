/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scene.h - a pool of device memory on the fake driver, streams that lag, and helpers shared by all
 * stream tests.
 *
 *     struct scene *s = scene_new(0);
 *     void *a = alloc(s, MIB, s->one);
 *     work(s, a, MIB, s->one);
 *     dealloc(s, a, s->one);
 *     scene_end(s);
 *
 * The fake has its own clock: a piece of work takes one millisecond of it, a driver call ten
 * nanoseconds, and only waits advance it. So work is unfinished until a test or mam waits.
 *
 * Each helper asserts that its call succeeds. scene_end checks the pool's metadata, that no memory
 * was released or used by other work while work used it, and that no event is left.
 */
#ifndef TESTS_STREAM_SCENE_H
#define TESTS_STREAM_SCENE_H

#include "fake/load.h"

#include <mam/stats.h>
#include <mam/stream.h>

#include "stream/stream.h"

#define MIB ((size_t)1 << 20)

struct scene {
	struct cuda cuda;
	struct mam_pool *pool;
	struct CUstream_st *one, *two; /* non-blocking */
};

/* scene_new - limit_bytes 0: all memory of the device, 256 MiB. Chunks of 8 MiB. */
struct scene *scene_new(size_t limit_bytes);
/* scene_on - the same on another source, by name. */
struct scene *scene_on(const char *source, size_t limit_bytes);
/* scene_with - the same for a pool with these attributes; without thread caches by default. */
struct scene *scene_with(const struct mam_pool_attr *attr);
void scene_end(struct scene *s);

struct CUstream_st *stream_new(struct scene *s);
void stream_end(struct scene *s, struct CUstream_st *stream);

void *alloc(struct scene *s, size_t bytes, struct CUstream_st *stream);
void dealloc(struct scene *s, void *block, struct CUstream_st *stream);
/* refused - the free must return this status and change nothing. */
void refused(struct scene *s, void *block, struct CUstream_st *stream, enum mam_status status);

void work(struct scene *s, void *block, size_t bytes, struct CUstream_st *stream);
int pending(struct scene *s, void *block, size_t bytes);
void finish(struct scene *s, struct CUstream_st *stream);

struct mam_stats stats_of(struct scene *s);
void intact(struct scene *s);
/* calls - number of calls of the driver's function since the last calls_forget(). */
unsigned calls(const char *name);
void calls_forget(void);
int events(struct scene *s);
/* capture_begin, capture_end - the end asserts whether the capture is still valid. */
void capture_begin(struct scene *s, struct CUstream_st *stream, int mode);
void capture_end(struct scene *s, struct CUstream_st *stream, bool sound);

int suite_run(const char *name, void (*add)(TCase *tests));

#endif
