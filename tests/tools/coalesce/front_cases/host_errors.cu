/* SPDX-License-Identifier: Apache-2.0 */
template <class T> __global__ void k(T *out)
{
	out[0] = 1;
}

void host(int *out)
{
	not_there(out);
	k<int><<<1, 1>>>(out);
}
