/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug.cu - a program whose kernels make each memory error once, and mam's reports of them.
 *
 * Compiled with -DMAM_KDEBUG, on heaps with checks. First run kernels without errors, with many
 * lanes at once and sizes from 1 B to 20 KiB: there must be no report. Then each error is made by a
 * thread of its own. Its report must have the right address, block and thread. In a heap that
 * grows, the errors also concern objects in a grant and a large object. Finally there is a kernel
 * whose error is reported while it runs, and one that faults after its errors.
 *
 *     nvcc -DMAM_KDEBUG -arch=native -I PREFIX/include -o debug debug.cu -L PREFIX/lib -lmam
 *     ./debug [--lanes N] [--rounds N]
 *
 * Prints the reports, "ok - PART: ..." for each part, and "all is well" at the end, with status 0.
 * A kernel that does not finish within half a minute ends the program with status 3.
 */
#ifndef MAM_KDEBUG
#define MAM_KDEBUG
#endif
#include <mam/heap.cuh>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <unistd.h>
#include <vector>

#define CLIENT "debug"
#define SECONDS 30
#define THREADS 128
#include "say.cuh"

static struct mam_heap *heap_of(size_t bytes, size_t max_bytes)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
	struct mam_heap *heap;

	attr.bytes = bytes;
	attr.max_bytes = max_bytes;
	attr.debug = 1;
	check(mam_heap_create(NULL, &attr, &heap), "mam_heap_create");
	return heap;
}

static bool collect(void *argument, const struct mam_heap_report *report)
{
	((std::vector<struct mam_heap_report> *)argument)->push_back(*report);
	return true;
}

/* Prints and returns the new reports. */
static std::vector<struct mam_heap_report> reports_of(struct mam_heap *heap)
{
	std::vector<struct mam_heap_report> reports;
	char text[512];

	check(mam_heap_reports(heap, collect, &reports), "mam_heap_reports");
	for (const struct mam_heap_report &report : reports) {
		(void)mam_heap_report_text(&report, text, sizeof(text));
		std::printf("mam: %s\n", text);
	}
	return reports;
}

__device__ static unsigned int mix(unsigned int a, unsigned int b)
{
	a = (a ^ b * 0x9e3779b9u) * 0x85ebca6bu;
	a ^= a >> 13;
	a *= 0xc2b2ae35u;
	return a ^ a >> 16;
}

/* No errors: each byte of each object is written, and read again before the object is freed. */
__global__ void churn(struct mam_kheap *heap, unsigned int rounds, unsigned int seed,
		      unsigned long long *counts)
{
	unsigned int me = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned char *kept[4] = { NULL, NULL, NULL, NULL };
	unsigned int bytes[4] = { 0, 0, 0, 0 };

	for (unsigned int round = 0; round < rounds; round++) {
		unsigned int random = mix(me, seed + round), i = random % 4;
		unsigned char mark = (unsigned char)(me + i);

		if (kept[i]) {
			for (unsigned int k = 0; k < bytes[i]; k++)
				if (kept[i][k] != mark) {
					atomicAdd(&counts[1], 1ull);
					break;
				}
			if (!mam_kfree(heap, kept[i]))
				atomicAdd(&counts[2], 1ull);
		}
		bytes[i] = random >> 24 < 4 ? 1 + random / 64 % 20000 : 1 + random / 64 % 600;
		kept[i] = (unsigned char *)mam_kmalloc(heap, bytes[i]);
		if (!kept[i]) {
			atomicAdd(&counts[0], 1ull);
			continue;
		}
		if (mam_kusable(heap, kept[i]) != bytes[i])
			atomicAdd(&counts[3], 1ull);
		for (unsigned int k = 0; k < bytes[i]; k++)
			kept[i][k] = mark;
	}
	for (unsigned int i = 0; i < 4; i++)
		if (!mam_kfree(heap, kept[i]))
			atomicAdd(&counts[2], 1ull);
}

