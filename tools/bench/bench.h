/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - what the parts of `mam bench` share.
 *
 * Words:
 *   peer      an allocator under measurement: a mam pool, glibc's malloc, cudaMalloc, ...
 *   workload  what is asked of it: "pair", "size", "live", "holes", "random", "training", ...
 *   case      one parameter of a workload: the 1,000 of "holes 1000"
 *   run       one peer through one case, on a fresh heap
 *   batch     operations of one kind timed between two looks at the clock
 *   metric    a number of a run: alloc_ns, free_ns, ...
 *   growth    an operation for which the heap took more from its source
 *
 * Method: every run opens its own heap, fills it (which also faults in the peer's books), warms up,
 * then times batches. A batch is long enough for the clock's own cost, which is taken off, not to
 * matter. A run answers the median of its batches; a case is run several times, the peers taking
 * turns so that a noisy neighbour hits them alike; the median of those runs is what is reported.
 * All random seeds are fixed.
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

/* What a heap holds of its source, in bytes. What a peer cannot say is 0. */
struct bench_gauge {
	double reserved, peak_reserved; /* addresses it has taken */
	double high_water;              /* of one chunk: how far up it was ever used */
	double physical, peak_physical; /* memory behind them */
	double driver_ms;               /* spent in the driver so far */
	double remaps;                  /* count: pieces moved to other addresses */
};

struct bench_peer {
	const char *name;
	bool on_device; /* needs a CUDA driver */
	bool is_mam;
	const char *only;    /* workloads it takes part in, commas between; NULL: all that fit */
	const char *source;  /* mam's pools: the source's name */
	bool cached;         /* mam's pools: threads keep freed blocks for themselves */
	int variant;         /* the peer's own: policy, pool threshold */
	size_t most_blocks;  /* most live blocks it is asked for, to bound a run's time; 0: any */
	size_t most_bytes;   /* the largest block that pair and size ask of it; 0: any */
	size_t most_holes;   /* most holes between blocks it is asked to live with; 0: any */
	size_t block_memory; /* host memory a live block is taken to cost, at least */
	bool bounded;        /* its heap can be held to one chunk of chunk_bytes: smallest */
	/* probe - may it be used here? If not, false and one sentence in `why`. Called once. */
	bool (*probe)(struct bench_peer *peer, char *why, size_t why_bytes);
	/* open, close - a fresh heap before a run, and its end; open answers false where there is
	 * none to be had */
	bool (*open)(struct bench_peer *peer);
	void (*close)(struct bench_peer *peer);
	/* alloc, release - the operations that are timed; alloc answers NULL when refused; release
	 * is told what was asked for, which some allocators want to know */
	void *(*alloc)(struct bench_peer *peer, size_t bytes);
	void (*release)(struct bench_peer *peer, void *block, size_t bytes);
	/* alloc_on, release_on - the same in the order of one of the bench's streams (driver.h);
	 * NULL: it has no such order */
	void *(*alloc_on)(struct bench_peer *peer, size_t bytes, size_t which);
	void (*release_on)(struct bench_peer *peer, void *block, size_t bytes, size_t which);
	/* trim - gives the driver back what it can; NULL: there is no such call */
	bool (*trim)(struct bench_peer *peer);
	/* gauge - what the heap holds; NULL or false: it does not say */
	bool (*gauge)(struct bench_peer *peer, struct bench_gauge *gauge);
	/* drop - end the heap with all its blocks, in place of close; NULL: they are given back
	 * one by one */
	void (*drop)(struct bench_peer *peer);
	/* settle - between batches, not timed; NULL: nothing to do */
	void (*settle)(struct bench_peer *peer);
	/* enter_thread - once in each thread that uses it; NULL: nothing to do */
	void (*enter_thread)(struct bench_peer *peer);

	bool usable;         /* set by the command line: asked for, and probe said yes */
	size_t ground_bytes; /* most it is asked to have live at once; set by probe */
	void *heap;          /* of the run in progress; the peer's own */
	bool growing;        /* set before open: the heap grows by need, as a program's would; else
			      * its ground is taken at once where it can be */
	size_t chunk_bytes;  /* set before open where `bounded`: the heap is one chunk of so many
			      * bytes and refuses what does not fit; 0: as `growing` says */
	bool dropped;        /* the heap of the run in progress has ended already */
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
/* bench_mam_books - a mam heap's own count of its segments and of the host memory they cost;
 * false for others */
bool bench_mam_books(const struct bench_peer *peer, double *segments, double *bytes);

bool bench_cuda_probe(struct bench_peer *peer, char *why, size_t why_bytes);
bool bench_cuda_probe_pinned(struct bench_peer *peer, char *why, size_t why_bytes);
bool bench_cuda_probe_managed(struct bench_peer *peer, char *why, size_t why_bytes);
bool bench_cuda_probe_async(struct bench_peer *peer, char *why, size_t why_bytes);
bool bench_cuda_open(struct bench_peer *peer);
bool bench_cuda_open_async(struct bench_peer *peer);
void bench_cuda_close(struct bench_peer *peer);
void bench_cuda_close_async(struct bench_peer *peer);
void bench_cuda_settle(struct bench_peer *peer);
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
/* bench_cuda_free_bytes - device memory free now; 0 without a device */
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

static inline size_t bench_random_between(struct bench_random *random, size_t least, size_t most)
{
	return least + bench_random_below(random, most - least + 1);
}

/* bench_measure_pages - memory for the bench itself, faulted in, apart from the heaps it
 * measures; NULL: none */
void *bench_measure_pages(size_t bytes);
void bench_measure_pages_free(void *pages, size_t bytes);

void bench_measure_init(void);         /* finds what a look at the clock costs */
double bench_measure_clock_cost(void); /* ns */
double bench_measure_median(double *values, size_t count); /* sorts them; count > 0 */

/* What a run answers: a few named numbers. */
struct bench_sample {
	size_t count;
	struct bench_number {
		const char *metric;
		const char *parameter; /* NULL: that of the case */
		double value;
	} numbers[BENCH_METRICS_MAX];
};

void bench_sample_add(struct bench_sample *sample, const char *metric, double value);
/* bench_sample_add_at - a number of a parameter that is not the case's: a range of sizes */
void bench_sample_add_at(struct bench_sample *sample, const char *parameter, const char *metric,
			 double value);

/* How long and how often: quick, full or smoke. */
struct bench_effort {
	const char *name;
	int repeats;             /* runs of one case */
	uint64_t slice_ns;       /* timed part of a run */
	uint64_t case_ns;        /* a pool that has spent this on a case is not run again on it */
	uint64_t other_case_ns;  /* nor is any other allocator that has spent this */
	uint64_t deadline_ns;    /* from the start; what is left then is skipped, and said so */
	size_t most_live;        /* of workload "live", for mam's pools */
	size_t most_live_others; /* and for the others, of workload "holes" too */
	bool fine;               /* all cases, not only those with a target */
};

/* A block that a run has live. */
struct bench_block {
	void *address; /* NULL: none */
	size_t bytes;  /* asked for */
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

/* All blocks that a run has live, in no order. */
struct bench_table {
	struct bench_block *blocks;
	size_t count;
	size_t room;
};

bool bench_table_init(struct bench_table *table, size_t room);
/* bench_table_fini - gives back what is left, or drops the whole heap where that is much and can
 * be done */
void bench_table_fini(struct bench_table *table, struct bench_peer *peer);
/* bench_table_take - a random one leaves the table; count > 0 */
struct bench_block bench_table_take(struct bench_table *table, struct bench_random *random);

/* A churn: batches of allocations and of frees of randomly chosen blocks, about equally many live
 * throughout. */
struct bench_churn {
	size_t least_bytes, most_bytes; /* sizes are uniform between */
	size_t batch;                   /* operations; at most BENCH_BATCH_MAX */
	bool free_first;                /* else each batch of frees follows one of allocations */
};

/* What the rounds of a run came to, a batch of allocations and one of frees each. */
struct bench_rounds {
	double *alloc, *free; /* ns an operation */
	size_t count;
	size_t operations;          /* of each kind */
	double alloc_sum, free_sum; /* ns */
};

bool bench_rounds_init(struct bench_rounds *rounds);
void bench_rounds_fini(struct bench_rounds *rounds);
bool bench_rounds_full(const struct bench_rounds *rounds);
/* bench_rounds_answer - alloc_ns, free_ns (medians of batches), alloc_mean_ns, free_mean_ns;
 * count > 0 */
void bench_rounds_answer(struct bench_rounds *rounds, struct bench_sample *sample);

/* bench_churn_round - one round; `rounds` NULL: it is not kept. False: a request was refused. */
bool bench_churn_round(struct bench_peer *peer, struct bench_table *table,
		       const struct bench_churn *churn, struct bench_random *random,
		       struct bench_rounds *rounds);
/* bench_churn_run - rounds until the slice is used up; NULL and their answer in `sample`, or why
 * not */
const char *bench_churn_run(struct bench_peer *peer, struct bench_table *table,
			    const struct bench_churn *churn, const struct bench_effort *effort,
			    struct bench_random *random, struct bench_sample *sample);

/* ---- single operations: times.c ---- */

struct bench_times {
	float *ns;
	size_t kept, room;
	size_t count; /* those that found no room, too */
	double sum, most;
	bool sorted;
};

bool bench_times_init(struct bench_times *times, size_t room);
void bench_times_fini(struct bench_times *times);
/* bench_times_add - what lay between two looks at the clock, less what looking costs */
void bench_times_add(struct bench_times *times, uint64_t start, uint64_t end);
/* bench_times_quantile - quantile from 0 to 1; 0 where there is no time */
double bench_times_quantile(struct bench_times *times, double quantile);
double bench_times_mean(const struct bench_times *times);

/* ---- running: run.c ---- */

struct bench_case {
	const char *parameter;
	size_t a, b; /* the workload's own */
	bool fine;   /* only with effort->fine */
	size_t c;    /* the workload's own, mostly 0; or BENCH_ONE_CHUNK */
};

/* c of a case that is played on one chunk, though its workload's heaps grow */
#define BENCH_ONE_CHUNK 1

struct bench_workload {
	const char *name;
	const char *title;
	const char *metrics[2]; /* shown in the table, as first/second; the second may be NULL */
	const struct bench_case *cases;
	size_t case_count;
	/* find_cases - in place of the two, where they are known only now; answers their count */
	size_t (*find_cases)(const struct bench_case **cases);
	int repeats; /* at most so many; 0: as the effort says */
	bool mam_only;
	bool by_name; /* only peers that name it in `only` */
	bool grows;   /* on heaps that grow by need; else on ground taken at once */
	/* suits - can this peer play this case at all? NULL: yes */
	bool (*suits)(const struct bench_peer *peer, const struct bench_case *one);
	/* run - NULL and numbers in `sample`, or one sentence: why not */
	const char *(*run)(struct bench_peer *peer, const struct bench_case *one,
			   const struct bench_effort *effort, struct bench_random *random,
			   struct bench_sample *sample);
};

extern const struct bench_workload *const bench_workloads[];
extern const size_t bench_workload_count;

extern const struct bench_workload bench_work_pair, bench_work_size, bench_work_live,
	bench_work_holes, bench_work_random, bench_work_threads, bench_work_foreign,
	bench_work_create, bench_work_training, bench_work_footprint, bench_work_stream,
	bench_work_vmm;
/* latency, fill, replay, policy; smallest asks peers that are `bounded`; ownstream and multistream
 * ask those that have alloc_on; bigchunk those on a device that are not mam's and no library */
extern const struct bench_workload bench_work_latency, bench_work_fill, bench_work_replay,
	bench_work_policy, bench_work_smallest, bench_work_ownstream, bench_work_multistream,
	bench_work_bigchunk;

/* bench_replay_add - one more trace for workload replay; false: it cannot be played, which was
 * said */
bool bench_replay_add(const char *path);
void bench_replay_fini(void);

struct bench_results;

/*
 * bench_run_all - `wanted` has an entry for each workload. Where an allocator does not come back
 * long after the time was up, `late` tells of the results there are and answers the process's exit
 * status (watch.h). `verbose`: a line on stderr for each run.
 */
void bench_run_all(const struct bench_effort *effort, const bool *wanted, bool verbose,
		   int (*late)(void *user), void *user,
		   struct bench_results *results);

/* bench_run_memory - host memory available now, in bytes; 0 where unknown */
size_t bench_run_memory(void);
/* bench_run_resident - host memory this process has, in bytes; 0 where unknown */
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
	char **notes; /* what was left out and why, a sentence each */
	size_t note_count;
	bool incomplete; /* memory for a row could not be had */
};

void bench_results_fini(struct bench_results *results);
void bench_results_add(struct bench_results *results, const char *workload, const char *peer,
		       const char *parameter, const char *metric, double value);
void bench_results_note(struct bench_results *results, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* bench_results_get - parameter NULL: that of the last case that has the metric. False where it
 * was not measured. */
bool bench_results_get(const struct bench_results *results, const char *workload, const char *peer,
		       const char *parameter, const char *metric, double *value);

struct bench_machine {
	char gpu[96];
	char driver[200]; /* and OpenCL, where it was asked */
	char cpu[128];
	char kernel[128];
	char date[32];
	char commit[64];
};

void bench_machine_read(struct bench_machine *machine);
/* bench_machine_read_host - all but the GPU, which is not looked for */
void bench_machine_read_host(struct bench_machine *machine);

/* bench_results_may_save - to be asked before all the work; false: errno says why */
bool bench_results_may_save(const char *path);
/* bench_results_save - all rows as CSV under eight lines "# key: value"; false: errno says why,
 * and no file is left */
bool bench_results_save(const struct bench_results *results, const struct bench_machine *machine,
			const char *command, const char *path);

void bench_table_people(const struct bench_results *results, const struct bench_machine *machine,
			const struct bench_effort *effort);
void bench_table_keys(const struct bench_results *results);

#endif
