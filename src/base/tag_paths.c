/* SPDX-License-Identifier: Apache-2.0 */
/* tag_paths.c - see tag_paths.h. */
#include <mam/tag_paths.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mam/tag.h>

#define BUCKETS 4096u

/* lock: none, set before it is published */
struct path {
	const struct path *parent; /* NULL: none */
	struct path *next;         /* with the same hash */
	size_t length;             /* of the text */
	char text[];               /* as mam_tag_path() returns it */
};

static _Thread_local struct {
	const struct path *path; /* NULL: none */
	size_t unnamed;          /* pushes after the first that failed, that one included */
} mine __attribute__((tls_model("initial-exec")));

static struct path *_Atomic buckets[BUCKETS]; /* atomic */
static _Atomic uint32_t paths;                /* atomic; count */

/* Whether a trace may have the byte as it is. */
static bool is_plain(unsigned char byte)
{
	return byte > ' ' && byte < 0x7f && byte != '%' && byte != '/';
}

/* Writes parent/name and a terminator. Returns the length; 0: it is too long. */
static size_t write_path(const struct path *parent, const char *name, char text[MAM_TAG_PATH_BYTES])
{
	static const char digits[] = "0123456789ABCDEF";
	size_t length = parent == NULL ? 0 : parent->length + 1;

	if (parent != NULL) {
		memcpy(text, parent->text, parent->length);
		text[parent->length] = '/';
	}
	for (; *name != '\0'; name++) {
		const unsigned char byte = (unsigned char)*name;

		if (length + (is_plain(byte) ? 1 : 3) >= MAM_TAG_PATH_BYTES)
			return 0;
		if (is_plain(byte)) {
			text[length++] = *name;
		} else {
			text[length++] = '%';
			text[length++] = digits[byte >> 4];
			text[length++] = digits[byte & 15];
		}
	}
	text[length] = '\0';
	return length;
}

static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t hash = length;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return (hash * UINT64_C(0x9e3779b97f4a7c15)) >> 40;
}

/* Searches from `at` up to `end`. */
static const struct path *find(const struct path *at, const struct path *end, const char *text,
			       size_t length)
{
	for (; at != end; at = at->next)
		if (at->length == length && memcmp(at->text, text, length) == 0)
			return at;
	return NULL;
}

static struct path *make(const struct path *parent, const char *text, size_t length)
{
	struct path *made;

	if (atomic_fetch_add_explicit(&paths, 1, memory_order_relaxed) < MAM_TAG_PATHS_MAX) {
		made = malloc(sizeof(*made) + length + 1);
		if (made != NULL) {
			made->parent = parent;
			made->length = length;
			memcpy(made->text, text, length + 1);
			return made;
		}
	}
	atomic_fetch_sub_explicit(&paths, 1, memory_order_relaxed);
	return NULL;
}

/* The path with this text, which is made if it is new. NULL: there is no memory for it. */
static const struct path *intern(const struct path *parent, const char *text, size_t length)
{
	struct path *_Atomic *bucket = &buckets[hash_of(text, length) & (BUCKETS - 1)];
	struct path *first = atomic_load_explicit(bucket, memory_order_acquire), *made;
	const struct path *found = find(first, NULL, text, length);

	if (found != NULL)
		return found;
	made = make(parent, text, length);
	if (made == NULL)
		return NULL;
	made->next = first;
	while (!atomic_compare_exchange_strong_explicit(bucket, &first, made, memory_order_acq_rel,
							memory_order_acquire)) {
		found = find(first, made->next, text, length);
		if (found != NULL) {
			free(made);
			atomic_fetch_sub_explicit(&paths, 1, memory_order_relaxed);
			return found;
		}
		made->next = first;
	}
	return made;
}

enum mam_status mam_tag_paths_push(const char *name)
{
	const struct path *path = NULL;
	char text[MAM_TAG_PATH_BYTES];
	size_t length;

	if (name == NULL || *name == '\0') {
		mine.unnamed++;
		return MAM_ERROR_INVALID_VALUE;
	}
	length = mine.unnamed != 0 ? 0 : write_path(mine.path, name, text);
	if (length != 0)
		path = intern(mine.path, text, length);
	if (path == NULL) {
		mine.unnamed++;
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	}
	mine.path = path;
	return MAM_OK;
}

enum mam_status mam_tag_paths_pop(void)
{
	if (mine.unnamed != 0)
		mine.unnamed--;
	else if (mine.path != NULL)
		mine.path = mine.path->parent;
	else
		return MAM_ERROR_INVALID_VALUE;
	return MAM_OK;
}

const char *mam_tag_paths_here(void)
{
	return mine.path == NULL ? "" : mine.path->text;
}
