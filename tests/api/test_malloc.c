/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mam_malloc() and mam_free(): the wait before a free, which events listeners get and when, and
 * which pool a request without a pool uses.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <mam/stats.h>

#include "base/event.h"
#include "stub.h"
#include "suite.h"

static struct stub stub;
static struct mam_pool *pool;

static void make_pool(enum mam_free_policy policy)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	stub_init(&stub);
	attr.free_policy = policy;
	ck_assert_int_eq(mam_pool_create_on(&stub.source, &attr, &pool), MAM_OK);
}

static void *alloc(size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(mam_malloc(pool, bytes, &block), MAM_OK);
	ck_assert_ptr_nonnull(block);
	return block;
}

static uint64_t live_blocks(void)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats.live_blocks;
}

START_TEST(strict_free_waits_once_and_alloc_never)
{
	make_pool(MAM_FREE_STRICT);
	for (unsigned int i = 1; i <= 3; i++) {
		void *block = alloc(512);

		ck_assert_uint_eq(stub.waits, i - 1);
		ck_assert_int_eq(mam_free(pool, block), MAM_OK);
		ck_assert_uint_eq(stub.waits, i);
	}
}
END_TEST

START_TEST(default_policy_of_device_source_is_strict)
{
	make_pool(MAM_FREE_DEFAULT);
	ck_assert_int_eq(mam_free(pool, alloc(512)), MAM_OK);
	ck_assert_uint_eq(stub.waits, 1);
}
END_TEST

START_TEST(free_with_stream_policy_does_not_wait)
{
	make_pool(MAM_FREE_STREAM);
	ck_assert_int_eq(mam_free(pool, alloc(512)), MAM_OK);
	ck_assert_int_eq(mam_free(NULL, alloc(512)), MAM_OK);
	ck_assert_uint_eq(stub.waits, 0);
}
END_TEST

START_TEST(failed_wait_leaves_block_live)
{
	void *block;

	make_pool(MAM_FREE_STRICT);
	block = alloc(512);
	stub.wait_status = MAM_ERROR_DRIVER;
	ck_assert_int_eq(mam_free(pool, block), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_free(NULL, block), MAM_ERROR_DRIVER);
	ck_assert_uint_eq(live_blocks(), 1);
	stub.wait_status = MAM_OK;
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(free_of_foreign_address_does_not_wait)
{
	make_pool(MAM_FREE_STRICT);
	alloc(512);
	ck_assert_int_eq(mam_free(NULL, &stub), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_free(NULL, NULL), MAM_OK);
	ck_assert_int_eq(mam_free(pool, NULL), MAM_OK);
	ck_assert_uint_eq(stub.waits, 0);
}
END_TEST

#define HEARD_MAX 64

static struct mam_event heard[HEARD_MAX];
static size_t heard_count;

static void hear(const struct mam_event *event, void *user)
{
	(void)user;
	if (heard_count < HEARD_MAX)
		heard[heard_count++] = *event;
}

/* The next event of a kind that malloc.c emits; sources and pools emit others. */
static const struct mam_event *next_heard(size_t *at)
{
	while (*at < heard_count) {
		const struct mam_event *event = &heard[(*at)++];

		if (event->kind == MAM_EVENT_ALLOC || event->kind == MAM_EVENT_FREE ||
		    event->kind == MAM_EVENT_FAIL)
			return event;
	}
	return NULL;
}

static void expect(size_t *at, enum mam_event_kind kind, const void *address, size_t bytes)
{
	const struct mam_event *event = next_heard(at);

	ck_assert_ptr_nonnull(event);
	ck_assert_int_eq(event->kind, kind);
	ck_assert_ptr_eq(event->pool, pool);
	ck_assert_ptr_eq(event->address, address);
	ck_assert_uint_eq(event->bytes, bytes);
}

START_TEST(listeners_get_each_request_once)
{
	void *first, *second;
	size_t at = 0;

	make_pool(MAM_FREE_STREAM);
	ck_assert(mam_event_subscribe(hear, NULL));
	first = alloc(100);
	ck_assert_int_eq(mam_malloc_aligned(pool, 5000, 4096, &second), MAM_OK);
	ck_assert_int_eq(mam_free(pool, first), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, SIZE_MAX, &first), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_free(NULL, second), MAM_OK);
	expect(&at, MAM_EVENT_ALLOC, first, 100);
	expect(&at, MAM_EVENT_ALLOC, second, 5000);
	expect(&at, MAM_EVENT_FREE, first, 100);
	expect(&at, MAM_EVENT_FAIL, NULL, SIZE_MAX);
	expect(&at, MAM_EVENT_FREE, second, 5000);
	ck_assert_ptr_null(next_heard(&at));
}
END_TEST

START_TEST(calls_without_effect_emit_no_event)
{
	size_t at = 0;
	void *block;

	make_pool(MAM_FREE_STREAM);
	block = alloc(100);
	ck_assert(mam_event_subscribe(hear, NULL));
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	ck_assert_int_eq(mam_free(pool, (char *)block + 1), MAM_ERROR_INTERIOR);
	ck_assert_int_eq(mam_free(pool, &stub), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_free(pool, (char *)block + 4096), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_malloc(pool, 0, &block), MAM_OK);
	ck_assert_ptr_null(next_heard(&at));
}
END_TEST

