/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at all as what happens to blocks shared between processes: a handle opens its block
 * while that lives and never anything else, whatever is forged; nothing stays behind.
 *
 * The interposer's part is real: ipc.c, its notes in a folder of this process's own, the list of
 * what is open, the marks of blocks. Pools and the driver are played: a few chunks of a few blocks,
 * which their own process opens at another place, as often as it likes. A model beside it knows
 * which block lives, which handle is whose, and how often each block is open.
 *
 * Input: steps of a byte that says which, and one or two of arguments each.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "interpose/memory/peer.h"
#include "interpose/memory/pools.h"
#include "interpose/process/say.h"
#include "interpose/routes/init.h"
#include "interpose/share/attribute.h"
#include "interpose/share/forget.h"
#include "interpose/share/ipc.h"
#include "interpose/share/ipc_note.h"
#include "interpose/share/ipc_opened.h"
#include "interpose/share/marks.h"
#include "interpose/watch/watch.h"

#define CHUNKS 3u
#define SLOTS 6u /* of blocks in a chunk */
#define SLOT_BYTES ((uint64_t)1 << 16)
#define CHUNK_BYTES (SLOTS * SLOT_BYTES)
#define HERE ((uintptr_t)0x7f0000000000)  /* where chunks lie */
#define THERE ((uintptr_t)0x7e0000000000) /* where they are opened */
#define APART ((uintptr_t)1 << 32)        /* between two of them */
#define HANDLES 64

struct block {
	bool lives, is_shared, is_synchronous;
	uint64_t bytes, buffer_id;
	struct mam_ipc_handle handle;
	unsigned int times_open; /* at its place there; as long as that place is its own */
};

static struct model {
	struct block blocks[CHUNKS][SLOTS];
	struct mam_ipc_handle handles[HANDLES];
	uint8_t owners[HANDLES]; /* chunk * SLOTS + slot of its block; 255: that is gone */
	unsigned int handle_count;
	unsigned int driver_opens[CHUNKS];
	bool driver_fails, knows_ranges;
	bool forged;         /* a forged note was believed: what is open may overlap */
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

	require(address >= THERE && chunk < CHUNKS, "the driver is asked about what is not open");
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

bool mam_init_is_off(void)
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

bool mam_peer_open_begin(unsigned int flags)
{
	(void)flags;
	return true;
}

void mam_peer_open_end(unsigned int flags, unsigned long long address)
{
	(void)flags, (void)address;
}

void mam_attribute_not_synchronous(void *chunk)
{
	uintptr_t at = ((uintptr_t)chunk - HERE) / APART;

	require(at < CHUNKS, "no such chunk");
	for (unsigned int i = 0; i < SLOTS; i++)
		require(!model.blocks[at][i].is_synchronous,
			"a chunk loses its synchronous copies before its last block");
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
	require(!mam_marks_token((void *)here(at), block->handle.bytes), "a new block is shared");
	require(!mam_marks_is_synchronous((void *)here(at)), "a new block is synchronous");
}

/* What the model forgets of a block with its free. */
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
	block_of(at)->is_synchronous = false; /* before the chunk hears of it */
	mam_forget_block((void *)here(at));
	forget(at);
}

static void drop_chunk(unsigned int chunk)
{
	mam_forget_chunk((void *)(HERE + chunk * APART), CHUNK_BYTES);
	for (unsigned int i = 0; i < SLOTS; i++)
		forget(chunk * SLOTS + i);
	require(!mam_marks_chunk_is_synchronous((void *)(HERE + chunk * APART)),
		"a chunk that is gone is synchronous");
}

static void get(unsigned int at, uint64_t inside)
{
	struct block *block = block_of(at);
	struct mam_ipc_handle handle;
	int answer;

	memset(&handle, 0x11, sizeof(handle));
	answer = cuIpcGetMemHandle(&handle, here(at) + inside);
	if (!block->lives || model.driver_fails) {
		require(answer != MAM_CUDA_SUCCESS, "a handle of nothing");
		require(handle.bytes[0] == 0x11, "a refused handle is written");
		return;
	}
	require(answer == MAM_CUDA_SUCCESS, "a live block has no handle");
	if (block->is_shared) {
		require(memcmp(&handle, &block->handle, sizeof(handle)) == 0, "another handle");
		return;
	}
	for (unsigned int i = 0; i < model.handle_count; i++)
		require(memcmp(&handle, &model.handles[i], sizeof(handle)) != 0,
			"the handle of another block");
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

/* Somebody writes into a note of this user's. */
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
		"a note cannot be forged");
	close(file);
	if (mam_ipc_note_read(handle->bytes + 8, &note))
		require(note.bytes > 0 && note.offset <= note.chunk_bytes &&
				note.bytes <= note.chunk_bytes - note.offset,
			"a block outside of its chunk is believed");
}

