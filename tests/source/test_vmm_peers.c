/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peer access to the memory of the vmm source: which devices get access, when a piece is mapped,
 * moved or mapped back, what copies between two pools transfer, and what happens when a device
 * cannot get access.
 */
#include <mam/mam.h>

#include "api/prompt.h"
#include "driven.h"
#include "source/driver.h"
#include "source/vmm.h"

#define DEVICES 4

static struct CUctx_st *contexts[DEVICES];

/* Devices with their primary contexts in `contexts`; the first one's is current. */
static struct cuda load_devices(int devices)
{
	struct cuda cuda;
	char text_of[12];

	snprintf(text_of, sizeof(text_of), "%d", devices);
	setenv("FAKE_CUDA_DEVICES", text_of, 1);
	setenv("FAKE_CUDA_HOST_ACCESS", "1", 1);
	cuda = load();
	for (int i = 0; i < devices; i++)
		ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&contexts[i], i), CUDA_SUCCESS);
	return cuda;
}

/* The driver's table, in which tests replace functions. */
static struct mam_driver *table(void)
{
	const struct mam_driver *driver;

	ck_assert_int_eq(mam_driver_get(&driver), MAM_OK);
	return (struct mam_driver *)(uintptr_t)driver;
}

static struct mam_source *made(int device, uint64_t peers)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	struct mam_source *source = NULL;

	attr.device = device;
	attr.peers = peers;
	ck_assert_int_eq(mam_source_vmm(&attr, &source), MAM_OK);
	return source;
}

static void logged_once(const char *what)
{
	const char *at = strstr(contents(log_path), what);

	ck_assert_msg(at != NULL && strstr(at + strlen(what), what) == NULL, "%s", text);
}

/* One bit for each device that may read and write the memory. */
static unsigned int access_to(const struct cuda *cuda, const void *at)
{
	unsigned int mask = 0;

	for (int device = 0; device < DEVICES; device++) {
		const struct cu_location location = { 1, device };
		unsigned long long flags = 0;

		if (cuda->cuMemGetAccess(&flags, &location, (uintptr_t)at) == CUDA_SUCCESS)
			mask |= (unsigned int)(flags == 3) << device;
	}
	return mask;
}

static void same_bytes(const unsigned char *a, const unsigned char *b, size_t bytes)
{
	ck_assert_msg(memcmp(a, b, bytes) == 0, "%zu bytes arrived wrong", bytes);
}

static void number(unsigned char *to, size_t bytes, unsigned int seed)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (unsigned char)(seed + i * 7 + (i >> 12));
}

/* Each kind of copy between devices, in either one's context, and a kernel of either one. */
static void copies_are_right(const struct cuda *cuda, unsigned char *first, unsigned char *second,
			     size_t bytes)
{
	unsigned char *const ends[2] = { first, second };
	unsigned long long id;
	uint64_t due_ns;

	for (int way = 0; way < 12; way++) {
		const int from = way & 1, to = 1 - from, user = way >> 1 & 1;
		unsigned long long source = (uintptr_t)ends[from], target = (uintptr_t)ends[to];
		int result;

		number(ends[from], bytes, (unsigned int)way);
		memset(ends[to], 0, bytes);
		ck_assert_int_eq(cuda->cuCtxSetCurrent(contexts[user]), CUDA_SUCCESS);
		if (way < 4)
			result = cuda->cuMemcpyPeer(target, contexts[to], source, contexts[from],
						    bytes);
		else if (way < 8)
			result = cuda->cuMemcpyPeerAsync(target, contexts[to], source,
							 contexts[from], bytes, NULL);
		else
			result = cuda->cuMemcpyAsync(target, source, bytes, NULL);
		ck_assert_int_eq(result, CUDA_SUCCESS);
		ck_assert_int_eq(cuda->cuCtxSynchronize(), CUDA_SUCCESS);
		same_bytes(ends[from], ends[to], bytes);
		ck_assert_int_eq(cuda->fake_use(source, bytes, NULL, &id, &due_ns), CUDA_SUCCESS);
		ck_assert_int_eq(cuda->fake_use(target, bytes, NULL, &id, &due_ns), CUDA_SUCCESS);
		ck_assert_int_eq(cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	}
	ck_assert_int_eq(cuda->cuCtxSetCurrent(contexts[0]), CUDA_SUCCESS);
}

static struct mam_pool *pool_on(int device)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool = NULL;

	attr.source = "vmm";
	attr.device = device;
	attr.cache = MAM_CACHE_OFF;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	return pool;
}

