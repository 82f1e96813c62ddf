/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ipc_pieces.c - the pieces of a block in mapped memory arrive in order, or nothing stays mapped.
 *
 * Owner and peer are one process, with the real socket and thread. The driver and the pool are
 * simulated: a block lies in PIECES pieces of 2 MiB, and a descriptor is a file that contains the
 * address of its piece. Each test has a process of its own.
 */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mam/mam.h>

#include "interpose/memory/capture.h"
#include "interpose/memory/chunks.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"
#include "interpose/share/ipc_note.h"
#include "interpose/share/ipc_pieces.h"
#include "interpose/share/marks.h"

#define MIB ((uint64_t)1 << 20)
#define PIECES 5
#define RANGE ((uint64_t)0x7f0000000000)
#define BLOCK (RANGE + 4096)
#define BLOCK_BYTES (PIECES * 2 * MIB - 8192)
#define TARGET ((uint64_t)0x7e0000000000)

__thread int mam_init_depth;
_Atomic unsigned int mam_watch_bits;

/* The owner. */
static atomic_int exports, fail_export = -1; /* how many; the one that fails */
static atomic_bool is_gone;                  /* the block was freed */
static unsigned char token[MAM_MARKS_TOKEN_BYTES];

/* The peer. */
static uint64_t mapped_from[PIECES]; /* the pieces that were mapped, in order */
static int maps, unmaps, reserved, handles, waits, accesses;
static int fail_map = -1, fail_import = -1, access_code, wait_code;
static unsigned long long context_id = 7;
static int devices_with_access;
static uint64_t reserved_bytes;

bool mam_chunks_piece(uint64_t range, uint64_t address, struct mam_chunks_piece *piece)
{
	ck_assert_uint_eq(range, RANGE);
	if (address - RANGE >= PIECES * 2 * MIB)
		return false;
	*piece = (struct mam_chunks_piece){ address / (2 * MIB) * (2 * MIB), 2 * MIB };
	return true;
}

enum mam_status mam_owner(const void *address, struct mam_pool **pool,
			  struct mam_segment_info *info)
{
	(void)pool;
	ck_assert_uint_eq((uintptr_t)address, BLOCK);
	*info = (struct mam_segment_info){ .size = info->size,
					   .base = (void *)(uintptr_t)BLOCK,
					   .bytes = BLOCK_BYTES,
					   .requested = BLOCK_BYTES,
					   .live = !is_gone,
					   .chunk_base = (void *)(uintptr_t)RANGE,
					   .chunk_bytes = (size_t)1 << 32 };
	return MAM_OK;
}

bool mam_marks_block_of(const unsigned char *asked, const void **block)
{
	*block = (const void *)(uintptr_t)BLOCK;
	return memcmp(asked, token, sizeof(token)) == 0;
}

int mam_capture_wait(bool runtime)
{
	ck_assert(!runtime);
	waits++;
	return wait_code;
}

static int driver_retain(unsigned long long *handle, void *address)
{
	*handle = (uintptr_t)address;
	return 0;
}

static int driver_release(unsigned long long handle)
{
	if (handle < RANGE) /* a handle of the peer; those of the owner are addresses */
		handles--;
	return 0;
}

static int driver_export(void *shareable, unsigned long long handle, int kind,
			 unsigned long long flags)
{
	int file = memfd_create("piece", MFD_CLOEXEC);
	uint64_t base = handle;

	ck_assert(kind == 1 && flags == 0);
	if (exports++ == fail_export)
		return 801;
	ck_assert_int_eq(write(file, &base, sizeof(base)), sizeof(base));
	*(int *)shareable = file;
	return 0;
}

static uint64_t imported[8 * PIECES]; /* by all opens of a test */

static int driver_import(unsigned long long *handle, void *shareable, int kind)
{
	static int imports;
	uint64_t base = 0;

	ck_assert_int_eq(kind, 1);
	if (imports == fail_import)
		return 999;
	ck_assert_int_eq(pread((int)(intptr_t)shareable, &base, sizeof(base), 0), sizeof(base));
	imported[imports++] = base;
	handles++;
	*handle = (unsigned long long)imports;
	return 0;
}

static int driver_reserve(unsigned long long *address, size_t bytes, size_t alignment,
			  unsigned long long hint, unsigned long long flags)
{
	ck_assert(bytes != 0 && alignment == 0 && hint == 0 && flags == 0);
	reserved++;
	reserved_bytes = bytes;
	*address = TARGET;
	return 0;
}

