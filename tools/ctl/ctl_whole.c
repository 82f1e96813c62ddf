/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_whole.c - see ctl_whole.h.
 *
 * The driver has a state for each process:
 *
 *   RUNNING  -- lock -->  LOCKED  -- checkpoint -->  CHECKPOINTED
 *            <- unlock -          <-- restore ------
 *
 * The calls of a locked process wait. So no error and no signal may end the command in that state:
 * handlers note signals from the first lock to the last unlock, and each error is followed by steps
 * to the left. The thread that calls the driver blocks the signals, because they could interrupt
 * the driver's exchange with the process. Only SIGKILL leaves a process locked; a resume unlocks it.
 *
 * A lock waits for calls and work that are in progress, up to LOCK_MS. It is not tried in short
 * pieces, which a program that always has work would outlast.
 */
#include "ctl/ctl_whole.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "kit/message.h"

#define LOCK_MS 10000
#define STEPS 6 /* two for a process that is checkpointed, and retries */
#define RETRY_NS 100000000

/* Results and states of the driver. */
enum {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	OPERATING_SYSTEM = 304,
	ILLEGAL_STATE = 401,
	NOT_READY = 600,
	NOT_PERMITTED = 800,
	NOT_SUPPORTED = 801
};
enum state { RUNNING, LOCKED, CHECKPOINTED, FAILED };

struct lock_arguments {
	unsigned int timeout_ms, reserved0;
	uint64_t reserved1[7];
};
_Static_assert(sizeof(struct lock_arguments) == 64, "as in the driver's interface");

static struct {
	unsigned int (*init)(unsigned int flags);
	unsigned int (*error_name)(unsigned int code, const char **name);
	unsigned int (*get_state)(int pid, enum state *state);
	unsigned int (*lock)(int pid, struct lock_arguments *arguments);
	unsigned int (*checkpoint)(int pid, void *arguments); /* NULL: the default ones */
	unsigned int (*restore)(int pid, void *arguments);
	unsigned int (*unlock)(int pid, void *arguments);
} driver;

static const struct {
	const char *symbol;
	void *field;
} driver_calls[] = {
	{ "cuInit", &driver.init },
	{ "cuGetErrorName", &driver.error_name },
	{ "cuCheckpointProcessGetState", &driver.get_state },
	{ "cuCheckpointProcessLock", &driver.lock },
	{ "cuCheckpointProcessCheckpoint", &driver.checkpoint },
	{ "cuCheckpointProcessRestore", &driver.restore },
	{ "cuCheckpointProcessUnlock", &driver.unlock },
};

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))
static volatile sig_atomic_t caught; /* the last signal; 0: none */
static struct sigaction previous[SIGNALS];

static void note_signal(int number)
{
	if (number != SIGTSTP)
		caught = number;
}

static void mask_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(how, &set, NULL);
}

/* Threads that the driver starts later block them, too. */
static void hold_signals(void)
{
	struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < SIGNALS; i++) {
		sigaction(signals[i], NULL, &previous[i]);
		if (previous[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
	mask_signals(SIG_BLOCK);
}

static bool is_interrupted(void)
{
	mask_signals(SIG_UNBLOCK);
	mask_signals(SIG_BLOCK);
	return caught != 0;
}

/* A signal that was held ends the command here. */
static void release_signals(void)
{
	mask_signals(SIG_UNBLOCK);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &previous[i], NULL);
	if (caught != 0)
		raise(caught);
}

/* Returns NULL, or why there are no checkpoints. */
static const char *load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		return "there is no usable CUDA driver (libcuda.so.1)";
	for (size_t i = 0; i < sizeof(driver_calls) / sizeof(driver_calls[0]); i++) {
		void *call = dlsym(library, driver_calls[i].symbol);

		if (!call)
			return "the CUDA driver cannot checkpoint processes: it is older than 570";
		memcpy(driver_calls[i].field, &call, sizeof(call));
	}
	return NULL;
}

/* For one message at a time. */
static const char *name_of(unsigned int code)
{
	static char text[80];
	const char *name = NULL;

	if (driver.error_name(code, &name) != SUCCESS || !name)
		name = "an unknown error";
	snprintf(text, sizeof(text), "%s (%u)", name, code);
	return text;
}

