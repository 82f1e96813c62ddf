/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc.c - blocks of pools shared between processes that both run under mam.
 *
 *   get     Call the driver for a handle of the chunk, and return its error if it fails. The
 *           program receives a handle of mam's for the block (ipc_note.h), the same one for the
 *           lifetime of the block. For memory of the driver it receives the driver's handle.
 *   open    For a handle of mam's: if this context has the block open, count that (ipc_opened.h).
 *           Otherwise read its note, open the chunk, check that the chunk is as large as the note
 *           states, and return the block inside it.
 *   close   Close the chunk of a block as often as the driver opened it.
 *
 * The driver has no handles of mapped memory (--source=vmm): mam's handle names the owner, which sends
 * the block in pieces (ipc_pieces.h).
 *
 * A peer without mam passes mam's handle to the driver, which returns invalid value. With
 * --ipc=dedicated, the next block of that size is one of the driver's (dedicated.h). Security: the
 * peer maps the whole chunk, including the block's neighbors (mam-semantics.7).
 */
#include "interpose/share/ipc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <mam/mam.h>

#include "interpose/memory/chunks.h"
#include "interpose/memory/dedicated.h"
#include "interpose/memory/peer.h"
#include "interpose/memory/pools.h"
#include "interpose/process/say.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"
#include "interpose/share/forget.h"
#include "interpose/share/ipc_note.h"
#include "interpose/share/ipc_opened.h"
#include "interpose/share/ipc_pieces.h"
#include "interpose/share/marks.h"
#include "interpose/watch/watch.h"

/* Passed to the driver instead of an address in a pool that is not in a live block. */
#define UNUSED_ADDRESS 512

#define LAZY_ENABLE_PEER_ACCESS 1u /* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS */

/* The contents of the 64 bytes that a program passes around. */
struct handle {
	char mark[8];
	unsigned char token[MAM_MARKS_TOKEN_BYTES];
	/* of a block in mapped memory; otherwise 0 */
	uint64_t owner, names_space, started;
	unsigned char zero[64 - 8 - MAM_MARKS_TOKEN_BYTES - 3 * 8];
};
_Static_assert(sizeof(struct handle) == sizeof(struct mam_ipc_handle), "the driver's size");

static const char mark[8] = "mamipc1";

static void watch(enum mam_table_id function, enum mam_road road, bool ours, int answer)
{
	mam_watch_call(&(struct mam_watch_call){ .function = function,
						 .road = road,
						 .fate = answer != MAM_CUDA_SUCCESS
								 ? MAM_FATE_FAILED
							 : ours ? MAM_FATE_SERVED
								: MAM_FATE_FORWARDED,
						 .why = ours ? MAM_WHY_NONE : MAM_WHY_FOREIGN,
						 .code = answer,
						 .device = -1 });
}

/* Prints a message once per process, so that a program that retries does not flood the log. */
static void say_once(atomic_bool *said, const char *sentence)
{
	if (!atomic_exchange(said, true))
		mam_say(MAM_SAY_WARN, "%s", sentence);
}

static struct mam_ipc_sender sender_of(const struct mam_ipc_note *note)
{
	struct mam_ipc_sender sender = { .owner = note->owner,
					 .names_space = note->names_space,
					 .started = note->started };

	memcpy(sender.token, note->token, sizeof(sender.token));
	return sender;
}

/*
 * Shares the block under a new token. `chunk`: the driver's handle of its chunk, for a note; NULL: it
 * is in mapped memory. Returns CUDA's code.
 */
