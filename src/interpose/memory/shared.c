/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.c - see shared.h.
 *
 * The file is a table of slots, one per process, in shared memory. Only the process that owns a
 * slot writes to it; the others add up the counters. There is no sum that a killed process could
 * leave wrong, and no lock around the counters.
 *
 * How the limit holds (account.c): a process adds its bytes to its counter, then computes the sum,
 * and subtracts them again if the sum exceeds the limit. Of several charges that have passed, the
 * one that added last has seen all others in its sum, so together they are within the limit.
 *
 * Owner of a slot: the process with a record lock on byte I of the file, for slot I. The kernel
 * releases it when the process ends, however it ends, or executes another program (the descriptor
 * is closed then); the child of a fork does not inherit it. So neither process IDs, which are
 * reused, nor PID namespaces matter. Locks are only tried and tested; no call waits. A new owner
 * clears the slot. Until then the bytes of the old one do not count, because no process holds its
 * lock.
 *
 * The file is removed by a process that can lock all of it, so that has no slot but its own, or by
 * the next mam run (run_limit.c). A process that got a slot checks that the file still has its
 * name; otherwise it opens the name again.
 *
 * Bounds: SLOTS_MAX processes. A process that gets no slot has its limit for itself, and reports
 * this.
 */
#define _GNU_SOURCE /* fallocate */
#include "interpose/memory/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <mam/filename.h>
#include <mam/options.h>

#include "interpose/process/say.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/real.h"
#include "interpose/watch/watch.h"

#define SLOTS_MAX 1024
#define TRIES_MAX 100
#define PAUSE_NS 1000000

struct slot {
	struct {
		_Atomic uint64_t key;   /* atomic; of the physical device; 0: not known yet */
		_Atomic uint64_t bytes; /* atomic */
	} devices[MAM_WATCH_DEVICES_MAX];
};

struct table {
	char mark[8];
	_Atomic uint64_t used; /* atomic; slots starting at this index were never used */
	struct slot slots[SLOTS_MAX];
};

static const char mark[8] = "mamlim1";

enum { NOT_YET, NEVER, JOINED };

static atomic_int state; /* atomic; JOINED: the following are set */
static pthread_mutex_t join_lock = PTHREAD_MUTEX_INITIALIZER;
/* lock: none, set before the state */
static struct table *table;
static unsigned int own; /* index of the slot */
static int file = -1;
static struct stat identity; /* of the file, in case the program closes our descriptor */
static char path[PATH_MAX];

static bool lock(int number, off_t first, off_t count)
{
	struct flock range = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first, .l_len = count
	};

	return fcntl(number, F_SETLK, &range) == 0;
}

static bool is_same(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static bool has_name(int number, const char *name)
{
	struct stat status, there;

	return fstat(number, &status) == 0 && lstat(name, &there) == 0 && is_same(&status, &there);
}

/* 0, or an errno value. A file of another program is neither changed nor removed. */
static int check(int number)
{
	struct stat status;
	char found[sizeof(mark)];

	if (fstat(number, &status) != 0)
		return errno;
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
		return EPERM;
	if (status.st_size == 0)
		return 0;
	return pread(number, found, sizeof(found), 0) == (ssize_t)sizeof(found) &&
			       memcmp(found, mark, sizeof(mark)) == 0
		       ? 0
		       : EEXIST;
}

/*
 * Sets the size, and allocates memory up to the end of the slot: if none is left, that fails here,
 * and not with a signal when the slot is written. Processes may do this at the same time.
 */
static int prepare(int number, unsigned int index)
{
	const off_t end =
		(off_t)(offsetof(struct table, slots) + (index + 1) * sizeof(struct slot));

	if (pwrite(number, mark, sizeof(mark), 0) != (ssize_t)sizeof(mark) ||
	    ftruncate(number, sizeof(struct table)) != 0 || fallocate(number, 0, 0, end) != 0)
		return errno;
	return 0;
}

/* Opens the file and gets a slot. EAGAIN: there is none, or the file has lost its name. */
static int open_slot(int *number, unsigned int *index)
{
	int error;

	*number =
		open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	if (*number < 0)
		return errno;
	error = check(*number);
	for (*index = 0; error == 0 && !lock(*number, *index, 1); ++*index)
		if (*index + 1 == SLOTS_MAX)
			error = EAGAIN;
	if (error == 0 && !has_name(*number, path))
		error = EAGAIN;
	if (error == 0)
		error = prepare(*number, *index);
	if (error != 0)
		close(*number);
	return error;
}

static void clear(struct slot *slot)
{
	for (int device = 0; device < MAM_WATCH_DEVICES_MAX; device++) {
		atomic_store(&slot->devices[device].bytes, 0);
		atomic_store(&slot->devices[device].key, 0);
	}
}

static void raise_used(uint64_t count)
{
	uint64_t seen = atomic_load(&table->used);

	while (seen < count && !atomic_compare_exchange_weak(&table->used, &seen, count))
		;
}

/*
 * A process that removes the file holds all locks for a moment: try again. It may be stopped then,
 * so do not try for long.
 */
static int join(void)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int error = EAGAIN, number = -1;
	unsigned int index = 0;
	void *memory;

	if (mam_filename_expand(mam_option_value("MAM_LIMIT_FILE"), sizeof(path), path) < 0)
		return ENAMETOOLONG;
	for (int i = 0; error == EAGAIN && i < TRIES_MAX; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		error = open_slot(&number, &index);
	}
	if (error != 0)
		return error;
	memory = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED, number, 0);
	if (memory == MAP_FAILED || fstat(number, &identity) != 0) {
		error = errno;
		close(number);
		return error;
	}
	table = (struct table *)memory;
	clear(&table->slots[index]);
	raise_used(index + 1);
	own = index;
	file = number;
	return 0;
}

