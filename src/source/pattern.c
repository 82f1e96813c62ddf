/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.c - launches the kernels of pattern.cu (<mam/pattern.h>).
 *
 * 1. Make the context that owns the block current.
 * 2. Load the kernels into it: the driver picks the code for its GPU, or compiles the PTX.
 * 3. Check only: set the kernels' one variable, the lowest bad offset, to all ones.
 * 4. Launch on the context's default stream and wait.
 * 5. Check only: read the variable.
 * 6. Unload, and restore the thread's context.
 *
 * No state is kept between calls. Loading again costs under a millisecond. A cached module could be
 * stale after a reset, or after a context was destroyed and another created at the same address.
 */
#include <mam/pattern.h>

#include <stdint.h>

#include "source/driver.h"

#define THREADS 256u
#define MAX_BLOCKS 2048u
#define NONE_BAD (~0ull)

#define DRIVER_INVALID_VALUE 1u
#define DRIVER_NO_BINARY_FOR_GPU 209u
#define DRIVER_INVALID_PTX 218u
#define DRIVER_UNSUPPORTED_PTX_VERSION 222u
#define DRIVER_NOT_SUPPORTED 801u
#define POINTER_ATTRIBUTE_CONTEXT 1u

/* The kernels for all architectures; NULL: mam was built without them. */
static const void *kernels(void)
{
#ifdef MAM_HAVE_KERNELS
	extern const unsigned char mam_pattern_fatbin[];

	return mam_pattern_fatbin;
#else
	return NULL;
#endif
}

struct job {
	const char *kernel;
	void *block;
	size_t bytes;
	uint64_t seed;
	unsigned long long bad; /* out: NONE_BAD, or the lowest offset that differs */
};

static enum mam_status status_of(const struct mam_driver *driver, const char *function,
				 unsigned int result)
{
	switch (result) {
	case DRIVER_NO_BINARY_FOR_GPU:
	case DRIVER_INVALID_PTX:
	case DRIVER_UNSUPPORTED_PTX_VERSION:
	case DRIVER_NOT_SUPPORTED: return MAM_ERROR_UNSUPPORTED;
	default: return mam_driver_status(driver, function, result);
	}
}

static bool has_functions(const struct mam_driver *driver)
{
	return driver->pointer_get_attribute && driver->module_load_data && driver->module_unload &&
	       driver->module_get_function && driver->module_get_global && driver->launch_kernel &&
	       driver->memcpy_htod && driver->memcpy_dtoh;
}

static enum mam_status launch(const struct mam_driver *driver, struct CUmod_st *module,
			      const struct job *job)
{
	const unsigned long long blocks = job->bytes / 8 / THREADS + 1;
	const unsigned int grid = blocks < MAX_BLOCKS ? (unsigned int)blocks : MAX_BLOCKS;
	unsigned long long bytes = job->bytes, seed = job->seed;
	void *block = job->block;
	void *arguments[] = { &block, &bytes, &seed };
	struct CUfunc_st *function;
	unsigned int result;

	result = driver->module_get_function(&function, module, job->kernel);
	if (result != MAM_DRIVER_SUCCESS)
		return status_of(driver, "cuModuleGetFunction", result);
	result = driver->launch_kernel(function, grid, 1, 1, THREADS, 1, 1, 0, NULL, arguments,
				       NULL);
	if (result != MAM_DRIVER_SUCCESS)
		return status_of(driver, "cuLaunchKernel", result);
	return status_of(driver, "cuCtxSynchronize", driver->ctx_synchronize());
}

/* Steps 3 to 5. */
static enum mam_status run_loaded(const struct mam_driver *driver, struct CUmod_st *module,
				  struct job *job)
{
	unsigned long long variable, bad = NONE_BAD;
	size_t variable_bytes;
	enum mam_status status;
	unsigned int result;