static int driver_unreserve(unsigned long long address, size_t bytes)
{
	ck_assert(address == TARGET && bytes != 0);
	reserved--;
	return 0;
}

static int driver_map(unsigned long long address, size_t bytes, size_t offset,
		      unsigned long long handle, unsigned long long flags)
{
	ck_assert(offset == 0 && flags == 0);
	if (maps == fail_map)
		return 2;
	ck_assert_uint_eq(address, TARGET + (uint64_t)maps * 2 * MIB);
	ck_assert_uint_eq(bytes, 2 * MIB);
	ck_assert_uint_le((uint64_t)(maps + 1) * 2 * MIB, reserved_bytes);
	mapped_from[maps++] = imported[handle - 1];
	return 0;
}

static int driver_unmap(unsigned long long address, size_t bytes)
{
	ck_assert_uint_eq(address, TARGET);
	ck_assert_uint_eq(bytes, (uint64_t)maps * 2 * MIB);
	unmaps++;
	maps = 0;
	return 0;
}

static int driver_access(unsigned long long address, size_t bytes, const void *access, size_t count)
{
	(void)access;
	ck_assert_uint_eq(address, TARGET);
	ck_assert_uint_eq(bytes, (uint64_t)maps * 2 * MIB);
	devices_with_access = (int)count;
	accesses++;
	return access_code;
}

static int driver_current(void **context)
{
	*context = &context_id;
	return 0;
}

static int driver_device(int *device)
{
	*device = 1;
	return 0;
}

static int driver_id(void *context, unsigned long long *id)
{
	*id = *(unsigned long long *)context;
	return 0;
}

static int driver_push(void *context)
{
	ck_assert_ptr_eq(context, &context_id);
	return 0;
}

static int driver_count(int *count)
{
	*count = 4;
	return 0;
}

static int driver_peer(int *can, int device, int peer)
{
	ck_assert_int_eq(peer, 0);
	*can = device != 3;
	return 0;
}

static int driver_properties(void *properties, unsigned long long handle)
{
	(void)handle;
	memset(properties, 0, 32); /* location.id is 0 */
	return 0;
}

const struct mam_real_driver *_Atomic mam_real_driver_known;

const struct mam_real_driver *mam_real_driver_slow(void)
{
	static const struct mam_real_driver driver = {
		.ctx_current = driver_current,
		.ctx_push = driver_push,
		.ctx_pop = driver_current,
		.ctx_device = driver_device,
		.ctx_id = driver_id,
		.device_count = driver_count,
		.can_access_peer = driver_peer,
		.mem_reserve = driver_reserve,
		.mem_unreserve = driver_unreserve,
		.mem_set_access = driver_access,
		.mem_properties = driver_properties,
		.mem_export = driver_export,
		.mem_import = driver_import,
	};

	return &driver;
}

void *mam_table_original(enum mam_table_id id)
{
	switch (id) {
	case MAM_TABLE_cuMemRetainAllocationHandle: return (void *)(uintptr_t)driver_retain;
	case MAM_TABLE_cuMemRelease: return (void *)(uintptr_t)driver_release;
	case MAM_TABLE_cuMemMap: return (void *)(uintptr_t)driver_map;
	case MAM_TABLE_cuMemUnmap: return (void *)(uintptr_t)driver_unmap;
	default: return NULL;
	}
}

static struct mam_ipc_sender sender;
static struct mam_ipc_opened opened;

static void begin(void)
{
	struct mam_ipc_note note;

	ck_assert(mam_ipc_note_begin(&note));
	sender = (struct mam_ipc_sender){ note.owner, note.names_space, note.started, { 0 } };
	memcpy(sender.token, note.token, sizeof(token));
	memcpy(token, note.token, sizeof(token));
}

static int offer(void)
{
	const struct mam_segment_info block = { .base = (void *)(uintptr_t)BLOCK,
						.bytes = BLOCK_BYTES,
						.requested = BLOCK_BYTES,
						.chunk_base = (void *)(uintptr_t)RANGE };

	begin();
	return mam_ipc_pieces_offer(&block, &sender);
}

/* Opens the block as its owner sends it now. Returns CUDA's code. */
static int open_it(void)
{
	int code = mam_ipc_pieces_open(&sender, &opened);

	ck_assert_int_eq(handles, 0); /* mappings keep the memory */
	return code;
}

static void check_nothing_is_mapped(int code)
{
	ck_assert_int_eq(open_it(), code);
	ck_assert_int_eq(maps, 0);
	ck_assert_int_eq(reserved, 0);
}

