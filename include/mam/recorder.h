/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder.h - between libmam.so in the program and libmam-preload.so, which writes traces and
 * profiles. Each has a copy of mam's code and may be of another version; not installed.
 *
 *   1. libmam.so passes a function to mam_interpose_join(), once.
 *   2. libmam-preload.so calls it with true when a trace begins, and with false when it ends. The
 *      same applies to --leaks, and to tags.
 *   3. Meanwhile libmam.so passes what happens to blocks of its pools to mam_interpose_record().
 *   4. Under mam run, its chunks are allocations of the program like others, which mam run's pools
 *      serve. They must not be in a trace that has their blocks. So libmam.so calls
 *      mam_interpose_chunk_*() instead of the driver.
 *
 * Under mam run, libmam.so finds these functions in the process. Otherwise mam_profile_start() loads
 * libmam-preload.so, which then replaces none of CUDA's functions, and calls mam_interpose_alone()
 * first.
 */
#ifndef MAM_RECORDER_H
#define MAM_RECORDER_H

#include <stdbool.h>
#include <stddef.h>

#include <mam/mam.h>

#define MAM_RECORDER_EXPORT __attribute__((visibility("default")))

enum mam_record_kind {
	MAM_RECORD_ALLOC,    /* after it: the program owns the block */
	MAM_RECORD_FREE,     /* before it */
	MAM_RECORD_POOL_GONE /* with all its blocks */
};

/* If it changes, so does the name of mam_interpose_record(): then copies of other versions do not join. */
struct mam_record {
	enum mam_record_kind kind;
	int device;        /* -1: not on a device */
	const void *pool;  /* distinguishes pools */
	const void *block; /* NULL: none */
	size_t bytes;      /* as requested */
	const void *stream;
	const char *tags; /* of the thread (mam/tag.h), which stay valid; NULL: none */
};

/* Any thread, no lock of either copy held. */
MAM_RECORDER_EXPORT void mam_interpose_record(const struct mam_record *record);

/* Calls `listen` at once if there is a trace. `listen` may be called anywhere and takes no lock. */
MAM_RECORDER_EXPORT void mam_interpose_join(void (*listen)(bool on));

/* As cuMemAlloc(), cuMemFree() and cuMemCreate(). */
MAM_RECORDER_EXPORT unsigned int mam_interpose_chunk_alloc(unsigned long long *address,
							   size_t bytes);
MAM_RECORDER_EXPORT unsigned int mam_interpose_chunk_free(unsigned long long address);
MAM_RECORDER_EXPORT unsigned int mam_interpose_chunk_create(unsigned long long *handle,
							    size_t bytes, const void *properties,
							    unsigned long long flags);

/* libmam-preload.so was loaded to record, and for nothing else. */
MAM_RECORDER_EXPORT void mam_interpose_alone(void);

/* mam_profile_start(), mam_profile_dump() and mam_profile_stop() of this process. */
MAM_RECORDER_EXPORT enum mam_status mam_interpose_profile_start(const char *file, uint64_t rate);
MAM_RECORDER_EXPORT enum mam_status mam_interpose_profile_dump(void);
MAM_RECORDER_EXPORT enum mam_status mam_interpose_profile_stop(void);

#endif
