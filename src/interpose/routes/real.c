/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.c - finds the originals of our functions.
 *
 * Each function is looked up when first needed, and then kept. No lock is held across a call to the
 * dynamic linker: a thread inside dlopen() may run code of a program that calls us, and each would
 * wait for the other. Threads that arrive first at the same time look up the same functions in
 * parallel; one of them stores its results and the others use those.
 */
#define _GNU_SOURCE /* dladdr, RTLD_NEXT */
#include "interpose/routes/real.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "interpose/process/altstack.h"
#include "interpose/process/elf.h"
#include "interpose/process/objects.h"
#include "interpose/routes/init.h"
#include "interpose/routes/table.h"

enum { KEPT_NOT, KEPT_SOON, KEPT };

/* lock: none, written once by the thread that changes the atomic from KEPT_NOT to KEPT_SOON */
static struct mam_real_linker linker;
static atomic_int linker_kept;
static struct mam_real_driver driver;
static atomic_int driver_kept;
static struct mam_real_runtime runtime;
static atomic_int runtime_kept;

const struct mam_real_driver *_Atomic mam_real_driver_known;
const struct mam_real_runtime *_Atomic mam_real_runtime_known;

static bool is_kept(atomic_int *kept)
{
	return atomic_load_explicit(kept, memory_order_acquire) == KEPT;
}

/*
 * The first thread's results are kept; the others wait while it copies them. In the child of a fork
 * it could not complete the copy.
 */
static void keep(atomic_int *kept, void *place, const void *answers, size_t bytes)
{
	int expected = KEPT_NOT;

	mam_objects_enter();
	if (atomic_compare_exchange_strong(kept, &expected, KEPT_SOON)) {
		memcpy(place, answers, bytes);
		atomic_store_explicit(kept, KEPT, memory_order_release);
	}
	mam_objects_leave();
	while (!is_kept(kept))
		sched_yield();
}

/* Used only if the C library has no dlsym after this object: every lookup fails then. */
static void *no_dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

static void *no_dlvsym(void *handle, const char *name, const char *version)
{
	(void)version;
	return no_dlsym(handle, name);
}

/* Objects after one that libmam.so loaded may be unloaded, and none is the C library. */
static void *next_of(const char *name)
{
	return mam_init_is_alone() ? NULL : mam_elf_next(name);
}

const struct mam_real_linker *mam_real_linker(void)
{
	struct mam_real_linker answers = { no_dlsym, no_dlvsym, NULL };
	void *found;

	if (is_kept(&linker_kept))
		return &linker;
	found = next_of("dlsym");
	if (found != NULL)
		*(void **)&answers.dlsym = found;
	found = next_of("dlvsym");
	if (found != NULL)
		*(void **)&answers.dlvsym = found;
	*(void **)&answers.exit = next_of("_exit");
	keep(&linker_kept, &linker, &answers, sizeof(answers));
	return &linker;
}

void (*mam_real_exit(void))(int status)
{
	return is_kept(&linker_kept) ? linker.exit : NULL;
}

/*
 * RTLD_NEXT is resolved for the object that the call returns to. The empty asm statement prevents a
 * tail call, which would return to our caller's object.
 */
void *mam_real_next(const char *name)
{
	void *found = mam_real_linker()->dlsym(RTLD_NEXT, name);

	__asm__ volatile("" : "+r"(found));
	return found;
}

struct library_search {
	const char *prefix;  /* of the file name without its directory */
	unsigned int skip;   /* how many loaded libraries with that prefix were tried */
	char path[PATH_MAX]; /* of the next library */
};

static int visit_library(struct dl_phdr_info *object, size_t info_bytes, void *user)
{
	struct library_search *search = user;
	const char *file = strrchr(object->dlpi_name, '/');

	(void)info_bytes;
	file = file == NULL ? object->dlpi_name : file + 1;
	if (strncmp(file, search->prefix, strlen(search->prefix)) != 0 || search->skip-- > 0)
		return 0;
	if (strlen(object->dlpi_name) >= sizeof(search->path))
		return 0;
	strcpy(search->path, object->dlpi_name);
	return 1;
}

/*
 * Returns the handle of a library that is already loaded. The library is opened outside the
 * iteration, which holds a lock of the linker.
 */
static void *open_loaded(const char *prefix, unsigned int place)
{
	struct library_search search = { .prefix = prefix, .skip = place };

	if (mam_objects_visit(visit_library, &search) == 0)
		return NULL;
	return dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD);
}

bool mam_real_contains(const char *prefix, const void *function)
{
	const char *file;
	Dl_info info;

	if (function == NULL || dladdr(function, &info) == 0)
		return false;
	file = strrchr(info.dli_fname, '/');
	file = file == NULL ? info.dli_fname : file + 1;
	return strncmp(file, prefix, strlen(prefix)) == 0;
}

bool mam_real_is_loaded(const char *prefix)
{
	struct library_search search = { .prefix = prefix };

	return mam_objects_visit(visit_library, &search) != 0;
}

void *mam_real_in(const char *prefix, const char *name)
{
	void *handle, *found;

	for (unsigned int place = 0; (handle = open_loaded(prefix, place)) != NULL; place++) {
		found = mam_real_linker()->dlsym(handle, name);
		if (found != NULL)
			return found;
		dlclose(handle);
	}
	return NULL;
}

