/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kit.h - helpers for tests on an OpenCL device: a device, a context, a queue, a program; and
 * launches of its kernels.
 *
 * 1. kit_main() creates a folder for PoCL's cache, so that nothing remains in the user's home,
 *    checks in a child process whether there is a device (if not: status 77, one line), and runs
 *    the suite. Check runs each test in a child; drivers are called only there, as their threads do
 *    not survive a fork.
 * 2. kit_open() opens the first device of the first platform (PoCL's CPU, if there is no other), or
 *    of the platform that OPENCL_PLATFORM names. The name of the device is printed first, as
 *    results depend on it.
 * 3. Kernels are those of tests/opencl/kernels.cl, after mam_cl_source().
 */
#ifndef MAM_TESTS_OPENCL_KIT_H
#define MAM_TESTS_OPENCL_KIT_H

#include <check.h>
#include <mam/opencl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct kit {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program; /* NULL before kit_build() */
	cl_mem counts;      /* KIT_COUNTS of them */
};

#define KIT_COUNTS 8u
/* Of kernels.cl. */
enum {
	KIT_IN_VAIN, /* requests */
	KIT_SHARED,  /* words of a block that also had another owner */
	KIT_REFUSED, /* frees */
	KIT_HAD,     /* allocated blocks */
	KIT_ASTRAY   /* blocks at a misaligned address */
};

/*
 * Memory that drivers keep until the process ends is not a leak of mam. LeakSanitizer's library
 * calls this function, so it must be visible.
 */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpocl\nleak:libLLVM\nleak:libclang\nleak:libOpenCL\n";
}

#define kit_ok(code) ck_assert_int_eq((code), CL_SUCCESS)

static inline const char *kit_why(void)
{
	const char *why;

	(void)mam_cl_error(&why);
	return why;
}

/* A call of mam that must succeed. */
#define kit_well(call)                                                        \
	do {                                                                  \
		enum mam_status kit_status = (call);                          \
                                                                              \
		ck_assert_msg(kit_status == MAM_OK, #call ": %s", kit_why()); \
	} while (0)

/*
 * The first device of the first platform, or of the first platform whose name contains
 * OPENCL_PLATFORM.
 */
static inline bool kit_device(cl_device_id *device)
{
	const char *wanted = getenv("OPENCL_PLATFORM");
	cl_platform_id platforms[16];
	char name[256] = "";
	cl_uint count = 0, i;

	if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS)
		return false;
	for (i = 0; i < count && i < 16; i++)
		if (clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL) ==
			    CL_SUCCESS &&
		    (!wanted || strstr(name, wanted)))
			return clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, device, NULL) ==
			       CL_SUCCESS;
	return false;
}

static inline cl_command_queue kit_queue(cl_context context, cl_device_id device, bool in_order)
{
	const cl_queue_properties properties[] = { CL_QUEUE_PROPERTIES,
						   CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0 };
	cl_int code;
	cl_command_queue queue = clCreateCommandQueueWithProperties(
		context, device, in_order ? NULL : properties, &code);

	kit_ok(code);
	return queue;
}

static inline cl_mem kit_memory(struct kit *kit, size_t bytes)
{
	const cl_uchar zero = 0;
	cl_int code;
	cl_mem made = clCreateBuffer(kit->context, CL_MEM_READ_WRITE, bytes, NULL, &code);

	kit_ok(code);
	kit_ok(clEnqueueFillBuffer(kit->queue, made, &zero, 1, 0, bytes, 0, NULL, NULL));
	return made;
}

static inline void kit_open(struct kit *kit)
{
	cl_int code;

	memset(kit, 0, sizeof(*kit));
	ck_assert(kit_device(&kit->device));
	kit->context = clCreateContext(NULL, 1, &kit->device, NULL, NULL, &code);
	kit_ok(code);
	kit->queue = kit_queue(kit->context, kit->device, true);
	kit->counts = kit_memory(kit, KIT_COUNTS * sizeof(cl_ulong));
}

/* The contents of the file; the caller frees them. */
static inline char *kit_read(const char *name)
{
	const char *root = getenv("srcdir");
	char path[4096], *text;
	FILE *file;
	long bytes;

	(void)snprintf(path, sizeof(path), "%s/tests/opencl/%s", root ? root : ".", name);
	file = fopen(path, "r");
	ck_assert_msg(file != NULL, "cannot read %s", path);
	ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
	bytes = ftell(file);
	rewind(file);
	text = calloc(1, (size_t)bytes + 1);
	ck_assert_ptr_ne(text, NULL);
	ck_assert_uint_eq(fread(text, 1, (size_t)bytes, file), (size_t)bytes);
	(void)fclose(file);
	return text;
}

/* `standard`: "-cl-std=...", or NULL: the result of mam_cl_options(). */
static inline void kit_build(struct kit *kit, const char *file, const char *standard)
{
	char *kernels = kit_read(file), options[512], said[64], log[1 << 17] = "";
	const char *texts[] = { mam_cl_source(), kernels };
	cl_int code;

	kit_well(mam_cl_options(kit->device, said, sizeof(said)));
	(void)snprintf(options, sizeof(options), "%s -Werror", standard ? standard : said);
	kit->program = clCreateProgramWithSource(kit->context, 2, texts, NULL, &code);
	kit_ok(code);
	code = clBuildProgram(kit->program, 1, &kit->device, options, NULL, NULL);
	if (code != CL_SUCCESS)
		(void)clGetProgramBuildInfo(kit->program, kit->device, CL_PROGRAM_BUILD_LOG,
					    sizeof(log) - 1, log, NULL);
	ck_assert_msg(code == CL_SUCCESS, "%s: %s", options, log);
	free(kernels);
}

