/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - interface between the parts of `mam bench`.
 *
 * Terms:
 *   peer      an allocator under measurement: a mam pool, glibc's malloc, cudaMalloc, ...
 *   workload  a kind of load: "pair", "size", "live", "fragmented", "random", "training", ...
 *   case      one parameter of a workload: the 1,000 of "fragmented 1000"
 *   run       one peer on one case, on a fresh heap
 *   batch     operations of one kind timed between two clock reads
 *   metric    a number of a run: alloc_ns, free_ns, ...
 *   growth    an operation for which the heap allocated more from its source
 *
 * Method: every run opens its own heap, fills it (which also faults in the peer's metadata), warms
 * up, then times batches. A batch is long enough to make the clock's own cost, which is subtracted,
 * negligible. The result of a run is the median of its batches. A case is run several times, with
 * the peers taking turns so that noise from other processes affects them alike; the median of those
 * runs is reported. All random seeds are fixed.
 */
#ifndef MAM_TOOLS_BENCH_H
#define MAM_TOOLS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define BENCH_KIB ((size_t)1 << 10)
#define BENCH_MIB ((size_t)1 << 20)
#define BENCH_GIB ((size_t)1 << 30)

#define BENCH_METRICS_MAX 64 /* numbers of one run */
#define BENCH_PEERS_MAX 40
#define BENCH_WORKLOADS_MAX 24
#define BENCH_BATCH_MAX 256 /* operations of one batch */

/* ---- peers: peer.c, peer_mam.c, peer_cuda.c, peer_library.c ---- */

/* Memory that a heap holds from its source, in bytes. Unknown values are 0. */
struct bench_gauge {
	double reserved, peak_reserved; /* allocated address ranges */
	double high_water;              /* of one chunk: the highest offset that was ever used */
	double physical, peak_physical; /* memory backing them */
	double driver_ms;               /* spent in the driver so far */
	double remaps;                  /* count: pieces moved to other addresses */
};

struct bench_peer {
	const char *name;
	bool on_device; /* needs a CUDA driver */
	bool is_mam;
	const char *only;       /* takes part in these, separated by commas; NULL: all that fit */
	const char *source;     /* mam's pools: the source's name */
	bool cached;            /* mam's pools: threads cache freed blocks */
	int variant;            /* specific to the peer: policy, pool threshold */
	size_t max_blocks;      /* maximum live blocks, to bound a run's time; 0: any */
	size_t max_bytes;       /* the largest block of pair and size; 0: any */
	size_t max_free_blocks; /* maximum free blocks between live ones; 0: any */
	size_t block_memory;    /* assumed minimum host memory per live block */
	bool bounded;           /* its heap can be limited to one chunk of chunk_bytes: smallest */
	/*
	 * probe - return true if it can be used here. If not, return false and one sentence in
	 * `why`. Called once.
	 */
	bool (*probe)(struct bench_peer *peer, char *why, size_t why_bytes);
	/*
	 * open, close - make a fresh heap before a run, and end it; open returns false on failure
	 */
	bool (*open)(struct bench_peer *peer);
	void (*close)(struct bench_peer *peer);
	/*
	 * alloc, release - the timed operations. alloc returns NULL on failure; release gets the
	 * requested size, which some allocators need
	 */
	void *(*alloc)(struct bench_peer *peer, size_t bytes);
	void (*release)(struct bench_peer *peer, void *block, size_t bytes);
	/*
	 * alloc_on, release_on - the same in the order of one of the bench's streams (driver.h);
	 * NULL: it is not stream-ordered
	 */
	void *(*alloc_on)(struct bench_peer *peer, size_t bytes, size_t which);
	void (*release_on)(struct bench_peer *peer, void *block, size_t bytes, size_t which);
	/* trim - release as much as possible to the driver; NULL: not supported */
	bool (*trim)(struct bench_peer *peer);
	/* gauge - the memory that the heap holds; NULL or false: unknown */
	bool (*gauge)(struct bench_peer *peer, struct bench_gauge *gauge);
	/*
	 * drop - end the heap with all its blocks, in place of close; NULL: they are freed one by
	 * one
	 */
	void (*drop)(struct bench_peer *peer);
	/* finish - untimed work between batches; NULL: none */
	void (*finish)(struct bench_peer *peer);
	/* enter_thread - once in each thread that uses it; NULL: nothing to do */
	void (*enter_thread)(struct bench_peer *peer);

	bool usable;        /* set by the command line: requested, and probe returned true */
	size_t space_bytes; /* maximum live bytes; set by probe */
	void *heap;         /* of the current run; specific to the peer */
	bool growing;       /* set before open: the heap grows on demand, as a program's would;
			      * otherwise its memory is allocated at once if possible */
	size_t chunk_bytes; /* set before open if `bounded`: the heap is one chunk of this many
			      * bytes and refuses larger requests; 0: as `growing` specifies */
	bool dropped;       /* the heap of the current run has already ended */
};

extern struct bench_peer bench_peers[];
extern const size_t bench_peer_count;

bool bench_mam_probe(struct bench_peer *peer, char *why, size_t why_bytes);
bool bench_mam_open(struct bench_peer *peer);
void bench_mam_close(struct bench_peer *peer);
void bench_mam_drop(struct bench_peer *peer);
void *bench_mam_alloc(struct bench_peer *peer, size_t bytes);
void bench_mam_release(struct bench_peer *peer, void *block, size_t bytes);
void *bench_mam_alloc_on(struct bench_peer *peer, size_t bytes, size_t which);
void bench_mam_release_on(struct bench_peer *peer, void *block, size_t bytes, size_t which);
bool bench_mam_trim(struct bench_peer *peer);
bool bench_mam_gauge(struct bench_peer *peer, struct bench_gauge *gauge);
/*
 * bench_mam_metadata - a mam heap's own count of its segments, and of their host memory; false for
 * other peers
 */
bool bench_mam_metadata(const struct bench_peer *peer, double *segments, double *bytes);

bool bench_cuda_probe(struct bench_peer *peer, char *why, size_t why_bytes);
bool bench_cuda_probe_pinned(struct bench_peer *peer, char *why, size_t why_bytes);
bool bench_cuda_probe_managed(struct bench_peer *peer, char *why, size_t why_bytes);
bool bench_cuda_probe_async(struct bench_peer *peer, char *why, size_t why_bytes);
bool bench_cuda_open(struct bench_peer *peer);
bool bench_cuda_open_async(struct bench_peer *peer);
void bench_cuda_close(struct bench_peer *peer);
void bench_cuda_close_async(struct bench_peer *peer);
void bench_cuda_finish(struct bench_peer *peer);
void bench_cuda_enter_thread(struct bench_peer *peer);
void *bench_cuda_alloc(struct bench_peer *peer, size_t bytes);
void bench_cuda_release(struct bench_peer *peer, void *block, size_t bytes);
void *bench_cuda_alloc_pinned(struct bench_peer *peer, size_t bytes);
void bench_cuda_release_pinned(struct bench_peer *peer, void *block, size_t bytes);
void *bench_cuda_alloc_managed(struct bench_peer *peer, size_t bytes);
void *bench_cuda_alloc_async(struct bench_peer *peer, size_t bytes);
void bench_cuda_release_async(struct bench_peer *peer, void *block, size_t bytes);
void *bench_cuda_alloc_on(struct bench_peer *peer, size_t bytes, size_t which);
void bench_cuda_release_on(struct bench_peer *peer, void *block, size_t bytes, size_t which);
bool bench_cuda_trim_async(struct bench_peer *peer);
bool bench_cuda_gauge_async(struct bench_peer *peer, struct bench_gauge *gauge);
bool bench_library_probe(struct bench_peer *peer, char *why, size_t why_bytes);
bool bench_library_open(struct bench_peer *peer);
void bench_library_close(struct bench_peer *peer);
void *bench_library_alloc(struct bench_peer *peer, size_t bytes);
void bench_library_release(struct bench_peer *peer, void *block, size_t bytes);
void *bench_library_alloc_on(struct bench_peer *peer, size_t bytes, size_t which);
void bench_library_release_on(struct bench_peer *peer, void *block, size_t bytes, size_t which);
bool bench_library_gauge(struct bench_peer *peer, struct bench_gauge *gauge);
bool bench_library_trim(struct bench_peer *peer);
/* bench_cuda_facts - names of the first GPU and of its driver; false without one */
bool bench_cuda_facts(char *gpu, size_t gpu_bytes, char *driver, size_t driver_bytes);
/* bench_cuda_free_bytes - device memory that is currently free; 0 without a device */
size_t bench_cuda_free_bytes(void);

/* ---- measuring: measure.c ---- */

static inline uint64_t bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct bench_random {
	uint64_t state;
};

static inline uint64_t bench_random_next(struct bench_random *random)
{
	uint64_t z =
		(random->state += 0x9e3779b97f4a7c15u); /* splitmix64, Steele, Lea and Flood 2014 */

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* A number from 0 to below - 1. The bias is under below / 2^64. */
static inline size_t bench_random_below(struct bench_random *random, size_t below)
{
	return (size_t)(((unsigned __int128)bench_random_next(random) * below) >> 64);
}

static inline size_t bench_random_between(struct bench_random *random, size_t min, size_t max)
{
	return min + bench_random_below(random, max - min + 1);
}

/*
 * bench_measure_pages - allocate memory for the bench itself, faulted in, separate from the
 * measured heaps; NULL on failure
 */
void *bench_measure_pages(size_t bytes);
void bench_measure_pages_free(void *pages, size_t bytes);

void bench_measure_init(void);                             /* measures the cost of a clock read */
double bench_measure_clock_cost(void);                     /* ns */
double bench_measure_median(double *values, size_t count); /* sorts them; count > 0 */

/* The result of a run: a few named numbers. */
struct bench_sample {
	size_t count;
	struct bench_number {
		const char *metric;
		const char *parameter; /* NULL: that of the case */
		double value;
	} numbers[BENCH_METRICS_MAX];
};

void bench_sample_add(struct bench_sample *sample, const char *metric, double value);
/* bench_sample_add_at - add a number with a parameter other than the case's: a range of sizes */
void bench_sample_add_at(struct bench_sample *sample, const char *parameter, const char *metric,
			 double value);

/* Durations and repetitions: quick, full or smoke. */
struct bench_effort {
	const char *name;
	int repeats;            /* runs of one case */
	uint64_t slice_ns;      /* timed part of a run */
	uint64_t case_ns;       /* limit of a pool's time on a case */
	uint64_t other_case_ns; /* the same for any other allocator */
	uint64_t deadline_ns;   /* from the start; later runs are skipped with a note */
	size_t max_live;        /* of workload "live", for mam's pools */
	size_t max_live_others; /* and for the others, of workload "fragmented" too */
	bool fine;              /* all cases, not only those with a target */
};

/* A live block of a run. */
struct bench_block {
	void *address; /* NULL: none */
	size_t bytes;  /* requested */
};

static inline bool bench_take(struct bench_peer *peer, size_t bytes, struct bench_block *block)
{
	*block = (struct bench_block){ peer->alloc(peer, bytes), bytes };
	return block->address != NULL;
}

static inline void bench_give(struct bench_peer *peer, struct bench_block *block)
{
	peer->release(peer, block->address, block->bytes);
	block->address = NULL;
}

/* All live blocks of a run, in no order. */
struct bench_table {
	struct bench_block *blocks;
	size_t count;
	size_t room;
};

bool bench_table_init(struct bench_table *table, size_t room);
/*
 * bench_table_fini - free the remaining blocks, or drop the whole heap if there are many and the
 * peer supports it
 */
void bench_table_fini(struct bench_table *table, struct bench_peer *peer);
/* bench_table_take - remove a random block; count > 0 */
struct bench_block bench_table_take(struct bench_table *table, struct bench_random *random);

/*
 * A churn: batches of allocations and of frees of random blocks, with a roughly constant number of
 * live blocks.
 */
struct bench_churn {
	size_t min_bytes, max_bytes; /* sizes are uniform in between */
	size_t batch;                /* operations; at most BENCH_BATCH_MAX */
	bool free_first;             /* otherwise batches of frees follow allocations */
};

/* The rounds of a run, a batch of allocations and one of frees each. */
struct bench_rounds {
	double *alloc, *free; /* ns per operation */
	size_t count;
	size_t operations;          /* of each kind */
	double alloc_sum, free_sum; /* ns */
};

bool bench_rounds_init(struct bench_rounds *rounds);
void bench_rounds_fini(struct bench_rounds *rounds);
bool bench_rounds_full(const struct bench_rounds *rounds);
/*
 * bench_rounds_answer - alloc_ns, free_ns (medians of batches), alloc_mean_ns, free_mean_ns; count
 * > 0
 */
void bench_rounds_answer(struct bench_rounds *rounds, struct bench_sample *sample);

/*
 * bench_churn_round - run one round; with `rounds` NULL, do not record it. Returns false if a
 * request failed.
 */
bool bench_churn_round(struct bench_peer *peer, struct bench_table *table,
		       const struct bench_churn *churn, struct bench_random *random,
		       struct bench_rounds *rounds);
/*
 * bench_churn_run - run rounds until the slice is used up. Returns NULL with the result in
 * `sample`, or one sentence with the reason of the failure
 */
const char *bench_churn_run(struct bench_peer *peer, struct bench_table *table,
			    const struct bench_churn *churn, const struct bench_effort *effort,
			    struct bench_random *random, struct bench_sample *sample);

/* ---- single operations: times.c ---- */

struct bench_times {
	float *ns;
	size_t kept, room;
	size_t count; /* includes those that did not fit */
	double sum, max;
	bool sorted;
};

bool bench_times_init(struct bench_times *times, size_t room);
void bench_times_fini(struct bench_times *times);
/* bench_times_add - add the time between two clock reads, minus the cost of reading */
void bench_times_add(struct bench_times *times, uint64_t start, uint64_t end);
/* bench_times_quantile - quantile from 0 to 1; 0 without times */
double bench_times_quantile(struct bench_times *times, double quantile);
double bench_times_mean(const struct bench_times *times);

/* ---- running: run.c ---- */

struct bench_case {
	const char *parameter;
	size_t a, b; /* specific to the workload */
	bool fine;   /* only with effort->fine */
	size_t c;    /* specific to the workload, mostly 0; or BENCH_ONE_CHUNK */
};

/* c of a case that runs on one chunk, although its workload's heaps grow */
#define BENCH_ONE_CHUNK 1

struct bench_workload {
	const char *name;
	const char *title;
	const char *metrics[2]; /* shown in the table, as first/second; the second may be NULL */
	const struct bench_case *cases;
	size_t case_count;
	/*
	 * find_cases - in place of the two, if they are only known at run time; returns their count
	 */
	size_t (*find_cases)(const struct bench_case **cases);
	int repeats; /* maximum; 0: as the effort specifies */
	bool mam_only;
	bool by_name; /* only peers that name it in `only` */
	bool grows;   /* on heaps that grow on demand; otherwise on memory allocated in advance */
	/* suits - return true if this peer can run this case; NULL: all can */
	bool (*suits)(const struct bench_peer *peer, const struct bench_case *one);
	/*
	 * run - return NULL with numbers in `sample`, or one sentence with the reason of the
	 * failure
	 */
	const char *(*run)(struct bench_peer *peer, const struct bench_case *one,
			   const struct bench_effort *effort, struct bench_random *random,
			   struct bench_sample *sample);
};

extern const struct bench_workload *const bench_workloads[];
extern const size_t bench_workload_count;

extern const struct bench_workload bench_work_pair, bench_work_size, bench_work_live,
	bench_work_free_blocks, bench_work_random, bench_work_threads, bench_work_foreign,
	bench_work_create, bench_work_training, bench_work_footprint, bench_work_stream,
	bench_work_vmm;
/*
 * latency, fill, replay, policy. smallest needs peers that are `bounded`, ownstream, handover and
 * multistream those with alloc_on, and bigchunk those on a device that are neither mam's nor a
 * library
 */
extern const struct bench_workload bench_work_latency, bench_work_fill, bench_work_replay,
	bench_work_policy, bench_work_smallest, bench_work_ownstream, bench_work_handover,
	bench_work_multistream, bench_work_bigchunk;

/*
 * bench_replay_add - add a trace to workload replay; returns false after reporting that it cannot
 * be replayed
 */
bool bench_replay_add(const char *path);
void bench_replay_fini(void);

struct bench_results;

/*
 * bench_run_all - `wanted` has an entry for each workload. If an allocator does not return long
 * after the deadline, `late` reports the results so far and returns the process's exit status
 * (watch.h). `verbose`: a line on stderr for each run.
 */
void bench_run_all(const struct bench_effort *effort, const bool *wanted, bool verbose,
		   int (*late)(void *user), void *user, struct bench_results *results);

/* bench_run_memory - host memory that is available now, in bytes; 0 if unknown */
size_t bench_run_memory(void);
/* bench_run_resident - resident host memory of this process, in bytes; 0 if unknown */
size_t bench_run_resident(void);

/* ---- results: results.c, table.c, machine.c ---- */

struct bench_result {
	const char *workload;
	const char *peer;
	const char *parameter;
	const char *metric;
	double value;
};

struct bench_results {
	struct bench_result *rows;
	size_t count;
	size_t room;
	char **notes; /* what was skipped and why, one sentence each */
	size_t note_count;
	bool incomplete; /* memory for a row could not be allocated */
};

void bench_results_fini(struct bench_results *results);
void bench_results_add(struct bench_results *results, const char *workload, const char *peer,
		       const char *parameter, const char *metric, double value);
void bench_results_note(struct bench_results *results, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * bench_results_get - parameter NULL: that of the last case that has the metric. Returns false if
 * it was not measured.
 */
bool bench_results_get(const struct bench_results *results, const char *workload, const char *peer,
		       const char *parameter, const char *metric, double *value);

struct bench_machine {
	char gpu[96];
	char driver[200]; /* and OpenCL, if it was used */
	char cpu[128];
	char kernel[128];
	char date[32];
	char commit[64];
};

void bench_machine_read(struct bench_machine *machine);
/* bench_machine_read_host - read everything except the GPU */
void bench_machine_read_host(struct bench_machine *machine);

/*
 * bench_results_may_save - check before the measurements that the file can be written; false: the
 * reason is in errno
 */
bool bench_results_may_save(const char *path);
/*
 * bench_results_save - write all rows as CSV after eight lines "# key: value"; false: the reason is
 * in errno, and no file is left
 */
bool bench_results_save(const struct bench_results *results, const struct bench_machine *machine,
			const char *command, const char *path);

void bench_table_people(const struct bench_results *results, const struct bench_machine *machine,
			const struct bench_effort *effort);
void bench_table_keys(const struct bench_results *results);

#endif
