/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - links between contexts: one of them may access the memory of the other (peer.h).
 *
 * A link comes from cuCtxEnablePeerAccess, also if the driver reports that access was already
 * enabled by code that mam did not see. It also comes from cuIpcOpenMemHandle, which enables access
 * to the device of the memory.
 *
 * Green contexts share the memory and the peers of their device's primary context, and a handle
 * does not show that its context is green. So links are also added for the primary contexts of both
 * devices. An extra link is safe: a fence then covers work that it need not cover.
 *
 * A link remains after access is disabled, because work submitted before may still run. A link ends
 * with either context.
 *
 * Space for a link is reserved before the driver is called. If there is no host memory, the call
 * fails, so that no link is ever missing. Bound: the list grows as needed, and is searched
 * linearly; a program has a few links.
 */
#include "interpose/memory/peer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "interpose/memory/mapped.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"

#define LINKS_AT_ONCE 4 /* per call: both contexts, and the primary contexts of both devices */
#define FIRST_ROOM 64
#define ALREADY_ENABLED 704        /* CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED */
#define LAZY_ENABLE_PEER_ACCESS 1u /* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS */
#define POINTER_DEVICE_ORDINAL 9   /* CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL */

struct link {
	void *owner; /* owns the memory */
	void *peer;  /* may access it */
	uint64_t number;
};

static struct link *links;     /* lock: links; those of one owner in the order of their numbers */
static unsigned int room;      /* lock: links; entries */
static unsigned int reserved;  /* lock: links; entries that calls in progress may need */
static uint64_t last_number;   /* lock: links */
static atomic_uint count;      /* atomic; written under lock: links */
static _Atomic uint64_t ended; /* atomic; written under lock: links */
static pthread_mutex_t links_lock = PTHREAD_MUTEX_INITIALIZER;

unsigned int mam_peer_list(void *owner, struct mam_peer *list, unsigned int list_room)
{
	unsigned int found = 0;

	if (found < list_room)
		list[found] = (struct mam_peer){ owner, 0 };
	found++;
	if (!mam_peer_exists())
		return found;
	pthread_mutex_lock(&links_lock);
	for (unsigned int i = 0; i < count; i++) {
		if (links[i].owner != owner)
			continue;
		if (found < list_room)
			list[found] = (struct mam_peer){ links[i].peer, links[i].number };
		found++;
	}
	pthread_mutex_unlock(&links_lock);
	return found;
}

bool mam_peer_exists(void)
{
	return atomic_load_explicit(&count, memory_order_acquire) != 0;
}

uint64_t mam_peer_ended(void)
{
	return atomic_load_explicit(&ended, memory_order_acquire);
}

bool mam_peer_is_linked(uint64_t number)
{
	bool is_linked = false;

	pthread_mutex_lock(&links_lock);
	for (unsigned int i = 0; i < count && !is_linked; i++)
		is_linked = links[i].number == number;
	pthread_mutex_unlock(&links_lock);
	return is_linked;
}

/* Reserves space for the links of one call. Returns false if there is no host memory. */
static bool reserve(void)
{
	struct link *larger = NULL;
	unsigned int wanted;
	bool is_room;

	pthread_mutex_lock(&links_lock);
	is_room = count + reserved + LINKS_AT_ONCE <= room;
	if (!is_room) {
		wanted = room == 0 ? FIRST_ROOM : 2 * room;
		larger = realloc(links, wanted * sizeof(*links));
	}
	if (larger != NULL) {
		links = larger;
		room = wanted;
		is_room = true;
	}
	reserved += is_room ? LINKS_AT_ONCE : 0;
	pthread_mutex_unlock(&links_lock);
	return is_room;
}

static void unreserve(void)
{
	pthread_mutex_lock(&links_lock);
	reserved -= LINKS_AT_ONCE;
	pthread_mutex_unlock(&links_lock);
}

