/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribute.c - pointer attributes, reported as if each block were a separate allocation.
 * cudaPointerGetAttributes calls these functions.
 *
 *   range: cuMemGetAddressRange, RANGE_START_ADDR, RANGE_SIZE    the block, and its requested size
 *   BUFFER_ID             the block's own ID, a new one after the block was freed
 *   SYNC_MEMOPS           the value set for this block, at first the driver's for new memory: 0, or 1
 *                         with driver 580. The driver can set it for a chunk only. If it is 0 at
 *                         first, neighbors' copies become synchronous too, until the last block for
 *                         which it is set is freed. If it is 1, chunks keep it, and copies of a
 *                         block for which it was cleared remain synchronous
 *   everything else       the driver's value for the chunk: context, device, mapping
 *   dma-buf handles       only for ranges inside one block
 *
 * Of mapped memory (--source=vmm) the driver knows no context, which is that of the pool here, and
 * no IPC handle, which mam has. It cannot change SYNC_MEMOPS there: if it is not 1 from the start, that
 * call returns the driver's error, and the value is always 0. Its pieces can be exported, but the
 * program gets no handle of them: ALLOWED_HANDLE_TYPES is 0, as for memory of cuMemAlloc, or a library
 * would try to export a block instead of requesting its IPC handle. A mapping has the pages of one
 * block, whichever pieces they are in.
 *
 * A block of another process, opened by a handle of mam's, is a separate allocation here too: it
 * has its own range and ID. Whether its copies are synchronous is known for its chunk only.
 *
 * Free space of a pool is reported like freed memory of the driver: the real function is called
 * with an address that is never allocated.
 */
#include "interpose/share/attribute.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/mam.h>

#include "interpose/memory/capture.h"
#include "interpose/memory/chunks.h"
#include "interpose/memory/mapped.h"
#include "interpose/memory/pools.h"
#include "interpose/process/say.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/table.h"
#include "interpose/share/ipc_opened.h"
#include "interpose/share/marks.h"
#include "interpose/watch/watch.h"

#define UNUSED_ADDRESS 512
#define MAPPING_PAGE ((uintptr_t)2 << 20)

/* CUpointer_attribute. */
enum {
	CONTEXT = 1,
	SYNC_MEMOPS = 6,
	BUFFER_ID = 7,
	IPC_CAPABLE = 10,
	RANGE_START_ADDR = 11,
	RANGE_SIZE = 12,
	ALLOWED_HANDLE_TYPES = 14,
	MAPPING_SIZE = 18,
	MAPPING_BASE_ADDR = 19
};

enum space { SPACE_FOREIGN, SPACE_FREE, SPACE_BLOCK, SPACE_OPENED };

struct found {
	enum space space;
	struct mam_segment_info block;
	void *context; /* of mapped memory; NULL: the driver knows it */
};

/*
 * Held from a change of marks until the driver's flag of the chunk is set: of two threads with
 * blocks in one chunk, neither can undo the other's change. Only one short driver call is made
 * under it, with the guard up, which takes no lock of mam's.
 */
static pthread_mutex_t switch_lock = PTHREAD_MUTEX_INITIALIZER;

/* The driver's SYNC_MEMOPS of new memory, -1: not known yet. */
static atomic_int first_value = -1;

/*
 * Called before the first change of a chunk's flag, so `memory` has the driver's value still. A
 * thread that read it later than another one changed it does not store it.
 */
static bool is_synchronous_at_first(uintptr_t memory)
{
	__typeof__(&cuPointerGetAttribute) real = MAM_TABLE_ORIGINAL(cuPointerGetAttribute);
	int unknown = -1;
	unsigned int on = 0;

	if (atomic_load(&first_value) < 0 && real != NULL &&
	    real(&on, SYNC_MEMOPS, memory) == MAM_CUDA_SUCCESS)
		atomic_compare_exchange_strong(&first_value, &unknown, on != 0);
	return atomic_load(&first_value) == 1;
}

static struct found find(unsigned long long address)
{
	struct found found = { .space = SPACE_FOREIGN, .block = { .size = sizeof(found.block) } };
	struct mam_segment_info *block = &found.block;
	struct mam_chunks_piece piece;
	struct mam_ipc_opened opened;
	struct mam_pool *pool;

