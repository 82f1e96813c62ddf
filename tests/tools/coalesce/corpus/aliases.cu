/* SPDX-License-Identifier: Apache-2.0 */
/* One memory under two names: what is written by one is read by the other. */

union word {
	int number;
	int parts[1];
	unsigned char bytes[4];
};

struct binds {
	int &to;
};

struct row {
	int count;
	int cells[3];
};

__device__ static void put(int *out, int *piece, int value)
{
	if (piece != nullptr) {
		piece[0] = value;
		out[blockIdx.x * blockDim.x + threadIdx.x] = piece[0] + 1;
	}
	free(piece);
}

/* By an array in a union, by its bytes, and by a member beside it. */
__global__ void unions(int n, int *out)
{
	word w, b, same;

	w.number = b.number = same.number = n;
	w.parts[0] = n + threadIdx.x % 4;
	b.bytes[0] = (unsigned char)(8 + threadIdx.x % 4);
	same.parts[0] = n + 4;
	put(out, (int *)malloc(w.number * sizeof(int)), 1);    // want: block varying
	put(out, (int *)malloc(b.number * sizeof(int)), 2);    // want: block varying
	put(out, (int *)malloc(same.number * sizeof(int)), 3); // want: block uniform
}

/* A name that belongs to a class without a constructor. */
__global__ void bound(int n, int *out)
{
	int size = n, kept = n;
	binds b{ size };

	b.to = n + threadIdx.x % 4;
	put(out, (int *)malloc(size * sizeof(int)), size); // want: block varying
	put(out, (int *)malloc(kept * sizeof(int)), kept); // want: block uniform
}

__device__ static int first_of(int first, int second)
{
	return first > 0 ? first : second;
}

/* Which argument comes first nobody says. */
__global__ void orders(int n, int *out)
{
	int size = n;

	put(out, (int *)malloc(first_of(size, size = n + threadIdx.x % 4) * sizeof(int)), 1); // want: block varying
	size = n;
	put(out, (int *)malloc(first_of(size, size) * sizeof(int)), 2); // want: block uniform
}

/* A thread's own array is made of what is put into it, and where. */
__global__ void arrays(int n, int *out)
{
	int plain[3] = { n, n + 1, n + 2 }, mixed[3] = { 1, 2, 3 }, turned[3] = { n, n, n };
	row r = { n, { n, n, n } };

	mixed[threadIdx.x % 3] = n;
	2[turned] = n + threadIdx.x % 2;
	r.cells[n % 3] = n + 1;
	put(out, (int *)malloc(plain[n % 3] * sizeof(int)), 1);           // want: block uniform
	put(out, (int *)malloc(plain[threadIdx.x % 3] * sizeof(int)), 2); // want: block varying
	put(out, (int *)malloc(mixed[1] * sizeof(int)), 3);               // want: block varying
	put(out, (int *)malloc(r.cells[1] * sizeof(int)), 4);             // want: block uniform
	put(out, (int *)malloc(turned[2] * sizeof(int)), 5);              // want: block varying
	r.cells[threadIdx.x % 3] = n;
	put(out, (int *)malloc(r.cells[0] * sizeof(int)), 6); // want: block varying
}

/* Which of the two is written, it does not say by name. */
__global__ void either(int n, int *out)
{
	row one = { n, { n, n, n } }, other = one;
	int plain[3] = { n, n, n };

	(n > 3 ? one : other).cells[0] = n + threadIdx.x % 4;
	(n++, plain)[1] = n + threadIdx.x % 4;
	put(out, (int *)malloc(one.cells[0] * sizeof(int)), 1); // want: block varying
	put(out, (int *)malloc(plain[1] * sizeof(int)), 2);     // want: block varying
	put(out, (int *)malloc(n * sizeof(int)), 3);            // want: block uniform
}

/* Where it is linked with another of that name, that one is called. */
__device__ __attribute__((weak)) int replaced(int n)
{
	return n;
}

__global__ void weak(int n, int *out)
{
	int size = replaced(n);

	put(out, (int *)malloc(size * sizeof(int)), 1); // want: none -
}

namespace own
{
__device__ int blockDim;
}

/* A name of CUDA's that is somebody's own. */
__global__ void homonyms(int n, int *out)
{
	if (threadIdx.x == 0)
		own::blockDim = n;
	put(out, (int *)malloc((own::blockDim % 2 + 1) * sizeof(int)), n); // want: block varying
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(unions, 2, 64, 8, corpus_out);
	CORPUS_RUN(bound, 2, 64, 5, corpus_out);
	CORPUS_RUN(orders, 2, 64, 5, corpus_out);
	CORPUS_RUN(arrays, 2, 64, 4, corpus_out);
	CORPUS_RUN(either, 2, 64, 4, corpus_out);
	CORPUS_RUN(weak, 2, 64, 4, corpus_out);
	CORPUS_RUN(homonyms, 2, 64, 6, corpus_out);
	return 0;
}
#endif
