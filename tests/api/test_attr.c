/* SPDX-License-Identifier: Apache-2.0 */
/* Pool attributes: old and new sizes of the struct, every field's range, and the environment. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "api/attr.h"

/* The struct of a later version: this one with one more field, unknown to this version. */
struct later_attr {
	struct mam_pool_attr known;
	uint64_t unknown[8];
};

static const struct mam_pool_attr defaults = MAM_POOL_ATTR_INIT;

static enum mam_status read_with_size(size_t size, struct mam_pool_attr *attr)
{
	struct mam_pool_attr given = { .source = "host",
				       .device = 3,
				       .chunk_bytes = 4096,
				       .growth_bytes = 8192,
				       .limit_bytes = 16384,
				       .granule = 256,
				       .free_policy = MAM_FREE_STREAM,
				       .name = "whole" };

	given.size = size;
	return mam_attr_read(&given, attr);
}

START_TEST(null_attr_means_all_defaults)
{
	struct mam_pool_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	ck_assert_int_eq(mam_attr_read(NULL, &attr), MAM_OK);
	ck_assert_uint_eq(attr.size, sizeof(attr));
	ck_assert_ptr_null(attr.source);
	ck_assert_int_eq(attr.device, MAM_DEVICE_CURRENT);
	ck_assert_uint_eq(attr.chunk_bytes, 0);
	ck_assert_ptr_null(attr.name);
}
END_TEST

START_TEST(complete_attr_is_read_unchanged)
{
	struct mam_pool_attr attr;

	ck_assert_int_eq(read_with_size(sizeof(attr), &attr), MAM_OK);
	ck_assert_str_eq(attr.source, "host");
	ck_assert_int_eq(attr.device, 3);
	ck_assert_uint_eq(attr.chunk_bytes, 4096);
	ck_assert_uint_eq(attr.growth_bytes, 8192);
	ck_assert_uint_eq(attr.limit_bytes, 16384);
	ck_assert_uint_eq(attr.granule, 256);
	ck_assert_int_eq(attr.free_policy, MAM_FREE_STREAM);
	ck_assert_str_eq(attr.name, "whole");
}
END_TEST

START_TEST(missing_fields_of_shorter_attr_are_defaults)
{
	struct mam_pool_attr attr;

	ck_assert_int_eq(read_with_size(offsetof(struct mam_pool_attr, name), &attr), MAM_OK);
	ck_assert_ptr_null(attr.name);
	ck_assert_uint_eq(attr.granule, 256);

	ck_assert_int_eq(read_with_size(offsetof(struct mam_pool_attr, growth_bytes), &attr),
			 MAM_OK);
	ck_assert_uint_eq(attr.chunk_bytes, 4096);
	ck_assert_uint_eq(attr.growth_bytes, 0);
	ck_assert_uint_eq(attr.granule, 0);
	ck_assert_int_eq(attr.free_policy, MAM_FREE_DEFAULT);
	ck_assert_uint_eq(attr.size, sizeof(attr));

	ck_assert_int_eq(read_with_size(offsetof(struct mam_pool_attr, device), &attr), MAM_OK);
	ck_assert_str_eq(attr.source, "host");
	ck_assert_int_eq(attr.device, MAM_DEVICE_CURRENT);
}
END_TEST

START_TEST(size_that_ends_inside_field_is_rejected)
{
	struct mam_pool_attr attr = defaults;

	for (size_t size = 0; size < sizeof(attr); size++) {
		enum mam_status status = read_with_size(size, &attr);

		if (size % 4 != 0 || size < offsetof(struct mam_pool_attr, device))
			ck_assert_msg(status == MAM_ERROR_INVALID_VALUE, "size %zu answered %d",
				      size, status);
	}
}
END_TEST

