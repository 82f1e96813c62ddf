/* SPDX-License-Identifier: Apache-2.0 */
template <class T> __device__ T same(T a)
{
	return a;
}

template __device__ float same<float>(float);

__global__ void k(int *out)
{
	out[0] = same(3);
}
