/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_device.c - pages_device.h on a GPU, by the driver alone.
 *
 * Kernels travel as fat binaries inside the command; a module each for mam's own, the published
 * ones, the checks, and CUDA's malloc, which must be loaded after its heap was given a size. A
 * launch to be timed has a short kernel before it, so that both events and the launch itself are in
 * the stream's queue when it is their turn: what they measure is the device's time. Whoever waits
 * looks at the last event now and then; a kernel that has not ended after LIMIT never will, for
 * this process, and the GPU is left to the driver's end of process.
 */
#include "pages_device.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "driver.h"
#include "pages_job.h"

#define LIMIT 8             /* seconds, before a kernel is taken for one that hangs */
#define LEAD_NS 12000       /* of the kernel before one that is timed */
#define LIMIT_MALLOC_HEAP 2 /* CU_LIMIT_MALLOC_HEAP_SIZE */
#define REGISTERS 4         /* CU_FUNC_ATTRIBUTE_NUM_REGS */
#define KERNELS_MAX 128
#define MODULES_MAX 4

static struct {
	void *modules[MODULES_MAX];
	size_t module_count;
	struct kernel {
		char name[48];
		void *function; /* NULL: there is none */
	} kernels[KERNELS_MAX];
	size_t kernel_count;
	void *stream, *before, *behind;
	size_t heap_was; /* CUDA's heap before start; 0: not changed */
	unsigned int limit;
	char trouble[240];
} device;

const char *pages_device_trouble(void)
{
	return device.trouble;
}

/* True if the driver's answer is 0. */
static bool is_good(int status, const char *what, const char *which)
{
	if (status == 0)
		return device.trouble[0] == '\0';
	if (device.trouble[0] == '\0')
		snprintf(device.trouble, sizeof(device.trouble), "%s%s%s: the driver says error %d",
			 what, which[0] != '\0' ? " " : "", which, status);
	return false;
}

#ifdef MAM_HAVE_KERNELS
extern const unsigned char mam_pages_checks_fatbin[], mam_pages_ours_fatbin[],
	mam_pages_published_fatbin[], mam_pages_cuda_fatbin[];

/* In this order: module_of(). */
static const unsigned char *const images[] = { mam_pages_checks_fatbin, mam_pages_ours_fatbin,
					       mam_pages_published_fatbin, mam_pages_cuda_fatbin };

static bool load_modules(char *why, size_t why_bytes)
{
	size_t i;
	int status;

	for (i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		status = bench_driver.module_load(&device.modules[i], images[i]);
		if (status != 0) {
			snprintf(why, why_bytes,
				 "the driver does not load the kernels (error %d); it may be older "
				 "than they are",
				 status);
			return false;
		}
		device.module_count++;
	}
	return true;
}
#else
static bool load_modules(char *why, size_t why_bytes)
{
	snprintf(why, why_bytes,
		 "this mam was built without kernels; build it with a CUDA toolkit");
	return false;
}
#endif

static bool has_calls(void)
{
	const struct bench_driver *d = &bench_driver;

	return d->module_load != NULL && d->module_function != NULL && d->launch != NULL &&
	       d->event_create != NULL && d->event_record != NULL && d->event_query != NULL &&
	       d->event_elapsed != NULL && d->fill_async != NULL && d->copy_async != NULL &&
	       d->copy_in_async != NULL && d->copy_out_async != NULL;
}

/* BENCH_GRACE says another number of seconds. */
static unsigned int find_limit(void)
{
	const char *text = getenv("BENCH_GRACE");
	const unsigned long seconds = text != NULL ? strtoul(text, NULL, 10) : 0;

	return seconds > 0 && seconds < 1000000 ? (unsigned int)seconds : LIMIT;
}

bool pages_device_start(uint64_t heap_bytes, char *why, size_t why_bytes)
{
#ifndef MAM_HAVE_KERNELS
	return load_modules(why, why_bytes);
#endif
	if (!bench_driver_start(why, why_bytes))
		return false;
	if (!has_calls()) {
		snprintf(why, why_bytes, "the CUDA driver is too old");
		return false;
	}
	if (heap_bytes > 0 && bench_driver.limit_get != NULL && bench_driver.limit_set != NULL &&
	    bench_driver.limit_get(&device.heap_was, LIMIT_MALLOC_HEAP) == 0 &&
	    bench_driver.limit_set(LIMIT_MALLOC_HEAP, (size_t)heap_bytes) != 0)
		device.heap_was = 0;
	if (!load_modules(why, why_bytes))
		return false;
	device.limit = find_limit();
	device.stream = bench_driver_stream(0);
	if (bench_driver.event_create(&device.before, 0) != 0 ||
	    bench_driver.event_create(&device.behind, 0) != 0) {
		snprintf(why, why_bytes, "the CUDA driver gives no events");
		return false;
	}
	bench_driver_busy(0, 1000); /* a first launch is slow */
	return is_good(bench_driver.stream_wait(device.stream), "the first kernel", "");
}

void pages_device_stop(void)
{
	if (device.heap_was > 0)
		(void)bench_driver.limit_set(LIMIT_MALLOC_HEAP, device.heap_was);
	device.heap_was = 0;
}

