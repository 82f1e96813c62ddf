/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata of the vmm source: which handle is mapped where, and its state after a failed call.
 *
 * The test provides the backend in place of the driver. It tracks each handle and each mapping, and
 * aborts the test at a call that a driver would reject.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "source/vmm.h"
#include "space.h"

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define MAX 4096

enum call { RESERVE, UNRESERVE, CREATE, RELEASE, MAP, UNMAP, CALLS };

static struct mam_vmm *vmm;
static struct mam_source *source;
static unsigned int made[CALLS], refuse_at[CALLS], refuse_times;
static struct held {
	size_t bytes;  /* 0: no such handle */
	uint64_t base; /* 0: not mapped */
} handles[MAX];
static uint64_t next_handle, next_base, ranges, reported_room;

static bool refused(enum call call)
{
	made[call]++;
	return refuse_at[call] != 0 && made[call] >= refuse_at[call] &&
	       made[call] - refuse_at[call] < refuse_times;
}

static enum mam_status do_reserve(struct mam_vmm *asked, size_t bytes, uint64_t *base)
{
	ck_assert_ptr_eq(asked, vmm);
	if (refused(RESERVE))
		return MAM_ERROR_OUT_OF_MEMORY;
	*base = next_base;
	next_base += bytes + GIB;
	ranges++;
	return MAM_OK;
}

static enum mam_status do_unreserve(struct mam_vmm *asked, uint64_t base, size_t bytes)
{
	ck_assert_ptr_eq(asked, vmm);
	if (refused(UNRESERVE))
		return MAM_ERROR_DRIVER;
	for (int i = 0; i < MAX; i++)
		ck_assert(handles[i].base == 0 || handles[i].base - base >= bytes);
	ranges--;
	return MAM_OK;
}

static enum mam_status do_create(struct mam_vmm *asked, size_t bytes, uint64_t *handle)
{
	ck_assert_ptr_eq(asked, vmm);
	if (refused(CREATE))
		return MAM_ERROR_OUT_OF_MEMORY;
	*handle = next_handle++;
	handles[*handle] = (struct held){ bytes, 0 };
	return MAM_OK;
}

static enum mam_status do_release(struct mam_vmm *asked, uint64_t handle, size_t bytes)
{
	ck_assert_ptr_eq(asked, vmm);
	ck_assert_uint_eq(handles[handle].bytes, bytes);
	ck_assert_uint_eq(handles[handle].base, 0);
	if (refused(RELEASE))
		return MAM_ERROR_DRIVER;
	handles[handle].bytes = 0;
	return MAM_OK;
}

static enum mam_status do_map(struct mam_vmm *asked, uint64_t base, size_t bytes, uint64_t handle)
{
	ck_assert_ptr_eq(asked, vmm);
	ck_assert_uint_eq(handles[handle].bytes, bytes);
	ck_assert_uint_eq(handles[handle].base, 0);
	if (refused(MAP))
		return MAM_ERROR_DRIVER;
	handles[handle].base = base;
	return MAM_OK;
}

static enum mam_status do_unmap(struct mam_vmm *asked, uint64_t base, size_t bytes)
{
	int i = 0;

	ck_assert_ptr_eq(asked, vmm);
	while (i < MAX && handles[i].base != base)
		i++;
	ck_assert_int_lt(i, MAX);
	ck_assert_uint_eq(handles[i].bytes, bytes);
	if (refused(UNMAP))
		return MAM_ERROR_DRIVER;
	handles[i].base = 0;
	return MAM_OK;
}

static size_t do_room(struct mam_vmm *asked)
{
	ck_assert_ptr_eq(asked, vmm);
	return reported_room;
}

static void do_destroy(struct mam_vmm *asked)
{
	ck_assert_ptr_eq(asked, vmm);
	free(vmm);
}

static const struct mam_vmm_backend backend = {
	.reserve = do_reserve,
	.unreserve = do_unreserve,
	.create = do_create,
	.release = do_release,
	.map = do_map,
	.unmap = do_unmap,
	.room = do_room,
	.destroy = do_destroy,
};

static void make(void)
{
	vmm = calloc(1, sizeof(*vmm));
	ck_assert_ptr_nonnull(vmm);
	mam_vmm_init(vmm, &backend);
	source = &vmm->source;
	source->properties = (struct mam_source_properties){ .name = "played",
							     .granularity = 2 * MIB,
							     .alignment = 2 * MIB,
							     .total_bytes = 64 * MIB };
}

static void set_up(void)
{
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	next_handle = 7;
	next_base = (uint64_t)1 << 40;
	refuse_times = 1;
	make();
}

static void tear_down(void)
{
	mam_source_destroy(source);
}

static char *range_of(size_t bytes)
{
	void *base = NULL;

	ck_assert_int_eq(mam_source_grow(source, bytes, &base), MAM_OK);
	return base;
}

