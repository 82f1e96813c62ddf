/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.c - slots.h, steps 1 and 2.
 *
 * A slot is in use, idle, retired or used up. A check of the retired slots costs a system call and
 * a few loads per thread. It happens once per MAM_SLOTS_RETIRED retired slots.
 *
 * The range is reserved without access, so that it does not count as memory of the process. The
 * pages of a slot are made accessible when it is taken, and only then does `bytes` cover it. So an
 * invalid address that happens to be that of a slot leads to a pool, the remains of one, or zeros.
 */
#include "api/slots.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"
#include "source/source.h"
#include "stream/stream.h"

struct mam_slots mam_slots;

/* lock: registry, all. The lists are linked through `later`. */
static size_t reserved_bytes;
static struct mam_slot *idle;                               /* no call uses them */
static struct mam_slot *retired, **last_retired = &retired; /* oldest first */
static size_t retired_count, look_at = MAM_SLOTS_RETIRED;   /* counts */

/*
 * Leak checkers follow pointers from known memory. Only we know the slots, and a program with a
 * pool that is live at exit has not leaked anything. NULL unless such a checker is in the program.
 */
extern void __lsan_register_root_region(const void *base, size_t bytes) __attribute__((weak));

/* If address space is limited, try half as many slots, repeatedly. */
static bool reserve(void)
{
	for (size_t bytes = (size_t)MAM_SLOTS_MAX * MAM_SLOT_BYTES; bytes >= 64 * MAM_SLOT_BYTES;
	     bytes /= 2) {
		void *base = mmap(NULL, bytes, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (base != MAP_FAILED) {
			if (((uintptr_t)base + bytes - 1) >> MAM_HANDLE_SHIFT != 0) {
				munmap(base, bytes);
				return false;
			}
			reserved_bytes = bytes;
			if (__lsan_register_root_region)
				__lsan_register_root_region(base, bytes);
			atomic_store_explicit(&mam_slots.base, (uintptr_t)base,
					      memory_order_relaxed);
			return true;
		}
	}
	return false;
}

/* Opening an accessible page again has no effect: its contents stay. */
static bool open_pages(uintptr_t slot)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = mam_round_down(slot, page);
	uintptr_t end = mam_round_up(slot + MAM_SLOT_BYTES, page);

	return mprotect((void *)first, end - first, PROT_READ | PROT_WRITE) == 0;
}

static void make_idle(struct mam_slot *slot)
{
	mam_streams_detach(&slot->pool, slot->pool.stream);
	/* A call that began before the pool was abandoned may have used the source until now. */
	if (slot->pool.owns_source)
		mam_source_abandon(slot->pool.source);
	slot->later = idle;
	idle = slot;
}

/* Retired slots that no call can use any more become idle. */
static void look_at_retired(void)
{
	uint64_t oldest = mam_epoch_oldest();
	struct mam_slot **at = &retired;

	while (*at) {
		struct mam_slot *slot = *at;

		if (slot->epoch < oldest && atomic_load(&slot->pins) == 0) {
			*at = slot->later;
			retired_count--;
			make_idle(slot);
		} else {
			at = &slot->later;
		}
	}
	last_retired = at;
	look_at = retired_count + MAM_SLOTS_RETIRED;
}

void mam_slots_retire(struct mam_slot *slot)
{
	uint32_t generation = atomic_load(&slot->pool.generation) + 1;

	atomic_store(&slot->pool.generation, generation);
	slot->epoch = mam_epoch_retire();
	slot->later = NULL;
	if (generation == MAM_HANDLE_GENERATIONS)
		return;
	*last_retired = slot;
	last_retired = &slot->later;
	retired_count++;
}

static struct mam_slot *take_idle(void)
{
	struct mam_slot *slot = idle;
	const size_t before = offsetof(struct mam_pool, generation);
	const size_t after = before + sizeof(slot->pool.generation);

	idle = slot->later;
	/* Another thread may be comparing the generation with that of an older handle. */
	memset(slot, 0, before);
	memset((char *)slot + after, 0, sizeof(*slot) - after);
	return slot;
}

struct mam_slot *mam_slots_take(void)
{
	size_t bytes = atomic_load_explicit(&mam_slots.bytes, memory_order_relaxed);
	uintptr_t address;

	if (!idle && (retired_count >= look_at || (bytes != 0 && bytes == reserved_bytes)))
		look_at_retired();
	if (idle)
		return take_idle();
	if (reserved_bytes == 0 && !reserve())
		return NULL;
	address = atomic_load_explicit(&mam_slots.base, memory_order_relaxed) + bytes;
	if (bytes == reserved_bytes || !open_pages(address))
		return NULL;
	atomic_store_explicit(&mam_slots.bytes, bytes + MAM_SLOT_BYTES, memory_order_release);
	return (struct mam_slot *)address;
}

void mam_slots_put_back(struct mam_slot *slot)
{
	slot->later = idle;
	idle = slot;
}