/* After any open: what is answered lies where blocks may lie. */
static void require_inside(unsigned long long address)
{
	uintptr_t offset = address - THERE;
	struct mam_ipc_opened opened;

	require(address >= THERE && offset / APART < CHUNKS, "opened outside of all chunks");
	require(mam_ipc_opened_find(address, &opened), "what was opened is not known");
	if (model.knows_ranges && !model.forged)
		require(opened.bytes <= CHUNK_BYTES - offset % APART, "a block leaves its chunk");
	require(opened.address <= address && address - opened.address < opened.bytes,
		"an address lies in another block");
}

static void open_one(struct fuzz_bytes *from)
{
	unsigned int which = fuzz_byte(from), changes = fuzz_byte(from) % 4, at;
	struct mam_ipc_handle handle;
	unsigned long long address = 77;
	int answer;

	if (model.handle_count == 0)
		return;
	which %= model.handle_count;
	handle = model.handles[which];
	while (changes-- > 0) {
		unsigned int place = fuzz_byte(from) % 64;

		handle.bytes[place] ^= (unsigned char)fuzz_byte(from);
	}
	answer = cuIpcOpenMemHandle_v2(&address, handle, 0);
	for (which = 0; which < model.handle_count; which++)
		if (memcmp(&handle, &model.handles[which], sizeof(handle)) == 0)
			break;
	at = which < model.handle_count ? model.owners[which] : 255;
	if (answer != MAM_CUDA_SUCCESS) {
		require(address == 77, "a refused open writes its answer");
		require(at == 255 || model.driver_fails || model.forged,
			"a good handle is refused");
		return;
	}
	require_inside(address);
	require(at != 255, "a handle of nothing is opened");
	if (model.forged)
		return;
	require(address == there(at), "another block is opened");
	block_of(at)->times_open++;
}

static void close_one(unsigned int at, uint64_t inside)
{
	struct block *block = block_of(at);
	int answer;

	/* A chunk that the program closes without having opened it: the driver's business. */
	if (at % SLOTS == 0 && inside == 0 && block->times_open == 0)
		return;
	answer = cuIpcCloseMemHandle(there(at) + inside);
	if (model.forged)
		return;
	if (answer == MAM_CUDA_SUCCESS) {
		require(inside == 0 && block->times_open > 0, "what is not open is closed");
		block->times_open--;
		return;
	}
	require(model.driver_fails || inside != 0 || block->times_open == 0,
		"an open block stays open");
}

static void find_one(unsigned int at, uint64_t inside)
{
	struct mam_ipc_opened opened;
	bool found = mam_ipc_opened_find(there(at) + inside, &opened);

	if (found)
		require(there(at) + inside - opened.address < opened.bytes,
			"an address lies in another block");
	if (model.forged)
		return;
	require(found || inside != 0 || block_of(at)->times_open == 0,
		"an open block is not found");
	require(!found || block_of(at)->times_open > 0, "a closed block is found");
	require(!found || (opened.address == there(at) && opened.count == block_of(at)->times_open),
		"it is open another number of times");
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
	require(mam_marks_chunk_is_synchronous(chunk) == any, "a chunk's flag is another");
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

	require(listing != NULL, "the folder of notes is gone");
	while ((entry = readdir(listing)) != NULL) {
		count += entry->d_name[0] != '.';
		if (unlinks && entry->d_name[0] != '.')
			unlinkat(dirfd(listing), entry->d_name, 0);
	}
	closedir(listing);
	return count;
}

/* Each shared block has a note, and there are no others; then all ends. */
static void end(void)
{
	struct mam_ipc_opened opened;
	size_t shared = 0;

	model.driver_fails = false;
	for (unsigned int at = 0; at < CHUNKS * SLOTS; at++)
		shared += block_of(at)->is_shared;
	if (!model.forged)
		require(count_files(false) == shared, "notes and shared blocks do not agree");
	for (unsigned int chunk = 1; chunk < CHUNKS; chunk++)
		drop_chunk(chunk);
	mam_ipc_finish();
	require(count_files(model.forged) == 0 || model.forged, "a note stays behind");
	for (unsigned int at = 0; at < CHUNKS * SLOTS; at++) {
		free_block(at);
		while (block_of(at)->times_open > 0 && !model.forged)
			close_one(at, 0);
	}
	require(mam_watch_bits == 0, "a mark stays behind");
	for (unsigned int chunk = 0; chunk < CHUNKS && !model.forged; chunk++) {
		require(model.driver_opens[chunk] == 0, "a chunk stays open");
		require(!mam_ipc_opened_find(THERE + chunk * APART, &opened), "a block stays open");
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
