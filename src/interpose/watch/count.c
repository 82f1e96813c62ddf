/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.c - see count.h.
 */
#include "interpose/watch/count.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include <mam/statpage.h>

#include "interpose/routes/init.h"

static const struct {
	const char *key;
	const char *text;
} reasons[MAM_WHY_COUNT] = {
	[MAM_WHY_NONE] = { "none", "unknown reason" },
	[MAM_WHY_ASLEEP] = { "asleep", "no CUDA context was current yet" },
	[MAM_WHY_FOREIGN] = { "foreign", "the block does not belong to a pool" },
	[MAM_WHY_CAPTURE] = { "capture", "a stream was in capture (see --capture)" },
	[MAM_WHY_LARGE] = { "large", "too large for a pool (see --pass-above)" },
	[MAM_WHY_DEDICATED] = { "dedicated", "for sharing between processes (see --ipc)" },
	[MAM_WHY_LIMIT] = { "limit", "over the limit (see --limit)" },
	[MAM_WHY_MEMORY] = { "memory", "the driver was out of memory for the pool" },
	[MAM_WHY_BROKEN] = { "broken", "the context had an error from an earlier call" },
	[MAM_WHY_MISTAKE] = { "mistake", "double free or interior pointer" },
	[MAM_WHY_NO_POOL] = { "no_pool", "no pool could be created" },
	[MAM_WHY_KIND] = { "kind", "memory of a kind that the driver always serves" },
};

/* The counters of one thread at a time. */
struct block {
	struct block *next; /* lock: none; set before it is published, and in a child */
	atomic_bool taken;  /* atomic; a thread is counting here */
	/* Written only by the owner, read by the thread that sums: atomic, relaxed. */
	_Atomic uint64_t calls[MAM_TABLE_COUNT][MAM_ROAD_COUNT][MAM_FATE_COUNT];
	_Atomic uint64_t bytes[MAM_TABLE_COUNT];
	_Atomic uint64_t why[MAM_WHY_COUNT];
	struct mam_statpage_caller
		*caller;       /* lock: none; set before it is published, and in a child */
	bool is_caller_shared; /* as caller: other blocks have the same one */
};

_Static_assert(MAM_WATCH_DEVICES_MAX == MAM_STATPAGE_DEVICES, "as on the statistics page");
_Static_assert(MAM_FATE_COUNT == MAM_STATPAGE_FATES, "as on the statistics page");

static __thread struct block *mine __attribute__((tls_model("initial-exec"))); /* thread */
static struct block *_Atomic blocks;                                           /* atomic; all */
static struct block shared;  /* for threads without memory; not in the list */
static pthread_key_t ending; /* lock: none, set once */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

const char *mam_count_why_key(enum mam_why why)
{
	return reasons[why].key;
}

const char *mam_count_why_text(enum mam_why why)
{
	return reasons[why].text;
}

/* The thread ends. Code that runs in it later may count again, and then takes a block again. */
static void leave(void *block)
{
	mine = NULL;
	atomic_store_explicit(&((struct block *)block)->taken, false, memory_order_release);
}

static void make_key(void)
{
	pthread_key_create(&ending, leave);
}

static struct block *left_behind(void)
{
	for (struct block *at = atomic_load(&blocks); at != NULL; at = at->next) {
		bool taken = false;

		if (!atomic_load_explicit(&at->taken, memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&at->taken, &taken, true))
			return at;
	}
	return NULL;
}

static void give_caller(struct block *block)
{
	block->caller = mam_statpage_take_caller();
	block->is_caller_shared = block->caller == &mam_statpage_own()->callers[0];
}

static struct block *fresh(void)
{
	struct block *made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (made == MAP_FAILED)
		return NULL;
	atomic_store(&made->taken, true);
	give_caller(made);
	made->next = atomic_load(&blocks);
	while (!atomic_compare_exchange_weak(&blocks, &made->next, made))
		;
	return made;
}

static struct block *take_block(void)
{
	struct block *block = left_behind();

	pthread_once(&key_once, make_key);
	if (block == NULL)
		block = fresh();
	if (block == NULL)
		return &shared; /* not kept: the next call may succeed */
	mine = block;
	pthread_setspecific(ending, block); /* if it fails the block stays taken, but counts */
	return block;
}

static inline void add(bool is_shared, _Atomic uint64_t *counter, uint64_t more)
{
	if (__builtin_expect(is_shared, 0))
		atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
	else
		atomic_store_explicit(counter,
				      atomic_load_explicit(counter, memory_order_relaxed) + more,
				      memory_order_relaxed);
}

