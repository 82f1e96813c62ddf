/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plug_torch.c - the plug of PyTorch (<mam/plug.h>).
 *
 * PyTorch does not check the returned pointer. A tensor at address 0 would fail in its first
 * kernel, with an error that destroys the context. So if there is no memory, mam_torch_alloc()
 * throws PyTorch's own exception: it looks up the function that PyTorch's checks call in PyTorch's
 * library, which is loaded if PyTorch is the caller. mam has nothing to unwind between the two.
 * Without that function mam_torch_alloc() returns NULL.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>

#include "api/plug.h"
#include "api/plug_join.h"

#define DEVICES_MAX 256 /* devices that empty_cache handles */

/* Devices that were used in an allocation. atomic */
static _Atomic bool used[DEVICES_MAX];

/* The pool of mam_plug_pool(). NULL: none. */
static _Thread_local struct {
	struct mam_pool *pool;
	int device;
} chosen __attribute__((tls_model("initial-exec")));

/* Whether any thread has called mam_plug_pool(): then a block may be of no default pool. atomic */
static _Atomic bool any_chosen;

void mam_plug_pool(struct mam_pool *pool, int device)
{
	atomic_store_explicit(&any_chosen, true, memory_order_relaxed);
	chosen.pool = pool;
	chosen.device = device;
}

/*
 * c10::detail::torchCheckFail(const char *function, const char *file, uint32_t line,
 * const char *message), which does not return.
 */
#define RAISE_LIBRARY "libc10.so"
#define RAISE_SYMBOL "_ZN3c106detail14torchCheckFailEPKcS2_jS2_"

typedef void raise_fn(const char *function, const char *file, uint32_t line, const char *message);

static void raise_no_memory(ssize_t bytes, int device, enum mam_status status)
{
	void *library = dlopen(RAISE_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
	raise_fn *raise = library ? (raise_fn *)dlsym(library, RAISE_SYMBOL) : NULL;
	char message[256];

	snprintf(message, sizeof(message),
		 "CUDA out of memory. Tried to allocate %zd bytes on device %d from mam: %s", bytes,
		 device, mam_strerror(status));
	if (library)
		dlclose(library); /* the program still holds a reference */
	if (raise)
		raise("mam_torch_alloc", "mam/plug.h", 0, message);
}

static enum mam_status alloc(const char *name, ssize_t bytes, int device,
			     struct CUstream_st *stream, void **block)
{
	bool is_listed = device >= 0 && device < DEVICES_MAX;
	bool is_used = is_listed && atomic_load_explicit(&used[device], memory_order_relaxed);
	enum mam_status status;

	if (bytes == 0)
		return MAM_OK;
	if (chosen.pool && chosen.device == device)
		return mam_plug_alloc_from(name, chosen.pool, (size_t)bytes, stream, block);
	if (!is_used)
		(void)mam_plug_source(NULL);
	/* Negative sizes become larger than any memory. */
	status = mam_plug_alloc(name, (size_t)bytes, device, stream, block);
	if (status == MAM_OK && is_listed && !is_used)
		atomic_store_explicit(&used[device], true, memory_order_relaxed);
	return status;
}

void *mam_torch_alloc(ssize_t bytes, int device, struct CUstream_st *stream)
{
	void *block = NULL;
	enum mam_status status = alloc("mam_torch_alloc", bytes, device, stream, &block);

	if (status != MAM_OK)
		raise_no_memory(bytes, device, status);
	return block;
}

void *mam_torch_pool_alloc(ssize_t bytes, int device, struct CUstream_st *stream)
{
	void *block = NULL;

	(void)alloc("mam_torch_pool_alloc", bytes, device, stream, &block);
	return block;
}

void mam_torch_free(void *block, ssize_t bytes, int device, struct CUstream_st *stream)
{
	(void)bytes; /* mam knows */
	stream = mam_plug_free_order(stream);
	if (mam_plug_join_free(block, device, stream))
		return;
	if (atomic_load_explicit(&any_chosen, memory_order_relaxed))
		mam_plug_free_to_owner("mam_torch_free", block, stream);
	else
		mam_plug_free("mam_torch_free", block, device, stream);
}

void mam_torch_record_stream(void *block, struct CUstream_st *stream)
{
	if (block)
		mam_plug_join_record(block, stream);
}

void mam_torch_empty_cache(void)
{
	struct mam_pool *pool;

	for (int device = 0; device < DEVICES_MAX; device++) {
		if (atomic_load_explicit(&used[device], memory_order_relaxed) &&
		    mam_pool_default(device, &pool) == MAM_OK)
			mam_pool_trim(pool, 0, NULL);
	}
}
