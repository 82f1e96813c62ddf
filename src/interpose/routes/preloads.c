/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preloads.c - see preloads.h.
 *
 * mam calls the next definition after its own, as RTLD_NEXT finds it. Normally it is in CUDA's
 * library. If it is in an object of LD_PRELOAD, that object follows mam. An object that precedes
 * mam receives the calls first, and is expected to call mam as it would call CUDA.
 */
#define _GNU_SOURCE /* dladdr1, secure_getenv */
#include "interpose/routes/preloads.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/process/say.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"

#define SEPARATORS " :"

/* Returns the object of a name in LD_PRELOAD, or NULL if it is not loaded. */
static const struct link_map *object_of(const char *name, size_t length)
{
	char path[PATH_MAX];
	void *handle;

	if (length == 0 || length >= sizeof(path))
		return NULL;
	memcpy(path, name, length);
	path[length] = '\0';
	handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (handle != NULL)
		dlclose(handle); /* a preloaded object stays loaded */
	return handle;           /* glibc: the object's link map */
}

static bool is_listed(const char *list, const struct link_map *object)
{
	while (*list != '\0') {
		size_t length = strcspn(list, SEPARATORS);

		if (object_of(list, length) == object)
			return true;
		list += length;
		list += strspn(list, SEPARATORS);
	}
	return false;
}

static bool is_cuda(const char *path)
{
	const char *file = strrchr(path, '/');

	file = file == NULL ? path : file + 1;
	return strncmp(file, "libcudart", 9) == 0 || strncmp(file, "libcuda.", 8) == 0;
}

/*
 * libasan, to which a program built with -fsanitize=address is linked, calls this function if the program has
 * none of its own. It would refuse to start after a preloaded object. It may follow mam: the two
 * replace other functions.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}

void mam_preloads_check(void)
{
	const char *list = secure_getenv("LD_PRELOAD");

	if (list == NULL || list[strcspn(list, SEPARATORS)] == '\0' || !mam_say_wants(MAM_SAY_WARN))
		return;
	for (int id = 0; id < MAM_TABLE_COUNT; id++) {
		const char *name = mam_table_name((enum mam_table_id)id);
		void *found = mam_real_next(name);
		struct link_map *object = NULL;
		Dl_info info;

		if (found == NULL ||
		    dladdr1(found, &info, (void **)&object, RTLD_DL_LINKMAP) == 0 ||
		    object == NULL || is_cuda(object->l_name) || !is_listed(list, object))
			continue;
		mam_say(MAM_SAY_WARN,
			"%s defines %s and is preloaded after mam, so it receives only the calls "
			"that mam forwards; preload it before mam (see OTHER PRELOADED LIBRARIES "
			"in mam-run(1))",
			object->l_name, name);
		return;
	}
}
