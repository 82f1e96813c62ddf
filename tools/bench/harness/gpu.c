/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.c - gpu.h on a GPU, by the driver alone.
 *
 * A timed launch is preceded by a short kernel, so that both events and the launch itself are
 * already in the stream's queue when they are due: they measure the device's time only. A wait
 * polls the last event. A kernel that has not ended after LIMIT is considered hung, and the driver
 * frees the GPU when the process ends.
 */
#include "gpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "driver.h"

#define LIMIT 8             /* seconds, before a kernel is considered hung */
#define LEAD_NS 12000       /* of the kernel before a timed one */
#define LIMIT_MALLOC_HEAP 2 /* CU_LIMIT_MALLOC_HEAP_SIZE */
#define REGISTERS 4         /* CU_FUNC_ATTRIBUTE_NUM_REGS */
#define SMS 16              /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
#define SM_THREADS 39       /* CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR */
#define WARP 32

static struct {
	void *stream, *before, *behind;
	size_t heap_was; /* CUDA's heap before start; 0: not changed */
	unsigned int limit;
	char trouble[240];
} gpu;

const char *bench_gpu_trouble(void)
{
	return gpu.trouble;
}

void bench_gpu_fail(const char *sentence)
{
	if (gpu.trouble[0] == '\0')
		snprintf(gpu.trouble, sizeof(gpu.trouble), "%s", sentence);
}

/* Returns true if the driver returned 0, and there was no earlier error. */
static bool is_good(int status, const char *what, const char *which)
{
	char sentence[240];

	if (status != 0) {
		snprintf(sentence, sizeof(sentence), "%s%s%s: the driver says error %d", what,
			 which[0] != '\0' ? " " : "", which, status);
		bench_gpu_fail(sentence);
	}
	return gpu.trouble[0] == '\0';
}

static bool has_calls(void)
{
	const struct bench_driver *d = &bench_driver;

	return d->module_load != NULL && d->module_function != NULL && d->launch != NULL &&
	       d->event_create != NULL && d->event_record != NULL && d->event_query != NULL &&
	       d->event_elapsed != NULL && d->fill_async != NULL && d->copy_async != NULL &&
	       d->copy_in_async != NULL && d->copy_out_async != NULL;
}

unsigned int bench_gpu_limit(void)
{
	const char *text = getenv("BENCH_GRACE");
	const unsigned long seconds = text != NULL ? strtoul(text, NULL, 10) : 0;

	return seconds > 0 && seconds < 1000000 ? (unsigned int)seconds : LIMIT;
}

bool bench_gpu_start(uint64_t heap_bytes, char *why, size_t why_bytes)
{
	if (!bench_driver_start(why, why_bytes))
		return false;
	if (!has_calls()) {
		snprintf(why, why_bytes, "the CUDA driver is too old");
		return false;
	}
	if (heap_bytes > 0 && bench_driver.limit_get != NULL && bench_driver.limit_set != NULL &&
	    bench_driver.limit_get(&gpu.heap_was, LIMIT_MALLOC_HEAP) == 0 &&
	    bench_driver.limit_set(LIMIT_MALLOC_HEAP, (size_t)heap_bytes) != 0)
		gpu.heap_was = 0;
	gpu.limit = bench_gpu_limit();
	gpu.stream = bench_driver_stream(0);
	if (bench_driver.event_create(&gpu.before, 0) != 0 ||
	    bench_driver.event_create(&gpu.behind, 0) != 0) {
		snprintf(why, why_bytes, "the CUDA driver gives no events");
		return false;
	}
	return true;
}

void bench_gpu_stop(void)
{
	if (gpu.heap_was > 0)
		(void)bench_driver.limit_set(LIMIT_MALLOC_HEAP, gpu.heap_was);
	gpu.heap_was = 0;
}

bool bench_gpu_warm(void)
{
	bench_driver_busy(0, 1000);
	return is_good(bench_driver.stream_wait(gpu.stream), "the first kernel", "");
}

void *bench_gpu_module(const void *image, char *why, size_t why_bytes)
{
	void *module = NULL;
	const int status = bench_driver.module_load(&module, image);

	if (status == 0)
		return module;
	snprintf(why, why_bytes,
		 "the driver does not load the kernels (error %d); it may be older than they are",
		 status);
	return NULL;
}

void *bench_gpu_kernel(void *module, const char *name)
{
	void *kernel = NULL;

	return bench_driver.module_function(&kernel, module, name) == 0 ? kernel : NULL;
}

unsigned int bench_gpu_registers(void *kernel)
{
	int count = 0;

	if (kernel == NULL || bench_driver.function_attribute == NULL ||
	    bench_driver.function_attribute(&count, REGISTERS, kernel) != 0 || count < 0)
		return 0;
	return (unsigned int)count;
}

