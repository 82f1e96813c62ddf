/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h - the CUDA driver and runtime as the bench calls them: loaded at run time, so that the
 * bench builds without a toolkit and runs without a GPU.
 *
 * All of it works in the primary context of device 0, which the runtime and mam share. A few
 * non-blocking streams of the bench stand for those of a program.
 */
#ifndef MAM_TOOLS_BENCH_DRIVER_H
#define MAM_TOOLS_BENCH_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_STREAMS 16
#define BENCH_NOT_READY 600 /* CUDA_ERROR_NOT_READY: work is in flight */

typedef unsigned long long bench_address; /* CUdeviceptr */

/* CUmemAllocationProp and CUmemAccessDesc, as in the driver since CUDA 10.2. */
struct bench_location {
	int type; /* 1: a device */
	int id;
};

struct bench_memory_kind {
	int type;         /* 1: pinned */
	int handle_types; /* 0: for this process */
	struct bench_location location;
	void *win32;
	unsigned char compression, gpudirect;
	unsigned short usage;
	unsigned char reserved[4];
};

struct bench_access {
	struct bench_location location;
	int flags; /* 3: read and write */
};

struct bench_driver {
	int (*init)(unsigned int flags);
	int (*device_get)(int *device, int ordinal);
	int (*device_name)(char *name, int bytes, int device);
	int (*driver_version)(int *version);
	int (*context_retain)(void **context, int device);
	int (*context_set)(void *context);
	int (*memory_info)(size_t *free_bytes, size_t *total_bytes);
	int (*stream_create)(void **stream, unsigned int flags);
	int (*stream_wait)(void *stream);
	int (*stream_query)(void *stream);
	int (*alloc)(bench_address *block, size_t bytes);
	int (*release)(bench_address block);
	/* the following may be NULL: older drivers lack it */
	int (*alloc_pinned)(void **block, size_t bytes, unsigned int flags);
	int (*release_pinned)(void *block);
	int (*alloc_managed)(bench_address *block, size_t bytes, unsigned int flags);
	int (*alloc_async)(bench_address *block, size_t bytes, void *stream);
	int (*release_async)(bench_address block, void *stream);
	int (*default_pool)(void **pool, int device);
	int (*pool_set)(void *pool, int attribute, void *value);
	int (*pool_get)(void *pool, int attribute, void *value);
	int (*pool_trim)(void *pool, size_t keep_bytes);
	int (*module_load)(void **module, const void *image);
	int (*module_function)(void **function, void *module, const char *name);
	int (*function_attribute)(int *value, int attribute, void *function);
	int (*device_attribute)(int *value, int attribute, int device);
	int (*occupancy)(int *blocks, void *function, int threads, size_t shared_bytes);
	int (*launch)(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		      unsigned int block_x, unsigned int block_y, unsigned int block_z,
		      unsigned int shared_bytes, void *stream, void **parameters, void **extra);
	int (*fill_async)(bench_address block, unsigned char value, size_t bytes, void *stream);
	int (*copy_in_async)(bench_address to, const void *from, size_t bytes, void *stream);
	int (*copy_out_async)(void *to, bench_address from, size_t bytes, void *stream);
	int (*copy_async)(bench_address to, bench_address from, size_t bytes, void *stream);
	int (*event_create)(void **event, unsigned int flags);
	int (*event_record)(void *event, void *stream);
	int (*event_query)(void *event);
	int (*event_elapsed)(float *milliseconds, void *before, void *behind);
	int (*limit_get)(size_t *value, int limit);
	int (*limit_set)(int limit, size_t value);
	int (*reserve)(bench_address *base, size_t bytes, size_t alignment, bench_address hint,
		       unsigned long long flags);
	int (*unreserve)(bench_address base, size_t bytes);
	int (*create)(unsigned long long *handle, size_t bytes,
		      const struct bench_memory_kind *kind, unsigned long long flags);
	int (*map)(bench_address base, size_t bytes, size_t offset, unsigned long long handle,
		   unsigned long long flags);
	int (*access)(bench_address base, size_t bytes, const struct bench_access *access,
		      size_t count);
	int (*unmap)(bench_address base, size_t bytes);
	int (*destroy)(unsigned long long handle);
};

/* libcudart's calls, for peers that programs use through it. */
struct bench_runtime {
	int (*alloc)(void **block, size_t bytes);
	int (*release)(void *block);
	int (*alloc_pinned)(void **block, size_t bytes, unsigned int flags);
	int (*release_pinned)(void *block);
	int (*alloc_managed)(void **block, size_t bytes, unsigned int flags);
	/* since CUDA 11.2; NULL before */
	int (*alloc_async)(void **block, size_t bytes, void *stream);
	int (*release_async)(void *block, void *stream);
};

extern struct bench_driver bench_driver;
extern struct bench_runtime bench_runtime;

/* bench_driver_start - load the driver, once. Returns false with one sentence in `why`. */
bool bench_driver_start(char *why, size_t why_bytes);
/* bench_driver_has_runtime - return true if a libcudart was found that works with this driver */
bool bench_driver_has_runtime(void);
/* bench_driver_enter - make the context current in the calling thread */
bool bench_driver_enter(void);
void *bench_driver_stream(size_t which); /* below BENCH_STREAMS */
void *bench_driver_pool(void); /* the default memory pool of the device; NULL: it has none */

/*
 * bench_driver_busy - submit work to a stream that takes `ns` nanoseconds and accesses no memory: a
 * kernel that polls the clock or, if no kernel can be loaded, a fill. Returns false if neither
 * works.
 */
bool bench_driver_busy(size_t which, uint64_t ns);

#endif
