/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag.c - mam/tag.h. Under mam run, libmam-preload.so has the tags: it has a copy of mam's code, and
 * records them. This library then calls it, by symbols that only it defines.
 */
#include <mam/tag.h>

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include <mam/tag_paths.h>

/* lock: none, set once by look() */
static struct {
	enum mam_status (*push)(const char *name);
	enum mam_status (*pop)(void);
	const char *(*path)(void);
} tags;
static pthread_once_t looked = PTHREAD_ONCE_INIT;

static void look(void)
{
	void *push = dlsym(RTLD_DEFAULT, "mam_interpose_tag_push");
	void *pop = dlsym(RTLD_DEFAULT, "mam_interpose_tag_pop");
	void *path = dlsym(RTLD_DEFAULT, "mam_interpose_tag_path");

	tags.push = mam_tag_paths_push;
	tags.pop = mam_tag_paths_pop;
	tags.path = mam_tag_paths_here;
	if (push == NULL || pop == NULL || path == NULL)
		return;
	/* C converts a data pointer to a function pointer only by a copy. */
	memcpy(&tags.push, &push, sizeof(push));
	memcpy(&tags.pop, &pop, sizeof(pop));
	memcpy(&tags.path, &path, sizeof(path));
}

enum mam_status mam_tag_push(const char *name)
{
	pthread_once(&looked, look);
	return tags.push(name);
}

enum mam_status mam_tag_pop(void)
{
	pthread_once(&looked, look);
	return tags.pop();
}

const char *mam_tag_path(void)
{
	pthread_once(&looked, look);
	return tags.path();
}
