/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named.c - pools by name, and iteration over all pools.
 *
 * A list of (name, device, context, pool). If there is no entry, or its pool has ended, the thread
 * creates the pool while it holds the list's lock. Another thread that requests the same name waits,
 * and then finds it. A list is sufficient: names are few, and each is looked up once. Entries are
 * kept, since a name is likely to be requested again. The entry of a context that ended is reused for
 * the next context of its device that requests the name, which abandons the pool.
 */
#include "api/named.h"

#include <stdlib.h>
#include <string.h>

#include <mam/pools.h>

#include "api/attr.h"
#include "api/context.h"
#include "api/registry.h"
#include "api/slots.h"
#include "base/lock.h"
#include "pool/pool.h"

#define NO_DEVICE_AT_ALL (-1)

struct named {
	struct named *next;    /* lock: named */
	char name[32];         /* lock: none, set at creation */
	int device;            /* lock: none, set at creation */
	struct mam_pool *pool; /* lock: named; its handle; NULL, or ended: create it */
	/* lock: named; the context that the pool is bound to. Handle NULL: none, for all contexts */
	struct mam_context context;
};

/* Held while a pool is created, so its rank is below the registry's. */
static struct mam_lock lock = MAM_LOCK_INIT(MAM_RANK_PAPER, "named");
static struct named *names; /* lock: named */

static bool is_ready(const struct mam_pool *handle)
{
	const struct mam_pool *pool = mam_handle_storage(handle);
	bool ready = atomic_load(&pool->state) == MAM_POOL_READY;

	return ready && mam_handle_is(handle, pool);
}

/* Its pool is for this context, or there is no pool yet. */
static bool is_for(const struct named *named, const struct mam_context *context)
{
	const struct mam_context *bound = &named->context;

	return !bound->handle || (bound->handle == context->handle && bound->id == context->id);
}

/* The pool's memory ended with its context. */
static bool end_locked(struct named *named)
{
	if (!mam_context_has_ended(&named->context))
		return false;
	if (is_ready(named->pool))
		mam_registry_abandon(named->pool);
	named->pool = NULL;
	named->context = (struct mam_context){ 0 };
	return true;
}

static struct named *find_locked(const char *name, int device, const struct mam_context *context)
{
	struct named *ended = NULL;

	for (struct named *at = names; at; at = at->next) {
		if (at->device != device || strcmp(at->name, name) != 0)
			continue;
		if (at->pool && is_for(at, context))
			return at;
		if (!at->pool || end_locked(at))
			ended = at;
	}
	return ended;
}

static struct named *add_locked(const char *name, int device)
{
	struct named *made = calloc(1, sizeof(*made));

	if (made) {
		memcpy(made->name, name, strlen(name));
		made->device = device;
		made->next = names;
		names = made;
	}
	return made;
}

static enum mam_status make_locked(const struct mam_pool_attr *attr,
				   const struct mam_context *context, struct named *named)
{
	struct mam_context bound = *context;
	struct mam_pool *pool;
	struct mam_pool_attr whole;
	enum mam_status status = mam_attr_read(attr, &whole);

	if (status != MAM_OK)
		return status;
	whole.name = named->name;
	whole.device = named->device == NO_DEVICE_AT_ALL ? MAM_DEVICE_CURRENT : named->device;
	status = mam_pool_create(&whole, &pool);
	if (status != MAM_OK)
		return status;
	status = mam_registry_bind(pool, &bound);
	if (status != MAM_OK) {
		(void)mam_pool_destroy(pool);
		return status;
	}
	named->pool = pool;
	named->context = bound;
	return MAM_OK;
}

/* The key besides the name. Without a driver the pool of a device is one that needs none. */
static enum mam_status find_key(int *device, struct mam_context *context)
{
	enum mam_status status = mam_context_find(*device, context);

	if (status != MAM_OK)
		*context = (struct mam_context){ .device = *device };
	if (*device != MAM_DEVICE_CURRENT)
		return MAM_OK;
	*device = status == MAM_OK ? context->device : NO_DEVICE_AT_ALL;
	return status == MAM_ERROR_NO_DEVICE ? MAM_OK : status;
}

enum mam_status mam_pool_named(const char *name, int device, const struct mam_pool_attr *attr,
			       struct mam_pool **pool)
{
	const size_t max = sizeof(((struct named *)NULL)->name);
	struct mam_context context;
	enum mam_status status;
	struct named *named;

	if (!name || !pool || device < MAM_DEVICE_CURRENT || name[0] == '\0' ||
	    strnlen(name, max) == max)
		return MAM_ERROR_INVALID_VALUE;
	status = find_key(&device, &context);
	if (status != MAM_OK)
		return status;
	mam_lock_take(&lock);
	named = find_locked(name, device, &context);
	if (!named)
		named = add_locked(name, device);
	if (!named)
		status = MAM_ERROR_OUT_OF_HOST_MEMORY;
	else if (!named->pool || !is_ready(named->pool))
		status = make_locked(attr, &context, named);
	if (status == MAM_OK)
		*pool = named->pool;
	mam_lock_release(&lock);
	return status;
}

enum mam_status mam_pool_name(struct mam_pool *handle, char *buffer, size_t bytes)
{
	struct mam_section section;
	struct mam_pool *pool;
	enum mam_status status;
	size_t length;

	if (!buffer || bytes == 0)
		return MAM_ERROR_INVALID_VALUE;
	status = mam_slots_enter(handle, &pool, &section);
	if (status != MAM_OK)
		return status;
	if (atomic_load(&pool->state) == MAM_POOL_READY) {
		length = strnlen(pool->config.name, bytes - 1);
		memcpy(buffer, pool->config.name, length);
		buffer[length] = '\0';
	} else {
		status = MAM_ERROR_DESTROYED;
	}
	mam_epoch_leave(section);
	return status;
}

enum mam_status mam_pool_each(bool (*visit)(const struct mam_pool_info *info, void *user),
			      void *user)
{
	struct mam_registry_view view;
	size_t number = 0;

	if (!visit)
		return MAM_ERROR_INVALID_VALUE;
	while (mam_registry_next(&number, &view)) {
		const struct mam_pool_info info = { sizeof(info), view.pool, view.name, view.source,
						    view.device };

		if (!visit(&info, user))
			break;
	}
	return MAM_OK;
}

void mam_named_fork_prepare(void)
{
	mam_lock_take_for_fork(&lock);
}

void mam_named_fork_parent(void)
{
	mam_lock_release_for_fork(&lock);
}

void mam_named_fork_child(void)
{
	mam_lock_reinit(&lock);
}
