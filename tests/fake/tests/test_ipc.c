/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ipc.c - memory shared between processes.
 *
 * The peer is forked before either process uses CUDA. It receives handles through one pipe, runs
 * the test's function with each, and sends the number of the failed line, or 0, through another
 * pipe.
 */
#include "fake/load.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static struct cuda cuda;
static int to_peer[2], to_owner[2];
static pid_t peer_id;

#define WANT(condition)                  \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

/* `work` runs in the peer once per handle that is sent to it. */
static void begin(int (*work)(const struct cu_ipc_handle *handle))
{
	struct cu_ipc_handle handle;
	int line;

	ck_assert_int_eq(pipe(to_peer), 0);
	ck_assert_int_eq(pipe(to_owner), 0);
	peer_id = fork();
	ck_assert_int_ge(peer_id, 0);
	if (peer_id == 0) {
		close(to_peer[1]);
		cuda = load();
		while (read(to_peer[0], &handle, sizeof(handle)) == sizeof(handle)) {
			line = work(&handle);
			if (write(to_owner[1], &line, sizeof(line)) != sizeof(line))
				_exit(1);
		}
		_exit(0);
	}
	close(to_owner[1]);
	cuda = load();
}

static int send(const struct cu_ipc_handle *handle)
{
	int line = -1;

	ck_assert_int_eq(write(to_peer[1], handle, sizeof(*handle)), sizeof(*handle));
	ck_assert_int_eq(read(to_owner[0], &line, sizeof(line)), sizeof(line));
	return line;
}

static void end(void)
{
	int status = -1;

	close(to_peer[1]);
	ck_assert_int_eq(waitpid(peer_id, &status, 0), peer_id);
	ck_assert_int_eq(status, 0);
}

/* Expects 5 everywhere, writes 6 at the start, 7 at the end. */
static int read_and_write(const struct cu_ipc_handle *handle)
{
	unsigned char bytes[3] = { 0 };
	unsigned long long address, again = 0, base = 0;
	size_t size = 0;

	WANT(cuda.cuIpcOpenMemHandle_v2(&address, *handle, IPC_LAZY_PEER_ACCESS) == CUDA_SUCCESS);
	WANT(cuda.cuMemGetAddressRange_v2(&base, &size, address + 100) == CUDA_SUCCESS);
	WANT(base == address);
	WANT(cuda.cuMemcpyDtoH_v2(&bytes[0], address, 1) == CUDA_SUCCESS && bytes[0] == 5);
	WANT(cuda.cuMemcpyDtoH_v2(&bytes[1], address + size - 1, 1) == CUDA_SUCCESS);
	WANT(bytes[1] == 5);
	WANT(cuda.cuMemsetD8_v2(address, 6, 1) == CUDA_SUCCESS);
	WANT(cuda.cuMemsetD8_v2(address + size - 1, 7, 1) == CUDA_SUCCESS);
	WANT(cuda.cuIpcOpenMemHandle(&again, *handle, IPC_LAZY_PEER_ACCESS) == CUDA_SUCCESS);
	WANT(again == address);
	WANT(cuda.cuMemFree_v2(address) == CUDA_ERROR_INVALID_VALUE);
	WANT(cuda.cuIpcCloseMemHandle(address) == CUDA_SUCCESS);
	WANT(cuda.cuMemsetD8_v2(address + 1, 8, 1) == CUDA_SUCCESS);
	WANT(cuda.cuIpcCloseMemHandle(address) == CUDA_SUCCESS);
	WANT(cuda.cuIpcCloseMemHandle(address) == CUDA_ERROR_INVALID_VALUE);
	WANT(cuda.cuMemsetD8_v2(address + 1, 8, 1) == CUDA_ERROR_INVALID_VALUE);
	return 0;
}

static const size_t sizes[] = { 700, 3 * MIB };

/*
 * The block is not the first one of its slab, and its handle is obtained from an address inside it.
 */
START_TEST(peer_accesses_whole_allocation)
{
	struct cu_ipc_handle handle;
	unsigned long long first, address;
	unsigned char bytes[3] = { 0 };
	size_t size = sizes[_i];

	begin(read_and_write);
	cuda.cuMemAlloc_v2(&first, size);
	cuda.cuMemAlloc_v2(&address, size);
	cuda.cuMemsetD8_v2(first, 1, size);
	cuda.cuMemsetD8_v2(address, 5, size);
	cuda.cuCtxSynchronize();
	ck_assert_int_eq(cuda.cuIpcGetMemHandle(&handle, address + 333), CUDA_SUCCESS);
	ck_assert_int_eq(send(&handle), 0);
	cuda.cuMemcpyDtoH_v2(bytes, address, 2);
	cuda.cuMemcpyDtoH_v2(&bytes[2], address + size - 1, 1);
	ck_assert_uint_eq(bytes[0], 6);
	ck_assert_uint_eq(bytes[1], 8);
	ck_assert_uint_eq(bytes[2], 7);
	cuda.cuMemcpyDtoH_v2(bytes, first + size - 1, 1);
	ck_assert_uint_eq(bytes[0], 1);
	ck_assert_int_eq(cuda.cuIpcGetMemHandle(&handle, address), CUDA_SUCCESS);
	end();
}
END_TEST

