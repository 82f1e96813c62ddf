/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag.c - mam/tag.h. Under mam run, libmam-preload.so has the tags: it has a copy of mam's code, and
 * records them. This library then calls it, by symbols that only it defines.
 *
 * No lock is held across dlsym(): it waits for a thread in dlopen(), whose constructors may push a
 * tag. Threads that arrive first at the same time all look, and find the same.
 */
#include <mam/tag.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include <mam/tag_paths.h>

typedef enum mam_status push_function(const char *name);
typedef enum mam_status pop_function(void);
typedef const char *path_function(void);

static push_function *_Atomic tags_push; /* atomic; NULL: not looked for yet */
static pop_function *_Atomic tags_pop;   /* atomic, the same */
static path_function *_Atomic tags_path; /* atomic, the same */

static void look(void)
{
	void *found_push = dlsym(RTLD_DEFAULT, "mam_interpose_tag_push");
	void *found_pop = dlsym(RTLD_DEFAULT, "mam_interpose_tag_pop");
	void *found_path = dlsym(RTLD_DEFAULT, "mam_interpose_tag_path");
	push_function *push = mam_tag_paths_push;
	pop_function *pop = mam_tag_paths_pop;
	path_function *path = mam_tag_paths_here;

	if (found_push != NULL && found_pop != NULL && found_path != NULL) {
		/* C converts a data pointer to a function pointer only by a copy. */
		memcpy(&push, &found_push, sizeof(push));
		memcpy(&pop, &found_pop, sizeof(pop));
		memcpy(&path, &found_path, sizeof(path));
	}
	atomic_store_explicit(&tags_push, push, memory_order_relaxed);
	atomic_store_explicit(&tags_pop, pop, memory_order_relaxed);
	atomic_store_explicit(&tags_path, path, memory_order_relaxed);
}

enum mam_status mam_tag_push(const char *name)
{
	if (atomic_load_explicit(&tags_push, memory_order_relaxed) == NULL)
		look();
	return atomic_load_explicit(&tags_push, memory_order_relaxed)(name);
}

enum mam_status mam_tag_pop(void)
{
	if (atomic_load_explicit(&tags_pop, memory_order_relaxed) == NULL)
		look();
	return atomic_load_explicit(&tags_pop, memory_order_relaxed)();
}

const char *mam_tag_path(void)
{
	if (atomic_load_explicit(&tags_path, memory_order_relaxed) == NULL)
		look();
	return atomic_load_explicit(&tags_path, memory_order_relaxed)();
}
