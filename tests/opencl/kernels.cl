/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.cl - allocates and frees blocks, with a shadow of the heap: a word per four bytes, which
 * is 0 while they are free.
 *
 * An item that allocates a block writes its own number to the block's words and must find 0 in
 * each; an item that frees it must find the owner's number. mam_cl_source() precedes this file.
 */
#define IN_VAIN 0
#define SHARED 1
#define REFUSED 2
#define HAD 3
#define ASTRAY 4

#define HELD 4u

static void note(__global ulong *counts, uint which, ulong n)
{
	if (n)
		(void)mam_atomic_add64(&counts[which], n, MAM_RELAXED, MAM_AT_DEVICE);
}

/* Returns the number of words that were not `from`. */
static ulong change(__global void *heap, __global uint *shadow, __global void *block, ulong bytes,
		    uint from, uint to)
{
	ulong first = ((uintptr_t)block - (uintptr_t)heap) / 4, wrong = 0, i;

	for (i = 0; i < (bytes + 3) / 4; i++)
		wrong += mam_atomic_xchg32(&shadow[first + i], to, MAM_RELAXED, MAM_AT_DEVICE) !=
			 from;
	return wrong;
}

/* One of `steps` sizes from `min` up, each `step` larger. */
static ulong size_of(uint self, uint round, uint min, uint steps, uint step)
{
	return min + (ulong)(mam_kma_mix(self * 31 + round) % steps) * step;
}

static bool aligned(__global void *block, ulong bytes)
{
	return (uintptr_t)block % (bytes > 8 ? 16 : bytes > 4 ? 8 : 4) == 0;
}

/* Each item has up to HELD blocks at a time, and none at the end. */
__kernel void churn(__global void *heap, __global uint *shadow, __global ulong *counts, uint rounds,
		    uint min, uint steps, uint step)
{
	uint self = (uint)get_global_id(0) + 1, round, slot;
	ulong bytes[HELD], in_vain = 0, shared = 0, refused = 0, had = 0, astray = 0;
	__global void *held[HELD];

	for (slot = 0; slot < HELD; slot++)
		held[slot] = 0;
	for (round = 0; round < rounds + HELD; round++) {
		slot = round % HELD;
		if (held[slot]) {
			shared += change(heap, shadow, held[slot], bytes[slot], self, 0);
			refused += !mam_cl_free(heap, held[slot]);
			held[slot] = 0;
		}
		if (round >= rounds)
			continue;
		bytes[slot] = size_of(self, round, min, steps, step);
		held[slot] = mam_cl_malloc(heap, bytes[slot]);
		if (!held[slot]) {
			in_vain++;
			continue;
		}
		had++;
		astray += !aligned(held[slot], bytes[slot]);
		shared += change(heap, shadow, held[slot], bytes[slot], 0, self);
	}
	note(counts, IN_VAIN, in_vain);
	note(counts, SHARED, shared);
	note(counts, REFUSED, refused);
	note(counts, HAD, had);
	note(counts, ASTRAY, astray);
}

/* One block per item, which keeps it. */
__kernel void keep(__global void *heap, __global uint *shadow, __global ulong *counts,
		   __global ulong *kept, uint min, uint steps, uint step)
{
	uint self = (uint)get_global_id(0) + 1;
	ulong bytes = size_of(self, 0, min, steps, step);
	__global void *block = mam_cl_malloc(heap, bytes);

	kept[get_global_id(0)] = (ulong)(uintptr_t)block;
	note(counts, block ? HAD : IN_VAIN, 1);
	if (!block)
		return;
	note(counts, ASTRAY, !aligned(block, bytes));
	note(counts, SHARED, change(heap, shadow, block, bytes, 0, self));
}

/* Frees the block of another item: that of number i * `stride` modulo all. */
__kernel void release(__global void *heap, __global uint *shadow, __global ulong *counts,
		      __global ulong *kept, uint min, uint steps, uint step, uint stride)
{
	uint i = (uint)(get_global_id(0) * (ulong)stride % get_global_size(0)), self = i + 1;
	__global void *block = (__global void *)(uintptr_t)kept[i];

	if (!block)
		return;
	note(counts, SHARED,
	     change(heap, shadow, block, size_of(self, 0, min, steps, step), self, 0));
	note(counts, REFUSED, !mam_cl_free(heap, block));
}

/* Invalid frees, by one item: counts those that succeed, and valid ones that fail. */
__kernel void wrong(__global void *heap, __global ulong *counts)
{
	__global uchar *block = mam_cl_malloc(heap, 100), *large = mam_cl_malloc(heap, 5000);
	uchar own = 0;

	note(counts, IN_VAIN, !block + !large);
	note(counts, HAD, mam_cl_malloc(heap, 0) != 0);
	note(counts, HAD, mam_cl_malloc(heap, (size_t)-1) != 0);
	note(counts, REFUSED, !mam_cl_free(heap, 0));
	note(counts, HAD, mam_cl_free(heap, block + 4));
	note(counts, HAD, mam_cl_free(heap, large + 4096));
	note(counts, HAD, mam_cl_free(heap, heap));
	note(counts, HAD, mam_cl_free(heap, (__global uchar *)heap - 16));
	note(counts, HAD, mam_cl_free(heap, (__global void *)(uintptr_t)&own));
	note(counts, REFUSED, !mam_cl_free(heap, block));
	note(counts, HAD, mam_cl_free(heap, block));
	note(counts, REFUSED, !mam_cl_free(heap, large));
	note(counts, HAD, mam_cl_free(heap, large));
}

/* Pairs of malloc and free, as the papers measure them. */
__kernel void pairs(__global void *heap, __global ulong *counts, uint rounds, uint min, uint steps,
		    uint step)
{
	uint self = (uint)get_global_id(0) + 1, round;
	__global uint *block;
	ulong in_vain = 0;

	for (round = 0; round < rounds; round++) {
		block = mam_cl_malloc(heap, size_of(self, round, min, steps, step));
		if (block)
			*block = self;
		else
			in_vain++;
		(void)mam_cl_free(heap, block);
	}
	note(counts, IN_VAIN, in_vain);
}