static void make_churn(unsigned int lanes, unsigned int rounds, size_t bytes, size_t max_bytes)
{
	struct mam_heap *heap = heap_of(bytes, max_bytes);
	struct mam_heap_info info = {};
	unsigned long long *counts;

	check(cudaMallocManaged(&counts, 4 * sizeof(*counts)), "cudaMallocManaged");
	std::memset(counts, 0, 4 * sizeof(*counts));
	for (unsigned int launch = 0; launch < 3; launch++) {
		churn<<<(lanes + THREADS - 1) / THREADS, THREADS>>>(mam_heap_device(heap), rounds,
								    launch * 7919, counts);
		finish((cudaStream_t)NULL, "churn");
	}
	if (counts[1] || counts[2] || counts[3])
		fail(1, "churn: %llu overwritten objects, %llu failed frees, %llu wrong sizes",
		     counts[1], counts[2], counts[3]);
	if (!reports_of(heap).empty())
		fail(1, "churn: a report without an error");
	info.size = sizeof(info);
	check(mam_heap_stats(heap, NULL, &info), "mam_heap_stats");
	if (info.objects)
		fail(1, "churn: %llu objects left", (unsigned long long)info.objects);
	std::printf("ok - churn: %u lanes, %u rounds, %llu failed requests, %llu grants\n", lanes,
		    3 * rounds, counts[0], (unsigned long long)info.grants);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	check(cudaFree(counts), "cudaFree");
}

/* Per thread that makes an error: its object's address, and the result of its free. */
struct note {
	unsigned long long address;
	unsigned int result_of_free;
};

/*
 * Block b makes error number b in its thread (b, 1, 0). Blocks have 32 by 2 threads, and the object
 * has `bytes` + b bytes.
 */
__global__ void mistakes(struct mam_kheap *heap, struct note *notes, unsigned int bytes,
			 unsigned int b)
{
	unsigned int n = bytes + b, slot;
	unsigned char *object, *again;

	if (blockIdx.x != b || threadIdx.y != 1 || threadIdx.x != b)
		return;
	object = (unsigned char *)mam_kmalloc(heap, n);
	notes[b].address = (unsigned long long)(uintptr_t)object;
	notes[b].result_of_free = 2;
	if (!object)
		return;
	switch (b) {
	case MAM_HEAP_OVERRUN:
		object[n + 3] = 1;
		notes[b].result_of_free = mam_kfree(heap, object);
		break;
	case MAM_HEAP_UNDERRUN:
		object[-5] = 1;
		notes[b].result_of_free = mam_kfree(heap, object);
		break;
	case MAM_HEAP_WRITTEN_AFTER_FREE:
		notes[b].result_of_free = mam_kfree(heap, object);
		object[8] = 1;
		/* Until the memory is allocated again. */
		for (slot = 0; slot < 4096; slot++) {
			again = (unsigned char *)mam_kmalloc(heap, n);
			if (again == object || !again)
				break;
		}
		break;
	case MAM_HEAP_DOUBLE_FREE:
		(void)mam_kfree(heap, object);
		notes[b].result_of_free = mam_kfree(heap, object);
		break;
	case MAM_HEAP_FOREIGN_FREE:
		notes[b].result_of_free = mam_kfree(heap, &notes[b]);
		notes[b].address = (unsigned long long)(uintptr_t)&notes[b];
		break;
	case MAM_HEAP_INTERIOR_FREE:
		notes[b].result_of_free = mam_kfree(heap, object + 16);
		notes[b].address += 16;
		break;
	}
}

static bool is_thread(const struct mam_heap_thread *thread, unsigned int b)
{
	return thread->known && thread->block[0] == b && !thread->block[1] && !thread->block[2] &&
	       thread->thread[0] == b && thread->thread[1] == 1 && !thread->thread[2];
}

