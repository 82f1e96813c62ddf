/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statpage.h - the statistics page of a process: counters in a shared file, which other processes
 * of the same user read while the program runs and after it was killed. The library and the
 * interposer write it, and `mam info --stats` reads it; not installed.
 *
 *   place    $XDG_RUNTIME_DIR/mam/PID-START-N, or without that variable /dev/shm/mam-UID/ and the
 *            same name. START is the process's start time, N counts the copies of the library in
 *            one process. The folder has mode 0700 and the file 0600. If the file cannot be
 *            created, the counters are in memory of the process alone, without a message.
 *   end      A process that exits removes its page. That of a killed process stays; a process that
 *            creates a page removes those of dead processes, except the newest 32.
 *   fork     The child gets a private copy of the counters as they were at the fork, except the
 *            calls of threads, and a file of its own when it creates a pool.
 *   exec     The page stays, and ends with the process.
 *
 * Writers take no lock and use no locked instruction for it:
 *   1. A thread cache's tally, and a thread's calls, are written by that thread alone.
 *   2. The counts of a pool are published by the thread that is about to release the pool's lock.
 *      There are two versions; `sequence` modulo 2 selects the valid one, and is written last. So a
 *      reader never waits, and a process that is killed at any instruction leaves a valid version.
 *   3. A thread that adds its tally to the counts publishes them with the tally's number and
 *      generation, and only then clears the tally and increments its generation. A reader skips a
 *      tally that the counts include.
 * So the figures of a killed process include every completed call. Of a call in progress they may
 * include a part.
 *
 * Call sites are written only while they are sampled (interpose/watch/sites.h), under a lock of the
 * writers. A reader takes no lock: it skips a site whose sequence is odd or has changed.
 *
 * Byte order and sizes are those of the machine; `magic` identifies them and the version.
 */
#ifndef MAM_STATPAGE_H
#define MAM_STATPAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
typedef uint64_t mam_statpage_word;
typedef uint32_t mam_statpage_half;
#else
typedef _Atomic uint64_t mam_statpage_word;
typedef _Atomic uint32_t mam_statpage_half;
#endif

#define MAM_STATPAGE_MAGIC 0x31746174736d616du /* "mamstat1" */
#define MAM_STATPAGE_BYTES ((size_t)256 << 10) /* of the file */
#define MAM_STATPAGE_POOLS 64
#define MAM_STATPAGE_TALLIES 256
#define MAM_STATPAGE_CALLERS 64
#define MAM_STATPAGE_DEVICES 64
#define MAM_STATPAGE_KINDS 8 /* of memory: enum mam_account_kind of the interposer */
#define MAM_STATPAGE_FATES 3 /* of calls: enum mam_fate of the interposer */
#define MAM_STATPAGE_SITES 128
#define MAM_STATPAGE_SITE_NAME 160 /* bytes, a multiple of 8 */

/* A thread's use of its cache since it last flushed its tally to the pool (pool/batch.h). */
struct mam_tally {
	/*
	 * current count of the callers' blocks minus the count at the flush; each with its peak
	 * since
	 */
	int64_t blocks, peak_blocks;   /* count */
	int64_t bytes, peak_bytes;     /* requested */
	int64_t rounded, peak_rounded; /* rounded to granules */
	/* the same for retired blocks that the thread keeps, within the free ones */
	int64_t kept_blocks;                 /* count */
	int64_t kept_bytes, peak_kept_bytes; /* rounded to granules */
	uint64_t allocs, frees;              /* count */
	/* out: values of the pool at the last flush */
	uint64_t reserved_bytes;
	uint64_t live_bytes; /* rounded */
	uint64_t high_bytes; /* sum of the chunks' high marks */

	mam_statpage_word generation; /* count of flushes */
	uint32_t number;              /* index on the page + 1; 0: not on the page */
	mam_statpage_half pool;       /* index of the pool + 1; 0: not in use */
};

