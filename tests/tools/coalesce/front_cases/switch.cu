/* SPDX-License-Identifier: Apache-2.0 */
__global__ void k(int *out, int n)
{
	switch (n) {
	case 1:
	case 2:
		out[0] = 1;
		break;
	case 3:
		out[1] = 1;
	default:
		out[2] = 1;
	}
}