static unsigned int living(void)
{
	unsigned int count = 0;

	for (int i = 0; i < MAX; i++)
		count += handles[i].bytes != 0;
	return count;
}

START_TEST(each_piece_has_its_own_handle)
{
	enum { PIECES = 1000, STRIDE = 37 };
	size_t step = STRIDE * 2 * MIB;
	char *base = range_of(PIECES * step), *other = range_of(64 * MIB);
	bool lost;

	ck_assert_int_eq(mam_source_map(source, other, 2 * MIB), MAM_OK);
	for (size_t i = 0; i < PIECES; i++)
		ck_assert_int_eq(mam_source_map(source, base + i * step, 2 * MIB), MAM_OK);
	for (size_t i = 0; i < PIECES; i += 2) /* every second one moves up by one unit */
		ck_assert_int_eq(mam_source_move(source, base + i * step, 2 * MIB,
						 base + i * step + 2 * MIB, &lost),
				 MAM_OK);
	ck_assert_uint_eq(living(), PIECES + 1);
	for (size_t i = PIECES; i-- > 0;)
		ck_assert_int_eq(
			mam_source_unmap(source, base + i * step + (i % 2 ? 0 : 2 * MIB), 2 * MIB),
			MAM_OK);
	ck_assert_uint_eq(living(), 1);
	ck_assert_int_eq(mam_source_shrink(source, base, PIECES * step), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, other, 64 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_unmap(source, other, 2 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, other, 64 * MIB), MAM_OK);
	ck_assert_uint_eq(ranges, 0);
}
END_TEST

