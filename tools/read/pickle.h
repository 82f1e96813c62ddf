/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle.h - the plain data of a Python pickle: None, booleans, numbers, texts, bytes, lists,
 * tuples, sets and dictionaries. Nothing that a pickle asks to call is called.
 *
 * A value is eight bytes that mean something together with their struct pickle alone. What a list
 * or a dictionary holds may hold it again: whoever walks from value to value counts the steps.
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
	PICKLE_INT,  /* fits into 64 bits with a sign */
	PICKLE_HUGE, /* an integer that does not; its digits were not kept */
	PICKLE_FLOAT,
	PICKLE_TEXT, /* UTF-8, or what the file says is that */
	PICKLE_BYTES,
	PICKLE_LIST,
	PICKLE_TUPLE,
	PICKLE_SET,
	PICKLE_DICT
};

#define PICKLE_TEXT_MOST ((size_t)16 << 20) /* bytes of one text */

struct pickle_value {
	uint64_t bits;
};

/* Elements of one size, one behind the other. */
struct pickle_array {
	void *at;
	size_t count;
	size_t room;
};

/* What went wrong, where. */
struct pickle_problem {
	uint64_t byte;  /* of the pickle, from 0 */
	bool cut;       /* it ends too early */
	bool unread;    /* `read` failed */
	char text[240]; /* without a full stop */
};

struct pickle {
	struct pickle_value root;
	uint64_t bytes;            /* of the pickle */
	struct pickle_array boxes; /* of lists and the like: where their items are */
	struct pickle_array items; /* struct pickle_value */
	struct pickle_array texts; /* where their characters are */
	struct pickle_array chars;
	struct pickle_array wides; /* numbers that do not fit into a value */
	struct pickle_problem problem;
};

/*
 * pickle_load - read protocols 0 to 5 up to their end. False: pickle->problem says why, and
 * pickle_fini() must be called all the same. O(bytes) time, at most some 50 bytes of memory for
 * each of them, no recursion.
 */
bool pickle_load(struct pickle *pickle,
		 enum mam_status (*read)(void *user, void *buffer, size_t bytes, size_t *got),
		 void *user);

void pickle_fini(struct pickle *pickle);

enum pickle_kind pickle_kind(struct pickle_value value);

/* Each answers false, or 0, for a value of another kind. */
bool pickle_int(const struct pickle *pickle, struct pickle_value value, int64_t *number);
bool pickle_float(const struct pickle *pickle, struct pickle_value value, double *number);
bool pickle_text(const struct pickle *pickle, struct pickle_value value, const char **text,
		 size_t *bytes);

/* pickle_count - items; of a dictionary, pairs. */
size_t pickle_count(const struct pickle *pickle, struct pickle_value value);

/* pickle_item - of a list, tuple or set. pre: at < pickle_count(). */
struct pickle_value pickle_item(const struct pickle *pickle, struct pickle_value value, size_t at);

/* pickle_pair - of a dictionary, in the file's order. pre: at < pickle_count(). */
void pickle_pair(const struct pickle *pickle, struct pickle_value value, size_t at,
		 struct pickle_value *key, struct pickle_value *held);

/*
 * pickle_get - what a dictionary has for a text; the last one, if there are several. Else the
 * kind PICKLE_NOTHING. O(pairs).
 */
struct pickle_value pickle_get(const struct pickle *pickle, struct pickle_value value,
			       const char *key);

/*
 * pickle_box - a number of its own, below pickle->boxes.count, of each list, tuple, set or
 * dictionary. pre: it is one.
 */
size_t pickle_box(struct pickle_value value);

#endif