static void add(void *owner, void *peer)
{
	bool known = owner == NULL || peer == NULL || owner == peer;

	pthread_mutex_lock(&links_lock);
	for (unsigned int i = 0; i < count && !known; i++)
		known = links[i].owner == owner && links[i].peer == peer;
	if (!known) {
		links[count] = (struct link){ owner, peer, ++last_number };
		atomic_fetch_add_explicit(&count, 1, memory_order_release);
	}
	pthread_mutex_unlock(&links_lock);
}

void mam_peer_context_gone(void *context)
{
	unsigned int kept = 0;

	pthread_mutex_lock(&links_lock);
	for (unsigned int i = 0; i < count; i++)
		if (links[i].owner != context && links[i].peer != context)
			links[kept++] = links[i];
	atomic_fetch_add_explicit(&ended, count - kept, memory_order_release);
	atomic_store_explicit(&count, kept, memory_order_release);
	pthread_mutex_unlock(&links_lock);
}

void mam_peer_restart(void)
{
	pthread_mutex_init(&links_lock, NULL);
	atomic_store(&count, 0);
	reserved = 0;
}

/* Returns the primary context of a device, or NULL if it is inactive. */
static void *primary_of(const struct mam_real_driver *driver, int device)
{
	void *context = NULL;
	unsigned int flags;
	int active = 0;

	if (driver->primary_state(device, &flags, &active) != MAM_CUDA_SUCCESS || !active ||
	    driver->primary_retain(&context, device) != MAM_CUDA_SUCCESS)
		return NULL;
	driver->primary_release(device);
	return context;
}

/* Returns the primary context of the device of `context`. */
static void *primary_beside(const struct mam_real_driver *driver, void *context)
{
	void *popped;
	int device = -1;

	if (driver->ctx_push(context) != MAM_CUDA_SUCCESS)
		return NULL;
	if (driver->ctx_device(&device) != MAM_CUDA_SUCCESS)
		device = -1;
	driver->ctx_pop(&popped);
	return device < 0 ? NULL : primary_of(driver, device);
}

/*
 * Records that the current context has access to the memory of `owner`, or of the primary context
 * `owner_primary` of the same device.
 */
static void link_current(const struct mam_real_driver *driver, void *owner, void *owner_primary)
{
	void *current = NULL, *primary;
	int device;

	if (driver->ctx_current(&current) != MAM_CUDA_SUCCESS || current == NULL)
		return;
	primary =
		driver->ctx_device(&device) == MAM_CUDA_SUCCESS ? primary_of(driver, device) : NULL;
	add(owner, current);
	add(owner, primary);
	add(owner_primary, current);
	add(owner_primary, primary);
}

int cuCtxEnablePeerAccess(void *context, unsigned int flags)
{
	MAM_GATE_PASS();
	__typeof__(&cuCtxEnablePeerAccess) real = MAM_TABLE_ORIGINAL(cuCtxEnablePeerAccess);
	const struct mam_real_driver *driver = mam_real_driver();
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || driver == NULL)
		return real(context, flags);
	if (!reserve())
		return MAM_CUDA_OUT_OF_MEMORY;
	answer = real(context, flags);
	if (answer == MAM_CUDA_SUCCESS || answer == ALREADY_ENABLED) {
		link_current(driver, context, primary_beside(driver, context));
		mam_mapped_note_peer();
	}
	unreserve();
	return answer;
}

bool mam_peer_open_begin(unsigned int flags)
{
	return !(flags & LAZY_ENABLE_PEER_ACCESS) || reserve();
}

/*
 * The handle does not contain the device, so it is queried by the address. Memory of this process
 * on that device belongs to its primary context, which the driver has initialized by now.
 */
void mam_peer_open_end(unsigned int flags, unsigned long long address)
{
	const struct mam_real_driver *driver = mam_real_driver();
	int device, here;

	if (!(flags & LAZY_ENABLE_PEER_ACCESS))
		return;
	if (address != 0 && driver != NULL && driver->pointer_attribute != NULL &&
	    driver->pointer_attribute(&device, POINTER_DEVICE_ORDINAL, address) ==
		    MAM_CUDA_SUCCESS &&
	    driver->ctx_device(&here) == MAM_CUDA_SUCCESS && here != device)
		link_current(driver, NULL, primary_of(driver, device));
	unreserve();
}
