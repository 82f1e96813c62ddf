/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake.h - what the files of the fake driver share.
 *
 * One lock guards everything ("lock: fake"). Every entry point has the same shape:
 *   1. fake_enter() takes the lock; it refuses before cuInit, and when FAKE_CUDA_FAIL_AT says so;
 *   2. the work is done only if that answered CUDA_SUCCESS;
 *   3. fake_leave() writes the log line, lets the lock go and returns the result.
 *
 * Time. No thread does the device's work. Each piece of work gets the moment at which it is
 * done when it is submitted; it is carried out by the first driver call that notices that the
 * moment has passed. A wait sleeps until the moment. So work lags for real, in the same order
 * on every run.
 */
#ifndef MAM_TESTS_FAKE_H
#define MAM_TESTS_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver_api.h"

#define FAKE_DEVICES 8
#define FAKE_SLAB ((size_t)2 << 20) /* blocks over half of it are multiples of it */
#define FAKE_GRANULE ((size_t)512)  /* all other blocks are multiples of this */
#define FAKE_CAPTURED UINT64_MAX    /* the moment of work that went into a graph */

/* The environment, read once at the first call. lock: none, set at first call */
struct fake_knobs {
	int devices;                 /* how many there are */
	int version;                 /* what cuDriverGetVersion says */
	size_t memory[FAKE_DEVICES]; /* bytes of each device */
	uint64_t lag_ns;             /* how long one piece of work takes */
	bool host_access;            /* may the program touch device memory? */
	int log;                     /* descriptor, or -1 */
};

struct fake_device {
	size_t used;    /* bytes given out, rounded. lock: fake */
	uintptr_t base; /* first address of the device's range. lock: none, set at cuInit */
	size_t range;   /* bytes of addresses. lock: none, set at cuInit */
	intptr_t shift; /* address + shift is where the fake itself reaches the bytes */
	int file;       /* the bytes */
	struct CUctx_st *primary; /* never NULL. lock: none, set at cuInit */
};

/* A context; never freed, so a stale handle is told from a live one. lock: fake */
struct CUctx_st {
	struct CUctx_st *next; /* all contexts ever made */
	int device;
	bool primary;
	bool alive;
	unsigned int retained; /* primary: how often */
	unsigned int flags;
	unsigned long long id; /* new each time it comes alive */
	uint64_t legacy_ns;    /* when the work of its legacy stream is done */
	uint64_t blocking_ns;  /* ... of all its blocking streams */
	uint64_t all_ns;       /* ... of everything in it */
};

enum fake_kind { FAKE_DEVICE, FAKE_MANAGED, FAKE_HOST };

/* One allocation, in an array sorted by address. lock: fake */
struct fake_block {
	uintptr_t base;
	size_t bytes;   /* as asked */
	size_t rounded; /* as taken */
	enum fake_kind kind;
	bool ordered; /* by cuMemAllocAsync: its free does not wait */
	bool freed;   /* by cuMemFreeAsync, which waits for its stream */
	struct CUctx_st *context;
	uint64_t id; /* never given twice */
};

extern struct fake_knobs fake_knobs;
extern struct fake_device fake_devices[FAKE_DEVICES];

/* entry.c */
int fake_enter(const char *name);
int fake_enter_early(const char *name); /* also before cuInit */
int fake_leave(const char *name, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void fake_lock_drop(void); /* while sleeping only */
void fake_lock_retake(void);
void fake_started(void); /* cuInit succeeded */

/* knobs.c */
void fake_knobs_read(void);
bool fake_knobs_fails(const char *name, int *result);

/* device.c */
bool fake_device_valid(int device);

/* context.c */
int fake_context_current(struct CUctx_st **context);
int fake_context_check(struct CUctx_st *context);
int fake_context_prepare(void); /* a primary context for each device */

/* memory.c */
struct fake_block *fake_memory_find(uintptr_t address);
void *fake_memory_reach(uintptr_t address, size_t bytes, enum fake_kind *kind);
void fake_memory_drop_context(struct CUctx_st *context);
int fake_memory_alloc(struct CUctx_st *context, enum fake_kind kind, size_t bytes,
		      uintptr_t *address);
void fake_memory_release(struct fake_block *block);
void fake_memory_release_id(uint64_t id);

/* timeline.c */
uint64_t fake_now(void);
void fake_timeline_run(void); /* carry out what is due */
void fake_timeline_wait(uint64_t until_ns);
int fake_timeline_copy(uint64_t due_ns, void *to, const void *from, size_t bytes, bool keep);
int fake_timeline_fill(uint64_t due_ns, void *to, unsigned char value, size_t bytes);
int fake_timeline_release(uint64_t due_ns, uint64_t block_id);
void fake_timeline_forget(void); /* child of a fork */

/* stream.c */
int fake_stream_submit(struct CUctx_st *context, struct CUstream_st *stream, uint64_t *due_ns);
int fake_stream_context(struct CUstream_st *stream, struct CUctx_st **context);
int fake_stream_end(struct CUctx_st *context, struct CUstream_st *stream, uint64_t *end_ns);
int fake_stream_delay(struct CUctx_st *context, struct CUstream_st *stream, uint64_t until_ns);
void fake_stream_drop_context(struct CUctx_st *context);
void fake_stream_set_capturing(struct CUstream_st *stream, bool capturing);

/* capture.c */
int fake_capture_refuse(void); /* 900, and every live capture that minds is spoilt */
int fake_capture_refuse_all(struct CUctx_st *context); /* the same whatever the mode */
bool fake_capture_alive(struct CUstream_st *stream);
void fake_capture_forget(struct CUstream_st *stream);

#endif
