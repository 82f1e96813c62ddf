/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_device.c - pages_device.h on a GPU, by the driver alone.
 *
 * Kernels are embedded in the command as fat binaries, one module each for mam's own, the published
 * ones, the checks, those of mam bench model, and CUDA's malloc, which must be loaded after its
 * heap size was set. gpu.c has everything else.
 */
#include "pages_device.h"

#include <stdio.h>
#include <string.h>

#include "bench/harness/gpu.h"
#include "pages_job.h"

#define KERNELS_MAX 128
#define MODULES_MAX 5

static struct {
	void *modules[MODULES_MAX];
	size_t module_count;
	struct kernel {
		char name[48];
		void *function; /* NULL: it does not exist */
	} kernels[KERNELS_MAX];
	size_t kernel_count;
} device;

const char *pages_device_trouble(void)
{
	return bench_gpu_trouble();
}

#ifdef MAM_HAVE_BENCH_KERNELS
extern const unsigned char mam_pages_checks_fatbin[], mam_pages_ours_fatbin[],
	mam_pages_published_fatbin[], mam_pages_cuda_fatbin[], mam_model_kernels_fatbin[];

/* In this order: module_of(). */
static const unsigned char *const images[] = { mam_pages_checks_fatbin, mam_pages_ours_fatbin,
					       mam_pages_published_fatbin, mam_pages_cuda_fatbin,
					       mam_model_kernels_fatbin };

static bool load_modules(char *why, size_t why_bytes)
{
	size_t i;

	for (i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		device.modules[i] = bench_gpu_module(images[i], why, why_bytes);
		if (device.modules[i] == NULL)
			return false;
		device.module_count++;
	}
	return true;
}
#else
static bool load_modules(char *why, size_t why_bytes)
{
	snprintf(why, why_bytes,
		 "mam was built without kernels; configure it with a CUDA toolkit and "
		 "--enable-bench-kernels");
	return false;
}
#endif

bool pages_device_start(uint64_t heap_bytes, char *why, size_t why_bytes)
{
#ifndef MAM_HAVE_BENCH_KERNELS
	return load_modules(why, why_bytes);
#endif
	if (!bench_gpu_start(heap_bytes, why, why_bytes) || !load_modules(why, why_bytes))
		return false;
	if (bench_gpu_warm())
		return true;
	snprintf(why, why_bytes, "%s", bench_gpu_trouble());
	return false;
}

void pages_device_stop(void)
{
	bench_gpu_stop();
}

/*
 * The module of a kernel, by its name: searching a module that lacks it is an error that tools such
 * as compute-sanitizer report.
 */
static size_t module_of(const char *name)
{
	static const struct {
		const char *part;
		size_t module;
	} parts[] = { { "check_", 0 }, { "model_", 4 }, { "_mam", 1 }, { "_cuda", 3 } };
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
	kernel->function = bench_gpu_kernel(device.modules[module], name);
	return kernel->function;
}

bool pages_device_has(const char *kernel)
{
	return find_kernel(kernel) != NULL;
}

unsigned int pages_device_registers(const char *kernel)
{
	return bench_gpu_registers(find_kernel(kernel));
}

uint64_t pages_device_free_bytes(void)
{
	return bench_gpu_free_bytes();
}

void *pages_device_take(uint64_t bytes)
{
	return bench_gpu_take(bytes);
}

void pages_device_give(void *memory)
{
	bench_gpu_give(memory);
}

bool pages_device_fill(void *memory, unsigned char value, uint64_t bytes)
{
	return bench_gpu_fill(memory, value, bytes);
}

bool pages_device_put(void *to, const void *from, uint64_t bytes)
{
	return bench_gpu_put(to, from, bytes);
}

bool pages_device_fetch(void *to, const void *from, uint64_t bytes)
{
	return bench_gpu_fetch(to, from, bytes);
}

bool pages_device_copy(void *to, const void *from, uint64_t bytes)
{
	return bench_gpu_copy(to, from, bytes);
}

bool pages_device_run(const char *kernel, uint64_t threads, const struct pages_job *job, double *us)
{
	return bench_gpu_run(find_kernel(kernel), kernel,
			     (unsigned int)((threads + PAGES_BLOCK - 1) / PAGES_BLOCK), PAGES_BLOCK,
			     job, us);
}
