/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_threads.c - several threads on one heap: workloads "threads", "ownstream" and "foreign".
 *
 * threads: each of T threads keeps SLOTS blocks and replaces one of them at random, repeatedly: a
 * free and an alloc, sizes from 256 B to 1 MiB, uniform in their logarithm. Choices come from a
 * table made in advance. All start at a gate and stop at a flag. The result is million operations
 * per second of all threads, from the opening of the gate until the last thread has seen the flag.
 *
 * ownstream: the same, but each thread's operations are in the order of its own stream.
 *
 * foreign: no thread frees blocks that it allocated. Each allocates the same sizes and passes the
 * block to the next thread through a ring of RING places, and frees those that the previous thread
 * passed to it. A thread that can do neither yields. The ring is lock-free: one writer, one reader.
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
		/* an octave from 2^8 to 2^19, then a place in it */
		size_t octave = (size_t)256 << bench_random_below(&random, 12);

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

static void play_own(struct worker *worker)
{
	struct crew *crew = worker->crew;
	struct bench_peer *peer = crew->peer;
	size_t at = 0, i;

	do {
		for (i = 0; i < LOOK_EVERY; i++) {
			struct choice choice = worker->choices[at++ % CHOICES];

			if (worker->blocks[choice.slot].address != NULL)
				bench_give(peer, &worker->blocks[choice.slot]);
			if (!bench_take(peer, choice.bytes, &worker->blocks[choice.slot]))
				atomic_store(&crew->refused, true);
		}
		worker->operations += 2 * LOOK_EVERY;
	} while (!atomic_load_explicit(&crew->stop, memory_order_relaxed));
}

static void play_own_stream(struct worker *worker)
{
	struct crew *crew = worker->crew;
	struct bench_peer *peer = crew->peer;
	size_t at = 0, i;

	do {
		for (i = 0; i < LOOK_EVERY; i++) {
			struct choice choice = worker->choices[at++ % CHOICES];
			struct bench_block *block = &worker->blocks[choice.slot];

			if (block->address != NULL)
				peer->release_on(peer, block->address, block->bytes, worker->which);
			block->bytes = choice.bytes;
			block->address = peer->alloc_on(peer, choice.bytes, worker->which);
			if (block->address == NULL)
				atomic_store(&crew->refused, true);
		}
		worker->operations += 2 * LOOK_EVERY;
	} while (!atomic_load_explicit(&crew->stop, memory_order_relaxed));
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
	struct crew *crew = worker->crew;
	struct bench_peer *peer = crew->peer;
	size_t at = 0, i;

	do {
		size_t done = 0;

		for (i = 0; i < LOOK_EVERY; i++) {
			struct bench_block block;

			if (ring_has_room(&worker->next->ring)) {
				if (bench_take(peer, worker->choices[at++ % CHOICES].bytes, &block))
					ring_put(&worker->next->ring, block);
				else
					atomic_store(&crew->refused, true);
				done++;
			}
			if (ring_get(&worker->ring, &block)) {
				bench_give(peer, &block);
				done++;
			}
		}
		worker->operations += done;
		if (done == 0)
			sched_yield();
	} while (!atomic_load_explicit(&crew->stop, memory_order_relaxed));
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
		bench_take(peer, worker->choices[i].bytes, &worker->blocks[i]);
	for (i = 0; i < SLOTS && crew->play == play_own_stream; i++) {
		worker->blocks[i].bytes = worker->choices[i].bytes;
		worker->blocks[i].address =
			peer->alloc_on(peer, worker->blocks[i].bytes, worker->which);
	}
	wait_at_gate(crew);
	crew->play(worker);
	worker->ended = bench_now();
	for (i = 0; i < SLOTS; i++) {
		struct bench_block *block = &worker->blocks[i];

		if (block->address == NULL)
			continue;
		if (crew->play == play_own_stream)
			peer->release_on(peer, block->address, block->bytes, worker->which);
		else
			bench_give(peer, block);
	}
	return NULL;
}

/* Frees the blocks that were in transit when the threads ended. */
static void empty_rings(struct bench_peer *peer, struct worker *workers, size_t count)
{
	struct bench_block block;
	size_t i;

	for (i = 0; i < count; i++) {
		while (ring_get(&workers[i].ring, &block))
			bench_give(peer, &block);
	}
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
	empty_rings(crew->peer, workers, made);
	if (made < count)
		return "the system gave too few threads";
	if (atomic_load(&crew->refused))
		return "a request was refused";
	bench_sample_add(sample, "mops", (double)operations * 1000 / (double)(end - start));
	return NULL;
}

static const char *run_play(struct bench_peer *peer, const struct bench_case *one,
			    const struct bench_effort *effort, struct bench_random *random,
			    struct bench_sample *sample, void (*play)(struct worker *worker))
{
	struct crew crew = { .peer = peer,
			     .play = play,
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
	return run_play(peer, one, effort, random, sample, play_own);
}

static const char *run_foreign(struct bench_peer *peer, const struct bench_case *one,
			       const struct bench_effort *effort, struct bench_random *random,
			       struct bench_sample *sample)
{
	return run_play(peer, one, effort, random, sample, play_foreign);
}

static const char *run_ownstream(struct bench_peer *peer, const struct bench_case *one,
				 const struct bench_effort *effort, struct bench_random *random,
				 struct bench_sample *sample)
{
	return run_play(peer, one, effort, random, sample, play_own_stream);
}

static bool has_streams(const struct bench_peer *peer, const struct bench_case *one)
{
	(void)one;
	return peer->on_device && peer->alloc_on != NULL && peer->release_on != NULL;
}

static const struct bench_case thread_cases[] = {
	{ "1", 1, 0, false, 0 },
	{ "2", 2, 0, false, 0 },
	{ "4", 4, 0, false, 0 },
	{ "8", 8, 0, false, 0 },
	{ "16", MAX_THREADS, 0, false, 0 },
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
