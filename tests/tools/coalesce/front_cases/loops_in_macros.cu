/* SPDX-License-Identifier: Apache-2.0 */
#define EACH(i, n) for (int i = 0; i < (n); i++)
#define EVER for (;;)
#define WHEN(c) if (c)
#define UNLESS(c) if (!(c)) return

__global__ void k(int *out, int n)
{
	EACH(i, n)
		out[i] = 1;
	EVER
		break;
	WHEN(n)
		out[0] = 2;
	UNLESS(n > 3);
	out[1] = 4;
}
