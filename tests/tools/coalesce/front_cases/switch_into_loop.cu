/* SPDX-License-Identifier: Apache-2.0 */
__global__ void k(int *out, int n)
{
	switch (n) {
	case 0:
		do {
			out[0]++;
	case 1:
			out[1]++;
		} while (--n > 0);
	}
}
