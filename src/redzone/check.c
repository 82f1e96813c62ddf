/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - implements check.h by one kernel, as PTX text that the driver compiles when it is loaded.
 *
 * Text, since libmam is also built without a CUDA compiler, and one version of it runs on all GPUs.
 * The second index of the grid is the range. Threads of all blocks with that index read its words of
 * 8 bytes in turn, so that the lanes of a warp access neighboring words. A thread that finds a wrong
 * byte lowers the range's result to the byte's offset. Words are aligned: the first one may begin
 * before the range, and those bytes do not count. A range ends at a multiple of 8.
 *
 * A check writes nothing to memory of the program, and reads it once.
 */
#include "redzone/check.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "source/source.h"

#define THREADS 256u
#define SLICES 16u              /* thread blocks per range: large freed blocks need many */
#define TIMING_OFF 2u           /* CU_EVENT_DISABLE_TIMING */
#define STREAM_NON_BLOCKING 1u  /* CU_STREAM_NON_BLOCKING */
#define HOST_PORTABLE_MAPPED 3u /* CU_MEMHOSTALLOC_PORTABLE and DEVICEMAP */
#define NAP_NS 20000
#define RANGES_BYTES (MAM_CHECK_RANGES * sizeof(struct mam_check_range))

/* A string of PTX; the pattern is MAM_CHECK_BYTE in each byte. */
static const char kernel[] =
	".version 6.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .entry mam_redzone_check(.param .u64 ranges, .param .u64 results)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b32 %r<8>;\n"
	"	.reg .b64 %d<16>;\n"
	"	ld.param.u64 %d0, [ranges];\n"
	"	ld.param.u64 %d1, [results];\n"
	"	cvta.to.global.u64 %d0, %d0;\n"
	"	cvta.to.global.u64 %d1, %d1;\n"
	"	mov.u32 %r0, %ctaid.y;\n"
	"	mul.wide.u32 %d2, %r0, 16;\n"
	"	add.u64 %d2, %d0, %d2;\n"
	"	ld.global.u64 %d3, [%d2];\n" /* the range's start */
	"	ld.global.u64 %d4, [%d2+8];\n"
	"	add.u64 %d4, %d3, %d4;\n" /* its end */
	"	mul.wide.u32 %d5, %r0, 8;\n"
	"	add.u64 %d5, %d1, %d5;\n" /* its result */
	"	mov.u32 %r1, %ctaid.x;\n"
	"	mov.u32 %r2, %ntid.x;\n"
	"	mov.u32 %r3, %tid.x;\n"
	"	mad.lo.u32 %r4, %r1, %r2, %r3;\n"
	"	mov.u32 %r5, %nctaid.x;\n"
	"	mul.lo.u32 %r6, %r5, %r2;\n"
	"	mul.wide.u32 %d6, %r4, 8;\n"
	"	mul.wide.u32 %d7, %r6, 8;\n" /* the stride of a thread */
	"	and.b64 %d8, %d3, -8;\n"
	"	add.u64 %d8, %d8, %d6;\n" /* the thread's word */
	"next:\n"
	"	setp.ge.u64 %p0, %d8, %d4;\n"
	"	@%p0 bra end;\n"
	"	ld.global.u64 %d9, [%d8];\n"
	"	xor.b64 %d9, %d9, 0xdbdbdbdbdbdbdbdb;\n"
	"	setp.ge.u64 %p1, %d8, %d3;\n"
	"	@%p1 bra whole;\n"
	"	sub.u64 %d10, %d3, %d8;\n" /* clear the bytes before the range */
	"	cvt.u32.u64 %r7, %d10;\n"
	"	shl.b32 %r7, %r7, 3;\n"
	"	shr.u64 %d9, %d9, %r7;\n"
	"	shl.b64 %d9, %d9, %r7;\n"
	"whole:\n"
	"	setp.eq.u64 %p1, %d9, 0;\n"
	"	@%p1 bra good;\n"
	"	brev.b64 %d11, %d9;\n" /* the lowest byte that differs */
	"	clz.b64 %r7, %d11;\n"
	"	shr.u32 %r7, %r7, 3;\n"
	"	cvt.u64.u32 %d12, %r7;\n"
	"	add.u64 %d12, %d12, %d8;\n"
	"	sub.u64 %d12, %d12, %d3;\n"
	"	red.global.min.u64 [%d5], %d12;\n" /* relaxed: the host reads it after the kernel */
	"good:\n"
	"	add.u64 %d8, %d8, %d7;\n"
	"	bra next;\n"
	"end:\n"
	"	ret;\n"
	"}\n";