/* Of struct mam_stats. */
struct mam_statpage_counts {
	mam_statpage_word live_blocks, live_bytes, live_rounded_bytes, peak_live_bytes;
	mam_statpage_word cached_bytes, retired_bytes, peak_retired_bytes;
	mam_statpage_word reserved_bytes, peak_reserved_bytes;
	mam_statpage_word allocs, frees, failures, driver_calls, driver_ns;
	mam_statpage_word flushed;            /* number of the tally that was added last; 0: none */
	mam_statpage_word flushed_generation; /* its generation then */
};

enum mam_statpage_state {
	MAM_STATPAGE_FREE = 0,
	MAM_STATPAGE_READY = 1,
	MAM_STATPAGE_ENDED = 2 /* its counts remain until the place is needed */
};

struct mam_statpage_pool {
	mam_statpage_word sequence; /* count of versions */
	mam_statpage_half state;    /* enum mam_statpage_state */
	int32_t device;
	char name[32], source[32];
	char reserved[48];
	struct mam_statpage_counts counts[2];
};

/* Memory of a device that intercepted calls hold (interpose/memory/account.h). */
struct mam_statpage_device {
	mam_statpage_word now[MAM_STATPAGE_KINDS];  /* bytes */
	mam_statpage_word peak[MAM_STATPAGE_KINDS]; /* bytes */
	mam_statpage_word together, peak_together;  /* limited bytes */
	mam_statpage_word other;                    /* bytes, when last queried */
};

/* The calls of one thread by device; the last entry: unknown device. */
struct mam_statpage_caller {
	mam_statpage_word taken; /* 1: it is in use */
	struct {
		mam_statpage_word calls[MAM_STATPAGE_FATES];
		mam_statpage_word bytes; /* requested by allocations that succeeded */
	} devices[MAM_STATPAGE_DEVICES + 1];
} __attribute__((aligned(64)));

/* An estimate of live memory, from a sample of its blocks. */
struct mam_statpage_estimate {
	mam_statpage_word bytes;    /* requested */
	mam_statpage_word blocks;   /* count in units of 1 / 1024 */
	mam_statpage_word variance; /* of the bytes, in units of 4096^2 */
};

/* A call site that allocates memory of a device. */
struct mam_statpage_site {
	mam_statpage_word sequence; /* 0: not in use; odd: the site is being changed */
	struct mam_statpage_estimate live;
	mam_statpage_word device;
	mam_statpage_word name[MAM_STATPAGE_SITE_NAME / 8]; /* characters, filled up with zeros */
};

/* The call sites that hold most memory of the interposer's pools (interpose/watch/sites.h). */
struct mam_statpage_sites {
	mam_statpage_word since; /* when sampling began, in seconds since 1970; 0: no sampling */
	struct mam_statpage_estimate others[MAM_STATPAGE_DEVICES]; /* all further ones */
	struct mam_statpage_site sites[MAM_STATPAGE_SITES];
};

struct mam_statpage {
	uint64_t magic;
	uint64_t bytes;         /* MAM_STATPAGE_BYTES */
	uint64_t pid, start;    /* the process, and its start time, as the system counts it */
	uint64_t rank;          /* of a parallel program, + 1; 0: none */
	char program[64];       /* its name, or that of a Python script; filled up with zeros */
	mam_statpage_word past; /* see mam_statpage_sum() */
	struct mam_statpage_counts ended[2];
	/* No two threads write one cache line. */
	struct mam_statpage_pool pools[MAM_STATPAGE_POOLS] __attribute__((aligned(128)));
	struct mam_tally tallies[MAM_STATPAGE_TALLIES] __attribute__((aligned(128)));
	struct mam_statpage_device devices[MAM_STATPAGE_DEVICES];
	/* entry 0 is for all threads that found no other, and is written atomically */
	struct mam_statpage_caller callers[MAM_STATPAGE_CALLERS];
	struct mam_statpage_sites sites; /* zeros in a page of a version that has none */
};

/* ---- writing ---- */

/* Returns the counters of this process: on the page once mam_statpage_open() created it. */
struct mam_statpage *mam_statpage_own(void);

/*
 * Creates the page, if this process has none. If it replaces inherited counters, no other thread may
 * write those of pools meanwhile.
 */
void mam_statpage_open(void);

/* Returns the path of this process's page; "": it has no file. Call it after mam_statpage_open(). */
const char *mam_statpage_path(void);

