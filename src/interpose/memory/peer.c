/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - remembers cuCtxEnablePeerAccess: the current context may from now on touch the memory of
 * another one.
 *
 * Access that is taken away again is not forgotten: work submitted before may still run, and
 * waiting for one context too many is safe. A list that is full says so for ever, and fences are
 * then made of synchronisations.
 */
#include "interpose/memory/peer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"

#define LINKS_MOST 512

struct link {
	void *owner; /* its memory */
	void *peer;  /* may touch it */
};

static struct link links[LINKS_MOST]; /* lock: links */
static atomic_uint count;             /* atomic; written under lock: links */
static bool overflowed;               /* lock: links */
static pthread_mutex_t links_lock = PTHREAD_MUTEX_INITIALIZER;

unsigned int mam_peer_contexts(void *owner, void **contexts)
{
	unsigned int found = 0;

	contexts[found++] = owner;
	if (atomic_load_explicit(&count, memory_order_acquire) == 0)
		return found;
	pthread_mutex_lock(&links_lock);
	for (unsigned int i = 0; i < count && found != 0; i++) {
		if (links[i].owner != owner)
			continue;
		if (found == MAM_PEER_CONTEXTS_MOST)
			found = 0;
		else
			contexts[found++] = links[i].peer;
	}
	if (overflowed)
		found = 0;
	pthread_mutex_unlock(&links_lock);
	return found;
}

static void add(void *owner, void *peer)
{
	bool known = false;

	pthread_mutex_lock(&links_lock);
	for (unsigned int i = 0; i < count; i++)
		known = known || (links[i].owner == owner && links[i].peer == peer);
	if (!known && count == LINKS_MOST)
		overflowed = true;
	else if (!known)
		links[count++] = (struct link){ owner, peer };
	pthread_mutex_unlock(&links_lock);
}

void mam_peer_context_gone(void *context)
{
	pthread_mutex_lock(&links_lock);
	for (unsigned int i = count; i-- > 0;)
		if (links[i].owner == context || links[i].peer == context)
			links[i] = links[--count];
	pthread_mutex_unlock(&links_lock);
}

void mam_peer_restart(void)
{
	pthread_mutex_init(&links_lock, NULL);
	count = 0;
	overflowed = false;
}

int cuCtxEnablePeerAccess(void *context, unsigned int flags)
{
	__typeof__(&cuCtxEnablePeerAccess) real = MAM_TABLE_ORIGINAL(cuCtxEnablePeerAccess);
	const struct mam_real_driver *driver = mam_real_driver();
	void *current = NULL;
	int answer = real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(context, flags);

	if (answer != MAM_CUDA_SUCCESS || mam_init_passes())
		return answer;
	if (driver != NULL && driver->ctx_current(&current) == MAM_CUDA_SUCCESS && current != NULL)
		add(context, current);
	return answer;
}
