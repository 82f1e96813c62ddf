/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paper.c - the paper's five calls on one pool (<mam/paper.h>).
 *
 *  1. The environment is a pool of one chunk that may not grow. `lock` guards the pool pointer.
 *     Creating and destroying the pool happen under the lock, so that no thread requests the
 *     largest chunk from the device while the previous one is being freed.
 *  2. MAM_CudaMalloc allocates under the lock: a lazily created environment cannot end between
 *     being found and being used.
 *  3. MAM_CudaFree frees first, without the lock, since it may have to wait for the device. Then,
 *     if the environment was created lazily, it tries to destroy the pool. The pool itself refuses
 *     while a block is live, so there is no second count of blocks that could disagree with it. If
 *     several threads free concurrently, the last one to get here succeeds.
 *
 * Source: C. Aknesil and D. Unat, "MAM: A Memory Allocation Manager for GPUs", section II.
 */
#include <mam/paper.h>

#include "api/attr.h"
#include "api/paper.h"
#include "api/slots.h"
#include "base/lock.h"
#include "cache/cache.h"
#include "pool/pool.h"

/* Before every rank of base/lock.h: pools are created and destroyed while it is held. */

static struct mam_lock lock = MAM_LOCK_INIT(MAM_RANK_PAPER, "paper");
static struct mam_pool *environment; /* lock: lock; a handle; NULL: none */
static bool lazy;                    /* lock: lock; the environment ends with its last block */

/* Values of enum cudaError, unchanged in CUDA since version 10.1. */
enum {
	SUCCESS = 0,
	INVALID = 1,
	NO_MEMORY = 2,
	NO_DEVICE = 100,
	STATE = 401,
	UNSUPPORTED = 801,
	UNKNOWN = 999
};

static int answer(enum mam_status status)
{
	switch (status) {
	case MAM_OK: return SUCCESS;
	case MAM_ERROR_INVALID_VALUE:
	case MAM_ERROR_NOT_OWNED:
	case MAM_ERROR_INTERIOR:
	case MAM_ERROR_DOUBLE_FREE: return INVALID;
	case MAM_ERROR_OUT_OF_MEMORY:
	case MAM_ERROR_OUT_OF_HOST_MEMORY: return NO_MEMORY;
	case MAM_ERROR_NO_DEVICE: return NO_DEVICE;
	case MAM_ERROR_LIVE_BLOCKS:
	case MAM_ERROR_DESTROYED:
	case MAM_ERROR_SUSPENDED: return STATE;
	case MAM_ERROR_UNSUPPORTED: return UNSUPPORTED;
	case MAM_ERROR_WOULD_WAIT:
	case MAM_ERROR_DRIVER:
	case MAM_ERROR_CORRUPT:
	case MAM_ERROR_IO: break;
	}
	return UNKNOWN;
}

static enum mam_status create_locked(size_t chunk_bytes, bool ends_itself)
{
	struct mam_pool_attr attr;
	enum mam_status status;

	mam_attr_environment(&attr);
	attr.chunk_bytes = chunk_bytes;
	attr.growth_bytes = MAM_GROWTH_NONE;
	attr.name = "paper";
	attr.cache = MAM_CACHE_OFF; /* the environment has one lock anyway */
	/*
	 * MAM_LIMIT bounds the automatic chunk. For an explicit size the caller is responsible.
	 */
	if (chunk_bytes != MAM_CHUNK_LARGEST)
		attr.limit_bytes = 0;
	status = mam_pool_create(&attr, &environment);
	if (status == MAM_OK)
		lazy = ends_itself;
	return status;
}

static int create(size_t chunk_bytes)
{
	int result = STATE;

	mam_lock_take(&lock);
	if (!environment)
		result = answer(create_locked(chunk_bytes, false));
	mam_lock_release(&lock);
	return result;
}

int MAM_Create(size_t maxSize)
{
	if (maxSize == 0)
		return INVALID;
	/* The largest number means "as much as possible" to a pool; as a size it never fits. */
	return maxSize == MAM_CHUNK_LARGEST ? NO_MEMORY : create(maxSize);
}

