/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as operations on blocks that processes share: a handle opens its block while the block
 * is live, and never anything else, whatever is forged; no note, mark or open chunk remains.
 *
 * The interposer's part is real: ipc.c, its notes in a folder of this process's own, the list of
 * open blocks, the marks of blocks. Pools and the driver are simulated: a few chunks with a few
 * blocks, which their own process opens at another address, any number of times. A model tracks
 * which block is live, which handle belongs to it, and how often each block is open.
 *
 * Input: operations of one byte that selects the operation, and one or two bytes of arguments each.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/chunks.h"
#include "interpose/memory/dedicated.h"
#include "interpose/memory/peer.h"
#include "interpose/memory/pools.h"
#include "interpose/process/say.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/share/attribute.h"
#include "interpose/share/forget.h"
#include "interpose/share/ipc.h"
#include "interpose/share/ipc_note.h"
#include "interpose/share/ipc_opened.h"
#include "interpose/share/marks.h"
#include "interpose/watch/watch.h"

#define CHUNKS 3u
#define SLOTS 6u /* per chunk */
#define SLOT_BYTES ((uint64_t)1 << 16)
#define CHUNK_BYTES (SLOTS * SLOT_BYTES)
#define HERE ((uintptr_t)0x7f0000000000)  /* addresses of chunks */
#define THERE ((uintptr_t)0x7e0000000000) /* addresses where they are opened */
#define APART ((uintptr_t)1 << 32)        /* distance between two of them */
#define HANDLES 64

struct block {
	bool lives, is_shared, is_synchronous;
	uint64_t bytes, buffer_id;
	struct mam_ipc_handle handle;
	unsigned int times_open; /* at its address there, while that address belongs to the chunk */
};

static struct model {
	struct block blocks[CHUNKS][SLOTS];
	struct mam_ipc_handle handles[HANDLES];
	uint8_t owners[HANDLES]; /* chunk * SLOTS + slot of its block; 255: the block was freed */
	unsigned int handle_count;
	unsigned int driver_opens[CHUNKS];
	bool driver_fails, knows_ranges;
	bool forged;         /* a forged note was accepted: open blocks may overlap */
	unsigned int marked; /* blocks that have a mark */
	uint64_t newest_id;
} model;

__thread int mam_init_depth;
_Atomic unsigned int mam_watch_bits;
__thread bool mam_thunk_flag;

static char folder[FUZZ_FOLDER_BYTES];

static int driver_get(struct mam_ipc_handle *handle, unsigned long long address)
{
	uintptr_t chunk = (address - HERE) / APART;

	if (model.driver_fails || address < HERE || chunk >= CHUNKS ||
	    address != HERE + chunk * APART)
		return MAM_CUDA_INVALID_VALUE;
	memset(handle, 0x5a, sizeof(*handle));
	handle->bytes[63] = (unsigned char)chunk;
	return MAM_CUDA_SUCCESS;
}

static int driver_open(unsigned long long *address, struct mam_ipc_handle handle,
		       unsigned int flags)
{
	(void)flags;
	for (size_t i = 0; i < 63; i++)
		if (handle.bytes[i] != 0x5a)
			return MAM_CUDA_INVALID_VALUE;
	if (handle.bytes[63] >= CHUNKS || model.driver_fails)
		return MAM_CUDA_INVALID_VALUE;
	model.driver_opens[handle.bytes[63]]++;
	*address = THERE + handle.bytes[63] * APART;
	return MAM_CUDA_SUCCESS;
}

static int driver_close(unsigned long long address)
{
	uintptr_t chunk = (address - THERE) / APART;

	if (model.driver_fails || address < THERE || chunk >= CHUNKS ||
	    address != THERE + chunk * APART || model.driver_opens[chunk] == 0)
		return MAM_CUDA_INVALID_VALUE;
	model.driver_opens[chunk]--;
	return MAM_CUDA_SUCCESS;
}

