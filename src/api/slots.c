/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.c - slots.h, steps 1 and 2.
 *
 * The range is reserved without access, so that it counts for nothing in the system's accounts of
 * memory. The pages of a slot are opened when it is taken and only then does `bytes` cover it: an
 * address made up by a caller that happens to name a slot finds a pool, the remains of one, or
 * zeroes.
 */
#include "api/slots.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"

struct mam_slots mam_slots;

/* lock: registry, both */
static size_t reserved_bytes;
static struct mam_slot *put_back; /* linked through `next`; no caller has seen them */

/*
 * Leak checkers follow pointers from the memory they know. The slots are ours alone, and a program
 * with a pool that is alive when it exits has leaked nothing. Absent unless such a checker is in
 * the program.
 */
extern void __lsan_register_root_region(const void *base, size_t bytes) __attribute__((weak));

/* Where address space is short, half as many pools will do, or half of those. */
static bool reserve(void)
{
	for (size_t bytes = (size_t)MAM_SLOTS_MOST * MAM_SLOT_BYTES; bytes >= 64 * MAM_SLOT_BYTES;
	     bytes /= 2) {
		void *base = mmap(NULL, bytes, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (base != MAP_FAILED) {
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

/* Opening a page that is open already changes nothing: what is in it stays. */
static bool open_pages(uintptr_t slot)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = mam_round_down(slot, page);
	uintptr_t end = mam_round_up(slot + MAM_SLOT_BYTES, page);

	return mprotect((void *)first, end - first, PROT_READ | PROT_WRITE) == 0;
}

struct mam_slot *mam_slots_take(void)
{
	size_t bytes = atomic_load_explicit(&mam_slots.bytes, memory_order_relaxed);
	struct mam_slot *slot = put_back;
	uintptr_t address;

	if (slot) {
		put_back = slot->next;
		memset(slot, 0, sizeof(*slot));
		return slot;
	}
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
	slot->next = put_back;
	put_back = slot;
}
