/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contexts.cu - each CUDA context has its own default pool, which ends with it.
 *
 * A block of mam_malloc(NULL) belongs to the current context. After cuCtxDestroy and after a device
 * reset, the next block belongs to a context that exists and can be written, and blocks of the
 * ended context have no owner. The last line is "all is well".
 */
#include <cstdio>
#include <cstdlib>

#include <cuda.h>
#include <cuda_runtime.h>

#include <mam/mam.h>

#define BYTES ((size_t)1 << 20)
#define ROUNDS 20

static void need(bool holds, const char *what)
{
	if (holds)
		return;
	printf("wrong: %s\n", what);
	exit(1);
}

/* cuCtxCreate has one more parameter since CUDA 13. */
static CUcontext create()
{
	CUcontext context;
#if CUDA_VERSION >= 13000
	CUresult result = cuCtxCreate(&context, NULL, 0, 0);
#else
	CUresult result = cuCtxCreate(&context, 0, 0);
#endif

	need(result == CUDA_SUCCESS, "a context is created");
	return context;
}

/* A block of the current context's default pool, written by the GPU. */
static void *block_in(CUcontext context)
{
	CUcontext owner = NULL;
	void *block;

	need(mam_malloc(NULL, BYTES, &block) == MAM_OK, "mam_malloc(NULL) allocates");
	need(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)block) ==
		     CUDA_SUCCESS,
	     "the driver knows the block");
	/* The driver reports no context for mapped memory. */
	need(owner == context || !owner, "the block belongs to the current context");
	need(cuMemsetD8((CUdeviceptr)block, 7, BYTES) == CUDA_SUCCESS &&
		     cuCtxSynchronize() == CUDA_SUCCESS,
	     "the block can be written");
	return block;
}

int main()
{
	CUcontext primary, other;
	void *first, *second, *lost;

	need(cudaFree(NULL) == cudaSuccess && cuCtxGetCurrent(&primary) == CUDA_SUCCESS && primary,
	     "CUDA starts");
	first = block_in(primary);
	for (int round = 0; round < ROUNDS; round++) {
		other = create();
		lost = block_in(other);
		need(cuCtxSetCurrent(primary) == CUDA_SUCCESS, "the primary context is current");
		second = block_in(primary);
		need(mam_free(NULL, second) == MAM_OK, "its block is freed");
		need(cuCtxDestroy(other) == CUDA_SUCCESS, "the other context is destroyed");
		need(cuCtxSetCurrent(primary) == CUDA_SUCCESS,
		     "the primary context is current again");
		second = block_in(primary);
		need(second == lost || mam_free(NULL, lost) == MAM_ERROR_NOT_OWNED,
		     "a block of a destroyed context is not owned");
		need(mam_free(NULL, second) == MAM_OK, "a block allocated afterwards is freed");
	}
	need(mam_free(NULL, first) == MAM_OK, "the first block is freed");
	for (int round = 0; round < ROUNDS; round++) {
		lost = block_in(primary);
		need(cudaDeviceReset() == cudaSuccess && cudaFree(NULL) == cudaSuccess &&
			     cuCtxGetCurrent(&primary) == CUDA_SUCCESS,
		     "the device is reset");
		second = block_in(primary);
		need(mam_free(NULL, second) == MAM_OK, "a block allocated after a reset is freed");
	}
	printf("%d contexts destroyed, %d resets\nall is well\n", ROUNDS, ROUNDS);
	return 0;
}
