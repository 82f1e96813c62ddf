/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc.c - blocks of pools shared between processes that both run under mam.
 *
 *   get     A handle of mam's for the block (ipc_note.h); the same one as long as the block lives.
 *           Memory of the driver's own gets the driver's handle.
 *   open    A handle of mam's: read its note, open the chunk, answer the block inside it. The
 *           driver counts how often a process opened a chunk.
 *   close   Which chunk an opened block lies in is remembered here.
 *
 * A peer without mam hands mam's handle to the driver, which answers invalid value. What it means
 * for secrets: the peer maps the whole chunk, with the block's neighbours (mam-run.1, IPC).
 */
#include "interpose/ipc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mam/mam.h>
#include <mam/options.h>

#include "interpose/hooks.h"
#include "interpose/init.h"
#include "interpose/ipc_note.h"
#include "interpose/marks.h"
#include "interpose/pools.h"
#include "interpose/say.h"
#include "interpose/table.h"
#include "interpose/watch.h"

#define DEDICATED_DEFAULT ((size_t)1 << 20)

/* As it lies in the 64 bytes that a program hands about. */
struct handle {
	char mark[8];
	unsigned char token[MAM_MARKS_TOKEN_BYTES];
	unsigned char zero[64 - 8 - MAM_MARKS_TOKEN_BYTES];
};
_Static_assert(sizeof(struct handle) == sizeof(struct mam_ipc_handle), "the driver's size");

static const char mark[8] = "mamipc1";

/* An address that this process opened, and the chunk it lies in. */
struct opened {
	unsigned long long address, chunk;
	unsigned int count;
};

static struct opened *list;          /* lock: list */
static size_t listed, room;          /* lock: list; counts */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic size_t dedicated_from; /* atomic; 0: the option was not read */

/* "share", "dedicated" or "dedicated:SIZE", SIZE with K, M or G behind it. */
static size_t read_option(void)
{
	static const char word[] = "dedicated";
	const char *text = mam_option_value("MAM_IPC");
	unsigned long long bytes;
	char *end;

	if (text == NULL || strncmp(text, word, sizeof(word) - 1) != 0)
		return SIZE_MAX;
	text += sizeof(word) - 1;
	if (*text == '\0')
		return DEDICATED_DEFAULT;
	bytes = *text == ':' ? strtoull(text + 1, &end, 10) : 0;
	if (bytes == 0)
		return DEDICATED_DEFAULT;
	switch (*end) {
	case 'K': return (size_t)bytes << 10;
	case 'M': return (size_t)bytes << 20;
	case 'G': return (size_t)bytes << 30;
	default: return (size_t)bytes;
	}
}

size_t mam_ipc_dedicated_from(void)
{
	size_t from = atomic_load_explicit(&dedicated_from, memory_order_relaxed);

	if (from == 0) {
		from = read_option();
		atomic_store_explicit(&dedicated_from, from, memory_order_relaxed);
	}
	return from;
}

static void watch(enum mam_table_id function, enum mam_road road, bool ours, int answer)
{
	mam_watch_call(&(struct mam_watch_call){
		.function = function,
		.road = road,
		.fate = answer != MAM_CUDA_SUCCESS ? MAM_FATE_FAILED
			: ours			   ? MAM_FATE_SERVED
						   : MAM_FATE_FORWARDED,
		.why = ours ? MAM_WHY_NONE : MAM_WHY_FOREIGN,
		.code = answer });
}

