/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_threads.c - several threads on one heap: workloads "threads", "foreign", "ownstream" and
 * "handover".
 *
 * threads: each of T threads keeps SLOTS blocks and replaces one of them at random, repeatedly: a
 * free and an alloc, sizes from 256 B to 1 MiB, or in cases named ",4MiB" to 4 MiB, uniform in
 * their logarithm. Choices come from a table made in advance. All start at a gate and stop at a
 * flag. The result is million operations per second of all threads, from the opening of the gate
 * until the last thread has seen the flag, and quantiles of single operations. One of LOOK_EVERY is
 * timed.
 *
 * foreign: no thread frees blocks that it allocated. Each allocates the same sizes and passes the
 * block to the next thread through a ring of RING places, and frees those that the previous thread
 * passed to it. A thread that can do neither yields. The ring is lock-free: one writer, one reader.
 *
 * ownstream, handover: the same two, but each thread's operations are in the order of its own
 * stream. So a block that was handed over is freed on another stream than it was allocated on.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "bench/bench.h"
#include "bench/harness/driver.h"

#define SLOTS 100
#define MAX_THREADS 16
#define CHOICES 4096  /* a power of two */
#define LOOK_EVERY 64 /* replacements between checks of the flag */
#define RING 256      /* a power of two */
#define TIMES 4096    /* of a thread's last timed operations */
#define OCTAVES 12    /* of sizes, from 256 B */

struct choice {
	unsigned int slot;
	unsigned int bytes;
};

/* Blocks in transit from one thread to the next. */
struct ring {
	_Alignas(128) atomic_size_t put; /* total count; written by the previous thread */
	_Alignas(128) atomic_size_t got; /* total count; written by the owner */
	_Alignas(128) struct bench_block blocks[RING];
};

struct worker;

struct crew {
	struct bench_peer *peer;
	void (*play)(struct worker *worker); /* once, then until the flag */
	size_t octaves;                      /* of sizes */
	bool on_streams;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t waiting; /* lock: lock; workers at the gate */
	bool open;      /* lock: lock */
	atomic_bool stop;
	atomic_bool refused;
};

struct worker {
	_Alignas(128) struct crew *crew;
	pthread_t thread;
	struct choice choices[CHOICES];
	struct bench_block blocks[SLOTS];
	uint64_t operations;
	uint64_t ended; /* when it saw the flag */
	uint32_t ns[TIMES];
	size_t timed;  /* count of timed operations, of which the last are in ns */
	uint64_t most; /* ns of the longest */
	uint64_t seed;
	size_t which;        /* its stream, if each has its own */
	struct ring ring;    /* blocks for this one to free */
	struct worker *next; /* receives its blocks */
};

static void choose(struct worker *worker)
{
	struct bench_random random = { worker->seed };
	size_t i;

	for (i = 0; i < CHOICES; i++) {
		/* an octave, then a place in it */
		size_t octave = (size_t)256 << bench_random_below(&random, worker->crew->octaves);

		worker->choices[i].slot = (unsigned int)bench_random_below(&random, SLOTS);
		worker->choices[i].bytes =
			(unsigned int)bench_random_between(&random, octave, 2 * octave);
	}
}

