/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host source: aligned chunks that never overlap, exact metadata, no memory for unbacked
 * chunks, and addresses even if the system has none left.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "source/source.h"

#define GIB ((size_t)1 << 30)
#define PAGE ((size_t)4096)

static struct mam_source *made(size_t total_bytes, bool backed)
{
	struct mam_source *source;

	ck_assert_int_eq(mam_source_host(total_bytes, backed, &source), MAM_OK);
	return source;
}

static void *grown(struct mam_source *source, size_t bytes)
{
	void *base;

	ck_assert_int_eq(mam_source_grow(source, bytes, &base), MAM_OK);
	return base;
}

/*
 * A grow in a process that may have 1 GB of addresses. The limit applies to this call only, because
 * Check and the sanitizers need more.
 */
static enum mam_status grow_in_one_gigabyte(struct mam_source *source, size_t bytes, void **base)
{
	struct rlimit before, low;
	enum mam_status status;

	ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
	low = before;
	low.rlim_cur = 1000000 * 1024ul;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &low), 0);
	status = mam_source_grow(source, bytes, base);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
	return status;
}

START_TEST(properties_are_correct)
{
	struct mam_source *source = made(0, false);

	ck_assert_str_eq(source->properties.name, "host");
	ck_assert_uint_eq(source->properties.granularity, PAGE);
	ck_assert_uint_eq(source->properties.alignment, 2 << 20);
	ck_assert_uint_eq(source->properties.total_bytes, 80 * GIB);
	ck_assert_int_eq(source->properties.device, -1);
	ck_assert(source->properties.survives_fork);
	mam_source_destroy(source);
	ck_assert_int_eq(mam_source_host(0, false, NULL), MAM_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(one_chunk_can_have_eighty_gigabytes)
{
	struct mam_source *source = made(0, false);
	void *base, *again;

	ck_assert_int_eq(grow_in_one_gigabyte(source, 80 * GIB, &base), MAM_OK);
	ck_assert_uint_eq((uintptr_t)base % source->properties.alignment, 0);
	ck_assert_int_eq(mam_source_shrink(source, base, 80 * GIB), MAM_OK);
	ck_assert_int_eq(grow_in_one_gigabyte(source, 80 * GIB, &again), MAM_OK);
	ck_assert_ptr_eq(again, base);
	mam_source_destroy(source);
}
END_TEST

/* Made-up addresses belong to no mapping: the kernel rejects them. */
START_TEST(made_up_chunks_do_not_overlap)
{
	struct mam_source *first = made(0, false), *second = made(0, false);
	void *bases[3];
	char *a, *b, *c;

	ck_assert_int_eq(grow_in_one_gigabyte(first, 40 * GIB, &bases[0]), MAM_OK);
	ck_assert_int_eq(grow_in_one_gigabyte(second, 40 * GIB + PAGE, &bases[1]), MAM_OK);
	ck_assert_int_eq(grow_in_one_gigabyte(first, 2 * GIB, &bases[2]), MAM_OK);
	a = bases[0];
	b = bases[1];
	c = bases[2];
	ck_assert(a + 40 * GIB <= b || b + 40 * GIB + PAGE <= a);
	ck_assert(a + 40 * GIB <= c || c + 2 * GIB <= a);
	ck_assert(b + 40 * GIB + PAGE <= c || c + 2 * GIB <= b);
	ck_assert_int_eq(msync(a, PAGE, MS_ASYNC), -1);
	ck_assert_int_eq(errno, ENOMEM);
	/*
	 * A chunk other than the newest keeps its addresses forever, but its bytes become available
	 * again.
	 */
	ck_assert_int_eq(mam_source_shrink(first, a, 40 * GIB), MAM_OK);
	ck_assert_int_eq(grow_in_one_gigabyte(first, 78 * GIB, &bases[0]), MAM_OK);
	ck_assert(c + 2 * GIB <= (char *)bases[0]);
	mam_source_destroy(first);
	mam_source_destroy(second);
}
END_TEST

START_TEST(unbacked_chunk_may_exceed_address_space)
{
	struct mam_source *source = made((size_t)1 << 58, false);
	void *base = grown(source, (size_t)1 << 58);

	ck_assert_uint_eq((uintptr_t)base % source->properties.alignment, 0);
	mam_source_destroy(source);
}
END_TEST

START_TEST(addresses_run_out_without_wrapping)
{
	struct mam_source *source = made(SIZE_MAX, false);
	const size_t half = (size_t)1 << 61;
	void *base = NULL, *other = NULL;

	ck_assert_int_eq(mam_source_grow(source, half, &base), MAM_OK);
	ck_assert_int_eq(mam_source_grow(source, half, &other), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_null(other);
	ck_assert_int_eq(mam_source_grow(source, mam_round_down(SIZE_MAX, PAGE) - half, &other),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_source_shrink(source, base, half), MAM_OK);
	ck_assert_ptr_eq(grown(source, half), base);
	mam_source_destroy(source);
}
END_TEST

START_TEST(unbacked_chunk_needs_no_memory_and_traps)
{
	struct mam_source *source = made(0, false);
	char *base = grown(source, 40 * GIB);
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], base, 1), -1);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_int_eq(write(ends[1], base + 40 * GIB - 1, 1), -1);
	ck_assert_int_eq(errno, EFAULT);
	mam_source_destroy(source);
}
END_TEST

