/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugs.h - shared by the tests of the plugs: the fake driver with its own clock, and the plugs of
 * PyTorch, CuPy and RMM with a common pair of functions.
 */
#ifndef MAM_TESTS_API_PLUGS_H
#define MAM_TESTS_API_PLUGS_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <mam/plug.h>
#include <mam/stats.h>

#include "fake/load.h"
#include "suite.h"

#define MIB ((size_t)1 << 20)

static char log_path[64];
static char text[8192];
static struct cuda cuda;
static struct CUstream_st *one, *two, *three;

static inline void set_up(void)
{
	snprintf(log_path, sizeof(log_path), "/tmp/mam-plug-log.%d", (int)getpid());
	unlink(log_path);
	setenv("MAM_LOG_FILE", log_path, 1);
	setenv("MAM_SOURCE", "cudamalloc", 1);
	setenv("MAM_GROWTH", "8M", 1);
	setenv("FAKE_CUDA_MEMORY", "256M", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "10", 1);
	setenv("FAKE_CUDA_LAG_US", "1000", 1);
	unsetenv("MAM_LOG");
	unsetenv("MAM_FREE");
	unsetenv("MAM_LIMIT");
	unsetenv("FAKE_CUDA_FAIL_AT");
	unsetenv("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM");
}

/* PyTorch's default. */
static inline void set_up_mapped(void)
{
	set_up();
	setenv("MAM_SOURCE", "vmm", 1);
}

static inline void tear_down(void)
{
	unlink(log_path);
}

static inline void start(void)
{
	cuda = load();
	/* Non-blocking: no stream waits for another. */
	ck_assert_int_eq(cuda.cuStreamCreate(&one, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&two, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&three, 1), CUDA_SUCCESS);
}

static inline const char *logged(void)
{
	FILE *file = fopen(log_path, "r");
	size_t length = 0;

	if (file) {
		length = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[length] = '\0';
	return text;
}

static inline int lines(void)
{
	int count = 0;

	for (const char *at = logged(); (at = strchr(at, '\n')) != NULL; at++)
		count++;
	return count;
}

static inline struct mam_stats stats(void)
{
	struct mam_stats found = { .size = sizeof(found) };
	struct mam_pool *pool;

	ck_assert_int_eq(mam_pool_default(0, &pool), MAM_OK);
	ck_assert_int_eq(mam_pool_stats(pool, &found), MAM_OK);
	return found;
}

static inline void *alloc(size_t bytes, struct CUstream_st *stream)
{
	void *block = mam_torch_alloc((ssize_t)bytes, 0, stream);

	ck_assert_ptr_nonnull(block);
	return block;
}

static inline uint64_t use(void *block, size_t bytes, struct CUstream_st *stream)
{
	unsigned long long id;
	uint64_t due = 0;

	ck_assert_int_eq(cuda.fake_use((uintptr_t)block, bytes, stream, &id, &due), CUDA_SUCCESS);
	return due;
}

static inline void dealloc(void *block, struct CUstream_st *stream)
{
	mam_torch_free(block, 1, 0, stream);
}

/* The three interfaces, as one. */
static const struct {
	const char *name;
	bool needs_device; /* the device is a parameter */
} ways[] = { { "mam_torch_alloc", true },
	     { "mam_torch_pool_alloc", true },
	     { "mam_cupy_alloc", true },
	     { "mam_rmm_alloc", false } };

static inline void *way_alloc(int way, size_t bytes, int device, struct CUstream_st *stream)
{
	switch (way) {
	case 0: return mam_torch_alloc((ssize_t)bytes, device, stream);
	case 1: return mam_torch_pool_alloc((ssize_t)bytes, device, stream);
	case 2: return mam_cupy_alloc(stream, bytes, device);
	default: return mam_rmm_alloc(bytes, stream, NULL);
	}
}

static inline void way_free(int way, void *block, size_t bytes, int device,
			    struct CUstream_st *stream)
{
	switch (way) {
	case 0:
	case 1: mam_torch_free(block, (ssize_t)bytes, device, stream); break;
	case 2: mam_cupy_free(stream, block, device); break;
	default: mam_rmm_free(block, bytes, stream, NULL);
	}
}

#define WAYS ((int)COUNT_OF(ways))
#define CUPY (WAYS - 2)
#define RMM (WAYS - 1)
#define LEGACY ((struct CUstream_st *)1)
#define PER_THREAD ((struct CUstream_st *)2)

#endif
