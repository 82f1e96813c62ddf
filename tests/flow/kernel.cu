// SPDX-License-Identifier: Apache-2.0
//
// kernel.cu - an ordinary CUDA source file, without any reference to mam. cuda.sh compiles it with
// -include mam/cuda.h, and runs it if there is a GPU.
#include <cstdio>
#include <vector>

__global__ void scale(float *values, int count, float factor)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		values[i] *= factor;
}

// Device code has its own cudaMalloc, which mam does not replace.
__global__ void allocate(int *answer)
{
	int *block = nullptr;

#ifdef KERNELS_ALLOCATE
	*answer = cudaMalloc((void **)&block, 512) == cudaSuccess && cudaFree(block) == cudaSuccess;
#else
	*answer = block == nullptr;
#endif
}

int main()
{
	const int count = 1000;
	std::vector<float> host(count, 2.0f);
	cudaError_t (*maker)(void **, size_t) = cudaMalloc;
	float *values, *more;
	int *answer, answered = 0;
	void *bytes;

	if (cudaMalloc(&values, count * sizeof(float)) || cudaMalloc<float>(&more, 4) ||
	    cudaMalloc(&answer, 4) || maker(&bytes, 100))
		return 1;
	cudaMemcpy(values, host.data(), count * sizeof(float), cudaMemcpyHostToDevice);
	for (int i = 0; i < 100; i++) {
		if (cudaFree(bytes) || ::cudaMalloc(&bytes, 1 + i * 1000))
			return 2;
	}
	scale<<<(count + 255) / 256, 256>>>(values, count, 3.0f);
	allocate<<<1, 1>>>(answer);
	cudaMemcpy(host.data(), values, count * sizeof(float), cudaMemcpyDeviceToHost);
	cudaMemcpy(&answered, answer, sizeof(answered), cudaMemcpyDeviceToHost);
	for (float value : host) {
		if (value != 6.0f)
			return 3;
	}
	if (cudaFree(values) || cudaFree(more) || cudaFree(answer) || cudaFree(bytes) ||
	    cudaGetLastError())
		return 4;
	std::printf("scaled, kernel returned %d\n", answered);
	return 0;
}