static int driver_range(unsigned long long *base, size_t *bytes, unsigned long long address)
{
	uintptr_t chunk = (address - THERE) / APART;

	require(address >= THERE && chunk < CHUNKS,
		"the driver is queried about a chunk that is not open");
	*base = THERE + chunk * APART;
	*bytes = CHUNK_BYTES;
	return model.knows_ranges ? MAM_CUDA_SUCCESS : MAM_CUDA_INVALID_VALUE;
}

void *mam_table_original(enum mam_table_id id)
{
	switch (id) {
	case MAM_TABLE_cuIpcGetMemHandle: return (void *)(uintptr_t)driver_get;
	case MAM_TABLE_cuIpcOpenMemHandle_v2: return (void *)(uintptr_t)driver_open;
	case MAM_TABLE_cuIpcCloseMemHandle: return (void *)(uintptr_t)driver_close;
	case MAM_TABLE_cuMemGetAddressRange_v2: return (void *)(uintptr_t)driver_range;
	default: return NULL;
	}
}

atomic_bool mam_gate_found;

bool mam_gate_enter_slow(void)
{
	return false;
}

void mam_gate_end(void)
{
}

atomic_int mam_init_state;

bool mam_init_is_off_slow(void)
{
	return false;
}

bool mam_pools_exist(void)
{
	return true;
}

enum mam_status mam_owner(const void *address, struct mam_pool **pool,
			  struct mam_segment_info *info)
{
	uintptr_t offset = (uintptr_t)address - HERE;
	const struct block *block;

	(void)pool;
	if ((uintptr_t)address < HERE || offset / APART >= CHUNKS || offset % APART >= CHUNK_BYTES)
		return MAM_ERROR_NOT_OWNED;
	block = &model.blocks[offset / APART][offset % APART / SLOT_BYTES];
	info->live = block->lives;
	info->base = (void *)((uintptr_t)address - offset % APART % SLOT_BYTES);
	info->requested = block->bytes;
	info->bytes = SLOT_BYTES;
	info->chunk_base = (void *)(HERE + offset / APART * APART);
	info->chunk_bytes = CHUNK_BYTES;
	return MAM_OK;
}

void mam_watch_start(unsigned int bits)
{
	require(bits == MAM_WATCH_MARKS && !(mam_watch_bits & bits), "watched twice");
	mam_watch_bits |= bits;
}

void mam_watch_stop(unsigned int bits)
{
	require(bits == MAM_WATCH_MARKS && mam_watch_bits & bits, "not watched");
	mam_watch_bits &= ~bits;
}

void mam_watch_call_slow(const struct mam_watch_call *call)
{
	(void)call;
}

void mam_say(enum mam_say_level level, const char *format, ...)
{
	(void)level;
	(void)format;
}

/* Chunks have no pieces: the driver of this process does not import any that a note promises. */
bool mam_chunks_piece(uint64_t range, uint64_t address, struct mam_chunks_piece *piece)
{
	(void)range, (void)address, (void)piece;
	return false;
}

const struct mam_real_driver *_Atomic mam_real_driver_known;

const struct mam_real_driver *mam_real_driver_slow(void)
{
	return NULL;
}

int mam_capture_wait(bool runtime)
{
	(void)runtime;
	require(false, "a wait for pieces that were never mapped");
	return 0;
}

bool mam_peer_open_begin(unsigned int flags)
{
	(void)flags;
	return true;
}

void mam_peer_open_end(unsigned int flags, unsigned long long address)
{
	(void)flags, (void)address;
}

/* All blocks stay in pools. */
void mam_dedicated_note(size_t bytes)
{
	(void)bytes;
}

void mam_attribute_not_synchronous(void *chunk)
{
	uintptr_t at = ((uintptr_t)chunk - HERE) / APART;

	require(at < CHUNKS, "unknown chunk");
	for (unsigned int i = 0; i < SLOTS; i++)
		require(!model.blocks[at][i].is_synchronous,
			"a chunk loses its synchronous copies before its last block is freed");
}