static bool gives_memory(enum mam_table_id function)
{
	switch (function) {
	case MAM_TABLE_cudaMalloc:
	case MAM_TABLE_cuMemAlloc_v2:
	case MAM_TABLE_cuMemAllocPitch_v2:
	case MAM_TABLE_cuMemAllocAsync:
	case MAM_TABLE_cuMemAllocAsync_ptsz:
	case MAM_TABLE_cuMemAllocFromPoolAsync:
	case MAM_TABLE_cuMemAllocFromPoolAsync_ptsz:
	case MAM_TABLE_cuMemAllocManaged:
	case MAM_TABLE_cuMemHostAlloc:
	case MAM_TABLE_cuMemAllocHost_v2:
	case MAM_TABLE_cuArrayCreate_v2:
	case MAM_TABLE_cuArray3DCreate_v2:
	case MAM_TABLE_cuMipmappedArrayCreate:
	case MAM_TABLE_cuMemCreate: return true;
	default: return false;
	}
}

static inline void add_device(const struct block *block, const struct mam_watch_call *call,
			      size_t bytes)
{
	int device = call->device >= 0 && call->device < MAM_WATCH_DEVICES_MAX
			     ? call->device
			     : MAM_STATPAGE_DEVICES;

	add(block->is_caller_shared, &block->caller->devices[device].calls[call->fate], 1);
	if (bytes != 0)
		add(block->is_caller_shared, &block->caller->devices[device].bytes, bytes);
}

void mam_count_call(const struct mam_watch_call *call)
{
	bool gives =
		call->bytes != 0 && call->fate != MAM_FATE_FAILED && gives_memory(call->function);
	struct block *block = mine;
	bool is_shared;

	if (__builtin_expect(block == NULL, 0))
		block = take_block();
	is_shared = block == &shared;
	add(is_shared, &block->calls[call->function][call->road][call->fate], 1);
	if (gives)
		add(is_shared, &block->bytes[call->function], call->bytes);
	if (call->why != MAM_WHY_NONE)
		add(is_shared, &block->why[call->why], 1);
	add_device(block, call, gives ? call->bytes : 0);
}

static void sum_array(const _Atomic uint64_t *from, uint64_t *to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] += atomic_load_explicit(&from[i], memory_order_relaxed);
}

static void sum_block(const struct block *block, struct mam_count_sums *sums)
{
	sum_array(&block->calls[0][0][0], &sums->calls[0][0][0],
		  sizeof(sums->calls) / sizeof(uint64_t));
	sum_array(block->bytes, sums->bytes, MAM_TABLE_COUNT);
	sum_array(block->why, sums->why, MAM_WHY_COUNT);
}

void mam_count_sum_device(int device, struct mam_count_device *sums)
{
	const struct mam_statpage_caller *callers = mam_statpage_own()->callers;

	memset(sums, 0, sizeof(*sums));
	for (int i = 0; i < MAM_STATPAGE_CALLERS; i++) {
		sum_array(callers[i].devices[device].calls, sums->calls, MAM_FATE_COUNT);
		sum_array(&callers[i].devices[device].bytes, &sums->bytes, 1);
	}
}

void mam_count_sum(struct mam_count_sums *sums)
{
	memset(sums, 0, sizeof(*sums));
	for (const struct block *at = atomic_load(&blocks); at != NULL; at = at->next)
		sum_block(at, sums);
	sum_block(&shared, sums);
}

static void clear(struct block *block)
{
	memset(block->calls, 0, sizeof(block->calls));
	memset(block->bytes, 0, sizeof(block->bytes));
	memset(block->why, 0, sizeof(block->why));
}

void mam_count_start(void)
{
	shared.caller = &mam_statpage_own()->callers[0];
	shared.is_caller_shared = true;
	if (mam_init_wants_stats())
		mam_watch_start(MAM_WATCH_STATS);
}

/*
 * Only the calling thread exists in the child: the blocks of all others are free. The places on the
 * statistics page are, too.
 */
void mam_count_restart(void)
{
	for (struct block *at = atomic_load(&blocks); at != NULL; at = at->next) {
		clear(at);
		give_caller(at);
		atomic_store(&at->taken, at == mine);
	}
	clear(&shared);
	if (!mam_init_is_off())
		mam_count_start();
}