	if (mam_pools_exist() && mam_owner((void *)(uintptr_t)address, &pool, block) == MAM_OK) {
		found.space = block->live ? SPACE_BLOCK : SPACE_FREE;
		if (block->live &&
		    mam_chunks_piece((uintptr_t)block->chunk_base, (uintptr_t)block->base, &piece))
			found.context = mam_pools_context(pool);
	} else if (mam_ipc_opened_find(address, &opened)) {
		found.space = SPACE_OPENED;
		found.context = opened.mapped_bytes != 0 ? opened.context : NULL;
		block->base = (void *)(uintptr_t)opened.address;
		block->requested = block->bytes = opened.bytes;
	}
	return found;
}

static bool is_block(enum space space)
{
	return space == SPACE_BLOCK || space == SPACE_OPENED;
}

static void watch(enum mam_table_id function, enum mam_road road, enum space space, int answer)
{
	mam_watch_call(
		&(struct mam_watch_call){ .function = function,
					  .road = road,
					  .fate = answer != MAM_CUDA_SUCCESS ? MAM_FATE_FAILED
						  : is_block(space)          ? MAM_FATE_SERVED
									     : MAM_FATE_FORWARDED,
					  .why = is_block(space) ? MAM_WHY_NONE : MAM_WHY_FOREIGN,
					  .code = answer,
					  .device = -1 });
}

/* The whole pages that contain the block, as if it were mapped alone. */
static uintptr_t mapping_of(const struct mam_segment_info *block, size_t *bytes)
{
	uintptr_t from = (uintptr_t)block->base, to = from + block->bytes;

	from -= from % MAPPING_PAGE;
	*bytes = (to + MAPPING_PAGE - 1) / MAPPING_PAGE * MAPPING_PAGE - from;
	return from;
}

/*
 * Writes a value of the attribute's type to the program's variable. Other attributes keep the
 * driver's value.
 */
static void override(int attribute, const struct found *found, void *value)
{
	const struct mam_segment_info *block = &found->block;
	size_t bytes;
	uint64_t id;

	switch (attribute) {
	case CONTEXT:
		if (found->context != NULL)
			*(void **)value = found->context;
		break;
	case RANGE_START_ADDR: *(void **)value = block->base; break;
	case RANGE_SIZE: *(size_t *)value = block->requested; break;
	case SYNC_MEMOPS:
		if (found->space == SPACE_BLOCK)
			*(unsigned int *)value = mam_marks_is_synchronous(block->base) !=
						 is_synchronous_at_first((uintptr_t)block->base);
		break;
	case IPC_CAPABLE:
		if (found->context != NULL && found->space == SPACE_BLOCK)
			*(unsigned int *)value =
				mam_mapped_is_exportable(mam_pools_device(found->context));
		break;
	case ALLOWED_HANDLE_TYPES:
		if (found->context != NULL)
			*(unsigned int *)value = 0;
		break;
	case MAPPING_BASE_ADDR:
		if (found->context != NULL)
			*(uintptr_t *)value = mapping_of(block, &bytes);
		break;
	case MAPPING_SIZE:
		if (found->context != NULL) {
			(void)mapping_of(block, &bytes);
			*(size_t *)value = bytes;
		}
		break;
	case BUFFER_ID:
		if (mam_marks_buffer_id(block->base, &id))
			*(unsigned long long *)value = id;
		break;
	default: break;
	}
}

/* Whether the driver does not know an attribute of mapped memory that mam knows. */
static bool is_unknown(int answer, int attribute)
{
	return (answer == MAM_CUDA_NOT_SUPPORTED || answer == MAM_CUDA_INVALID_VALUE) &&
	       (attribute == CONTEXT || attribute == SYNC_MEMOPS || attribute == IPC_CAPABLE);
}