static void wait_at_gate(struct crew *crew)
{
	pthread_mutex_lock(&crew->lock);
	crew->waiting++;
	pthread_cond_broadcast(&crew->changed);
	while (!crew->open)
		pthread_cond_wait(&crew->changed, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
}

/* Waits until all `workers` are there, so that none is still starting when timing begins. */
static void open_gate(struct crew *crew, size_t workers)
{
	pthread_mutex_lock(&crew->lock);
	while (crew->waiting < workers)
		pthread_cond_wait(&crew->changed, &crew->lock);
	crew->open = true;
	pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
}

static void note(struct worker *worker, uint64_t start)
{
	uint64_t ns = bench_now() - start;

	worker->ns[worker->timed++ % TIMES] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
	if (ns > worker->most)
		worker->most = ns;
}

static inline void give(struct worker *worker, struct bench_block *block, bool timed)
{
	struct bench_peer *peer = worker->crew->peer;
	uint64_t start = timed ? bench_now() : 0;

	if (worker->crew->on_streams)
		peer->release_on(peer, block->address, block->bytes, worker->which);
	else
		bench_give(peer, block);
	if (timed)
		note(worker, start);
}

static inline bool take(struct worker *worker, size_t bytes, struct bench_block *block, bool timed)
{
	struct bench_peer *peer = worker->crew->peer;
	uint64_t start = timed ? bench_now() : 0;
	bool good;

	if (worker->crew->on_streams) {
		block->bytes = bytes;
		block->address = peer->alloc_on(peer, bytes, worker->which);
		good = block->address != NULL;
	} else {
		good = bench_take(peer, bytes, block);
	}
	if (timed)
		note(worker, start);
	if (!good)
		atomic_store(&worker->crew->refused, true);
	return good;
}

static void play_own(struct worker *worker)
{
	size_t at = 0, i;

	do {
		for (i = 0; i < LOOK_EVERY; i++) {
			struct choice choice = worker->choices[at++ % CHOICES];
			struct bench_block *block = &worker->blocks[choice.slot];

			if (block->address != NULL)
				give(worker, block, i == 0);
			(void)take(worker, choice.bytes, block, i == 1);
		}
		worker->operations += 2 * LOOK_EVERY;
	} while (!atomic_load_explicit(&worker->crew->stop, memory_order_relaxed));
}

static bool ring_get(struct ring *ring, struct bench_block *block)
{
	size_t got = atomic_load_explicit(&ring->got, memory_order_relaxed);

	if (got == atomic_load_explicit(&ring->put, memory_order_acquire))
		return false;
	*block = ring->blocks[got % RING];
	atomic_store_explicit(&ring->got, got + 1, memory_order_release);
	return true;
}

static bool ring_has_room(const struct ring *ring)
{
	return atomic_load_explicit(&ring->put, memory_order_relaxed) -
		       atomic_load_explicit(&ring->got, memory_order_acquire) <
	       RING;
}

static void ring_put(struct ring *ring, struct bench_block block)
{
	size_t put = atomic_load_explicit(&ring->put, memory_order_relaxed);

	ring->blocks[put % RING] = block;
	atomic_store_explicit(&ring->put, put + 1, memory_order_release);
}

static void play_foreign(struct worker *worker)
{
	size_t at = 0, i;

	do {
		size_t done = 0;

		for (i = 0; i < LOOK_EVERY; i++) {
			struct bench_block block;

			if (ring_has_room(&worker->next->ring)) {
				if (take(worker, worker->choices[at++ % CHOICES].bytes, &block,
					 i == 0))
					ring_put(&worker->next->ring, block);
				done++;
			}
			if (ring_get(&worker->ring, &block)) {
				give(worker, &block, i == 1);
				done++;
			}
		}
		worker->operations += done;
		if (done == 0)
			sched_yield();
	} while (!atomic_load_explicit(&worker->crew->stop, memory_order_relaxed));
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct crew *crew = worker->crew;
	struct bench_peer *peer = crew->peer;
	size_t i;

	if (peer->enter_thread != NULL)
		peer->enter_thread(peer);
	choose(worker);
	for (i = 0; i < SLOTS && crew->play == play_own; i++)
		(void)take(worker, worker->choices[i].bytes, &worker->blocks[i], false);
	wait_at_gate(crew);
	crew->play(worker);
	worker->ended = bench_now();
	for (i = 0; i < SLOTS; i++)
		if (worker->blocks[i].address != NULL)
			give(worker, &worker->blocks[i], false);
	return NULL;
}

/* Frees the blocks that were in transit when the threads ended. */
static void empty_rings(struct worker *workers, size_t count)
{
	struct bench_block block;
	size_t i;

	for (i = 0; i < count; i++) {
		while (ring_get(&workers[i].ring, &block))
			give(&workers[i], &block, false);
	}
}

static void answer_times(const struct worker *workers, size_t count, struct bench_sample *sample)
{
	struct bench_times times;
	uint64_t most = 0;

	if (!bench_times_init(&times, count * TIMES))
		return;
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < workers[i].timed && k < TIMES; k++)
			bench_times_add(&times, 0, workers[i].ns[k]);
		if (workers[i].most > most)
			most = workers[i].most;
	}
	bench_sample_add(sample, "p50_ns", bench_times_quantile(&times, 0.5));
	bench_sample_add(sample, "p99_ns", bench_times_quantile(&times, 0.99));
	bench_sample_add(sample, "p999_ns", bench_times_quantile(&times, 0.999));
	bench_sample_add(sample, "max_ns", (double)most);
	bench_times_fini(&times);
}

static const char *run_crew(struct crew *crew, struct worker *workers, size_t count,
			    const struct bench_effort *effort, struct bench_random *random,
			    struct bench_sample *sample)
{
	struct timespec slice = { (time_t)(effort->slice_ns / 1000000000u),
				  (long)(effort->slice_ns % 1000000000u) };
	uint64_t start, end = 0, operations = 0;
	size_t made, i;

