/* SPDX-License-Identifier: Apache-2.0 */
__global__ void k(int *out, int n)
{
	int lane, other = 3;

	asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
	asm("add.s32 %0, %1, %2;" : "=r"(out[0]) : "r"(lane), "r"(other));
	if (n)
		asm("exit;");
}

/* In two strings; with an escape; with a label. */
__global__ void joined(int n)
{
	int a;

	asm volatile("mov.u32 %0, "
		     "%%laneid;\n\t"
		     "@!p add.u32 %0, %0, 1;"
		     : "=r"(a));
	asm volatile("ex"
		     "it;");
	asm volatile("e\x78it;");
	asm volatile("here: mov.u32 %0, 1;" : "=r"(a));
	asm volatile("" : "+r"(a));
}
