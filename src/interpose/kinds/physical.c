/* SPDX-License-Identifier: Apache-2.0 */
/*
 * physical.c - cuMemCreate, cuMemRelease, cuMemMap and cuMemUnmap: physical memory that programs
 * map themselves, as XLA and PyTorch's expandable segments do. It is counted and limited, but not
 * pooled.
 *
 * It belongs to the device that its properties name, and to no context. It stays on the account
 * until its last reference is dropped (refs.h). A handle obtained by an import refers to memory of
 * another process, which accounts for it.
 *
 * Pools may map memory, too (--source=vmm). Their blocks are blocks of cuMemAlloc to the program, so
 * the functions for mapped memory, cuMemSetAccess and cuMemGetAccess among them, reject them: the
 * driver receives an address that is never mapped.
 */
#include "interpose/kinds/refs.h"
#include "interpose/memory/pass.h"
#include "interpose/memory/pools.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"

/* The start of a CUmemAllocationProp. */
struct properties {
	int type;
	int handle_types;
	int location_type; /* 1: a device; any other value: host memory */
	int location_id;
};

#define LOCATION_DEVICE 1
#define UNUSED_ADDRESS 512

struct arguments {
	const void *properties;
	unsigned long long flags;
	unsigned long long *handle; /* out */
};

/* The key is the memory's number instead of its handle: see refs.h. */
static int ask(void *user, size_t bytes, uint64_t *key)
{
	struct arguments *arguments = user;
	int answer = MAM_TABLE_ORIGINAL(cuMemCreate)(arguments->handle, bytes,
						     arguments->properties, arguments->flags);

	if (answer == MAM_CUDA_SUCCESS)
		*key = mam_refs_create(*arguments->handle);
	return answer;
}

static int create(enum mam_road road, unsigned long long *handle, size_t bytes,
		  const void *properties, unsigned long long flags)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemCreate) real = MAM_TABLE_ORIGINAL(cuMemCreate);
	const struct properties *where = properties;
	struct arguments arguments = { properties, flags, handle };
	struct mam_pass pass = { .function = MAM_TABLE_cuMemCreate,
				 .road = road,
				 .kind = MAM_ACCOUNT_PHYSICAL,
				 .bytes = bytes,
				 .taken = bytes,
				 .is_placed = true,
				 .ask = ask,
				 .arguments = &arguments };

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes() || handle == NULL || bytes == 0 || where == NULL)
		return real(handle, bytes, properties, flags);
	pass.device = where->location_id;
	if (where->location_type != LOCATION_DEVICE) {
		pass.kind = MAM_ACCOUNT_HOST;
		pass.device = -1;
	}
	return mam_pass_alloc(&pass);
}

int cuMemCreate(unsigned long long *handle, size_t bytes, const void *properties,
		unsigned long long flags)
{
	return create(mam_road_taken(), handle, bytes, properties, flags);
}
MAM_THUNK(cuMemCreate);

static void gone(uint64_t piece)
{
	if (mam_account_drop(piece, MAM_ACCOUNT_PHYSICAL) == 0)
		mam_account_drop(piece, MAM_ACCOUNT_HOST);
}

static int release(enum mam_road road, unsigned long long handle)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemRelease) real = MAM_TABLE_ORIGINAL(cuMemRelease);
	uint64_t piece;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	if (mam_init_passes())
		return real(handle);
	mam_init_depth++;
	piece = mam_refs_of(handle);
	answer = real(handle);
	if (answer == MAM_CUDA_SUCCESS && mam_refs_release(piece))
		gone(piece);
	mam_pass_watch(MAM_TABLE_cuMemRelease, road, MAM_WHY_KIND, answer);
	mam_init_depth--;
	return answer;
}

int cuMemRelease(unsigned long long handle)
{
	return release(mam_road_taken(), handle);
}
MAM_THUNK(cuMemRelease);

/* Returns the address for the driver: that of the program unless it is in a pool. */
static unsigned long long outside_pools(unsigned long long address)
{
	bool is_pooled = !mam_init_passes() && mam_pools_exist() &&
			 mam_owner((void *)(uintptr_t)address, NULL, NULL) == MAM_OK;

	return is_pooled ? UNUSED_ADDRESS : address;
}

int cuMemRetainAllocationHandle(unsigned long long *handle, void *address)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemRetainAllocationHandle) real =
		MAM_TABLE_ORIGINAL(cuMemRetainAllocationHandle);
	int answer = MAM_CUDA_NOT_INITIALIZED;

	if (real != NULL)
		answer = real(handle, (void *)(uintptr_t)outside_pools((uintptr_t)address));
	if (answer == MAM_CUDA_SUCCESS && !mam_init_passes())
		mam_refs_retain(*handle, (uintptr_t)address);
	return answer;
}

int cuMemMap(unsigned long long address, size_t bytes, size_t offset, unsigned long long handle,
	     unsigned long long flags)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemMap) real = MAM_TABLE_ORIGINAL(cuMemMap);
	int answer = real == NULL ? MAM_CUDA_NOT_INITIALIZED
				  : real(address, bytes, offset, handle, flags);

	if (answer == MAM_CUDA_SUCCESS && !mam_init_passes())
		mam_refs_map(address, bytes, handle);
	return answer;
}

int cuMemUnmap(unsigned long long address, size_t bytes)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemUnmap) real = MAM_TABLE_ORIGINAL(cuMemUnmap);
	int answer = MAM_CUDA_NOT_INITIALIZED;

	if (real != NULL)
		answer = real(outside_pools(address), bytes);
	if (answer == MAM_CUDA_SUCCESS && !mam_init_passes())
		mam_refs_unmap(address, bytes, gone);
	return answer;
}

int cuMemSetAccess(unsigned long long address, size_t bytes, const void *access, size_t count)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemSetAccess) real = MAM_TABLE_ORIGINAL(cuMemSetAccess);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED
			    : real(outside_pools(address), bytes, access, count);
}

int cuMemGetAccess(unsigned long long *flags, const void *location, unsigned long long address)
{
	MAM_GATE_PASS();
	__typeof__(&cuMemGetAccess) real = MAM_TABLE_ORIGINAL(cuMemGetAccess);

	return real == NULL ? MAM_CUDA_NOT_INITIALIZED
			    : real(flags, location, outside_pools(address));
}