/* A note for the block, under a new token. Returns the driver's code. */
static int share(__typeof__(&cuIpcGetMemHandle) real, const struct mam_segment_info *block,
		 unsigned char *token)
{
	static atomic_bool swept;
	struct mam_ipc_note note;
	int answer;

	if (!atomic_exchange(&swept, true))
		mam_ipc_note_sweep();
	if (!mam_ipc_note_begin(&note))
		return MAM_CUDA_INVALID_VALUE;
	answer = real(&note.chunk, (uintptr_t)block->chunk_base);
	if (answer != MAM_CUDA_SUCCESS)
		return answer;
	note.offset = (uintptr_t)block->base - (uintptr_t)block->chunk_base;
	note.bytes = block->bytes;
	note.chunk_bytes = block->chunk_bytes;
	if (!mam_ipc_note_write(&note)) {
		mam_say(MAM_SAY_WARN,
			"a block could not be shared: /dev/shm takes no file; try --ipc=dedicated");
		return MAM_CUDA_INVALID_VALUE;
	}
	memcpy(token, note.token, sizeof(note.token));
	if (!mam_marks_set_token(block->base, token) ||
	    memcmp(token, note.token, sizeof(note.token)) != 0)
		mam_ipc_note_remove(note.token); /* another thread was first */
	return MAM_CUDA_SUCCESS;
}

static int get(enum mam_road road, struct mam_ipc_handle *handle, unsigned long long address)
{
	__typeof__(&cuIpcGetMemHandle) real = MAM_TABLE_ORIGINAL(cuIpcGetMemHandle);
	struct handle ours = { .mark = "mamipc1" };
	struct mam_segment_info block;
	int answer = MAM_CUDA_SUCCESS;
	bool pooled;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || handle == NULL)
		return real(handle, address);
	mam_init_depth++;
	pooled = mam_pools_exist() &&
		 mam_owner((void *)(uintptr_t)address, NULL, &block) == MAM_OK;
	if (!pooled)
		answer = real(handle, address);
	else if (!block.live)
		answer = MAM_CUDA_INVALID_VALUE;
	else if (!mam_marks_token(block.base, ours.token))
		answer = share(real, &block, ours.token);
	if (pooled && answer == MAM_CUDA_SUCCESS)
		memcpy(handle, &ours, sizeof(ours));
	watch(MAM_TABLE_cuIpcGetMemHandle, road, pooled, answer);
	mam_init_depth--;
	return answer;
}

static bool remember(unsigned long long address, unsigned long long chunk)
{
	struct opened *longer;
	bool good = true;

	pthread_mutex_lock(&list_lock);
	for (size_t i = 0; i < listed; i++) {
		if (list[i].address == address && list[i].chunk == chunk) {
			list[i].count++;
			pthread_mutex_unlock(&list_lock);
			return true;
		}
	}
	if (listed == room) {
		longer = realloc(list, (room + 64) * sizeof(*list));
		good = longer != NULL;
		if (good) {
			list = longer;
			room += 64;
		}
	}
	if (good)
		list[listed++] = (struct opened){ address, chunk, 1 };
	pthread_mutex_unlock(&list_lock);
	return good;
}

/* The chunk to close for an address; 0: it was not opened by a handle of mam's. */
static unsigned long long forget(unsigned long long address)
{
	unsigned long long chunk = 0;

	pthread_mutex_lock(&list_lock);
	for (size_t i = 0; i < listed; i++) {
		if (list[i].address != address)
			continue;
		chunk = list[i].chunk;
		if (--list[i].count == 0)
			list[i] = list[--listed];
		break;
	}
	pthread_mutex_unlock(&list_lock);
	return chunk;
}

typedef int open_function(unsigned long long *address, struct mam_ipc_handle handle,
			  unsigned int flags);

static int open_ours(open_function *real, const struct handle *handle, unsigned int flags,
		     unsigned long long *address)
{
	struct mam_ipc_note note;
	unsigned long long chunk;
	int answer;

	if (!mam_ipc_note_read(handle->token, &note)) {
		mam_say(MAM_SAY_WARN,
			"an IPC handle names a block that was freed, or belongs to a process of "
			"another user or in a container with another /dev/shm");
		return MAM_CUDA_INVALID_VALUE;
	}
	answer = real(&chunk, note.chunk, flags);
	if (answer != MAM_CUDA_SUCCESS)
		return answer;
	if (!remember(chunk + note.offset, chunk)) {
		MAM_TABLE_ORIGINAL(cuIpcCloseMemHandle)(chunk);
		return MAM_CUDA_OUT_OF_MEMORY;
	}
	*address = chunk + note.offset;
	return MAM_CUDA_SUCCESS;
}