int MAM_Create_auto(void)
{
	return create(MAM_CHUNK_LARGEST);
}

static bool note_live(const struct mam_segment_info *segment, void *user)
{
	if (segment->live)
		*(void **)user = segment->base;
	return !segment->live;
}

/*
 * Free the live blocks, lowest first: adjacent free blocks are one segment, so each scan ends at
 * the first or second segment.
 */
static enum mam_status free_all_locked(void)
{
	struct mam_section section;
	struct mam_pool *pool = mam_handle_enter(environment, &section);
	enum mam_status status = pool ? mam_pool_quiesce(pool) : MAM_ERROR_DESTROYED;

	while (status == MAM_OK) {
		void *block = NULL;

		status = mam_pool_walk(environment, note_live, &block);
		if (status != MAM_OK || !block)
			break;
		status = mam_cache_free(pool, block);
		if (status == MAM_ERROR_DOUBLE_FREE) /* another thread freed it first */
			status = MAM_OK;
	}
	if (pool)
		mam_epoch_leave(section);
	return status;
}

int MAM_Destroy(void)
{
	enum mam_status status = MAM_ERROR_DESTROYED;

	mam_lock_take(&lock);
	if (environment)
		status = mam_pool_destroy(environment);
	while (status == MAM_ERROR_LIVE_BLOCKS) {
		status = free_all_locked();
		if (status == MAM_OK)
			status = mam_pool_destroy(environment);
	}
	if (status == MAM_OK || status == MAM_ERROR_DESTROYED)
		environment = NULL;
	mam_lock_release(&lock);
	return answer(status);
}

/*
 * Destroy a lazily created environment, unless a block is live. DESTROYED: the program destroyed
 * the pool through mam.h.
 */
static void end_if_idle_locked(void)
{
	enum mam_status status = lazy ? mam_pool_destroy(environment) : MAM_ERROR_LIVE_BLOCKS;

	if (status == MAM_OK || status == MAM_ERROR_DESTROYED)
		environment = NULL;
}

int MAM_CudaMalloc(void **ptr, size_t size)
{
	enum mam_status status = MAM_OK;

	if (!ptr || size == 0) {
		if (ptr)
			*ptr = NULL;
		return ptr ? SUCCESS : INVALID;
	}
	mam_lock_take(&lock);
	if (!environment)
		status = create_locked(MAM_CHUNK_LARGEST, true);
	if (status == MAM_OK)
		status = mam_malloc(environment, size, ptr);
	/* An environment created for a block that does not fit has no last free to end it. */
	if (status != MAM_OK && environment)
		end_if_idle_locked();
	mam_lock_release(&lock);
	return answer(status);
}

int MAM_CudaFree(void *ptr)
{
	enum mam_status status;
	struct mam_pool *owner;

	if (!ptr)
		return SUCCESS;
	mam_lock_take(&lock);
	owner = environment;
	mam_lock_release(&lock);
	if (!owner)
		return INVALID;
	status = mam_free(owner, ptr);
	if (status != MAM_OK) /* DESTROYED: another thread destroyed the environment meanwhile */
		return status == MAM_ERROR_DESTROYED ? INVALID : answer(status);
	mam_lock_take(&lock);
	if (environment == owner)
		end_if_idle_locked();
	mam_lock_release(&lock);
	return SUCCESS;
}

void mam_paper_fork_prepare(void)
{
	mam_lock_take_for_fork(&lock);
}

void mam_paper_fork_parent(void)
{
	mam_lock_release_for_fork(&lock);
}

void mam_paper_fork_child(void)
{
	const struct mam_pool *pool = mam_handle_storage(environment);

	/* The registry has already ended it; its slot is not reused. */
	if (environment &&
	    (!mam_handle_is(environment, pool) || !((const struct mam_slot *)pool)->survives_fork))
		environment = NULL;
	mam_lock_reinit(&lock);
}
