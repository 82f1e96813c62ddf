/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of the public headers, passed by programs that were compiled with an older or a newer
 * version: the fields that the library reads and writes, and the sizes that it rejects. Each struct
 * is at the end of a page, and the next page cannot be accessed.
 *
 * tests/structs.sh checks that each struct of the headers has a row here.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mam/heap.h>
#include <mam/options.h>
#include <mam/pools.h>
#include <mam/source.h>
#include <mam/stats.h>
#include <mam/trace.h>

#include "fake/load.h"
#include "suite.h"
#include "stub.h"

#define MIB ((size_t)1 << 20)
#define LATER 64 /* bytes that later versions may have added */
#define END(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))

/* The end of a page; the memory before it is usable. */
static unsigned char *page_end(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *base =
		mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(base, MAP_FAILED);
	ck_assert_int_eq(mprotect(base + 2 * page, page, PROT_NONE), 0);
	return base + 2 * page;
}

static struct stub stub;

/* ---- structs that the library reads ---- */

static enum mam_status read_pool_attr(const void *given)
{
	struct mam_pool *pool;
	enum mam_status status = mam_pool_create(given, &pool);

	return status == MAM_OK ? mam_pool_destroy(pool) : status;
}

/* A pool on a source that cannot be suspended, once the attributes are accepted. */
static enum mam_status read_suspend_attr(const void *given)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;
	enum mam_status status;

	attr.source = "host";
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	status = mam_pool_suspend(pool, given);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	return status;
}

static enum mam_status read_vmm_attr(const void *given)
{
	struct mam_source *source;
	enum mam_status status = mam_source_vmm(given, &source);

	if (status == MAM_OK)
		mam_source_destroy(source);
	return status;
}

/* A pool of addresses without memory: it refuses a heap, once the attributes are accepted. */
static enum mam_status read_heap_attr(const void *given)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;
	struct mam_heap *heap;
	enum mam_status status;

	attr.source = "host";
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	status = mam_heap_create(pool, given, &heap);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	return status;
}

static enum mam_status use_source(struct mam_source *source)
{
	struct mam_source *limit;
	struct mam_pool *pool;
	enum mam_status status = mam_source_limit(source, 0, 0, 0, &limit);

	if (status == MAM_OK) {
		mam_source_destroy(limit);
		status = mam_pool_create_on(source, NULL, &pool);
	} else {
		ck_assert_int_eq(mam_pool_create_on(source, NULL, &pool), status);
	}
	return status == MAM_OK ? mam_pool_destroy(pool) : status;
}

static enum mam_status read_source(const void *given)
{
	return use_source((struct mam_source *)(uintptr_t)given);
}

static enum mam_status read_source_ops(const void *given)
{
	stub.source.ops = given;
	return use_source(&stub.source);
}

static enum mam_status read_report(const void *given)
{
	char text[64];

	return mam_heap_report_text(given, text, sizeof(text)) == 0 ? MAM_ERROR_INVALID_VALUE
								    : MAM_OK;
}

static const struct mam_pool_attr pool_attr = { .size = sizeof(pool_attr),
						.source = "host",
						.device = MAM_DEVICE_CURRENT };
static const struct mam_vmm_attr vmm_attr = { .size = sizeof(vmm_attr), .simulated = true };
static const struct mam_suspend_attr suspend_attr = { .size = sizeof(suspend_attr) };
static const struct mam_heap_attr heap_attr = { .size = sizeof(heap_attr), .bytes = 1 };
static const struct mam_heap_report report = { .size = sizeof(report),
					       .kind = MAM_HEAP_DOUBLE_FREE };

#define POOL(field) offsetof(struct mam_pool_attr, field), END(struct mam_pool_attr, field)
#define VMM(field) offsetof(struct mam_vmm_attr, field), END(struct mam_vmm_attr, field)
#define HEAP(field) offsetof(struct mam_heap_attr, field), END(struct mam_heap_attr, field)
#define OPS(field) offsetof(struct mam_source_ops, field), END(struct mam_source_ops, field)

/* `ends`: sizes of older versions, or sizes at which later fields may end. */
/* clang-format off */
static const struct {
	const char *name;
	enum mam_status (*read)(const void *given);
	const void *whole; /* NULL: the stub's */
	size_t bytes;
	size_t ends[24];
} inputs[] = {
	{ "struct mam_pool_attr", read_pool_attr, &pool_attr, sizeof(pool_attr),
	  { POOL(device), POOL(chunk_bytes), POOL(growth_bytes), POOL(limit_bytes), POOL(granule),
	    POOL(free_policy), POOL(name), POOL(cache), POOL(quota), POOL(spare_bytes),
	    POOL(footprint) } },
	{ "struct mam_vmm_attr", read_vmm_attr, &vmm_attr, sizeof(vmm_attr),
	  { VMM(range_bytes), VMM(peers), VMM(gpudirect), VMM(exportable), VMM(simulated),
	    VMM(total_bytes), VMM(lag) } },
	{ "struct mam_suspend_attr", read_suspend_attr, &suspend_attr, sizeof(suspend_attr), { 0 } },
	{ "struct mam_heap_attr", read_heap_attr, &heap_attr, sizeof(heap_attr),
	  { HEAP(max_bytes), HEAP(grow_bytes), HEAP(wait_us), HEAP(ahead), HEAP(debug),
	    HEAP(peers) } },
	{ "struct mam_source", read_source, NULL, sizeof(struct mam_source),
	  { offsetof(struct mam_source, properties.range_bytes) } },
	{ "struct mam_source_ops", read_source_ops, NULL, sizeof(struct mam_source_ops),
	  { OPS(map), OPS(unmap), OPS(move), OPS(cost), OPS(alias),
	    OPS(unalias) } },
	{ "struct mam_heap_report", read_report, &report, sizeof(report), { 0 } },
};
/* clang-format on */

