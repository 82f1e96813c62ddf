/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_names.h - the driver's functions that a gate is put before (gate.h): those that submit work,
 * or that allocate device memory and are not in table.h.
 *
 * MAM_GATE_PREFIXES has the beginnings of their names, for lookups: a function that a later driver
 * adds is recognized, too. MAM_GATE_NAMES has the ELF names that CUDA 13.0 exports, for programs
 * that are linked to the driver; tests/interpose/control/suspend.sh compares both with a libcuda.
 * None of them has an argument in a floating-point register, or more than MAM_GATE_STACK_WORDS on
 * the stack.
 */
#ifndef MAM_INTERPOSE_GATE_NAMES_H
#define MAM_INTERPOSE_GATE_NAMES_H

/* clang-format off */
#define MAM_GATE_PREFIXES \
	"cuLaunch", "cuMemcpy", "cuMemset", "cuGraphLaunch", "cuGraphUpload", \
	"cuGraphInstantiate", "cuStreamWaitValue", "cuStreamWriteValue", "cuStreamBatchMemOp", \
	"cuStreamAttachMem", "cuMemPrefetch", "cuMemDiscard", "cuMemBatchDecompress", \
	"cuMemMapArray", "cuCtxCreate", "cuGreenCtxCreate", "cuDevicePrimaryCtxRetain", \
	"cuModuleLoad", "cuLibraryLoad"

