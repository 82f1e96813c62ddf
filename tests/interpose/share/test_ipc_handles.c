/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ipc_handles.c - the driver calls, and which of them are undone, when a handle is created,
 * opened and closed. Notes and the list of open blocks are the real ones. Pools and the driver are
 * simulated: one pool with one chunk, which a peer opens at PEER.
 *
 * Each test has a process and a folder of its own.
 */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
#include "interpose/share/ipc.h"
#include "interpose/share/ipc_note.h"
#include "interpose/share/ipc_opened.h"
#include "interpose/share/ipc_pieces.h"
#include "interpose/share/marks.h"
#include "interpose/watch/watch.h"

#define CHUNK ((uintptr_t)0x7f0000000000)
#define CHUNK_BYTES ((size_t)4 << 20)
#define PEER 0x7e0000000000ull
#define BLOCK (CHUNK + 4096)
#define LIVE_END (CHUNK + CHUNK_BYTES / 2) /* blocks below, free memory above */

__thread int mam_init_depth;
_Atomic unsigned int mam_watch_bits;
__thread bool mam_thunk_flag;

static char folder[] = "/tmp/mam-test-ipc-XXXXXX";
static struct mam_ipc_handle handle;
static unsigned int sentences;
/* The state of marks.c. */
static bool has_token, takes_token;
static unsigned char token[MAM_MARKS_TOKEN_BYTES];
static size_t noted;          /* the size of the block shared last */
static const void *forgotten; /* the block whose marks were dropped last */
/* The driver. */
static unsigned long long asked, closed; /* addresses of the last calls */
static unsigned int opens, closes;
static size_t range_bytes; /* size of an opened chunk according to the driver; 0: unknown */
static int get_result, close_result;
static unsigned long long context_id; /* of the current context; 0: there is none */
/* Peers: openings that began and have not ended, and the address of the last one. */
static int peer_opens;
static bool peer_is_full;
static unsigned long long peer_address;

atomic_bool mam_gate_found;

bool mam_gate_enter_slow(void)
{
	return false;
}

void mam_gate_end(void)
{
}

static int driver_get(struct mam_ipc_handle *result, unsigned long long address)
{
	asked = address;
	memset(result, 0x5a, sizeof(*result));
	return get_result;
}

static int driver_open(unsigned long long *address, struct mam_ipc_handle theirs,
		       unsigned int flags)
{
	(void)theirs;
	(void)flags;
	opens++;
	*address = PEER;
	return 0;
}

static int driver_close(unsigned long long address)
{
	closes++;
	closed = address;
	return close_result;
}

