/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak.h - random programs that check the contents of their memory, for runs of hours.
 *
 * A process plays rounds. In each round, threads allocate, fill, compare, exchange and free blocks
 * on common streams, fork, and make the calls of a backend: the library's (soak_library.c) or those
 * of an unmodified program for `mam run` (soak_program.c). On the stand-in driver, rounds may also
 * have driver calls that fail. All numbers follow from the seed, except the schedule of the threads.
 *
 * The rules that a program keeps:
 *   1. All work on a block is in its home stream, or ordered before the next work there.
 *   2. A block is freed on its home stream, or by a free that waits for the work, or after it.
 *   3. The program's own driver calls are repeated if they fail in a round with faults.
 *
 * Four parts of each block are filled with the four bytes of a random word, so memory that two
 * blocks share, or that is lost, differs with a probability of almost 1.
 *
 * After each round the process holds as much memory, as many files, mappings and threads as after
 * earlier ones, except for a constant (soak_mix.c, is_flat); SOAK_ALONE in the environment says that no
 * other process uses the GPU, whose memory then counts, too.
 */
#ifndef TESTS_STRESS_SOAK_H
#define TESTS_STRESS_SOAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fake/driver_api.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define SOAK_STREAMS 6u
#define SOAK_HELD 48u

/* clang-format off */
#define SOAK_CUDA(X) \
	X(cuInit) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuCtxSynchronize) \
	X(cuCtxCreate_v2) X(cuCtxDestroy_v2) X(cuMemAlloc_v2) X(cuMemAllocPitch_v2) \
	X(cuMemAllocManaged) X(cuMemAllocAsync) X(cuMemFree_v2) X(cuMemFreeAsync) \
	X(cuMemGetInfo_v2) X(cuMemGetAddressRange_v2) X(cuMemsetD8Async) \
	X(cuMemcpyDtoHAsync_v2) X(cuStreamCreate) X(cuStreamDestroy_v2) \
	X(cuStreamSynchronize) X(cuStreamWaitEvent) X(cuEventCreate) X(cuEventDestroy_v2) \
	X(cuEventRecord)
#define SOAK_FAKE(X) X(fake_fail) X(fake_holds) X(fake_disturbed) X(fake_crossed)
/* clang-format on */

struct soak_cuda {
#define FIELD(name) __typeof__(name) *name;
	SOAK_CUDA(FIELD)
	SOAK_FAKE(FIELD) /* NULL on a real driver */
#undef FIELD
};

struct soak_block {
	uintptr_t at;
	size_t bytes;
	uint32_t mark;
	bool written;
	unsigned stream; /* the home */
	unsigned from;   /* the backend's: which pool, or which call */
	unsigned epoch;  /* the backend's: contents of an earlier one are lost */
};

struct soak_worker {
	unsigned number;
	uint64_t random;
	unsigned long operation;
	struct soak_block held[SOAK_HELD];
	unsigned count;
};

struct soak_backend {
	void (*begin)(struct soak_worker *worker); /* of a round, before its threads start */
	/* Returns false if there is no memory; otherwise sets at, stream, from and epoch. */
	bool (*obtain)(struct soak_worker *worker, struct soak_block *block);
	void (*dispose)(struct soak_worker *worker, struct soak_block *block);
	/* Returns whether work may use the block now; then `leave` follows. */
	bool (*enter)(struct soak_block *block);
	void (*leave)(struct soak_block *block);
	void (*other)(struct soak_worker *worker);  /* any other call */
	bool (*child)(struct soak_worker *worker);  /* in the child of a fork */
	void (*settle)(struct soak_worker *worker); /* no thread runs, no call fails any more */
	void (*end)(struct soak_worker *worker);    /* no block is live */
};

struct soak_round {
	uint64_t seed;
	unsigned number;
	bool faults;
	size_t largest;
	struct CUctx_st *context;
	struct CUstream_st *streams[SOAK_STREAMS];
};

extern struct soak_cuda soak_cuda;
extern struct soak_round soak_round;

uint64_t soak_draw(struct soak_worker *worker, uint64_t below);

/* soak_fail - print the seed, the place and this reason, and end the process with status 1. */
__attribute__((format(printf, 2, 3), noreturn)) void soak_fail(const struct soak_worker *worker,
							       const char *format, ...);

/* A driver call of the program itself. */
#define SOAK_OWN(worker, call)                                                  \
	do {                                                                    \
		int soak_result, soak_tries = 100;                              \
		do                                                              \
			soak_result = (call);                                   \
		while (soak_result && soak_round.faults && --soak_tries);       \
		if (soak_result)                                                \
			soak_fail(worker, "%s returns %d", #call, soak_result); \
	} while (0)

/* soak_drop - free a block of the worker without a look at its contents; false: it has none. */
bool soak_drop(struct soak_worker *worker);

/* soak_main - SEED ROUNDS OPERATIONS: of each thread in a round. Returns the exit status. */
int soak_main(int count, char **arguments, const struct soak_backend *backend);

#endif