/* ROW(ELF name) */
#define MAM_GATE_NAMES(ROW) \
	ROW(cuCtxCreate) ROW(cuCtxCreate_v2) ROW(cuCtxCreate_v3) ROW(cuCtxCreate_v4) \
	ROW(cuDevicePrimaryCtxRetain) ROW(cuGraphInstantiate) ROW(cuGraphInstantiateWithFlags) \
	ROW(cuGraphInstantiateWithParams) ROW(cuGraphInstantiateWithParams_ptsz) \
	ROW(cuGraphInstantiate_v2) ROW(cuGraphLaunch) ROW(cuGraphLaunch_ptsz) \
	ROW(cuGraphUpload) ROW(cuGraphUpload_ptsz) ROW(cuGreenCtxCreate) ROW(cuLaunch) \
	ROW(cuLaunchCooperativeKernel) ROW(cuLaunchCooperativeKernelMultiDevice) \
	ROW(cuLaunchCooperativeKernel_ptsz) ROW(cuLaunchGrid) ROW(cuLaunchGridAsync) \
	ROW(cuLaunchHostFunc) ROW(cuLaunchHostFunc_ptsz) ROW(cuLaunchKernel) \
	ROW(cuLaunchKernelEx) ROW(cuLaunchKernelEx_ptsz) ROW(cuLaunchKernel_ptsz) \
	ROW(cuLibraryLoadData) ROW(cuLibraryLoadFromFile) ROW(cuMemBatchDecompressAsync) \
	ROW(cuMemBatchDecompressAsync_ptsz) ROW(cuMemDiscardAndPrefetchBatchAsync) \
	ROW(cuMemDiscardAndPrefetchBatchAsync_ptsz) ROW(cuMemDiscardBatchAsync) \
	ROW(cuMemDiscardBatchAsync_ptsz) ROW(cuMemMapArrayAsync) ROW(cuMemMapArrayAsync_ptsz) \
	ROW(cuMemPrefetchAsync) ROW(cuMemPrefetchAsync_ptsz) ROW(cuMemPrefetchAsync_v2) \
	ROW(cuMemPrefetchAsync_v2_ptsz) ROW(cuMemPrefetchBatchAsync) \
	ROW(cuMemPrefetchBatchAsync_ptsz) ROW(cuMemcpy) ROW(cuMemcpy2D) ROW(cuMemcpy2DAsync) \
	ROW(cuMemcpy2DAsync_v2) ROW(cuMemcpy2DAsync_v2_ptsz) ROW(cuMemcpy2DUnaligned) \
	ROW(cuMemcpy2DUnaligned_v2) ROW(cuMemcpy2DUnaligned_v2_ptds) ROW(cuMemcpy2D_v2) \
	ROW(cuMemcpy2D_v2_ptds) ROW(cuMemcpy3D) ROW(cuMemcpy3DAsync) ROW(cuMemcpy3DAsync_v2) \
	ROW(cuMemcpy3DAsync_v2_ptsz) ROW(cuMemcpy3DBatchAsync) ROW(cuMemcpy3DBatchAsync_ptsz) \
	ROW(cuMemcpy3DBatchAsync_v2) ROW(cuMemcpy3DBatchAsync_v2_ptsz) ROW(cuMemcpy3DPeer) \
	ROW(cuMemcpy3DPeerAsync) ROW(cuMemcpy3DPeerAsync_ptsz) ROW(cuMemcpy3DPeer_ptds) \
	ROW(cuMemcpy3D_v2) ROW(cuMemcpy3D_v2_ptds) ROW(cuMemcpyAsync) ROW(cuMemcpyAsync_ptsz) \
	ROW(cuMemcpyAtoA) ROW(cuMemcpyAtoA_v2) ROW(cuMemcpyAtoA_v2_ptds) ROW(cuMemcpyAtoD) \
	ROW(cuMemcpyAtoD_v2) ROW(cuMemcpyAtoD_v2_ptds) ROW(cuMemcpyAtoH) ROW(cuMemcpyAtoHAsync) \
	ROW(cuMemcpyAtoHAsync_v2) ROW(cuMemcpyAtoHAsync_v2_ptsz) ROW(cuMemcpyAtoH_v2) \
	ROW(cuMemcpyAtoH_v2_ptds) ROW(cuMemcpyBatchAsync) ROW(cuMemcpyBatchAsync_ptsz) \
	ROW(cuMemcpyBatchAsync_v2) ROW(cuMemcpyBatchAsync_v2_ptsz) ROW(cuMemcpyDtoA) \
	ROW(cuMemcpyDtoA_v2) ROW(cuMemcpyDtoA_v2_ptds) ROW(cuMemcpyDtoD) ROW(cuMemcpyDtoDAsync) \
	ROW(cuMemcpyDtoDAsync_v2) ROW(cuMemcpyDtoDAsync_v2_ptsz) ROW(cuMemcpyDtoD_v2) \
	ROW(cuMemcpyDtoD_v2_ptds) ROW(cuMemcpyDtoH) ROW(cuMemcpyDtoHAsync) \
	ROW(cuMemcpyDtoHAsync_v2) ROW(cuMemcpyDtoHAsync_v2_ptsz) ROW(cuMemcpyDtoH_v2) \
	ROW(cuMemcpyDtoH_v2_ptds) ROW(cuMemcpyHtoA) ROW(cuMemcpyHtoAAsync) \
	ROW(cuMemcpyHtoAAsync_v2) ROW(cuMemcpyHtoAAsync_v2_ptsz) ROW(cuMemcpyHtoA_v2) \
	ROW(cuMemcpyHtoA_v2_ptds) ROW(cuMemcpyHtoD) ROW(cuMemcpyHtoDAsync) \
	ROW(cuMemcpyHtoDAsync_v2) ROW(cuMemcpyHtoDAsync_v2_ptsz) ROW(cuMemcpyHtoD_v2) \
	ROW(cuMemcpyHtoD_v2_ptds) ROW(cuMemcpyPeer) ROW(cuMemcpyPeerAsync) \
	ROW(cuMemcpyPeerAsync_ptsz) ROW(cuMemcpyPeer_ptds) ROW(cuMemcpy_ptds) ROW(cuMemsetD16) \
	ROW(cuMemsetD16Async) ROW(cuMemsetD16Async_ptsz) ROW(cuMemsetD16_v2) \
	ROW(cuMemsetD16_v2_ptds) ROW(cuMemsetD2D16) ROW(cuMemsetD2D16Async) \
	ROW(cuMemsetD2D16Async_ptsz) ROW(cuMemsetD2D16_v2) ROW(cuMemsetD2D16_v2_ptds) \
	ROW(cuMemsetD2D32) ROW(cuMemsetD2D32Async) ROW(cuMemsetD2D32Async_ptsz) \
	ROW(cuMemsetD2D32_v2) ROW(cuMemsetD2D32_v2_ptds) ROW(cuMemsetD2D8) \
	ROW(cuMemsetD2D8Async) ROW(cuMemsetD2D8Async_ptsz) ROW(cuMemsetD2D8_v2) \
	ROW(cuMemsetD2D8_v2_ptds) ROW(cuMemsetD32) ROW(cuMemsetD32Async) \
	ROW(cuMemsetD32Async_ptsz) ROW(cuMemsetD32_v2) ROW(cuMemsetD32_v2_ptds) ROW(cuMemsetD8) \
	ROW(cuMemsetD8Async) ROW(cuMemsetD8Async_ptsz) ROW(cuMemsetD8_v2) \
	ROW(cuMemsetD8_v2_ptds) ROW(cuModuleLoad) ROW(cuModuleLoadData) ROW(cuModuleLoadDataEx) \
	ROW(cuModuleLoadFatBinary) ROW(cuStreamAttachMemAsync) ROW(cuStreamAttachMemAsync_ptsz) \
	ROW(cuStreamBatchMemOp) ROW(cuStreamBatchMemOp_ptsz) ROW(cuStreamBatchMemOp_v2) \
	ROW(cuStreamBatchMemOp_v2_ptsz) ROW(cuStreamWaitValue32) ROW(cuStreamWaitValue32_ptsz) \
	ROW(cuStreamWaitValue32_v2) ROW(cuStreamWaitValue32_v2_ptsz) ROW(cuStreamWaitValue64) \
	ROW(cuStreamWaitValue64_ptsz) ROW(cuStreamWaitValue64_v2) \
	ROW(cuStreamWaitValue64_v2_ptsz) ROW(cuStreamWriteValue32) \
	ROW(cuStreamWriteValue32_ptsz) ROW(cuStreamWriteValue32_v2) \
	ROW(cuStreamWriteValue32_v2_ptsz) ROW(cuStreamWriteValue64) \
	ROW(cuStreamWriteValue64_ptsz) ROW(cuStreamWriteValue64_v2) \
	ROW(cuStreamWriteValue64_v2_ptsz)
/* clang-format on */

#endif
