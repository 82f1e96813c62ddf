/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_parts.h - declarations that the files of the pickle reader share.
 *
 *   pickle.c        values, and the data that they refer to
 *   pickle_bytes.c  the bytes of the pickle, in portions
 *   pickle_lines.c  numbers and texts of protocol 0, one per line
 *   pickle_stack.c  the stack, its marks and the memo
 *   pickle_refuse.c opcodes that request more than data
 *   pickle_read.c   all other opcodes, and the table of all
 *
 * The lowest four bits of a value are its kind; the others are a small number itself, or the index
 * of the data.
 */
#ifndef TOOLS_PICKLE_PARTS_H
#define TOOLS_PICKLE_PARTS_H

#include "read/pickle.h"

#define PICKLE_KIND_BITS 4
#define PICKLE_WIDE 15 /* internal kind: a PICKLE_INT that is in `wides` */

/* A list, tuple, set or dictionary: its items are items[first .. first + count). */
struct pickle_extent {
	uint64_t first;
	uint32_t count;
	uint32_t room;
};

struct pickle_string {
	uint64_t first; /* index in chars */
	uint32_t bytes;
};

/*
 * pickle_more - make room for `more` elements of `each` bytes. False: out of memory, or too many.
 */
bool pickle_more(struct pickle_array *array, size_t each, size_t more);

static inline struct pickle_value pickle_make(enum pickle_kind kind, uint64_t rest)
{
	return (struct pickle_value){ rest << PICKLE_KIND_BITS | (unsigned int)kind };
}

/* These set *value only if they return true; false: out of memory. */
bool pickle_make_int(struct pickle *pickle, int64_t number, struct pickle_value *value);
bool pickle_make_float(struct pickle *pickle, double number, struct pickle_value *value);

/*
 * pickle_make_text - make a text of the last `bytes` bytes in chars. kind: PICKLE_TEXT or
 * PICKLE_BYTES.
 */
bool pickle_make_text(struct pickle *pickle, enum pickle_kind kind, size_t bytes,
		      struct pickle_value *value);

/* pickle_make_box - make an empty list, tuple, set or dictionary. */
bool pickle_make_box(struct pickle *pickle, enum pickle_kind kind, struct pickle_value *value);

/* pickle_add_items - append `count` items to a box. False: out of memory, or too many. */
bool pickle_add_items(struct pickle *pickle, struct pickle_value box,
		      const struct pickle_value *items, size_t count);

#define PICKLE_WINDOW ((size_t)1 << 16)
#define PICKLE_LINE_MAX ((size_t)1 << 20) /* limit for the bytes of a line of protocol 0 */

struct pickle_reader;

struct pickle_opcode {
	const char *name; /* NULL: no opcode has this byte */
	bool (*run)(struct pickle_reader *reader, const struct pickle_opcode *opcode);
	unsigned char bytes; /* of the number after it, or count of values; 0: a line, or all */
	unsigned char kind;  /* of the result: enum pickle_kind */
};

/* The state of reading a pickle. */
struct pickle_reader {
	struct pickle *pickle;
	enum mam_status (*read)(void *user, void *buffer, size_t bytes, size_t *got);
	void *user;
	unsigned char *window; /* PICKLE_WINDOW bytes; at .. end are unread */
	size_t at, end;
	uint64_t before;           /* bytes of the pickle that precede the window */
	uint64_t opcode_byte;      /* offset of the current opcode */
	struct pickle_array stack; /* struct pickle_value */
	struct pickle_array marks; /* size_t: heights of the stack */
	struct pickle_array memo;  /* struct pickle_value; PICKLE_NOTHING in unused entries */
	uint64_t memo_used;
	struct pickle_array line; /* the last line, terminated by a zero byte */
	bool ended;
};

/* pickle_fail - record an error at the current opcode and return false. */
bool pickle_fail(struct pickle_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool pickle_fail_memory(struct pickle_reader *reader);

/*
 * pickle_take - consume the next bytes, contiguous; NULL: the input ends earlier. pre: bytes <=
 * 256.
 */
const unsigned char *pickle_take(struct pickle_reader *reader, size_t bytes);

/* pickle_take_chars - append the next bytes to chars, or discard them if `keep` is false. */
bool pickle_take_chars(struct pickle_reader *reader, uint64_t bytes, bool keep);

/* pickle_take_line - read the bytes up to the next '\n' into reader->line. */
bool pickle_take_line(struct pickle_reader *reader);

/* Parse the last line as the value of an opcode. */
bool pickle_line_int(struct pickle_reader *reader, struct pickle_value *value);
bool pickle_line_float(struct pickle_reader *reader, struct pickle_value *value);
bool pickle_line_string(struct pickle_reader *reader, struct pickle_value *value);
bool pickle_line_unicode(struct pickle_reader *reader, struct pickle_value *value);

/* pickle_line_number - parse the last line as an unsigned number, for the memo. */
bool pickle_line_number(struct pickle_reader *reader, uint64_t *number);

/* pickle_take_number - read an unsigned little-endian number of `bytes` bytes. */
bool pickle_take_number(struct pickle_reader *reader, size_t bytes, uint64_t *number);

bool pickle_push(struct pickle_reader *reader, struct pickle_value value);

/* pickle_need - fail unless there are `count` values above the last mark. */
bool pickle_need(struct pickle_reader *reader, size_t count);

/*
 * pickle_peek - the value `depth` below the top of the stack; 0 is the top. pre: pickle_need(depth
 * + 1).
 */
struct pickle_value *pickle_peek(const struct pickle_reader *reader, size_t depth);

/* The opcodes that change the stack. */
bool pickle_run_mark(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_pop(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_pop_mark(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_dup(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_gather(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_gather_marked(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_add(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_add_marked(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_memoize(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_put(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_get(struct pickle_reader *reader, const struct pickle_opcode *opcode);

/* Opcodes that are refused; each reports what the pickle requested. */
bool pickle_run_global(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_stack_global(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_call(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_extension(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_persistent(struct pickle_reader *reader, const struct pickle_opcode *opcode);

/* pickle_make_long - make an integer of `bytes` bytes, little-endian, two's complement. */
bool pickle_make_long(struct pickle *pickle, const unsigned char *at, size_t bytes,
		      struct pickle_value *value);

#endif
