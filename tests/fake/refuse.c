/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refuse.c - functions that the fake does not support: kernels, and the tables of NVIDIA's own
 * runtime. One kernel works, mam_redzone_check of src/redzone/check.c, as C code (timeline.c).
 */
#include "fake.h"

#include <string.h>

#define KERNEL "mam_redzone_check"

/* Their addresses are the only module and the only function. */
static char known_module, known_function;

static int refuse(const char *name, const void *what)
{
	int result = fake_enter(name);

	if (result == CUDA_SUCCESS)
		result = CUDA_ERROR_NOT_SUPPORTED;
	return fake_leave(name, result, "argument=%p", what);
}

/* Other images may be binary. */
static bool is_known(const char *image)
{
	return image && strncmp(image, ".version", strlen(".version")) == 0 &&
	       strstr(image, KERNEL) != NULL;
}

int cuModuleLoadData(struct CUmod_st **module, const void *image)
{
	int result;

	if (!is_known(image))
		return refuse("cuModuleLoadData", image);
	result = fake_enter("cuModuleLoadData");
	if (result == CUDA_SUCCESS)
		*module = (struct CUmod_st *)&known_module;
	return fake_leave("cuModuleLoadData", result, "argument=%p", image);
}

int cuModuleUnload(struct CUmod_st *module)
{
	if ((char *)module != &known_module)
		return refuse("cuModuleUnload", module);
	return fake_leave("cuModuleUnload", fake_enter("cuModuleUnload"), "argument=%p",
			  (void *)module);
}

int cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name)
{
	int result;

	if ((char *)module != &known_module || strcmp(name, KERNEL) != 0)
		return refuse("cuModuleGetFunction", module);
	result = fake_enter("cuModuleGetFunction");
	if (result == CUDA_SUCCESS)
		*function = (struct CUfunc_st *)&known_function;
	return fake_leave("cuModuleGetFunction", result, "argument=%p", (void *)module);
}

static int launch(unsigned int ranges, struct CUstream_st *stream, void **arguments)
{
	struct CUctx_st *context;
	uint64_t due_ns;
	int result = fake_stream_context(stream, &context);

	if (result == CUDA_SUCCESS)
		result = fake_stream_submit(context, stream, 0, &due_ns);
	if (result == CUDA_SUCCESS && due_ns != FAKE_CAPTURED)
		result = fake_timeline_check(due_ns, *(void **)arguments[0], *(void **)arguments[1],
					     ranges);
	return result;
}

int cuLaunchKernel(struct CUfunc_st *function, unsigned int grid_x, unsigned int grid_y,
		   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
		   unsigned int block_z, unsigned int shared_bytes, struct CUstream_st *stream,
		   void **arguments, void **extra)
{
	int result;

	(void)grid_x, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
	(void)shared_bytes, (void)extra;
	if ((char *)function != &known_function)
		return refuse("cuLaunchKernel", function);
	result = fake_enter("cuLaunchKernel");
	if (result == CUDA_SUCCESS)
		result = launch(grid_y, stream, arguments);
	return fake_leave("cuLaunchKernel", result, "ranges=%u stream=%p", grid_y, (void *)stream);
}

int cuGetExportTable(const void **table, const struct CUuuid_st *id)
{
	if (table)
		*table = 0;
	return refuse("cuGetExportTable", id);
}