	for (made = 0; made < count; made++) {
		workers[made].crew = crew;
		workers[made].next = &workers[(made + 1) % count];
		workers[made].seed = bench_random_next(random);
		workers[made].which = made % BENCH_STREAMS;
		if (pthread_create(&workers[made].thread, NULL, work, &workers[made]) != 0)
			break;
	}
	if (made < count)
		atomic_store(&crew->stop, true);
	open_gate(crew, made);
	start = bench_now();
	if (made == count)
		nanosleep(&slice, NULL);
	atomic_store(&crew->stop, true);
	for (i = 0; i < made; i++) {
		pthread_join(workers[i].thread, NULL);
		operations += workers[i].operations;
		if (workers[i].ended > end)
			end = workers[i].ended;
	}
	empty_rings(workers, made);
	if (made < count)
		return "the system gave too few threads";
	if (atomic_load(&crew->refused))
		return "a request was refused";
	bench_sample_add(sample, "mops", (double)operations * 1000 / (double)(end - start));
	answer_times(workers, made, sample);
	return NULL;
}

static const char *run_play(struct bench_peer *peer, const struct bench_case *one,
			    const struct bench_effort *effort, struct bench_random *random,
			    struct bench_sample *sample, void (*play)(struct worker *worker),
			    bool on_streams)
{
	struct crew crew = { .peer = peer,
			     .play = play,
			     .octaves = one->b,
			     .on_streams = on_streams,
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .changed = PTHREAD_COND_INITIALIZER };
	size_t bytes = one->a * sizeof(struct worker);
	struct worker *workers = bench_measure_pages(bytes);
	const char *why;

	if (workers == NULL)
		return "no memory for the bench's own tables";
	why = run_crew(&crew, workers, one->a, effort, random, sample);
	pthread_cond_destroy(&crew.changed);
	pthread_mutex_destroy(&crew.lock);
	bench_measure_pages_free(workers, bytes);
	return why;
}

static const char *run_threads(struct bench_peer *peer, const struct bench_case *one,
			       const struct bench_effort *effort, struct bench_random *random,
			       struct bench_sample *sample)
{
	return run_play(peer, one, effort, random, sample, play_own, false);
}

static const char *run_foreign(struct bench_peer *peer, const struct bench_case *one,
			       const struct bench_effort *effort, struct bench_random *random,
			       struct bench_sample *sample)
{
	return run_play(peer, one, effort, random, sample, play_foreign, false);
}

static const char *run_ownstream(struct bench_peer *peer, const struct bench_case *one,
				 const struct bench_effort *effort, struct bench_random *random,
				 struct bench_sample *sample)
{
	return run_play(peer, one, effort, random, sample, play_own, true);
}

static const char *run_handover(struct bench_peer *peer, const struct bench_case *one,
				const struct bench_effort *effort, struct bench_random *random,
				struct bench_sample *sample)
{
	return run_play(peer, one, effort, random, sample, play_foreign, true);
}

static bool has_streams(const struct bench_peer *peer, const struct bench_case *one)
{
	(void)one;
	return peer->on_device && peer->alloc_on != NULL && peer->release_on != NULL;
}

/* Threads, and octaves of sizes. */
static const struct bench_case thread_cases[] = {
	{ "1", 1, OCTAVES, false, 0 },
	{ "2", 2, OCTAVES, false, 0 },
	{ "4", 4, OCTAVES, false, 0 },
	{ "8", 8, OCTAVES, false, 0 },
	{ "16", MAX_THREADS, OCTAVES, false, 0 },
	{ "1,4MiB", 1, OCTAVES + 2, true, 0 },
	{ "16,4MiB", MAX_THREADS, OCTAVES + 2, true, 0 },
};

const struct bench_workload bench_work_threads = {
	.name = "threads",
	.title = "million operations/s, so many threads on one heap",
	.metrics = { "mops", NULL },
	.cases = thread_cases,
	.case_count = sizeof(thread_cases) / sizeof(thread_cases[0]),
	.repeats = 3,
	.run = run_threads,
};

const struct bench_workload bench_work_foreign = {
	.name = "foreign",
	.title = "million operations/s, so many threads that free each other's blocks",
	.metrics = { "mops", NULL },
	.cases = thread_cases,
	.case_count = sizeof(thread_cases) / sizeof(thread_cases[0]),
	.repeats = 3,
	.run = run_foreign,
};

const struct bench_workload bench_work_ownstream = {
	.name = "ownstream",
	.title = "million operations/s, so many threads, each on a stream of its own",
	.metrics = { "mops", NULL },
	.cases = thread_cases,
	.case_count = sizeof(thread_cases) / sizeof(thread_cases[0]),
	.repeats = 2,
	.suits = has_streams,
	.run = run_ownstream,
};

const struct bench_workload bench_work_handover = {
	.name = "handover",
	.title = "million operations/s, so many threads, each frees the last one's blocks on its "
		 "own stream",
	.metrics = { "mops", NULL },
	.cases = thread_cases,
	.case_count = sizeof(thread_cases) / sizeof(thread_cases[0]),
	.repeats = 2,
	.suits = has_streams,
	.run = run_handover,
};