START_TEST(pieces_arrive_in_order)
{
	ck_assert_int_eq(offer(), 0);
	ck_assert_int_eq(open_it(), 0);
	ck_assert_uint_eq(opened.mapped_bytes, PIECES * 2 * MIB);
	ck_assert_uint_eq(opened.address, TARGET + 4096);
	ck_assert_uint_eq(opened.bytes, BLOCK_BYTES);
	ck_assert_uint_eq(opened.chunk, TARGET);
	for (uint64_t i = 0; i < PIECES; i++)
		ck_assert_uint_eq(mapped_from[i], RANGE + i * 2 * MIB);
	ck_assert_int_eq(accesses, 1);
	ck_assert_int_eq(devices_with_access, 3); /* device 3 cannot reach the memory of device 0 */
	ck_assert_int_eq(mam_ipc_pieces_close(&opened), 0);
	ck_assert_int_eq(waits, 1);
	ck_assert_int_eq(unmaps, 1);
	ck_assert_int_eq(reserved, 0);
}
END_TEST

START_TEST(close_waits_only_for_a_context_that_exists)
{
	ck_assert_int_eq(offer(), 0);
	ck_assert_int_eq(open_it(), 0);
	wait_code = 719;
	ck_assert_int_eq(mam_ipc_pieces_close(&opened), 719);
	ck_assert_int_eq(unmaps, 0);
	context_id++; /* another context has its handle now */
	ck_assert_int_eq(mam_ipc_pieces_close(&opened), 0);
	ck_assert_int_eq(waits, 1);
	ck_assert_int_eq(unmaps, 1);
}
END_TEST

/* _i: the piece that the owner cannot export when the peer opens the block. */
START_TEST(owner_that_fails_to_export_sends_no_more)
{
	ck_assert_int_eq(offer(), 0); /* exports one piece, as a trial */
	fail_export = 1 + _i;
	check_nothing_is_mapped(MAM_CUDA_INVALID_VALUE);
	ck_assert_int_eq(open_it(), 0); /* the next peer is served */
}
END_TEST

START_TEST(device_that_exports_nothing_is_reported)
{
	fail_export = 0;
	ck_assert_int_eq(offer(), 801);
}
END_TEST

START_TEST(peer_that_fails_undoes_everything)
{
	ck_assert_int_eq(offer(), 0);
	fail_import = _i;
	check_nothing_is_mapped(999);
	fail_import = -1;
	fail_map = _i;
	check_nothing_is_mapped(2);
}
END_TEST

START_TEST(memory_without_access_is_unmapped)
{
	ck_assert_int_eq(offer(), 0);
	access_code = 101;
	check_nothing_is_mapped(101);
	ck_assert_int_eq(unmaps, 1);
}
END_TEST

/* Messages of an owner that is not mam, or whose block changes: three pieces of 2 MiB. */
static const struct {
	struct mam_ipc_place place;
	int code;
} sent[] = {
	{ { 4096, 5 * MIB, 6 * MIB, 3 }, 0 },
	{ { 6 * MIB, 0, 6 * MIB, 3 }, MAM_CUDA_INVALID_VALUE },
	{ { 7 * MIB, 1, 6 * MIB, 3 }, MAM_CUDA_INVALID_VALUE },
	{ { 2 * MIB, 5 * MIB, 6 * MIB, 3 }, MAM_CUDA_INVALID_VALUE },
	{ { 4096, 5 * MIB, 6 * MIB, UINT64_MAX }, MAM_CUDA_INVALID_VALUE },
	{ { 4096, 5 * MIB, 6 * MIB, 4 }, MAM_CUDA_INVALID_VALUE }, /* less is sent */
	{ { 4096, 5 * MIB, 6 * MIB, 2 }, MAM_CUDA_INVALID_VALUE }, /* more is sent */
	{ { 4096, 4 * MIB, 5 * MIB, 3 }, MAM_CUDA_INVALID_VALUE }, /* a piece is too large */
	{ { 4096, 7 * MIB, 8 * MIB, 3 }, MAM_CUDA_INVALID_VALUE }, /* the pieces are too few */
};