static int share(const struct mam_ipc_handle *chunk, const struct mam_segment_info *block,
		 unsigned char *token)
{
	static atomic_bool swept, said, said_pieces;
	int answer = MAM_CUDA_SUCCESS;
	struct mam_ipc_sender sender;
	struct mam_ipc_note note;

	if (chunk != NULL && !atomic_exchange(&swept, true))
		mam_ipc_note_sweep();
	if (!mam_ipc_note_begin(&note))
		return MAM_CUDA_OUT_OF_MEMORY;
	if (chunk != NULL) {
		note.chunk = *chunk;
		note.offset = (uintptr_t)block->base - (uintptr_t)block->chunk_base;
		note.bytes = block->requested;
		note.chunk_bytes = block->chunk_bytes;
	} else {
		sender = sender_of(&note);
		answer = mam_ipc_pieces_offer(block, &sender);
	}
	if (answer != MAM_CUDA_SUCCESS) {
		say_once(&said_pieces,
			 "cannot share a block in mapped memory: this device, or this "
			 "process, cannot export it; use --source=cudamalloc");
		return answer;
	}
	if (chunk != NULL && !mam_ipc_note_write(&note)) {
		say_once(&said, "cannot share a block: no file can be created in /dev/shm or /tmp; "
				"free space there, or try --ipc=dedicated");
		return MAM_CUDA_OUT_OF_MEMORY;
	}
	memcpy(token, note.token, sizeof(note.token));
	if (!mam_marks_set_token(block->base, token)) {
		mam_ipc_note_remove(note.token);
		return MAM_CUDA_OUT_OF_MEMORY;
	}
	if (memcmp(token, note.token, sizeof(note.token)) != 0)
		mam_ipc_note_remove(note.token); /* another thread was first */
	return MAM_CUDA_SUCCESS;
}

static int get_ours(__typeof__(&cuIpcGetMemHandle) real, const struct mam_segment_info *block,
		    struct mam_ipc_handle *handle)
{
	struct handle ours = { .mark = "mamipc1" };
	struct mam_ipc_note own;
	struct mam_ipc_handle chunk;
	struct mam_chunks_piece piece;
	bool mapped =
		mam_chunks_piece((uintptr_t)block->chunk_base, (uintptr_t)block->base, &piece);
	int answer = mapped ? MAM_CUDA_SUCCESS : real(&chunk, (uintptr_t)block->chunk_base);

	if (answer == MAM_CUDA_SUCCESS && !mam_marks_token(block->base, ours.token))
		answer = share(mapped ? NULL : &chunk, block, ours.token);
	if (mapped) {
		mam_ipc_note_own(&own);
		ours.owner = (uint64_t)own.owner;
		ours.names_space = own.names_space;
		ours.started = own.started;
	}
	if (answer == MAM_CUDA_SUCCESS) {
		memcpy(handle, &ours, sizeof(ours));
		mam_dedicated_note(block->requested);
	}
	return answer;
}

static int get(enum mam_road road, struct mam_ipc_handle *handle, unsigned long long address)
{
	MAM_GATE_PASS();
	__typeof__(&cuIpcGetMemHandle) real = MAM_TABLE_ORIGINAL(cuIpcGetMemHandle);
	struct mam_segment_info block = { .size = sizeof(block) };
	bool pooled;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || handle == NULL)
		return real(handle, address);
	mam_init_depth++;
	pooled = mam_pools_exist() && mam_owner((void *)(uintptr_t)address, NULL, &block) == MAM_OK;
	if (pooled && block.live)
		answer = get_ours(real, &block, handle);
	else
		answer = real(handle, pooled ? UNUSED_ADDRESS : address);
	watch(MAM_TABLE_cuIpcGetMemHandle, road, pooled, answer);
	mam_init_depth--;
	return answer;
}

typedef int open_function(unsigned long long *address, struct mam_ipc_handle handle,
			  unsigned int flags);

/*
 * Whether the chunk contains the noted block. If the driver does not report the chunk's range, the
 * note is trusted, which only this user could write.
 */
static bool holds(unsigned long long chunk, const struct mam_ipc_note *note)
{
	__typeof__(&cuMemGetAddressRange_v2) range = MAM_TABLE_ORIGINAL(cuMemGetAddressRange_v2);
	unsigned long long base;
	size_t bytes;

	if (range == NULL || range(&base, &bytes, chunk) != MAM_CUDA_SUCCESS)
		return true;
	return base == chunk && note->offset <= bytes && note->bytes <= bytes - note->offset;
}

/* The driver may make the current context a peer of the memory's device. */
static int ask_driver(open_function *real, const struct mam_ipc_handle *handle, unsigned int flags,
		      unsigned long long *address)
{
	int answer;

	if (!mam_peer_open_begin(flags))
		return MAM_CUDA_OUT_OF_MEMORY;
	answer = real(address, *handle, flags);
	mam_peer_open_end(flags, answer == MAM_CUDA_SUCCESS ? *address : 0);
	return answer;
}

