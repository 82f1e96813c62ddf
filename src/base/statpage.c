/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statpage.c - creates the statistics page of this process, and assigns places on it
 * (<mam/statpage.h>).
 *
 * Until the page is created, the counters are in `before`. The page is a mapping of the whole file:
 * its space is allocated first, so that a full file system is an error here rather than a signal
 * later. The descriptor is closed at once.
 *
 * In the child of a fork, private memory replaces the mapping at the same address, so that all
 * pointers into it stay valid. The child's own file replaces that in turn. The parent's threads
 * continue to write the shared page before the child runs, so the child cannot copy it: the counters
 * would be newer than the rest of its memory. The forking thread copies them into `before`, while
 * the writers are stopped.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv, program_invocation_short_name */
#endif
#include <mam/statpage.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mam/filename.h>

#define COPIES_MAX 8u /* of the library in one process */
#define DEAD_MAX 32   /* pages of dead processes that are kept */
#define REMOVED_MAX 100

_Static_assert(sizeof(struct mam_statpage) <= MAM_STATPAGE_BYTES, "the page has this size");
_Static_assert(sizeof(struct mam_tally) == 128, "one thread writes it, and no cache line besides");

static struct mam_statpage before;
static struct mam_statpage *_Atomic own = &before;         /* atomic; written under lock: places */
static void *region;                                       /* lock: places; mapped; NULL: none */
static pid_t opened_by;                                    /* lock: places; 0: no process */
static bool is_copied;                                     /* lock: places; before, for a child */
static char path[PATH_MAX];                                /* lock: places; "": there is no file */
static pthread_mutex_t places = PTHREAD_MUTEX_INITIALIZER; /* a leaf: no lock is taken under it */

struct mam_statpage *mam_statpage_own(void)
{
	return atomic_load_explicit(&own, memory_order_acquire);
}

bool mam_statpage_folder(char *folder, size_t bytes)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int length = runtime != NULL && runtime[0] == '/'
			     ? snprintf(folder, bytes, "%s/mam", runtime)
			     : snprintf(folder, bytes, "/dev/shm/mam-%ld", (long)geteuid());

	return length > 0 && (size_t)length < bytes;
}

uint64_t mam_statpage_start_of(pid_t process)
{
	char text[1024], *at;
	ssize_t got;
	int proc;

	snprintf(text, sizeof(text), "/proc/%ld/stat", (long)process);
	proc = open(text, O_RDONLY | O_CLOEXEC);
	got = proc < 0 ? -1 : read(proc, text, sizeof(text) - 1);
	if (proc >= 0)
		close(proc);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	at = strrchr(text, ')'); /* the name may contain any characters; field 3 follows */
	for (int field = 2; at != NULL && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
}

/* Only this user may be able to write or search the folder. Returns its descriptor, or -1. */
static int open_folder(const char *folder)
{
	struct stat status;
	int there;

	mkdir(folder, 0700);
	there = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (there < 0)
		return -1;
	if (fstat(there, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) == 0)
		return there;
	close(there);
	return -1;
}

/* A file size limit would end the process with a signal. */
static bool is_allowed(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= MAM_STATPAGE_BYTES;
}

static int create_file(int folder, char *name, size_t bytes, pid_t process, uint64_t start)
{
	int file = -1;

	for (unsigned int copy = 0; file < 0 && copy < COPIES_MAX; copy++) {
		snprintf(name, bytes, "%ld-%llu-%u", (long)process, (unsigned long long)start,
			 copy);
		file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			      0600);
		if (file < 0 && errno != EEXIST)
			break;
	}
	return file;
}

static bool fill_file(int file, const struct mam_statpage *page)
{
	int error;

	do
		error = posix_fallocate(file, 0, (off_t)MAM_STATPAGE_BYTES);
	while (error == EINTR);
	return error == 0 && pwrite(file, page, sizeof(*page), 0) == (ssize_t)sizeof(*page);
}

/* Maps the file at the address of the region, if there is one. */
static bool map_file(int file)
{
	void *mapped = mmap(region, MAM_STATPAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_SHARED | (region == NULL ? 0 : MAP_FIXED), file, 0);

	if (mapped == MAP_FAILED)
		return false;
	region = mapped;
	atomic_store_explicit(&own, mapped, memory_order_release);
	return true;
}

static bool is_dead(const char *name)
{
	long process;
	unsigned long long start;
	unsigned int copy;
	char more; /* a socket's name (<mam/control.h>) goes on */

	return sscanf(name, "%ld-%llu-%u%c", &process, &start, &copy, &more) == 3 && process > 0 &&
	       mam_statpage_start_of((pid_t)process) != start;
}