static int get(enum mam_road road, void *value, int attribute, unsigned long long address)
{
	MAM_GATE_PASS();
	__typeof__(&cuPointerGetAttribute) real = MAM_TABLE_ORIGINAL(cuPointerGetAttribute);
	struct found found;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || value == NULL)
		return real(value, attribute, address);
	mam_init_depth++;
	found = find(address);
	answer = real(value, attribute, found.space == SPACE_FREE ? UNUSED_ADDRESS : address);
	if (found.context != NULL && is_unknown(answer, attribute)) {
		answer = MAM_CUDA_SUCCESS;
		if (attribute == SYNC_MEMOPS)
			*(unsigned int *)value = 0;
	}
	if (answer == MAM_CUDA_SUCCESS && is_block(found.space))
		override(attribute, &found, value);
	watch(MAM_TABLE_cuPointerGetAttribute, road, found.space, answer);
	mam_init_depth--;
	return answer;
}

int cuPointerGetAttribute(void *value, int attribute, unsigned long long address)
{
	return get(mam_road_taken(), value, attribute, address);
}
MAM_THUNK(cuPointerGetAttribute);

static int get_all(enum mam_road road, unsigned int count, int *attributes, void **values,
		   unsigned long long address)
{
	MAM_GATE_PASS();
	__typeof__(&cuPointerGetAttributes) real = MAM_TABLE_ORIGINAL(cuPointerGetAttributes);
	struct found found;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes())
		return real(count, attributes, values, address);
	mam_init_depth++;
	found = find(address);
	answer = real(count, attributes, values,
		      found.space == SPACE_FREE ? UNUSED_ADDRESS : address);
	for (unsigned int i = 0; answer == MAM_CUDA_SUCCESS && is_block(found.space) && i < count;
	     i++)
		if (values[i] != NULL)
			override(attributes[i], &found, values[i]);
	watch(MAM_TABLE_cuPointerGetAttributes, road, found.space, answer);
	mam_init_depth--;
	return answer;
}

int cuPointerGetAttributes(unsigned int count, int *attributes, void **values,
			   unsigned long long address)
{
	return get_all(mam_road_taken(), count, attributes, values, address);
}
MAM_THUNK(cuPointerGetAttributes);

/*
 * The driver refuses to change the flag of mapped memory. It need not if it is 1 from the start:
 * setting it changes nothing, and where it is cleared copies may be synchronous.
 */
static int judge_mapped(int answer, const void *value, const struct found *found)
{
	const struct mam_segment_info *block = &found->block;
	bool wanted = *(const unsigned int *)value != 0;
	static atomic_bool said;

	if (answer != MAM_CUDA_NOT_SUPPORTED)
		return answer;
	if (is_synchronous_at_first((uintptr_t)block->base)) {
		if (found->space == SPACE_BLOCK)
			mam_marks_set_synchronous(block->base, block->chunk_base, !wanted);
		return MAM_CUDA_SUCCESS;
	}
	if (!wanted)
		return MAM_CUDA_SUCCESS;
	if (!atomic_exchange(&said, true))
		mam_say(MAM_SAY_WARN,
			"CU_POINTER_ATTRIBUTE_SYNC_MEMOPS cannot be set on mapped memory; use "
			"--source=cudamalloc");
	return answer;
}

/*
 * Sets the chunk's flag with its first block and clears it with its last; a flag that is 1 from the
 * start stays. If there is no memory for the mark, only the driver's flag is set: it applies to the
 * block's neighbors too, and is never cleared.
 */
static int set_synchronous(__typeof__(&cuPointerSetAttribute) real, const void *value,
			   const struct mam_segment_info *block)
{
	bool wanted = *(const unsigned int *)value != 0, before;
	int answer = MAM_CUDA_SUCCESS;
	const unsigned int on = 1;

	pthread_mutex_lock(&switch_lock);
	if (is_synchronous_at_first((uintptr_t)block->chunk_base)) {
		answer = real(&on, SYNC_MEMOPS, (uintptr_t)block->chunk_base);
		if (answer == MAM_CUDA_SUCCESS)
			mam_marks_set_synchronous(block->base, block->chunk_base, !wanted);
		pthread_mutex_unlock(&switch_lock);
		return answer;
	}
	before = mam_marks_is_synchronous(block->base);
	mam_marks_set_synchronous(block->base, block->chunk_base, false);
	if (!mam_marks_chunk_is_synchronous(block->chunk_base))
		answer = real(value, SYNC_MEMOPS, (uintptr_t)block->chunk_base);
	if (answer == MAM_CUDA_SUCCESS ? wanted : before)
		mam_marks_set_synchronous(block->base, block->chunk_base, true);
	pthread_mutex_unlock(&switch_lock);
	return answer;
}

