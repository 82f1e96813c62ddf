/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver calls of the vmm source: their properties, the devices with access, the restored state of
 * the thread, and how driver results are mapped to statuses. The driver is the fake; the test
 * intercepts calls in its table where the fake itself does not check them.
 */
#include "driven.h"
#include "source/device.h"
#include "source/driver.h"

static struct mam_driver *table;
static struct mam_driver fake;

/* As in cuda.h. */
struct location {
	unsigned int kind;
	int id;
};

static struct {
	unsigned int kind, handles;
	struct location location;
	void *win32;
	unsigned char compression, gpudirect;
} properties;
static struct {
	struct location location;
	unsigned int flags;
} rights[8];
static size_t rights_count, aligned_to;
static unsigned int granularity_option, attributes[8], attribute_count, denied;
static size_t granularity;

static unsigned int hear_create(unsigned long long *handle, size_t bytes,
				const struct CUmemAllocationProp_st *wanted,
				unsigned long long flags)
{
	memcpy(&properties, wanted, sizeof(properties));
	return fake.mem_create(handle, bytes, wanted, flags);
}

static unsigned int hear_access(unsigned long long address, size_t bytes,
				const struct CUmemAccessDesc_st *wanted, size_t count)
{
	ck_assert_uint_le(count, sizeof(rights) / sizeof(rights[0]));
	rights_count = count;
	memcpy(rights, wanted, count * sizeof(rights[0]));
	return fake.mem_set_access(address, bytes, wanted, count);
}

static unsigned int hear_granularity(size_t *bytes, const struct CUmemAllocationProp_st *wanted,
				     unsigned int option)
{
	unsigned int result = fake.mem_get_allocation_granularity(bytes, wanted, option);

	granularity_option = option;
	memcpy(&properties, wanted, sizeof(properties));
	if (granularity)
		*bytes = granularity;
	return result;
}

static unsigned int hear_reserve(unsigned long long *address, size_t bytes, size_t alignment,
				 unsigned long long wish, unsigned long long flags)
{
	aligned_to = alignment;
	return fake.mem_address_reserve(address, bytes, alignment, wish, flags);
}

/* A device that supports every attribute except `denied`. */
static unsigned int hear_attribute(int *value, unsigned int attribute, int device)
{
	unsigned int result = fake.device_get_attribute(value, attribute, device);

	attributes[attribute_count++ % 8] = attribute;
	*value = attribute != denied;
	return result;
}

static struct cuda listen(void)
{
	struct cuda cuda = load();
	const struct mam_driver *driver;

	ck_assert_int_eq(mam_driver_get(&driver), MAM_OK);
	table = (struct mam_driver *)(uintptr_t)driver;
	fake = *table;
	table->mem_create = hear_create;
	table->mem_set_access = hear_access;
	table->mem_get_allocation_granularity = hear_granularity;
	table->mem_address_reserve = hear_reserve;
	table->device_get_attribute = hear_attribute;
	return cuda;
}

static struct mam_vmm_attr attr_of(int device)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;

	attr.device = device;
	return attr;
}

static struct mam_source *made(const struct mam_vmm_attr *attr)
{
	struct mam_source *source = NULL;

	ck_assert_int_eq(mam_source_vmm(attr, &source), MAM_OK);
	return source;
}