static int cannot_open(const struct cu_ipc_handle *handle)
{
	unsigned long long address = 7;

	WANT(cuda.cuIpcOpenMemHandle_v2(&address, *handle, IPC_LAZY_PEER_ACCESS) ==
	     CUDA_ERROR_INVALID_VALUE);
	WANT(address == 7);
	return 0;
}

START_TEST(invalid_handle_cannot_be_opened)
{
	struct cu_ipc_handle handle, wrong = { { 0 } };
	unsigned long long address;

	begin(cannot_open);
	ck_assert_int_eq(send(&wrong), 0);
	memset(&wrong, 0xff, sizeof(wrong));
	ck_assert_int_eq(send(&wrong), 0);
	cuda.cuMemAlloc_v2(&address, 3 * MIB);
	cuda.cuIpcGetMemHandle(&handle, address);
	for (size_t byte = 0; byte < sizeof(handle); byte++) {
		wrong = handle;
		wrong.bytes[byte] ^= 1;
		ck_assert_int_eq(send(&wrong), 0);
	}
	cuda.cuMemFree_v2(address); /* and one of a freed block */
	ck_assert_int_eq(send(&handle), 0);
	cuda.cuMemAlloc_v2(&address, 3 * MIB);
	ck_assert_int_eq(send(&handle), 0);
	end();
}
END_TEST