/* 0: unknown. */
static unsigned int attribute(int which)
{
	int device = 0, count = 0;

	if (bench_driver.device_attribute == NULL || bench_driver.device_get(&device, 0) != 0 ||
	    bench_driver.device_attribute(&count, which, device) != 0 || count < 0)
		return 0;
	return (unsigned int)count;
}

unsigned int bench_gpu_sms(void)
{
	return attribute(SMS);
}

unsigned int bench_gpu_warps(void)
{
	return attribute(SMS) * (attribute(SM_THREADS) / WARP);
}

unsigned int bench_gpu_resident(void *kernel, unsigned int threads)
{
	int count = 0;

	if (kernel == NULL || bench_driver.occupancy == NULL ||
	    bench_driver.occupancy(&count, kernel, (int)threads, 0) != 0 || count < 0)
		return 0;
	return (unsigned int)count * bench_gpu_sms();
}

uint64_t bench_gpu_free_bytes(void)
{
	size_t free_bytes = 0, total = 0;

	return bench_driver.memory_info(&free_bytes, &total) == 0 ? free_bytes : 0;
}

void *bench_gpu_take(uint64_t bytes)
{
	bench_address block = 0;

	if (gpu.trouble[0] != '\0' || bytes + bytes / 8 > bench_gpu_free_bytes() ||
	    bench_driver.alloc(&block, (size_t)bytes) != 0)
		return NULL;
	return (void *)(uintptr_t)block;
}

void bench_gpu_give(void *memory)
{
	/* After an error, release might wait for a kernel forever. */
	if (memory != NULL && gpu.trouble[0] == '\0')
		(void)bench_driver.release((bench_address)(uintptr_t)memory);
}

/* Waits for the last event. */
static bool wait_for(const char *what)
{
	const uint64_t until = bench_now() + gpu.limit * UINT64_C(1000000000);
	int status = bench_driver.event_record(gpu.behind, gpu.stream);
	char sentence[240];

	while (status == 0) {
		status = bench_driver.event_query(gpu.behind);
		if (status != BENCH_NOT_READY)
			break;
		if (bench_now() > until) {
			snprintf(sentence, sizeof(sentence), "%s has not ended after %u second%s",
				 what, gpu.limit, gpu.limit == 1 ? "" : "s");
			bench_gpu_fail(sentence);
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

bool bench_gpu_fill(void *memory, unsigned char value, uint64_t bytes)
{
	return gpu.trouble[0] == '\0' &&
	       is_good(bench_driver.fill_async(address_of(memory), value, (size_t)bytes,
					       gpu.stream),
		       "a fill", "") &&
	       wait_for("a fill");
}

bool bench_gpu_put(void *to, const void *from, uint64_t bytes)
{
	return gpu.trouble[0] == '\0' &&
	       is_good(bench_driver.copy_in_async(address_of(to), from, (size_t)bytes, gpu.stream),
		       "a copy", "") &&
	       wait_for("a copy");
}

bool bench_gpu_fetch(void *to, const void *from, uint64_t bytes)
{
	return gpu.trouble[0] == '\0' &&
	       is_good(bench_driver.copy_out_async(to, address_of(from), (size_t)bytes, gpu.stream),
		       "a copy", "") &&
	       wait_for("a copy");
}

bool bench_gpu_copy(void *to, const void *from, uint64_t bytes)
{
	return gpu.trouble[0] == '\0' &&
	       is_good(bench_driver.copy_async(address_of(to), address_of(from), (size_t)bytes,
					       gpu.stream),
		       "a copy", "");
}

bool bench_gpu_run_shape(void *kernel, const char *name, struct bench_gpu_dims grid,
			 struct bench_gpu_dims block, const void *job, double *us)
{
	void *parameters[] = { (void *)(uintptr_t)job };
	char sentence[96];
	float ms = 0;

	if (kernel == NULL) {
		snprintf(sentence, sizeof(sentence), "there is no kernel %.60s", name);
		bench_gpu_fail(sentence);
	}
	if (gpu.trouble[0] != '\0')
		return false;
	if (us != NULL && !bench_driver_busy(0, LEAD_NS))
		us = NULL;
	if ((us != NULL &&
	     !is_good(bench_driver.event_record(gpu.before, gpu.stream), "an event", "")) ||
	    !is_good(bench_driver.launch(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
					 0, gpu.stream, parameters, NULL),
		     "kernel", name) ||
	    !wait_for(name))
		return false;
	if (us == NULL)
		return true;
	if (!is_good(bench_driver.event_elapsed(&ms, gpu.before, gpu.behind), "an event", ""))
		return false;
	*us = (double)ms * 1000;
	return true;
}

bool bench_gpu_run(void *kernel, const char *name, unsigned int blocks, unsigned int threads,
		   const void *job, double *us)
{
	return bench_gpu_run_shape(kernel, name, (struct bench_gpu_dims){ blocks, 1, 1 },
				   (struct bench_gpu_dims){ threads, 1, 1 }, job, us);
}
