/* SPDX-License-Identifier: Apache-2.0 */
struct point {
	int x, y;
};
struct counted {
	int n;
	__device__ counted &operator=(const counted &from) { n = from.n + 1; return *this; }
};
struct both {
	point p;
	counted c;
};
struct with_value {
	int a = 3, b = threadIdx.x;
};

__global__ void k(point *out, int n)
{
	point p = { n, 2 }, q = p, r;
	both s, t;
	with_value v;

	r = q;
	s = t;
	out[0] = r;
	out->x = p.y + v.a;
}
