/* SPDX-License-Identifier: Apache-2.0 */
template <class T> __device__ T helper(T a)
{
	return a;
}

__device__ int over(int a)
{
	return a;
}

__device__ float over(float a)
{
	return a;
}

struct thing {
	int a;
	__device__ void push(int n) { a = n; }
};

template <class T> __global__ void k(T *out, int n)
{
	T x = out[n];

	helper(x);
	over(x);
	x.push(3);
	out[0] = x + x;
	int *p = (int *)malloc(n);
	T *q = new T[n];
	out[1].a = n;
	out->b = x->c;
}