static int set(enum mam_road road, const void *value, int attribute, unsigned long long address)
{
	MAM_GATE_PASS();
	__typeof__(&cuPointerSetAttribute) real = MAM_TABLE_ORIGINAL(cuPointerSetAttribute);
	struct found found;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || value == NULL)
		return real(value, attribute, address);
	mam_init_depth++;
	found = find(address);
	if (found.space == SPACE_BLOCK && found.context == NULL && attribute == SYNC_MEMOPS)
		answer = set_synchronous(real, value, &found.block);
	else
		answer = real(value, attribute,
			      found.space == SPACE_FREE ? UNUSED_ADDRESS : address);
	if (found.context != NULL && attribute == SYNC_MEMOPS)
		answer = judge_mapped(answer, value, &found);
	watch(MAM_TABLE_cuPointerSetAttribute, road, found.space, answer);
	mam_init_depth--;
	return answer;
}

int cuPointerSetAttribute(const void *value, int attribute, unsigned long long address)
{
	return set(mam_road_taken(), value, attribute, address);
}
MAM_THUNK(cuPointerSetAttribute);

void mam_attribute_not_synchronous(void *chunk)
{
	__typeof__(&cuPointerSetAttribute) real = MAM_TABLE_ORIGINAL(cuPointerSetAttribute);
	const unsigned int off = 0;

	if (real == NULL || atomic_load(&first_value) == 1 || !mam_capture_hold())
		return;
	pthread_mutex_lock(&switch_lock);
	if (!mam_marks_chunk_is_synchronous(chunk))
		real(&off, SYNC_MEMOPS, (uintptr_t)chunk);
	pthread_mutex_unlock(&switch_lock);
	mam_capture_release();
}

static int range(enum mam_road road, unsigned long long *base, size_t *bytes,
		 unsigned long long address)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemGetAddressRange_v2) real = MAM_TABLE_ORIGINAL(cuMemGetAddressRange_v2);
	struct found found;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes())
		return real(base, bytes, address);
	mam_init_depth++;
	found = find(address);
	answer = real(base, bytes, found.space == SPACE_FREE ? UNUSED_ADDRESS : address);
	if (answer == MAM_CUDA_SUCCESS && is_block(found.space)) {
		if (base != NULL)
			*base = (uintptr_t)found.block.base;
		if (bytes != NULL)
			*bytes = found.block.requested;
	}
	watch(MAM_TABLE_cuMemGetAddressRange_v2, road, found.space, answer);
	mam_init_depth--;
	return answer;
}

int cuMemGetAddressRange_v2(unsigned long long *base, size_t *bytes, unsigned long long address)
{
	return range(mam_road_taken(), base, bytes, address);
}
MAM_THUNK(cuMemGetAddressRange_v2);

/* A handle gives others access to all pages of its range, so the range must be inside one block. */
static int handle_for(enum mam_road road, void *handle, unsigned long long address, size_t bytes,
		      int type, unsigned long long flags)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemGetHandleForAddressRange) real =
		MAM_TABLE_ORIGINAL(cuMemGetHandleForAddressRange);
	struct found found;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes())
		return real(handle, address, bytes, type, flags);
	mam_init_depth++;
	found = find(address);
	if (is_block(found.space) &&
	    bytes > found.block.bytes - (address - (uintptr_t)found.block.base))
		found.space = SPACE_FREE;
	answer = real(handle, found.space == SPACE_FREE ? UNUSED_ADDRESS : address, bytes, type,
		      flags);
	if (answer == MAM_CUDA_SUCCESS && is_block(found.space))
		mam_marks_note_export();
	watch(MAM_TABLE_cuMemGetHandleForAddressRange, road, found.space, answer);
	mam_init_depth--;
	return answer;
}

int cuMemGetHandleForAddressRange(void *handle, unsigned long long address, size_t bytes, int type,
				  unsigned long long flags)
{
	return handle_for(mam_road_taken(), handle, address, bytes, type, flags);
}
MAM_THUNK(cuMemGetHandleForAddressRange);
