/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - runs the kernels of a file that random.py wrote, on the CPU, and compares them with the
 * verdicts of `mam coalesce`. It is included before the file (g++ -include).
 *
 * Usage: PROGRAM [VERDICTS], which has lines of "LINE SCOPE SIZE".
 *
 * A block of 64 threads runs as 64 contexts, one after the other up to the next barrier. Each thread
 * records its allocations, in order. Those that are claimed for the block must be the same in all
 * threads, with their sizes if these are claimed to be uniform; those for a warp in its lanes. In a
 * rewritten file a collective allocation is a barrier: all threads must be in the same call. Each
 * kernel runs three times; in the last run some allocations return NULL: for single threads, or, if
 * they are collective, for all.
 *
 * Output: a line for each error, then a checksum. Exit status: 1 after an error.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>

#define THREADS 64
#define STACK (256 << 10)
#define __global__ static
#define __device__
#define __shared__ static

struct place {
	unsigned int x;
};
typedef void (*kernel_t)(const int *, int, int, int *);

struct event {
	int line;
	size_t bytes;
};
enum wait { RUNS, BARRIER, VOTE, CALL, DONE };

struct thread {
	ucontext_t context;
	char *stack;
	enum wait wait;
	int line, value, scope;
	int seen; /* `value` when all lanes had given theirs */
	std::vector<event> events;
	unsigned int calls;
};

static place threadIdx, blockIdx, blockDim = { THREADS };
static thread threads[THREADS];
static ucontext_t home;
static int current, errors, run, words[THREADS], in_words[64];
static int claimed[100000], sized[100000]; /* of a line: 0 none, 1 warp, 2 block; uniform */

static void wrong(const char *what, int line)
{
	printf("wrong: line %d: %s\n", line, what);
	errors++;
}

/* Until all threads of the group are there, others run. */
static void wait_for(enum wait wait, int line)
{
	threads[current].wait = wait;
	threads[current].line = line;
	swapcontext(&threads[current].context, &home);
}

static void *mm_malloc(int line, size_t bytes)
{
	thread &t = threads[current];
	unsigned int h = (++t.calls * 40503u + (unsigned int)(current * 7919 + line)) >> 3;

	t.events.push_back({ line, bytes });
	return run == 2 && h % 5 == 0 ? nullptr : calloc(1, bytes + 64);
}

static void *mm_cmalloc(int line, size_t bytes, int scope)
{
	if (scope == 0)
		return mm_malloc(line, bytes);
	threads[current].scope = scope;
	wait_for(CALL, line);
	return run == 2 && line % 3 == 0 ? nullptr : calloc(1, bytes + 64);
}

static int vote(int line, int value)
{
	threads[current].value = value;
	wait_for(VOTE, line);
	return value;
}

static int any_sync(int line, int value)
{
	int base = current / 32 * 32, any = 0;

	vote(line, value);
	for (int i = 0; i < 32; i++)
		any |= threads[base + i].seen != 0;
	return any;
}

static unsigned int match_all(int line, int value, int *same)
{
	int base = current / 32 * 32;

	vote(line, value);
	*same = 1;
	for (int i = 0; i < 32; i++)
		*same &= threads[base + i].seen == threads[base].seen;
	return *same ? 0xffffffff : 0;
}

static int shuffle(int line, int value, int lane)
{
	vote(line, value);
	return threads[current / 32 * 32 + lane].seen;
}

#define __syncthreads() wait_for(BARRIER, __LINE__)
#define __any_sync(mask, value) any_sync(__LINE__, value)
#define __match_all_sync(mask, value, same) match_all(__LINE__, value, same)
#define __shfl_sync(mask, value, lane) shuffle(__LINE__, value, lane)

static kernel_t running;
static int arguments[2];

static void start(void)
{
	running(in_words, arguments[0], arguments[1], words);
	threads[current].wait = DONE;
	swapcontext(&threads[current].context, &home);
}

/* The group of thread `i` may go on. */
static bool is_free(int i)
{
	const thread &t = threads[i];
	bool warp = t.wait == VOTE || (t.wait == CALL && t.scope == 1);
	int from = warp ? i / 32 * 32 : 0, to = warp ? from + 32 : THREADS;

	for (int k = from; k < to; k++) {
		if (threads[k].wait == RUNS)
			return false;
		if (threads[k].wait != t.wait || threads[k].line != t.line)
			return false;
	}
	return true;
}