static unsigned char *block_of(struct mam_pool *pool, size_t bytes)
{
	void *block = NULL;

	ck_assert_int_eq(mam_malloc(pool, bytes, &block), MAM_OK);
	return block;
}

/* The program does nothing for it: no attribute, no option, no peer access of the contexts. */
START_TEST(pools_of_two_devices_copy_to_each_other)
{
	static const size_t sizes[] = { 4096, 1 << 20, 2 * MIB, 20 * MIB };
	struct cuda cuda = load_devices(2);
	struct mam_pool *pools[2] = { pool_on(0), pool_on(1) };
	unsigned char *blocks[2][4];

	for (int i = 0; i < 4; i++) /* each one grows its pool */
		for (int device = 0; device < 2; device++)
			blocks[device][i] = block_of(pools[device], sizes[i]);
	for (int i = 0; i < 4; i++)
		/* The fake copies within one piece. */
		for (size_t at = 0; at < sizes[i]; at += i < 3 ? MIB / 2 : 3 * MIB)
			copies_are_right(&cuda, blocks[0][i] + at, blocks[1][i] + at, 4096);
	for (int device = 0; device < 2; device++) {
		for (int i = 0; i < 4; i++)
			ck_assert_int_eq(mam_free(pools[device], blocks[device][i]), MAM_OK);
		ck_assert_int_eq(mam_pool_destroy(pools[device]), MAM_OK);
	}
	ck_assert_str_eq(contents(log_path), "");
}
END_TEST

/* A piece that was moved, one that could not be moved and was mapped back, and one mapped again. */
START_TEST(moved_piece_keeps_access)
{
	struct mam_source *inner, *source;
	unsigned char *range;
	struct cuda cuda;
	bool lost;

	setenv("FAKE_CUDA_FAIL_AT", "cuMemMap:3", 1);
	cuda = load_devices(4);
	inner = source = made(1, 0);
	if (_i == 1)
		ck_assert_int_eq(mam_source_limit(inner, 128 * MIB, 0, 0, &source), MAM_OK);
	range = grown(source, 64 * MIB);
	ck_assert_int_eq(mam_source_map(source, range, 4 * MIB), MAM_OK);
	ck_assert_uint_eq(access_to(&cuda, range), 0xf);
	ck_assert_int_eq(mam_source_move(source, range, 4 * MIB, range + 8 * MIB, &lost), MAM_OK);
	ck_assert_uint_eq(access_to(&cuda, range + 8 * MIB), 0xf);
	ck_assert_int_ne(mam_source_move(source, range + 8 * MIB, 4 * MIB, range + 16 * MIB, &lost),
			 MAM_OK);
	ck_assert(!lost);
	ck_assert_uint_eq(access_to(&cuda, range + 8 * MIB), 0xf);
	ck_assert_int_eq(mam_source_map(source, range, 2 * MIB), MAM_OK);
	ck_assert_uint_eq(access_to(&cuda, range), 0xf);
	if (_i == 1)
		mam_source_destroy(source);
	mam_source_destroy(inner);
}
END_TEST

/* Chunks that a source of whole chunks maps while a kernel waits for them. */
START_TEST(mapped_chunk_of_cudamalloc_has_access_for_all)
{
	struct cuda cuda = load_devices(3);
	struct mam_source *source = driven_source("cudamalloc", 0);
	void *base = NULL;

	ck_assert_int_eq(mam_source_grow_prompt(source, 2 * MIB, &base), MAM_OK);
	ck_assert_uint_eq(access_to(&cuda, base), 0x7);
	ck_assert_int_eq(mam_source_shrink(source, base, 2 * MIB), MAM_OK);
	mam_source_destroy(source);
}
END_TEST

/* Access needs no context of the peer, and creates none. */
START_TEST(device_that_starts_later_has_access)
{
	struct mam_source *source;
	unsigned char *range;
	struct cuda cuda;
	int active = 7;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	cuda = load();
	source = made(0, 0);
	range = grown(source, 64 * MIB);
	ck_assert_int_eq(mam_source_map(source, range, 2 * MIB), MAM_OK);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxGetState(1, &(unsigned int){ 0 }, &active),
			 CUDA_SUCCESS);
	ck_assert_int_eq(active, 0);
	ck_assert_int_eq(cuda.cuDevicePrimaryCtxRetain(&contexts[1], 1), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuCtxSetCurrent(contexts[1]), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemsetD8_v2((uintptr_t)range, 1, 2 * MIB), CUDA_SUCCESS);
	mam_source_destroy(source);
	ck_assert_uint_eq(calls_of("cuMemSetAccess", true), 1);
}
END_TEST

