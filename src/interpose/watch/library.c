/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - see library.h. */
#include "interpose/watch/library.h"

#include <stdatomic.h>
#include <stddef.h>

#include <mam/recorder.h>

#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/watch/ledger.h"
#include "interpose/watch/watch.h"

#define COPIES 8 /* of libmam in one process; more are not recorded */

typedef void listen_function(bool on);

static atomic_uint joined;                      /* atomic; count, may exceed COPIES */
static listen_function *_Atomic copies[COPIES]; /* atomic; NULL: not yet */
static atomic_bool is_on;                       /* atomic */
static struct mam_ledger chunks;
__thread bool mam_library_hides;

void mam_interpose_join(void (*listen)(bool on))
{
	unsigned int place = atomic_fetch_add(&joined, 1);

	if (place >= COPIES)
		return;
	(void)mam_init_is_off(); /* a trace may be wanted from the start */
	atomic_store(&copies[place], listen);
	/* Either this thread sees that a trace began, or the beginning sees the copy. */
	if (atomic_load(&is_on))
		listen(true);
	if (!atomic_load(&is_on))
		listen(false);
}

void mam_library_listen(bool on)
{
	atomic_store(&is_on, on);
	for (unsigned int i = 0; i < COPIES; i++) {
		listen_function *listen = atomic_load(&copies[i]);

		if (listen != NULL)
			listen(on);
	}
}

/* Without memory for the entry, a later trace may contain the chunk. */
unsigned int mam_interpose_chunk_alloc(unsigned long long *address, size_t bytes)
{
	struct mam_ledger_entry entry = { .bytes = bytes };
	int code;

	mam_library_hides = true;
	code = cuMemAlloc_v2(address, bytes);
	mam_library_hides = false;
	if (code == MAM_CUDA_SUCCESS) {
		entry.key = *address;
		mam_ledger_add(&chunks, &entry);
	}
	return (unsigned int)code;
}

unsigned int mam_interpose_chunk_create(unsigned long long *handle, size_t bytes,
					const void *properties, unsigned long long flags)
{
	int code;

	mam_library_hides = true;
	code = cuMemCreate(handle, bytes, properties, flags);
	mam_library_hides = false;
	return (unsigned int)code;
}

unsigned int mam_interpose_chunk_free(unsigned long long address)
{
	struct mam_ledger_entry entry;
	bool is_known = mam_ledger_take(&chunks, address, &entry);
	int code = cuMemFree_v2(address);

	if (code != MAM_CUDA_SUCCESS && is_known)
		mam_ledger_add(&chunks, &entry);
	return (unsigned int)code;
}

bool mam_library_is_chunk(const void *block)
{
	struct mam_ledger_entry entry;

	return mam_ledger_find(&chunks, (uint64_t)(uintptr_t)block, &entry);
}

void mam_library_restart(void)
{
	mam_library_hides = false;
	mam_ledger_restart(&chunks);
}

void mam_interpose_record(const struct mam_record *record)
{
	struct mam_watch_call call = { .function = MAM_TABLE_cuMemAllocAsync,
				       .fate = MAM_FATE_SERVED,
				       .block = (void *)(uintptr_t)record->block,
				       .bytes = record->bytes,
				       .context = (void *)(uintptr_t)record->pool,
				       .device = record->device,
				       .stream = (void *)(uintptr_t)record->stream,
				       .is_library = true,
				       .tags = record->tags };

	mam_init_depth++;
	switch (record->kind) {
	case MAM_RECORD_ALLOC: mam_watch_alloc(&call); break;
	case MAM_RECORD_FREE: mam_watch_free(&call); break;
	case MAM_RECORD_POOL_GONE: mam_watch_context_gone(call.context); break;
	}
	mam_init_depth--;
}