static void make_mistakes(size_t max_bytes, unsigned int bytes)
{
	static const long long offsets[] = { 3, -5, 8, 0, 0, 16 };
	const unsigned int kinds = MAM_HEAP_INTERIOR_FREE + 1;
	struct mam_heap *heap = heap_of((size_t)1 << 20, max_bytes);
	std::vector<struct mam_heap_report> reports;
	struct note *notes;
	unsigned int seen = 0;

	check(cudaMallocManaged(&notes, kinds * sizeof(*notes)), "cudaMallocManaged");
	/* One kernel after the other, so that it is fixed which thread gets which memory. */
	for (unsigned int b = 0; b < kinds; b++)
		mistakes<<<kinds, dim3(32, 2)>>>(mam_heap_device(heap), notes, bytes, b);
	finish((cudaStream_t)NULL, "mistakes");
	reports = reports_of(heap);
	for (const struct mam_heap_report &report : reports) {
		unsigned int b = report.kind;
		bool gone = b == MAM_HEAP_WRITTEN_AFTER_FREE || b == MAM_HEAP_DOUBLE_FREE;
		long long offset = b < kinds ? offsets[b] : 0;

		if (b >= kinds || seen >> b & 1)
			fail(1, "unexpected report of kind %u", b);
		seen |= 1u << b;
		if (b == MAM_HEAP_OVERRUN)
			offset += bytes + b;
		if ((unsigned long long)(uintptr_t)report.address != notes[b].address ||
		    report.offset != offset || !is_thread(&report.finder, b))
			fail(1, "a report of kind %u with the wrong address, offset or thread", b);
		if (b != MAM_HEAP_FOREIGN_FREE &&
		    (report.bytes != bytes + b || !is_thread(&report.holder, b)))
			fail(1,
			     "a report of kind %u with wrong bytes or the wrong allocating thread",
			     b);
		if (gone != report.giver.known || (gone && !is_thread(&report.giver, b)))
			fail(1, "a report of kind %u with the wrong freeing thread", b);
		if (notes[b].result_of_free != (b < MAM_HEAP_DOUBLE_FREE))
			fail(1, "the free of error %u returned %u", b, notes[b].result_of_free);
	}
	for (unsigned int b = 0; b < kinds; b++)
		if (!(seen >> b & 1))
			fail(1, "error %u was not found", b);
	std::printf("ok - mistakes: all found in objects of %u bytes, heap %s\n", bytes,
		    max_bytes ? "grows" : "does not grow");
	std::fflush(stdout);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	check(cudaFree(notes), "cudaFree");
}

/*
 * Errors with a large object, which the host allocates. No byte of it belongs to the heap once it
 * is freed.
 */
__global__ void large(struct mam_kheap *heap, unsigned int bytes)
{
	unsigned char *object = (unsigned char *)mam_kmalloc(heap, bytes);

	if (!object)
		return;
	object[bytes] = 1;
	object[-1] = 1;
	(void)mam_kfree(heap, object + 1024);
	(void)mam_kfree(heap, object);
	(void)mam_kfree(heap, object);
}

static void make_large(void)
{
	struct mam_heap *heap = heap_of((size_t)1 << 20, MAM_HEAP_UNLIMITED);
	std::vector<struct mam_heap_report> reports;
	static const enum mam_heap_mistake kinds[] = { MAM_HEAP_FOREIGN_FREE, MAM_HEAP_UNDERRUN,
						       MAM_HEAP_OVERRUN, MAM_HEAP_FOREIGN_FREE };

	large<<<1, 1>>>(mam_heap_device(heap), 3000000);
	finish((cudaStream_t)NULL, "large");
	reports = reports_of(heap);
	if (reports.size() != 4)
		fail(1, "large: %zu reports", reports.size());
	for (size_t i = 0; i < 4; i++)
		if (reports[i].kind != kinds[i])
			fail(1, "large: report %zu is of kind %d", i, reports[i].kind);
	std::printf("ok - large: 4 errors found\n");
	check(mam_heap_destroy(heap), "mam_heap_destroy");
}

/*
 * An error is reported while its kernel still runs: the kernel continues only when the host has
 * read the report.
 */
__global__ void alive(struct mam_kheap *heap, volatile unsigned int *flags)
{
	long long since = clock64();
	char here;

	(void)mam_kfree(heap, &here);
	while (!flags[0] && clock64() - since < 20000000000ll)
		__nanosleep(1000);
	flags[1] = flags[0] ? 1 : 2;
}