static bool is_end(int row, size_t size)
{
	for (size_t i = 0; i < COUNT_OF(inputs[0].ends); i++)
		if (inputs[row].ends[i] == size && size != 0)
			return true;
	return size == inputs[row].bytes;
}

static const void *whole_of(int row)
{
	if (inputs[row].whole)
		return inputs[row].whole;
	return inputs[row].read == read_source ? (const void *)&stub.source : stub.source.ops;
}

START_TEST(older_and_newer_structs_are_accepted)
{
	const size_t bytes = inputs[_i].bytes;
	unsigned char whole[1024], *end = page_end();

	stub_init(&stub);
	memcpy(whole, whole_of(_i), bytes);
	for (size_t size = 0; size <= bytes + LATER; size++) {
		size_t held = size < sizeof(size) ? sizeof(size) : (size + 7) / 8 * 8;
		unsigned char *given = end - held;
		enum mam_status status;

		memset(given, 0, held);
		memcpy(given, whole, size < bytes ? size : bytes);
		memcpy(given, &size, sizeof(size));
		status = inputs[_i].read(given);
		if (size >= bytes || is_end(_i, size))
			ck_assert_msg(status != MAM_ERROR_INVALID_VALUE, "%s of %zu bytes",
				      inputs[_i].name, size);
		else
			ck_assert_msg(status == MAM_ERROR_INVALID_VALUE, "%s of %zu bytes",
				      inputs[_i].name, size);
		if (size <= bytes)
			continue;
		given[size - 1] = 1; /* requests a feature that this version does not know */
		ck_assert_int_eq(inputs[_i].read(given), MAM_ERROR_INVALID_VALUE);
	}
}
END_TEST

START_TEST(garbage_sizes_are_rejected)
{
	const size_t sizes[] = { 4097, (size_t)1 << 32, SIZE_MAX };
	unsigned char *end = page_end(), *given = end - 4096;

	stub_init(&stub);
	memcpy(given, whole_of(_i), inputs[_i].bytes);
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		memcpy(given, &sizes[i], sizeof(sizes[i]));
		ck_assert_int_eq(inputs[_i].read(given), MAM_ERROR_INVALID_VALUE);
	}
}
END_TEST

/* ---- structs that the library writes ---- */

static struct mam_pool *pool;
static void *block;

static enum mam_status write_stats(void *out)
{
	return mam_pool_stats(pool, out);
}

static enum mam_status write_popped_stats(void *out)
{
	ck_assert_int_eq(mam_stats_push(pool), MAM_OK);
	return mam_stats_pop(pool, out);
}

static enum mam_status write_segment(void *out)
{
	return mam_owner(block, NULL, out);
}

static enum mam_status one_line(void *user, void *buffer, size_t bytes, size_t *got)
{
	static const char line[] = "a 3 4096 7\n";
	bool *is_read = user;

	*got = *is_read || bytes < sizeof(line) ? 0 : sizeof(line) - 1;
	memcpy(buffer, line, *got);
	*is_read = true;
	return MAM_OK;
}

static enum mam_status write_event(void *out)
{
	struct mam_trace_reader *reader;
	enum mam_status status;
	bool is_read = false;

	ck_assert_int_eq(mam_trace_reader_create(one_line, &is_read, &reader), MAM_OK);
	status = mam_trace_next(reader, out);
	if (status == MAM_OK && *(size_t *)out >= sizeof(struct mam_trace_event))
		((struct mam_trace_event *)out)->fields = NULL; /* it points into the reader */
	mam_trace_reader_destroy(reader);
	return status;
}

static enum mam_status write_heap_info(void *out)
{
	static struct mam_heap *heap;
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_pool *device_pool;

	if (!heap) {
		setenv("FAKE_CUDA_MEMORY", "256M", 1);
		load();
		attr.bytes = MIB;
		ck_assert_int_eq(mam_pool_create(NULL, &device_pool), MAM_OK);
		ck_assert_int_eq(mam_heap_create(device_pool, &attr, &heap), MAM_OK);
	}
	return mam_heap_stats(heap, NULL, out);
}