START_TEST(attribute_or_option_can_restrict_peers)
{
	static const struct {
		uint64_t peers;
		const char *option;
		unsigned int access;
	} choices[] = { { 0, "all", 0xf },
			{ 0, "none", 1u << 2 },
			{ 1u << 2, "all", 1u << 2 },
			{ 1u << 0, "all", 1u << 2 | 1u << 0 },
			{ 1u << 3, "none", 1u << 2 | 1u << 3 } };
	struct mam_source *source;
	unsigned char *range;
	struct cuda cuda;

	setenv("MAM_PEERS", choices[_i].option, 1);
	cuda = load_devices(4);
	source = made(2, choices[_i].peers);
	range = grown(source, 64 * MIB);
	ck_assert_int_eq(mam_source_map(source, range, 2 * MIB), MAM_OK);
	ck_assert_uint_eq(access_to(&cuda, range), choices[_i].access);
	ck_assert_uint_eq(calls_of("cuMemSetAccess", true), 1);
	mam_source_destroy(source);
	ck_assert_str_eq(contents(log_path), "");
}
END_TEST

static struct mam_driver fake;

/* A machine whose device 2 has no peer access in either direction. */
static unsigned int lonely_device(int *can, int device, int peer)
{
	unsigned int result = fake.device_can_access_peer(can, device, peer);

	if (device == 2 || peer == 2)
		*can = 0;
	return result;
}

START_TEST(device_without_peer_access_is_reported_once)
{
	struct cuda cuda = load_devices(4);
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	struct mam_driver *driver = table();
	struct mam_source *sources[2], *none = NULL;
	unsigned char *range;

	fake = *driver;
	driver->device_can_access_peer = lonely_device;
	for (int i = 0; i < 2; i++)
		sources[i] = made(i, 0);
	range = grown(sources[1], 64 * MIB);
	ck_assert_int_eq(mam_source_map(sources[1], range, 2 * MIB), MAM_OK);
	ck_assert_uint_eq(access_to(&cuda, range), 1u << 0 | 1u << 1 | 1u << 3);
	logged_once("device 2 has no peer access to device 0");
	ck_assert_ptr_null(strstr(text, "to device 1"));
	/* A device that the program requests is an error. */
	attr.device = 0;
	attr.peers = 1u << 1 | 1u << 2;
	ck_assert_int_eq(mam_source_vmm(&attr, &none), MAM_ERROR_UNSUPPORTED);
	ck_assert_ptr_null(none);
	ck_assert_ptr_nonnull(strstr(contents(log_path),
				     "device 2 cannot access "
				     "memory of device 0: there is no peer access"));
	/* An old driver cannot report it. */
	driver->device_can_access_peer = NULL;
	ck_assert_int_eq(mam_source_vmm(&attr, &none), MAM_ERROR_UNSUPPORTED);
	for (int i = 0; i < 2; i++)
		mam_source_destroy(sources[i]);
}
END_TEST

/* No program can have a context on a device of compute mode "prohibited": no warning. */
static unsigned int prohibited_device(int *value, unsigned int attribute, int device)
{
	unsigned int result = fake.device_get_attribute(value, attribute, device);

	if (attribute == 20 && device == 2)
		*value = 2;
	return result;
}

START_TEST(prohibited_device_is_left_out)
{
	struct cuda cuda = load_devices(3);
	struct mam_driver *driver = table();
	struct mam_source *source;
	unsigned char *range;

	fake = *driver;
	driver->device_get_attribute = prohibited_device;
	driver->device_can_access_peer = lonely_device;
	source = made(0, 0);
	range = grown(source, 64 * MIB);
	ck_assert_int_eq(mam_source_map(source, range, 2 * MIB), MAM_OK);
	ck_assert_uint_eq(access_to(&cuda, range), 0x3);
	mam_source_destroy(source);
	ck_assert_str_eq(contents(log_path), "");
}
END_TEST

