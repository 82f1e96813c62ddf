/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.cu - a kernel that allocates, and its host side. */
#include <mam/heap.cuh>

__global__ void make(struct mam_kheap *heap, void **objects)
{
	objects[threadIdx.x] = mam_kmalloc(heap, 64);
}

int main(void)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap;

	if (mam_heap_create(nullptr, &attr, &heap) != MAM_OK)
		return 1;
	make<<<1, 32>>>(mam_heap_device(heap), nullptr);
	return mam_heap_destroy(heap) != MAM_OK;
}
