/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vmm source: ranges and pieces on the fake driver, its simulated costs without a driver, and
 * leaks after a failed call.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/load.h"
#include "source/source.h"
#include "space.h"

#define MIB ((size_t)1 << 20)

static char log_path[64];

static void set_up(void)
{
	snprintf(log_path, sizeof(log_path), "/tmp/mam-vmm-log.%d", (int)getpid());
	unlink(log_path);
	setenv("MAM_LOG_FILE", log_path, 1);
	setenv("FAKE_CUDA_MEMORY", "256M", 1);
	setenv("FAKE_CUDA_DEVICES", "2", 1);
	setenv("FAKE_CUDA_HOST_ACCESS", "1", 1);
	unsetenv("FAKE_CUDA_FAIL_AT");
}

static void tear_down(void)
{
	unlink(log_path);
}

static bool logged(const char *what)
{
	char text[4096];
	FILE *file = fopen(log_path, "r");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[length] = '\0';
	return strstr(text, what) != NULL;
}

static struct mam_source *made(const struct mam_vmm_attr *attr)
{
	struct mam_source *source = NULL;

	ck_assert_int_eq(mam_source_vmm(attr, &source), MAM_OK);
	return source;
}

static struct mam_source *simulated(size_t total)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;

	attr.simulated = true;
	attr.total_bytes = total;
	return made(&attr);
}

static char *range_of(struct mam_source *source, size_t bytes)
{
	void *base = NULL;

	ck_assert_int_eq(mam_source_grow(source, bytes, &base), MAM_OK);
	ck_assert_uint_eq((uintptr_t)base % (2 * MIB), 0);
	return base;
}

