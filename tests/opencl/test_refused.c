/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_refused.c - calls of the host that are refused, and their messages; and a failure at any
 * point of a call leaks nothing.
 */
#include "opencl/kit.h"

#include "opencl/fake.h"

static struct kit kit;

static void begin(void)
{
	kit_open(&kit);
}

static void end(void)
{
	kit_close(&kit);
}

static void said(enum mam_status wanted, enum mam_status got, cl_int code, const char *sentence)
{
	const char *why;

	ck_assert_int_eq(got, wanted);
	ck_assert_int_eq(mam_cl_error(&why), code);
	ck_assert_str_eq(why, sentence);
}

#define wrong(call, sentence) said(MAM_ERROR_INVALID_VALUE, call, CL_SUCCESS, sentence)

static struct mam_cl_heap_attr small(void)
{
	struct mam_cl_heap_attr attr = MAM_CL_HEAP_ATTR_INIT;

	attr.superblocks = 16;
	return attr;
}

static enum mam_status create(const struct mam_cl_heap_attr *attr, struct mam_cl_heap **heap)
{
	return mam_cl_heap_create(kit.context, kit.device, kit.queue, attr, heap);
}

START_TEST(no_error_initially)
{
	const char *why;

	ck_assert_int_eq(mam_cl_error(&why), CL_SUCCESS);
	ck_assert_str_eq(why, "No call has failed in this thread.");
	ck_assert_int_eq(mam_cl_error(NULL), CL_SUCCESS);
}
END_TEST

START_TEST(null_arguments_are_refused)
{
	struct mam_cl_heap_attr attr = small();
	struct mam_cl_heap *heap = NULL;

	wrong(create(&attr, NULL),
	      "mam_cl_heap_create: the output pointer is NULL: pass the address of a pointer.");
	wrong(create(NULL, &heap),
	      "mam_cl_heap_create: the attributes are NULL: pass MAM_CL_HEAP_ATTR_INIT.");
	wrong(mam_cl_heap_create(NULL, kit.device, kit.queue, &attr, &heap),
	      "mam_cl_heap_create: the context is NULL: pass one of clCreateContext().");
	wrong(mam_cl_heap_create(kit.context, NULL, kit.queue, &attr, &heap),
	      "mam_cl_heap_create: the device is NULL: pass one of clGetDeviceIDs().");
	wrong(mam_cl_heap_create(kit.context, kit.device, NULL, &attr, &heap),
	      "mam_cl_heap_create: the queue is NULL: pass one of the heap's device.");
	ck_assert_ptr_eq(heap, NULL);
	ck_assert_int_eq(mam_cl_heap_destroy(NULL), MAM_OK);
	ck_assert_ptr_eq(mam_cl_heap_buffer(NULL), NULL);
	wrong(mam_cl_heap_reset(NULL, kit.queue),
	      "mam_cl_heap_reset: the heap is NULL: pass one of mam_cl_heap_create().");
	wrong(mam_cl_heap_stats(NULL, kit.queue, NULL),
	      "mam_cl_heap_stats: the heap is NULL: pass one of mam_cl_heap_create().");
	ck_assert_ptr_eq(clSBMalloc_create(NULL, kit.device, kit.queue, 16, 4096), NULL);
	ck_assert_str_eq(kit_why(),
			 "mam_cl_heap_create: the context is NULL: pass one of clCreateContext().");
	ck_assert_int_eq(clSBMalloc_destroy(NULL), CL_INVALID_MEM_OBJECT);
	ck_assert_str_eq(kit_why(), "clSBMalloc_destroy: the buffer is not a heap: pass one of "
				    "clSBMalloc_create(), once.");
}
END_TEST

