/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake.h - declarations shared by the files of the fake driver.
 *
 * One lock protects everything ("lock: fake"). Every entry point has the same structure:
 *  1. fake_enter() takes the lock; it fails before cuInit, and if FAKE_CUDA_FAIL_AT requests it;
 *  2. the work is done only if that returned CUDA_SUCCESS;
 *  3. fake_leave() writes the log line, releases the lock and returns the result.
 *
 * Time: no thread does the device's work. When work is submitted, the time at which it is done is
 * computed; the first driver call after that time executes it. A wait sleeps until that time. So
 * work really lags, in the same order on every run.
 */
#ifndef MAM_TESTS_FAKE_H
#define MAM_TESTS_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver_api.h"

#define FAKE_DEVICES 8
#define FAKE_SLAB ((size_t)2 << 20) /* blocks larger than half of it are multiples of it */
#define FAKE_GRANULE ((size_t)512)  /* all other blocks are multiples of this */
#define FAKE_CAPTURED UINT64_MAX    /* the due time of work that was captured into a graph */

/* The driver version; tests/fake/old is built with an older one. */
#ifndef FAKE_VERSION
#define FAKE_VERSION 13000
#endif

/* How two devices are connected. Without a link neither can access the other's memory. */
enum fake_link { FAKE_LINK_NONE, FAKE_LINK_PCIE, FAKE_LINK_NVLINK };

/* The environment, read once at the first call. lock: none, set at first call */
struct fake_knobs {
	int devices;                 /* number of devices */
	int version;                 /* result of cuDriverGetVersion */
	size_t memory[FAKE_DEVICES]; /* bytes of each device */
	uint64_t lag_ns;             /* time of one copy or fill */
	uint64_t lag_seed;           /* not 0: seed of random times up to lag_ns */
	bool host_access;            /* may host code access device memory? */
	bool sync_memops;            /* SYNC_MEMOPS of new device memory */
	uint64_t clock_ns;           /* time per call on the fake's own clock; 0: the real clock */
	int mappers;                 /* number of devices, from 0, with virtual memory management */
	enum fake_link links[FAKE_DEVICES][FAKE_DEVICES]; /* symmetric */
	uint64_t link_ns[FAKE_DEVICES][FAKE_DEVICES];     /* symmetric: additional time of work */
	int first;  /* number of the first visible device among those of the machine */
	bool hasty; /* fences and waits return before the work is done */
	int log;    /* descriptor, or -1 */
};

struct fake_device {
	size_t used;    /* allocated bytes, rounded. lock: fake */
	uintptr_t base; /* first address of the device's range. lock: none, set at cuInit */
	size_t range;   /* bytes of addresses. lock: none, set at cuInit */
	intptr_t shift; /* address + shift is where the fake itself accesses the bytes */
	int file;       /* the bytes; after them, for each slab, the exported id */
	struct CUctx_st *primary; /* never NULL. lock: none, set at cuInit */
};

/* A context; never freed, so that a stale handle is recognized. lock: fake */
struct CUctx_st {
	struct CUctx_st *next; /* list of all contexts ever created */
	int device;
	bool primary;
	bool alive;
	int broken;              /* sticky error that its calls return until it ends, or 0 */
	struct CUctx_st *parent; /* green context: the primary context, which owns its memory */
	struct CUgreenCtx_st {
		struct CUctx_st *context;
	} green;               /* its address is the handle of a green context */
	unsigned int retained; /* primary context: number of retains */
	unsigned int attached; /* number of cuCtxAttach calls */
	unsigned int flags;
	unsigned long long id; /* new each time it becomes active */
	uint64_t legacy_ns;    /* when the work of its legacy stream is done */
	uint64_t blocking_ns;  /* ... of all its blocking streams */
	uint64_t all_ns;       /* ... of everything in it */
};

/* PHYSICAL: bytes of a device without an address, from cuMemCreate; no pointer refers to them. */
enum fake_kind { FAKE_DEVICE, FAKE_MANAGED, FAKE_HOST, FAKE_PHYSICAL };

/* The origin of a block, which determines the calls that may free it. */
enum fake_origin {
	FAKE_PLAIN,      /* cuMemAlloc and similar functions */
	FAKE_ORDERED,    /* cuMemAllocAsync: its free does not wait */
	FAKE_REGISTERED, /* cuMemHostRegister: the program's own memory */
	FAKE_IMPORTED,   /* cuIpcOpenMemHandle, cuMemImportFromShareableHandle */
	FAKE_MAPPED      /* cuMemMap */
};

