/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.c - allocate, write, read back, verify, free, in a mixed order that is the same in every
 * run.
 *
 * A round allocates 48 blocks. Sizes are spread evenly over the powers of two up to --bytes. A
 * block is filled with one byte of its key, then its first kilobyte is written with words made from
 * the key. After a third of the allocations a random block is verified and freed; the remaining
 * blocks are freed in random order at the end. Verifying reads the head and the tail back (--check:
 * everything) and adds the head to the checksum. A block that overlaps another, or was reused too
 * early, shows as an error.
 *
 * stdout has only results, equal in every run; times go to stderr.
 */
#include "workload.h"

#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCKS 48
#define HEAD 1024
#define THREADS 64

struct block {
	uintptr_t address;
	size_t bytes;
	uint64_t key;
};

/* The work of one thread, and its results. */
struct worker {
	const struct client_api *api;
	uint64_t random;
	unsigned long made, refused, errors;
	uint64_t bytes;
	uint32_t checksum;
	int failed;          /* the first error other than out of memory */
	unsigned char *copy; /* as large as any block */
	struct block live[BLOCKS];
	unsigned int count;
};

struct client_options client_options = { .rounds = 20, .bytes = 1 << 20, .threads = 1 };

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014) */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* The CRC of zlib, so that a client in Python can print the same. */
static uint32_t add_to_checksum(uint32_t crc, const unsigned char *bytes, size_t count)
{
	crc = ~crc;
	for (size_t i = 0; i < count; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (0xedb88320u & -(crc & 1));
	}
	return ~crc;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void make_head(const struct block *block, unsigned char *head)
{
	for (unsigned int word = 0; word < HEAD / 8; word++) {
		uint64_t value = block->key + word * 0x9e3779b97f4a7c15u;

		for (unsigned int byte = 0; byte < 8; byte++)
			head[word * 8 + byte] = value >> 8 * byte;
	}
}

static void note(struct worker *worker, int result)
{
	worker->errors += result != 0;
	if (result && !worker->failed)
		worker->failed = result;
}

static void verify(struct worker *worker, const struct block *block)
{
	unsigned char head[HEAD], *copy = worker->copy;
	size_t start = smaller(block->bytes, HEAD), rest = block->bytes - start;
	bool equal = true;

	note(worker, worker->api->down(copy, block->address, start));
	make_head(block, head);
	equal = memcmp(copy, head, start) == 0;
	worker->checksum = add_to_checksum(worker->checksum, copy, start);
	if (!client_options.check)
		rest = smaller(rest, 64);
	if (rest) {
		note(worker, worker->api->down(copy, block->address + block->bytes - rest, rest));
		for (size_t i = 0; i < rest; i++)
			equal = equal && copy[i] == (unsigned char)block->key;
	}
	worker->errors += !equal;
}

static void drop(struct worker *worker, unsigned int at)
{
	struct block block = worker->live[at];

	verify(worker, &block);
	worker->live[at] = worker->live[--worker->count];
	note(worker, worker->api->release(block.address));
}

static void make(struct worker *worker)
{
	unsigned char head[HEAD];
	struct block block = { 0 };
	uint64_t number = draw(&worker->random);
	unsigned int shifts = 0;
	int result;

	while ((client_options.bytes >> shifts) > 1)
		shifts++;
	block.bytes = (size_t)1 << number % (shifts + 1);
	block.bytes += (number >> 8) % block.bytes;
	block.key = draw(&worker->random);
	result = worker->api->alloc(&block.address, block.bytes);
	if (result == 2) {
		worker->refused++;
		return;
	}
	note(worker, result);
	if (result)
		return;
	worker->errors += block.address % 256 != 0;
	worker->made++;
	worker->bytes += block.bytes;
	make_head(&block, head);
	note(worker, worker->api->fill(block.address, block.key, block.bytes));
	note(worker, worker->api->up(block.address, head, smaller(block.bytes, HEAD)));
	worker->live[worker->count++] = block;
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	worker->failed = worker->api->start(client_options.device);
	if (worker->failed)
		return NULL;
	for (unsigned long round = 0; round < client_options.rounds; round++) {
		for (int i = 0; i < BLOCKS; i++) {
			make(worker);
			if (worker->count && draw(&worker->random) % 3 == 0)
				drop(worker, draw(&worker->random) % worker->count);
		}
		while (worker->count)
			drop(worker, draw(&worker->random) % worker->count);
	}
	note(worker, worker->api->wait());
	return NULL;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* The results of all threads together; the order in which threads end does not matter. */
static int run(const struct client_api *api)
{
	static struct worker workers[THREADS];
	struct worker sum = { 0 };
	pthread_t threads[THREADS];
	double start = seconds();

	for (unsigned int i = 0; i < client_options.threads; i++) {
		workers[i] = (struct worker){ .api = api, .random = i + 1 };
		workers[i].copy = malloc(client_options.bytes * 2);
		if (!workers[i].copy || pthread_create(&threads[i], NULL, work, &workers[i]) != 0) {
			fprintf(stderr, "client: no memory for %u threads\n",
				client_options.threads);
			exit(1);
		}
	}
	for (unsigned int i = 0; i < client_options.threads; i++) {
		pthread_join(threads[i], NULL);
		free(workers[i].copy);
		sum.made += workers[i].made;
		sum.bytes += workers[i].bytes;
		sum.refused += workers[i].refused;
		sum.errors += workers[i].errors;
		sum.checksum ^= workers[i].checksum;
		if (!sum.failed)
			sum.failed = workers[i].failed;
	}
	if (sum.failed)
		printf("failed: error %d\n", sum.failed);
	printf("rounds %lu blocks %lu bytes %llu refused %lu errors %lu checksum %08x\n",
	       client_options.rounds, sum.made, (unsigned long long)sum.bytes, sum.refused,
	       sum.errors, (unsigned int)sum.checksum);
	fflush(stdout);
	fprintf(stderr, "ms_per_round %.4f\n", (seconds() - start) * 1e3 / client_options.rounds);
	return sum.failed || sum.errors ? 1 : 0;
}

static unsigned long number(const char *text, unsigned long min, unsigned long max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || value < min || value > max) {
		fprintf(stderr, "client: '%s' is not a number from %lu to %lu\n", text, min, max);
		exit(2);
	}
	return value;
}

static void read_options(int count, char **arguments)
{
	static const struct option options[] = {
		{ "rounds", required_argument, NULL, 'r' },
		{ "bytes", required_argument, NULL, 'b' },
		{ "threads", required_argument, NULL, 't' },
		{ "device", required_argument, NULL, 'd' },
		{ "exit", required_argument, NULL, 'e' },
		{ "check", no_argument, NULL, 'c' },
		{ "own-context", no_argument, NULL, 'o' },
		{ "leak", no_argument, NULL, 'l' },
		{ "reset", no_argument, NULL, 'R' },
		{ 0 },
	};
	struct client_options *chosen = &client_options;
	int option;

	while ((option = getopt_long(count, arguments, "", options, NULL)) != -1) {
		switch (option) {
		case 'r': chosen->rounds = number(optarg, 1, 1000000000); break;
		case 'b': chosen->bytes = number(optarg, 1, (size_t)1 << 34); break;
		case 't': chosen->threads = number(optarg, 1, THREADS); break;
		case 'd': chosen->device = number(optarg, 0, 63); break;
		case 'e': chosen->exit_status = number(optarg, 0, 255); break;
		case 'c': chosen->check = true; break;
		case 'o': chosen->own_context = true; break;
		case 'l': chosen->leak = true; break;
		case 'R': chosen->reset = true; break;
		default:
			fprintf(stderr,
				"usage: %s [--rounds N] [--bytes N] [--threads N] [--device N]\n"
				"       [--check] [--own-context] [--leak] [--reset] [--exit N]\n",
				arguments[0]);
			exit(2);
		}
	}
}

int workload_main(int count, char **arguments, const struct client_api *api)
{
	uintptr_t kept = 0;
	int failed;

	read_options(count, arguments);
	failed = api->start(client_options.device);
	if (failed) {
		printf("no device: error %d\n", failed);
		return 1;
	}
	if (client_options.leak && (failed = api->alloc(&kept, 12345)) != 0)
		printf("leak: error %d\n", failed);
	failed |= run(api);
	if (client_options.check)
		workload_check(api);
	if (client_options.reset && api->reset) {
		printf("reset: %d\n", api->reset());
		failed |= run(api);
	}
	return failed ? 1 : client_options.exit_status;
}
