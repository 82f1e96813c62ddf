/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_loop.cu - programs that use cuBLAS and cuFFT: the libraries allocate memory themselves,
 * with a CUDA runtime of their own inside.
 *
 * Built with LIBRARY_LOOP_CUBLAS or with LIBRARY_LOOP_CUFFT, so that neither needs the other. Each
 * round creates a handle, allocates, computes, frees. stdout: a sum. stderr: milliseconds per
 * round.
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <cuda_runtime.h>
#ifdef LIBRARY_LOOP_CUBLAS
#include <cublas_v2.h>
#else
#include <cufft.h>
#endif

/* clang-format off */
#define CHECK(call)                                                               \
	do {                                                                      \
		int code = (int)(call);                                           \
		if (code != 0) {                                                  \
			fprintf(stderr, "library_loop: %s: %d\n", #call, code);   \
			exit(1);                                                  \
		}                                                                 \
	} while (0)
/* clang-format on */

enum { SIDE = 256, ROUNDS = 30 };

static float host[SIDE * SIDE], result[SIDE * SIDE];

#ifdef LIBRARY_LOOP_CUBLAS
static double play()
{
	cublasHandle_t handle;
	float *a, *b, one = 1, zero = 0;
	double sum = 0;

	CHECK(cublasCreate(&handle));
	CHECK(cudaMalloc(&a, sizeof(host)));
	CHECK(cudaMalloc(&b, sizeof(host)));
	CHECK(cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice));
	CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, a, SIDE, a,
			  SIDE, &zero, b, SIDE));
	CHECK(cudaMemcpy(result, b, sizeof(result), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
	CHECK(cublasDestroy(handle));
	for (int i = 0; i < SIDE * SIDE; i++)
		sum += result[i];
	return sum;
}
#else
static double play()
{
	cufftHandle plan;
	float *a;
	double sum = 0;

	CHECK(cudaMalloc(&a, sizeof(host)));
	CHECK(cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice));
	CHECK(cufftPlan2d(&plan, SIDE / 2, SIDE, CUFFT_C2C));
	CHECK(cufftExecC2C(plan, (cufftComplex *)a, (cufftComplex *)a, CUFFT_FORWARD));
	CHECK(cudaMemcpy(result, a, sizeof(result), cudaMemcpyDeviceToHost));
	CHECK(cufftDestroy(plan));
	CHECK(cudaFree(a));
	for (int i = 0; i < SIDE * SIDE; i++)
		sum += result[i] * (i % 7);
	return sum;
}
#endif

static double now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main()
{
	double start, sum;

	for (int i = 0; i < SIDE * SIDE; i++)
		host[i] = (float)(i % 13) / 16;
	sum = play();
	start = now();
	for (int i = 0; i < ROUNDS; i++)
		sum += play();
	fprintf(stderr, "ms_per_round %.4f\n", (now() - start) / ROUNDS);
	printf("sum %.6e\n", sum);
	return 0;
}
