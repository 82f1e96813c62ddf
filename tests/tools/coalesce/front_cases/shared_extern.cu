/* SPDX-License-Identifier: Apache-2.0 */
/* One alone is nobody else's memory. */
__global__ void k(int n)
{
	extern __shared__ int only[];

	only[threadIdx.x] = n;
	n[only] = n;
}