static int map_pieces(const struct mam_ipc_sender *sender, unsigned int flags,
		      struct mam_ipc_opened *opened)
{
	int answer;

	if (!mam_peer_open_begin(flags))
		return MAM_CUDA_OUT_OF_MEMORY;
	answer = mam_ipc_pieces_open(sender, opened);
	mam_peer_open_end(flags, answer == MAM_CUDA_SUCCESS ? opened->chunk : 0);
	return answer;
}

/*
 * Opens a block in mapped memory, as the driver opens an allocation: again at the same address, not in
 * the process that shares it, and only with this flag.
 */
static int open_pieces(const struct handle *handle, unsigned int flags, unsigned long long *address)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of two opens of one block */
	static atomic_bool said;
	struct mam_ipc_opened opened = { 0 };
	const void *block;
	const struct mam_ipc_note note = { .owner = (int32_t)handle->owner,
					   .names_space = handle->names_space,
					   .started = handle->started };
	struct mam_ipc_sender sender = sender_of(&note);
	int answer = MAM_CUDA_SUCCESS;

	if (flags != LAZY_ENABLE_PEER_ACCESS)
		return MAM_CUDA_INVALID_VALUE;
	memcpy(sender.token, handle->token, sizeof(sender.token));
	memcpy(opened.token, handle->token, sizeof(opened.token));
	if (mam_ipc_note_is_own(&note))
		return mam_marks_block_of(handle->token, &block) ? MAM_CUDA_INVALID_CONTEXT
								 : MAM_CUDA_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	if (!mam_ipc_opened_again(&opened)) {
		answer = map_pieces(&sender, flags, &opened);
		if (answer == MAM_CUDA_SUCCESS && !mam_ipc_opened_add(&opened)) {
			mam_ipc_pieces_close(&opened);
			answer = MAM_CUDA_OUT_OF_MEMORY;
		}
	}
	pthread_mutex_unlock(&lock);
	if (answer == MAM_CUDA_SUCCESS)
		*address = opened.address;
	else
		say_once(&said,
			 "cannot open a block in mapped memory: it was freed, its process has "
			 "ended or does not send it, or no device here can map it; both must be "
			 "in one network namespace, or use --source=cudamalloc there");
	return answer;
}

static const struct handle no_handle;

static bool is_mapped(const struct handle *handle)
{
	return handle->owner != 0 &&
	       memcmp(handle->zero, no_handle.zero, sizeof(handle->zero)) == 0;
}

static bool is_in_chunk(const struct handle *handle)
{
	size_t at = offsetof(struct handle, owner);

	return memcmp((const char *)handle + at, (const char *)&no_handle + at,
		      sizeof(*handle) - at) == 0;
}

/* Sets the current context. If it is unknown, no block is found to be open in it. */
static void set_context(struct mam_ipc_opened *opened)
{
	const struct mam_real_driver *driver = mam_real_driver();

	if (driver == NULL || driver->ctx_id == NULL ||
	    driver->ctx_current(&opened->context) != MAM_CUDA_SUCCESS ||
	    driver->ctx_id(opened->context, &opened->context_id) != MAM_CUDA_SUCCESS)
		opened->context = NULL;
}