/* Reads the state of a process or thread, and the process that it is in. False: there is none. */
static bool read_status(long long id, char *state, long *process)
{
	char text[64];
	FILE *file;

	*state = '\0';
	*process = 0;
	snprintf(text, sizeof(text), "/proc/%lld/status", id);
	file = fopen(text, "re");
	while (file && *process == 0 && fgets(text, sizeof(text), file)) {
		(void)sscanf(text, "State: %c", state);
		(void)sscanf(text, "Tgid: %ld", process);
	}
	if (file)
		fclose(file);
	return *process != 0 && *state != 'Z' && *state != 'X';
}

static bool has_ended(long long id)
{
	char state;
	long process;

	return !read_status(id, &state, &process);
}

/* The driver would take a thread's ID, and could end the process. */
static bool check_process(long long id)
{
	char state;
	long process;

	if (id <= 0 || id > INT_MAX || !read_status(id, &state, &process))
		message_error("there is no process %lld", id);
	else if (process != id)
		message_error("%lld is a thread of process %ld", id, process);
	else if (kill((pid_t)id, 0) != 0 && errno == EPERM)
		message_error("process %lld belongs to another user", id);
	else
		return true;
	return false;
}

static void say_code(int pid, const char *call, unsigned int code)
{
	if (has_ended(pid))
		message_error("process %d has ended", pid);
	else if (code == OPERATING_SYSTEM || code == NOT_PERMITTED)
		message_error("the driver has no access to process %d, for which it may require "
			      "root: %s returned %s",
			      pid, call, name_of(code));
	else if (code == NOT_SUPPORTED)
		message_error("the driver cannot checkpoint process %d: %s returned %s", pid, call,
			      name_of(code));
	else
		message_error("%s returned %s for process %d", call, name_of(code), pid);
}

static unsigned int get_state(int pid, enum state *state)
{
	*state = FAILED; /* the driver may leave it unset */
	return driver.get_state(pid, state);
}

/* Before the first step: it keeps the GPU usable while the process does not use it. */
static bool init(void)
{
	unsigned int code = driver.init(0);

	if (code != SUCCESS)
		message_error("the CUDA driver cannot be used: cuInit returned %s", name_of(code));
	return code == SUCCESS;
}

/*
 * Takes a process whose calls are held to RUNNING, and returns its last known state. A step that
 * fails is tried again: nothing else could let the process continue.
 */
static enum state let_run(int pid, enum state state)
{
	const struct timespec pause = { 0, RETRY_NS };
	unsigned int code;

	for (int step = 0; step < STEPS && (state == LOCKED || state == CHECKPOINTED); step++) {
		code = state == LOCKED ? driver.unlock(pid, NULL) : driver.restore(pid, NULL);
		if (code == SUCCESS)
			state = state == LOCKED ? RUNNING : LOCKED;
		else if (has_ended(pid) || get_state(pid, &state) != SUCCESS)
			break;
		else
			nanosleep(&pause, NULL);
	}
	return state;
}

/* The end of a sentence about a process after a failed suspend. */
static const char *outcome(enum state state)
{
	switch (state) {
	case RUNNING: return "it continues";
	case LOCKED:
	case CHECKPOINTED: return "its calls of CUDA are still held: try mam ctl PID resume";
	case FAILED:
	default: return "it cannot use CUDA any more";
	}
}

static void say_not_locked(int pid, unsigned int code, enum state state)
{
	if (code == NOT_READY && !has_ended(pid))
		message_error("calls or work of process %d have not ended within %d seconds; %s",
			      pid, LOCK_MS / 1000, outcome(state));
	else if (code == ILLEGAL_STATE && !has_ended(pid))
		message_error("another command suspends or resumes process %d", pid);
	else if (state != RUNNING && !has_ended(pid))
		message_error("cuCheckpointProcessLock returned %s for process %d; %s",
			      name_of(code), pid, outcome(state));
	else
		say_code(pid, "cuCheckpointProcessLock", code);
}

static void say_not_checkpointed(int pid, unsigned int code, enum state state)
{
	if (has_ended(pid))
		message_error("process %d has ended", pid);
	else if (code == OUT_OF_MEMORY)
		message_error("the host has too little memory for the contents of process %d; %s",
			      pid, outcome(state));
	else
		message_error("the driver cannot checkpoint process %d, perhaps because of managed "
			      "memory, memory of other processes or several GPUs (%s); %s",
			      pid, name_of(code), outcome(state));
}