/* Writes the name of the oldest page of a dead process. Returns the number of such pages. */
static int search_dead(DIR *folder, char oldest[NAME_MAX + 1])
{
	struct timespec first = { 0 };
	struct dirent *entry;
	struct stat status;
	int count = 0;

	rewinddir(folder);
	while ((entry = readdir(folder)) != NULL) {
		if (!is_dead(entry->d_name) ||
		    fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (count++ == 0 || status.st_mtim.tv_sec < first.tv_sec ||
		    (status.st_mtim.tv_sec == first.tv_sec &&
		     status.st_mtim.tv_nsec < first.tv_nsec)) {
			first = status.st_mtim;
			snprintf(oldest, NAME_MAX + 1, "%s", entry->d_name);
		}
	}
	return count;
}

/* Takes over the descriptor. */
static void remove_dead(int there)
{
	DIR *folder = fdopendir(there);
	char oldest[NAME_MAX + 1];

	if (folder == NULL) {
		close(there);
		return;
	}
	for (int i = 0; i < REMOVED_MAX && search_dead(folder, oldest) > DEAD_MAX; i++)
		unlinkat(dirfd(folder), oldest, 0);
	closedir(folder);
}

/* The arguments of this process, each with a NUL; the last one may be incomplete. */
static size_t read_arguments(char *text, size_t bytes)
{
	const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? 0 : read(file, text, bytes - 1);

	if (file >= 0)
		close(file);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	return text[got - 1] == '\0' ? (size_t)got : (size_t)got + 1;
}

static void describe(struct mam_statpage *page, pid_t process, uint64_t start)
{
	char arguments[1024];
	const char *script =
		mam_filename_script(arguments, read_arguments(arguments, sizeof(arguments)));

	page->magic = MAM_STATPAGE_MAGIC;
	page->bytes = MAM_STATPAGE_BYTES;
	page->pid = (uint64_t)process;
	page->start = start;
	page->rank = (uint64_t)(mam_filename_rank() + 1);
	memset(page->program, 0, sizeof(page->program));
	strncpy(page->program, script == NULL ? program_invocation_short_name : script,
		sizeof(page->program) - 1);
}

static void open_locked(pid_t process)
{
	char folder[PATH_MAX - NAME_MAX - 1], name[NAME_MAX + 1];
	uint64_t start = mam_statpage_start_of(process);
	struct mam_statpage *page = mam_statpage_own();
	int there, file;

	describe(page, process, start);
	if (!is_allowed() || !mam_statpage_folder(folder, sizeof(folder)))
		return;
	there = open_folder(folder);
	if (there < 0)
		return;
	file = create_file(there, name, sizeof(name), process, start);
	if (file >= 0 && fill_file(file, page) && map_file(file))
		snprintf(path, sizeof(path), "%s/%s", folder, name);
	else if (file >= 0)
		unlinkat(there, name, 0);
	if (file >= 0)
		close(file);
	remove_dead(there);
}

void mam_statpage_open(void)
{
	int error = errno;
	pid_t process = getpid();

	pthread_mutex_lock(&places);
	if (opened_by != process) {
		opened_by = process;
		open_locked(process);
	}
	pthread_mutex_unlock(&places);
	errno = error;
}

const char *mam_statpage_path(void)
{
	return path;
}

bool mam_statpage_is_inherited(void)
{
	bool is_inherited;

	pthread_mutex_lock(&places);
	is_inherited = region != NULL && opened_by == 0;
	pthread_mutex_unlock(&places);
	return is_inherited;
}

/*
 * All except the calls of threads, which a child counts anew. Others may write the account of a
 * device at any time.
 */
static void copy_counters(struct mam_statpage *to, const struct mam_statpage *from)
{
	const mam_statpage_word *words = (const mam_statpage_word *)(const void *)from->devices;
	mam_statpage_word *copies = (mam_statpage_word *)(void *)to->devices;

	memcpy(to, from, offsetof(struct mam_statpage, devices));
	for (size_t i = 0; i < sizeof(from->devices) / (sizeof(*words)); i++)
		atomic_store_explicit(&copies[i],
				      atomic_load_explicit(&words[i], memory_order_relaxed),
				      memory_order_relaxed);
}

void mam_statpage_fork_prepare(void)
{
	pthread_mutex_lock(&places);
	is_copied = region != NULL && opened_by != 0;
	if (is_copied)
		copy_counters(&before, region);
}

void mam_statpage_fork_parent(void)
{
	is_copied = false;
	pthread_mutex_unlock(&places);
}

void mam_statpage_fork_child(void)
{
	pthread_mutex_init(&places, NULL);
	if (opened_by == 0 || opened_by == getpid())
		return;
	path[0] = '\0';
	if (region == NULL) { /* the parent could not create a file, nor does the child try it */
		opened_by = getpid();
		memset(before.callers, 0, sizeof(before.callers));
		return;
	}
	opened_by = 0;
	if (!is_copied) /* there is no pool */
		copy_counters(&before, region);
	is_copied = false;
	/* It replaces as much memory. A child that wrote its parent's page would be worse. */
	if (mmap(region, MAM_STATPAGE_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
	copy_counters(region, &before);
}

/* The process exits: its reports have all figures. */
__attribute__((destructor)) static void remove_own(void)
{
	/* A thread that opens its page goes on; a signal handler that exits must not wait for itself. */
	if (pthread_mutex_trylock(&places) != 0)
		return;
	if (path[0] != '\0' && opened_by == getpid())
		unlink(path);
	pthread_mutex_unlock(&places);
}

static void add_ended(struct mam_statpage_counts *to, const struct mam_statpage_counts *from,
		      const struct mam_statpage_counts *more)
{
#define ADD(name)                                                                              \
	atomic_store_explicit(&to->name,                                                       \
			      atomic_load_explicit(&from->name, memory_order_relaxed) +        \
				      atomic_load_explicit(&more->name, memory_order_relaxed), \
			      memory_order_relaxed)
	ADD(live_blocks);
	ADD(peak_live_bytes);
	ADD(peak_retired_bytes);
	ADD(peak_reserved_bytes);
	ADD(allocs);
	ADD(frees);
	ADD(failures);
	ADD(driver_calls);
	ADD(driver_ns);
#undef ADD
}

/*
 * Adds the counts of an ended pool to those of the page, so that its place can be reused. A process
 * that is killed here leaves them either there or with the pool, or in both with a note.
 */
static void pass_on_locked(struct mam_statpage *page, unsigned int number)
{
	struct mam_statpage_pool *pool = &page->pools[number];
	uint64_t sequence = atomic_load_explicit(&pool->sequence, memory_order_relaxed);
	unsigned int now = atomic_load_explicit(&page->past, memory_order_relaxed) & 1;

	add_ended(&page->ended[now ^ 1], &page->ended[now], &pool->counts[sequence & 1]);
	atomic_store_explicit(&page->past, (now ^ 1) | (uint64_t)(number + 1) << 1,
			      memory_order_release);
	atomic_store_explicit(&pool->state, MAM_STATPAGE_FREE, memory_order_release);
	atomic_store_explicit(&page->past, now ^ 1, memory_order_release);
}

/* Returns the number of the first pool in that state, or MAM_STATPAGE_POOLS. */
static unsigned int search_locked(struct mam_statpage *page, uint32_t state)
{
	unsigned int number = 0;

	while (number < MAM_STATPAGE_POOLS &&
	       atomic_load_explicit(&page->pools[number].state, memory_order_relaxed) != state)
		number++;
	return number;
}

struct mam_statpage_pool *mam_statpage_take_pool(const char *name, const char *source, int device)
{
	struct mam_statpage_pool *pool = NULL;
	struct mam_statpage *page;
	unsigned int number;

	pthread_mutex_lock(&places);
	page = mam_statpage_own();
	number = search_locked(page, MAM_STATPAGE_FREE);
	if (number == MAM_STATPAGE_POOLS) {
		number = search_locked(page, MAM_STATPAGE_ENDED);
		if (number < MAM_STATPAGE_POOLS)
			pass_on_locked(page, number);
	}
	if (number < MAM_STATPAGE_POOLS) {
		pool = &page->pools[number];
		memset(pool->counts, 0, sizeof(pool->counts));
		snprintf(pool->name, sizeof(pool->name), "%s", name);
		snprintf(pool->source, sizeof(pool->source), "%s", source);
		pool->device = device;
		atomic_store_explicit(&pool->state, MAM_STATPAGE_READY, memory_order_release);
	}
	pthread_mutex_unlock(&places);
	return pool;
}

void mam_statpage_end_pool(struct mam_statpage_pool *pool)
{
	atomic_store_explicit(&pool->state, MAM_STATPAGE_ENDED, memory_order_release);
}

struct mam_tally *mam_statpage_take_tally(const struct mam_statpage_pool *pool)
{
	struct mam_statpage *page = mam_statpage_own();

	if (pool == NULL)
		return NULL;
	for (uint32_t i = 0; i < MAM_STATPAGE_TALLIES; i++) {
		struct mam_tally *tally = &page->tallies[i];
		uint32_t none = 0;

		if (atomic_load_explicit(&tally->pool, memory_order_relaxed) != 0 ||
		    !atomic_compare_exchange_strong(&tally->pool, &none,
						    (uint32_t)(pool - page->pools) + 1))
			continue;
		tally->number = i + 1;
		return tally;
	}
	return NULL;
}

/* Calls that were not flushed belong to a pool that has ended. */
void mam_statpage_return_tally(struct mam_tally *tally)
{
	memset(tally, 0, offsetof(struct mam_tally, generation));
	atomic_store_explicit(&tally->pool, 0, memory_order_release);
}

struct mam_statpage_caller *mam_statpage_take_caller(void)
{
	struct mam_statpage *page = mam_statpage_own();

	for (unsigned int i = 1; i < MAM_STATPAGE_CALLERS; i++) {
		uint64_t taken = 0;

		if (atomic_load_explicit(&page->callers[i].taken, memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_strong(&page->callers[i].taken, &taken, 1))
			return &page->callers[i];
	}
	return &page->callers[0];
}