static uintptr_t here(unsigned int at)
{
	return HERE + at / SLOTS * APART + at % SLOTS * SLOT_BYTES;
}

static uintptr_t there(unsigned int at)
{
	return THERE + at / SLOTS * APART + at % SLOTS * SLOT_BYTES;
}

static struct block *block_of(unsigned int at)
{
	return &model.blocks[at / SLOTS][at % SLOTS];
}

static void alloc(unsigned int at, uint64_t bytes)
{
	struct block *block = block_of(at);

	if (block->lives)
		return;
	block->lives = true;
	block->bytes = bytes;
	require(!mam_marks_token((void *)here(at), block->handle.bytes),
		"a new block is already shared");
	require(!mam_marks_is_synchronous((void *)here(at)), "a new block is already synchronous");
}

/* Drops what the model knows of a block that is freed. */
static void forget(unsigned int at)
{
	struct block *block = block_of(at);

	*block = (struct block){ .times_open = block->times_open };
	for (unsigned int i = 0; i < model.handle_count; i++)
		if (model.owners[i] == at)
			model.owners[i] = 255;
}

static void free_block(unsigned int at)
{
	if (!block_of(at)->lives)
		return;
	block_of(at)->is_synchronous = false; /* before the chunk is updated */
	mam_forget_block((void *)here(at));
	forget(at);
}

static void drop_chunk(unsigned int chunk)
{
	mam_forget_chunk((void *)(HERE + chunk * APART), CHUNK_BYTES);
	for (unsigned int i = 0; i < SLOTS; i++)
		forget(chunk * SLOTS + i);
	require(!mam_marks_chunk_is_synchronous((void *)(HERE + chunk * APART)),
		"a released chunk is synchronous");
}

static void get(unsigned int at, uint64_t inside)
{
	struct block *block = block_of(at);
	struct mam_ipc_handle handle;
	int result;

	memset(&handle, 0x11, sizeof(handle));
	result = cuIpcGetMemHandle(&handle, here(at) + inside);
	if (!block->lives || model.driver_fails) {
		require(result != MAM_CUDA_SUCCESS, "a handle of free memory");
		require(handle.bytes[0] == 0x11, "a failed call wrote the handle");
		return;
	}
	require(result == MAM_CUDA_SUCCESS, "a live block gets no handle");
	if (block->is_shared) {
		require(memcmp(&handle, &block->handle, sizeof(handle)) == 0, "another handle");
		return;
	}
	for (unsigned int i = 0; i < model.handle_count; i++)
		require(memcmp(&handle, &model.handles[i], sizeof(handle)) != 0,
			"the handle of a different block");
	block->is_shared = true;
	block->handle = handle;
	if (model.handle_count == HANDLES)
		return;
	model.owners[model.handle_count] = (uint8_t)at;
	model.handles[model.handle_count++] = handle;
}

static const char *note_path(const unsigned char *token)
{
	static char path[128];
	int length =
		snprintf(path, sizeof(path), "%s/mam-ipc-%u-", folder, (unsigned int)geteuid());

	for (int i = 0; i < MAM_MARKS_TOKEN_BYTES; i++)
		length += snprintf(path + length, sizeof(path) - (size_t)length, "%02x", token[i]);
	return path;
}

/* Another process writes into one of this user's notes. */
static void forge_note(struct fuzz_bytes *from, const struct mam_ipc_handle *handle)
{
	unsigned char bytes[sizeof(struct mam_ipc_note) + 8] = { 0 };
	struct mam_ipc_note note;
	const char *path = note_path(handle->bytes + 8);
	int file = open(path, O_RDWR | O_CLOEXEC);
	ssize_t length;

	if (file < 0)
		return;
	model.forged = true;
	length = read(file, bytes, sizeof(bytes));
	for (unsigned int changes = fuzz_byte(from) % 8; changes > 0; changes--) {
		unsigned int place = fuzz_byte(from);

		bytes[place % sizeof(bytes)] = (unsigned char)fuzz_byte(from);
	}
	if (fuzz_byte(from) % 4 == 0)
		length = fuzz_byte(from) % (ssize_t)sizeof(bytes);
	require(ftruncate(file, 0) == 0 && pwrite(file, bytes, (size_t)length, 0) == length,
		"cannot forge a note");
	close(file);
	if (mam_ipc_note_read(handle->bytes + 8, &note))
		require(note.bytes > 0 && note.offset <= note.chunk_bytes &&
				note.bytes <= note.chunk_bytes - note.offset,
			"a block outside its chunk is accepted");
}