/* One row per function that mam calls: its place in the structure, and whether mam needs it. */
static const struct {
	const char *name;
	size_t offset;
	bool needed;
} driver_rows[] = {
	{ "cuCtxGetCurrent", offsetof(struct mam_real_driver, ctx_current), true },
	{ "cuCtxPushCurrent_v2", offsetof(struct mam_real_driver, ctx_push), true },
	{ "cuCtxPopCurrent_v2", offsetof(struct mam_real_driver, ctx_pop), true },
	{ "cuCtxGetDevice", offsetof(struct mam_real_driver, ctx_device), true },
	{ "cuCtxSynchronize", offsetof(struct mam_real_driver, ctx_synchronize), true },
	{ "cuDevicePrimaryCtxGetState", offsetof(struct mam_real_driver, primary_state), true },
	{ "cuDevicePrimaryCtxRetain", offsetof(struct mam_real_driver, primary_retain), true },
	{ "cuDevicePrimaryCtxRelease_v2", offsetof(struct mam_real_driver, primary_release), true },
	{ "cuThreadExchangeStreamCaptureMode", offsetof(struct mam_real_driver, capture_mode),
	  false },
	{ "cuStreamIsCapturing", offsetof(struct mam_real_driver, is_capturing), false },
	{ "cuStreamGetCtx", offsetof(struct mam_real_driver, stream_context), false },
	{ "cuPointerGetAttribute", offsetof(struct mam_real_driver, pointer_attribute), false },
	{ "cuEventCreate", offsetof(struct mam_real_driver, event_create), false },
	{ "cuEventDestroy_v2", offsetof(struct mam_real_driver, event_destroy), false },
	{ "cuEventRecord", offsetof(struct mam_real_driver, event_record), false },
	{ "cuEventQuery", offsetof(struct mam_real_driver, event_query), false },
	{ "cuCtxGetStreamPriorityRange", offsetof(struct mam_real_driver, ctx_priorities), false },
	{ "cuCtxRecordEvent", offsetof(struct mam_real_driver, ctx_record_event), false },
	{ "cuDeviceGetDefaultMemPool", offsetof(struct mam_real_driver, default_pool), false },
	{ "cuDeviceGetMemPool", offsetof(struct mam_real_driver, current_pool), false },
	{ "cuMemPoolTrimTo", offsetof(struct mam_real_driver, pool_trim), false },
	{ "cuDeviceGetGraphMemAttribute", offsetof(struct mam_real_driver, graph_attribute),
	  false },
	{ "cuDeviceGraphMemTrim", offsetof(struct mam_real_driver, graph_trim), false },
	{ "cuCtxGetId", offsetof(struct mam_real_driver, ctx_id), false },
	{ "cuDeviceGetCount", offsetof(struct mam_real_driver, device_count), false },
	{ "cuDeviceGetUuid_v2", offsetof(struct mam_real_driver, device_uuid), false },
	{ "cuDeviceGetAttribute", offsetof(struct mam_real_driver, device_attribute), false },
	{ "cuDeviceCanAccessPeer", offsetof(struct mam_real_driver, can_access_peer), false },
	{ "cuMemAddressReserve", offsetof(struct mam_real_driver, mem_reserve), false },
	{ "cuMemAddressFree", offsetof(struct mam_real_driver, mem_unreserve), false },
	{ "cuMemSetAccess", offsetof(struct mam_real_driver, mem_set_access), false },
	{ "cuMemGetAllocationPropertiesFromHandle",
	  offsetof(struct mam_real_driver, mem_properties), false },
	{ "cuMemExportToShareableHandle", offsetof(struct mam_real_driver, mem_export), false },
	{ "cuMemImportFromShareableHandle", offsetof(struct mam_real_driver, mem_import), false },
};

static void find_driver(void *unused)
{
	struct mam_real_driver answers;
	void *handle = open_loaded("libcuda.so", 0), *found;

	(void)unused;
	if (handle == NULL)
		return;
	for (size_t i = 0; i < sizeof(driver_rows) / sizeof(driver_rows[0]); i++) {
		found = mam_real_linker()->dlsym(handle, driver_rows[i].name);
		if (found == NULL && driver_rows[i].needed) {
			dlclose(handle);
			return;
		}
		*(void **)((char *)&answers + driver_rows[i].offset) = found;
	}
	keep(&driver_kept, &driver, &answers, sizeof(answers));
	atomic_store_explicit(&mam_real_driver_known, &driver, memory_order_release);
}

const struct mam_real_driver *mam_real_driver_slow(void)
{
	if (!is_kept(&driver_kept))
		mam_altstack_call(find_driver, NULL);
	return is_kept(&driver_kept) ? &driver : NULL;
}

/*
 * Finds a function in the library of `function`, otherwise after this object: a wrapper of
 * cudaMalloc may be between mam and the runtime.
 */
static void *find_beside(const void *function, const char *name)
{
	void *handle, *found = NULL;
	Dl_info info;

	if (dladdr(function, &info) != 0) {
		handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
		if (handle != NULL)
			found = mam_real_linker()->dlsym(handle, name);
	}
	return found != NULL ? found : mam_real_next(name);
}

const struct mam_real_runtime *mam_real_runtime_slow(void)
{
	struct mam_real_runtime answers;
	int (*get_version)(int *version);
	const void *beside;

	if (is_kept(&runtime_kept))
		return &runtime;
	beside = mam_table_original(MAM_TABLE_cudaMalloc);
	if (beside == NULL)
		return NULL;
	*(void **)&answers.get_device = find_beside(beside, "cudaGetDevice");
	*(void **)&answers.device_synchronize = find_beside(beside, "cudaDeviceSynchronize");
	*(void **)&get_version = find_beside(beside, "cudaRuntimeGetVersion");
	if (get_version == NULL || get_version(&answers.version) != 0)
		answers.version = 0;
	if (answers.get_device == NULL || answers.device_synchronize == NULL)
		return NULL;
	keep(&runtime_kept, &runtime, &answers, sizeof(answers));
	atomic_store_explicit(&mam_real_runtime_known, &runtime, memory_order_release);
	return &runtime;
}