/* One allocation, in an array sorted by address. lock: fake */
struct fake_block {
	uintptr_t base;
	size_t bytes;   /* requested */
	size_t rounded; /* allocated */
	enum fake_kind kind;
	enum fake_origin origin;
	int device;
	bool freed; /* ORDERED: its free waits for its stream; PHYSICAL: the handle was released */
	bool sync_memops; /* set by cuPointerSetAttribute */
	bool exported;    /* an IPC handle of it was created */
	bool exportable;  /* PHYSICAL: created for export as a file descriptor */
	/* MAPPED: each device's access by cuMemSetAccess: 0 none, 1 read, 3 read and write */
	unsigned char access[FAKE_DEVICES];
	unsigned int uses;     /* PHYSICAL: number of mappings */
	unsigned int retained; /* PHYSICAL: number of releases until its handle ends */
	intptr_t shift;        /* device memory: address + shift is where the fake accesses it */
	struct CUmemPoolHandle_st *pool; /* ORDERED: its pool */
	struct CUctx_st *context; /* owner; NULL: the device, so it does not end with a context */
	uint64_t id;              /* never reused */
	uint64_t physical;        /* MAPPED: id of the bytes that back it */
};

extern struct fake_knobs fake_knobs;
extern struct fake_device fake_devices[FAKE_DEVICES];

