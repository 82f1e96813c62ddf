/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.c - see stack.h.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "interpose/process/stack.h"

#include <execinfo.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "interpose/process/objects.h"

#define OWN_DEPTH 12 /* frames inside mam, maximum */
#define BUCKETS ((size_t)1 << 14)
#define ARENA_BYTES ((size_t)1 << 20)
#define STACKS_MAX ((uint32_t)1 << 20)

/* A block of memory that nodes are allocated from. */
struct arena {
	_Atomic size_t used; /* atomic; bytes, may exceed the end */
	char bytes[];
};

static struct mam_stack *_Atomic buckets[BUCKETS]; /* atomic */
static struct arena *_Atomic arena;                /* atomic */
static _Atomic uint32_t stacks;                    /* atomic; count */
static uintptr_t own_begin, own_end;               /* lock: none, set at start */

static int find_own(struct dl_phdr_info *info, size_t bytes, void *user)
{
	uintptr_t here = (uintptr_t)user;

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD || here < begin ||
		    here >= begin + info->dlpi_phdr[i].p_memsz)
			continue;
		own_begin = begin;
		own_end = begin + info->dlpi_phdr[i].p_memsz;
		return 1;
	}
	return 0;
}

void mam_stack_start(void)
{
	mam_objects_visit(find_own, (void *)(uintptr_t)mam_stack_here);
}

static struct arena *new_arena(struct arena *full)
{
	struct arena *made =
		mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (made == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&arena, &full, made))
		return made;
	munmap(made, ARENA_BYTES); /* another thread was faster */
	return full;
}

void *mam_stack_cut(size_t bytes)
{
	struct arena *from = atomic_load(&arena);
	void *made;

	bytes = (bytes + 7) & ~(size_t)7;
	if (bytes > ARENA_BYTES / 4) {
		made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
		return made == MAP_FAILED ? NULL : made;
	}
	for (;;) {
		if (from != NULL) {
			size_t at = atomic_fetch_add(&from->used, bytes);

			if (at + bytes <= ARENA_BYTES - sizeof(*from))
				return from->bytes + at;
		}
		from = new_arena(from);
		if (from == NULL)
			return NULL;
	}
}

static uint64_t hash_of(void *const *frames, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i < count; i++) {
		hash ^= (uint64_t)(uintptr_t)frames[i];
		hash *= 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash;
}

static const struct mam_stack *intern(void *const *frames, uint32_t count)
{
	uint64_t hash = hash_of(frames, count);
	struct mam_stack *_Atomic *bucket = &buckets[hash & (BUCKETS - 1)];
	struct mam_stack *first = atomic_load_explicit(bucket, memory_order_acquire), *made;

	for (struct mam_stack *at = first; at != NULL; at = at->next)
		if (at->hash == hash && at->count == count &&
		    memcmp(at->frames, frames, count * sizeof(*frames)) == 0)
			return at;
	if (atomic_load_explicit(&stacks, memory_order_relaxed) >= STACKS_MAX)
		return NULL;
	made = mam_stack_cut(sizeof(*made) + count * sizeof(*frames));
	if (made == NULL)
		return NULL;
	made->hash = hash;
	made->number = atomic_fetch_add(&stacks, 1) + 1;
	made->count = count;
	memcpy(made->frames, frames, count * sizeof(*frames));
	do
		made->next = first;
	while (!atomic_compare_exchange_weak_explicit(bucket, &first, made, memory_order_release,
						      memory_order_acquire));
	return made;
}

const struct mam_stack *mam_stack_here(void)
{
	void *frames[OWN_DEPTH + MAM_STACK_DEPTH];
	int count = backtrace(frames, OWN_DEPTH + MAM_STACK_DEPTH), own = 0;

	while (own < count && own < OWN_DEPTH && (uintptr_t)frames[own] >= own_begin &&
	       (uintptr_t)frames[own] < own_end)
		own++;
	count -= own;
	if (count > MAM_STACK_DEPTH)
		count = MAM_STACK_DEPTH;
	return count <= 0 ? NULL : intern(frames + own, (uint32_t)count);
}
