/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pinned and managed memory, on the fake driver: the driver calls, the restored state of threads
 * and captures, leaks after a failed call, and the upper bound on how much the sources allocate.
 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "driven.h"
#include "script.h"
#include "source/device.h"
#include "source/driver.h"
#include "source/hostmem.h"

static const struct {
	const char *name, *alloc, *free, *arguments;
	unsigned int memory_type; /* value of cuPointerGetAttribute */
} kinds[] = {
	{ "pinned", "cuMemHostAlloc", "cuMemFreeHost", "flags=3", 1 },
	{ "managed", "cuMemAllocManaged", "cuMemFree", "bytes=", 2 },
};

#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

START_TEST(properties_are_correct)
{
	struct mam_hostmem host;
	struct mam_source *source;

	load_only();
	source = driven_source(kinds[_i].name, MAM_DEVICE_CURRENT);
	ck_assert_str_eq(source->properties.name, kinds[_i].name);
	ck_assert_uint_eq(source->properties.granularity, 2 * MIB);
	ck_assert_uint_eq(source->properties.alignment, 4096);
	ck_assert(mam_hostmem_read("", &host));
	ck_assert_uint_eq(source->properties.total_bytes, _i == 0 ? host.total_bytes : 256 * MIB);
	ck_assert_int_eq(source->properties.device, 0);
	ck_assert(!source->properties.survives_fork);
	ck_assert_ptr_nonnull(source->ops->quiesce);
	mam_source_destroy(source);
	ck_assert_str_eq(contents(log_path), "");
}
END_TEST

/* Chunks, and the small blocks of waits except `lost` that the driver failed to free. */
static void expect_all_freed(int kind, unsigned int lost)
{
	unsigned int allocated = calls_of("cuMemAlloc", true) + calls_of(kinds[kind].alloc, true);
	unsigned int freed = calls_of("cuMemFree", true) + calls_of("cuMemFreeHost", true);

	ck_assert_uint_le(freed, allocated);
	ck_assert_uint_le(allocated, freed + lost);
}

START_TEST(memory_is_allocated_and_freed)
{
	struct cuda cuda = load();
	struct mam_source *source = driven_source(kinds[_i].name, 0);
	char *a = grown(source, 2 * MIB), *b = grown(source, 6 * MIB);
	unsigned int type = 0;
	size_t bytes;
	unsigned long long base;

	ck_assert_int_eq(cuda.cuMemGetAddressRange_v2(&base, &bytes, (uintptr_t)b + 5 * MIB),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(base, (uintptr_t)b);
	ck_assert_uint_eq(bytes, 6 * MIB);
	ck_assert_int_eq(cuda.cuPointerGetAttribute(&type, 2 /* memory type */, (uintptr_t)b),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(type, kinds[_i].memory_type);
	b[0] = b[6 * MIB - 1] = 'x'; /* the host has access */
	ck_assert_int_eq(mam_source_quiesce(source), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, a, 2 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, b, 6 * MIB), MAM_OK);
	mam_source_destroy(source);
	ck_assert_uint_eq(calls_of(kinds[_i].alloc, true), 2);
	expect_all_freed(_i, 0);
	ck_assert_uint_eq(calls_of("cuCtxSynchronize", false), 0);
	contents(calls_path);
	ck_assert_ptr_nonnull(strstr(strstr(text, kinds[_i].alloc), kinds[_i].arguments));
}
END_TEST

/*
 * Blocks of a pool on these sources are host memory, and a free waits for work on them as CUDA's
 * own does.
 */
START_TEST(pool_waits_before_free)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;
	unsigned long long id;
	struct cuda cuda;
	uint64_t due;
	char *block;
	void *found;

	setenv("FAKE_CUDA_CLOCK_NS", "10", 1);
	setenv("FAKE_CUDA_LAG_US", "1000", 1);
	cuda = load();
	attr.source = kinds[_i].name;
	attr.granule = 1 << 16;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_ERROR_INVALID_VALUE);
	attr.granule = 4096;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, MIB, &found), MAM_OK);
	block = found;
	ck_assert_uint_eq((uintptr_t)block % 4096, 0);
	memset(block, 'x', MIB);
	ck_assert_int_eq(cuda.fake_use((uintptr_t)block, MIB, NULL, &id, &due), CUDA_SUCCESS);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)block, MIB), 0);
	ck_assert_int_eq(mam_malloc_aligned(pool, MIB, 4 * MIB, &found), MAM_OK);
	ck_assert_uint_eq((uintptr_t)found % (4 * MIB), 0);
	ck_assert_int_eq(mam_free(pool, found), MAM_OK);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	expect_all_freed(_i, 0);
	ck_assert_str_eq(contents(log_path), "");
}
END_TEST

