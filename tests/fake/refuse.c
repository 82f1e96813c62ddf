/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refuse.c - functions that the fake does not support: kernels, and the tables of NVIDIA's own
 * runtime.
 */
#include "fake.h"

static int refuse(const char *name, const void *what)
{
	int result = fake_enter(name);

	if (result == CUDA_SUCCESS)
		result = CUDA_ERROR_NOT_SUPPORTED;
	return fake_leave(name, result, "argument=%p", what);
}

int cuModuleLoadData(struct CUmod_st **module, const void *image)
{
	(void)module;
	return refuse("cuModuleLoadData", image);
}

int cuModuleUnload(struct CUmod_st *module)
{
	return refuse("cuModuleUnload", module);
}

int cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name)
{
	(void)function;
	(void)name;
	return refuse("cuModuleGetFunction", module);
}

int cuLaunchKernel(struct CUfunc_st *function, unsigned int grid_x, unsigned int grid_y,
		   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
		   unsigned int block_z, unsigned int shared_bytes, struct CUstream_st *stream,
		   void **arguments, void **extra)
{
	(void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
	(void)shared_bytes, (void)stream, (void)arguments, (void)extra;
	return refuse("cuLaunchKernel", function);
}

int cuGetExportTable(const void **table, const struct CUuuid_st *id)
{
	if (table)
		*table = 0;
	return refuse("cuGetExportTable", id);
}
