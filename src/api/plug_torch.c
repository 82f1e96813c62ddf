/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plug_torch.c - the plug of PyTorch (<mam/plug.h>).
 *
 * PyTorch takes what the allocator returns without a look, and a tensor at address 0 would fail in
 * its first kernel, with an error that ends the context. So where there is no memory an exception
 * of PyTorch's own leaves mam_torch_alloc(): the function that its checks end in is looked for in
 * its library, which is loaded if it is PyTorch that calls. Nothing of mam stands between the two
 * that would have to be undone. Without that function the answer is NULL.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>

#include "api/plug.h"
#include "api/plug_join.h"

#define DEVICES_MOST 256 /* of which empty_cache knows */

/* Devices that were ever allocated from. atomic */
static _Atomic bool used[DEVICES_MOST];

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
		dlclose(library); /* one of two or more: it stays */
	if (raise)
		raise("mam_torch_alloc", "mam/plug.h", 0, message);
}

static enum mam_status alloc(const char *name, ssize_t bytes, int device,
			     struct CUstream_st *stream, void **block)
{
	enum mam_status status;

	if (bytes == 0)
		return MAM_OK;
	/* Sizes below 0 come out as more than there can be. */
	status = mam_plug_alloc(name, (size_t)bytes, device, stream, block);
	if (status == MAM_OK && device >= 0 && device < DEVICES_MOST &&
	    !atomic_load_explicit(&used[device], memory_order_relaxed))
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
	if (!mam_plug_join_free(block, device, stream))
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

	for (int device = 0; device < DEVICES_MOST; device++) {
		if (atomic_load_explicit(&used[device], memory_order_relaxed) &&
		    mam_pool_default(device, &pool) == MAM_OK)
			mam_pool_trim(pool, 0, NULL);
	}
}
