/* SPDX-License-Identifier: Apache-2.0 */
__global__ void k(int *out, int n)
{
	int lane, other = 3;

	asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
	asm("add.s32 %0, %1, %2;" : "=r"(out[0]) : "r"(lane), "r"(other));
	if (n)
		asm("exit;");
}