START_TEST(memory_is_on_device_with_access_for_all)
{
	struct mam_vmm_attr attr = attr_of(1);
	struct mam_source *source;
	struct CUctx_st *other;
	size_t free_bytes, total;
	struct cuda cuda;
	void *base;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	setenv("FAKE_CUDA_MEMORY", "256M,128M", 1);
	cuda = listen();
	attr.range_bytes = 768 * MIB;
	source = made(&attr);
	ck_assert_uint_eq(source->properties.total_bytes, 128 * MIB);
	ck_assert_uint_eq(source->properties.range_bytes, 768 * MIB);
	ck_assert_uint_eq(granularity_option, 0); /* the minimum */
	base = grown(source, 64 * MIB);
	ck_assert_uint_eq(aligned_to, 2 * MIB);
	ck_assert_int_eq(mam_source_map(source, base, 4 * MIB), MAM_OK);
	ck_assert_uint_eq(properties.kind, 1);
	ck_assert_uint_eq(properties.handles, 0);
	ck_assert_uint_eq(properties.location.kind, 1);
	ck_assert_int_eq(properties.location.id, 1);
	ck_assert(properties.win32 == NULL && !properties.compression && !properties.gpudirect);
	ck_assert_uint_eq(rights_count, 2);
	ck_assert_int_eq(rights[0].location.id, 1);
	ck_assert_uint_eq(rights[0].location.kind, 1);
	ck_assert_uint_eq(rights[0].flags, 3);
	ck_assert_int_eq(rights[1].location.id, 0); /* a peer with access */
	ck_assert_uint_eq(mam_source_room(source), 124 * MIB);
	ck_assert_int_eq(cuda.cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
	ck_assert_uint_eq(free_bytes, 256 * MIB); /* of the first device */
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
	ck_assert_ptr_eq(mam_source_device(source)->context, other);
	ck_assert_int_eq(mam_source_unmap(source, base, 4 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, base, 64 * MIB), MAM_OK);
	mam_source_destroy(source);
	ck_assert_uint_eq(calls_of("cuDevicePrimaryCtxRelease", true), 1);
}
END_TEST

START_TEST(each_peer_gets_access_once)
{
	struct mam_vmm_attr attr = attr_of(1);
	struct mam_source *source;

	setenv("FAKE_CUDA_DEVICES", "4", 1);
	listen();
	attr.peers = 1u << 0 | 1u << 1 | 1u << 3;
	source = made(&attr);
	ck_assert_int_eq(mam_source_map(source, grown(source, 64 * MIB), 2 * MIB), MAM_OK);
	ck_assert_uint_eq(rights_count, 3);
	ck_assert_int_eq(rights[0].location.id, 1);
	ck_assert_int_eq(rights[1].location.id, 0);
	ck_assert_int_eq(rights[2].location.id, 3);
	ck_assert_uint_eq(rights[2].flags, 3);
	ck_assert_uint_eq(rights[2].location.kind, 1);
	mam_source_destroy(source);
	attr.peers = 1u << 4; /* the first missing device */
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_ERROR_UNSUPPORTED);
	attr.peers = (uint64_t)1 << 63;
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_ERROR_UNSUPPORTED);
}
END_TEST

START_TEST(requested_features_are_passed_to_driver)
{
	static const struct {
		bool gpudirect, exportable;
		unsigned int attribute;
	} features[] = { { false, false, 102 }, { true, false, 110 }, { false, true, 103 } };
	struct mam_vmm_attr attr = attr_of(0);
	struct mam_source *source = NULL;

	listen();
	attr.gpudirect = features[_i].gpudirect;
	attr.exportable = features[_i].exportable;
	mam_source_destroy(made(&attr));
	ck_assert_uint_eq(properties.gpudirect, features[_i].gpudirect);
	ck_assert_uint_eq(properties.handles, features[_i].exportable);
	denied = features[_i].attribute;
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_ERROR_UNSUPPORTED);
	ck_assert_ptr_null(source);
	/* Missing features that were not requested do not matter. */
	attr.gpudirect = attr.exportable = false;
	ck_assert_int_eq(mam_source_vmm(&attr, &source), _i == 0 ? MAM_ERROR_UNSUPPORTED : MAM_OK);
	mam_source_destroy(source);
}
END_TEST