/* Memory of device 0 that the driver has allocated. */
static size_t allocated(const struct cuda *cuda)
{
	size_t free_bytes, total;

	ck_assert_int_eq(cuda->cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
	return total - free_bytes;
}

START_TEST(properties_are_correct)
{
	struct mam_source *source;

	load_only();
	source = made(NULL);
	ck_assert_str_eq(source->properties.name, "vmm");
	ck_assert_uint_eq(source->properties.granularity, 2 * MIB);
	ck_assert_uint_eq(source->properties.total_bytes, 256 * MIB);
	ck_assert_int_eq(source->properties.device, 0);
	ck_assert(!source->properties.survives_fork);
	ck_assert_ptr_nonnull(source->ops->quiesce);
	ck_assert(mam_source_has_pieces(source));
	mam_source_destroy(source);
	ck_assert_int_eq(mam_source_create("vmm", 1, &source), MAM_OK);
	ck_assert_int_eq(source->properties.device, 1);
	mam_source_destroy(source);
	ck_assert(!logged("mam"));
}
END_TEST

START_TEST(memory_is_mapped_moved_and_unmapped)
{
	struct cuda cuda = load();
	struct mam_source *source = made(NULL);
	char *range = range_of(source, 1024 * MIB);
	bool lost = true;

	ck_assert_uint_eq(allocated(&cuda), 0);
	ck_assert_int_eq(mam_source_map(source, range, 4 * MIB), MAM_OK);
	ck_assert_uint_eq(allocated(&cuda), 4 * MIB);
	ck_assert_int_eq(cuda.cuMemsetD8_v2((uintptr_t)range, 7, 4 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(range[4 * MIB - 1], 7);

	ck_assert_int_eq(mam_source_move(source, range, 4 * MIB, range + 100 * MIB, &lost), MAM_OK);
	ck_assert(!lost);
	ck_assert_uint_eq(allocated(&cuda), 4 * MIB);
	ck_assert_int_eq(cuda.cuMemsetD8_v2((uintptr_t)range + 100 * MIB, 9, 4 * MIB),
			 CUDA_SUCCESS);
	ck_assert_int_ne(cuda.cuMemsetD8_v2((uintptr_t)range, 9, 1), CUDA_SUCCESS);

	ck_assert_int_eq(mam_source_unmap(source, range + 100 * MIB, 4 * MIB), MAM_OK);
	ck_assert_uint_eq(allocated(&cuda), 0);
	ck_assert_int_eq(mam_source_shrink(source, range, 1024 * MIB), MAM_OK);
	mam_source_destroy(source);
	ck_assert(!logged("mam"));
}
END_TEST

START_TEST(invalid_call_changes_nothing)
{
	struct mam_source *source = simulated(0);
	char *range = range_of(source, 64 * MIB);
	size_t room = mam_source_room(source);
	bool lost;

	ck_assert_int_eq(mam_source_map(source, range + 4 * MIB, 4 * MIB), MAM_OK);
	/* Over another piece, around it, beyond the range. */
	ck_assert_int_eq(mam_source_map(source, range + 4 * MIB, 4 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_map(source, range + 2 * MIB, 8 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_map(source, range + 62 * MIB, 4 * MIB), MAM_ERROR_DRIVER);
	/* no such piece, or not that size */
	ck_assert_int_eq(mam_source_unmap(source, range, 2 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_unmap(source, range + 4 * MIB, 2 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_move(source, range, 2 * MIB, range + 8 * MIB, &lost),
			 MAM_ERROR_DRIVER);
	ck_assert(!lost);
	ck_assert_int_eq(mam_source_shrink(source, range, 64 * MIB), MAM_ERROR_DRIVER);
	ck_assert_uint_eq(mam_source_room(source), room - 4 * MIB);
	ck_assert(logged("memory is mapped already"));

	ck_assert_int_eq(mam_source_unmap(source, range + 4 * MIB, 4 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, range, 64 * MIB), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

START_TEST(map_is_bounded_by_device_memory)
{
	struct mam_source *source;
	char *range;

	load_only();
	source = _i == 0 ? made(NULL) : simulated(256 * MIB);
	range = range_of(source, 1024 * MIB);
	ck_assert_int_eq(mam_source_map(source, range, 258 * MIB), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_source_map(source, range, 200 * MIB), MAM_OK);
	ck_assert_uint_eq(mam_source_room(source), 56 * MIB);
	ck_assert_int_eq(mam_source_map(source, range + 200 * MIB, 58 * MIB),
			 MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(mam_source_unmap(source, range, 200 * MIB), MAM_OK);
	mam_source_destroy(source);
	ck_assert(!logged("mam"));
}
END_TEST

/* The n-th call of one driver function fails: nothing leaks. */
START_TEST(failed_call_leaks_nothing)
{
	/* clang-format off */
	static const char *const functions[] = { "cuMemAddressReserve", "cuMemCreate", "cuMemMap",
						 "cuMemSetAccess", "cuMemUnmap", "cuMemRelease",
						 "cuCtxPushCurrent",
						 "cuThreadExchangeStreamCaptureMode" };
	/* clang-format on */
	char rule[80];
	struct cuda cuda;
	struct mam_source *source;
	void *base;
	size_t moved_from;
	bool lost = false;

	snprintf(rule, sizeof(rule), "%s:%d", functions[_i / 6], _i % 6 + 1);
	setenv("FAKE_CUDA_FAIL_AT", rule, 1);
	cuda = load();
	if (mam_source_vmm(NULL, &source) != MAM_OK)
		return;
	if (mam_source_grow(source, 64 * MIB, &base) != MAM_OK) {
		mam_source_destroy(source);
		return;
	}
	if (mam_source_map(source, base, 4 * MIB) != MAM_OK) {
		ck_assert_uint_eq(allocated(&cuda), 0);
		if (mam_source_map(source, base, 4 * MIB) != MAM_OK)
			return; /* a rule for the call after the failed one's rollback */
	}
	moved_from = 0;
	if (mam_source_move(source, base, 4 * MIB, (char *)base + 8 * MIB, &lost) == MAM_OK)
		moved_from = 8 * MIB;
	if (!lost) {
		/* The piece is where the result says. */
		ck_assert_int_eq(cuda.cuMemsetD8_v2((uintptr_t)base + moved_from, 1, 4 * MIB),
				 CUDA_SUCCESS);
		if (mam_source_unmap(source, (char *)base + moved_from, 4 * MIB) != MAM_OK)
			ck_assert_int_eq(
				mam_source_unmap(source, (char *)base + moved_from, 4 * MIB),
				MAM_OK);
	}
	if (strcmp(functions[_i / 6], "cuMemRelease") != 0)
		ck_assert_uint_eq(allocated(&cuda), 0);
	mam_source_destroy(source);
}
END_TEST

START_TEST(captures_stay_valid)
{
	static const unsigned int modes[] = { 0, 1, 2 };
	struct cuda cuda = load();
	struct mam_source *source = made(NULL);
	char *range = range_of(source, 64 * MIB);
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	bool lost;

	ck_assert_int_eq(cuda.cuStreamCreate(&stream, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(stream, modes[_i]), CUDA_SUCCESS);
	ck_assert_int_eq(mam_source_map(source, range, 2 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_move(source, range, 2 * MIB, range + 4 * MIB, &lost), MAM_OK);
	ck_assert_int_eq(mam_source_unmap(source, range + 4 * MIB, 2 * MIB), MAM_OK);
	ck_assert_int_eq(cuda.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	mam_source_destroy(source);
}
END_TEST

START_TEST(peers_are_specified_at_creation)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	struct cuda cuda = load();
	struct CUctx_st *other;
	struct mam_source *source;
	char *range;

	attr.device = 0;
	attr.peers = 1u << 1;
	source = made(&attr);
	range = range_of(source, 64 * MIB);
	ck_assert_int_eq(mam_source_map(source, range, 2 * MIB), MAM_OK);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(other), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemsetD8_v2((uintptr_t)range, 1, 2 * MIB), CUDA_SUCCESS);
	mam_source_destroy(source);

	attr.peers = 1u << 5;
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_ERROR_UNSUPPORTED);
	ck_assert(logged("device 5 cannot access memory of device 0: there is no such device"));
}
END_TEST

START_TEST(unsupported_device_feature_is_reported)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	struct mam_source *source;

	load_only();
	attr.gpudirect = true; /* the fake's device lacks this feature */
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_ERROR_UNSUPPORTED);
	ck_assert(logged("GPUDirect RDMA"));
	attr.gpudirect = false;
	attr.size = 8;
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_source_vmm(NULL, NULL), MAM_ERROR_INVALID_VALUE);
	attr.size = sizeof(attr);
	attr.device = 7;
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_ERROR_NO_DEVICE);
}
END_TEST

/*
 * The table in vmm_sim.c at its own sizes and between them: nanoseconds of a map and of an unmap.
 */
START_TEST(simulated_cost_matches_measured_table)
{
	static const struct {
		size_t bytes;
		uint64_t map_ns, unmap_ns;
	} costs[] = { { 2 * MIB, 61700, 43000 },      { 64 * MIB, 84000, 84000 },
		      { 1024 * MIB, 144000, 551000 }, { 32 * MIB, 72489, 62837 },
		      { 48 * MIB, 78244, 73419 },     { 512 * MIB, 111999, 301933 } };
	struct mam_source *source = simulated(0);
	char *range = range_of(source, 2048 * MIB);
	uint64_t before = source->ops->cost(source), between;

	ck_assert_uint_eq(before, 2000); /* the range */
	ck_assert_int_eq(mam_source_map(source, range, costs[_i].bytes), MAM_OK);
	between = source->ops->cost(source);
	/* Each part is truncated to whole nanoseconds. */
	ck_assert_uint_le(between - before - costs[_i].map_ns + 2, 4);
	ck_assert_int_eq(mam_source_unmap(source, range, costs[_i].bytes), MAM_OK);
	before = source->ops->cost(source);
	ck_assert_uint_le(before - between - costs[_i].unmap_ns + 2, 4);
	ck_assert_int_eq(mam_source_shrink(source, range, 2048 * MIB), MAM_OK);
	ck_assert_uint_eq(source->ops->cost(source), before + 2000);
	mam_source_destroy(source);
}
END_TEST

START_TEST(simulated_cost_uses_configured_values)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	struct mam_source *source = simulated(0);

	ck_assert_uint_eq(source->properties.total_bytes, 80 * 1024 * MIB);
	ck_assert_uint_eq(source->properties.range_bytes, 0);
	ck_assert(source->properties.survives_fork);
	ck_assert_int_eq(source->properties.device, -1);
	mam_source_destroy(source);
	attr.simulated = true;
	attr.total_bytes = 7 * MIB; /* whole units */
	attr.range_bytes = 32 * MIB;
	source = made(&attr);
	ck_assert_uint_eq(source->properties.total_bytes, 6 * MIB);
	ck_assert_uint_eq(source->properties.range_bytes, 32 * MIB);
	mam_source_destroy(source);
}
END_TEST

/*
 * If other threads map pages meanwhile, a range still has whole units, needs no more addresses, and
 * is released.
 */
START_TEST(simulated_range_is_whole_units_and_released)
{
	const size_t bytes = 6 * MIB;
	struct mam_source *source = simulated(0);
	size_t before = address_space(), page = (size_t)getpagesize(), taken_pages = 0;
	char *ranges[12];

	for (int i = 0; i < 12; i++) {
		ck_assert_ptr_ne(mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
				 MAP_FAILED);
		taken_pages += page;
		ranges[i] = range_of(source, bytes);
		/* a page of each of the three tables */
		ck_assert_uint_le(address_space(),
				  before + taken_pages + (size_t)(i + 1) * (bytes + 3 * page));
	}
	for (int i = 0; i < 12; i++)
		ck_assert_int_eq(mam_source_shrink(source, ranges[i], bytes), MAM_OK);
	ck_assert_uint_le(address_space(), before + taken_pages);
	mam_source_destroy(source);
}
END_TEST

START_TEST(child_of_fork_gets_no_memory)
{
	struct mam_source *source;
	char *range;
	int status;
	pid_t child;

	load_only();
	source = made(NULL);
	range = range_of(source, 64 * MIB);
	child = fork();
	if (child == 0)
		_exit(mam_source_map(source, range, 2 * MIB) == MAM_ERROR_NO_DEVICE ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	mam_source_destroy(source);
}
END_TEST

/* Each address reaches the same bytes, and the memory is freed with the last one. */
START_TEST(piece_has_several_addresses)
{
	struct cuda cuda = load();
	struct mam_source *inner = made(NULL), *source = inner;
	char *range, *a, *b, *c;
	bool lost;

	if (_i == 1) /* through a limit of one piece: an alias takes no memory */
		ck_assert_int_eq(mam_source_limit(inner, 4 * MIB, 0, 0, &source), MAM_OK);
	ck_assert(mam_source_has_aliases(source));
	range = range_of(source, 1024 * MIB);
	a = range;
	b = range + 100 * MIB;
	c = range + 8 * MIB;
	ck_assert_int_eq(mam_source_map(source, a, 4 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_alias(source, a, 4 * MIB, b), MAM_OK);
	ck_assert_int_eq(mam_source_alias(source, b, 4 * MIB, c), MAM_OK);
	ck_assert_uint_eq(allocated(&cuda), 4 * MIB);
	ck_assert_int_eq(cuda.cuMemsetD8_v2((uintptr_t)a, 7, 4 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(b[4 * MIB - 1], 7);
	ck_assert_int_eq(c[0], 7);
	/* Only an address that is the last one is unmapped or moved. */
	ck_assert_int_eq(mam_source_unmap(source, b, 4 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_move(source, a, 4 * MIB, range + 16 * MIB, &lost),
			 MAM_ERROR_DRIVER);
	ck_assert(!lost);
	ck_assert_int_eq(mam_source_alias(source, a, 4 * MIB, b), MAM_ERROR_DRIVER); /* used */
	ck_assert_int_eq(mam_source_unalias(source, a, 4 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_unalias(source, c, 4 * MIB), MAM_OK);
	ck_assert_uint_eq(allocated(&cuda), 4 * MIB);
	ck_assert_int_eq(b[0], 7);
	ck_assert_int_eq(mam_source_unalias(source, b, 4 * MIB), MAM_ERROR_DRIVER);
	ck_assert_int_eq(mam_source_unmap(source, b, 4 * MIB), MAM_OK);
	ck_assert_uint_eq(allocated(&cuda), 0);
	ck_assert_int_eq(mam_source_shrink(source, range, 1024 * MIB), MAM_OK);
	if (source != inner)
		mam_source_destroy(source);
	mam_source_destroy(inner);
}
END_TEST

/* A failed call of the driver leaves the addresses as they were. */
START_TEST(failed_alias_changes_nothing)
{
	static const char *const rules[] = { "cuMemMap:2", "cuMemSetAccess:2", "cuMemUnmap:1" };
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	struct cuda cuda;
	struct mam_source *source;
	enum mam_status status;
	char *range;

	setenv("FAKE_CUDA_FAIL_AT", rules[_i], 1);
	cuda = load();
	attr.peers = 1; /* the device alone */
	source = made(&attr);
	range = range_of(source, 64 * MIB);
	ck_assert_int_eq(mam_source_map(source, range, 2 * MIB), MAM_OK);
	status = mam_source_alias(source, range, 2 * MIB, range + 8 * MIB);
	ck_assert_int_eq(status == MAM_OK, _i == 2);
	if (_i == 2)
		ck_assert_int_eq(mam_source_unalias(source, range, 2 * MIB), MAM_ERROR_DRIVER);
	else
		ck_assert_int_eq(mam_source_alias(source, range, 2 * MIB, range + 8 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_unalias(source, range, 2 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_unmap(source, range + 8 * MIB, 2 * MIB), MAM_OK);
	ck_assert_uint_eq(allocated(&cuda), 0);
	ck_assert_int_eq(mam_source_shrink(source, range, 64 * MIB), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, properties_are_correct);
	tcase_add_test(tests, memory_is_mapped_moved_and_unmapped);
	tcase_add_test(tests, invalid_call_changes_nothing);
	tcase_add_loop_test(tests, piece_has_several_addresses, 0, 2);
	tcase_add_loop_test(tests, failed_alias_changes_nothing, 0, 3);
	tcase_add_loop_test(tests, map_is_bounded_by_device_memory, 0, 2);
	tcase_add_loop_test(tests, failed_call_leaks_nothing, 0, 48);
	tcase_add_loop_test(tests, captures_stay_valid, 0, 3);
	tcase_add_test(tests, peers_are_specified_at_creation);
	tcase_add_test(tests, unsupported_device_feature_is_reported);
	tcase_add_loop_test(tests, simulated_cost_matches_measured_table, 0, 6);
	tcase_add_test(tests, simulated_cost_uses_configured_values);
	if (SPACE_IS_OURS)
		tcase_add_test(tests, simulated_range_is_whole_units_and_released);
	tcase_add_test(tests, child_of_fork_gets_no_memory);
}

int main(void)
{
	return run_suite("source/vmm", add);
}