static void make_alive(void)
{
	struct mam_heap *heap = heap_of((size_t)1 << 20, 0);
	std::vector<struct mam_heap_report> reports;
	volatile unsigned int *flags;
	std::time_t deadline = std::time(NULL) + SECONDS / 6;
	void *memory;

	check(cudaHostAlloc(&memory, 2 * sizeof(*flags), cudaHostAllocMapped), "cudaHostAlloc");
	flags = (volatile unsigned int *)memory;
	flags[0] = flags[1] = 0;
	alive<<<1, 1>>>(mam_heap_device(heap), flags);
	check(cudaGetLastError(), "alive");
	while (reports.empty() && std::time(NULL) < deadline)
		check(mam_heap_reports(heap, collect, &reports), "mam_heap_reports");
	if (reports.empty() || flags[1])
		fail(1, "alive: %zu reports while the kernel runs", reports.size());
	flags[0] = 1;
	finish((cudaStream_t)NULL, "alive");
	if (flags[1] != 1)
		fail(1, "alive: the kernel did not wait");
	std::printf("ok - alive: reported while the kernel runs\n");
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	check(cudaFreeHost(memory), "cudaFreeHost");
}

/* More errors than the report buffer can hold. */
__global__ void many(struct mam_kheap *heap)
{
	char here;

	(void)mam_kfree(heap, &here);
}

static void make_many(void)
{
	struct mam_heap *heap = heap_of((size_t)1 << 20, 0);
	std::vector<struct mam_heap_report> reports;
	unsigned long long counted = 0;

	many<<<64, 1024>>>(mam_heap_device(heap));
	finish((cudaStream_t)NULL, "many");
	check(mam_heap_reports(heap, collect, &reports), "mam_heap_reports");
	for (const struct mam_heap_report &report : reports)
		counted += report.kind == MAM_HEAP_UNTOLD ? report.bytes : 1;
	if (counted != 65536 || reports.size() != 1025)
		fail(1, "many: %llu of 65536 errors counted, in %zu reports", counted,
		     reports.size());
	std::printf("ok - many: 65536 errors, %zu reports\n", reports.size());
	check(mam_heap_destroy(heap), "mam_heap_destroy");
}

/* Errors that a kernel found before it faulted. */
__global__ void die(struct mam_kheap *heap)
{
	int *object = (int *)mam_kmalloc(heap, 40);

	if (!object)
		return;
	object[10] = 1;
	(void)mam_kfree(heap, object);
	(void)mam_kfree(heap, object);
	__threadfence_system();
	*(volatile int *)8 = 1;
}

static void make_death(void)
{
	struct mam_heap *heap = heap_of((size_t)1 << 20, 0);
	std::vector<struct mam_heap_report> reports;
	cudaError_t result;

	die<<<1, 1>>>(mam_heap_device(heap));
	result = wait((cudaStream_t)NULL, "death");
	if (result == cudaSuccess)
		fail(1, "death: the kernel did not fault");
	reports = reports_of(heap);
	if (reports.size() != 2 || reports[0].kind != MAM_HEAP_OVERRUN ||
	    reports[1].kind != MAM_HEAP_DOUBLE_FREE)
		fail(1, "death: %zu reports", reports.size());
	std::printf("ok - death: %s, and both errors reported\n", cudaGetErrorString(result));
}

int main(int argument_count, char **arguments)
{
	unsigned int lanes = 65536, rounds = 24;

	for (int i = 1; i + 1 < argument_count; i += 2) {
		if (!std::strcmp(arguments[i], "--lanes"))
			lanes = (unsigned int)std::atoi(arguments[i + 1]);
		else if (!std::strcmp(arguments[i], "--rounds"))
			rounds = (unsigned int)std::atoi(arguments[i + 1]);
		else
			fail(2, "unknown option %s; use --lanes N or --rounds N", arguments[i]);
	}
	alarm(4 * SECONDS);
	make_churn(lanes, rounds, (size_t)lanes * 4 * 4096, 0);
	make_churn(lanes, rounds, (size_t)lanes * 512, 0);
	make_mistakes(0, 40);
	make_mistakes(0, 1000);
	make_mistakes(0, 30000);
	make_alive();
	make_many();
	make_churn(lanes, rounds, (size_t)4 << 20, MAM_HEAP_UNLIMITED);
	make_mistakes(MAM_HEAP_UNLIMITED, 1000);
	make_large();
	make_death();
	std::printf("all is well\n");
	std::fflush(stdout);
	return 0;
}
