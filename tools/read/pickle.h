/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle.h - read the plain data of a Python pickle: None, booleans, numbers, texts, bytes, lists,
 * tuples, sets and dictionaries. Calls that a pickle requests are never executed.
 *
 * A value is eight bytes and is meaningful only together with its struct pickle. A list or
 * dictionary may contain itself, directly or not: code that follows values has to bound its number
 * of steps.
 */
#ifndef TOOLS_PICKLE_H
#define TOOLS_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/mam.h>

enum pickle_kind {
	PICKLE_NOTHING, /* no value */
	PICKLE_NONE,
	PICKLE_BOOL,
	PICKLE_INT,  /* fits into a signed 64-bit integer */
	PICKLE_HUGE, /* an integer that does not; its digits are not kept */
	PICKLE_FLOAT,
	PICKLE_TEXT, /* UTF-8 according to the file; not validated */
	PICKLE_BYTES,
	PICKLE_LIST,
	PICKLE_TUPLE,
	PICKLE_SET,
	PICKLE_DICT
};

#define PICKLE_TEXT_MAX ((size_t)16 << 20) /* limit for the bytes of one text */

struct pickle_value {
	uint64_t bits;
};

/* A growable array of elements of one size. */
struct pickle_array {
	void *at;
	size_t count;
	size_t room;
};

/* An error and its position. */
struct pickle_problem {
	uint64_t byte;  /* offset in the pickle, from 0 */
	bool cut;       /* the pickle is truncated */
	bool unread;    /* `read` failed */
	char text[240]; /* without full stop */
};

struct pickle {
	struct pickle_value root;
	uint64_t bytes;            /* bytes of the pickle that were read */
	struct pickle_array boxes; /* of lists, tuples, sets, dictionaries: where their items are */
	struct pickle_array items; /* struct pickle_value */
	struct pickle_array texts; /* the position of their characters */
	struct pickle_array chars;
	struct pickle_array wides; /* numbers that do not fit into a value */
	struct pickle_problem problem;
};

/*
 * pickle_load - read a pickle of protocol 0 to 5 to its end. False: pickle->problem has the reason.
 * The caller calls pickle_fini() in either case. O(bytes) time, at most about 50 bytes of memory
 * per byte of the pickle, no recursion.
 */
bool pickle_load(struct pickle *pickle,
		 enum mam_status (*read)(void *user, void *buffer, size_t bytes, size_t *got),
		 void *user);

void pickle_fini(struct pickle *pickle);

enum pickle_kind pickle_kind(struct pickle_value value);

/* These return false, or 0, for a value of another kind. */
bool pickle_int(const struct pickle *pickle, struct pickle_value value, int64_t *number);
bool pickle_float(const struct pickle *pickle, struct pickle_value value, double *number);
bool pickle_text(const struct pickle *pickle, struct pickle_value value, const char **text,
		 size_t *bytes);

/* pickle_count - the number of items; of pairs for a dictionary. */
size_t pickle_count(const struct pickle *pickle, struct pickle_value value);

/* pickle_item - an item of a list, tuple or set. pre: at < pickle_count(). */
struct pickle_value pickle_item(const struct pickle *pickle, struct pickle_value value, size_t at);

/* pickle_pair - a pair of a dictionary, in the file's order. pre: at < pickle_count(). */
void pickle_pair(const struct pickle *pickle, struct pickle_value value, size_t at,
		 struct pickle_value *key, struct pickle_value *held);

/*
 * pickle_get - the value of a text key in a dictionary; the last one if the key occurs several
 * times. Otherwise a value of kind PICKLE_NOTHING. O(pairs).
 */
struct pickle_value pickle_get(const struct pickle *pickle, struct pickle_value value,
			       const char *key);

/*
 * pickle_box - the unique number, below pickle->boxes.count, of a list, tuple, set or dictionary.
 * pre: `value` is one of these.
 */
size_t pickle_box(struct pickle_value value);

#endif
