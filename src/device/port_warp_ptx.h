/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_warp_ptx.h - the warp primitives of port.h in NVIDIA's OpenCL C, which has none of its own:
 * one PTX instruction for each, as nvcc emits it.
 *
 * Work items of a group are lanes in the order of their linear numbers, 32 to a warp. The results
 * of ballots and matches are ANDed with the mask, and the caller's own bit is ORed into the mask of
 * active lanes, for the reasons in port_cuda.h.
 *
 * PTX 6.3 and sm_70.
 */
#ifndef MAM_DEVICE_PORT_WARP_PTX_H
#define MAM_DEVICE_PORT_WARP_PTX_H

MAM_KFN uint32_t mam_lane(void)
{
	uint32_t lane;

	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	return lane;
}

MAM_KFN uint32_t mam_warp_active(void)
{
	uint32_t mask;

	asm volatile("activemask.b32 %0;" : "=r"(mask) : : "memory");
	return mask | 1u << mam_lane();
}

MAM_KFN uint32_t mam_warp_ballot(uint32_t mask, bool truth)
{
	uint32_t answer, word = truth;

	asm volatile("{\n\t"
		     ".reg .pred said;\n\t"
		     "setp.ne.u32 said, %1, 0;\n\t"
		     "vote.sync.ballot.b32 %0, said, %2;\n\t"
		     "}"
		     : "=r"(answer)
		     : "r"(word), "r"(mask)
		     : "memory");
	return answer & mask;
}

MAM_KFN uint32_t mam_warp_shuffle32(uint32_t mask, uint32_t value, uint32_t lane)
{
	uint32_t answer;

	asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
		     : "=r"(answer)
		     : "r"(value), "r"(lane), "r"(mask)
		     : "memory");
	return answer;
}

MAM_KFN uint64_t mam_warp_shuffle64(uint32_t mask, uint64_t value, uint32_t lane)
{
	uint32_t low = mam_warp_shuffle32(mask, (uint32_t)value, lane);

	return (uint64_t)mam_warp_shuffle32(mask, (uint32_t)(value >> 32), lane) << 32 | low;
}

MAM_KFN uint32_t mam_warp_match32(uint32_t mask, uint32_t value)
{
	uint32_t answer;

	asm volatile("match.any.sync.b32 %0, %1, %2;"
		     : "=r"(answer)
		     : "r"(value), "r"(mask)
		     : "memory");
	return answer & mask;
}

MAM_KFN uint32_t mam_warp_match64(uint32_t mask, uint64_t value)
{
	uint32_t answer;

	asm volatile("match.any.sync.b64 %0, %1, %2;"
		     : "=r"(answer)
		     : "l"(value), "r"(mask)
		     : "memory");
	return answer & mask;
}

MAM_KFN void mam_warp_sync(uint32_t mask)
{
	asm volatile("bar.warp.sync %0;" : : "r"(mask) : "memory");
}

#endif
