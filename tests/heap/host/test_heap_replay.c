/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a heap grows while a tool is active that breaks growth: detected by the tool's
 * environment variables, by the name of its library, by the tracer, and by MAM_HEAP_GROWTH.
 *
 * The library is a copy of the fake driver under that name, which is loaded and not used.
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

/* Loads a library of this name until the test ends. */
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

/* Returns whether a heap with growth grows. */
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
	/*
	 * A heap that does not grow provides all of its initial bytes, and counts that it is full.
	 */
	ck_assert_uint_eq(count, so ? 300 : 128);
	ck_assert_uint_eq(stats_of(heap).full, !so);
	heap_end(heap);
	pool_end(pool);
	return so;
}

START_TEST(heap_grows_without_tool)
{
	ck_assert_ptr_null(mam_profiler_tool());
	ck_assert(grows());
}
END_TEST

START_TEST(tool_is_detected_by_environment)
{
	static const struct {
		const char *name, *tool;
	} rows[] = { { PERFWORKS, "ncu" }, { PORT, "ncu" }, { SANITIZER, "compute-sanitizer" } };

	setenv(rows[_i].name, "49152", 1);
	ck_assert_ptr_nonnull(strstr(mam_profiler_tool(), rows[_i].tool));
	ck_assert(!grows());
	unsetenv(rows[_i].name);
	ck_assert_ptr_null(mam_profiler_tool());
}
END_TEST

/* Variables that users set to configure the profiler, and those of other tools. */
START_TEST(other_tools_do_not_prevent_growth)
{
	setenv("NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT", "1", 1);
	setenv("NSYS_PROFILING_SESSION_ID", "1", 1);
	load_as("libcupti.so.13");
	ck_assert_ptr_null(mam_profiler_tool());
	ck_assert(grows());
}
END_TEST

START_TEST(tool_is_detected_by_library)
{
	static const char *const rows[][2] = { { "libcuda-injection.so", "ncu" },
					       { "libsanitizer-collection.so",
						 "compute-sanitizer" } };

	load_as(rows[_i][0]);
	ck_assert_ptr_nonnull(strstr(mam_profiler_tool(), rows[_i][1]));
	ck_assert(!grows());
}
END_TEST

/*
 * A child of a process that has a debugger's name and traces it: 0, or 77 if tracing is forbidden.
 */
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
		tool = mam_profiler_tool();
		_exit(is_tool ? !tool || strcmp(tool, "cuda-gdb") != 0 : tool != NULL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(tool_is_detected_as_tracer)
{
	int status = traced_by("cuda-gdb-python", true);

	ck_assert(status == 0 || status == 77);
	status = traced_by("gdb", false);
	ck_assert(status == 0 || status == 77);
	ck_assert_ptr_null(mam_profiler_tool());
}
END_TEST

/* Only the file name counts, and only from its start. */
START_TEST(similar_library_name_is_ignored)
{
	load_as("not-libcuda-injection.so");
	ck_assert_ptr_null(mam_profiler_tool());
	ck_assert(grows());
}
END_TEST

START_TEST(option_overrides_detection)
{
	setenv("MAM_HEAP_GROWTH", _i ? "on" : "off", 1);
	if (_i)
		setenv(PORT, "49152", 1);
	ck_assert(grows() == _i);
}
END_TEST

/* One message with the tool, the effect and the remedy; once. */
START_TEST(log_names_tool_and_remedy)
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
	tcase_add_test(tests, heap_grows_without_tool);
	tcase_add_loop_test(tests, tool_is_detected_by_environment, 0, 3);
	tcase_add_test(tests, other_tools_do_not_prevent_growth);
	tcase_add_loop_test(tests, tool_is_detected_by_library, 0, 2);
	tcase_add_test(tests, tool_is_detected_as_tracer);
	tcase_add_test(tests, similar_library_name_is_ignored);
	tcase_add_loop_test(tests, option_overrides_detection, 0, 2);
	tcase_add_test(tests, log_names_tool_and_remedy);
}

int main(void)
{
	return run_suite("heap/heap_replay", add);
}
