/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driven.h - a source on the fake driver: an empty log of its calls, and functions to read it.
 *
 * The fake reads its settings once per process, and Check runs each test in its own process: set
 * the environment, load, test. The fake's log has one line per call, "cuMemAlloc bytes=...
 * result=0".
 */
#ifndef MAM_TESTS_SOURCE_DRIVEN_H
#define MAM_TESTS_SOURCE_DRIVEN_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake/load.h"
#include "source/source.h"

#define MIB ((size_t)1 << 20)

static char log_path[64], calls_path[64];
static char text[16384];

static inline void set_up(void)
{
	snprintf(log_path, sizeof(log_path), "/tmp/mam-cuda-log.%d", (int)getpid());
	snprintf(calls_path, sizeof(calls_path), "/tmp/mam-cuda-calls.%d", (int)getpid());
	/* A process with the same id that died may have left them. */
	unlink(log_path);
	unlink(calls_path);
	setenv("MAM_LOG_FILE", log_path, 1);
	setenv("FAKE_CUDA_LOG", calls_path, 1);
	setenv("FAKE_CUDA_MEMORY", "256M", 1);
	unsetenv("FAKE_CUDA_FAIL_AT");
	unsetenv("FAKE_CUDA_DEVICES");
	unsetenv("MAM_LOG");
}

static inline void tear_down(void)
{
	unlink(log_path);
	unlink(calls_path);
}

static inline const char *contents(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t length = 0;

	if (file) {
		length = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[length] = '\0';
	return text;
}

/*
 * Number of calls of `name` in the fake's log since it was last cleared; `succeeded`: only those
 * that succeeded.
 */
static inline unsigned int calls_of(const char *name, bool succeeded)
{
	const size_t length = strlen(name);
	unsigned int calls = 0;
	char *rest = NULL;

	contents(calls_path);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, name, length) != 0 || line[length] != ' ')
			continue;
		if (!succeeded || strstr(line, "result=0"))
			calls++;
	}
	return calls;
}

static inline struct mam_source *driven_source(const char *name, int device)
{
	struct mam_source *source;

	ck_assert_int_eq(mam_source_create(name, device, &source), MAM_OK);
	return source;
}

static inline void *grown(struct mam_source *source, size_t bytes)
{
	void *base;

	ck_assert_int_eq(mam_source_grow(source, bytes, &base), MAM_OK);
	return base;
}

static inline struct CUctx_st *current(const struct cuda *cuda)
{
	struct CUctx_st *context;

	ck_assert_int_eq(cuda->cuCtxGetCurrent(&context), CUDA_SUCCESS);
	return context;
}

#endif
