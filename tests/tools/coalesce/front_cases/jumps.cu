/* SPDX-License-Identifier: Apache-2.0 */
__global__ void k(int *out, int n)
{
	if (n)
		goto end;
	out[0] = 1;
end:
	out[1] = 1;
}