/* In each capture mode, with and without the context being current. */
START_TEST(capture_survives_grow_and_shrink)
{
	const int kind = _i / 6, mode = _i % 6 / 2;
	struct cuda cuda = load();
	struct mam_source *source = driven_source(kinds[kind].name, 0);
	struct CUctx_st *context = current(&cuda);
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	void *base;

	ck_assert_int_eq(cuda.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(stream, mode), CUDA_SUCCESS);
	if (_i % 2)
		ck_assert_int_eq(cuda.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	base = grown(source, 2 * MIB);
	ck_assert_uint_gt(mam_source_room(source), 0);
	ck_assert_int_eq(mam_source_shrink(source, base, 2 * MIB), MAM_OK);
	ck_assert_ptr_eq(current(&cuda), _i % 2 ? NULL : context);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	mam_source_destroy(source);
}
END_TEST

#define CALLS 80 /* more than one life makes */

/* All calls in the life of a source; each result must be one that the contract permits. */
static void live_once(const char *name)
{
	struct mam_source *source;
	enum mam_status status = mam_source_create(name, MAM_DEVICE_CURRENT, &source);
	void *base;

	ck_assert(status == MAM_OK || status == MAM_ERROR_NO_DEVICE || status == MAM_ERROR_DRIVER);
	if (status != MAM_OK)
		return;
	for (int i = 0; i < 2; i++) {
		status = mam_source_grow(source, 2 * MIB, &base);
		if (status != MAM_OK)
			continue;
		mam_source_quiesce(source);
		/* If the driver refused, the source still owns the memory, so the test retries. */
		if (mam_source_shrink(source, base, 2 * MIB) != MAM_OK)
			ck_assert_int_eq(mam_source_shrink(source, base, 2 * MIB), MAM_OK);
	}
	mam_source_destroy(source);
}

START_TEST(source_survives_failure_of_any_call)
{
	const int kind = _i / CALLS;
	struct mam_source *source;
	size_t before;
	char rule[32];

	snprintf(rule, sizeof(rule), "*:%d:999", _i % CALLS + 1);
	setenv("FAKE_CUDA_FAIL_AT", rule, 1);
	load_only();
	live_once(kinds[kind].name);
	expect_all_freed(kind, 1);
	ck_assert_uint_eq(calls_of("cuCtxPushCurrent", true), calls_of("cuCtxPopCurrent", false));
	ck_assert_uint_eq(calls_of("cuDevicePrimaryCtxRetain", true),
			  calls_of("cuDevicePrimaryCtxRelease", false));
	/* A failure is reported in one line, or not at all if it had no effect. */
	contents(log_path);
	ck_assert_ptr_eq(strchr(text, '\n'), text[0] ? text + strlen(text) - 1 : NULL);
	/* Failed allocations are not counted. */
	live_once(kinds[kind].name);
	if (kind == 1 && mam_source_create("managed", 0, &source) == MAM_OK) {
		before = mam_source_room(source);
		ck_assert_uint_eq(before, 256 * MIB);
		mam_source_destroy(source);
	}
}
END_TEST

START_TEST(one_life_makes_fewer_calls_than_tested)
{
	unsigned int lines = 0;

	load_only();
	live_once(kinds[_i].name);
	contents(calls_path);
	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	ck_assert_uint_gt(lines, 15);
	ck_assert_uint_lt(lines, CALLS);
}
END_TEST

START_TEST(failed_allocation_returns_its_status)
{
	static const struct {
		const char *code;
		enum mam_status status;
	} codes[] = { { "2", MAM_ERROR_OUT_OF_MEMORY }, { "700", MAM_ERROR_DRIVER } };
	const int kind = _i / 2, code = _i % 2;
	struct mam_source *source;
	size_t room;
	char rule[64];
	void *base = NULL;

	snprintf(rule, sizeof(rule), "%s:1:%s", kinds[kind].alloc, codes[code].code);
	setenv("FAKE_CUDA_FAIL_AT", rule, 1);
	load_only();
	source = driven_source(kinds[kind].name, 0);
	room = mam_source_room(source);
	ck_assert_int_eq(mam_source_grow(source, 64 * MIB, &base), codes[code].status);
	ck_assert_ptr_null(base);
	if (kind == 1)
		ck_assert_uint_eq(mam_source_room(source), room);
	contents(log_path);
	if (code == 0)
		ck_assert_str_eq(text, "");
	else
		ck_assert_ptr_nonnull(strstr(text, kinds[kind].alloc));
	mam_source_shrink(source, grown(source, 64 * MIB), 64 * MIB);
	mam_source_destroy(source);
}
END_TEST

static struct mam_driver heard;
static unsigned int attached;
static unsigned long long crooked_by;

static unsigned int hear_managed(unsigned long long *address, size_t bytes, unsigned int flags)
{
	unsigned int result = heard.mem_alloc_managed(address, bytes, flags);

	attached = flags;
	*address += crooked_by;
	return result;
}

static unsigned int hear_host(void **address, size_t bytes, unsigned int flags)
{
	unsigned int result = heard.mem_host_alloc(address, bytes, flags);

	*address = (char *)*address + crooked_by;
	return result;
}

static unsigned int hear_free(unsigned long long address)
{
	return heard.mem_free(address - crooked_by);
}

static unsigned int hear_free_host(void *address)
{
	return heard.mem_free_host((char *)address - crooked_by);
}

static void listen(void)
{
	const struct mam_driver *driver;
	struct mam_driver *table;

	load_only();
	ck_assert_int_eq(mam_driver_get(&driver), MAM_OK);
	table = (struct mam_driver *)(uintptr_t)driver;
	heard = *table;
	table->mem_alloc_managed = hear_managed;
	table->mem_host_alloc = hear_host;
	table->mem_free = hear_free;
	table->mem_free_host = hear_free_host;
}

START_TEST(misaligned_chunk_is_freed)
{
	struct mam_source *source;
	void *base = NULL;

	listen();
	source = driven_source(kinds[_i].name, 0);
	crooked_by = 512;
	ck_assert_int_eq(mam_source_grow(source, 2 * MIB, &base), MAM_ERROR_DRIVER);
	ck_assert_ptr_null(base);
	ck_assert_uint_eq(calls_of(kinds[_i].free, true), 1);
	ck_assert_ptr_nonnull(strstr(contents(log_path), "not a multiple"));
	crooked_by = 0;
	base = grown(source, 2 * MIB);
	mam_source_shrink(source, base, 2 * MIB);
	mam_source_destroy(source);
}
END_TEST

START_TEST(managed_memory_is_attached_globally)
{
	struct mam_source *source;

	listen();
	source = driven_source("managed", 0);
	mam_source_shrink(source, grown(source, 2 * MIB), 2 * MIB);
	ck_assert_uint_eq(attached, 1);
	mam_source_destroy(source);
}
END_TEST

START_TEST(managed_memory_is_bounded_by_free_memory)
{
	struct mam_source *device, *one, *other;
	void *taken, *base, *more, *less;

	load_only();
	device = driven_source("cudamalloc", 0);
	one = driven_source("managed", 0);
	other = driven_source("managed", 0);
	taken = grown(device, 100 * MIB);
	ck_assert_uint_eq(mam_source_room(one), 156 * MIB);
	ck_assert_int_eq(mam_source_grow(one, 158 * MIB, &base), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(calls_of("cuMemAllocManaged", false), 0);
	/* Untouched memory does not reduce the driver's free memory. */
	base = grown(one, 100 * MIB);
	ck_assert_uint_eq(mam_source_room(one), 56 * MIB);
	ck_assert_uint_eq(mam_source_room(other), 56 * MIB);
	ck_assert_int_eq(mam_source_grow(other, 58 * MIB, &more), MAM_ERROR_OUT_OF_MEMORY);
	more = grown(other, 56 * MIB);
	ck_assert_uint_eq(mam_source_room(one), 0);
	ck_assert_uint_eq(calls_of("cuMemAllocManaged", false), 2);
	/* Less is free than was allocated: the room is 0, without underflow. */
	less = grown(device, 20 * MIB);
	ck_assert_uint_eq(mam_source_room(one), 0);
	mam_source_shrink(device, less, 20 * MIB);
	ck_assert_int_eq(mam_source_shrink(one, base, 100 * MIB), MAM_OK);
	ck_assert_uint_eq(mam_source_room(other), 100 * MIB);
	mam_source_shrink(other, more, 56 * MIB);
	mam_source_shrink(device, taken, 100 * MIB);
	mam_source_destroy(device);
	mam_source_destroy(one);
	mam_source_destroy(other);
}
END_TEST

/* Memory of one device does not count for another. */
START_TEST(managed_memory_is_counted_per_device)
{
	struct mam_source *first, *second;
	void *base;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	load_only();
	first = driven_source("managed", 0);
	second = driven_source("managed", 1);
	base = grown(first, 200 * MIB);
	ck_assert_uint_eq(mam_source_room(first), 56 * MIB);
	ck_assert_uint_eq(mam_source_room(second), 256 * MIB);
	mam_source_shrink(first, base, 200 * MIB);
	mam_source_destroy(first);
	mam_source_destroy(second);
}
END_TEST

#define GROWERS 4

struct grower {
	pthread_t thread;
	struct mam_source *source;
	size_t max;
};

/* Allocates as much as possible, several times; `most` is the maximum at one time. */
static void *grow_and_shrink(void *user)
{
	struct grower *grower = user;
	void *bases[256];

	for (int round = 0; round < 20; round++) {
		size_t count = 0;

		while (count < 256 &&
		       mam_source_grow(grower->source, 16 * MIB, &bases[count]) == MAM_OK)
			count++;
		if (count > grower->max)
			grower->max = count;
		while (count > 0)
			mam_source_shrink(grower->source, bases[--count], 16 * MIB);
	}
	return NULL;
}

START_TEST(concurrent_pools_stay_within_bound)
{
	struct grower growers[GROWERS];
	unsigned long long live = 0, max = 0;
	char *line, *rest = NULL, *log;
	static char all[1 << 21];
	size_t length;
	FILE *file;

	load();
	for (int i = 0; i < GROWERS; i++) {
		growers[i] = (struct grower){ .source = driven_source("managed", 0) };
		ck_assert_int_eq(
			pthread_create(&growers[i].thread, NULL, grow_and_shrink, &growers[i]), 0);
	}
	for (int i = 0; i < GROWERS; i++) {
		pthread_join(growers[i].thread, NULL);
		ck_assert_uint_le(growers[i].max, 16);
	}
	ck_assert_uint_eq(mam_source_room(growers[0].source), 256 * MIB);
	/* The fake's log of calls gives the maximum in use at one time. */
	file = fopen(calls_path, "r");
	ck_assert_ptr_nonnull(file);
	length = fread(all, 1, sizeof(all) - 1, file);
	fclose(file);
	all[length] = '\0';
	log = all;
	for (line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (!strstr(line, "result=0"))
			continue;
		if (strncmp(line, "cuMemAllocManaged ", 18) == 0)
			live += 16;
		else if (strncmp(line, "cuMemFree ", 10) == 0)
			live -= 16;
		if (live > max)
			max = live;
	}
	ck_assert_uint_gt(max, 16);
	ck_assert_uint_le(max, 256);
	for (int i = 0; i < GROWERS; i++)
		mam_source_destroy(growers[i].source);
}
END_TEST

START_TEST(pinned_memory_leaves_a_quarter_to_host)
{
	struct mam_hostmem host;
	struct mam_source *source;
	size_t room;
	void *base;

	load_only();
	source = driven_source("pinned", 0);
	ck_assert(mam_hostmem_read("", &host));
	room = mam_source_room(source);
	ck_assert_uint_gt(host.total_bytes, 0);
	ck_assert_uint_le(host.available_bytes, host.total_bytes);
	ck_assert_uint_le(room, host.total_bytes - host.total_bytes / 4);
	/* The source refuses without a driver call, which might succeed. */
	ck_assert_int_eq(mam_source_grow(source, mam_round_up(host.total_bytes, 2 * MIB), &base),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(calls_of("cuMemHostAlloc", false), 0);
	mam_source_destroy(source);
}
END_TEST

/*
 * A request is no longer counted once the memory is pinned: in total, more than the host has is
 * allocated and freed.
 */
START_TEST(pinned_requests_are_counted_once)
{
	struct mam_source *source;
	size_t room, bytes;
	void *base;

	load_only();
	source = driven_source("pinned", 0);
	room = mam_source_room(source);
	bytes = mam_round_down(room / 2, 2 * MIB);
	for (int i = 0; i < 4 && bytes != 0; i++) {
		base = grown(source, bytes);
		/*
		 * The memory is untouched: the host's free memory is unchanged. Other processes may
		 * use some.
		 */
		ck_assert_uint_gt(mam_source_room(source), room / 4 * 3);
		ck_assert_int_eq(mam_source_shrink(source, base, bytes), MAM_OK);
		ck_assert_uint_gt(mam_source_room(source), room / 4 * 3);
	}
	mam_source_destroy(source);
}
END_TEST

static void plant(const char *path, const char *contents_of)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(contents_of, file);
	fclose(file);
}

#define KIB ((size_t)1024)

/* File contents, and the result. */
static const struct {
	const char *meminfo, *max, *current, *stat, *old_limit, *old_use;
	size_t total, available, room;
	const char *old_stat;
} hosts[] = {
	{ "MemTotal:  1000 kB\nMemFree: 9 kB\nMemAvailable:   600 kB\n", NULL, NULL, NULL, NULL,
	  NULL, 1000 * KIB, 600 * KIB, 350 * KIB, NULL },
	{ "MemTotal: 1000 kB\nMemAvailable: 250 kB\n", NULL, NULL, NULL, NULL, NULL, 1000 * KIB,
	  250 * KIB, 0, NULL },
	{ "MemTotal: 1000 kB\nMemAvailable: 900 kB\n", "max\n", "500\n", NULL, NULL, NULL,
	  1000 * KIB, 900 * KIB, 650 * KIB, NULL },
	{ "MemTotal: 1000 kB\nMemAvailable: 900 kB\n", "409600\n", "204800\n", NULL, NULL, NULL,
	  400 * KIB, 200 * KIB, 100 * KIB, NULL },
	{ "MemTotal: 1000 kB\nMemAvailable: 900 kB\n", "409600\n", "204800\n",
	  "inactive_file 307200\n", NULL, NULL, 400 * KIB, 200 * KIB, 100 * KIB, NULL },
	{ "MemTotal: 1000 kB\nMemAvailable: 900 kB\n", NULL, NULL, NULL, "409600\n", "204800\n",
	  400 * KIB, 300 * KIB, 200 * KIB, "inactive_file 1\ntotal_inactive_file 102400\n" },
	{ "MemTotal: 1000 kB\nMemAvailable: 900 kB\n", "409600\n", "204800\n",
	  "anon 1\ninactive_file 102400\ninactive_file_not 7\n", NULL, NULL, 400 * KIB, 300 * KIB,
	  200 * KIB, NULL },
	{ "MemTotal: 1000 kB\nMemAvailable: 900 kB\n", "409600\n", "512000\n", NULL, NULL, NULL,
	  400 * KIB, 0, 0, NULL },
	{ "MemTotal: 1000 kB\nMemAvailable: 900 kB\n", NULL, NULL, NULL, "409600\n", "0\n",
	  400 * KIB, 400 * KIB, 300 * KIB, NULL },
	{ "MemTotal: 1000 kB\nMemAvailable: 900 kB\n", NULL, NULL, NULL, "9223372036854771712\n",
	  "204800\n", 1000 * KIB, 900 * KIB, 650 * KIB, NULL },
};

START_TEST(host_memory_is_read_from_files)
{
	static const char *const folders[] = {
		"", "/proc", "/sys", "/sys/fs", "/sys/fs/cgroup", "/sys/fs/cgroup/memory"
	};
	const char *const files[][2] = {
		{ "/proc/meminfo", hosts[_i].meminfo },
		{ "/sys/fs/cgroup/memory.max", hosts[_i].max },
		{ "/sys/fs/cgroup/memory.current", hosts[_i].current },
		{ "/sys/fs/cgroup/memory.stat", hosts[_i].stat },
		{ "/sys/fs/cgroup/memory/memory.limit_in_bytes", hosts[_i].old_limit },
		{ "/sys/fs/cgroup/memory/memory.usage_in_bytes", hosts[_i].old_use },
		{ "/sys/fs/cgroup/memory/memory.stat", hosts[_i].old_stat },
	};
	char root[] = "/tmp/mam-hostmem-XXXXXX", path[256];
	const struct rlimit few = { 32, 32 };
	struct mam_hostmem host = { 0 };

	ck_assert_ptr_nonnull(mkdtemp(root));
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (size_t i = 1; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		mkdir(path, 0700);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, files[i][0]);
		if (files[i][1])
			plant(path, files[i][1]);
	}
	for (int i = 0; i < 40; i++) /* no more files than the process may open */
		ck_assert(mam_hostmem_read(root, &host));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, files[i][0]);
		unlink(path);
	}
	for (size_t i = sizeof(folders) / sizeof(folders[0]); i-- > 0;) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		rmdir(path);
	}
	ck_assert_uint_eq(host.total_bytes, hosts[_i].total);
	ck_assert_uint_eq(host.available_bytes, hosts[_i].available);
	ck_assert_uint_eq(mam_hostmem_room(&host), hosts[_i].room);
}
END_TEST

