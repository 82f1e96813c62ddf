/* SPDX-License-Identifier: Apache-2.0 */
#define BYTES 64

__global__ void k(int **out, int n)
{
	int *p = (int *)malloc(n * sizeof(int)), *q = static_cast<int *>(malloc(BYTES));

	out[0] = p;
	free(q);
}