static void release(int i)
{
	const thread &t = threads[i];
	bool warp = t.wait == VOTE || (t.wait == CALL && t.scope == 1);
	int from = warp ? i / 32 * 32 : 0, to = warp ? from + 32 : THREADS;

	for (int k = from; k < to; k++) {
		threads[k].wait = RUNS;
		threads[k].seen = threads[k].value;
	}
}

static bool step(void)
{
	bool moved = false;

	for (int i = 0; i < THREADS; i++)
		while (threads[i].wait == RUNS) {
			current = i;
			threadIdx.x = (unsigned int)i;
			moved = true;
			swapcontext(&home, &threads[i].context);
		}
	for (int i = 0; i < THREADS; i++)
		if (threads[i].wait != DONE && threads[i].wait != RUNS && is_free(i)) {
			release(i);
			moved = true;
		}
	return moved;
}

/* The claimed events of two threads, in order. */
static void compare(const thread &a, const thread &b, int scope)
{
	size_t i = 0, k = 0;

	for (;; i++, k++) {
		while (i < a.events.size() && claimed[a.events[i].line] < scope)
			i++;
		while (k < b.events.size() && claimed[b.events[k].line] < scope)
			k++;
		if (i == a.events.size() || k == b.events.size())
			break;
		if (a.events[i].line != b.events[k].line) {
			wrong("not all threads reach it", a.events[i].line);
			return;
		}
		if (sized[a.events[i].line] && a.events[i].bytes != b.events[k].bytes &&
		    (scope == 2 || claimed[a.events[i].line] == 1)) {
			wrong("sizes differ", a.events[i].line);
			return;
		}
	}
	if (i != a.events.size() || k != b.events.size())
		wrong("not all threads reach it",
		      i != a.events.size() ? a.events[i].line : b.events[k].line);
}

static bool run_kernel(void)
{
	bool done = true;

	for (int i = 0; i < THREADS; i++) {
		thread &t = threads[i];

		if (t.stack == nullptr)
			t.stack = (char *)malloc(STACK);
		getcontext(&t.context);
		t.context.uc_stack.ss_sp = t.stack;
		t.context.uc_stack.ss_size = STACK;
		t.context.uc_link = nullptr;
		t.wait = RUNS;
		t.calls = 0;
		t.events.clear();
		makecontext(&t.context, start, 0);
	}
	while (step())
		continue;
	for (int i = 0; i < THREADS && done; i++)
		if (threads[i].wait != DONE) {
			wrong("threads wait forever", threads[i].line);
			done = false;
		}
	for (int i = 1; i < THREADS && done; i++)
		compare(threads[0], threads[i], 2);
	for (int i = 0; i < THREADS && done; i++)
		if (i % 32 != 0)
			compare(threads[i / 32 * 32], threads[i], 1);
	return done;
}

static void read_verdicts(const char *path)
{
	FILE *file = fopen(path, "r");
	char scope[16], size[16];
	int line;

	memset(claimed, -1, sizeof(claimed));
	while (file != nullptr && fscanf(file, "%d %15s %15s", &line, scope, size) == 3) {
		int reach = strcmp(scope, "block") == 0 ? 2 : strcmp(scope, "warp") == 0 ? 1 : 0;
		int uniform = strcmp(size, "uniform") == 0;

		/* Of a template: all instances. */
		sized[line] = claimed[line] < 0 ? uniform : sized[line] & uniform;
		claimed[line] = claimed[line] < 0 || reach < claimed[line] ? reach : claimed[line];
	}
	if (file != nullptr)
		fclose(file);
}

extern kernel_t kernels[];
extern const int kernel_count;

int main(int argc, char **argv)
{
	static const int inputs[3][2] = { { 3, 6 }, { 5, 1 }, { 3, 6 } };

	if (argc > 1)
		read_verdicts(argv[1]);
	for (int i = 0; i < 64; i++)
		in_words[i] = (i * 37 + 11) % 23;
	for (int k = 0; k < kernel_count; k++)
		for (run = 0; run < 3; run++) {
			unsigned int sum = 2166136261u;

			memset(words, 0, sizeof(words));
			running = kernels[k];
			arguments[0] = inputs[run][0];
			arguments[1] = inputs[run][1];
			run_kernel();
			for (int i = 0; i < THREADS; i++)
				sum = (sum ^ (unsigned int)words[i]) * 16777619u;
			/* Which threads get memory is not the same after rewriting. */
			if (run < 2)
				printf("kernel %d, run %d: %08x\n", k, run, sum);
		}
	return errors > 0;
}

#define malloc(bytes) mm_malloc(__LINE__, bytes)
