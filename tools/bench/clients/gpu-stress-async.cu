/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-stress-async.cu - checks that the library's stream layer never hands out memory that a kernel
 * still uses.
 *
 * Host threads allocate and free in stream order (mam/stream.h), from one pool that is so small
 * that streams constantly reuse memory freed on others, and that a pool of mapped memory constantly
 * moves pieces. Kernels as in gpu-stress.cuh write and check each block. Some blocks are kept for a
 * while and checked again before they are freed, or passed to another stream by an event. Kernels
 * are launched normally, as stream order requires.
 *
 *   --source cudamalloc|vmm
 *   --wrong      one free in four names a stream that the kernel is not in: the control, which must fail
 *   --seconds N, --threads N, --streams N (per thread), --largest BYTES, --limit BYTES (of the pool)
 *
 * Each thread has its own streams (non-blocking, blocking, its default one; some are destroyed with
 * work in flight), and all threads share others, including the legacy one. One thread in four also
 * allocates and frees without a stream, and trims. stdout: one line of sums; stderr: the pool's
 * counters. Exit status: 0, 1 if a foreign pattern was seen, 2 if a call failed or the pool's
 * metadata was inconsistent.
 */
#include <pthread.h>

#include <mam/mam.h>
#include <mam/source.h>
#include <mam/stats.h>
#include <mam/stream.h>

#include "gpu-stress.cuh"

