/* SPDX-License-Identifier: Apache-2.0 */
/* tagged.c - see tagged.h. */
#include "interpose/watch/tagged.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/tag_paths.h>

#include "interpose/watch/ledger.h"
#include "interpose/watch/watch.h"

static struct mam_ledger ledger;
static atomic_bool used; /* atomic; a thread pushed a tag */

enum mam_status mam_interpose_tag_push(const char *name)
{
	if (!atomic_load_explicit(&used, memory_order_relaxed) && !atomic_exchange(&used, true))
		mam_watch_start(MAM_WATCH_TAGS);
	return mam_tag_paths_push(name);
}

enum mam_status mam_interpose_tag_pop(void)
{
	return mam_tag_paths_pop();
}

const char *mam_interpose_tag_path(void)
{
	return mam_tag_paths_here();
}

/* If a call that mam does not intercept freed the block before, the ledger has an old entry. */
void mam_tagged_alloc(const struct mam_watch_call *call)
{
	const char *path = call->tags != NULL ? call->tags : mam_tag_paths_here();
	struct mam_ledger_entry entry = { .bytes = call->bytes,
					  .context = call->context,
					  .function = (uint16_t)call->function,
					  .fate = (uint8_t)call->fate };
	struct mam_ledger_entry old;
	bool known;

	if (call->block == NULL)
		return;
	if (path[0] == '\0') {
		mam_tagged_free(call);
		return;
	}
	entry.key = mam_ledger_key(call->function, call->block);
	entry.id = (uint64_t)(uintptr_t)path;
	do
		known = mam_ledger_put(&ledger, &entry, &old);
	while (known && old.key != 0);
}

void mam_tagged_free(const struct mam_watch_call *call)
{
	struct mam_ledger_entry entry;

	if (call->block != NULL)
		mam_ledger_take(&ledger, mam_ledger_key(call->function, call->block), &entry);
}

void mam_tagged_context_gone(void *context)
{
	if (context != NULL && atomic_load_explicit(&used, memory_order_relaxed))
		mam_ledger_take_context(&ledger, context, NULL);
}

const char *mam_tagged_find(const void *block)
{
	struct mam_ledger_entry entry;

	if (!mam_ledger_find(&ledger, mam_ledger_key(MAM_TABLE_cuMemAlloc_v2, block), &entry))
		return NULL;
	return (const char *)(uintptr_t)entry.id;
}

void mam_tagged_visit(bool (*visit)(const struct mam_ledger_entry *entry, void *user), void *user)
{
	mam_ledger_visit(&ledger, visit, user);
}

void mam_tagged_restart(void)
{
	mam_ledger_restart(&ledger);
	if (atomic_load(&used))
		mam_watch_start(MAM_WATCH_TAGS);
}
