/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.h - the originals of our functions: the C library's dlsym and _exit, and the driver calls
 * that mam makes itself.
 */
#ifndef MAM_INTERPOSE_REAL_H
#define MAM_INTERPOSE_REAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The functions that the program would find without mam. Found once, by reading the symbol tables.
 */
struct mam_real_linker {
	void *(*dlsym)(void *handle, const char *name);
	void *(*dlvsym)(void *handle, const char *name, const char *version);
	void (*exit)(int status); /* _exit(); NULL if there is none */
};
const struct mam_real_linker *mam_real_linker(void);

/* Returns that _exit() without a lookup: NULL before the first lookup. Safe in a signal handler. */
void (*mam_real_exit(void))(int status);

/*
 * Returns the next definition of `name` after this object, as RTLD_NEXT does; NULL sets dlerror().
 */
void *mam_real_next(const char *name);

/* Whether a library whose file name starts with `prefix` is loaded in the process. */
bool mam_real_is_loaded(const char *prefix);

/* Whether a function is in a library whose file name starts with `prefix`. */
bool mam_real_contains(const char *prefix, const void *function);

/*
 * Returns a definition of `name` in a loaded library whose file name starts with `prefix`, or NULL.
 * Does not load any library.
 */
void *mam_real_in(const char *prefix, const char *name);

/* The driver functions that mam calls. Those from capture_mode to the end may be NULL. */
struct mam_real_driver {
	int (*ctx_current)(void **context);
	int (*ctx_push)(void *context);
	int (*ctx_pop)(void **context);
	int (*ctx_device)(int *device);
	int (*ctx_synchronize)(void);
	int (*primary_state)(int device, unsigned int *flags, int *active);
	int (*primary_retain)(void **context, int device);
	int (*primary_release)(int device);
	int (*capture_mode)(int *mode);
	int (*is_capturing)(void *stream, int *status);
	int (*stream_context)(void *stream, void **context);
	int (*pointer_attribute)(void *value, int attribute, unsigned long long address);
	int (*event_create)(void **event, unsigned int flags);
	int (*event_destroy)(void *event);
	int (*event_record)(void *event, void *stream);
	int (*event_query)(void *event);
	int (*ctx_record_event)(void *context, void *event);
	int (*default_pool)(void **pool, int device);
	int (*current_pool)(void **pool, int device);
	int (*pool_trim)(void *pool, size_t min_bytes);
	int (*graph_attribute)(int device, int attribute, uint64_t *value);
	int (*graph_trim)(int device);
	int (*ctx_id)(void *context, unsigned long long *id);
	int (*device_count)(int *count);
	int (*device_uuid)(void *uuid, int device); /* 16 bytes */
	int (*device_attribute)(int *value, int attribute, int device);
	int (*can_access_peer)(int *can, int device, int peer);
	int (*mem_reserve)(unsigned long long *address, size_t bytes, size_t alignment,
			   unsigned long long hint, unsigned long long flags);
	int (*mem_unreserve)(unsigned long long address, size_t bytes);
	int (*mem_set_access)(unsigned long long address, size_t bytes, const void *access,
			      size_t count);
	int (*mem_properties)(void *properties, unsigned long long handle);
	int (*mem_export)(void *shareable, unsigned long long handle, int kind,
			  unsigned long long flags);
	int (*mem_import)(unsigned long long *handle, void *shareable, int kind);
	/*
	 * The cheapest function that reports a fault of an earlier kernel: 14 ns, allowed during a
	 * capture.
	 */
	int (*ctx_priorities)(int *min, int *greatest);
};

/*
 * Returns the driver's functions, or NULL before libcuda is loaded. mam never loads libcuda itself.
 */
const struct mam_real_driver *mam_real_driver_slow(void);

/* atomic; NULL: not looked up yet */
extern const struct mam_real_driver *_Atomic mam_real_driver_known
	__attribute__((visibility("hidden")));

static inline const struct mam_real_driver *mam_real_driver(void)
{
	const struct mam_real_driver *known =
		atomic_load_explicit(&mam_real_driver_known, memory_order_acquire);

	return known != NULL ? known : mam_real_driver_slow();
}

/* The runtime functions that mam calls. */
struct mam_real_runtime {
	int (*get_device)(int *device);
	int (*device_synchronize)(void);
	int version; /* of cudaRuntimeGetVersion(); 0: unknown */
};

/*
 * Returns the functions of the runtime whose cudaMalloc is our original; NULL if they are not
 * found.
 */
const struct mam_real_runtime *mam_real_runtime_slow(void);

/* atomic; NULL: not looked up yet */
extern const struct mam_real_runtime *_Atomic mam_real_runtime_known
	__attribute__((visibility("hidden")));

static inline const struct mam_real_runtime *mam_real_runtime(void)
{
	const struct mam_real_runtime *known =
		atomic_load_explicit(&mam_real_runtime_known, memory_order_acquire);

	return known != NULL ? known : mam_real_runtime_slow();
}

#endif
