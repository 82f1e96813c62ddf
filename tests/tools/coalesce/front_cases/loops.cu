/* SPDX-License-Identifier: Apache-2.0 */
__global__ void k(int *out, int n)
{
	int i = 0, j;

	for (j = 0; j < n; j++)
		out[j] = j;
	for (; i < n;)
		i += 2;
	for (;; ++i)
		if (i > 9)
			break;
	while (n--)
		continue;
	do
		i--;
	while (i);
}
