/* SPDX-License-Identifier: Apache-2.0 */
/* Inline assembly: what only gives a value, and what does more than it seems to. */

#define LEAVE "@p exit;"

__device__ static void put(int *out, int *piece, int value)
{
	if (piece != nullptr) {
		piece[0] = value;
		out[blockIdx.x * blockDim.x + threadIdx.x] = piece[0] + 1;
	}
	free(piece);
}

/* A lane's number, and what is made of it. */
__global__ void numbers(int n, int *out)
{
	int lane, size = n, pair[2] = { n, n };

	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	put(out, (int *)malloc(n * sizeof(int)), 1); // want: block uniform
	asm volatile("{\n\t"
		     ".reg .u32 t;\n\t"
		     "and.b32 t, %1, 3;\n\t"
		     "add.u32 %0, %0, t;\n\t"
		     "}"
		     : "+r"(size)
		     : "r"(lane));
	asm("add.u32 %0, %1, %2;" : "=r"(pair[0]) : "r"(lane), "r"(n));
	put(out, (int *)malloc(size * sizeof(int)), 2);    // want: block varying
	put(out, (int *)malloc(pair[0] * sizeof(int)), 3); // want: block varying
}

/* A word in two parts, a word by a macro, a word by its numbers. */
__global__ void hidden(int n, int *out)
{
	if (n == 0)
		asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 3; @p ex"
			     "it; }" ::"r"(threadIdx.x));
	put(out, (int *)malloc(n * sizeof(int)), 1); // want: none -
}

__global__ void by_macro(int n, int *out)
{
	asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 3; " LEAVE " }" ::"r"(threadIdx.x));
	put(out, (int *)malloc(n * sizeof(int)), 1); // want: none -
}

__global__ void by_numbers(int n, int *out)
{
	asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 3; @p e\x78it; }" ::"r"(threadIdx.x));
	put(out, (int *)malloc(n * sizeof(int)), 1); // want: none -
}

/* What is written is not named. */
__global__ void elsewhere(int n, int *out)
{
	__shared__ int size;

	if (threadIdx.x == 0)
		size = n;
	__syncthreads();
	if (n == 0)
		asm volatile("st.shared.u32 [%1], %0;" ::"r"(threadIdx.x), "r"(n) : "memory");
	put(out, (int *)malloc(size * sizeof(int)), 1); // want: block varying
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(numbers, 2, 64, 5, corpus_out);
	CORPUS_RUN(hidden, 2, 64, 5, corpus_out);
	CORPUS_RUN(by_macro, 2, 64, 5, corpus_out);
	CORPUS_RUN(by_numbers, 2, 64, 5, corpus_out);
	CORPUS_RUN(elsewhere, 2, 64, 5, corpus_out);
	return 0;
}
#endif