START_TEST(longer_attr_must_be_zero_after_known_fields)
{
	struct later_attr later;
	struct mam_pool_attr attr;

	memset(&later, 0, sizeof(later));
	later.known.size = sizeof(later);
	later.known.chunk_bytes = 512;
	ck_assert_int_eq(mam_attr_read(&later.known, &attr), MAM_OK);
	ck_assert_uint_eq(attr.chunk_bytes, 512);
	ck_assert_uint_eq(attr.size, sizeof(attr));

	later.unknown[7] = 1;
	ck_assert_int_eq(mam_attr_read(&later.known, &attr), MAM_ERROR_INVALID_VALUE);
	later.unknown[7] = 0;
	later.unknown[0] = 1;
	ck_assert_int_eq(mam_attr_read(&later.known, &attr), MAM_ERROR_INVALID_VALUE);
	later.known.size = sizeof(later.known); /* bytes after the end are not read */
	ck_assert_int_eq(mam_attr_read(&later.known, &attr), MAM_OK);
}
END_TEST

START_TEST(garbage_size_is_not_used)
{
	struct mam_pool_attr attr;

	ck_assert_int_eq(read_with_size(SIZE_MAX, &attr), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(read_with_size((size_t)1 << 40, &attr), MAM_ERROR_INVALID_VALUE);
}
END_TEST

/* Each row has one value out of range, or just inside. */
static const struct {
	struct mam_pool_attr attr;
	enum mam_status status;
} ranges[] = {
	{ { .device = -1 }, MAM_OK },
	{ { .device = -2 }, MAM_ERROR_INVALID_VALUE },
	{ { .device = 0 }, MAM_OK },
	{ { .granule = 8 }, MAM_ERROR_INVALID_VALUE },
	{ { .granule = 16 }, MAM_OK },
	{ { .granule = 513 }, MAM_ERROR_INVALID_VALUE },
	{ { .granule = 2 << 20 }, MAM_OK },
	{ { .granule = 4 << 20 }, MAM_ERROR_INVALID_VALUE },
	{ { .free_policy = MAM_FREE_STRICT }, MAM_OK },
	{ { .free_policy = MAM_FREE_DEFERRED }, MAM_OK },
	{ { .free_policy = (enum mam_free_policy)4 }, MAM_ERROR_INVALID_VALUE },
	{ { .free_policy = (enum mam_free_policy) - 1 }, MAM_ERROR_INVALID_VALUE },
	{ { .chunk_bytes = 4096, .limit_bytes = 4096 }, MAM_OK },
	{ { .chunk_bytes = 4097, .limit_bytes = 4096 }, MAM_ERROR_INVALID_VALUE },
	{ { .chunk_bytes = MAM_CHUNK_LARGEST, .limit_bytes = 4096 }, MAM_OK },
	{ { .chunk_bytes = 4096, .growth_bytes = MAM_GROWTH_NONE }, MAM_OK },
};

START_TEST(field_ranges_are_checked)
{
	struct mam_pool_attr given = ranges[_i].attr;
	struct mam_pool_attr attr;

	given.size = sizeof(given);
	ck_assert_int_eq(mam_attr_read(&given, &attr), ranges[_i].status);
}
END_TEST

START_TEST(rejected_attr_leaves_output_unchanged)
{
	struct mam_pool_attr attr = { .chunk_bytes = 77 };

	ck_assert_int_eq(read_with_size(0, &attr), MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(attr.chunk_bytes, 77);
}
END_TEST

START_TEST(names_are_copied_and_truncated)
{
	char name[] = "a name of more than thirty-one characters";
	struct mam_pool_attr attr = defaults;
	struct mam_pool_config config;

	attr.name = name;
	mam_attr_config(&attr, &config);
	memset(name, 'x', sizeof(name) - 1);
	ck_assert_str_eq(config.name, "a name of more than thirty-one ");
	attr.name = NULL;
	mam_attr_config(&attr, &config);
	ck_assert_str_eq(config.name, "");
}
END_TEST

START_TEST(footprint_has_maximum)
{
	struct mam_pool_attr given = defaults, attr;
	struct mam_pool_config config;

	given.footprint = 1000;
	ck_assert_int_eq(mam_attr_read(&given, &attr), MAM_OK);
	mam_attr_config(&attr, &config);
	ck_assert_uint_eq(config.footprint, 1000);
	given.footprint = 1001;
	ck_assert_int_eq(mam_attr_read(&given, &attr), MAM_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(environment_sets_every_field)
{
	struct mam_pool_attr attr;

	setenv("MAM_SOURCE", "host", 1);
	setenv("MAM_CHUNK", "2M", 1);
	setenv("MAM_GROWTH", "4M", 1);
	setenv("MAM_LIMIT", "64M", 1);
	setenv("MAM_GRANULE", "1K", 1);
	setenv("MAM_FREE", "stream", 1);
	setenv("MAM_FOOTPRINT", "5", 1);
	mam_attr_environment(&attr);
	ck_assert_uint_eq(attr.footprint, 5);
	ck_assert_str_eq(attr.source, "host");
	ck_assert_int_eq(attr.device, MAM_DEVICE_CURRENT);
	ck_assert_uint_eq(attr.chunk_bytes, 2 << 20);
	ck_assert_uint_eq(attr.growth_bytes, 4 << 20);
	ck_assert_uint_eq(attr.limit_bytes, 64 << 20);
	ck_assert_uint_eq(attr.granule, 1024);
	ck_assert_int_eq(attr.free_policy, MAM_FREE_STREAM);
}
END_TEST

START_TEST(empty_environment_means_defaults)
{
	struct mam_pool_attr attr;

	clearenv();
	mam_attr_environment(&attr);
	ck_assert_str_eq(attr.source, "cudamalloc");
	ck_assert_uint_eq(attr.chunk_bytes, 0);
	ck_assert_uint_eq(attr.growth_bytes, 0);
	ck_assert_uint_eq(attr.limit_bytes, 0);
	ck_assert_uint_eq(attr.granule, 512);
	ck_assert_int_eq(attr.free_policy, MAM_FREE_DEFAULT);
}
END_TEST

START_TEST(contradictory_options_give_valid_attr)
{
	struct mam_pool_attr attr, whole;

	setenv("MAM_LOG_FILE", "/dev/null", 1);
	setenv("MAM_CHUNK", "8M", 1);
	setenv("MAM_LIMIT", "4M", 1);
	mam_attr_environment(&attr);
	ck_assert_uint_eq(attr.chunk_bytes, 4 << 20);
	ck_assert_int_eq(mam_attr_read(&attr, &whole), MAM_OK);
}
END_TEST

START_TEST(pool_without_growth_starts_with_largest_chunk)
{
	struct mam_pool_attr attr;

	setenv("MAM_GROWTH", "none", 1);
	mam_attr_environment(&attr);
	ck_assert_uint_eq(attr.growth_bytes, MAM_GROWTH_NONE);
	ck_assert_uint_eq(attr.chunk_bytes, MAM_CHUNK_LARGEST);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("api/attr");
	TCase *sizes = suite_case(suite, "sizes");
	TCase *fields = suite_case(suite, "fields");
	TCase *environment = suite_case(suite, "environment");

	tcase_add_test(sizes, null_attr_means_all_defaults);
	tcase_add_test(sizes, complete_attr_is_read_unchanged);
	tcase_add_test(sizes, missing_fields_of_shorter_attr_are_defaults);
	tcase_add_test(sizes, size_that_ends_inside_field_is_rejected);
	tcase_add_test(sizes, longer_attr_must_be_zero_after_known_fields);
	tcase_add_test(sizes, garbage_size_is_not_used);
	tcase_add_loop_test(fields, field_ranges_are_checked, 0, COUNT_OF(ranges));
	tcase_add_test(fields, rejected_attr_leaves_output_unchanged);
	tcase_add_test(fields, names_are_copied_and_truncated);
	tcase_add_test(environment, footprint_has_maximum);
	tcase_add_test(environment, environment_sets_every_field);
	tcase_add_test(environment, empty_environment_means_defaults);
	tcase_add_test(environment, contradictory_options_give_valid_attr);
	tcase_add_test(environment, pool_without_growth_starts_with_largest_chunk);
	return suite_run(suite);
}