START_TEST(backed_chunk_is_zeroed_memory)
{
	struct mam_source *source = made(64 << 20, true);
	unsigned char *base = grown(source, 3 * PAGE);

	ck_assert_uint_eq((uintptr_t)base % source->properties.alignment, 0);
	for (size_t i = 0; i < 3 * PAGE; i++)
		ck_assert_int_eq(base[i], 0);
	memset(base, 0x5a, 3 * PAGE);
	ck_assert_int_eq(mam_source_shrink(source, base, 3 * PAGE), MAM_OK);
	ck_assert_int_eq(msync(base, PAGE, MS_ASYNC), -1); /* unmapped */
	mam_source_destroy(source);
}
END_TEST

START_TEST(refused_memory_is_not_replaced_by_made_up)
{
	struct mam_source *source = made(0, true);
	void *base = source;

	ck_assert_int_eq(grow_in_one_gigabyte(source, 40 * GIB, &base), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_eq(base, source);
	ck_assert_uint_eq(mam_source_room(source), 80 * GIB);
	base = grown(source, 2 << 20);
	memset(base, 1, 2 << 20);
	mam_source_destroy(source);
}
END_TEST

START_TEST(grow_is_bounded_by_total)
{
	struct mam_source *source = made(10 * PAGE, false);
	size_t room;
	void *a, *b, *c = NULL;

	a = grown(source, 6 * PAGE);
	ck_assert_int_eq(mam_source_grow(source, 5 * PAGE, &c), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_null(c);
	ck_assert(mam_host_room(source, &room));
	ck_assert_uint_eq(room, 4 * PAGE);
	b = grown(source, 4 * PAGE);
	ck_assert_int_eq(mam_source_grow(source, PAGE, &c), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_source_shrink(source, a, 6 * PAGE), MAM_OK);
	ck_assert_uint_eq(mam_source_room(source), 6 * PAGE);
	c = grown(source, 6 * PAGE);
	ck_assert_int_eq(mam_source_shrink(source, b, 4 * PAGE), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, c, 6 * PAGE), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

START_TEST(quiesce_is_not_provided)
{
	struct mam_source *source = made(0, false);

	ck_assert_ptr_null(source->ops->quiesce);
	ck_assert_int_eq(mam_source_quiesce(source), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

static void *grow_and_shrink(void *user)
{
	struct mam_source *source = user;

	for (int i = 0; i < 300; i++) {
		void *base;

		if (mam_source_grow(source, 2 * PAGE, &base) == MAM_OK)
			mam_source_shrink(source, base, 2 * PAGE);
	}
	return NULL;
}

START_TEST(threads_share_one_source)
{
	struct mam_source *source = made(6 * PAGE, true);
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, grow_and_shrink, source), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(mam_source_room(source), 6 * PAGE);
	mam_source_destroy(source);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source/host");
	TCase *addresses = tcase_create("addresses");
	TCase *memory = tcase_create("memory");
	TCase *metadata = tcase_create("metadata");
	SRunner *runner;
	int failed;

	tcase_add_test(addresses, properties_are_correct);
	tcase_add_test(addresses, one_chunk_can_have_eighty_gigabytes);
	tcase_add_test(addresses, made_up_chunks_do_not_overlap);
	tcase_add_test(addresses, unbacked_chunk_may_exceed_address_space);
	tcase_add_test(addresses, addresses_run_out_without_wrapping);
	suite_add_tcase(suite, addresses);
	tcase_add_test(memory, unbacked_chunk_needs_no_memory_and_traps);
	tcase_add_test(memory, backed_chunk_is_zeroed_memory);
	tcase_add_test(memory, refused_memory_is_not_replaced_by_made_up);
	suite_add_tcase(suite, memory);
	tcase_add_test(metadata, grow_is_bounded_by_total);
	tcase_add_test(metadata, quiesce_is_not_provided);
	tcase_add_test(metadata, threads_share_one_source);
	suite_add_tcase(suite, metadata);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
