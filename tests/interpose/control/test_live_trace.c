/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_live_trace.c - the trace of a running program, which mam ctl starts and ends: the blocks from
 * before are its first allocations, whatever threads do with them meanwhile.
 *
 * The rest of the interposer is simulated here. Each test runs in a process of its own. The linker
 * replaces write() and clock_gettime() of the code under test.
 */
#include "interpose/watch/tracer.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/watch/watch.h"

#define BASE 0x7f0000000000u
#define THREADS 3
#define KEPT 64          /* blocks per thread */
#define BLOCKS (1 << 22) /* addresses, of which each is used once */
#define TRACES 100

_Atomic unsigned int mam_watch_bits;

void mam_watch_start(unsigned int bits)
{
	mam_watch_bits |= bits;
}

void mam_watch_stop(unsigned int bits)
{
	mam_watch_bits &= ~bits;
}

atomic_int mam_init_state;

bool mam_init_is_off_slow(void)
{
	return false;
}

bool mam_init_is_awake(void)
{
	return true;
}

static void *find_none(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL; /* plain text, which this test can read */
}

const struct mam_real_linker *mam_real_linker(void)
{
	static const struct mam_real_linker linker = { .dlsym = find_none };

	return &linker;
}

/* While it is set, writes of other threads do not return, and no time passes until one gives up. */
static atomic_bool is_stuck;

ssize_t __real_write(int number, const void *data, size_t bytes);
ssize_t __wrap_write(int number, const void *data, size_t bytes);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

ssize_t __wrap_write(int number, const void *data, size_t bytes)
{
	while (is_stuck && syscall(SYS_gettid) != getpid())
		usleep(100);
	return __real_write(number, data, bytes);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	int error = __real_clock_gettime(clock, time);

	if (is_stuck && clock == CLOCK_REALTIME)
		time->tv_sec -= 60;
	return error;
}

static char folder[] = "/tmp/mam-test-live-trace.XXXXXX";
static char path[64];

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trace", folder);
	unsetenv("MAM_TRACE");
	mam_tracer_start();
	ck_assert_uint_eq(mam_watch_bits, 0);
}

