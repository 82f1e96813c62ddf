/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak_program.c - an unmodified program under soak.h, for `mam run`: device, pitched, managed and
 * stream-ordered memory, contexts that come and go, forks, and programs that it starts.
 *
 * SOAK_ORDERED in the environment: it waits for the device before each free, as --free=stream
 * requires of a program that has several streams.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "soak.h"

/* mam keeps some host memory of each context that was destroyed, in case a thread uses it. */
#define CONTEXTS_MAX 24u

enum from { DEVICE, PITCHED, ORDERED, MANAGED };

static bool waits;

static void begin(struct soak_worker *worker)
{
	(void)worker;
	waits = getenv("SOAK_ORDERED") != NULL;
}

static bool obtain(struct soak_worker *worker, struct soak_block *block)
{
	unsigned long long at = 0;
	size_t pitch = 0;
	int result;

	block->stream = (unsigned)soak_draw(worker, SOAK_STREAMS);
	switch (soak_draw(worker, 16)) {
	case 0:
		block->from = PITCHED;
		result = soak_cuda.cuMemAllocPitch_v2(&at, &pitch, block->bytes / 4 + 1, 4, 4);
		break;
	case 1:
	case 2:
	case 3:
		block->from = ORDERED;
		result = soak_cuda.cuMemAllocAsync(&at, block->bytes,
						   soak_round.streams[block->stream]);
		break;
	case 4:
		block->from = MANAGED;
		result = soak_cuda.cuMemAllocManaged(&at, block->bytes, 1);
		break;
	default: block->from = DEVICE; result = soak_cuda.cuMemAlloc_v2(&at, block->bytes);
	}
	if (result && result != CUDA_ERROR_OUT_OF_MEMORY && !soak_round.faults)
		soak_fail(worker, "an allocation of kind %u returns %d", block->from, result);
	block->at = at;
	return result == 0;
}

static void dispose(struct soak_worker *worker, struct soak_block *block)
{
	bool async = block->from != MANAGED && soak_draw(worker, 4);

	/* Without a wait: cuMemFreeAsync of memory of cuMemAlloc, and cuMemFree of the other. */
	if (waits || async != (block->from == ORDERED))
		SOAK_OWN(worker, soak_cuda.cuCtxSynchronize());
	if (async)
		SOAK_OWN(worker,
			 soak_cuda.cuMemFreeAsync(block->at, soak_round.streams[block->stream]));
	else
		SOAK_OWN(worker, soak_cuda.cuMemFree_v2(block->at));
}

static bool enter(struct soak_block *block)
{
	(void)block;
	return true;
}

static void leave(struct soak_block *block)
{
	(void)block;
}

/* A context with memory that its end frees. */
static void short_context(struct soak_worker *worker)
{
	static atomic_uint made;
	struct CUctx_st *context;
	unsigned long long at;

	if (atomic_fetch_add(&made, 1) >= CONTEXTS_MAX)
		return;
	SOAK_OWN(worker, soak_cuda.cuCtxCreate_v2(&context, 0, 0));
	for (unsigned i = 0; i < 3; i++) {
		int result = soak_cuda.cuMemAlloc_v2(&at, 1 + soak_draw(worker, 2 * MIB));

		if (result && result != CUDA_ERROR_OUT_OF_MEMORY && !soak_round.faults)
			soak_fail(worker, "cuMemAlloc in another context returns %d", result);
		if (!result && i == 1)
			SOAK_OWN(worker, soak_cuda.cuMemFree_v2(at));
	}
	SOAK_OWN(worker, soak_cuda.cuCtxDestroy_v2(context));
	SOAK_OWN(worker, soak_cuda.cuCtxSetCurrent(soak_round.context));
}

static void other(struct soak_worker *worker)
{
	const struct soak_block *block = &worker->held[0];
	unsigned long long base;
	size_t bytes, total;

	switch (soak_draw(worker, 16)) {
	case 0: short_context(worker); break;
	case 1:
		SOAK_OWN(worker, soak_cuda.cuMemGetInfo_v2(&bytes, &total));
		if (bytes > total)
			soak_fail(worker, "%zu of %zu bytes are free", bytes, total);
		break;
	case 2: SOAK_OWN(worker, soak_cuda.cuCtxSynchronize()); break;
	default:
		if (!worker->count)
			break;
		SOAK_OWN(worker, soak_cuda.cuMemGetAddressRange_v2(&base, &bytes, block->at));
		if (base != block->at || bytes < block->bytes)
			soak_fail(worker,
				  "%zu bytes at %#llx (kind %u) are %zu at %#llx to the driver",
				  block->bytes, (unsigned long long)block->at, block->from, bytes,
				  base);
	}
}

/* The driver is unusable in the child, except after an exec. */
static bool child(struct soak_worker *worker)
{
	unsigned long long at;

	if (!getenv("SOAK_NESTED") && soak_draw(worker, 2)) {
		setenv("SOAK_NESTED", "1", 1);
		execl("/proc/self/exe", "soak_program", "1", "1", "100", (char *)NULL);
		return false;
	}
	return soak_cuda.cuMemAlloc_v2(&at, 1000) != 0;
}

static void nothing(struct soak_worker *worker)
{
	(void)worker;
}

int main(int count, char **arguments)
{
	static const struct soak_backend backend = { begin, obtain, dispose, enter,  leave,
						     other, child,  nothing, nothing };

	return soak_main(count, arguments, &backend);
}