START_TEST(invalid_attributes_are_refused)
{
	struct mam_cl_heap_attr attr = MAM_CL_HEAP_ATTR_INIT;
	struct mam_cl_heap *heap = NULL;

	wrong(create(&attr, &heap),
	      "mam_cl_heap_create: attr.bytes is 0 and attr.superblocks is 0: set "
	      "one of them.");
	attr.bytes = 4096;
	attr.superblocks = 3;
	wrong(create(&attr, &heap),
	      "mam_cl_heap_create: attr.bytes is 4096 and attr.superblocks is 3: "
	      "set one of them.");
	attr = small();
	attr.size = 5;
	wrong(create(&attr, &heap),
	      "mam_cl_heap_create: attr.size is 5, not 40: use MAM_CL_HEAP_ATTR_INIT.");
	attr = small();
	attr.superblock_bytes = 4097;
	wrong(create(&attr, &heap),
	      "mam_cl_heap_create: attr.superblock_bytes is 4097: set a power of "
	      "two from 256 to 65536, or 0.");
	attr.superblock_bytes = 128;
	wrong(create(&attr, &heap),
	      "mam_cl_heap_create: attr.superblock_bytes is 128: set a power of "
	      "two from 256 to 65536, or 0.");
	attr.superblock_bytes = 131072;
	wrong(create(&attr, &heap),
	      "mam_cl_heap_create: attr.superblock_bytes is 131072: set a power "
	      "of two from 256 to 65536, or 0.");
	attr = small();
	attr.entries_per_class = 3;
	wrong(create(&attr, &heap),
	      "mam_cl_heap_create: attr.entries_per_class is 3: set a power of "
	      "two up to 1024, or 0.");
	attr.entries_per_class = 2048;
	wrong(create(&attr, &heap),
	      "mam_cl_heap_create: attr.entries_per_class is 2048: set a power of "
	      "two up to 1024, or 0.");
	attr = small();
	attr.counted = 2;
	wrong(create(&attr, &heap), "mam_cl_heap_create: attr.counted is 2: set 0 or 1.");
	attr = small();
	attr.reserved = 1;
	wrong(create(&attr, &heap), "mam_cl_heap_create: attr.reserved is 1: set it to 0.");
	attr = small();
	attr.superblocks = 0;
	attr.bytes = (size_t)-1;
	wrong(create(&attr, &heap), "mam_cl_heap_create: the heap would have 281474976710656 "
				    "superblocks: request at most 4294967280, or larger ones.");
	ck_assert_ptr_eq(heap, NULL);
}
END_TEST

/* A struct of a later version: this version's fields, and unknown ones. */
struct later_attr {
	struct mam_cl_heap_attr known;
	uint64_t unknown[2];
};

struct later_info {
	struct mam_cl_heap_info known;
	uint64_t unknown[2];
};