	result = driver->module_get_global(&variable, &variable_bytes, module, "mam_pattern_bad");
	if (result != MAM_DRIVER_SUCCESS)
		return status_of(driver, "cuModuleGetGlobal", result);
	result = driver->memcpy_htod(variable, &bad, sizeof(bad));
	if (result != MAM_DRIVER_SUCCESS)
		return status_of(driver, "cuMemcpyHtoD", result);
	status = launch(driver, module, job);
	if (status != MAM_OK)
		return status;
	result = driver->memcpy_dtoh(&bad, variable, sizeof(bad));
	if (result != MAM_DRIVER_SUCCESS)
		return status_of(driver, "cuMemcpyDtoH", result);
	job->bad = bad;
	return MAM_OK;
}

static enum mam_status run_in_context(const struct mam_driver *driver, struct job *job)
{
	struct CUmod_st *module;
	enum mam_status status;
	unsigned int result;

	result = driver->module_load_data(&module, kernels());
	if (result != MAM_DRIVER_SUCCESS)
		return status_of(driver, "cuModuleLoadData", result);
	status = run_loaded(driver, module, job);
	driver->module_unload(module);
	return status;
}

static enum mam_status run(struct job *job)
{
	struct CUctx_st *owner = NULL, *current = NULL, *popped;
	const struct mam_driver *driver;
	enum mam_status status;
	unsigned int result;

	if (!kernels())
		return MAM_ERROR_UNSUPPORTED;
	status = mam_driver_get(&driver);
	if (status != MAM_OK)
		return status;
	if (!has_functions(driver))
		return MAM_ERROR_UNSUPPORTED;

	result = driver->pointer_get_attribute(&owner, POINTER_ATTRIBUTE_CONTEXT,
					       (uintptr_t)job->block);
	if (result == DRIVER_INVALID_VALUE)
		return MAM_ERROR_INVALID_VALUE;
	if (result != MAM_DRIVER_SUCCESS)
		return status_of(driver, "cuPointerGetAttribute", result);
	result = driver->ctx_get_current(&current);
	if (result != MAM_DRIVER_SUCCESS)
		return status_of(driver, "cuCtxGetCurrent", result);
	/* Memory of the driver's own pools belongs to no context: use the current one. */
	if (!owner || owner == current)
		return current ? run_in_context(driver, job) : MAM_ERROR_INVALID_VALUE;
	result = driver->ctx_push_current(owner);
	if (result != MAM_DRIVER_SUCCESS)
		return status_of(driver, "cuCtxPushCurrent", result);
	status = run_in_context(driver, job);
	driver->ctx_pop_current(&popped);
	return status;
}

static bool is_block(const void *block, size_t bytes)
{
	return block && (uintptr_t)block % 8 == 0 && bytes <= UINTPTR_MAX - (uintptr_t)block;
}

enum mam_status mam_pattern_fill(void *block, size_t bytes, uint64_t seed)
{
	struct job job = {
		.kernel = "mam_pattern_fill_kernel", .block = block, .bytes = bytes, .seed = seed
	};

	if (bytes == 0)
		return MAM_OK;
	return is_block(block, bytes) ? run(&job) : MAM_ERROR_INVALID_VALUE;
}

enum mam_status mam_pattern_check(void *block, size_t bytes, uint64_t seed, bool *intact,
				  size_t *bad_offset)
{
	struct job job = { .kernel = "mam_pattern_check_kernel",
			   .block = block,
			   .bytes = bytes,
			   .seed = seed,
			   .bad = NONE_BAD };
	enum mam_status status = MAM_OK;

	if (!intact || (bytes > 0 && !is_block(block, bytes)))
		return MAM_ERROR_INVALID_VALUE;
	if (bytes > 0)
		status = run(&job);
	if (status != MAM_OK)
		return status;
	*intact = job.bad == NONE_BAD;
	if (!*intact && bad_offset)
		*bad_offset = (size_t)job.bad;
	return MAM_OK;
}
