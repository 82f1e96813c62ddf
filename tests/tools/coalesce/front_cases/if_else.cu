/* SPDX-License-Identifier: Apache-2.0 */
__global__ void k(int *out, int n)
{
	if (n > 3)
		out[0] = 1;
	else if (threadIdx.x)
		out[1] = 2;
	if (int m = n - 1; m > 2)
		out[2] = m;
	if (int q = n + 1)
		out[3] = q;
}