static const char *text_of(int error)
{
	return error == EEXIST   ? "it is not a file of mam run --limit-shared"
	       : error == EPERM  ? "it belongs to another user, or is not a file"
	       : error == EAGAIN ? "too many processes share it"
				 : strerror(error);
}

static void join_once(const struct mam_real_driver *driver)
{
	int error = 0, before = errno;

	pthread_mutex_lock(&join_lock);
	if (atomic_load(&state) == NOT_YET) {
		if (driver->device_uuid == NULL)
			mam_say(MAM_SAY_WARN,
				"cannot share the limit: the driver does not identify "
				"devices; this process has the limit for itself");
		else if ((error = join()) != 0)
			mam_say(MAM_SAY_WARN,
				"cannot share the limit in '%s': %s; this process has the limit "
				"for "
				"itself",
				path, text_of(error));
		atomic_store(&state, driver->device_uuid == NULL || error != 0 ? NEVER : JOINED);
	}
	pthread_mutex_unlock(&join_lock);
	errno = before;
}

/* UUIDs of GPUs are random, so half of the bits are enough. Not 0. */
static uint64_t key_of(int device)
{
	const struct mam_real_driver *driver = mam_real_driver();
	uint64_t halves[2];

	if (driver == NULL || driver->device_uuid(halves, device) != MAM_CUDA_SUCCESS)
		return 0;
	return (halves[0] * UINT64_C(0x9E3779B97F4A7C15) ^ halves[1]) | 1;
}

_Atomic uint64_t *mam_shared_counter(int device)
{
	const struct mam_real_driver *driver;
	_Atomic uint64_t *key;

	if (atomic_load_explicit(&state, memory_order_acquire) == NOT_YET) {
		if (mam_option_value("MAM_LIMIT_FILE")[0] == '\0') {
			atomic_store(&state, NEVER);
			return NULL;
		}
		driver = mam_real_driver();
		if (driver == NULL) /* nothing is charged before */
			return NULL;
		join_once(driver);
	}
	if (atomic_load_explicit(&state, memory_order_acquire) != JOINED)
		return NULL;
	key = &table->slots[own].devices[device].key;
	if (atomic_load(key) == 0)
		atomic_store(key, key_of(device));
	return &table->slots[own].devices[device].bytes;
}

/* True if that is unknown. */
static bool is_running(unsigned int index)
{
	struct flock range = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)index, .l_len = 1
	};
	struct stat status;

	return fstat(file, &status) != 0 || !is_same(&status, &identity) ||
	       fcntl(file, F_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t bytes_of(struct slot *slot, uint64_t key)
{
	uint64_t bytes = 0;

	for (int device = 0; device < MAM_WATCH_DEVICES_MAX; device++)
		if (atomic_load(&slot->devices[device].key) == key)
			bytes = add(bytes, atomic_load(&slot->devices[device].bytes));
	return bytes;
}

/* A slot is tested before it is read: a process that has charged bytes holds its lock. */
static uint64_t sum_of(uint64_t key, bool running)
{
	uint64_t sum = 0, used = atomic_load(&table->used);

	for (unsigned int i = 0; i < used && i < SLOTS_MAX; i++)
		if (!running || i == own || bytes_of(&table->slots[i], key) == 0 || is_running(i))
			sum = add(sum, bytes_of(&table->slots[i], key));
	return sum;
}

uint64_t mam_shared_sum(int device, uint64_t enough)
{
	uint64_t key = atomic_load(&table->slots[own].devices[device].key), sum;
	int before = errno;

	if (key == 0)
		return UINT64_MAX;
	sum = sum_of(key, false);
	if (sum > enough)
		sum = sum_of(key, true);
	errno = before;
	return sum;
}

bool mam_shared_exists(void)
{
	return atomic_load_explicit(&state, memory_order_acquire) == JOINED;
}

void mam_shared_finish(void)
{
	struct stat status;

	if (!mam_shared_exists() || fstat(file, &status) != 0 || !is_same(&status, &identity))
		return;
	/* Both locks are held until the process has ended, and with it its memory. */
	if (lock(file, 0, 0) && has_name(file, path))
		unlink(path);
}

void mam_shared_restart(void)
{
	struct stat status;

	pthread_mutex_init(&join_lock, NULL);
	if (!mam_shared_exists())
		return;
	if (fstat(file, &status) == 0 && is_same(&status, &identity))
		close(file);
	munmap(table, sizeof(*table));
	atomic_store(&state, NOT_YET);
}