static bool has_functions(const struct mam_driver *driver)
{
	return driver->stream_create && driver->stream_destroy && driver->stream_synchronize &&
	       driver->stream_wait_event && driver->stream_is_capturing && driver->event_create &&
	       driver->event_destroy && driver->event_record && driver->event_query &&
	       driver->memset_d8_async && driver->module_load_data && driver->module_unload &&
	       driver->module_get_function && driver->launch_kernel;
}

/* pre: the visit has begun. The name of the function that failed; NULL: none */
static const char *make(struct mam_check *check)
{
	const struct mam_driver *driver = check->device.driver;
	void *pinned = NULL;

	if (driver->stream_create(&check->stream, STREAM_NON_BLOCKING) != MAM_DRIVER_SUCCESS ||
	    driver->stream_create(&check->fills, STREAM_NON_BLOCKING) != MAM_DRIVER_SUCCESS)
		return "cuStreamCreate";
	if (driver->event_create(&check->order, TIMING_OFF) != MAM_DRIVER_SUCCESS ||
	    driver->event_create(&check->done, TIMING_OFF) != MAM_DRIVER_SUCCESS)
		return "cuEventCreate";
	if (driver->mem_host_alloc(&pinned, RANGES_BYTES + MAM_CHECK_RANGES * sizeof(*check->bad),
				   HOST_PORTABLE_MAPPED) != MAM_DRIVER_SUCCESS)
		return "cuMemHostAlloc";
	check->ranges = pinned;
	check->bad = (uint64_t *)(void *)((char *)pinned + RANGES_BYTES);
	if (driver->module_load_data(&check->module, kernel) != MAM_DRIVER_SUCCESS)
		return "cuModuleLoadData";
	if (driver->module_get_function(&check->function, check->module, "mam_redzone_check") !=
	    MAM_DRIVER_SUCCESS)
		return "cuModuleGetFunction";
	return NULL;
}

/* pre: the visit has begun */
static void destroy(struct mam_check *check)
{
	const struct mam_driver *driver = check->device.driver;

	if (check->module)
		driver->module_unload(check->module);
	if (check->ranges)
		driver->mem_free_host(check->ranges);
	if (check->done)
		driver->event_destroy(check->done);
	if (check->order)
		driver->event_destroy(check->order);
	if (check->fills)
		driver->stream_destroy(check->fills);
	if (check->stream)
		driver->stream_destroy(check->stream);
}

/* The name of the function that failed; NULL: none. */
static const char *enter_and_make(struct mam_check *check)
{
	struct mam_device_visit visit;
	struct mam_device_answer answer;
	const char *failed;

	if (!has_functions(check->device.driver))
		return "cuLaunchKernel";
	answer = mam_device_enter(&check->device, &visit);
	if (answer.result != MAM_DRIVER_SUCCESS)
		return answer.function;
	failed = make(check);
	if (failed)
		destroy(check);
	mam_device_leave(&check->device, &visit);
	return failed;
}

const char *mam_check_begin(struct mam_check *check, struct mam_source *source, bool is_passive)
{
	const char *failed = "cuDevicePrimaryCtxRetain";

	memset(check, 0, sizeof(*check));
	check->is_passive = is_passive;
	if (mam_source_bind(source, &check->device) == MAM_OK)
		failed = enter_and_make(check);
	if (failed)
		mam_device_unbind(&check->device);
	return failed;
}

void mam_check_end(struct mam_check *check)
{
	struct mam_device_visit visit;

	if (mam_device_enter(&check->device, &visit).result == MAM_DRIVER_SUCCESS) {
		check->device.driver->stream_synchronize(check->fills);
		check->device.driver->stream_synchronize(check->stream);
		destroy(check);
		mam_device_leave(&check->device, &visit);
	}
	mam_device_unbind(&check->device);
}

bool mam_check_is_possible(const struct mam_check *check, struct CUstream_st *stream)
{
	struct mam_device_visit visit;
	unsigned int status = 0;
	bool possible;

	if (mam_device_enter(&check->device, &visit).result != MAM_DRIVER_SUCCESS)
		return false;
	possible =
		check->device.driver->stream_is_capturing(stream, &status) == MAM_DRIVER_SUCCESS &&
		status == 0;
	mam_device_leave(&check->device, &visit);
	return possible;
}

bool mam_check_fill(const struct mam_check *check, uintptr_t address, size_t bytes,
		    struct CUstream_st *stream)
{
	struct mam_device_visit visit;
	bool filled;

	if (check->is_passive || bytes == 0)
		return true;
	if (mam_device_enter(&check->device, &visit).result != MAM_DRIVER_SUCCESS)
		return false;
	filled = check->device.driver->memset_d8_async(address, MAM_CHECK_BYTE, bytes, stream) ==
		 MAM_DRIVER_SUCCESS;
	mam_device_leave(&check->device, &visit);
	return filled;
}

