/* SPDX-License-Identifier: Apache-2.0 */
struct pair {
	int a, b;
};

__global__ void k(int *out, pair p)
{
	auto [a, b] = p;
	auto &[c, d] = p;

	c = out[0];
	out[1] = a + b + d;
}