START_TEST(old_driver_is_reported)
{
	struct mam_source *source;
	void **slots[9];

	listen().cuCtxSetCurrent(NULL);
	/* clang-format off */
	slots[0] = (void **)&table->device_get_attribute;
	slots[1] = (void **)&table->mem_address_reserve;
	slots[2] = (void **)&table->mem_address_free;
	slots[3] = (void **)&table->mem_create;
	slots[4] = (void **)&table->mem_release;
	slots[5] = (void **)&table->mem_map;
	slots[6] = (void **)&table->mem_unmap;
	slots[7] = (void **)&table->mem_set_access;
	slots[8] = (void **)&table->mem_get_allocation_granularity;
	/* clang-format on */
	*slots[_i] = NULL;
	ck_assert_int_eq(mam_source_vmm(NULL, &source), MAM_ERROR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(contents(log_path), "use the source cudamalloc"));
	ck_assert_uint_eq(calls_of("cuDevicePrimaryCtxRetain", true),
			  1 + calls_of("cuDevicePrimaryCtxRelease", true));
}
END_TEST

START_TEST(granularity_must_be_power_of_two)
{
	struct mam_source *source = NULL;

	listen();
	granularity = 3 * MIB;
	ck_assert_int_eq(mam_source_vmm(NULL, &source), MAM_ERROR_DRIVER);
	ck_assert_ptr_null(source);
}
END_TEST

START_TEST(invalid_device_is_rejected)
{
	struct mam_vmm_attr attr = attr_of(MAM_DEVICE_CURRENT - 1);
	struct mam_source *source;

	load_only();
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_ERROR_INVALID_VALUE);
	attr.simulated = true;
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_ERROR_INVALID_VALUE);
}
END_TEST