static inline void kit_close(struct kit *kit)
{
	if (kit->program)
		kit_ok(clReleaseProgram(kit->program));
	kit_ok(clReleaseMemObject(kit->counts));
	kit_ok(clReleaseCommandQueue(kit->queue));
	kit_ok(clReleaseContext(kit->context));
}

/*
 * Runs a kernel in the test's queue. `types` has a letter for each argument: m a buffer, u a
 * cl_uint, l a cl_ulong.
 */
static inline void kit_run(struct kit *kit, const char *name, size_t items, size_t group,
			   const char *types, ...)
{
	cl_int code;
	cl_kernel kernel = clCreateKernel(kit->program, name, &code);
	va_list arguments;
	cl_uint i;

	kit_ok(code);
	va_start(arguments, types);
	for (i = 0; types[i]; i++) {
		cl_mem memory;
		cl_ulong number;
		cl_uint small;

		if (types[i] == 'm') {
			memory = va_arg(arguments, cl_mem);
			kit_ok(clSetKernelArg(kernel, i, sizeof(memory), &memory));
		} else if (types[i] == 'l') {
			number = va_arg(arguments, cl_ulong);
			kit_ok(clSetKernelArg(kernel, i, sizeof(number), &number));
		} else {
			small = va_arg(arguments, cl_uint);
			kit_ok(clSetKernelArg(kernel, i, sizeof(small), &small));
		}
	}
	va_end(arguments);
	kit_ok(clEnqueueNDRangeKernel(kit->queue, kernel, 1, NULL, &items, group ? &group : NULL, 0,
				      NULL, NULL));
	kit_ok(clReleaseKernel(kernel));
}

static inline void kit_get(struct kit *kit, cl_mem memory, void *to, size_t bytes)
{
	kit_ok(clEnqueueReadBuffer(kit->queue, memory, CL_TRUE, 0, bytes, to, 0, NULL, NULL));
}

/* Returns the counts, and resets them to 0. */
static inline void kit_counted(struct kit *kit, cl_ulong counts[KIT_COUNTS])
{
	const cl_uchar zero = 0;

	kit_get(kit, kit->counts, counts, KIT_COUNTS * sizeof(*counts));
	kit_ok(clEnqueueFillBuffer(kit->queue, kit->counts, &zero, 1, 0,
				   KIT_COUNTS * sizeof(*counts), 0, NULL, NULL));
}

static inline struct mam_cl_heap *kit_heap(struct kit *kit, unsigned int superblocks,
					   unsigned int superblock_bytes)
{
	struct mam_cl_heap_attr attr = MAM_CL_HEAP_ATTR_INIT;
	struct mam_cl_heap *heap = NULL;

	attr.superblocks = superblocks;
	attr.superblock_bytes = superblock_bytes;
	attr.counted = 1;
	kit_well(mam_cl_heap_create(kit->context, kit->device, kit->queue, &attr, &heap));
	ck_assert_ptr_ne(heap, NULL);
	return heap;
}

static inline struct mam_cl_heap_info kit_stats(struct kit *kit, struct mam_cl_heap *heap)
{
	struct mam_cl_heap_info stats = { .size = sizeof(stats) };

	kit_well(mam_cl_heap_stats(heap, kit->queue, &stats));
	ck_assert_uint_eq(stats.active + stats.inactive + stats.unused + stats.in_runs,
			  stats.superblocks);
	return stats;
}

/* All blocks were freed. */
static inline void kit_empty(struct kit *kit, struct mam_cl_heap *heap)
{
	struct mam_cl_heap_info stats = kit_stats(kit, heap);

	ck_assert_uint_eq(stats.blocks, 0);
	ck_assert_uint_eq(stats.runs, 0);
	ck_assert_uint_eq(stats.bytes, 0);
	ck_assert_uint_eq(stats.inactive, 0);
	ck_assert_uint_eq(stats.wrong_frees, 0);
	ck_assert_uint_eq(stats.allocs, stats.frees);
}

/* In a child process. */
static inline bool kit_has_device(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		char name[256] = "";
		cl_device_id device;

		if (!kit_device(&device) ||
		    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL) != CL_SUCCESS)
			_exit(1);
		printf("device: %s\n", name);
		(void)fflush(stdout);
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

static inline int kit_main(Suite *suite)
{
	char cache[] = "/tmp/mam-opencl.XXXXXX", command[64];
	SRunner *runner;
	int failed;

	if (!mkdtemp(cache))
		return 99;
	(void)setenv("POCL_CACHE_DIR", cache, 1);
	if (kit_has_device()) {
		runner = srunner_create(suite);
		srunner_run_all(runner, CK_ENV);
		failed = srunner_ntests_failed(runner) != 0;
		srunner_free(runner);
	} else {
		/* The same text as in tests/lib.sh: tools/check prints equal lines once. */
		printf("skip - OpenCL: no driver has a device here (package pocl-opencl-icd)\n");
		failed = 77;
	}
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", cache);
	if (system(command) != 0)
		return 99;
	return failed;
}

#endif