bool mam_check_fill_freed(const struct mam_check *check, uintptr_t address, size_t bytes)
{
	return mam_check_fill(check, address, bytes, check->stream);
}

/* pre: the visit has begun */
static bool follow(const struct mam_check *check, struct CUstream_st *stream)
{
	const struct mam_driver *driver = check->device.driver;

	return driver->event_record(check->order, stream) == MAM_DRIVER_SUCCESS &&
	       driver->stream_wait_event(check->stream, check->order, 0) == MAM_DRIVER_SUCCESS;
}

bool mam_check_follow(const struct mam_check *check, struct CUstream_st *stream)
{
	struct mam_device_visit visit;
	bool follows;

	if (mam_device_enter(&check->device, &visit).result != MAM_DRIVER_SUCCESS)
		return false;
	follows = follow(check, stream);
	mam_device_leave(&check->device, &visit);
	return follows;
}

unsigned int mam_check_add(struct mam_check *check, uintptr_t address, size_t bytes)
{
	check->ranges[check->count] = (struct mam_check_range){ address, bytes };
	check->bad[check->count] = MAM_CHECK_INTACT;
	return check->count++;
}

static bool submit(struct mam_check *check)
{
	const struct mam_driver *driver = check->device.driver;
	void *arguments[] = { &check->ranges, &check->bad };
	/* All red zones must be filled first. */
	bool launched =
		follow(check, check->fills) &&
		(check->is_passive ||
		 driver->launch_kernel(check->function, SLICES, check->count, 1, THREADS, 1, 1, 0,
				       check->stream, arguments, NULL) == MAM_DRIVER_SUCCESS);

	/* Without the event, only a wait shows that the work is done. */
	if (driver->event_record(check->done, check->stream) != MAM_DRIVER_SUCCESS)
		driver->stream_synchronize(check->stream);
	return launched;
}

bool mam_check_launch(struct mam_check *check)
{
	struct mam_device_visit visit;
	bool launched = false;

	check->in_flight = true;
	if (mam_device_enter(&check->device, &visit).result == MAM_DRIVER_SUCCESS) {
		launched = submit(check);
		mam_device_leave(&check->device, &visit);
	}
	return launched;
}

/* An error means that the context has ended or is unusable: nothing runs there any more. */
bool mam_check_is_done(const struct mam_check *check)
{
	struct mam_device_visit visit;
	bool done;

	if (mam_device_enter(&check->device, &visit).result != MAM_DRIVER_SUCCESS)
		return true;
	done = check->device.driver->event_query(check->done) != MAM_DRIVER_NOT_READY;
	mam_device_leave(&check->device, &visit);
	return done;
}

static void wait_for(const struct mam_check *check, struct CUstream_st *stream)
{
	struct mam_device_visit visit;

	if (mam_device_enter(&check->device, &visit).result != MAM_DRIVER_SUCCESS)
		return;
	check->device.driver->stream_synchronize(stream);
	mam_device_leave(&check->device, &visit);
}

/* Between two looks: the program may wait for seconds. */
static void nap(void)
{
	static const struct timespec time = { 0, NAP_NS };

	nanosleep(&time, NULL);
}

bool mam_check_wait(const struct mam_check *check, uint64_t until_ns)
{
	if (until_ns == MAM_CHECK_FOREVER) {
		wait_for(check, check->stream);
		return true;
	}
	for (; !mam_check_is_done(check); nap())
		if (mam_clock_ns() >= until_ns)
			return false;
	return true;
}

void mam_check_wait_fills(const struct mam_check *check)
{
	wait_for(check, check->fills);
}

/* cuCtxRecordEvent: drivers of CUDA 12.5 and later. */
bool mam_check_wait_all(const struct mam_check *check, uint64_t until_ns)
{
	const struct mam_driver *driver = check->device.driver;
	struct CUevent_st *event = NULL;
	bool in_time = true;

	if (driver->ctx_record_event == NULL ||
	    driver->event_create(&event, TIMING_OFF) != MAM_DRIVER_SUCCESS ||
	    driver->ctx_record_event(check->device.context, event) != MAM_DRIVER_SUCCESS)
		driver->ctx_synchronize();
	else
		for (; in_time && driver->event_query(event) == MAM_DRIVER_NOT_READY; nap())
			in_time = mam_clock_ns() < until_ns;
	if (event != NULL)
		driver->event_destroy(event);
	return in_time;
}

uint64_t mam_check_bad(const struct mam_check *check, unsigned int range)
{
	return check->bad[range];
}

void mam_check_clear(struct mam_check *check)
{
	check->count = 0;
	check->in_flight = false;
}