static int open_handle(enum mam_table_id function, open_function *real, enum mam_road road,
		       unsigned long long *address, struct mam_ipc_handle handle,
		       unsigned int flags)
{
	struct handle ours;
	bool is_ours;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	memcpy(&ours, &handle, sizeof(ours));
	is_ours = memcmp(ours.mark, mark, sizeof(mark)) == 0;
	if (mam_init_passes() || address == NULL)
		return real(address, handle, flags);
	mam_init_depth++;
	answer = is_ours ? open_ours(real, &ours, flags, address) : real(address, handle, flags);
	watch(function, road, is_ours, answer);
	mam_init_depth--;
	return answer;
}

static int close_handle(enum mam_road road, unsigned long long address)
{
	__typeof__(&cuIpcCloseMemHandle) real = MAM_TABLE_ORIGINAL(cuIpcCloseMemHandle);
	unsigned long long chunk;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes())
		return real(address);
	mam_init_depth++;
	chunk = forget(address);
	answer = real(chunk == 0 ? address : chunk);
	watch(MAM_TABLE_cuIpcCloseMemHandle, road, chunk != 0, answer);
	mam_init_depth--;
	return answer;
}

int cuIpcGetMemHandle(struct mam_ipc_handle *handle, unsigned long long address)
{
	return get(MAM_ROAD_SYMBOL, handle, address);
}

int mam_by_lookup_cuIpcGetMemHandle(struct mam_ipc_handle *handle, unsigned long long address)
{
	return get(MAM_ROAD_LOOKUP, handle, address);
}

int cuIpcOpenMemHandle(unsigned long long *address, struct mam_ipc_handle handle,
			  unsigned int flags)
{
	return open_handle(MAM_TABLE_cuIpcOpenMemHandle, MAM_TABLE_ORIGINAL(cuIpcOpenMemHandle),
			   MAM_ROAD_SYMBOL, address, handle, flags);
}

int mam_by_lookup_cuIpcOpenMemHandle(unsigned long long *address, struct mam_ipc_handle handle,
					unsigned int flags)
{
	return open_handle(MAM_TABLE_cuIpcOpenMemHandle, MAM_TABLE_ORIGINAL(cuIpcOpenMemHandle),
			   MAM_ROAD_LOOKUP, address, handle, flags);
}

int cuIpcOpenMemHandle_v2(unsigned long long *address, struct mam_ipc_handle handle,
			  unsigned int flags)
{
	return open_handle(MAM_TABLE_cuIpcOpenMemHandle_v2, MAM_TABLE_ORIGINAL(cuIpcOpenMemHandle_v2),
			   MAM_ROAD_SYMBOL, address, handle, flags);
}

int mam_by_lookup_cuIpcOpenMemHandle_v2(unsigned long long *address, struct mam_ipc_handle handle,
					unsigned int flags)
{
	return open_handle(MAM_TABLE_cuIpcOpenMemHandle_v2, MAM_TABLE_ORIGINAL(cuIpcOpenMemHandle_v2),
			   MAM_ROAD_LOOKUP, address, handle, flags);
}

int cuIpcCloseMemHandle(unsigned long long address)
{
	return close_handle(MAM_ROAD_SYMBOL, address);
}

int mam_by_lookup_cuIpcCloseMemHandle(unsigned long long address)
{
	return close_handle(MAM_ROAD_LOOKUP, address);
}

void mam_ipc_withdraw(const unsigned char *token)
{
	mam_ipc_note_remove(token);
}

void mam_ipc_finish(void)
{
	mam_marks_each_token(mam_ipc_note_remove);
}