START_TEST(exporting_process_cannot_open_its_handle)
{
	struct cu_ipc_handle handle;
	unsigned long long address, opened = 7;

	cuda = load();
	cuda.cuMemAlloc_v2(&address, 512);
	cuda.cuIpcGetMemHandle(&handle, address);
	ck_assert_int_eq(cuda.cuIpcOpenMemHandle_v2(&opened, handle, IPC_LAZY_PEER_ACCESS),
			 CUDA_ERROR_INVALID_CONTEXT);
	ck_assert_int_eq(cuda.cuIpcOpenMemHandle_v2(&opened, handle, 0), CUDA_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(opened, 7);
	ck_assert_int_eq(cuda.cuIpcCloseMemHandle(address), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(reused_large_block_gets_new_handle)
{
	struct cu_ipc_handle first, second;
	unsigned long long address, again;

	cuda = load();
	cuda.cuMemAlloc_v2(&address, 3 * MIB);
	cuda.cuIpcGetMemHandle(&first, address);
	cuda.cuIpcGetMemHandle(&second, address + 5);
	ck_assert_int_eq(memcmp(&first, &second, sizeof(first)), 0);
	cuda.cuMemFree_v2(address);
	cuda.cuMemAlloc_v2(&again, 3 * MIB);
	ck_assert_uint_eq(again, address);
	cuda.cuIpcGetMemHandle(&second, again);
	ck_assert_int_ne(memcmp(&first, &second, sizeof(first)), 0);
	cuda.cuMemAlloc_v2(&address, 256);
	cuda.cuIpcGetMemHandle(&first, address);
	cuda.cuMemFree_v2(address);
	cuda.cuMemAlloc_v2(&again, 256);
	ck_assert_uint_eq(again, address);
	cuda.cuIpcGetMemHandle(&second, again);
	ck_assert_int_eq(memcmp(&first, &second, sizeof(first)), 0);
}
END_TEST

START_TEST(other_memory_has_no_handle)
{
	struct cu_ipc_handle handle;
	unsigned long long ordered, managed;
	void *host;
	int local;

	cuda = load();
	cuda.cuMemAllocAsync(&ordered, 512, NULL);
	cuda.cuMemAllocManaged(&managed, 512, 1);
	cuda.cuMemHostAlloc(&host, 512, 0);
	ck_assert_int_eq(cuda.cuIpcGetMemHandle(&handle, ordered), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuIpcGetMemHandle(&handle, managed), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuIpcGetMemHandle(&handle, (uintptr_t)host),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuIpcGetMemHandle(&handle, (uintptr_t)&local),
			 CUDA_ERROR_INVALID_VALUE);
}
END_TEST

/* Work of another context has yet to write there when the memory is closed. */
static int close_under_work(const struct cu_ipc_handle *handle)
{
	struct CUctx_st *own, *primary;
	unsigned long long address;

	cuda.cuCtxGetCurrent(&primary);
	WANT(cuda.cuIpcOpenMemHandle_v2(&address, *handle, IPC_LAZY_PEER_ACCESS) == CUDA_SUCCESS);
	WANT(cuda.cuCtxCreate_v2(&own, 0, 0) == CUDA_SUCCESS);
	WANT(cuda.cuMemsetD8_v2(address, 6, 512) == CUDA_SUCCESS);
	cuda.cuCtxSetCurrent(primary);
	WANT(cuda.cuIpcCloseMemHandle(address) == CUDA_SUCCESS);
	cuda.cuCtxSetCurrent(own);
	WANT(cuda.cuCtxSynchronize() == CUDA_SUCCESS);
	cuda.cuCtxSetCurrent(primary);
	return 0;
}

START_TEST(close_keeps_memory_for_unfinished_work)
{
	struct cu_ipc_handle handle;
	unsigned long long address;
	unsigned char byte = 7;

	setenv("FAKE_CUDA_LAG_US", "50000", 1);
	begin(close_under_work);
	cuda.cuMemAlloc_v2(&address, 3 * MIB);
	cuda.cuIpcGetMemHandle(&handle, address);
	ck_assert_int_eq(send(&handle), 0);
	cuda.cuMemcpyDtoH_v2(&byte, address, 1);
	ck_assert_uint_eq(byte, 6);
	end();
}
END_TEST

static int open_only(const struct cu_ipc_handle *handle)
{
	unsigned long long address;

	WANT(cuda.cuIpcOpenMemHandle_v2(&address, *handle, IPC_LAZY_PEER_ACCESS) == CUDA_SUCCESS);
	WANT(cuda.cuDevicePrimaryCtxReset_v2(0) == CUDA_SUCCESS);
	return 0;
}

START_TEST(reset_closes_imported_memory)
{
	struct cu_ipc_handle handle;
	unsigned long long address;

	begin(open_only);
	cuda.cuMemAlloc_v2(&address, 512);
	cuda.cuIpcGetMemHandle(&handle, address);
	ck_assert_int_eq(send(&handle), 0);
	end();
}
END_TEST

/* Memory of device 1, opened in a context of device 0, which gets access to device 1's memory. */
static int open_from_another_device(const struct cu_ipc_handle *handle)
{
	struct CUctx_st *second;
	unsigned long long address;
	int device = -1, active = 7;
	unsigned int flags;

	WANT(cuda.cuDevicePrimaryCtxGetState(1, &flags, &active) == CUDA_SUCCESS && !active);
	WANT(cuda.cuIpcOpenMemHandle_v2(&address, *handle, IPC_LAZY_PEER_ACCESS) == CUDA_SUCCESS);
	WANT(cuda.cuPointerGetAttribute(&device, POINTER_DEVICE_ORDINAL, address) == CUDA_SUCCESS);
	WANT(device == 1);
	WANT(cuda.cuDevicePrimaryCtxGetState(1, &flags, &active) == CUDA_SUCCESS && active);
	WANT(cuda.cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
	WANT(cuda.cuCtxEnablePeerAccess(second, 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	WANT(cuda.cuMemsetD8_v2(address, 6, 512) == CUDA_SUCCESS);
	WANT(cuda.cuIpcCloseMemHandle(address) == CUDA_SUCCESS);
	return 0;
}

/* The peer opens a block of the second device by `open`. */
static void send_from_second_device(int (*open)(const struct cu_ipc_handle *))
{
	struct cu_ipc_handle handle;
	struct CUctx_st *second;
	unsigned long long address;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	begin(open);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(second), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemAlloc_v2(&address, 3 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuIpcGetMemHandle(&handle, address), CUDA_SUCCESS);
	ck_assert_int_eq(send(&handle), 0);
	end();
}

START_TEST(import_from_other_device_enables_peer)
{
	send_from_second_device(open_from_another_device);
}
END_TEST

static int is_out_of_reach(const struct cu_ipc_handle *handle)
{
	unsigned long long address;

	WANT(cuda.cuIpcOpenMemHandle_v2(&address, *handle, IPC_LAZY_PEER_ACCESS) ==
	     CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	return 0;
}

START_TEST(import_needs_link)
{
	setenv("FAKE_CUDA_LINKS", "none", 1);
	send_from_second_device(is_out_of_reach);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, import_needs_link);
	tcase_add_test(tests, import_from_other_device_enables_peer);
	tcase_add_loop_test(tests, peer_accesses_whole_allocation, 0,
			    sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_test(tests, invalid_handle_cannot_be_opened);
	tcase_add_test(tests, exporting_process_cannot_open_its_handle);
	tcase_add_test(tests, reused_large_block_gets_new_handle);
	tcase_add_test(tests, other_memory_has_no_handle);
	tcase_add_test(tests, close_keeps_memory_for_unfinished_work);
	tcase_add_test(tests, reset_closes_imported_memory);
}

int main(void)
{
	return run_suite("fake/ipc", add);
}
