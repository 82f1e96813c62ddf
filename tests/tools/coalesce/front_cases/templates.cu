/* SPDX-License-Identifier: Apache-2.0 */
template <class T> __device__ T twice(T a)
{
	T b = a + a;

	return b;
}

template <class T, int N> __global__ void k(T *out, int n)
{
	if constexpr (N > 1)
		out[0] = twice<T>(n);
	else
		out[1] = twice(2.0f);
	T *p = new T[N];
	out[N] = p[0];
}

template <class T> struct list {
	T *items;
	__device__ void grow(int n) { items = (T *)malloc(n * sizeof(T)); }
};

__global__ void m(int n)
{
	list<double> l;

	l.grow(n);
}

void host(int *out, float *other)
{
	k<int, 3><<<1, 32>>>(out, 1);
	k<float, 1><<<1, dim3(32), 0>>>(other, 1);
}