/* From a thread without a context, and with a capture mode of its own. */
START_TEST(thread_state_is_restored)
{
	struct cuda cuda = load();
	struct mam_source *source = driven_source("vmm", 0);
	int mode = 1; /* thread-local */
	char *base;
	bool lost;

	ck_assert_int_eq(cuda.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	base = grown(source, 64 * MIB);
	ck_assert_int_eq(mam_source_map(source, base, 2 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_move(source, base, 2 * MIB, base + 4 * MIB, &lost), MAM_OK);
	ck_assert_int_eq(mam_source_unmap(source, base + 4 * MIB, 2 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_shrink(source, base, 64 * MIB), MAM_OK);
	ck_assert_int_eq(mam_source_quiesce(source), MAM_OK);
	ck_assert_ptr_null(current(&cuda));
	mode = 0;
	ck_assert_int_eq(cuda.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
	ck_assert_int_eq(mode, 1);
	ck_assert_uint_gt(calls_of("cuCtxPushCurrent", true), 0);
	ck_assert_uint_eq(calls_of("cuCtxPushCurrent", true), calls_of("cuCtxPopCurrent", true));
	mam_source_destroy(source);
}
END_TEST

/* The result of one driver call, and the status and log text that mam produces. */
static const struct {
	const char *rule;
	char what; /* g: grow, m: map, u: unmap, s: shrink */
	enum mam_status status;
	const char *message;
} results[] = {
	{ "cuMemAddressReserve:1:2", 'g', MAM_ERROR_OUT_OF_MEMORY, NULL },
	{ "cuMemAddressReserve:1:4", 'g', MAM_ERROR_DRIVER, "cuMemAddressReserve" },
	{ "cuMemCreate:1:2", 'm', MAM_ERROR_OUT_OF_MEMORY, NULL },
	{ "cuMemCreate:1:4", 'm', MAM_ERROR_DRIVER, "cuMemCreate" },
	{ "cuMemMap:1:2", 'm', MAM_ERROR_OUT_OF_MEMORY, NULL },
	{ "cuMemMap:1:700", 'm', MAM_ERROR_DRIVER, "cuMemMap" },
	{ "cuMemSetAccess:1:700", 'm', MAM_ERROR_DRIVER, "cuMemSetAccess" },
	{ "cuMemSetAccess:1:2", 'm', MAM_ERROR_OUT_OF_MEMORY, NULL },
	{ "cuMemUnmap:1:700", 'u', MAM_ERROR_DRIVER, "cuMemUnmap" },
	{ "cuMemAddressFree:1:700", 's', MAM_ERROR_DRIVER, "cuMemAddressFree" },
	/* The process is exiting: the memory is already gone. */
	{ "cuMemUnmap:1:4", 'u', MAM_OK, NULL },
	{ "cuMemRelease:1:4", 'u', MAM_OK, NULL },
	{ "cuMemAddressFree:1:4", 's', MAM_OK, NULL },
};

START_TEST(driver_results_map_to_statuses)
{
	struct mam_source *source;
	enum mam_status status;
	void *base = NULL;

	setenv("FAKE_CUDA_FAIL_AT", results[_i].rule, 1);
	load_only();
	source = driven_source("vmm", 0);
	status = mam_source_grow(source, 64 * MIB, &base);
	ck_assert((status == MAM_OK) == (base != NULL));
	if (results[_i].what == 'm' || results[_i].what == 'u')
		status = mam_source_map(source, base, 2 * MIB);
	if (results[_i].what == 'u')
		status = mam_source_unmap(source, base, 2 * MIB);
	if (results[_i].what == 's')
		status = mam_source_shrink(source, base, 64 * MIB);
	ck_assert_int_eq(status, results[_i].status);
	contents(log_path);
	if (results[_i].message)
		ck_assert_msg(strstr(text, results[_i].message) != NULL, "%s", text);
	else
		ck_assert_str_eq(text, "");
	mam_source_destroy(source);
}
END_TEST

/* A driver whose free memory is unknown is not considered full. */
START_TEST(failed_memory_query_assumes_total_is_free)
{
	struct mam_source *source;

	setenv("FAKE_CUDA_FAIL_AT", "cuMemGetInfo:1", 1);
	load_only();
	source = driven_source("vmm", 0);
	ck_assert_uint_eq(mam_source_room(source), 256 * MIB);
	mam_source_destroy(source);
}
END_TEST

/* The wait is the free of a small allocation, which any capture permits. */
START_TEST(wait_invalidates_no_capture)
{
	struct cuda cuda = load();
	struct mam_source *source = driven_source("vmm", 0);
	struct CUstream_st *stream;
	struct CUgraph_st *graph;

	ck_assert_int_eq(cuda.cuStreamCreate(&stream, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(stream, 0), CUDA_SUCCESS);
	ck_assert_int_eq(mam_source_quiesce(source), MAM_OK);
	ck_assert_int_eq(cuda.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	ck_assert_uint_eq(calls_of("cuCtxSynchronize", false), 0);
	mam_source_destroy(source);
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
}
END_TEST

START_TEST(wait_works_on_full_device)
{
	struct mam_source *source;

	setenv("FAKE_CUDA_FAIL_AT", "cuMemAlloc:1+:2,cuMemHostAlloc:2:2", 1);
	load_only();
	source = driven_source("vmm", 0);
	ck_assert_int_eq(mam_source_quiesce(source), MAM_OK);
	ck_assert_uint_eq(calls_of("cuMemFreeHost", true), 1);
	ck_assert_uint_eq(calls_of("cuCtxSynchronize", true), 0);
	ck_assert_int_eq(mam_source_quiesce(source), MAM_OK);
	ck_assert_uint_eq(calls_of("cuCtxSynchronize", true), 1);
	mam_source_destroy(source);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, memory_is_on_device_with_access_for_all);
	tcase_add_test(tests, each_peer_gets_access_once);
	tcase_add_loop_test(tests, requested_features_are_passed_to_driver, 0, 3);
	tcase_add_loop_test(tests, old_driver_is_reported, 0, 9);
	tcase_add_test(tests, granularity_must_be_power_of_two);
	tcase_add_test(tests, invalid_device_is_rejected);
	tcase_add_test(tests, thread_state_is_restored);
	tcase_add_loop_test(tests, driver_results_map_to_statuses, 0,
			    (int)(sizeof(results) / sizeof(results[0])));
	tcase_add_test(tests, failed_memory_query_assumes_total_is_free);
	tcase_add_test(tests, wait_invalidates_no_capture);
	tcase_add_test(tests, wait_works_on_full_device);
}

int main(void)
{
	return run_suite("source/vmm_asked", add);
}
