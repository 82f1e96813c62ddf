/* SPDX-License-Identifier: Apache-2.0 */
/* soak_mix.c - the threads, blocks and checks of soak.h. */
#include "soak.h"

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 6u
#define SLOTS 16u
#define ROUNDS 1000u
#define FILLED (16 * KIB) /* of each quarter of a block */
#define READ 256u

struct soak_cuda soak_cuda;
struct soak_round soak_round;

static const struct soak_backend *backend;
static struct soak_worker workers[THREADS];
static unsigned long operations;
static struct soak_block slots[SLOTS];
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014) */
uint64_t soak_draw(struct soak_worker *worker, uint64_t below)
{
	uint64_t z = worker->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % below;
}

void soak_fail(const struct soak_worker *worker, const char *format, ...)
{
	char text[600];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	fprintf(stderr, "soak: seed %llu, round %u, thread %u, operation %lu: %s\n",
		(unsigned long long)soak_round.seed, soak_round.number, worker->number,
		worker->operation, text);
	_exit(1); /* other threads are still running */
}

static void load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "soak: %s\n", dlerror());
		exit(77);
	}
#define FIND(name)                                                          \
	soak_cuda.name = (__typeof__(soak_cuda.name))dlsym(library, #name); \
	if (!soak_cuda.name && strncmp(#name, "fake", 4) != 0) {            \
		fprintf(stderr, "soak: the driver has no %s\n", #name);     \
		exit(77);                                                   \
	}
	SOAK_CUDA(FIND)
	SOAK_FAKE(FIND)
#undef FIND
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static unsigned char byte_of(const struct soak_block *block, unsigned quarter)
{
	return (unsigned char)(block->mark >> 8 * quarter);
}

static void fill(struct soak_worker *worker, struct soak_block *block)
{
	size_t step = block->bytes / 4;

	if (!backend->enter(block))
		return;
	block->mark = (uint32_t)soak_draw(worker, 1ull << 32);
	for (unsigned quarter = 0; quarter < 4; quarter++)
		SOAK_OWN(worker, soak_cuda.cuMemsetD8Async(
					 block->at + quarter * step, byte_of(block, quarter),
					 smaller(step, FILLED), soak_round.streams[block->stream]));
	block->written = true;
	backend->leave(block);
}

static void compare(struct soak_worker *worker, struct soak_block *block)
{
	struct CUstream_st *stream = soak_round.streams[block->stream];
	size_t step = block->bytes / 4, filled = smaller(step, FILLED);
	size_t bytes = smaller(filled, READ), offset[4];
	unsigned char found[4][READ];
	bool written;

	if (!block->written || !backend->enter(block))
		return;
	written = block->written; /* enter() may have found that the contents are lost */
	for (unsigned quarter = 0; quarter < 4; quarter++) {
		offset[quarter] = soak_draw(worker, filled - bytes + 1);
		SOAK_OWN(worker, soak_cuda.cuMemcpyDtoHAsync_v2(found[quarter],
								block->at + quarter * step +
									offset[quarter],
								bytes, stream));
	}
	SOAK_OWN(worker, soak_cuda.cuStreamSynchronize(stream));
	backend->leave(block);
	for (unsigned quarter = 0; written && quarter < 4; quarter++)
		for (size_t i = 0; i < bytes; i++)
			if (found[quarter][i] != byte_of(block, quarter))
				soak_fail(worker,
					  "byte %zu of %zu bytes at %#llx is %#x, expected %#x",
					  quarter * step + offset[quarter] + i, block->bytes,
					  (unsigned long long)block->at, found[quarter][i],
					  byte_of(block, quarter));
}

static struct soak_block remove_any(struct soak_worker *worker)
{
	unsigned at = (unsigned)soak_draw(worker, worker->count);
	struct soak_block block = worker->held[at];

	worker->held[at] = worker->held[--worker->count];
	return block;
}

bool soak_drop(struct soak_worker *worker)
{
	struct soak_block block;

	if (!worker->count)
		return false;
	block = remove_any(worker);
	backend->dispose(worker, &block);
	return true;
}

static void dispose_some(struct soak_worker *worker, unsigned some)
{
	while (some-- && worker->count) {
		struct soak_block block = remove_any(worker);

		if (soak_draw(worker, 4))
			compare(worker, &block);
		backend->dispose(worker, &block);
	}
}

static size_t draw_bytes(struct soak_worker *worker)
{
	size_t max = (size_t)256 << soak_draw(worker, 18);

	return 4 + soak_draw(worker, smaller(max, soak_round.largest));
}

static void obtain(struct soak_worker *worker)
{
	struct soak_block block = { .bytes = draw_bytes(worker) };

	if (worker->count == SOAK_HELD)
		dispose_some(worker, SOAK_HELD / 4);
	if (!backend->obtain(worker, &block)) {
		dispose_some(worker, worker->count / 4 + 1);
		return;
	}
	fill(worker, &block);
	worker->held[worker->count++] = block;
}

/* Another stream becomes the home of a block. */
static void join(struct soak_worker *worker, struct soak_block *block)
{
	unsigned to = (unsigned)soak_draw(worker, SOAK_STREAMS);
	struct CUevent_st *event;

	SOAK_OWN(worker, soak_cuda.cuEventCreate(&event, 2));
	SOAK_OWN(worker, soak_cuda.cuEventRecord(event, soak_round.streams[block->stream]));
	SOAK_OWN(worker, soak_cuda.cuStreamWaitEvent(soak_round.streams[to], event, 0));
	SOAK_OWN(worker, soak_cuda.cuEventDestroy_v2(event));
	block->stream = to;
}

static void exchange(struct soak_worker *worker)
{
	struct soak_block *slot = &slots[soak_draw(worker, SLOTS)], given, got;

	given = remove_any(worker);
	pthread_mutex_lock(&slots_lock);
	got = *slot;
	*slot = given;
	pthread_mutex_unlock(&slots_lock);
	if (got.bytes)
		worker->held[worker->count++] = got;
}

static void fork_once(struct soak_worker *worker)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		alarm(300);
		_exit(backend->child(worker) ? 0 : 1);
	}
	if (child < 0)
		return; /* the machine has no room for another process */
	if (waitpid(child, &status, 0) != child || status != 0)
		soak_fail(worker, "the child of a fork ends with status %#x", (unsigned)status);
}

static void step(struct soak_worker *worker)
{
	uint64_t kind = soak_draw(worker, 1000);
	struct soak_block *any =
		worker->count ? &worker->held[soak_draw(worker, worker->count)] : NULL;

	if (soak_round.faults && soak_draw(worker, 64) == 0)
		soak_cuda.fake_fail(1 + soak_draw(worker, 12), 1 + soak_draw(worker, 3));
	if (kind < 400 || !any)
		obtain(worker);
	else if (kind < 700)
		dispose_some(worker, 1);
	else if (kind < 780)
		exchange(worker);
	else if (kind < 850)
		fill(worker, any);
	else if (kind < 900)
		join(worker, any);
	else if (kind < 940)
		compare(worker, any);
	else if (kind < 998)
		backend->other(worker);
	else if (soak_cuda.fake_fail || soak_draw(worker, 8) == 0) /* a real one maps much memory */
		fork_once(worker);
}

static void *work(void *argument)
{
	struct soak_worker *worker = argument;

	SOAK_OWN(worker, soak_cuda.cuCtxSetCurrent(soak_round.context));
	while (worker->operation < operations) {
		step(worker);
		worker->operation++;
	}
	return NULL;
}

static void free_all(struct soak_worker *worker)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		if (!slots[i].bytes)
			continue;
		compare(worker, &slots[i]);
		backend->dispose(worker, &slots[i]);
		slots[i].bytes = 0;
	}
	for (unsigned i = 0; i < THREADS; i++)
		while (workers[i].count) {
			struct soak_block block = remove_any(&workers[i]);

			compare(worker, &block);
			backend->dispose(worker, &block);
		}
}