static void send_as_owner(int listener, const struct mam_ipc_place *place)
{
	int connection = accept(listener, NULL, NULL), file;
	unsigned char asked[sizeof(token)];

	if (recv(connection, asked, sizeof(asked), 0) != sizeof(asked) ||
	    send(connection, place, sizeof(*place), MSG_NOSIGNAL) != sizeof(*place))
		_exit(1);
	for (uint64_t i = 0; i < 3; i++) {
		struct mam_ipc_piece piece = { 2 * MIB };
		struct iovec part = { &piece, sizeof(piece) };
		char control[CMSG_SPACE(sizeof(int))] = { 0 };
		struct msghdr header = { .msg_iov = &part,
					 .msg_iovlen = 1,
					 .msg_control = control,
					 .msg_controllen = sizeof(control) };
		struct cmsghdr *rights = CMSG_FIRSTHDR(&header);

		driver_export(&file, RANGE + i * 2 * MIB, 1, 0);
		*rights = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS,
					    .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(rights), &file, sizeof(file));
		sendmsg(connection, &header, MSG_NOSIGNAL);
		close(file);
	}
	_exit(0);
}

START_TEST(place_must_match_the_pieces)
{
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), status;
	struct sockaddr_un address;
	socklen_t length;
	pid_t child;

	begin();
	length = mam_ipc_pieces_address(&sender, &address);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, length), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	child = fork();
	if (child == 0)
		send_as_owner(listener, &sent[_i].place);
	if (sent[_i].code == 0)
		ck_assert_int_eq(open_it(), 0);
	else
		check_nothing_is_mapped(sent[_i].code);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(only_the_token_of_a_live_block_is_served)
{
	int served;

	ck_assert_int_eq(offer(), 0);
	served = exports;
	sender.token[3]++;
	check_nothing_is_mapped(MAM_CUDA_INVALID_VALUE);
	sender.token[3]--;
	is_gone = true;
	check_nothing_is_mapped(MAM_CUDA_INVALID_VALUE);
	ck_assert_int_eq(exports, served);
	is_gone = false;
	ck_assert_int_eq(open_it(), 0);
}
END_TEST

/* A peer that connects and goes does not stop the thread. */
START_TEST(broken_peers_do_not_stop_the_thread)
{
	struct sockaddr_un address;
	socklen_t length;

	ck_assert_int_eq(offer(), 0);
	length = mam_ipc_pieces_address(&sender, &address);
	for (int i = 0; i < 20; i++) {
		int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		ck_assert_int_eq(connect(connection, (struct sockaddr *)&address, length), 0);
		if (i % 3 == 0)
			ck_assert_int_eq(send(connection, token, 5, MSG_NOSIGNAL), 5);
		if (i % 3 == 1)
			ck_assert_int_eq(send(connection, token, sizeof(token), MSG_NOSIGNAL),
					 sizeof(token));
		close(connection);
	}
	ck_assert_int_eq(open_it(), 0);
}
END_TEST

START_TEST(stopped_owner_serves_no_peer)
{
	ck_assert_int_eq(offer(), 0);
	mam_ipc_pieces_stop();
	check_nothing_is_mapped(MAM_CUDA_INVALID_VALUE);
}
END_TEST

#if !defined(__SANITIZE_THREAD__) /* it cannot start a thread after a fork */
START_TEST(child_of_a_fork_has_its_own_socket)
{
	int status = -1;
	pid_t child;

	ck_assert_int_eq(offer(), 0);
	child = fork();
	if (child == 0) {
		mam_ipc_pieces_restart();
		_exit(offer() != 0 || open_it() != 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(open_it(), 0);
}
END_TEST
#endif

int main(void)
{
	TCase *cases = tcase_create("pieces");
	Suite *suite = suite_create("ipc_pieces");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_test(cases, pieces_arrive_in_order);
	tcase_add_test(cases, close_waits_only_for_a_context_that_exists);
	tcase_add_loop_test(cases, owner_that_fails_to_export_sends_no_more, 0, PIECES);
	tcase_add_test(cases, device_that_exports_nothing_is_reported);
	tcase_add_loop_test(cases, peer_that_fails_undoes_everything, 0, PIECES);
	tcase_add_test(cases, memory_without_access_is_unmapped);
	tcase_add_loop_test(cases, place_must_match_the_pieces, 0, sizeof(sent) / sizeof(sent[0]));
	tcase_add_test(cases, only_the_token_of_a_live_block_is_served);
	tcase_add_test(cases, broken_peers_do_not_stop_the_thread);
	tcase_add_test(cases, stopped_owner_serves_no_peer);
#if !defined(__SANITIZE_THREAD__)
	tcase_add_test(cases, child_of_a_fork_has_its_own_socket);
#endif
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
