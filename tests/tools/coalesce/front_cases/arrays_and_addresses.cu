/* SPDX-License-Identifier: Apache-2.0 */
struct record {
	int data[4];
	int *far;
};

__device__ void fill(int *to, int n)
{
	*to = n;
}

__global__ void k(int *out, int n)
{
	int near[4], passed[4], grid[2][2];
	record r, *s = &r;

	near[n] = near[0];
	fill(passed, n);
	grid[n][1] = *near;
	r.data[n] = s->data[1] + *r.far + r.far[2];
	int *p = near + 1, (&all)[4] = passed;
	out[0] = p[0] + all[1] + 2 [near];
	*(int *)&n = 3;
	(int &)n = 4;
	(void)n;
}