static int driver_range(unsigned long long *base, size_t *bytes, unsigned long long address)
{
	*base = address;
	*bytes = range_bytes;
	return range_bytes == 0 ? MAM_CUDA_INVALID_VALUE : MAM_CUDA_SUCCESS;
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

static int driver_current(void **context)
{
	*context = context_id == 0 ? NULL : &context_id;
	return MAM_CUDA_SUCCESS;
}

static int driver_id(void *context, unsigned long long *id)
{
	*id = context_id;
	return context == NULL ? MAM_CUDA_INVALID_CONTEXT : MAM_CUDA_SUCCESS;
}

const struct mam_real_driver *_Atomic mam_real_driver_known;

const struct mam_real_driver *mam_real_driver_slow(void)
{
	static const struct mam_real_driver driver = { .ctx_current = driver_current,
						       .ctx_id = driver_id };

	return &driver;
}

bool mam_peer_open_begin(unsigned int flags)
{
	ck_assert_uint_eq(flags, 1);
	peer_opens += !peer_is_full;
	return !peer_is_full;
}

void mam_peer_open_end(unsigned int flags, unsigned long long address)
{
	ck_assert_uint_eq(flags, 1);
	peer_opens--;
	peer_address = address;
}

atomic_int mam_init_state;

bool mam_init_is_off_slow(void)
{
	return false;
}

bool mam_chunks_piece(uint64_t range, uint64_t address, struct mam_chunks_piece *piece)
{
	(void)range;
	(void)address;
	(void)piece;
	return false;
}

int mam_ipc_pieces_offer(const struct mam_segment_info *block, const struct mam_ipc_sender *sender)
{
	(void)block;
	(void)sender;
	return MAM_CUDA_NOT_SUPPORTED;
}

int mam_ipc_pieces_open(const struct mam_ipc_sender *sender, struct mam_ipc_opened *opened)
{
	(void)sender;
	(void)opened;
	return MAM_CUDA_INVALID_VALUE;
}

int mam_ipc_pieces_close(const struct mam_ipc_opened *opened)
{
	(void)opened;
	return MAM_CUDA_NOT_SUPPORTED;
}

bool mam_marks_block_of(const unsigned char *searched, const void **block)
{
	(void)searched;
	(void)block;
	return false;
}

void mam_ipc_pieces_stop(void)
{
}

void mam_dedicated_note(size_t bytes)
{
	noted = bytes;
}

bool mam_pools_exist(void)
{
	return true;
}

enum mam_status mam_owner(const void *block, struct mam_pool **pool, struct mam_segment_info *info)
{
	uintptr_t address = (uintptr_t)block;

	(void)pool;
	if (address - CHUNK >= CHUNK_BYTES)
		return MAM_ERROR_NOT_OWNED;
	info->live = address < LIVE_END;
	info->base = (void *)BLOCK;
	info->requested = 1000;
	info->bytes = 1024;
	info->chunk_base = (void *)CHUNK;
	info->chunk_bytes = CHUNK_BYTES;
	return MAM_OK;
}

bool mam_marks_token(const void *block, unsigned char *result)
{
	(void)block;
	if (has_token)
		memcpy(result, token, sizeof(token));
	return has_token;
}

bool mam_marks_set_token(const void *block, unsigned char *given)
{
	(void)block;
	memcpy(token, given, sizeof(token)); /* its note must be removed if the token is refused */
	has_token = takes_token;
	return takes_token;
}

void mam_forget_block(const void *block)
{
	forgotten = block;
}

void mam_marks_each_token(void (*visit)(const unsigned char *each))
{
	if (has_token)
		visit(token);
}

void mam_watch_call_slow(const struct mam_watch_call *call)
{
	(void)call;
}

void mam_say(enum mam_say_level level, const char *format, ...)
{
	(void)level;
	(void)format;
	sentences++;
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	mam_ipc_note_folder = folder;
	setenv("TMPDIR", "/nowhere", 1);
	takes_token = true;
	range_bytes = CHUNK_BYTES;
}

static void tear_down(void)
{
	mam_ipc_finish();
	ck_assert_int_eq(rmdir(folder), 0); /* no note remains */
}

static int open_it(unsigned long long *address)
{
	int result = cuIpcOpenMemHandle_v2(address, handle, 1);

	ck_assert_int_eq(peer_opens, 0);
	return result;
}

START_TEST(handle_lives_as_long_as_its_block)
{
	struct mam_ipc_handle again;
	struct mam_ipc_note note;

	ck_assert_int_eq(cuIpcGetMemHandle(&handle, BLOCK + 10), 0);
	ck_assert_uint_eq(asked, CHUNK);
	ck_assert_uint_eq(noted, 1000);
	ck_assert_int_eq(cuIpcGetMemHandle(&again, BLOCK), 0);
	ck_assert_int_eq(memcmp(&handle, &again, sizeof(handle)), 0);
	ck_assert(mam_ipc_note_read(token, &note));
	ck_assert_uint_eq(note.offset, BLOCK - CHUNK);
	ck_assert_uint_eq(note.bytes, 1000);
	ck_assert_uint_eq(note.chunk_bytes, CHUNK_BYTES);
	ck_assert_int_eq(note.chunk.bytes[63], 0x5a);
	mam_ipc_note_remove(token);
	ck_assert(!mam_ipc_note_read(token, &note));
}
END_TEST

START_TEST(driver_decides_which_memory_may_be_shared)
{
	memset(&handle, 0x11, sizeof(handle));
	get_result = 801;
	ck_assert_int_eq(cuIpcGetMemHandle(&handle, BLOCK), 801);
	ck_assert_int_eq(handle.bytes[0], 0x11);
	get_result = 0;
	ck_assert_int_eq(cuIpcGetMemHandle(&handle, CHUNK + CHUNK_BYTES), 0);
	ck_assert_uint_eq(asked, CHUNK + CHUNK_BYTES); /* forwarded */
	ck_assert_int_eq(handle.bytes[0], 0x5a);
	get_result = 1;
	ck_assert_int_eq(cuIpcGetMemHandle(&handle, LIVE_END), 1);
	ck_assert(asked - CHUNK >= CHUNK_BYTES); /* free memory has no owner */
}
END_TEST

START_TEST(no_handle_is_returned_if_no_note_can_be_kept)
{
	memset(&handle, 0x11, sizeof(handle));
	takes_token = false;
	ck_assert_int_eq(cuIpcGetMemHandle(&handle, BLOCK), MAM_CUDA_OUT_OF_MEMORY);
	ck_assert_int_eq(handle.bytes[0], 0x11);
}
END_TEST

START_TEST(block_is_opened_inside_its_chunk)
{
	unsigned long long address = 0, second = 0;
	struct mam_ipc_opened opened;

	ck_assert_int_eq(cuIpcGetMemHandle(&handle, BLOCK), 0);
	ck_assert_int_eq(open_it(&address), 0);
	ck_assert_uint_eq(address, PEER + 4096);
	ck_assert_uint_eq(peer_address, PEER);
	ck_assert(mam_ipc_opened_find(address + 999, &opened));
	ck_assert(!mam_ipc_opened_find(address + 1000, &opened));
	ck_assert_int_eq(open_it(&second), 0);
	ck_assert_uint_eq(second, address);
	ck_assert_int_eq(cuIpcCloseMemHandle(address), 0);
	ck_assert_uint_eq(closed, PEER);
	ck_assert_ptr_null(forgotten);
	ck_assert_int_eq(cuIpcCloseMemHandle(address), 0);
	ck_assert_ptr_eq(forgotten, (void *)(uintptr_t)address);
	ck_assert_uint_eq(closes, 2);
	ck_assert_int_eq(cuIpcCloseMemHandle(address), 0); /* forwarded to the driver now */
	ck_assert_uint_eq(closed, address);
}
END_TEST

/* Each context has an open of its own, which is found again without a note. */
START_TEST(block_that_is_open_is_not_opened_by_the_driver)
{
	unsigned long long address = 0, second = 0;

	context_id = 3;
	ck_assert_int_eq(cuIpcGetMemHandle(&handle, BLOCK), 0);
	ck_assert_int_eq(open_it(&address), 0);
	mam_ipc_note_remove(token);
	ck_assert_int_eq(open_it(&second), 0);
	ck_assert_uint_eq(second, address);
	ck_assert_uint_eq(opens, 1);
	context_id = 5;
	ck_assert_int_eq(open_it(&second), MAM_CUDA_INVALID_VALUE);
	close_result = 709;
	ck_assert_int_eq(cuIpcCloseMemHandle(address), 0);
	ck_assert_uint_eq(closes, 0);
	ck_assert_int_eq(cuIpcCloseMemHandle(address), 709);
	close_result = 0;
	ck_assert_int_eq(cuIpcCloseMemHandle(address), 0);
	ck_assert_uint_eq(closes, 2);
	ck_assert_ptr_eq(forgotten, (void *)(uintptr_t)address);
}
END_TEST

/*
 * The driver enables peer access when it opens the block: if mam cannot note that, it does not call
 * the driver.
 */
/* A context that ends closes its opens, and the driver may use their address in another one. */
START_TEST(block_of_a_context_that_ended_is_opened_by_the_driver)
{
	unsigned long long address = 0;

	context_id = 3;
	ck_assert_int_eq(cuIpcGetMemHandle(&handle, BLOCK), 0);
	ck_assert_int_eq(open_it(&address), 0);
	context_id = 4;
	ck_assert_int_eq(open_it(&address), 0);
	ck_assert_int_eq(cuIpcCloseMemHandle(address), 0);
	ck_assert_uint_eq(opens, 2);
	ck_assert_uint_eq(closes, 1);
	ck_assert_int_eq(open_it(&address), 0);
	ck_assert_uint_eq(opens, 3);
	ck_assert_int_eq(cuIpcCloseMemHandle(address), 0);
	ck_assert_uint_eq(closes, 2);
}
END_TEST

START_TEST(nothing_is_opened_if_the_peer_list_is_full)
{
	unsigned long long address = 7;

	ck_assert_int_eq(cuIpcGetMemHandle(&handle, BLOCK), 0);
	peer_is_full = true;
	ck_assert_int_eq(open_it(&address), MAM_CUDA_OUT_OF_MEMORY);
	ck_assert_uint_eq(address, 7);
	ck_assert_uint_eq(opens, 0);
	peer_is_full = false;
	range_bytes = 4096; /* less than in the note: opened, refused and closed again */
	ck_assert_int_eq(open_it(&address), MAM_CUDA_INVALID_VALUE);
	ck_assert_uint_eq(closes, 1);
	ck_assert_uint_eq(peer_address, PEER);
}
END_TEST

START_TEST(block_the_driver_fails_to_close_stays_open)
{
	unsigned long long address = 0;

	ck_assert_int_eq(cuIpcGetMemHandle(&handle, BLOCK), 0);
	ck_assert_int_eq(open_it(&address), 0);
	close_result = 709;
	ck_assert_int_eq(cuIpcCloseMemHandle(address), 709);
	close_result = 0;
	ck_assert_int_eq(cuIpcCloseMemHandle(address), 0);
	ck_assert_uint_eq(closed, PEER);
}
END_TEST

/*
 * The note gives a larger chunk than there is: its owner released the chunk, and another chunk has
 * its handle.
 */
START_TEST(chunk_smaller_than_in_its_note_is_closed_again)
{
	unsigned long long address = 77;
	struct mam_ipc_opened opened;

	ck_assert_int_eq(cuIpcGetMemHandle(&handle, BLOCK), 0);
	range_bytes = 4096 + 999;
	ck_assert_int_eq(open_it(&address), MAM_CUDA_INVALID_VALUE);
	ck_assert_uint_eq(address, 77);
	ck_assert_uint_eq(opens, 1);
	ck_assert_uint_eq(closes, 1);
	ck_assert_uint_eq(closed, PEER);
	ck_assert(!mam_ipc_opened_find(PEER + 4096, &opened));
	range_bytes = 4096 + 1000;
	ck_assert_int_eq(open_it(&address), 0);
	range_bytes = 0; /* unknown: the note counts */
	ck_assert_int_eq(open_it(&address), 0);
	ck_assert_uint_eq(closes, 1);
}
END_TEST

/* Each of the handle's 64 bytes matters. */
START_TEST(changed_handle_opens_nothing)
{
	unsigned long long address = 77;
	unsigned int drivers = 0;

	ck_assert_int_eq(cuIpcGetMemHandle(&handle, BLOCK), 0);
	for (size_t bit = 0; bit < 8 * sizeof(handle); bit++) {
		handle.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		if (bit < 64) /* not mam's magic: treated as a handle of the driver */
			drivers += open_it(&address) == 0;
		else
			ck_assert_msg(open_it(&address) == MAM_CUDA_INVALID_VALUE, "bit %zu", bit);
		handle.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	ck_assert_uint_eq(drivers, 64);
	ck_assert_uint_eq(opens, 64);
	ck_assert_uint_eq(sentences, 2); /* one more for handles that name an owner */
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("handles");
	Suite *suite = suite_create("ipc_handles");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(cases, set_up, tear_down);
	tcase_add_test(cases, handle_lives_as_long_as_its_block);
	tcase_add_test(cases, driver_decides_which_memory_may_be_shared);
	tcase_add_test(cases, no_handle_is_returned_if_no_note_can_be_kept);
	tcase_add_test(cases, block_is_opened_inside_its_chunk);
	tcase_add_test(cases, block_that_is_open_is_not_opened_by_the_driver);
	tcase_add_test(cases, block_of_a_context_that_ended_is_opened_by_the_driver);
	tcase_add_test(cases, nothing_is_opened_if_the_peer_list_is_full);
	tcase_add_test(cases, block_the_driver_fails_to_close_stays_open);
	tcase_add_test(cases, chunk_smaller_than_in_its_note_is_closed_again);
	tcase_add_test(cases, changed_handle_opens_nothing);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
