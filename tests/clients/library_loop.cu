/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_loop.cu - programs that use cuBLAS and cuFFT: the libraries allocate by themselves, with a
 * CUDA runtime of their own inside.
 *
 *   library_loop cublas|cufft
 *
 * Each round makes a handle, allocates, computes, frees. stdout: a sum. stderr: milliseconds a round.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cufft.h>

#define CHECK(call)                                                               \
	do {                                                                      \
		int code = (int)(call);                                           \
		if (code != 0) {                                                  \
			fprintf(stderr, "library_loop: %s: %d\n", #call, code);   \
			exit(1);                                                  \
		}                                                                 \
	} while (0)

enum { SIDE = 256, ROUNDS = 30 };

static float host[SIDE * SIDE], result[SIDE * SIDE];

static double multiply()
{
	cublasHandle_t handle;
	float *a, *b, one = 1, zero = 0;
	double sum = 0;

	CHECK(cublasCreate(&handle));
	CHECK(cudaMalloc(&a, sizeof(host)));
	CHECK(cudaMalloc(&b, sizeof(host)));
	CHECK(cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice));
	CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, a, SIDE, a, SIDE,
			  &zero, b, SIDE));
	CHECK(cudaMemcpy(result, b, sizeof(result), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
	CHECK(cublasDestroy(handle));
	for (int i = 0; i < SIDE * SIDE; i++)
		sum += result[i];
	return sum;
}

static double transform()
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

static double now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main(int count, char **arguments)
{
	double (*play)() = NULL, start, sum;

	if (count == 2 && strcmp(arguments[1], "cublas") == 0)
		play = multiply;
	else if (count == 2 && strcmp(arguments[1], "cufft") == 0)
		play = transform;
	if (play == NULL) {
		fprintf(stderr, "usage: %s cublas|cufft\n", arguments[0]);
		return 2;
	}
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
