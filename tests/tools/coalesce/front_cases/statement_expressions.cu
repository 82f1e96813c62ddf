/* SPDX-License-Identifier: Apache-2.0 */
__global__ void k(int *out, int n)
{
	int a = ({
		if (n)
			return;
		n + 1;
	});

	out[0] = a;
}