START_TEST(invalid_range_is_refused_without_backend_call)
{
	char *base = range_of(64 * MIB);
	unsigned int asked;
	bool lost = true;

	ck_assert_int_eq(mam_source_map(source, base + 8 * MIB, 4 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_map(source, base + 16 * MIB, 4 * MIB), MAM_OK);
	asked = made[MAP] + made[UNMAP] + made[CREATE] + made[RELEASE] + made[UNRESERVE];
	ck_assert_int_eq(mam_source_unmap(source, base + 8 * MIB, 2 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_unmap(source, base + 8 * MIB, 6 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_unmap(source, base + 6 * MIB, 6 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_unmap(source, base + 10 * MIB, 2 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_map(source, base + 64 * MIB, 2 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_map(source, base + 62 * MIB, 4 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_move(source, base + 8 * MIB, 4 * MIB, base + 16 * MIB, &lost),
			 MAM_ERROR_DRIVER);
	ck_assert(!lost);
	ck_assert_int_eq(mam_source_move(source, base + 8 * MIB, 4 * MIB, base + 62 * MIB, &lost),
			 MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_move(source, base, 4 * MIB, base + 32 * MIB, &lost),
			 MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_shrink(source, base, 64 * MIB), MAM_ERROR_DRIVER);
	ck_assert_uint_eq(made[MAP] + made[UNMAP] + made[CREATE] + made[RELEASE] + made[UNRESERVE],
			  asked);
}
END_TEST

START_TEST(released_range_cannot_be_mapped)
{
	char *base = range_of(64 * MIB);

	refuse_at[UNRESERVE] = 1;
	ck_assert_int_eq(mam_source_shrink(source, base, 64 * MIB), MAM_ERROR_DRIVER);
	/* The range still exists. */
	ck_assert_int_eq(mam_source_map(source, base, 2 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_unmap(source, base, 2 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, base, 64 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_map(source, base, 2 * MIB), MAM_ERROR_DRIVER);
	ck_assert_uint_eq(made[CREATE], 1);
}
END_TEST

START_TEST(source_has_at_most_sixteen_ranges)
{
	char *bases[MAM_VMM_RANGES];
	void *base = &source;

	for (int i = 0; i < MAM_VMM_RANGES; i++)
		bases[i] = range_of(4 * MIB);
	ck_assert_int_eq(mam_source_grow(source, 4 * MIB, &base), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_eq(base, &source);
	ck_assert_uint_eq(ranges, MAM_VMM_RANGES);
	ck_assert_int_eq(mam_source_shrink(source, bases[5], 4 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_map(source, range_of(4 * MIB), 4 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_map(source, bases[15], 4 * MIB), MAM_OK);
}
END_TEST

START_TEST(refused_range_does_not_exist)
{
	void *base = &source;

	refuse_at[RESERVE] = 1;
	ck_assert_int_eq(mam_source_grow(source, 4 * MIB, &base), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_eq(base, &source);
	ck_assert_uint_eq(made[UNRESERVE], 0);
}
END_TEST

/* Which call fails, how many times, and the state after a map, an unmap or a move. */
static const struct {
	enum call call;
	unsigned int at, times;
	char what; /* m: map, u: unmap, v: move */
	enum mam_status status;
	bool lost;
	/* The piece is (h)ere, (t)here, or (n)owhere; its handle exists while it is mapped. */
	char where;
	unsigned int living;
} failures[] = {
	{ CREATE, 2, 1, 'm', MAM_ERROR_OUT_OF_MEMORY, false, 'h', 1 },
	{ MAP, 2, 1, 'm', MAM_ERROR_DRIVER, false, 'h', 1 },
	{ UNMAP, 1, 1, 'u', MAM_ERROR_DRIVER, false, 'h', 1 },
	{ RELEASE, 1, 1, 'u', MAM_OK, false, 'n', 1 }, /* lost by the driver */
	{ UNMAP, 1, 1, 'v', MAM_ERROR_DRIVER, false, 'h', 1 },
	{ MAP, 2, 1, 'v', MAM_ERROR_DRIVER, false, 'h', 1 },
	{ MAP, 2, 2, 'v', MAM_ERROR_DRIVER, true, 'n', 0 },
	{ CREATE, 9, 1, 'v', MAM_OK, false, 't', 1 },
};

START_TEST(piece_is_where_the_status_says)
{
	char *base = range_of(64 * MIB), *there = base + 32 * MIB;
	enum mam_status status;
	bool lost = false;

	refuse_at[failures[_i].call] = failures[_i].at;
	refuse_times = failures[_i].times;
	ck_assert_int_eq(mam_source_map(source, base, 4 * MIB), MAM_OK);
	if (failures[_i].what == 'm')
		status = mam_source_map(source, there, 4 * MIB);
	else if (failures[_i].what == 'u')
		status = mam_source_unmap(source, base, 4 * MIB);
	else
		status = mam_source_move(source, base, 4 * MIB, there, &lost);
	ck_assert_int_eq(status, failures[_i].status);
	ck_assert_int_eq(lost, failures[_i].lost);
	ck_assert_uint_eq(living(), failures[_i].living);
	refuse_times = 0;
	ck_assert_int_eq(mam_source_unmap(source, base, 4 * MIB),
			 failures[_i].where == 'h' ? MAM_OK : MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_unmap(source, there, 4 * MIB),
			 failures[_i].where == 't' ? MAM_OK : MAM_ERROR_DRIVER);
	if (failures[_i].call != RELEASE)
		ck_assert_uint_eq(living(), 0);
	/* Both addresses can be mapped again. */
	ck_assert_int_eq(mam_source_map(source, base, 4 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_map(source, there, 4 * MIB), MAM_OK);
}
END_TEST

START_TEST(unknown_room_assumes_total_is_free)
{
	reported_room = 30 * MIB + 5;
	ck_assert_uint_eq(mam_source_room(source), 30 * MIB);
	reported_room = SIZE_MAX;
	ck_assert_uint_eq(mam_source_room(source), 64 * MIB);
}
END_TEST

/* Tables of 4 and 8 bytes per unit: here 64 and 128 MiB. */
#define WIDE ((size_t)32 << 40)

START_TEST(metadata_is_freed_with_range_and_source)
{
	size_t before = 0;
	void *base;

	for (int i = 0; i < 8; i++) {
		if (i == 1)
			before = address_space();
		base = range_of(WIDE);
		ck_assert_int_eq(mam_source_shrink(source, base, WIDE), MAM_OK);
		range_of(WIDE);
		mam_source_destroy(source);
		make();
	}
	ck_assert_uint_lt(address_space(), before + 32 * MIB);
}
END_TEST

/* The first table cannot be allocated, or the second one. */
START_TEST(grow_fails_without_metadata)
{
	const size_t spare[] = { 16 * MIB, 96 * MIB };
	struct rlimit limit, narrow;
	enum mam_status status;
	size_t before = address_space();
	void *base = &source;

	ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
	narrow = limit;
	narrow.rlim_cur = before + spare[_i];
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &narrow), 0);
	status = mam_source_grow(source, WIDE, &base);
	setrlimit(RLIMIT_AS, &limit);
	ck_assert_int_eq(status, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_eq(base, &source);
	ck_assert_uint_eq(ranges, 0);
	ck_assert_uint_lt(address_space(), before + 8 * MIB);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source/vmm_metadata");
	TCase *tcase = tcase_create("metadata");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, each_piece_has_its_own_handle);
	tcase_add_test(tcase, invalid_range_is_refused_without_backend_call);
	tcase_add_test(tcase, released_range_cannot_be_mapped);
	tcase_add_test(tcase, source_has_at_most_sixteen_ranges);
	tcase_add_test(tcase, refused_range_does_not_exist);
	tcase_add_loop_test(tcase, piece_is_where_the_status_says, 0,
			    (int)(sizeof(failures) / sizeof(failures[0])));
	tcase_add_test(tcase, unknown_room_assumes_total_is_free);
	if (SPACE_IS_OURS) {
		tcase_add_test(tcase, metadata_is_freed_with_range_and_source);
		tcase_add_loop_test(tcase, grow_fails_without_metadata, 0, 2);
	}
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