/* A driver that refuses one device, for example one with 9 peers or without memory there. */
static unsigned int refuses_third(unsigned long long address, size_t bytes,
				  const struct CUmemAccessDesc_st *wanted, size_t count)
{
	const struct cu_access *rights = (const struct cu_access *)wanted;

	for (size_t i = 0; i < count; i++)
		if (rights[i].location.id == 2)
			return 711; /* too many peers */
	return fake.mem_set_access(address, bytes, wanted, count);
}

START_TEST(refused_peer_fails_no_allocation)
{
	struct cuda cuda = load_devices(4);
	struct mam_driver *driver = table();
	struct mam_source *source = made(0, 0);
	unsigned char *range = grown(source, 64 * MIB);
	unsigned int calls;

	fake = *driver;
	driver->mem_set_access = refuses_third;
	ck_assert_int_eq(mam_source_map(source, range, 2 * MIB), MAM_OK);
	ck_assert_uint_eq(access_to(&cuda, range), 0xb);
	/* From now on no access is requested for it. */
	calls = calls_of("cuMemSetAccess", false);
	ck_assert_int_eq(mam_source_map(source, range + 2 * MIB, 2 * MIB), MAM_OK);
	ck_assert_uint_eq(access_to(&cuda, range + 2 * MIB), 0xb);
	ck_assert_uint_eq(calls_of("cuMemSetAccess", false), calls + 1);
	logged_once("device 2 gets no access to memory that device 0 maps");
	mam_source_destroy(source);
}
END_TEST

START_TEST(requested_peer_is_not_left_out)
{
	struct cuda cuda = load_devices(4);
	struct mam_driver *driver = table();
	struct mam_source *source = made(0, 1u << 1 | 1u << 2);
	unsigned char *range = grown(source, 64 * MIB);
	struct fake_held held;

	fake = *driver;
	driver->mem_set_access = refuses_third;
	ck_assert_int_eq(mam_source_map(source, range, 2 * MIB), MAM_ERROR_DRIVER);
	cuda.fake_holds(&held);
	ck_assert_int_eq(held.handles, 0);
	ck_assert_int_eq(held.mappings, 0);
	ck_assert_ptr_nonnull(strstr(contents(log_path), "cuMemSetAccess"));
	mam_source_destroy(source);
}
END_TEST

/* The device itself must have access; a single failure removes no peer. */
START_TEST(map_fails_without_access_for_own_device)
{
	static const struct {
		const char *rule;
		enum mam_status status;
	} rules[] = { { "cuMemSetAccess:1+:2", MAM_ERROR_OUT_OF_MEMORY },
		      { "cuMemSetAccess:1+:700", MAM_ERROR_DRIVER },
		      { "cuMemSetAccess:1:2", MAM_OK } };
	struct mam_source *source;
	struct fake_held held;
	unsigned char *range;
	struct cuda cuda;

	setenv("FAKE_CUDA_FAIL_AT", rules[_i].rule, 1);
	cuda = load_devices(3);
	source = made(0, 0);
	range = grown(source, 64 * MIB);
	ck_assert_int_eq(mam_source_map(source, range, 2 * MIB), rules[_i].status);
	cuda.fake_holds(&held);
	ck_assert_int_eq(held.handles, rules[_i].status == MAM_OK);
	ck_assert_int_eq(held.mappings, rules[_i].status == MAM_OK);
	if (rules[_i].status == MAM_OK)
		ck_assert_uint_eq(access_to(&cuda, range), 0x7);
	ck_assert_ptr_null(strstr(contents(log_path), "gets no access"));
	mam_source_destroy(source);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, pools_of_two_devices_copy_to_each_other);
	tcase_add_loop_test(tests, moved_piece_keeps_access, 0, 2);
	tcase_add_test(tests, mapped_chunk_of_cudamalloc_has_access_for_all);
	tcase_add_test(tests, device_that_starts_later_has_access);
	tcase_add_loop_test(tests, attribute_or_option_can_restrict_peers, 0, 5);
	tcase_add_test(tests, device_without_peer_access_is_reported_once);
	tcase_add_test(tests, prohibited_device_is_left_out);
	tcase_add_test(tests, refused_peer_fails_no_allocation);
	tcase_add_test(tests, requested_peer_is_not_left_out);
	tcase_add_loop_test(tests, map_fails_without_access_for_own_device, 0, 3);
}

int main(void)
{
	return run_suite("source/vmm_peers", add);
}
