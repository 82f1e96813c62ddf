/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a heap grows where a tool is at work under which that goes wrong: by what the tool leaves
 * in the environment, by the name of its library, by who traces, and by MAM_HEAP_GROWTH.
 *
 * The library is a copy of the stand-in driver under that name, which is loaded and not used.
 */
#include <mam/heap.cuh>

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "heap/growth/growing.h"

#include "heap/host/profiler.h"

#define PERFWORKS "NV_COMPUTE_PROFILER_PERFWORKS_DIR"
#define PORT "NV_NSIGHT_INJECTION_PORT_BASE"
#define SANITIZER "NV_SANITIZER_INJECTION_PORT_BASE"

static char folder[] = "/tmp/mam-replay-XXXXXX";

static void copy_file(const char *from, const char *to)
{
	static char bytes[1 << 16];
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	size_t got;

	ck_assert_ptr_nonnull(in);
	ck_assert_ptr_nonnull(out);
	while ((got = fread(bytes, 1, sizeof(bytes), in)) != 0)
		ck_assert_uint_eq(fwrite(bytes, 1, got, out), got);
	ck_assert_int_eq(fclose(out), 0);
	(void)fclose(in);
}

/* A library of this name is loaded until the test ends. */
static void load_as(const char *name)
{
	const char *build = getenv("MAM_BUILDDIR");
	char from[4096], to[4096];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(from, sizeof(from), "%s/tests/fake/lib/libcuda.so.1", build ? build : ".");
	snprintf(to, sizeof(to), "%s/%s", folder, name);
	copy_file(from, to);
	ck_assert_msg(dlopen(to, RTLD_NOW | RTLD_LOCAL) != NULL, "%s", dlerror());
	ck_assert_int_eq(unlink(to), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}

/* Does a heap that is to grow do so? */
static bool grows(void)
{
	struct mam_heap_attr attr = GROWING(MIB, 64 * MIB);
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = made(pool, &attr);
	const struct mam_growth *growth = mam_heap_device(heap)->growth;
	bool so = growth && growth->mail;
	unsigned int count = 0;

	(void)cuda;
	while (count < 300 && mam_kmalloc(mam_heap_device(heap), 8192))
		count++;
	/* One that does not grow has all of its first bytes, and says that it is full. */
	ck_assert_uint_eq(count, so ? 300 : 128);
	ck_assert_uint_eq(stats_of(heap).full, !so);
	heap_end(heap);
	pool_end(pool);
	return so;
}

START_TEST(nobody_is_at_work)
{
	ck_assert_ptr_null(mam_replay_tool());
	ck_assert(grows());
}
END_TEST

START_TEST(the_environment_tells)
{
	static const struct {
		const char *name, *tool;
	} rows[] = { { PERFWORKS, "ncu" }, { PORT, "ncu" }, { SANITIZER, "compute-sanitizer" } };

	setenv(rows[_i].name, "49152", 1);
	ck_assert_ptr_nonnull(strstr(mam_replay_tool(), rows[_i].tool));
	ck_assert(!grows());
	unsetenv(rows[_i].name);
	ck_assert_ptr_null(mam_replay_tool());
}
END_TEST

/* What users set to steer the profiler, and what other tools leave. */
START_TEST(other_tools_do_not_matter)
{
	setenv("NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT", "1", 1);
	setenv("NSYS_PROFILING_SESSION_ID", "1", 1);
	load_as("libcupti.so.13");
	ck_assert_ptr_null(mam_replay_tool());
	ck_assert(grows());
}
END_TEST

START_TEST(the_library_tells)
{
	static const char *const rows[][2] = { { "libcuda-injection.so", "ncu" },
					       { "libsanitizer-collection.so",
						 "compute-sanitizer" } };

	load_as(rows[_i][0]);
	ck_assert_ptr_nonnull(strstr(mam_replay_tool(), rows[_i][1]));
	ck_assert(!grows());
}
END_TEST

/* A child of a process that is called as a debugger is, and traces it: 0, or 77 where none may. */
static int traced_by(const char *name, bool is_tool)
{
	const char *tool;
	int status = -1;
	pid_t child;

	ck_assert_int_eq(prctl(PR_SET_NAME, name), 0);
	child = fork();
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(77);
		tool = mam_replay_tool();
		_exit(is_tool ? !tool || strcmp(tool, "cuda-gdb") != 0 : tool != NULL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(the_tracer_tells)
{
	int told = traced_by("cuda-gdb-python", true);

	ck_assert(told == 0 || told == 77);
	told = traced_by("gdb", false);
	ck_assert(told == 0 || told == 77);
	ck_assert_ptr_null(mam_replay_tool());
}
END_TEST

/* Only the name of the file counts, and only from its beginning. */
START_TEST(a_name_that_is_like_it)
{
	load_as("not-libcuda-injection.so");
	ck_assert_ptr_null(mam_replay_tool());
	ck_assert(grows());
}
END_TEST

START_TEST(the_option_decides)
{
	setenv("MAM_HEAP_GROWTH", _i ? "on" : "off", 1);
	if (_i)
		setenv(PORT, "49152", 1);
	ck_assert(grows() == _i);
}
END_TEST

/* One sentence, with the tool, what happens, and what to do; once. */
START_TEST(the_log_says_why)
{
	char path[] = "/tmp/mam-replay-log-XXXXXX", text[4096];
	int file = mkstemp(path);
	FILE *log;
	size_t got;

	ck_assert_int_ge(file, 0);
	setenv("MAM_LOG_FILE", path, 1);
	setenv(PORT, "49152", 1);
	ck_assert(!grows());
	ck_assert(!grows());
	log = fopen(path, "r");
	ck_assert_ptr_nonnull(log);
	got = fread(text, 1, sizeof(text) - 1, log);
	text[got] = '\0';
	(void)fclose(log);
	(void)close(file);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_ptr_nonnull(strstr(text, "Nsight Compute"));
	ck_assert_ptr_nonnull(strstr(text, "NULL"));
	ck_assert_ptr_nonnull(strstr(text, "MAM_HEAP_GROWTH=on"));
	ck_assert_ptr_eq(strchr(text, '\n'), text + got - 1);
}
END_TEST

static void start(void)
{
	set_up();
	unsetenv("MAM_HEAP_GROWTH");
	unsetenv(PERFWORKS);
	unsetenv(PORT);
	unsetenv(SANITIZER);
}

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, nobody_is_at_work);
	tcase_add_loop_test(tests, the_environment_tells, 0, 3);
	tcase_add_test(tests, other_tools_do_not_matter);
	tcase_add_loop_test(tests, the_library_tells, 0, 2);
	tcase_add_test(tests, the_tracer_tells);
	tcase_add_test(tests, a_name_that_is_like_it);
	tcase_add_loop_test(tests, the_option_decides, 0, 2);
	tcase_add_test(tests, the_log_says_why);
}

int main(void)
{
	return run_suite("heap/heap_replay", add);
}
