/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - the fake device's work: a list of operations, each with the time at which it is
 * done.
 *
 * 1. stream.c computes the time from the streams' order and the lag, and submits an operation here.
 * 2. The list is sorted by time, then by submission.
 * 3. Every call into the driver executes the operations whose time has passed; a wait sleeps first.
 *
 * An operation may thus run later than its time, but never earlier and never out of order. Real
 * hardware may do the same, and it makes a block that is reused too early visible on every run.
 *
 * With FAKE_CUDA_CLOCK_NS the times are those of the fake's own clock, which only calls and waits
 * advance: nothing sleeps, and one thread sees the same on every run.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum piece_kind { PIECE_COPY, PIECE_FILL, PIECE_USE, PIECE_RELEASE, PIECE_CHECK };

struct piece {
	struct piece *next;
	uint64_t due_ns;
	enum piece_kind kind;
	unsigned char value;      /* fill */
	struct CUctx_st *context; /* whose work it is; NULL: a release */
	void *to;
	const void *from;
	uintptr_t to_address;   /* as the program knows them; 0: none */
	uintptr_t from_address; /* ... */
	size_t bytes;
	uint64_t block_id;    /* release */
	uint64_t *bad;        /* check: the results; `from` has the ranges, `bytes` their number */
	unsigned char kept[]; /* copy: the bytes, if the caller may change them after the call */
};

static struct piece *first;           /* lock: fake */
static struct CUctx_st *submitter;    /* lock: fake */
static uint64_t clock_ns = 1;         /* the fake's own. lock: fake */
static __thread unsigned long waited; /* number of waits for unfinished work */

void fake_timeline_tick(void)
{
	clock_ns += fake_knobs.clock_ns;
}