/* After any open: the returned address is where blocks may be. */
static void require_inside(unsigned long long address)
{
	uintptr_t offset = address - THERE;
	struct mam_ipc_opened opened;

	require(address >= THERE && offset / APART < CHUNKS, "opened outside all chunks");
	require(mam_ipc_opened_find(address, &opened), "the opened block is not in the list");
	if (model.knows_ranges && !model.forged)
		require(opened.bytes <= CHUNK_BYTES - offset % APART, "a block exceeds its chunk");
	require(opened.address <= address && address - opened.address < opened.bytes,
		"an address is in a different block");
}

static void open_one(struct fuzz_bytes *from)
{
	unsigned int which = fuzz_byte(from), changes = fuzz_byte(from) % 4, at;
	struct mam_ipc_handle handle;
	unsigned long long address = 77;
	int result;

	if (model.handle_count == 0)
		return;
	which %= model.handle_count;
	handle = model.handles[which];
	while (changes-- > 0) {
		unsigned int place = fuzz_byte(from) % 64;

		handle.bytes[place] ^= (unsigned char)fuzz_byte(from);
	}
	result = cuIpcOpenMemHandle_v2(&address, handle, 0);
	for (which = 0; which < model.handle_count; which++)
		if (memcmp(&handle, &model.handles[which], sizeof(handle)) == 0)
			break;
	at = which < model.handle_count ? model.owners[which] : 255;
	if (result != MAM_CUDA_SUCCESS) {
		require(address == 77, "a failed open wrote its result");
		require(at == 255 || model.driver_fails || model.forged,
			"a valid handle is refused");
		return;
	}
	require_inside(address);
	require(at != 255, "a handle of a freed block is opened");
	if (model.forged)
		return;
	require(address == there(at), "a different block is opened");
	block_of(at)->times_open++;
}

static void close_one(unsigned int at, uint64_t inside)
{
	struct block *block = block_of(at);
	int result;

	/* The program closes a chunk that it has not opened: forwarded to the driver. */
	if (at % SLOTS == 0 && inside == 0 && block->times_open == 0)
		return;
	result = cuIpcCloseMemHandle(there(at) + inside);
	if (model.forged)
		return;
	if (result == MAM_CUDA_SUCCESS) {
		require(inside == 0 && block->times_open > 0, "a block that is not open is closed");
		block->times_open--;
		return;
	}
	require(model.driver_fails || inside != 0 || block->times_open == 0,
		"an open block remains after its close");
}

static void find_one(unsigned int at, uint64_t inside)
{
	struct mam_ipc_opened opened;
	bool found = mam_ipc_opened_find(there(at) + inside, &opened);

	if (found)
		require(there(at) + inside - opened.address < opened.bytes,
			"an address is in a different block");
	if (model.forged)
		return;
	require(found || inside != 0 || block_of(at)->times_open == 0,
		"an open block is not found");
	require(!found || block_of(at)->times_open > 0, "a closed block is found");
	require(!found || (opened.address == there(at) && opened.count == block_of(at)->times_open),
		"wrong number of opens");
}

