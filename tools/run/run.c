/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - `mam run`: start a program with libmam-preload.so between it and CUDA.
 *
 * 1. Convert options to the MAM_ variables that the object reads (run_env.c, mam(7)).
 * 2. Put the object first in LD_PRELOAD, and for --route=audit another one in LD_AUDIT
 *    (run_object.c).
 * 3. Inspect the program: report it if the object cannot be loaded into it (program.c).
 * 4. Replace this process by the program with execvp(), so that its exit status, signals and input
 *    are its own.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kit/args.h"
#include "command.h"
#include "kit/message.h"
#include "run/program.h"
#include "run/run_env.h"
#include "run/run_object.h"

/* As shells return for a program that they cannot start. */
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127

#define FIELD(name) offsetof(struct run_settings, name)

static const struct args_option options[] = {
	{ "free", 0, ARGS_TEXT, FIELD(free), "POLICY", NULL,
	  "strict (default): cudaFree waits for the GPU as it does\n"
	  "without mam; deferred: no wait, memory is reused when the\n"
	  "GPU has finished with it; stream: reused at once, the\n"
	  "program guarantees that a block's users are ordered" },
	{ "source", 0, ARGS_TEXT, FIELD(source), "SOURCE", NULL,
	  "cudamalloc (default): pools allocate chunks with cuMemAlloc;\n"
	  "vmm: they map memory on demand and reserve less" },
	{ "limit", 0, ARGS_BYTES, FIELD(limit), "SIZE", NULL,
	  "limit the memory per device for all intercepted calls" },
	{ "limit-shared", 0, ARGS_OPTIONAL, FIELD(limit_shared), "FILE", NULL,
	  "--limit is for all processes of this mam run together, or\n"
	  "for all that name the same FILE, such as /dev/shm/job" },
	{ "stats", 0, ARGS_OPTIONAL, FIELD(stats), "FILE", NULL,
	  "at exit, print statistics of intercepted calls; in FILE\n"
	  "as lines of key, tab, value" },
	{ "trace", 0, ARGS_TEXT, FIELD(trace), "FILE", NULL, "record allocations for mam replay" },
	{ "who", 0, ARGS_FLAG, FIELD(who), NULL, NULL,
	  "with --trace: record the call site of each allocation, a\n"
	  "function or library; 2 us per allocation" },
	{ "profile", 0, ARGS_OPTIONAL, FIELD(profile), "FILE", NULL,
	  "record the call stack of each allocation for mam profile;\n"
	  "FILE (default: mam.profile) is also a trace" },
	{ "profile-rate", 0, ARGS_BYTES, FIELD(profile_rate), "SIZE", NULL,
	  "with --profile: record one allocation per SIZE bytes on\n"
	  "average, chosen at random; default: all" },
	{ "leaks", 0, ARGS_OPTIONAL, FIELD(leaks), "FILE", NULL,
	  "at exit, list blocks that were never freed, by call stack" },
	{ "oom-report", 0, ARGS_TEXT, FIELD(oom_report), "DIR|no", NULL,
	  "when memory runs out, write a report and the heap to DIR;\n"
	  "default: ~/.local/state/mam on a terminal, otherwise no" },
	{ "chunk", 0, ARGS_BYTES, FIELD(chunk), "SIZE", run_env_largest,
	  "size of the first chunk of a context's pool, or 'largest':\n"
	  "as much as the GPU has" },
	{ "growth", 0, ARGS_BYTES, FIELD(growth), "SIZE", run_env_none,
	  "minimum size of later chunks, or 'none': do not grow" },
	{ "pass-above", 0, ARGS_BYTES, FIELD(pass_above), "SIZE", NULL,
	  "larger requests go to the driver; default: half of the\n"
	  "GPU's memory" },
	{ "capture", 0, ARGS_TEXT, FIELD(capture), "HOW", NULL,
	  "cudaMalloc during a stream capture returns: strict\n"
	  "(default), the driver's result; allow, a block of the pool" },
	{ "ipc", 0, ARGS_TEXT, FIELD(ipc), "HOW", NULL,
	  "share (default): blocks can be shared with processes under\n"
	  "mam; dedicated[:SIZE]: with all, as the driver serves\n"
	  "requests from SIZE (1M) up" },
	{ "children", 0, ARGS_TEXT, FIELD(children), "YES|NO", NULL,
	  "no: serve only this process, not those that it starts" },
	{ "route", 0, ARGS_TEXT, FIELD(route), "ROUTE", NULL,
	  "auto (default), preload, or audit, which also intercepts\n"
	  "plugins opened with RTLD_DEEPBIND" },
	{ "nvtx", 0, ARGS_TEXT, FIELD(nvtx), "AUTO|NO", NULL,
	  "no: under compute-sanitizer, the driver serves all calls" },
	{ "disable", 0, ARGS_FLAG, FIELD(disable), NULL, NULL,
	  "pass every call through to the driver; a fault that remains\n"
	  "is not caused by mam" },
	{ "log", 0, ARGS_TEXT, FIELD(log), "LEVEL", NULL, "error, warn (default), info or debug" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	.name = "mam run",
	.use = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
	.intro =
		"Run an unmodified CUDA program, C to Python, with its memory from a pool.\n"
		"The exit status is that of the program; 127: not found, 126: cannot be started.\n",
	.outro = "Examples:\n"
		 "  mam run ./simulate input.dat\n"
		 "  mam run --stats python3 train.py\n"
		 "  mam run --limit 20G -- ./server --port 80\n"
		 "In a FILE, %p is the process ID, %r the rank (torchrun, mpirun, srun), %h the "
		 "host.\n"
		 "Check a program first: mam info --check PROGRAM. See what was intercepted:\n"
		 "mam run --stats PROGRAM.\n",
	.options = options,
	.stops = true,
};

static bool is_word(const char *word, const char *one, const char *other)
{
	return strcmp(word, one) == 0 || (other != NULL && strcmp(word, other) == 0);
}

/* The audit object only redirects to functions of the preload object, so both are loaded. */
static bool set_route(const char *word)
{
	if (word != NULL && !is_word(word, "auto", "preload") && !is_word(word, "audit", NULL)) {
		message_error("--route is '%s', but must be auto, preload or audit", word);
		return false;
	}
	return run_object_put(RUN_OBJECT_PRELOAD, "LD_PRELOAD") &&
	       (word == NULL || !is_word(word, "audit", NULL) ||
		run_object_put(RUN_OBJECT_AUDIT, "LD_AUDIT"));
}

/*
 * If the object cannot be loaded into the program: warn, because the program may start others into
 * which it can be loaded; fail if a route was given. A file that is not a program is left to
 * execvp().
 */
static bool may_enter(const char *name, const char *route)
{
	const bool is_asked = route != NULL && !is_word(route, "auto", NULL);
	struct program program;
	bool enters = true;

	if (program_look(name, &program) && program.bar != PROGRAM_OPEN &&
	    program.bar != PROGRAM_NOT_ELF && program.bar != PROGRAM_BROKEN) {
		enters = false;
		if (is_asked)
			message_error("cannot load mam into '%s': %s; without --route it would run "
				      "without mam",
				      program.place.path, program_bar_text(program.bar));
		else
			message_warning("cannot load mam into '%s': %s; it runs without mam",
					program.place.path, program_bar_text(program.bar));
	}
	program_release(&program);
	return enters || !is_asked;
}

/* Returns only if the program could not be started. */
static int become(char **argv)
{
	int error;

	fflush(stdout);
	execvp(argv[0], argv);
	error = errno;
	if (error == ENOENT && strchr(argv[0], '/') == NULL) {
		message_error("cannot find program '%s' in PATH; for one in this folder use './%s'",
			      argv[0], argv[0]);
		return STATUS_NOT_FOUND;
	}
	if (error == ENOENT && access(argv[0], F_OK) != 0) {
		message_error("cannot find program '%s'", argv[0]);
		return STATUS_NOT_FOUND;
	}
	if (error == ENOENT) {
		message_error("cannot start '%s': the interpreter that it names does not exist",
			      argv[0]);
		return STATUS_NOT_FOUND;
	}
	message_error("cannot start '%s': %s", argv[0], strerror(error));
	return STATUS_NOT_EXECUTABLE;
}

int run_main(int argc, char **argv)
{
	struct run_settings settings = { .chunk = RUN_ENV_UNSET,
					 .growth = RUN_ENV_UNSET,
					 .limit = RUN_ENV_UNSET,
					 .pass_above = RUN_ENV_UNSET,
					 .profile_rate = RUN_ENV_UNSET };
	int first, status;

	if (!args_parse(&command, argc, argv, &settings, &first, &status))
		return status;
	if (first == argc) {
		message_error("no program given; see '%s --help'", command.name);
		return STATUS_BAD;
	}
	if (!run_env_set(&settings) || !set_route(settings.route) ||
	    !may_enter(argv[first], settings.route))
		return STATUS_BAD;
	return become(argv + first);
}
