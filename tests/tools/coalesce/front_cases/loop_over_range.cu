/* SPDX-License-Identifier: Apache-2.0 */
__global__ void k(int *out, int n)
{
	int values[3] = { 1, 2, n };

	for (int value : values)
		out[value] = value;
	for (int &value : values)
		value++;
}
