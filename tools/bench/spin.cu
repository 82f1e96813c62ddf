/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spin.cu - a kernel that keeps a stream busy: it looks at the GPU's clock until so many
 * nanoseconds have passed. driver.c carries it, and has the same as PTX for a mam that was built
 * without a toolkit.
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