static void mark(unsigned int at, unsigned int what)
{
	void *address = (void *)here(at), *chunk = (void *)(HERE + at / SLOTS * APART);
	struct block *block = block_of(at);
	bool any = false;
	uint64_t id = 0;

	if (!block->lives)
		return;
	if (what % 3 == 0) {
		require(mam_marks_buffer_id(address, &id), "no id");
		require(block->buffer_id ? id == block->buffer_id : id > model.newest_id,
			"another id");
		block->buffer_id = id;
		model.newest_id = id > model.newest_id ? id : model.newest_id;
	} else {
		block->is_synchronous = what % 3 == 1;
		require(mam_marks_set_synchronous(address, chunk, block->is_synchronous),
			"a flag is not set");
	}
	for (unsigned int i = 0; i < SLOTS; i++)
		any |= model.blocks[at / SLOTS][i].is_synchronous;
	require(mam_marks_is_synchronous(address) == block->is_synchronous, "a flag is lost");
	require(mam_marks_chunk_is_synchronous(chunk) == any, "a chunk's flag is wrong");
}

static void step(struct fuzz_bytes *from)
{
	unsigned int what = fuzz_byte(from), at = fuzz_byte(from) % (CHUNKS * SLOTS);
	uint64_t inside = what & 128 ? fuzz_number(from, 2) : 0;

	switch (what % 16) {
	case 0:
	case 1:
	case 2: alloc(at, inside ? inside : SLOT_BYTES); break;
	case 3: free_block(at); break;
	case 4:
	case 5: get(at, inside); break;
	case 6:
	case 7:
	case 8: open_one(from); break;
	case 9:
	case 10: close_one(at, inside); break;
	case 11: find_one(at, inside); break;
	case 12: mark(at, what / 16); break;
	case 13: model.driver_fails = what & 128; break;
	case 14:
		if (model.handle_count > 0 && what & 64)
			forge_note(from, &model.handles[at % model.handle_count]);
		else
			mam_ipc_note_sweep();
		break;
	default:
		if (what & 64)
			drop_chunk(at / SLOTS);
		break;
	}
}

static size_t count_files(bool unlinks)
{
	DIR *listing = opendir(folder);
	struct dirent *entry;
	size_t count = 0;

	require(listing != NULL, "the folder of notes is missing");
	while ((entry = readdir(listing)) != NULL) {
		count += entry->d_name[0] != '.';
		if (unlinks && entry->d_name[0] != '.')
			unlinkat(dirfd(listing), entry->d_name, 0);
	}
	closedir(listing);
	return count;
}

/* Each shared block has a note, and there are no other notes; then everything is freed. */
static void end(void)
{
	struct mam_ipc_opened opened;
	size_t shared = 0;

	model.driver_fails = false;
	for (unsigned int at = 0; at < CHUNKS * SLOTS; at++)
		shared += block_of(at)->is_shared;
	if (!model.forged)
		require(count_files(false) == shared, "notes and shared blocks do not match");
	for (unsigned int chunk = 1; chunk < CHUNKS; chunk++)
		drop_chunk(chunk);
	mam_ipc_finish();
	require(count_files(model.forged) == 0 || model.forged, "a note remains");
	for (unsigned int at = 0; at < CHUNKS * SLOTS; at++) {
		free_block(at);
		while (block_of(at)->times_open > 0 && !model.forged)
			close_one(at, 0);
	}
	require(mam_watch_bits == 0, "a mark remains");
	for (unsigned int chunk = 0; chunk < CHUNKS && !model.forged; chunk++) {
		require(model.driver_opens[chunk] == 0, "a chunk remains open");
		require(!mam_ipc_opened_find(THERE + chunk * APART, &opened),
			"a block remains open");
	}
	mam_ipc_opened_restart();
	mam_marks_restart();
}

static void leave(void)
{
	count_files(true);
	rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_bytes from = { data, data + bytes };
	static bool begun;

	if (!begun) {
		fuzz_folder_make(folder);
		mam_ipc_note_folder = folder;
		setenv("TMPDIR", "/nowhere", 1);
		atexit(leave);
		begun = true;
	}
	memset(&model, 0, sizeof(model));
	model.knows_ranges = fuzz_byte(&from) & 1;
	while (fuzz_left(&from) > 0)
		step(&from);
	end();
	return 0;
}
