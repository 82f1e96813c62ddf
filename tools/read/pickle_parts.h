/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_parts.h - what the files of the pickle reader share.
 *
 *   pickle.c        values, and what they stand for
 *   pickle_bytes.c  the bytes of the pickle, in portions
 *   pickle_lines.c  numbers and texts as protocol 0 writes them, a line each
 *   pickle_stack.c  the stack, the marks on it and the memo
 *   pickle_refuse.c opcodes that ask for more than data
 *   pickle_read.c   all other opcodes, and the table of all
 *
 * A value's lowest four bits are its kind; above them is a small number itself, or where the rest
 * of it is.
 */
#ifndef TOOLS_PICKLE_PARTS_H
#define TOOLS_PICKLE_PARTS_H

#include "read/pickle.h"

#define PICKLE_KIND_BITS 4
#define PICKLE_WIDE 15 /* a kind inside alone: a PICKLE_INT that is in `wides` */

/* A list or the like: its items are items[first .. first + count). */
struct pickle_extent {
	uint64_t first;
	uint32_t count;
	uint32_t room;
};

struct pickle_string {
	uint64_t first; /* in chars */
	uint32_t bytes;
};

/* pickle_more - room for `more` elements of `each` bytes. False: no memory, or too many. */
bool pickle_more(struct pickle_array *array, size_t each, size_t more);

static inline struct pickle_value pickle_make(enum pickle_kind kind, uint64_t rest)
{
	return (struct pickle_value){ rest << PICKLE_KIND_BITS | (unsigned int)kind };
}

/* Each puts the value out only when there was memory for it. */
bool pickle_make_int(struct pickle *pickle, int64_t number, struct pickle_value *value);
bool pickle_make_float(struct pickle *pickle, double number, struct pickle_value *value);

/* pickle_make_text - of the last `bytes` bytes in chars. kind: PICKLE_TEXT or PICKLE_BYTES. */
bool pickle_make_text(struct pickle *pickle, enum pickle_kind kind, size_t bytes,
		      struct pickle_value *value);

/* pickle_make_box - one that is empty. */
bool pickle_make_box(struct pickle *pickle, enum pickle_kind kind, struct pickle_value *value);

/* pickle_add_items - `count` items behind those of a box. False: no memory, or too many. */
bool pickle_add_items(struct pickle *pickle, struct pickle_value box,
		      const struct pickle_value *items, size_t count);

#define PICKLE_WINDOW ((size_t)1 << 16)
#define PICKLE_LINE_MOST ((size_t)1 << 20) /* bytes of a line of protocol 0 */

struct pickle_reader;

struct pickle_opcode {
	const char *name; /* NULL: there is none of that byte */
	bool (*run)(struct pickle_reader *reader, const struct pickle_opcode *opcode);
	unsigned char bytes; /* of the number behind it, or how many values; 0: a line, or all */
	unsigned char kind;  /* of what it makes: enum pickle_kind */
};

/* A pickle on its way from bytes to values. */
struct pickle_reader {
	struct pickle *pickle;
	enum mam_status (*read)(void *user, void *buffer, size_t bytes, size_t *got);
	void *user;
	unsigned char *window; /* PICKLE_WINDOW bytes, of which at .. end are not taken yet */
	size_t at, end;
	uint64_t before;           /* bytes of the pickle in front of the window */
	uint64_t opcode_byte;      /* where the opcode at work stands */
	struct pickle_array stack; /* struct pickle_value */
	struct pickle_array marks; /* size_t: heights of the stack */
	struct pickle_array memo;  /* struct pickle_value, PICKLE_NOTHING where none was put */
	uint64_t memo_used;
	struct pickle_array line; /* the last line, with a zero byte behind it */
	bool ended;
};

/* pickle_fail - false, with the problem written down at the opcode at work. */
bool pickle_fail(struct pickle_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool pickle_fail_memory(struct pickle_reader *reader);

/* pickle_take - the next bytes, side by side; NULL: there are not so many. pre: bytes <= 256. */
const unsigned char *pickle_take(struct pickle_reader *reader, size_t bytes);

/* pickle_take_chars - the next bytes to the end of chars, or with `keep` false nowhere. */
bool pickle_take_chars(struct pickle_reader *reader, uint64_t bytes, bool keep);

/* pickle_take_line - the bytes in front of the next '\n' into reader->line. */
bool pickle_take_line(struct pickle_reader *reader);

/* What the last line says, as the value of an opcode. */
bool pickle_line_int(struct pickle_reader *reader, struct pickle_value *value);
bool pickle_line_float(struct pickle_reader *reader, struct pickle_value *value);
bool pickle_line_string(struct pickle_reader *reader, struct pickle_value *value);
bool pickle_line_unicode(struct pickle_reader *reader, struct pickle_value *value);

/* pickle_line_number - a number without a sign, for the memo. */
bool pickle_line_number(struct pickle_reader *reader, uint64_t *number);

/* pickle_take_number - one of `bytes` bytes, the lowest first, without a sign. */
bool pickle_take_number(struct pickle_reader *reader, size_t bytes, uint64_t *number);

bool pickle_push(struct pickle_reader *reader, struct pickle_value value);

/* pickle_need - false, and said: there are not `count` values above the last mark. */
bool pickle_need(struct pickle_reader *reader, size_t count);

/* pickle_peek - the value `depth` below the top, 0 the top. pre: pickle_need(depth + 1). */
struct pickle_value *pickle_peek(const struct pickle_reader *reader, size_t depth);

/* What opcodes do to the stack. */
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

/* Refusals; each says what was asked for. */
bool pickle_run_global(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_stack_global(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_call(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_extension(struct pickle_reader *reader, const struct pickle_opcode *opcode);
bool pickle_run_persistent(struct pickle_reader *reader, const struct pickle_opcode *opcode);

/* pickle_make_long - `bytes` bytes, the lowest first, the highest one's highest bit a sign. */
bool pickle_make_long(struct pickle *pickle, const unsigned char *at, size_t bytes,
		      struct pickle_value *value);

#endif
