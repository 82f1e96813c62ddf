/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.h - the functions behind ours: the C library's dlsym and _exit, and the driver calls mam makes for
 * itself.
 */
#ifndef MAM_INTERPOSE_REAL_H
#define MAM_INTERPOSE_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The lookups that the program would get without mam. Found once, by reading the symbol tables. */
struct mam_real_linker {
	void *(*dlsym)(void *handle, const char *name);
	void *(*dlvsym)(void *handle, const char *name, const char *version);
	void (*exit)(int status); /* _exit(); NULL: there is none */
};
const struct mam_real_linker *mam_real_linker(void);

/* That _exit(), without a look: NULL where nothing was looked up yet. Safe in a signal handler. */
void (*mam_real_exit(void))(int status);

/* The next definition of `name` behind this object, as RTLD_NEXT means it; NULL sets dlerror(). */
void *mam_real_next(const char *name);

/* Whether a library whose file name starts with `prefix` is in the process. */
bool mam_real_is_loaded(const char *prefix);

/*
 * A definition of `name` in a loaded library whose file name starts with `prefix`; NULL. Loads
 * nothing.
 */
void *mam_real_in(const char *prefix, const char *name);

/*
 * What mam asks the driver itself. From capture_mode on a function is NULL on drivers without it.
 */
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
	int (*pool_trim)(void *pool, size_t least_bytes);
	int (*graph_attribute)(int device, int attribute, uint64_t *value);
	int (*graph_trim)(int device);
	/*
	 * Of those that report a fault of an earlier kernel the cheapest: 14 ns, allowed in a
	 * capture.
	 */
	int (*ctx_priorities)(int *least, int *greatest);
};

/*
 * The driver's functions, once libcuda is in the process; NULL before. mam never loads it by
 * itself.
 */
const struct mam_real_driver *mam_real_driver(void);

/* What mam asks the runtime itself. */
struct mam_real_runtime {
	int (*get_device)(int *device);
	int (*device_synchronize)(void);
	int version; /* as cudaRuntimeGetVersion() says; 0: unknown */
};

/* The functions of the runtime whose cudaMalloc is behind ours; NULL: they cannot be found. */
const struct mam_real_runtime *mam_real_runtime(void);

#endif