/* Whether this is the child of a fork, with counters of its parent and no page yet. */
bool mam_statpage_is_inherited(void);

/*
 * Around a fork. `prepare` copies the counters for the child, while no other thread writes those of
 * pools. A process without pools may call `child` alone. `child` is called before anything else is
 * written; calling it again has no effect.
 */
void mam_statpage_fork_prepare(void);
void mam_statpage_fork_parent(void);
void mam_statpage_fork_child(void);

/*
 * mam_statpage_take_pool - a place for a pool's counts; NULL: all are in use.
 * mam_statpage_end_pool - the pool has ended: its last counts remain.
 */
struct mam_statpage_pool *mam_statpage_take_pool(const char *name, const char *source, int device);
void mam_statpage_end_pool(struct mam_statpage_pool *pool);

/*
 * mam_statpage_take_tally - a tally for a thread's use of that pool, empty; NULL: all are in use,
 * or `pool` is NULL. mam_statpage_return_tally - the tally was flushed, or its pool has ended.
 */
struct mam_tally *mam_statpage_take_tally(const struct mam_statpage_pool *pool);
void mam_statpage_return_tally(struct mam_tally *tally);

/*
 * mam_statpage_take_caller - a place for the calls of one thread at a time, until the process ends;
 * entry 0 if all are in use.
 */
struct mam_statpage_caller *mam_statpage_take_caller(void);

/* ---- reading ---- */

/* The folder of this user's pages. Returns false if the name is too long. */
bool mam_statpage_folder(char *folder, size_t bytes);

/* Returns the start time of a process, or 0 if there is no such process. */
uint64_t mam_statpage_start_of(pid_t process);

/* Whether a file of `bytes` bytes is a page that this version can read. */
bool mam_statpage_is_sound(const struct mam_statpage *page, size_t bytes);

/* The figures of a device, or of all together. */
struct mam_statpage_figures {
	uint64_t pools; /* count: ended ones too */
	uint64_t calls; /* count: intercepted calls; 0 without mam run --stats */
	uint64_t allocs, frees, failures;
	uint64_t live_blocks, live_bytes, peak_live_bytes;
	uint64_t cached_bytes, retired_bytes, peak_retired_bytes;
	uint64_t reserved_bytes, peak_reserved_bytes;
	uint64_t driver_calls, driver_ns;
	uint64_t peak_together; /* peak of the bytes under --limit; 0 without mam run */
	bool is_used;           /* the process used memory of the device */
};

/*
 * mam_statpage_sum - the figures of one device, or of all if `device` is below 0. Peaks of several
 * pools are added up. The contents may be of any kind: nothing outside of the page is read. If a
 * pool changes too often to be read in one piece, its figures are of two moments.
 *
 * Ended pools whose place was reused are in `ended`, version past modulo 2. `past / 2` is the
 * number of a pool that it includes although the pool still has its place; 0: none. They count for
 * no device.
 */
void mam_statpage_sum(const struct mam_statpage *page, int device,
		      struct mam_statpage_figures *figures);

/*
 * mam_statpage_read_pool - the same of the pool at that index, below MAM_STATPAGE_POOLS. Returns
 * its state; there are no figures if its place is free.
 */
enum mam_statpage_state mam_statpage_read_pool(const struct mam_statpage *page, unsigned int number,
					       struct mam_statpage_figures *figures);

/* A call site, or all others together. */
struct mam_statpage_holder {
	char name[MAM_STATPAGE_SITE_NAME + 1]; /* without control characters; "": others */
	uint64_t bytes, blocks;                /* live; estimates */
	uint64_t error;                        /* bytes: twice the standard error */
};

/*
 * mam_statpage_read_sites - the call sites that hold most memory of a device, in descending order,
 * and then the others if they have any. Returns their number, which is at most `room`, and `room` is
 * at least 1. *since: when sampling began, in seconds since 1970; 0: the process does not sample.
 * *sum: all of them. The contents of the page may be of any kind.
 */
size_t mam_statpage_read_sites(const struct mam_statpage *page, int device,
			       struct mam_statpage_holder *holders, size_t room, uint64_t *since,
			       struct mam_statpage_holder *sum);

#ifdef __cplusplus
}
#endif
#endif