static void undisturbed(struct soak_worker *worker)
{
	unsigned long long where;
	size_t bytes;

	if (!soak_cuda.fake_disturbed)
		return;
	if (soak_cuda.fake_disturbed(&where, &bytes))
		soak_fail(worker, "%zu bytes at %#llx were released while work used them", bytes,
			  where);
	if (soak_cuda.fake_crossed())
		soak_fail(worker, "two streams used memory at the same time");
}

static void play(void)
{
	struct soak_worker self = { .number = THREADS,
				    .random = soak_round.seed * 1000003 + soak_round.number };
	unsigned count = 1 + (unsigned)soak_draw(&self, THREADS);
	pthread_t threads[THREADS];

	soak_round.faults = soak_cuda.fake_fail && soak_draw(&self, 2);
	soak_round.largest = soak_draw(&self, 3) ? 4 * MIB : 32 * MIB;
	for (unsigned i = 0; i < SOAK_STREAMS; i++)
		SOAK_OWN(&self, soak_cuda.cuStreamCreate(&soak_round.streams[i], i % 2));
	backend->begin(&self);
	for (unsigned i = 0; i < count; i++) {
		workers[i] =
			(struct soak_worker){ .number = i, .random = self.random + 7919 * (i + 1) };
		if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
			soak_fail(&self, "a thread cannot be created");
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	if (soak_round.faults)
		soak_cuda.fake_fail(0, 0);
	backend->settle(&self);
	free_all(&self);
	for (unsigned i = 0; i < SOAK_STREAMS; i++)
		SOAK_OWN(&self, soak_cuda.cuStreamDestroy_v2(soak_round.streams[i]));
	backend->end(&self);
	undisturbed(&self);
}

/* Sizes of the process after each round, which must not grow. */
#define SIZES 6

static const struct {
	const char *name;
	long slack;
} sizes[SIZES] = { { "bytes from malloc", 32 << 10 },
		   { "KiB of private memory", 8 << 10 },
		   { "open files", 0 },
		   { "mappings", 16 },
		   { "threads", 0 },
		   { "MiB of the device", 64 } };

static long seen[ROUNDS][SIZES];

static long count_of(const char *folder)
{
	DIR *open = opendir(folder);
	long count = 0;

	if (!open)
		return 0;
	while (readdir(open))
		count++;
	closedir(open);
	return count;
}

static long lines_of(const char *file)
{
	FILE *open = fopen(file, "r");
	long count = 0;
	int c;

	if (!open)
		return 0;
	while ((c = fgetc(open)) != EOF)
		count += c == '\n';
	fclose(open);
	return count;
}

static long private_kib(void)
{
	FILE *open = fopen("/proc/self/status", "r");
	char line[200];
	long kib = 0;

	while (open && fgets(line, sizeof(line), open))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	if (open)
		fclose(open);
	return kib;
}

/* A driver returns the memory of ended streams, contexts and processes some rounds later. */
static long device_mib(struct soak_worker *worker)
{
	size_t left, total;

	if (soak_cuda.fake_holds || !getenv("SOAK_ALONE"))
		return 0;
	SOAK_OWN(worker, soak_cuda.cuMemGetInfo_v2(&left, &total));
	return (long)((total - left) / MIB);
}

static void measure(struct soak_worker *worker, long *into)
{
	struct mallinfo2 info;

	malloc_trim(0);
	info = mallinfo2();
	into[0] = (long)(info.uordblks + info.hblkhd);
	into[1] = info.uordblks ? private_kib() : 0; /* sanitizers keep freed memory */
	into[2] = count_of("/proc/self/fd");
	into[3] = info.uordblks ? lines_of("/proc/self/maps") : 0;
	into[4] = count_of("/proc/self/task");
	into[5] = device_mib(worker);
}

/* Whether the minimum of a quarter of the rounds exceeds the maximum of the one before it. */
static bool grows(unsigned quarter, unsigned rounds, unsigned what)
{
	long max = 0, min = seen[quarter * rounds / 4][what];

	for (unsigned i = (quarter - 1) * rounds / 4; i < quarter * rounds / 4; i++)
		max = seen[i][what] > max ? seen[i][what] : max;
	for (unsigned i = quarter * rounds / 4; i < (quarter + 1) * rounds / 4; i++)
		min = seen[i][what] < min ? seen[i][what] : min;
	return min > max + sizes[what].slack;
}

/* Something that was only created late grows once, a leak again and again. */
static bool is_flat(unsigned rounds)
{
	bool flat = true;

	for (unsigned what = 0; rounds >= 16 && what < SIZES; what++) {
		if (!grows(2, rounds, what) || !grows(3, rounds, what))
			continue;
		fprintf(stderr, "soak: seed %llu: the process grows from %ld to %ld %s\n",
			(unsigned long long)soak_round.seed, seen[rounds / 4][what],
			seen[rounds - 1][what], sizes[what].name);
		flat = false;
	}
	return flat;
}

int soak_main(int count, char **arguments, const struct soak_backend *used)
{
	struct soak_worker self = { .number = THREADS };
	unsigned rounds;

	if (count != 4) {
		fprintf(stderr, "usage: %s SEED ROUNDS OPERATIONS\n", arguments[0]);
		return 2;
	}
	soak_round.seed = strtoull(arguments[1], NULL, 10);
	rounds = (unsigned)strtoul(arguments[2], NULL, 10);
	operations = strtoul(arguments[3], NULL, 10);
	if (rounds < 1 || rounds > ROUNDS || operations < 1) {
		fprintf(stderr, "soak: ROUNDS is 1 to %u, OPERATIONS at least 1\n", ROUNDS);
		return 2;
	}
	backend = used;
	load();
	SOAK_OWN(&self, soak_cuda.cuInit(0));
	SOAK_OWN(&self, soak_cuda.cuDevicePrimaryCtxRetain(&soak_round.context, 0));
	SOAK_OWN(&self, soak_cuda.cuCtxSetCurrent(soak_round.context));
	while (soak_round.number < rounds) {
		play();
		measure(&self, seen[soak_round.number++]);
	}
	return is_flat(rounds) ? 0 : 1;
}
