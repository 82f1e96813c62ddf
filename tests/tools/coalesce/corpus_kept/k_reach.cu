/* SPDX-License-Identifier: Apache-2.0 */
/* Kept back: who reaches an allocation, in plain code. */

/* A polynomial for each thread; the degree is the host's. */
__global__ void evaluate(const int *coefficients, unsigned degree, int x, int *out)
{
	unsigned tid = blockDim.x * blockIdx.x + threadIdx.x;
	long long *power = (long long *)malloc((degree + 1) * sizeof *power); // want: block uniform
	long long value = 0;

	if (!power) {
		out[tid] = -1;
	} else {
		power[0] = 1;
		for (unsigned d = 1; d <= degree; ++d)
			power[d] = power[d - 1] * (x + tid % 4);
		for (unsigned d = 0; d <= degree; ++d)
			value += coefficients[d] * power[d];
		out[tid] = (int)(value % 9973);
	}
	free(power);
}

/* Nested guards: block, then option, then thread. */
__global__ void nested(const int *in, int n, int mode, int *out)
{
	const int i = threadIdx.x + blockIdx.x * blockDim.x;

	if (gridDim.x > 1) {
		if (mode & 1) {
			int *a = (int *)malloc(40); // want: block uniform

			if (a && i < n) {
				int *b = (int *)malloc(40); // want: none -

				a[i % 10] = in[i];
				if (b)
					b[9] = a[i % 10];
				out[i] = b ? b[9] : -1;
				free(b);
			}
			free(a);
		}
		if (i % 2 || mode & 2) {
			int *c = (int *)malloc(4 * mode + 4); // want: none -

			if (c)
				c[mode] = i;
			out[i] += c ? c[mode] : 0;
			free(c);
		}
	}
}

/* A predicate that is kept in a variable; its negation, its product with an option. */
__global__ void predicates(const int *in, bool on, int *out)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;
	const bool mine = in[i] > 30, all = on, both = mine & all, never = !all;
	int *p = nullptr, *q = nullptr, *r = nullptr;

	if (!never)
		p = (int *)malloc(32); // want: block uniform
	if (both)
		q = (int *)malloc(32); // want: none -
	if (all != never)
		r = (int *)malloc(never ? 8 : 16); // want: block uniform
	if (p)
		p[7] = i;
	if (q)
		q[7] = 1;
	if (r)
		r[1] = 2;
	out[i] = (p ? p[7] : 0) + (q ? q[7] : 0) + (r ? r[1] : 0);
	free(p);
	free(q);
	free(r);
}

/* An early way out for all, then one for the odd, then what is left. */
__global__ void ways_out(const int *in, int n, int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (n < 2 || blockIdx.x > 6)
		return;
	short *before = (short *)malloc(n * sizeof(short)); // want: block uniform
	if (threadIdx.x & 1) {
		free(before);
		return;
	}
	short *after = (short *)malloc(n * sizeof(short)); // want: none -
	if (before && after) {
		before[n - 1] = (short)in[i];
		after[0] = before[n - 1];
		out[i] = after[0];
	}
	free(after);
	free(before);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(evaluate, 2, 64, corpus_numbers(9, 9, 1), 8, 2, corpus_out);
	CORPUS_RUN(nested, 2, 64, corpus_numbers(128, 90, 2), 100, 3, corpus_out);
	CORPUS_RUN(predicates, 2, 64, corpus_numbers(128, 90, 3), true, corpus_out);
	CORPUS_RUN(ways_out, 2, 64, corpus_numbers(128, 90, 4), 12, corpus_out);
	return 0;
}
#endif
