/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder.c - see recorder.h.
 */
#include "api/recorder.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <mam/recorder.h>
#include <mam/tag.h>

#include "api/slots.h"
#include "base/event.h"
#include "base/log.h"
#include "base/object.h"

#define FILE_NAME "libmam-preload.so"

typedef void record_function(const struct mam_record *record);
typedef void join_function(void (*listen)(bool on));

static void *_Atomic loaded;   /* atomic; handle of FILE_NAME, NULL: under mam run, or not yet */
static atomic_bool has_joined; /* atomic */
static record_function *_Atomic recorder; /* atomic; set before the first call of listen() */

static void pass(const struct mam_event *event)
{
	struct mam_record record = { .pool = event->pool,
				     .block = event->address,
				     .bytes = event->bytes,
				     .stream = event->stream };

	switch (event->kind) {
	case MAM_EVENT_ALLOC: record.kind = MAM_RECORD_ALLOC; break;
	case MAM_EVENT_FREE: record.kind = MAM_RECORD_FREE; break;
	case MAM_EVENT_POOL_DESTROY: record.kind = MAM_RECORD_POOL_GONE; break;
	default: return; /* a failure may have no pool */
	}
	record.device = ((const struct mam_slot *)event->pool)->device;
	if (record.kind == MAM_RECORD_ALLOC) {
		record.tags = mam_tag_path();
		if (record.tags[0] == '\0')
			record.tags = NULL;
	}
	atomic_load (&recorder)(&record);
}

static void listen(bool on)
{
	mam_event_record(on ? pass : NULL);
}

/* libmam-preload.so keeps the address of listen(): this code must not be unloaded. */
static void stay_loaded(void)
{
	const char *path = mam_object_path();

	if (path)
		(void)dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void *mam_recorder_find(const char *name)
{
	void *library = atomic_load(&loaded);

	return dlsym(library ? library : RTLD_DEFAULT, name);
}

static void join(void)
{
	void *found_join = mam_recorder_find("mam_interpose_join");
	void *found_record = mam_recorder_find("mam_interpose_record");
	record_function *found;
	join_function *ask;

	/* libmam-preload.so has this code, too, for its own pools, which are the program's calls. */
	if (!found_join || !found_record || mam_object_has(found_join) ||
	    atomic_exchange(&has_joined, true))
		return;
	/* C converts a data pointer to a function pointer only by a copy. */
	memcpy(&found, &found_record, sizeof(found));
	memcpy(&ask, &found_join, sizeof(ask));
	stay_loaded();
	atomic_store(&recorder, found);
	ask(listen);
}

void mam_recorder_join(void)
{
	static atomic_bool has_looked; /* atomic */

	if (atomic_load_explicit(&has_looked, memory_order_relaxed))
		return;
	join();
	atomic_store_explicit(&has_looked, true, memory_order_relaxed);
}

/* In the folder "mam" beside this library, as installed, or beside it, as in a build. */
static bool is_beside(const char *folder, char *path)
{
	const char *own = mam_object_path(), *end = own ? strrchr(own, '/') : NULL;

	return end &&
	       snprintf(path, PATH_MAX, "%.*s/%s" FILE_NAME, (int)(end - own), own, folder) <
		       PATH_MAX &&
	       access(path, R_OK) == 0;
}

enum mam_status mam_recorder_load(void)
{
	char path[PATH_MAX];
	void (*alone)(void);
	void *library, *found, *none = NULL;
	const char *error;

	if (mam_recorder_find("mam_interpose_profile_start"))
		return MAM_OK;
	if (!is_beside("mam/", path) && !is_beside("", path))
		strcpy(path, MAM_PRELOADDIR "/" FILE_NAME);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	found = library ? dlsym(library, "mam_interpose_alone") : NULL;
	if (!found) {
		error = dlerror();
		mam_log(MAM_LOG_ERROR, "cannot record a profile: %s", error ? error : path);
		return MAM_ERROR_UNSUPPORTED;
	}
	memcpy(&alone, &found, sizeof(alone));
	alone();
	atomic_compare_exchange_strong(&loaded, &none, library);
	join();
	return MAM_OK;
}
