/* SPDX-License-Identifier: Apache-2.0 */
struct holder {
	int &held;
	__device__ holder(int &h) : held(h) {}
};

__device__ void set(int &to, const int &from)
{
	to = from;
}

template <class F> __device__ void through(F &&value)
{
	value = 2;
}

__global__ void k(int *out, int n)
{
	int a = 1, b = 2, c = 3, d = 4, e = 5, plain = 6;
	int &r = a;
	const int &s = n ? b : c;
	holder h(d);

	r = s;
	set(out[0], e);
	through(h.held);
	plain = min(plain, n);
}