START_TEST(older_and_newer_attributes_work)
{
	const size_t oldest = offsetof(struct mam_cl_heap_attr, superblock_bytes);
	struct later_attr later = { .known = small() };
	struct mam_cl_heap_attr attr = small();
	struct mam_cl_heap *heap = NULL;

	/* A field that an older struct lacks has its default: these bytes are not read. */
	attr.superblock_bytes = 4097;
	for (attr.size = 0; attr.size <= oldest; attr.size++)
		ck_assert_int_eq(create(&attr, &heap),
				 attr.size == oldest ? MAM_OK : MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_cl_heap_destroy(heap), MAM_OK);
	attr.size = oldest + 1;
	ck_assert_int_eq(create(&attr, &heap), MAM_ERROR_INVALID_VALUE);
	attr.size = SIZE_MAX;
	ck_assert_int_eq(create(&attr, &heap), MAM_ERROR_INVALID_VALUE);
	later.known.size = sizeof(later);
	ck_assert_int_eq(create(&later.known, &heap), MAM_OK);
	ck_assert_int_eq(mam_cl_heap_destroy(heap), MAM_OK);
	later.unknown[1] = 1;
	ck_assert_int_eq(create(&later.known, &heap), MAM_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(older_and_newer_statistics_work)
{
	struct mam_cl_heap *heap = kit_heap(&kit, 16, 0);
	struct later_info later = { .known.size = sizeof(later), .unknown = { 7, 7 } };
	struct mam_cl_heap_info older = { .size = offsetof(struct mam_cl_heap_info, allocs) };

	older.allocs = 77;
	ck_assert_int_eq(mam_cl_heap_stats(heap, kit.queue, &older), MAM_OK);
	ck_assert_uint_eq(older.superblocks, 16);
	ck_assert_uint_eq(older.allocs, 77);
	ck_assert_int_eq(mam_cl_heap_stats(heap, kit.queue, &later.known), MAM_OK);
	ck_assert_uint_eq(later.known.size, sizeof(later));
	ck_assert_uint_eq(later.known.superblocks, 16);
	ck_assert_uint_eq(later.unknown[0] | later.unknown[1], 0);
	ck_assert_int_eq(mam_cl_heap_destroy(heap), MAM_OK);
}
END_TEST

START_TEST(foreign_queues_and_short_buffers_are_refused)
{
	struct mam_cl_heap_info info = { .size = 7 };
	struct mam_cl_heap *heap = kit_heap(&kit, 16, 0), *none = NULL;
	struct mam_cl_heap_attr attr = small();
	char options[4];
	struct kit other;

	kit_open(&other);
	wrong(mam_cl_heap_reset(heap, other.queue),
	      "mam_cl_heap_reset: the queue belongs to another context: pass one of the heap's.");
	wrong(mam_cl_heap_create(other.context, kit.device, kit.queue, &attr, &none),
	      "mam_cl_heap_create: the queue belongs to another context: pass one of the heap's.");
	wrong(mam_cl_heap_reset(heap, NULL),
	      "mam_cl_heap_reset: the queue is NULL: pass one of the heap's device.");
	wrong(mam_cl_heap_stats(heap, kit.queue, &info),
	      "mam_cl_heap_stats: stats->size is 7, not 128: set it before the call.");
	wrong(mam_cl_heap_stats(heap, kit.queue, NULL),
	      "mam_cl_heap_stats: stats->size is 0, not 128: set it before the call.");
	wrong(mam_cl_options(NULL, options, sizeof(options)),
	      "mam_cl_options: the device is NULL: pass one of clGetDeviceIDs().");
	wrong(mam_cl_options(kit.device, NULL, 100),
	      "mam_cl_options: the output buffer is NULL: pass a buffer.");
	wrong(mam_cl_options(kit.device, options, sizeof(options)),
	      "mam_cl_options: 4 bytes are too few for the options: pass 14.");
	kit_well(mam_cl_heap_destroy(heap));
	kit_close(&other);
}
END_TEST

/* ---- devices without a feature -------------------------------------------------------------- */

static void lacks(const char *sentence)
{
	struct mam_cl_heap_attr attr = small();
	struct mam_cl_heap *heap = NULL;
	char options[64] = "as before", of_options[512];

	said(MAM_ERROR_UNSUPPORTED, create(&attr, &heap), CL_SUCCESS, sentence);
	ck_assert_ptr_eq(heap, NULL);
	ck_assert_ptr_eq(clSBMalloc_create(kit.context, kit.device, kit.queue, 16, 4096), NULL);
	ck_assert_str_eq(kit_why(), sentence);
	(void)snprintf(of_options, sizeof(of_options), "mam_cl_options%s", strchr(sentence, ':'));
	said(MAM_ERROR_UNSUPPORTED, mam_cl_options(kit.device, options, sizeof(options)),
	     CL_SUCCESS, of_options);
	ck_assert_str_eq(options, "as before");
}

#define NO_ATOMICS                                                                       \
	"mam_cl_heap_create: Fake has no 64-bit atomics (cl_khr_int64_base_atomics and " \
	"cl_khr_int64_extended_atomics): use a device that has them."

START_TEST(device_without_64_bit_atomics_is_refused)
{
	fake.extensions = "";
	lacks(NO_ATOMICS);
	fake.extensions = "cl_khr_fp64 cl_khr_int64_base_atomics cl_khr_spir";
	lacks(NO_ATOMICS);
	fake.extensions = "cl_khr_int64_extended_atomics";
	lacks(NO_ATOMICS);
	/* Names that only contain these are different. */
	fake.extensions = "cl_khr_int64_base_atomics2 xcl_khr_int64_base_atomics "
			  "cl_khr_int64_extended_atomics";
	lacks(NO_ATOMICS);
	fake.extensions = NULL;
}
END_TEST

START_TEST(device_with_32_bit_addresses_is_refused)
{
	fake.bits = 32;
	lacks("mam_cl_heap_create: Fake has no 64-bit addresses: use a device that has them.");
	fake.bits = 0;
}
END_TEST

START_TEST(device_without_compiler_is_refused)
{
	fake.no_compiler = true;
	lacks("mam_cl_heap_create: Fake has no compiler: use a driver that has one.");
	fake.no_compiler = false;
}
END_TEST

START_TEST(options_depend_on_features)
{
	char options[64];

	fake.no_features = true;
	kit_well(mam_cl_options(kit.device, options, sizeof(options)));
	ck_assert_str_eq(options, "-cl-std=CL1.2");
	fake.no_features = false;
	fake.older = true;
	kit_well(mam_cl_options(kit.device, options, 14));
	ck_assert_str_eq(options, "-cl-std=CL1.2");
	kit_well(mam_cl_heap_destroy(kit_heap(&kit, 16, 0)));
	fake.older = false;
}
END_TEST

START_TEST(heap_larger_than_a_buffer_is_refused)
{
	struct mam_cl_heap_attr attr = small();
	struct mam_cl_heap *heap = NULL;

	attr.superblocks = 1000;
	fake.max = 1 << 20;
	ck_assert_int_eq(create(&attr, &heap), MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_ne(strstr(kit_why(), "mam_cl_heap_create: the heap would take 41"), NULL);
	ck_assert_ptr_ne(
		strstr(kit_why(),
		       " bytes with its metadata, but the device allocates at most 1048576 "
		       "at once: make the heap smaller."),
		NULL);
	ck_assert_ptr_eq(heap, NULL);
	fake.max = 0;
}
END_TEST

START_TEST(context_may_have_many_devices)
{
	fake.many_devices = true;
	kit_well(mam_cl_heap_destroy(kit_heap(&kit, 16, 0)));
	fake.many_devices = false;
}
END_TEST

START_TEST(failed_build_is_reported)
{
	struct mam_cl_heap_attr attr = small();
	struct mam_cl_heap *heap = NULL;
	unsigned int at;

	fake.log = "a warning\nx.cl:1: error: no\nmore\n";
	fake.code = CL_BUILD_PROGRAM_FAILURE;
	for (at = 1; at < 50; at++) {
		fake.at = at;
		fake.seen = 0;
		fake.name = NULL;
		fake.armed = true;
		ck_assert_int_ne(create(&attr, &heap), MAM_OK);
		fake.armed = false;
		if (strcmp(fake.name, "clBuildProgram") == 0)
			break;
	}
	said(MAM_ERROR_DRIVER, MAM_ERROR_DRIVER, CL_BUILD_PROGRAM_FAILURE,
	     "mam_cl_heap_create: clBuildProgram failed with CL_BUILD_PROGRAM_FAILURE (-11): the "
	     "device's compiler rejects mam's kernels, use another driver (build log: x.cl:1: "
	     "error: no).");
	fake.log = NULL;
}
END_TEST

/* ---- failures in the middle ----------------------------------------------------------------- */

static enum mam_status last; /* of the call under test */

/* Check's own memory does not count. */
#define armed(call)                 \
	do {                        \
		fake.armed = true;  \
		call;               \
		fake.armed = false; \
	} while (0)

/* A call under test: true if it succeeded. */
static bool try_create(void)
{
	struct mam_cl_heap_attr attr = small();
	struct mam_cl_heap *heap = NULL;
	armed(last = create(&attr, &heap));
	ck_assert((last == MAM_OK) == (heap != NULL));
	armed(mam_cl_heap_destroy(heap));
	return last == MAM_OK;
}

static bool try_published(void)
{
	cl_mem heap = clSBMalloc_create(kit.context, kit.device, kit.queue, 16, 4096);

	return heap && clSBMalloc_destroy(heap) == CL_SUCCESS;
}

static struct mam_cl_heap *alive;
static cl_command_queue queue;

static bool try_reset(void)
{
	armed(last = mam_cl_heap_reset(alive, queue));
	return last == MAM_OK;
}

static bool try_stats(void)
{
	struct mam_cl_heap_info info = { .size = sizeof(info), .blocks = 77 };

	armed(last = mam_cl_heap_stats(alive, queue, &info));
	ck_assert_uint_eq(info.blocks, last == MAM_OK ? 0 : 77);
	return last == MAM_OK;
}

static bool try_options(void)
{
	char options[64] = "none";

	armed(last = mam_cl_options(kit.device, options, sizeof(options)));
	ck_assert((strcmp(options, "none") == 0) == (last != MAM_OK));
	return last == MAM_OK;
}

static enum mam_status status_of(cl_int code)
{
	return code == CL_OUT_OF_HOST_MEMORY ? MAM_ERROR_OUT_OF_HOST_MEMORY
	       : code == CL_OUT_OF_RESOURCES ? MAM_ERROR_OUT_OF_MEMORY
					     : MAM_ERROR_DRIVER;
}

/* Each call that `what` makes fails once, with each code. Returns the number of these calls. */
static unsigned int each_fails(bool (*what)(void), const char *who)
{
	static const cl_int codes[] = { CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES,
					CL_INVALID_VALUE };
	unsigned int at, i, max = 0;
	char begins[128];
	bool well;

	for (i = 0; i < 3; i++) {
		fake.code = codes[i];
		for (at = 1, well = false; !well; at++) {
			fake.at = at;
			fake.seen = 0;
			fake.name = NULL;
			fake.live = 0;
			well = what();
			fake.at = 0;
			ck_assert_msg(fake.live == 0, "%s: %ld objects are left after %s", who,
				      fake.live, fake.name ? fake.name : "success");
			ck_assert(well == !fake.name);
			if (well)
				break;
			(void)snprintf(begins, sizeof(begins), "%s: ", who);
			ck_assert_msg(strncmp(kit_why(), begins, strlen(begins)) == 0 &&
					      kit_why()[strlen(kit_why()) - 1] == '.',
				      "after %s: %s", fake.name, kit_why());
			if (strcmp(fake.name, "calloc") == 0 || strcmp(fake.name, "malloc") == 0) {
				ck_assert_ptr_ne(strstr(kit_why(), "the host cannot allocate "),
						 NULL);
				ck_assert_int_eq(mam_cl_error(NULL), CL_SUCCESS);
				ck_assert_int_eq(last, MAM_ERROR_OUT_OF_HOST_MEMORY);
				continue;
			}
			ck_assert_ptr_ne(strstr(kit_why(), fake.name), NULL);
			ck_assert_int_eq(mam_cl_error(NULL), codes[i]);
			ck_assert_int_eq(last, status_of(codes[i]));
		}
		max = at - 1;
	}
	return max;
}

START_TEST(failed_create_leaks_nothing)
{
	ck_assert_uint_gt(each_fails(try_create, "mam_cl_heap_create"), 20);
	fake.many_devices = true;
	ck_assert_uint_gt(each_fails(try_create, "mam_cl_heap_create"), 20);
	fake.many_devices = false;
}
END_TEST

START_TEST(failed_published_create_leaks_nothing)
{
	struct mam_cl_heap *other = kit_heap(&kit, 16, 0);

	/* The program exists already. The name's own memory is the first to fail. */
	fake.at = 1;
	fake.seen = 0;
	fake.armed = true;
	ck_assert(!try_published());
	fake.armed = false;
	ck_assert_str_eq(fake.name, "calloc");
	ck_assert_ptr_ne(strstr(kit_why(), "clSBMalloc_create: the host cannot allocate "), NULL);
	fake.at = 0;
	ck_assert(try_published());
	kit_well(mam_cl_heap_destroy(other));
}
END_TEST

START_TEST(failed_reset_leaks_nothing)
{
	alive = kit_heap(&kit, 16, 0);
	queue = kit.queue;
	ck_assert_uint_ge(each_fails(try_reset, "mam_cl_heap_reset"), 10);
	queue = kit_queue(kit.context, kit.device, false);
	ck_assert_uint_ge(each_fails(try_reset, "mam_cl_heap_reset"), 12);
	kit_ok(clReleaseCommandQueue(queue));
	kit_well(mam_cl_heap_destroy(alive));
}
END_TEST

START_TEST(failed_stats_leak_nothing)
{
	alive = kit_heap(&kit, 16, 0);
	queue = kit.queue;
	ck_assert_uint_ge(each_fails(try_stats, "mam_cl_heap_stats"), 8);
	queue = kit_queue(kit.context, kit.device, false);
	ck_assert_uint_ge(each_fails(try_stats, "mam_cl_heap_stats"), 10);
	kit_ok(clReleaseCommandQueue(queue));
	kit_well(mam_cl_heap_destroy(alive));
}
END_TEST

START_TEST(failed_options_leak_nothing)
{
	ck_assert_uint_ge(each_fails(try_options, "mam_cl_options"), 6);
}
END_TEST

/* The status of each code. */
START_TEST(each_code_has_its_status)
{
	static const struct {
		cl_int code;
		enum mam_status status;
		const char *sentence;
	} rows[] = {
		{ CL_MEM_OBJECT_ALLOCATION_FAILURE, MAM_ERROR_OUT_OF_MEMORY,
		  "mam_cl_options: clGetDeviceInfo failed with CL_MEM_OBJECT_ALLOCATION_FAILURE "
		  "(-4): "
		  "make the heap smaller, or release other buffers of the device." },
		{ CL_INVALID_DEVICE, MAM_ERROR_INVALID_VALUE,
		  "mam_cl_options: clGetDeviceInfo failed with CL_INVALID_DEVICE (-33): pass an "
		  "object "
		  "that was not released." },
		{ CL_DEVICE_NOT_AVAILABLE, MAM_ERROR_NO_DEVICE,
		  "mam_cl_options: clGetDeviceInfo failed with CL_DEVICE_NOT_AVAILABLE (-2): use "
		  "another "
		  "device, or wait until it is free." },
		{ -9999, MAM_ERROR_DRIVER,
		  "mam_cl_options: clGetDeviceInfo failed with an unknown code (-9999): see the "
		  "OpenCL driver's documentation or its log." },
	};
	char options[64];
	enum mam_status status;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fake.at = 1;
		fake.seen = 0;
		fake.code = rows[i].code;
		fake.armed = true;
		status = mam_cl_options(kit.device, options, sizeof(options));
		fake.armed = false;
		said(rows[i].status, status, rows[i].code, rows[i].sentence);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("opencl/refused");
	TCase *tcase = tcase_create("refused");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, begin, end);
	tcase_add_test(tcase, no_error_initially);
	tcase_add_test(tcase, null_arguments_are_refused);
	tcase_add_test(tcase, invalid_attributes_are_refused);
	tcase_add_test(tcase, older_and_newer_attributes_work);
	tcase_add_test(tcase, older_and_newer_statistics_work);
	tcase_add_test(tcase, foreign_queues_and_short_buffers_are_refused);
	tcase_add_test(tcase, device_without_64_bit_atomics_is_refused);
	tcase_add_test(tcase, device_with_32_bit_addresses_is_refused);
	tcase_add_test(tcase, device_without_compiler_is_refused);
	tcase_add_test(tcase, options_depend_on_features);
	tcase_add_test(tcase, heap_larger_than_a_buffer_is_refused);
	tcase_add_test(tcase, context_may_have_many_devices);
	tcase_add_test(tcase, failed_build_is_reported);
	tcase_add_test(tcase, failed_create_leaks_nothing);
	tcase_add_test(tcase, failed_published_create_leaks_nothing);
	tcase_add_test(tcase, failed_reset_leaks_nothing);
	tcase_add_test(tcase, failed_stats_leak_nothing);
	tcase_add_test(tcase, failed_options_leak_nothing);
	tcase_add_test(tcase, each_code_has_its_status);
	suite_add_tcase(suite, tcase);
	return kit_main(suite);
}