static void teardown(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static struct mam_watch_call call_of(unsigned int block, size_t bytes, void *context)
{
	return (struct mam_watch_call){ .function = MAM_TABLE_cuMemAlloc_v2,
					.fate = MAM_FATE_SERVED,
					.block = (void *)(uintptr_t)(BASE + block * UINT64_C(512)),
					.bytes = bytes,
					.context = context };
}

static void allocate(unsigned int block, size_t bytes)
{
	struct mam_watch_call call = call_of(block, bytes, NULL);

	if (mam_watch_bits != 0)
		mam_tracer_alloc(&call);
}

static void release(unsigned int block)
{
	struct mam_watch_call call = call_of(block, 0, NULL);

	call.function = MAM_TABLE_cuMemFree_v2;
	if (mam_watch_bits != 0)
		mam_tracer_free(&call);
}

static bool add(unsigned int block, size_t bytes, void *context)
{
	struct mam_watch_call call = call_of(block, bytes, context);

	return mam_tracer_add(&call);
}

/* The events of the trace, "a0:100 f0i ", where i means an implied free. */
static const char *events(void)
{
	static char text[512];
	char line[256];
	FILE *trace = fopen(path, "r");

	ck_assert_ptr_nonnull(trace);
	text[0] = '\0';
	while (fgets(line, sizeof(line), trace)) {
		unsigned long long id, bytes = 0;

		if (sscanf(line, "a %llu %llu 0 t=", &id, &bytes) == 2)
			sprintf(text + strlen(text), "a%llu:%llu ", id, bytes);
		else if (sscanf(line, "f %llu t=", &id) == 1)
			sprintf(text + strlen(text), "f%llu%s ", id,
				strstr(line, " implied=yes") == NULL ? "" : "i");
	}
	fclose(trace);
	return text;
}

static uint64_t close_trace(void)
{
	uint64_t count;

	ck_assert(mam_tracer_close(&count));
	ck_assert_uint_eq(mam_watch_bits, 0);
	return count;
}

START_TEST(blocks_from_before_are_the_first_allocations)
{
	allocate(1, 1);
	ck_assert_int_eq(mam_tracer_open(path, NULL), 0);
	ck_assert_uint_eq(mam_watch_bits, MAM_WATCH_TRACE);
	ck_assert(add(1, 100, NULL));
	ck_assert(add(2, 200, NULL));
	mam_tracer_opened();
	allocate(3, 300);
	release(1);
	release(4);
	ck_assert_uint_eq(close_trace(), 4);
	release(2);
	allocate(5, 500);
	ck_assert_str_eq(events(), "a0:100 a1:200 a2:300 f0 ");
}
END_TEST

START_TEST(next_trace_starts_anew)
{
	ck_assert_int_eq(mam_tracer_open(path, NULL), 0);
	release(7);
	mam_tracer_opened();
	for (unsigned int i = 0; i < 100; i++)
		allocate(i, 100);
	ck_assert_uint_eq(close_trace(), 100);
	strcat(path, "2");
	ck_assert_int_eq(mam_tracer_open(path, NULL), 0);
	ck_assert(add(7, 700, NULL));
	mam_tracer_opened();
	release(8); /* of the first trace only */
	release(7);
	ck_assert_uint_eq(close_trace(), 2);
	ck_assert_str_eq(events(), "a0:700 f0 ");
}
END_TEST

START_TEST(changes_while_blocks_are_added_win)
{
	int context, other;

	ck_assert_int_eq(mam_tracer_open(path, NULL), 0);
	release(1);
	ck_assert(!add(1, 100, NULL)); /* freed */
	allocate(2, 250);
	ck_assert(!add(2, 200, NULL)); /* the same block, or a later one */
	release(2);
	ck_assert(!add(2, 200, NULL));
	mam_tracer_context_gone(&context);
	ck_assert(!add(3, 300, &context));
	ck_assert(add(4, 400, &other));
	allocate(4, 450); /* a call that was not seen freed it */
	mam_tracer_opened();
	ck_assert_uint_eq(close_trace(), 5);
	ck_assert_str_eq(events(), "a0:250 f0 a2:400 a3:450 f2i ");
}
END_TEST

START_TEST(one_trace_at_a_time)
{
	uint64_t count;
	char none[96];

	ck_assert(!mam_tracer_close(&count));
	snprintf(none, sizeof(none), "%s/none/trace", folder);
	ck_assert_int_eq(mam_tracer_open(none, NULL), ENOENT);
	ck_assert_uint_eq(mam_watch_bits, 0);
	ck_assert_int_eq(mam_tracer_open(path, NULL), 0);
	ck_assert_int_eq(mam_tracer_open(path, NULL), EBUSY);
	mam_tracer_opened();
	allocate(1, 100);
	mam_tracer_finish(); /* at exit */
	ck_assert_str_eq(events(), "a0:100 ");
	ck_assert(!mam_tracer_close(&count));
	ck_assert_int_eq(mam_tracer_open(path, NULL), EBUSY);
}
END_TEST

START_TEST(name_is_used_as_it_is)
{
	strcat(path, ".%p.%r");
	ck_assert_int_eq(mam_tracer_open(path, NULL), 0);
	mam_tracer_opened();
	allocate(1, 100);
	close_trace();
	ck_assert_str_eq(events(), "a0:100 ");
}
END_TEST

/* More blocks than the ring has room for, in each of several traces. */
START_TEST(all_blocks_fit)
{
	const unsigned int count = 200000;

	for (int round = 0; round < 10; round++) {
		unsigned int seen = 0;
		char line[256];
		FILE *trace;

		ck_assert_int_eq(mam_tracer_open(path, NULL), 0);
		for (unsigned int i = 0; i < count; i++)
			ck_assert(add(i, 100, NULL));
		mam_tracer_opened();
		ck_assert_uint_eq(close_trace(), count);
		trace = fopen(path, "r");
		while (fgets(line, sizeof(line), trace))
			seen += line[0] == 'a';
		fclose(trace);
		ck_assert_uint_eq(seen, count);
	}
}
END_TEST

/* The number of the trace's allocations; -1: events are lost. */
static int count_allocs(void)
{
	char line[256];
	FILE *trace = fopen(path, "r");
	int count = 0;

	ck_assert_ptr_nonnull(trace);
	while (count >= 0 && fgets(line, sizeof(line), trace))
		count = strncmp(line, "# lost", 6) == 0 ? -1 : count + (line[0] == 'a');
	fclose(trace);
	return count;
}

/* The next trace begins when the write has returned, and the first one is complete then. */
START_TEST(writes_that_take_long_delay_the_next_trace)
{
	const unsigned int count = 20000;
	char next[80];

	snprintf(next, sizeof(next), "%s.next", path);
	ck_assert_int_eq(mam_tracer_open(path, NULL), 0);
	mam_tracer_opened();
	is_stuck = true;
	for (unsigned int i = 0; i < count; i++)
		allocate(i, 100);
	usleep(20000); /* the thread writes a segment */
	ck_assert_uint_eq(close_trace(), count);
	ck_assert_int_eq(mam_tracer_open(next, NULL), EAGAIN);
	ck_assert_uint_eq(mam_watch_bits, 0);
	is_stuck = false;
	ck_assert_int_eq(mam_tracer_open(next, NULL), 0);
	mam_tracer_opened();
	allocate(1, 100);
	close_trace();
	ck_assert_int_eq(count_allocs(), (int)count);
	strcpy(path, next);
	ck_assert_int_eq(count_allocs(), 1);
}
END_TEST

/* The thread that wrote the parent's trace does not exist in the child. */
START_TEST(child_of_a_fork_writes_its_own_trace)
{
	const unsigned int count = 200000;
	int status = 1;
	pid_t child;

	ck_assert_int_eq(mam_tracer_open(path, NULL), 0);
	mam_tracer_opened();
	for (unsigned int i = 0; i < count; i++)
		allocate(i, 100);
	ck_assert_uint_eq(close_trace(), count);
	child = fork();
	if (child == 0) {
		mam_tracer_restart();
		strcat(path, ".child");
		ck_assert_int_eq(mam_tracer_open(path, NULL), 0);
		mam_tracer_opened();
		for (unsigned int i = 0; i < count; i++)
			allocate(i, 100);
		close_trace();
		_exit(count_allocs() != (int)count);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
}
END_TEST

/*
 * The pool: no address is used twice, so a block that is missed stays in the trace. No trace starts
 * between the report of a free and the free itself: such a block is allowed to stay.
 */
static atomic_bool *is_live;
static atomic_uint next_block = 1;
static atomic_bool is_over;
static pthread_rwlock_t starting = PTHREAD_RWLOCK_INITIALIZER;

static void free_one(unsigned int *block)
{
	if (*block == 0)
		return;
	pthread_rwlock_rdlock(&starting);
	release(*block);
	is_live[*block] = false;
	pthread_rwlock_unlock(&starting);
	*block = 0;
}

static void *work(void *unused)
{
	unsigned int kept[KEPT] = { 0 };

	for (unsigned int i = 0; !is_over; i++) {
		unsigned int *block = &kept[i % KEPT];

		free_one(block);
		*block = atomic_fetch_add(&next_block, 1);
		ck_assert_uint_lt(*block, BLOCKS);
		is_live[*block] = true;
		allocate(*block, 100);
		if (i % 256 == 0)
			usleep(1);
	}
	for (unsigned int i = 0; i < KEPT; i++)
		free_one(&kept[i]);
	return unused;
}

/* Blocks of the trace that were not freed; -1: it has an event that is impossible. */
static int count_live(void)
{
	static bool traced[BLOCKS];
	int live = 0;
	char line[256];
	FILE *trace = fopen(path, "r");

	memset(traced, 0, sizeof(traced));
	while (live >= 0 && fgets(line, sizeof(line), trace)) {
		unsigned long id;

		if (sscanf(line, "%*c %lu ", &id) != 1)
			live = strncmp(line, "# lost", 6) == 0 ? -1 : live;
		else if (id >= BLOCKS || traced[id] != (line[0] == 'f'))
			live = -1;
		else
			live += (traced[id] = line[0] == 'a') ? 1 : -1;
	}
	fclose(trace);
	return live;
}

static void add_all(void)
{
	static unsigned int blocks[THREADS * (KEPT + 1)];
	unsigned int count = 0, last = next_block;

	for (unsigned int b = last > 5000 ? last - 5000 : 1; b < last; b++)
		if (is_live[b] && count < THREADS * (KEPT + 1))
			blocks[count++] = b;
	for (unsigned int b = 0; b < count; b++)
		add(blocks[b], 100, NULL);
}

static void join(pthread_t threads[THREADS])
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

START_TEST(threads_do_not_disturb_it)
{
	pthread_t threads[THREADS];

	is_live = mmap(NULL, BLOCKS * sizeof(*is_live), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(is_live, MAP_FAILED);
	for (int i = 0; i < TRACES; i++) {
		int live;

		is_over = false;
		for (int t = 0; t < THREADS; t++)
			ck_assert_int_eq(pthread_create(&threads[t], NULL, work, NULL), 0);
		usleep(500);
		pthread_rwlock_wrlock(&starting);
		ck_assert_int_eq(mam_tracer_open(path, NULL), 0);
		pthread_rwlock_unlock(&starting);
		add_all();
		mam_tracer_opened();
		is_over = i % 2 == 0; /* otherwise they run on */
		if (is_over)
			join(threads);
		close_trace();
		live = count_live();
		ck_assert_msg(live >= 0, "trace %d is invalid", i);
		ck_assert_msg(!is_over || live == 0, "trace %d has %d live blocks", i, live);
		if (!is_over) {
			is_over = true;
			join(threads);
		}
	}
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("live trace");
	Suite *suite = suite_create("live trace");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, blocks_from_before_are_the_first_allocations);
	tcase_add_test(cases, next_trace_starts_anew);
	tcase_add_test(cases, changes_while_blocks_are_added_win);
	tcase_add_test(cases, one_trace_at_a_time);
	tcase_add_test(cases, name_is_used_as_it_is);
	tcase_add_test(cases, all_blocks_fit);
	tcase_add_test(cases, writes_that_take_long_delay_the_next_trace);
#ifdef __SANITIZE_THREAD__ /* ends a child of a fork that starts a thread */
	(void)child_of_a_fork_writes_its_own_trace;
#else
	tcase_add_test(cases, child_of_a_fork_writes_its_own_trace);
#endif
	tcase_add_test(cases, threads_do_not_disturb_it);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