uint64_t fake_now(void)
{
	struct timespec now;

	if (fake_knobs.clock_ns)
		return clock_ns;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Memory that is gone is wrong: a real kernel would fail. */
static void check(const uint64_t range[2], uint64_t *bad)
{
	for (uint64_t offset = 0; offset < range[1];) {
		const unsigned char *place = fake_memory_place(range[0] + offset);
		size_t part = fake_memory_extent(range[0] + offset, range[1] - offset);

		for (size_t i = 0; i < part; i++) {
			if (!place || place[i] != 0xdb) {
				*bad = offset + i;
				return;
			}
		}
		offset += part;
	}
}

static void carry_out(struct piece *piece)
{
	switch (piece->kind) {
	case PIECE_COPY:
		memmove(piece->to, piece->from ? piece->from : piece->kept, piece->bytes);
		break;
	case PIECE_FILL: memset(piece->to, piece->value, piece->bytes); break;
	case PIECE_USE: break;
	case PIECE_RELEASE: fake_memory_release_id(piece->block_id); break;
	case PIECE_CHECK:
		for (size_t i = 0; i < piece->bytes; i++)
			check((const uint64_t *)piece->from + 2 * i, &piece->bad[i]);
		break;
	}
	free(piece);
}

void fake_timeline_run(void)
{
	uint64_t now;

	if (!first)
		return;
	now = fake_now();
	while (first && first->due_ns <= now) {
		struct piece *piece = first;

		first = piece->next;
		carry_out(piece);
	}
}

unsigned long fake_timeline_waited(void)
{
	return waited;
}

/* Releases the lock while sleeping: everything looked up before must be looked up again. */
void fake_timeline_wait(uint64_t until_ns)
{
	struct timespec until = { .tv_sec = until_ns / 1000000000,
				  .tv_nsec = until_ns % 1000000000 };

	if (until_ns > fake_now())
		waited++;
	if (fake_knobs.hasty) {
		;
	} else if (fake_knobs.clock_ns) {
		if (until_ns > clock_ns)
			clock_ns = until_ns;
	} else if (until_ns > fake_now()) {
		fake_lock_drop();
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
			;
		fake_lock_retake();
	}
	fake_timeline_run();
}

/* The pieces that are made next are work of this context. */
void fake_timeline_submitter(struct CUctx_st *context)
{
	submitter = fake_context_owner(context);
}

static struct piece *make(size_t kept, uint64_t due_ns, enum piece_kind kind)
{
	struct piece *piece = calloc(1, sizeof(*piece) + kept);

	if (piece) {
		piece->due_ns = due_ns;
		piece->kind = kind;
		piece->context = kind == PIECE_RELEASE ? NULL : submitter;
	}
	return piece;
}

static int submit(struct piece *piece)
{
	struct piece **link = &first;

	if (!piece)
		return CUDA_ERROR_OUT_OF_MEMORY;
	while (*link && (*link)->due_ns <= piece->due_ns)
		link = &(*link)->next;
	piece->next = *link;
	*link = piece;
	return CUDA_SUCCESS;
}

int fake_timeline_copy(uint64_t due_ns, const struct fake_end *to, const struct fake_end *from,
		       size_t bytes, bool keep)
{
	struct piece *piece = make(keep ? bytes : 0, due_ns, PIECE_COPY);

	if (piece) {
		piece->to = to->reach;
		piece->from = keep ? NULL : from->reach;
		piece->to_address = to->address;
		piece->from_address = keep ? 0 : from->address;
		piece->bytes = bytes;
		if (keep)
			memcpy(piece->kept, from->reach, bytes);
	}
	return submit(piece);
}

int fake_timeline_fill(uint64_t due_ns, const struct fake_end *to, unsigned char value,
		       size_t bytes)
{
	struct piece *piece = make(0, due_ns, PIECE_FILL);

	if (piece) {
		piece->to = to->reach;
		piece->to_address = to->address;
		piece->value = value;
		piece->bytes = bytes;
	}
	return submit(piece);
}

static bool overlap(uintptr_t address, size_t bytes, uintptr_t other, size_t other_bytes)
{
	return other != 0 && other < address + bytes && address < other + other_bytes;
}

int fake_timeline_touching(uintptr_t address, size_t bytes)
{
	int touching = 0;

	for (const struct piece *piece = first; piece; piece = piece->next)
		touching += overlap(address, bytes, piece->to_address, piece->bytes) ||
			    overlap(address, bytes, piece->from_address, piece->bytes);
	return touching;
}

/* The addresses are unmapped: work that still uses them faults, which breaks its context. */
void fake_timeline_fault(uintptr_t address, size_t bytes)
{
	for (struct piece *piece = first; piece; piece = piece->next) {
		if (!overlap(address, bytes, piece->to_address, piece->bytes) &&
		    !overlap(address, bytes, piece->from_address, piece->bytes))
			continue;
		piece->kind = PIECE_USE;
		piece->to_address = piece->from_address = 0;
		piece->to = NULL;
		piece->from = NULL;
		piece->context->broken = CUDA_ERROR_ILLEGAL_ADDRESS;
	}
}

/* The same by place, for work that ends after some time: memory may be mapped at several addresses. */
int fake_timeline_reaching(const void *place, size_t bytes, uint64_t after_ns)
{
	int reaching = 0;

	for (const struct piece *piece = first; piece; piece = piece->next)
		if (piece->due_ns > after_ns)
			reaching += overlap((uintptr_t)place, bytes, (uintptr_t)piece->to,
					    piece->bytes) ||
				    overlap((uintptr_t)place, bytes, (uintptr_t)piece->from,
					    piece->bytes);
	return reaching;
}

/* One entry for each mapping: neighbors in addresses may be anywhere in memory. */
int fake_timeline_use(uint64_t due_ns, uintptr_t address, size_t bytes)
{
	int result = CUDA_SUCCESS;

	while (bytes != 0 && result == CUDA_SUCCESS) {
		size_t part = fake_memory_extent(address, bytes);
		struct piece *piece = make(0, due_ns, PIECE_USE);

		if (piece) {
			piece->to = fake_memory_place(address);
			piece->to_address = address;
			piece->bytes = part;
		}
		result = submit(piece);
		address += part;
		bytes -= part;
	}
	return result;
}

int fake_timeline_release(uint64_t due_ns, uint64_t block_id)
{
	struct piece *piece = make(0, due_ns, PIECE_RELEASE);

	if (piece)
		piece->block_id = block_id;
	return submit(piece);
}

int fake_timeline_check(uint64_t due_ns, const uint64_t (*ranges)[2], uint64_t *bad,
			unsigned int count)
{
	struct piece *piece = make(0, due_ns, PIECE_CHECK);

	if (piece) {
		piece->from = ranges;
		piece->bad = bad;
		piece->bytes = count;
	}
	return submit(piece);
}

/* The child of a fork shares the bytes but must not work on them. */
void fake_timeline_forget(void)
{
	struct piece *piece;

	while (first) {
		piece = first;
		first = piece->next;
		free(piece);
	}
}