static const struct {
	const char *name;
	enum mam_status (*write)(void *out);
	size_t bytes;
	size_t varies; /* from here on the contents may differ; 0: all are equal */
} outputs[] = {
	{ "struct mam_stats", write_stats, sizeof(struct mam_stats), 0 },
	{ "struct mam_stats", write_popped_stats, sizeof(struct mam_stats), 0 },
	{ "struct mam_segment_info", write_segment, sizeof(struct mam_segment_info),
	  END(struct mam_segment_info, retired) },
	{ "struct mam_trace_event", write_event, sizeof(struct mam_trace_event),
	  offsetof(struct mam_trace_event, fields) },
	{ "struct mam_heap_info", write_heap_info, sizeof(struct mam_heap_info), 0 },
};

START_TEST(older_and_newer_structs_are_filled)
{
	const size_t bytes = outputs[_i].bytes;
	const size_t equal = outputs[_i].varies ? outputs[_i].varies : bytes;
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	unsigned char whole[8192], *end = page_end();
	size_t step = bytes > 1024 ? 97 : 1;

	ck_assert_uint_le(bytes, sizeof(whole));
	attr.source = "host";
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 5000, &block), MAM_OK);
	memcpy(whole, &bytes, sizeof(bytes));
	ck_assert_int_eq(outputs[_i].write(whole), MAM_OK);
	for (size_t size = 0; size <= bytes + LATER; size += size < 64 ? 1 : step) {
		size_t held = size < sizeof(size) ? sizeof(size) : (size + 7) / 8 * 8;
		unsigned char *out = end - held;

		memset(out, 0xa5, held);
		memcpy(out, &size, sizeof(size));
		if (size < sizeof(size)) {
			ck_assert_int_eq(outputs[_i].write(out), MAM_ERROR_INVALID_VALUE);
			continue;
		}
		ck_assert_int_eq(outputs[_i].write(out), MAM_OK);
		ck_assert_mem_eq(out, &size, sizeof(size));
		ck_assert_mem_eq(out + sizeof(size), whole + sizeof(size),
				 (size < equal ? size : equal) - sizeof(size));
		for (size_t i = bytes; i < size; i++)
			ck_assert_uint_eq(out[i], 0);
		for (size_t i = size; i < held; i++)
			ck_assert_uint_eq(out[i], 0xa5);
	}
}
END_TEST

START_TEST(structs_with_garbage_sizes_are_not_written)
{
	const size_t sizes[] = { 0, 7, outputs[_i].bytes + 4097, (size_t)1 << 32, SIZE_MAX };
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	unsigned char *out = page_end() - sizeof(size_t);

	attr.source = "host";
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 5000, &block), MAM_OK);
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		memcpy(out, &sizes[i], sizeof(sizes[i]));
		ck_assert_int_eq(outputs[_i].write(out), MAM_ERROR_INVALID_VALUE);
	}
}
END_TEST

/* ---- structs that the library owns and returns ---- */

static bool is_whole_segment(const struct mam_segment_info *segment, void *user)
{
	*(int *)user += segment->size == sizeof(*segment);
	return true;
}

static bool is_whole_pool(const struct mam_pool_info *info, void *user)
{
	*(int *)user += info->size == sizeof(*info);
	return true;
}

static enum mam_status bad_line(void *user, void *buffer, size_t bytes, size_t *got)
{
	(void)user;
	*got = bytes < 2 ? 0 : 2;
	memcpy(buffer, "x\n", *got);
	return MAM_OK;
}

START_TEST(returned_structs_have_size_of_library)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_trace_event event = { .size = sizeof(event) };
	const struct mam_option_row *const *rows;
	const struct mam_trace_problem *problem;
	struct mam_trace_reader *reader;
	int segments = 0, pools = 0;
	size_t count;

	attr.source = "host";
	attr.chunk_bytes = MIB;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 5000, &block), MAM_OK);
	ck_assert_int_eq(mam_pool_walk(pool, is_whole_segment, &segments), MAM_OK);
	ck_assert_int_eq(segments, 2);
	ck_assert_int_eq(mam_pool_each(is_whole_pool, &pools), MAM_OK);
	ck_assert_int_eq(pools, 1);
	rows = mam_options(&count);
	for (size_t i = 0; i < count; i++)
		ck_assert_uint_eq(rows[i]->size, sizeof(struct mam_option_row));
	ck_assert_int_eq(mam_trace_reader_create(bad_line, NULL, &reader), MAM_OK);
	ck_assert_int_eq(mam_trace_next(reader, &event), MAM_ERROR_INVALID_VALUE);
	problem = mam_trace_problem_of(reader);
	ck_assert_ptr_nonnull(problem);
	ck_assert_uint_eq(problem->size, sizeof(*problem));
	mam_trace_reader_destroy(reader);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("api/sizes");
	TCase *sizes = suite_case(suite, "sizes");

	tcase_add_loop_test(sizes, older_and_newer_structs_are_accepted, 0, (int)COUNT_OF(inputs));
	tcase_add_loop_test(sizes, garbage_sizes_are_rejected, 0, (int)COUNT_OF(inputs));
	tcase_add_loop_test(sizes, older_and_newer_structs_are_filled, 0, (int)COUNT_OF(outputs));
	tcase_add_loop_test(sizes, structs_with_garbage_sizes_are_not_written, 0,
			    (int)COUNT_OF(outputs));
	tcase_add_test(sizes, returned_structs_have_size_of_library);
	return suite_run(suite);
}
