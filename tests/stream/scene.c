/* SPDX-License-Identifier: Apache-2.0 */
/* scene.c - see scene.h. */
#include "scene.h"

#include <string.h>
#include <unistd.h>

#define NON_BLOCKING 1

static char log_path[64];

static void set_up(void)
{
	snprintf(log_path, sizeof(log_path), "/tmp/mam-stream-calls.%d", (int)getpid());
	unlink(log_path);
	setenv("FAKE_CUDA_LOG", log_path, 1);
	setenv("FAKE_CUDA_MEMORY", "256M", 1);
	setenv("FAKE_CUDA_LAG_US", "1000", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "10", 1);
	unsetenv("FAKE_CUDA_FAIL_AT");
	unsetenv("FAKE_CUDA_DEVICES");
}

static void tear_down(void)
{
	unlink(log_path);
}

struct scene *scene_new(size_t limit_bytes)
{
	return scene_on("cudamalloc", limit_bytes);
}

struct scene *scene_on(const char *source, size_t limit_bytes)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	attr.source = source;
	attr.growth_bytes = 8 * MIB;
	attr.limit_bytes = limit_bytes;
	return scene_with(&attr);
}

struct scene *scene_with(const struct mam_pool_attr *attr)
{
	struct mam_pool_attr scene_attr = *attr;
	struct scene *s = calloc(1, sizeof(*s));

	ck_assert_ptr_nonnull(s);
	s->cuda = load();
	s->one = stream_new(s);
	s->two = stream_new(s);
	if (scene_attr.cache == MAM_CACHE_DEFAULT)
		scene_attr.cache = MAM_CACHE_OFF;
	ck_assert_int_eq(mam_pool_create(&scene_attr, &s->pool), MAM_OK);
	calls_forget();
	return s;
}

void scene_end(struct scene *s)
{
	unsigned long long address = 0;
	size_t bytes = 0;

	intact(s);
	ck_assert_int_eq(mam_pool_destroy(s->pool), MAM_OK);
	ck_assert_int_eq(events(s), 0);
	ck_assert_msg(s->cuda.fake_disturbed(&address, &bytes) == 0,
		      "memory was released while work used it");
	ck_assert_msg(s->cuda.fake_crossed() == 0, "two streams used memory at the same time");
	free(s);
}

struct CUstream_st *stream_new(struct scene *s)
{
	struct CUstream_st *stream;

	ck_assert_int_eq(s->cuda.cuStreamCreate(&stream, NON_BLOCKING), CUDA_SUCCESS);
	return stream;
}

void stream_end(struct scene *s, struct CUstream_st *stream)
{
	ck_assert_int_eq(s->cuda.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

void *alloc(struct scene *s, size_t bytes, struct CUstream_st *stream)
{
	void *block = NULL;

	ck_assert_int_eq(mam_malloc_async(s->pool, bytes, stream, &block), MAM_OK);
	ck_assert_ptr_nonnull(block);
	return block;
}

void dealloc(struct scene *s, void *block, struct CUstream_st *stream)
{
	ck_assert_int_eq(mam_free_async(s->pool, block, stream), MAM_OK);
}

void refused(struct scene *s, void *block, struct CUstream_st *stream, enum mam_status status)
{
	struct mam_stats before = stats_of(s), after;

	ck_assert_int_eq(mam_free_async(s->pool, block, stream), status);
	after = stats_of(s);
	/* A stream that the pool sees for the first time has metadata from then on. */
	ck_assert_uint_ge(after.host_bytes, before.host_bytes);
	after.host_bytes = before.host_bytes;
	ck_assert_mem_eq(&before, &after, sizeof(before));
	intact(s);
}

void work(struct scene *s, void *block, size_t bytes, struct CUstream_st *stream)
{
	unsigned long long id;
	uint64_t due;

	ck_assert_int_eq(s->cuda.fake_use((uintptr_t)block, bytes, stream, &id, &due),
			 CUDA_SUCCESS);
}

int pending(struct scene *s, void *block, size_t bytes)
{
	return s->cuda.fake_pending((uintptr_t)block, bytes);
}

void finish(struct scene *s, struct CUstream_st *stream)
{
	ck_assert_int_eq(s->cuda.cuStreamSynchronize(stream), CUDA_SUCCESS);
}

struct mam_stats stats_of(struct scene *s)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(s->pool, &stats), MAM_OK);
	return stats;
}

void intact(struct scene *s)
{
	char why[256] = "";

	ck_assert_msg(mam_pool_check(s->pool, why, sizeof(why)) == MAM_OK, "%s", why);
}

unsigned calls(const char *name)
{
	size_t length = strlen(name);
	char line[512];
	FILE *file = fopen(log_path, "r");
	unsigned count = 0;

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file) != NULL)
		count += strncmp(line, name, length) == 0 && line[length] == ' ';
	fclose(file);
	return count;
}

void calls_forget(void)
{
	if (getenv("FAKE_CUDA_LOG") != NULL)
		ck_assert_int_eq(truncate(log_path, 0), 0);
}

int events(struct scene *s)
{
	struct fake_held held;

	s->cuda.fake_holds(&held);
	return held.events;
}

void capture_begin(struct scene *s, struct CUstream_st *stream, int mode)
{
	ck_assert_int_eq(s->cuda.cuStreamBeginCapture_v2(stream, mode), CUDA_SUCCESS);
}

void capture_end(struct scene *s, struct CUstream_st *stream, bool sound)
{
	struct CUgraph_st *graph = NULL;
	int result = s->cuda.cuStreamEndCapture(stream, &graph);

	ck_assert_int_eq(result == CUDA_SUCCESS, sound);
	if (result == CUDA_SUCCESS)
		ck_assert_int_eq(s->cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
}

int suite_run(const char *name, void (*add)(TCase *tests))
{
	Suite *suite = suite_create(name);
	TCase *tests = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	add(tests);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
