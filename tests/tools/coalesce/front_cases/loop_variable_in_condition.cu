/* SPDX-License-Identifier: Apache-2.0 */
__global__ void k(int *out, int n)
{
	while (int m = n--)
		out[m] = 1;
	for (int i = 0; bool go = i < n; i++)
		out[i] = go;
}