START_TEST(pool_creation_and_destruction_emit_events)
{
	ck_assert(mam_event_subscribe(hear, NULL));
	make_pool(MAM_FREE_STREAM);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	ck_assert_uint_eq(heard_count, 2);
	ck_assert_int_eq(heard[0].kind, MAM_EVENT_POOL_CREATE);
	ck_assert_ptr_eq(heard[0].pool, pool);
	ck_assert_int_eq(heard[1].kind, MAM_EVENT_POOL_DESTROY);
	ck_assert_ptr_eq(heard[1].pool, pool);
}
END_TEST

START_TEST(usable_size_is_rounded_size_of_live_blocks)
{
	void *block;
	size_t bytes = 7;

	make_pool(MAM_FREE_STREAM);
	block = alloc(513);
	ck_assert_int_eq(mam_usable_size(pool, block, &bytes), MAM_OK);
	ck_assert_uint_eq(bytes, 1024);
	bytes = 7;
	ck_assert_int_eq(mam_usable_size(NULL, block, &bytes), MAM_OK);
	ck_assert_uint_eq(bytes, 1024);
	bytes = 7;
	ck_assert_int_eq(mam_usable_size(pool, (char *)block + 1, &bytes), MAM_ERROR_INTERIOR);
	ck_assert_int_eq(mam_usable_size(pool, &bytes, &bytes), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_free(pool, block), MAM_OK);
	ck_assert_int_eq(mam_usable_size(pool, block, &bytes), MAM_ERROR_DOUBLE_FREE);
	ck_assert_int_eq(mam_usable_size(pool, block, NULL), MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(bytes, 7);
	ck_assert_int_eq(mam_usable_size(pool, NULL, &bytes), MAM_OK);
	ck_assert_uint_eq(bytes, 0);
}
END_TEST

START_TEST(request_without_pool_uses_default_pool)
{
	struct mam_pool *owner;
	void *block;

	setenv("MAM_SOURCE", "host", 1);
	make_pool(MAM_FREE_STREAM);
	ck_assert_int_eq(mam_malloc_aligned(NULL, 1000, 1 << 20, &block), MAM_OK);
	ck_assert_uint_eq((uintptr_t)block % (1 << 20), 0);
	ck_assert_int_eq(mam_owner(block, &owner, NULL), MAM_OK);
	ck_assert_ptr_ne(owner, pool);
	ck_assert_int_eq(mam_free(pool, block), MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_free(NULL, block), MAM_OK);
}
END_TEST

/* The log, which goes to a file of this test. */
static const char *logged(const char *path)
{
	static char text[2000];
	FILE *file = fopen(path, "r");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[length] = '\0';
	if (file)
		fclose(file);
	remove(path);
	return text;
}

START_TEST(out_of_memory_is_explained_in_log)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	char path[] = "/tmp/mam-test-log-XXXXXX";
	void *block, *blocks[4];
	const char *text;

	close(mkstemp(path));
	setenv("MAM_LOG_FILE", path, 1);
	setenv("MAM_LOG", "info", 1);
	stub_init(&stub);
	attr.limit_bytes = 4 << 20;
	attr.chunk_bytes = 4 << 20;
	attr.name = "small";
	ck_assert_int_eq(mam_pool_create_on(&stub.source, &attr, &pool), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 5 << 20, &block), MAM_ERROR_OUT_OF_MEMORY);
	for (size_t i = 0; i < COUNT_OF(blocks); i++)
		blocks[i] = alloc(1 << 20);
	ck_assert_int_eq(mam_free(pool, blocks[0]), MAM_OK);
	ck_assert_int_eq(mam_free(pool, blocks[2]), MAM_OK);
	ck_assert_int_eq(mam_malloc(pool, 2 << 20, &block), MAM_ERROR_OUT_OF_MEMORY);
	text = logged(path);
	ck_assert_ptr_nonnull(strstr(text, "small: no memory for 5 MiB: "));
	ck_assert_ptr_nonnull(strstr(text, "raise the pool's limit"));
	ck_assert_ptr_nonnull(strstr(text, "small: no memory for 2 MiB: largest free block 1 MiB, "
					   "live 2 MiB, physical 4 MiB, limit 4 MiB; the free "
					   "memory is fragmented"));
}
END_TEST

START_TEST(no_device_means_no_default_pool)
{
	void *block = &stub;

	setenv("MAM_SOURCE", "cudamalloc", 1);
	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	ck_assert_int_eq(mam_malloc(NULL, 512, &block), MAM_ERROR_NO_DEVICE);
	ck_assert_ptr_eq(block, &stub);
	ck_assert_int_eq(mam_malloc(NULL, 0, &block), MAM_OK);
	ck_assert_ptr_null(block);
	ck_assert_int_eq(mam_free(NULL, &stub), MAM_ERROR_NOT_OWNED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("api/malloc");
	TCase *wait = suite_case(suite, "wait");
	TCase *events = suite_case(suite, "events");
	TCase *pools = suite_case(suite, "pools");

	tcase_add_test(wait, strict_free_waits_once_and_alloc_never);
	tcase_add_test(wait, default_policy_of_device_source_is_strict);
	tcase_add_test(wait, free_with_stream_policy_does_not_wait);
	tcase_add_test(wait, failed_wait_leaves_block_live);
	tcase_add_test(wait, free_of_foreign_address_does_not_wait);
	tcase_add_test(events, listeners_get_each_request_once);
	tcase_add_test(events, calls_without_effect_emit_no_event);
	tcase_add_test(events, pool_creation_and_destruction_emit_events);
	tcase_add_test(pools, usable_size_is_rounded_size_of_live_blocks);
	tcase_add_test(pools, request_without_pool_uses_default_pool);
	tcase_add_test(pools, out_of_memory_is_explained_in_log);
	tcase_add_test(pools, no_device_means_no_default_pool);
	return suite_run(suite);
}