/* entry.c */
int fake_enter(const char *name);
int fake_enter_early(const char *name); /* also before cuInit */
int fake_leave(const char *name, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void fake_lock_drop(void); /* only while sleeping */
void fake_lock_retake(void);
void fake_started(void); /* cuInit succeeded */

/* knobs.c */
void fake_knobs_read(void);
bool fake_knobs_fails(const char *name, int *result);
void fake_knobs_arm(unsigned long at, unsigned long times);
int fake_knobs_armed_failures(char *name, size_t bytes);
bool fake_knobs_breaks(const char *name, int *code);

/* device.c */
bool fake_device_valid(int device);

/* context.c */
int fake_context_current(struct CUctx_st **context);
int fake_context_check(struct CUctx_st *context);
int fake_context_prepare(void);                  /* one primary context per device */
struct CUctx_st *fake_context_start(int device); /* the primary one, retained once more */
int fake_context_make_green(int device, struct CUctx_st **context);
void fake_context_end(struct CUctx_st *context);
struct CUctx_st *fake_context_owner(struct CUctx_st *context); /* of memory allocated in it */
void fake_context_break(int code);                             /* the calling thread's */
int fake_context_broken(const char *name); /* its sticky error, if the call reports it */

/* memory.c */
struct fake_block *fake_memory_find(uintptr_t address);
void *fake_memory_reach(uintptr_t address, size_t bytes, int device, enum fake_kind *kind);
bool fake_memory_denied(uintptr_t address, size_t bytes, int device); /* mapped, without access */
void fake_memory_drop_context(struct CUctx_st *context);
int fake_memory_alloc(struct CUctx_st *context, int device, enum fake_kind kind, size_t bytes,
		      uintptr_t *address);
int fake_memory_add(struct fake_block *block); /* a block with an address; gets an id */
bool fake_memory_overlaps(uintptr_t address, size_t bytes);
void *fake_memory_place(uintptr_t address);
size_t fake_memory_extent(uintptr_t address, size_t bytes);
struct fake_block *fake_memory_next(uintptr_t address); /* the first that ends after it */
void fake_memory_release(struct fake_block *block);
void fake_memory_release_id(uint64_t id);
struct fake_block *fake_memory_of_id(uint64_t id);
int fake_memory_charge(int device, size_t bytes); /* bytes of a device without an address */
void fake_memory_uncharge(int device, size_t bytes);

void fake_memory_count(int *device_blocks, int *handles, int *mappings);

/* checkpoint.c */
int fake_checkpoint_start(void);
void fake_checkpoint_wait(void); /* until no other process holds this one's calls */

/* graph.c */
struct CUgraph_st *fake_graph_make(void); /* NULL: out of memory */

/* mempool.c */
void fake_mempool_released(
	const struct fake_block *block); /* its bytes were returned to the device */

/* array.c */
void fake_array_drop_context(struct CUctx_st *context);

/* peer.c */
bool fake_peer_linked(int device, int peer);             /* a device is linked to itself */
uint64_t fake_peer_delay(int device, uintptr_t address); /* of its work on memory there */
int fake_peer_enable(struct CUctx_st *context, struct CUctx_st *peer);
void fake_peer_drop_context(struct CUctx_st *context);

/* ipc.c */
void fake_ipc_forget(const struct fake_block *block); /* invalidates its handle */
void fake_ipc_unmap(const struct fake_block *block);

/* virtual.c */
bool fake_virtual_reserved(uintptr_t address);
struct fake_block *fake_virtual_physical(uint64_t handle); /* NULL: it was released */
void fake_virtual_unmap(const struct fake_block *block);
int fake_virtual_count(void); /* number of address reservations */

/* event.c */
int fake_event_count(void);

/* report.c */
void fake_disturb(uintptr_t address, size_t bytes); /* these bytes are freed; recorded if in use */

/* timeline.c */
uint64_t fake_now(void);
void fake_timeline_tick(void); /* a call began: advances the fake's own clock */
void fake_timeline_run(void);  /* executes due work */
void fake_timeline_wait(uint64_t until_ns);
unsigned long fake_timeline_waited(void); /* number of waits of the calling thread */
/* One end of a copy or fill: the program's address, and the location of the bytes. */
struct fake_end {
	uintptr_t address;
	void *reach;
	bool pageable; /* host memory unknown to the driver */
};

int fake_timeline_copy(uint64_t due_ns, const struct fake_end *to, const struct fake_end *from,
		       size_t bytes, bool keep);
int fake_timeline_fill(uint64_t due_ns, const struct fake_end *to, unsigned char value,
		       size_t bytes);
int fake_timeline_release(uint64_t due_ns, uint64_t block_id);
/* mam's kernel: in each of `count` ranges, find the first byte that is not 0xdb. */
int fake_timeline_check(uint64_t due_ns, const uint64_t (*ranges)[2], uint64_t *bad,
			unsigned int count);
int fake_timeline_use(uint64_t due_ns, uintptr_t address, size_t bytes); /* changes nothing */
void fake_timeline_submitter(struct CUctx_st *context);    /* of the work that is submitted next */
void fake_timeline_fault(uintptr_t address, size_t bytes); /* of unmapped memory */
int fake_timeline_touching(uintptr_t address, size_t bytes); /* number of copies and fills */
int fake_timeline_reaching(const void *place, size_t bytes, uint64_t after_ns);
void fake_timeline_forget(void); /* in the child of a fork */

/* stream.c */
int fake_stream_submit(struct CUctx_st *context, struct CUstream_st *stream, uint64_t longer_ns,
		       uint64_t *due_ns); /* longer_ns: as well as the usual time */
/* When work that is submitted now begins. */
int fake_stream_begin(struct CUctx_st *context, struct CUstream_st *stream, uint64_t *begin_ns);
int fake_stream_context(struct CUstream_st *stream, struct CUctx_st **context);
unsigned long long fake_stream_id(const struct CUstream_st *stream); /* NULL: legacy */
int fake_stream_end(struct CUctx_st *context, struct CUstream_st *stream, uint64_t *end_ns);
int fake_stream_delay(struct CUctx_st *context, struct CUstream_st *stream, uint64_t until_ns);
void fake_stream_drop_context(struct CUctx_st *context);
int fake_stream_resolve(struct CUctx_st *context, struct CUstream_st **stream);
int fake_stream_make(struct CUctx_st *context, bool non_blocking, struct CUstream_st **stream);
uint64_t fake_stream_capture(const struct CUstream_st *stream); /* an id; 0: not captured */
void fake_stream_set_capture(struct CUstream_st *stream, uint64_t id);
void fake_stream_end_capture(uint64_t id); /* for all its streams */
bool fake_stream_is_captured(uint64_t id, const struct CUctx_st *context, bool blocking_only);

/* capture.c */
int fake_capture_refuse(void); /* 900, and invalidates every live capture that forbids the call */
int fake_capture_refuse_all(struct CUctx_st *context); /* the same in any mode */
bool fake_capture_spoil(uint64_t id);                  /* invalidates it; false if it has ended */
bool fake_capture_alive(struct CUstream_st *stream);
uint64_t fake_capture_id(struct CUstream_st *stream);           /* 0: the stream is not captured */
int fake_capture_join(struct CUstream_st *stream, uint64_t id); /* by an event of that capture */
int fake_capture_refuse_legacy(struct CUctx_st *context, struct CUstream_st *stream);
bool fake_capture_blocking(
	struct CUctx_st *context); /* is there a live one in a blocking stream? */
void fake_capture_forget(struct CUstream_st *stream);

#endif
