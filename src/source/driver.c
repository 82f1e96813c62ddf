/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - opening the CUDA driver, and translating its results (driver.h).
 */
#include "source/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/object.h"

#define LIBRARY "libcuda.so.1"
#define ORIGINAL "mam_interpose_original"
#define CHUNK_ALLOC "mam_interpose_chunk_alloc"
#define CHUNK_FREE "mam_interpose_chunk_free"
#define CHUNK_CREATE "mam_interpose_chunk_create"

enum need { required, optional };

/* lock: none, all set once by load() */
static struct mam_driver table;
static bool usable;
static char reason[256];
static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static pthread_once_t watching = PTHREAD_ONCE_INIT;

/* This process was forked after CUDA was opened. Set in the child's only thread. */
static bool forked;

static const struct {
	const char *symbol;
	enum need need;
	size_t offset; /* of the function pointer in the table */
} functions[] = {
#define ROW(name, symbol, need, arguments) { #symbol, need, offsetof(struct mam_driver, name) },
	MAM_DRIVER_FUNCTIONS(ROW)
#undef ROW
};

static const char *error_name(const struct mam_driver *driver, unsigned int result)
{
	const char *name = NULL;

	if (driver->get_error_name(result, &name) != MAM_DRIVER_SUCCESS || !name)
		return "an unknown error";
	return name;
}

static bool find_functions(void *library)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *address = dlsym(library, functions[i].symbol);

		/* C converts a data pointer to a function pointer only by a copy. */
		memcpy((char *)&table + functions[i].offset, &address, sizeof(address));
		if (address || functions[i].need == optional)
			continue;
		snprintf(reason, sizeof(reason), LIBRARY " has no %s: it is older than CUDA 11",
			 functions[i].symbol);
		return false;
	}
	return true;
}

/*
 * libmam-preload.so defines CHUNK_ALLOC, CHUNK_FREE and CHUNK_CREATE (mam/recorder.h), for copies of
 * this file in other objects (base/object.h).
 */
static void find_chunk_calls(void)
{
	void *chunk_alloc = dlsym(RTLD_DEFAULT, CHUNK_ALLOC);
	void *chunk_free = dlsym(RTLD_DEFAULT, CHUNK_FREE);
	void *chunk_create = dlsym(RTLD_DEFAULT, CHUNK_CREATE);

	if (!chunk_alloc || !chunk_free || !chunk_create || mam_object_has(chunk_alloc))
		return;
	if (table.mem_create)
		memcpy(&table.mem_create, &chunk_create, sizeof(chunk_create));
	memcpy(&table.mem_alloc, &chunk_alloc, sizeof(chunk_alloc));
	memcpy(&table.mem_free, &chunk_free, sizeof(chunk_free));
}

/* libmam-preload.so defines ORIGINAL: it returns the driver's function for a name. */
static void find_own(void)
{
	void *(*original)(const char *name);
	void *found = dlsym(RTLD_DEFAULT, ORIGINAL), *own_alloc = NULL, *own_free = NULL;

	table.own_mem_alloc = table.mem_alloc;
	table.own_mem_free = table.mem_free;
	if (found) {
		memcpy(&original, &found, sizeof(found));
		own_alloc = original("cuMemAlloc_v2");
		own_free = original("cuMemFree_v2");
	}
	if (own_alloc && own_free) {
		memcpy(&table.own_mem_alloc, &own_alloc, sizeof(own_alloc));
		memcpy(&table.own_mem_free, &own_free, sizeof(own_free));
	}
	find_chunk_calls();
}

static void note_fork(void)
{
	forked = usable;
}

/* Comparing process IDs would work too, but getpid() costs a sixth of an idle wait. */
static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, note_fork);
}

/* A fork that has begun in another thread calls no handler that is registered meanwhile. */
__attribute__((constructor)) static void watch_forks_at_load(void)
{
	pthread_once(&watching, watch_forks);
}

static void load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW);
	unsigned int result;
	const char *error;

	if (!library) {
		error = dlerror();
		snprintf(reason, sizeof(reason), "the CUDA driver was not found (%s)",
			 error ? error : LIBRARY);
		return;
	}
	/* From here on the library stays open: other code may use its functions. */
	if (!find_functions(library))
		return;
	find_own();
	result = table.init(0);
	if (result != MAM_DRIVER_SUCCESS) {
		snprintf(reason, sizeof(reason), "cuInit returned %s (%u)",
			 error_name(&table, result), result);
		return;
	}
	pthread_once(&watching, watch_forks);
	usable = true;
}

enum mam_status mam_driver_get(const struct mam_driver **driver)
{
	pthread_once(&loaded, load);
	if (!usable || forked)
		return MAM_ERROR_NO_DEVICE;
	*driver = &table;
	return MAM_OK;
}

const char *mam_driver_reason(void)
{
	pthread_once(&loaded, load);
	if (forked)
		return "CUDA does not survive a fork, and this process was forked after CUDA was "
		       "first used";
	return usable ? "the driver has no such device" : reason;
}

enum mam_status mam_driver_status(const struct mam_driver *driver, const char *function,
				  unsigned int result)
{
	switch (result) {
	case MAM_DRIVER_SUCCESS: return MAM_OK;
	case MAM_DRIVER_OUT_OF_MEMORY: return MAM_ERROR_OUT_OF_MEMORY;
	case MAM_DRIVER_NO_DEVICE:
	case MAM_DRIVER_INVALID_DEVICE: return MAM_ERROR_NO_DEVICE;
	default:
		mam_log(MAM_LOG_WARN, "the CUDA driver's %s returned %s (%u)", function,
			error_name(driver, result), result);
		return MAM_ERROR_DRIVER;
	}
}
