/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spin.cu - a kernel that keeps a stream busy: it polls the GPU's clock until a number of
 * nanoseconds have passed. driver.c embeds it, and has the same as PTX for a mam built without a
 * toolkit.
 */
static __device__ __forceinline__ unsigned long long now(void)
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

extern "C" __global__ void spin(unsigned long long ns)
{
	const unsigned long long start = now();

	while (now() - start < ns)
		;
}