/* Where a kernel is, by its name: a look into a module that lacks it is an error to who looks on. */
static size_t module_of(const char *name)
{
	static const struct {
		const char *part;
		size_t module;
	} parts[] = { { "check_", 0 }, { "_mam", 1 }, { "_cuda", 3 } };
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strstr(name, parts[i].part) != NULL)
			return parts[i].module;
	}
	return 2;
}

static void *find_kernel(const char *name)
{
	const size_t module = module_of(name);
	struct kernel *kernel;
	size_t i;

	for (i = 0; i < device.kernel_count; i++) {
		if (strcmp(device.kernels[i].name, name) == 0)
			return device.kernels[i].function;
	}
	if (device.kernel_count == KERNELS_MAX || module >= device.module_count)
		return NULL;
	kernel = &device.kernels[device.kernel_count++];
	snprintf(kernel->name, sizeof(kernel->name), "%s", name);
	if (bench_driver.module_function(&kernel->function, device.modules[module], name) != 0)
		kernel->function = NULL;
	return kernel->function;
}

bool pages_device_has(const char *kernel)
{
	return find_kernel(kernel) != NULL;
}

unsigned int pages_device_registers(const char *kernel)
{
	void *function = find_kernel(kernel);
	int count = 0;

	if (function == NULL || bench_driver.function_attribute == NULL ||
	    bench_driver.function_attribute(&count, REGISTERS, function) != 0 || count < 0)
		return 0;
	return (unsigned int)count;
}

uint64_t pages_device_free_bytes(void)
{
	size_t free_bytes = 0, total = 0;

	return bench_driver.memory_info(&free_bytes, &total) == 0 ? free_bytes : 0;
}

void *pages_device_take(uint64_t bytes)
{
	bench_address block = 0;

	if (bytes + bytes / 8 > pages_device_free_bytes() ||
	    bench_driver.alloc(&block, (size_t)bytes) != 0)
		return NULL;
	return (void *)(uintptr_t)block;
}

void pages_device_give(void *memory)
{
	if (memory != NULL && device.trouble[0] == '\0') /* else it may wait for a kernel forever */
		(void)bench_driver.release((bench_address)(uintptr_t)memory);
}

/* Until the last event has come. */
static bool wait_for(const char *what)
{
	const uint64_t until = bench_now() + device.limit * UINT64_C(1000000000);
	int status = bench_driver.event_record(device.behind, device.stream);

	while (status == 0) {
		status = bench_driver.event_query(device.behind);
		if (status != BENCH_NOT_READY)
			break;
		if (bench_now() > until) {
			snprintf(device.trouble, sizeof(device.trouble),
				 "%s has not ended after %u second%s", what, device.limit,
				 device.limit == 1 ? "" : "s");
			return false;
		}
		sched_yield();
		status = 0;
	}
	return is_good(status, what, "");
}

static bench_address address_of(const void *memory)
{
	return (bench_address)(uintptr_t)memory;
}

bool pages_device_fill(void *memory, unsigned char value, uint64_t bytes)
{
	return device.trouble[0] == '\0' &&
	       is_good(bench_driver.fill_async(address_of(memory), value, (size_t)bytes,
					       device.stream),
		       "a fill", "") &&
	       wait_for("a fill");
}

bool pages_device_put(void *to, const void *from, uint64_t bytes)
{
	return device.trouble[0] == '\0' &&
	       is_good(bench_driver.copy_in_async(address_of(to), from, (size_t)bytes,
						  device.stream),
		       "a copy", "") &&
	       wait_for("a copy");
}

bool pages_device_fetch(void *to, const void *from, uint64_t bytes)
{
	return device.trouble[0] == '\0' &&
	       is_good(bench_driver.copy_out_async(to, address_of(from), (size_t)bytes,
						   device.stream),
		       "a copy", "") &&
	       wait_for("a copy");
}

bool pages_device_copy(void *to, const void *from, uint64_t bytes)
{
	return device.trouble[0] == '\0' &&
	       is_good(bench_driver.copy_async(address_of(to), address_of(from), (size_t)bytes,
					       device.stream),
		       "a copy", "");
}

bool pages_device_run(const char *kernel, uint64_t threads, const struct pages_job *job, double *us)
{
	void *function = find_kernel(kernel), *parameters[] = { (void *)(uintptr_t)job };
	const uint64_t blocks = (threads + PAGES_BLOCK - 1) / PAGES_BLOCK;
	float ms = 0;

	if (device.trouble[0] != '\0')
		return false;
	if (function == NULL) {
		snprintf(device.trouble, sizeof(device.trouble), "there is no kernel %s", kernel);
		return false;
	}
	if (us != NULL && !bench_driver_busy(0, LEAD_NS))
		us = NULL;
	if ((us != NULL &&
	     !is_good(bench_driver.event_record(device.before, device.stream), "an event", "")) ||
	    !is_good(bench_driver.launch(function, (unsigned int)blocks, 1, 1, PAGES_BLOCK, 1, 1, 0,
					 device.stream, parameters, NULL),
		     "kernel", kernel) ||
	    !wait_for(kernel))
		return false;
	if (us == NULL)
		return true;
	if (!is_good(bench_driver.event_elapsed(&ms, device.before, device.behind), "an event", ""))
		return false;
	*us = (double)ms * 1000;
	return true;
}