static bool suspend(int pid)
{
	struct lock_arguments arguments = { .timeout_ms = LOCK_MS };
	enum state state = RUNNING;
	unsigned int code = driver.lock(pid, &arguments);

	if (code != SUCCESS) {
		/* After a timeout it should run; the lock of another command stays. */
		if (code == ILLEGAL_STATE || get_state(pid, &state) != SUCCESS)
			state = RUNNING;
		say_not_locked(pid, code, let_run(pid, state));
		return false;
	}
	if (is_interrupted()) {
		message_error("interrupted: process %d was not suspended; %s", pid,
			      outcome(let_run(pid, LOCKED)));
		return false;
	}
	code = driver.checkpoint(pid, NULL);
	if (code == SUCCESS)
		return true;
	if (get_state(pid, &state) != SUCCESS)
		state = LOCKED;
	say_not_checkpointed(pid, code, let_run(pid, state));
	return false;
}

/* Whether the process can be suspended. Otherwise reports why. */
static bool check_running(int pid)
{
	enum state state;
	unsigned int code = get_state(pid, &state);

	if (code == INVALID_VALUE || code == NOT_INITIALIZED)
		message_error("process %d %s", pid,
			      has_ended(pid) ? "has ended" : "does not use CUDA");
	else if (code != SUCCESS)
		say_code(pid, "cuCheckpointProcessGetState", code);
	else if (state == CHECKPOINTED)
		message_error("process %d is already suspended", pid);
	else if (state == LOCKED)
		message_error("another command suspends or resumes process %d, or was killed: "
			      "mam ctl %d resume lets it continue",
			      pid, pid);
	else if (state == FAILED)
		message_error("process %d cannot be suspended: an earlier checkpoint has failed",
			      pid);
	else
		return true;
	return false;
}

bool ctl_whole_suspend(long long process)
{
	const char *fault;
	bool good;

	if (!check_process(process))
		return false;
	fault = load();
	if (fault) {
		message_error("%s", fault);
		return false;
	}
	if (!check_running((int)process))
		return false;
	hold_signals();
	good = init() && !is_interrupted() && suspend((int)process);
	if (good)
		printf("suspended as a whole; the process holds no memory of a GPU\n");
	fflush(stdout);
	release_signals();
	return good;
}

static void say_not_restored(int pid, unsigned int code)
{
	if (has_ended(pid))
		message_error("process %d has ended", pid);
	else if (code == OUT_OF_MEMORY)
		message_error("the device has too little free memory; process %d stays suspended",
			      pid);
	else if (code == OPERATING_SYSTEM)
		message_error("the driver cannot restore process %d: it may require root, or "
			      "does not repeat a resume that lacked memory (%s)",
			      pid, name_of(code));
	else
		say_code(pid, "cuCheckpointProcessRestore", code);
}

static bool resume(int pid, enum state state)
{
	unsigned int code = state == CHECKPOINTED ? driver.restore(pid, NULL) : SUCCESS;

	if (code != SUCCESS) {
		say_not_restored(pid, code);
		return false;
	}
	state = let_run(pid, LOCKED);
	if (state == RUNNING)
		return true;
	message_error("process %d %s", pid,
		      has_ended(pid)    ? "has ended"
		      : state == FAILED ? "cannot use CUDA any more"
					: "is restored, but its calls of CUDA are still held: try "
					  "again");
	return false;
}

enum ctl_whole ctl_whole_resume(long long process)
{
	char kind;
	long leader;
	enum state state;
	bool good;

	if (process <= 0 || process > INT_MAX || !read_status(process, &kind, &leader) ||
	    leader != process || load() || get_state((int)process, &state) != SUCCESS)
		return CTL_WHOLE_UNKNOWN;
	if (state == RUNNING)
		return CTL_WHOLE_RUNS;
	if (state == FAILED) {
		message_error("process %lld cannot be resumed: a checkpoint or a restore has "
			      "failed",
			      process);
		return CTL_WHOLE_FAILED;
	}
	hold_signals();
	good = init() && resume((int)process, state);
	if (good)
		printf("resumed as a whole\n");
	fflush(stdout);
	release_signals();
	return good ? CTL_WHOLE_DONE : CTL_WHOLE_FAILED;
}