#define CHECK_MAM(call)                                                                       \
	do {                                                                                  \
		enum mam_status answer = (call);                                              \
		if (answer != MAM_OK) {                                                       \
			fprintf(stderr, "gpu-stress: %s: %s\n", #call, mam_strerror(answer)); \
			exit(2);                                                              \
		}                                                                             \
	} while (0)

enum { STREAMS_MAX = 16, SHARED = 3, HELD = 12 };

static struct {
	double seconds = 10;
	int threads = 8;
	int streams = 4; /* per thread */
	size_t largest = 32 << 20;
	size_t limit = 512 << 20;
	const char *source = "vmm";
	bool wrong = false;
} options;

static mam_pool *pool;
static sums *seen;
static cudaStream_t shared[SHARED]; /* the first is the legacy one */

struct block {
	uint32_t *at;
	size_t words;
	uint32_t mark;
	cudaStream_t stream;
};

struct worker {
	int number;
	uint64_t random;
	cudaStream_t streams[STREAMS_MAX];
	cudaEvent_t event;
	block held[HELD];
	unsigned count;
	unsigned long long blocks, bytes, refused;
	pthread_t thread;
};

/* Checks that the pattern is intact, while no other kernel should write. */
__global__ static void verify(const uint32_t *block, size_t words, uint32_t mark, sums *into)
{
	size_t looked = words < WORDS_MAX ? words : WORDS_MAX;
	unsigned long long foreign = 0;

	for (size_t i = threadIdx.x; i < looked; i += blockDim.x)
		foreign += block[place(i, words)] != (mark ^ (uint32_t)i);
	if (foreign != 0)
		atomicAdd(&into->foreign, foreign);
}

static cudaStream_t any_stream(worker *self)
{
	uint64_t drawn = next(&self->random);

	if (drawn % 64 == 0)
		return shared[0];
	if (drawn % 8 == 1)
		return shared[1 + drawn / 64 % (SHARED - 1)];
	return self->streams[drawn / 64 % options.streams];
}

/* A twentieth of a millisecond to half of one; one in sixteen takes up to three. */
static void launch(worker *self, const block &used)
{
	long long max = next(&self->random) % 16 ? 900000 : 6000000;
	long long cycles = 100000 + (long long)(next(&self->random) % max);

	use<<<1, 256, 0, used.stream>>>(used.at, used.words, used.mark, cycles, seen);
	CHECK(cudaGetLastError());
}

static void hand_on(worker *self, block *moved)
{
	cudaStream_t to = any_stream(self);

	CHECK(cudaEventRecord(self->event, moved->stream));
	CHECK(cudaStreamWaitEvent(to, self->event, 0));
	moved->stream = to;
}

static void give(worker *self, block freed)
{
	if (next(&self->random) % 8 == 0)
		hand_on(self, &freed);
	if (next(&self->random) % 4 == 0)
		launch(self, freed);
	verify<<<1, 256, 0, freed.stream>>>(freed.at, freed.words, freed.mark, seen);
	CHECK(cudaGetLastError());
	if (options.wrong && next(&self->random) % 4 == 0)
		freed.stream = any_stream(self);
	if (!options.wrong && self->number % 4 == 0 && next(&self->random) % 32 == 0)
		CHECK_MAM(mam_free(pool, freed.at)); /* waits: strict */
	else
		CHECK_MAM(mam_free_async(next(&self->random) % 4 ? pool : NULL, freed.at,
					 freed.stream));
}

static void give_one(worker *self)
{
	unsigned at = (unsigned)(next(&self->random) % self->count);
	block freed = self->held[at];

	self->held[at] = self->held[--self->count];
	give(self, freed);
}

static void give_all(worker *self)
{
	while (self->count > 0)
		give_one(self);
}

/* The pool is small: other threads may hold all its memory. */
static void one_block(worker *self)
{
	size_t bytes = size_of(&self->random, options.largest);
	bool plain = self->number % 4 == 0 && next(&self->random) % 16 == 0;
	block made = { NULL, bytes / 4, 0, any_stream(self) };
	void *at = NULL;
	enum mam_status status = plain ? mam_malloc(pool, bytes, &at)
				       : mam_malloc_async(pool, bytes, made.stream, &at);

	if (status == MAM_ERROR_OUT_OF_MEMORY) {
		self->refused++;
		give_all(self);
		return;
	}
	CHECK_MAM(status);
	self->blocks++;
	self->bytes += bytes;
	made.at = (uint32_t *)at;
	made.mark = (uint32_t)(self->number << 24) ^ (uint32_t)(self->blocks * 2654435761u);
	launch(self, made);
	if (next(&self->random) % 3 != 0) {
		give(self, made);
		return;
	}
	if (self->count == HELD)
		give_one(self);
	self->held[self->count++] = made;
}

/* Destroys one of the thread's own streams with work in flight, and creates another. */
static void replace_stream(worker *self)
{
	int at = (int)(next(&self->random) % options.streams);
	cudaStream_t old = self->streams[at];

	if (old == cudaStreamPerThread)
		return;
	for (unsigned i = self->count; i-- > 0;) {
		if (self->held[i].stream != old)
			continue;
		block freed = self->held[i];

		self->held[i] = self->held[--self->count];
		give(self, freed);
	}
	if (next(&self->random) % 2)
		CHECK_MAM(mam_stream_release(pool, old));
	CHECK(cudaStreamDestroy(old));
	CHECK(cudaStreamCreateWithFlags(&self->streams[at], next(&self->random) % 2
								    ? cudaStreamNonBlocking
								    : cudaStreamDefault));
}

static void now_and_then(worker *self, unsigned i)
{
	if (i % 64 == 63)
		CHECK(cudaStreamSynchronize(any_stream(self)));
	if (i % 256 == 255)
		replace_stream(self);
	if (self->number == 0 && i % 512 == 511)
		CHECK_MAM(mam_pool_trim(pool, next(&self->random) % options.limit, NULL));
}

static void *work(void *argument)
{
	worker *self = (worker *)argument;
	double end = now() + options.seconds;

	CHECK(cudaSetDevice(0));
	CHECK(cudaEventCreateWithFlags(&self->event, cudaEventDisableTiming));
	for (int i = 0; i < options.streams; i++) {
		if (i % 3 == 2)
			self->streams[i] = cudaStreamPerThread;
		else
			CHECK(cudaStreamCreateWithFlags(&self->streams[i],
							i % 3 == 0 ? cudaStreamNonBlocking
								   : cudaStreamDefault));
	}
	for (unsigned i = 0; now() < end; i++) {
		one_block(self);
		now_and_then(self, i);
	}
	give_all(self);
	CHECK(cudaDeviceSynchronize());
	return NULL;
}

static bool read_options(int count, char **arguments)
{
	for (int i = 1; i < count; i++) {
		const char *name = arguments[i], *value = i + 1 < count ? arguments[i + 1] : "";

		if (strcmp(name, "--wrong") == 0) {
			options.wrong = true;
			continue;
		}
		if (strcmp(name, "--seconds") == 0)
			options.seconds = atof(value);
		else if (strcmp(name, "--threads") == 0)
			options.threads = atoi(value);
		else if (strcmp(name, "--streams") == 0)
			options.streams = atoi(value);
		else if (strcmp(name, "--largest") == 0)
			options.largest = strtoull(value, NULL, 10);
		else if (strcmp(name, "--limit") == 0)
			options.limit = strtoull(value, NULL, 10);
		else if (strcmp(name, "--source") == 0)
			options.source = value;
		else
			return false;
		i++;
	}
	return options.seconds > 0 && options.threads >= 1 && options.threads <= 64 &&
	       options.streams >= 1 && options.streams <= STREAMS_MAX && options.largest >= 256 &&
	       options.limit >= 2 * options.largest;
}

static void make_pool(mam_source **source)
{
	mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	CHECK_MAM(mam_source_create(options.source, 0, source));
	attr.limit_bytes = options.limit;
	attr.growth_bytes = options.limit / 8;
	attr.name = "stress";
	CHECK_MAM(mam_pool_create_on(*source, &attr, &pool));
}

static int complain(const char *what)
{
	fprintf(stderr, "gpu-stress: %s\n", what);
	return 2;
}

/* Nothing is live: the metadata is consistent, and all memory is released. */
static int end_pool(mam_source *source, mam_stats *stats)
{
	char why[256] = "";
	mam_stats after = {};

	stats->size = after.size = sizeof(after);
	CHECK_MAM(mam_pool_stats(pool, stats));
	if (mam_pool_check(pool, why, sizeof(why)) != MAM_OK)
		return complain(why);
	if (stats->live_blocks != 0 || stats->allocs != stats->frees)
		return complain("all was freed, and the pool says that blocks live");
	CHECK_MAM(mam_pool_trim(pool, 0, NULL));
	CHECK_MAM(mam_pool_stats(pool, &after));
	if (after.physical_bytes > 4 << 20)
		return complain("a trim of everything leaves more than 4 MiB");
	CHECK_MAM(mam_pool_destroy(pool));
	mam_source_destroy(source);
	return 0;
}

int main(int count, char **arguments)
{
	static worker workers[64];
	unsigned long long blocks = 0, bytes = 0, refused = 0;
	mam_stats stats = {};
	mam_source *source;
	int status;

	if (!read_options(count, arguments)) {
		fprintf(stderr,
			"usage: %s [--source NAME] [--wrong] [--seconds N] [--threads N] "
			"[--streams N] "
			"[--largest BYTES] [--limit BYTES, twice the largest at least]\n",
			arguments[0]);
		return 2;
	}
	CHECK(prepare(&seen));
	verify<<<1, 32>>>(NULL, 0, 0, seen);
	CHECK(cudaDeviceSynchronize());
	make_pool(&source);
	for (int i = 1; i < SHARED; i++)
		CHECK(cudaStreamCreateWithFlags(&shared[i],
						i % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
	for (int i = 0; i < options.threads; i++) {
		workers[i].number = i;
		workers[i].random = 88172645463325252ULL + (uint64_t)i * 7919;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			return complain("no thread could be started");
	}
	for (int i = 0; i < options.threads; i++) {
		pthread_join(workers[i].thread, NULL);
		blocks += workers[i].blocks;
		bytes += workers[i].bytes;
		refused += workers[i].refused;
	}
	CHECK(cudaDeviceSynchronize());
	status = end_pool(source, &stats);
	printf("blocks %llu gib %.1f kernels %llu foreign %llu served %llu reserved %llu\n", blocks,
	       (double)bytes / (1 << 30), seen->kernels - 1, seen->foreign,
	       (unsigned long long)(stats.allocs + stats.frees),
	       (unsigned long long)stats.peak_physical_bytes);
	fprintf(stderr,
		"gpu-stress: %s: %llu grows, %llu shrinks, %llu remaps, %llu requests refused\n",
		options.source, (unsigned long long)stats.grows, (unsigned long long)stats.shrinks,
		(unsigned long long)stats.remaps, refused);
	if (status != 0)
		return status;
	return seen->foreign != 0;
}