static int open_ours(open_function *real, const struct handle *handle, unsigned int flags,
		     unsigned long long *address)
{
	__typeof__(&cuIpcCloseMemHandle) close = MAM_TABLE_ORIGINAL(cuIpcCloseMemHandle);
	static atomic_bool said;
	struct mam_ipc_opened opened = { 0 };
	struct mam_ipc_note note;
	int answer;

	if (close != NULL && is_mapped(handle))
		return open_pieces(handle, flags, address);
	memcpy(opened.token, handle->token, sizeof(opened.token));
	set_context(&opened);
	if (flags == LAZY_ENABLE_PEER_ACCESS && is_in_chunk(handle) &&
	    mam_ipc_opened_again(&opened)) {
		*address = opened.address;
		return MAM_CUDA_SUCCESS;
	}
	if (close == NULL || !is_in_chunk(handle) || !mam_ipc_note_read(handle->token, &note)) {
		say_once(&said, "invalid IPC handle: its block was freed, its process has ended, "
				"or that process belongs to another user or has another /dev/shm, "
				"for which --source=vmm there may help");
		return MAM_CUDA_INVALID_VALUE;
	}
	answer = ask_driver(real, &note.chunk, flags, &opened.chunk);
	if (answer != MAM_CUDA_SUCCESS)
		return answer;
	opened.address = opened.chunk + note.offset;
	opened.bytes = (size_t)note.bytes;
	answer = !holds(opened.chunk, &note)    ? MAM_CUDA_INVALID_VALUE
		 : !mam_ipc_opened_add(&opened) ? MAM_CUDA_OUT_OF_MEMORY
						: MAM_CUDA_SUCCESS;
	if (answer == MAM_CUDA_SUCCESS)
		*address = opened.address;
	else
		close(opened.chunk);
	return answer;
}

static int open_handle(enum mam_table_id function, open_function *real, enum mam_road road,
		       unsigned long long *address, struct mam_ipc_handle handle,
		       unsigned int flags)
{
	MAM_GATE_PASS();
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
	answer = is_ours ? open_ours(real, &ours, flags, address)
			 : ask_driver(real, &handle, flags, address);
	watch(function, road, is_ours, answer);
	mam_init_depth--;
	return answer;
}

/*
 * The entry in the list was removed first: once the driver has closed the chunk, another chunk may
 * be opened at its address. With the last close the block's ID is removed too.
 */
static int close_ours(__typeof__(&cuIpcCloseMemHandle) real, const struct mam_ipc_opened *opened,
		      bool by_driver)
{
	int answer = MAM_CUDA_SUCCESS;

	if (opened->count == 0)
		mam_forget_block((void *)(uintptr_t)opened->address);
	if (by_driver)
		answer = real(opened->chunk);
	else if (opened->mapped_bytes != 0 && opened->count == 0)
		answer = mam_ipc_pieces_close(opened);
	if (answer != MAM_CUDA_SUCCESS)
		mam_ipc_opened_add(opened);
	return answer;
}

static int close_handle(enum mam_road road, unsigned long long address)
{
	MAM_GATE_PASS();
	__typeof__(&cuIpcCloseMemHandle) real = MAM_TABLE_ORIGINAL(cuIpcCloseMemHandle);
	struct mam_ipc_opened opened;
	bool is_ours, by_driver;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes())
		return real(address);
	mam_init_depth++;
	is_ours = mam_ipc_opened_take(address, &opened, &by_driver);
	answer = is_ours ? close_ours(real, &opened, by_driver) : real(address);
	watch(MAM_TABLE_cuIpcCloseMemHandle, road, is_ours, answer);
	mam_init_depth--;
	return answer;
}

int cuIpcGetMemHandle(struct mam_ipc_handle *handle, unsigned long long address)
{
	return get(mam_road_taken(), handle, address);
}
MAM_THUNK(cuIpcGetMemHandle);

int cuIpcOpenMemHandle(unsigned long long *address, struct mam_ipc_handle handle,
		       unsigned int flags)
{
	return open_handle(MAM_TABLE_cuIpcOpenMemHandle, MAM_TABLE_ORIGINAL(cuIpcOpenMemHandle),
			   mam_road_taken(), address, handle, flags);
}
MAM_THUNK(cuIpcOpenMemHandle);

int cuIpcOpenMemHandle_v2(unsigned long long *address, struct mam_ipc_handle handle,
			  unsigned int flags)
{
	return open_handle(MAM_TABLE_cuIpcOpenMemHandle_v2,
			   MAM_TABLE_ORIGINAL(cuIpcOpenMemHandle_v2), mam_road_taken(), address,
			   handle, flags);
}
MAM_THUNK(cuIpcOpenMemHandle_v2);

int cuIpcCloseMemHandle(unsigned long long address)
{
	return close_handle(mam_road_taken(), address);
}
MAM_THUNK(cuIpcCloseMemHandle);

void mam_ipc_finish(void)
{
	mam_ipc_pieces_stop();
	mam_marks_each_token(mam_ipc_note_remove);
}