/* To the context of a program's own source: a failure keeps no reference to the primary context. */
START_TEST(failed_bind_releases_the_context)
{
	struct script script = script_of(2 * MIB, 256 * MIB, SIZE_MAX);
	struct mam_device device;

	setenv("FAKE_CUDA_FAIL_AT", "cuCtxGetId:1", 1);
	load_only();
	script.source.properties.device = 0;
	ck_assert_int_eq(mam_source_bind(&script.source, &device), MAM_ERROR_DRIVER);
	ck_assert_uint_eq(calls_of("cuDevicePrimaryCtxRetain", true), 1);
	ck_assert_uint_eq(calls_of("cuDevicePrimaryCtxRelease", true), 1);
	ck_assert_int_eq(mam_source_bind(&script.source, &device), MAM_OK);
	mam_device_unbind(&device);
	ck_assert_uint_eq(calls_of("cuDevicePrimaryCtxRelease", true), 2);
}
END_TEST

/* Without /proc, the kernel is queried directly. */
START_TEST(host_memory_without_proc_is_queried)
{
	struct mam_hostmem host = { 0 };

	ck_assert(mam_hostmem_read("/nonexistent", &host));
	ck_assert_uint_gt(host.total_bytes, 0);
	ck_assert_uint_le(host.available_bytes, host.total_bytes);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source/whole");
	TCase *memory = tcase_create("memory");
	TCase *failing = tcase_create("failing");
	TCase *bounds = tcase_create("bounds");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(memory, set_up, tear_down);
	tcase_add_loop_test(memory, properties_are_correct, 0, KINDS);
	tcase_add_loop_test(memory, memory_is_allocated_and_freed, 0, KINDS);
	tcase_add_loop_test(memory, pool_waits_before_free, 0, KINDS);
	tcase_add_loop_test(memory, capture_survives_grow_and_shrink, 0, 6 * KINDS);
	suite_add_tcase(suite, memory);
	tcase_add_checked_fixture(failing, set_up, tear_down);
	tcase_set_timeout(failing, 60);
	tcase_add_loop_test(failing, source_survives_failure_of_any_call, 0, KINDS * CALLS);
	tcase_add_loop_test(failing, one_life_makes_fewer_calls_than_tested, 0, KINDS);
	tcase_add_loop_test(failing, failed_allocation_returns_its_status, 0, 2 * KINDS);
	tcase_add_test(failing, failed_bind_releases_the_context);
	suite_add_tcase(suite, failing);
	tcase_add_checked_fixture(bounds, set_up, tear_down);
	tcase_set_timeout(bounds, 60);
	tcase_add_test(bounds, managed_memory_is_bounded_by_free_memory);
	tcase_add_test(bounds, managed_memory_is_counted_per_device);
	tcase_add_test(bounds, managed_memory_is_attached_globally);
	tcase_add_loop_test(bounds, misaligned_chunk_is_freed, 0, KINDS);
	tcase_add_test(bounds, concurrent_pools_stay_within_bound);
	tcase_add_test(bounds, pinned_memory_leaves_a_quarter_to_host);
	tcase_add_test(bounds, pinned_requests_are_counted_once);
	tcase_add_loop_test(bounds, host_memory_is_read_from_files, 0,
			    sizeof(hosts) / sizeof(hosts[0]));
	tcase_add_test(bounds, host_memory_without_proc_is_queried);
	suite_add_tcase(suite, bounds);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
