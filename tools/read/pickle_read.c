/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_read.c - the opcodes of a pickle: a small stack machine with marks and a memo.
 *
 * 1. Read a byte; the table has the opcode's name and the function that executes it.
 * 2. Data is pushed on the stack. Lists and dictionaries take the values above them, or above the
 *    last mark. The memo stores values for reuse.
 * 3. STOP: the value on top is the result.
 *
 * No function is recursive, so nesting uses the pickle's stack and not this program's. Every opcode
 * allocates a bounded amount of memory per byte of it that was read.
 *
 * Source: the comments of Python's pickletools and PEPs 307, 3154 and 574, for the opcodes.
 */
#include <stdlib.h>
#include <string.h>

#include "read/pickle_parts.h"

bool pickle_take_number(struct pickle_reader *reader, size_t bytes, uint64_t *number)
{
	const unsigned char *at = pickle_take(reader, bytes);
	uint64_t sum = 0;

	if (!at)
		return false;
	while (bytes-- > 0)
		sum = sum << 8 | at[bytes];
	*number = sum;
	return true;
}

static bool run_proto(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	uint64_t protocol;

	if (!pickle_take_number(reader, opcode->bytes, &protocol))
		return false;
	return protocol <= 5 || pickle_fail(reader, "protocol %u is newer than 5, the last known",
					    (unsigned int)protocol);
}

/* The length of the following frame: not needed here. */
static bool run_frame(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	uint64_t bytes;

	return pickle_take_number(reader, opcode->bytes, &bytes);
}

static bool run_stop(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	(void)opcode;
	if (!pickle_need(reader, 1))
		return false;
	reader->pickle->root = *pickle_peek(reader, 0);
	reader->ended = true;
	return true;
}

/* None, False or True: `bytes` is the value. */
static bool run_constant(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	return pickle_push(reader, pickle_make((enum pickle_kind)opcode->kind, opcode->bytes));
}

/* Four bytes are signed, fewer are unsigned. */
static bool run_int(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	struct pickle_value value;
	uint64_t number;

	if (!pickle_take_number(reader, opcode->bytes, &number))
		return false;
	if (!pickle_make_int(reader->pickle,
			     opcode->bytes == 4 ? (int32_t)(uint32_t)number : (int64_t)number,
			     &value))
		return pickle_fail_memory(reader);
	return pickle_push(reader, value);
}

static bool run_long1(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	const unsigned char *at;
	struct pickle_value value;
	uint64_t bytes;

	if (!pickle_take_number(reader, opcode->bytes, &bytes))
		return false;
	at = pickle_take(reader, (size_t)bytes);
	if (!at)
		return false;
	if (!pickle_make_long(reader->pickle, at, (size_t)bytes, &value))
		return pickle_fail_memory(reader);
	return pickle_push(reader, value);
}

/* Longer than 255 bytes, or an unusual writer. */
static bool run_long4(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	uint64_t bytes;

	if (!pickle_take_number(reader, opcode->bytes, &bytes))
		return false;
	if (bytes > INT32_MAX)
		return pickle_fail(reader, "an integer has a negative length");
	return pickle_take_chars(reader, bytes, false) &&
	       pickle_push(reader, pickle_make(PICKLE_HUGE, 0));
}

/* Big-endian. */
static bool run_float(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	const unsigned char *at = pickle_take(reader, opcode->bytes);
	struct pickle_value value;
	uint64_t bits = 0;
	double number;

	if (!at)
		return false;
	for (size_t i = 0; i < opcode->bytes; i++)
		bits = bits << 8 | at[i];
	memcpy(&number, &bits, sizeof(number));
	if (!pickle_make_float(reader->pickle, number, &value))
		return pickle_fail_memory(reader);
	return pickle_push(reader, value);
}

static bool run_text(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	struct pickle_value value;
	uint64_t bytes;

	if (!pickle_take_number(reader, opcode->bytes, &bytes) ||
	    !pickle_take_chars(reader, bytes, true))
		return false;
	if (!pickle_make_text(reader->pickle, (enum pickle_kind)opcode->kind, (size_t)bytes,
			      &value))
		return pickle_fail_memory(reader);
	return pickle_push(reader, value);
}

/* Protocol 0: the value is a line. */
static bool run_line(struct pickle_reader *reader,
		     bool (*read)(struct pickle_reader *, struct pickle_value *))
{
	struct pickle_value value;

	return pickle_take_line(reader) && read(reader, &value) && pickle_push(reader, value);
}

static bool run_line_int(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	(void)opcode;
	return run_line(reader, pickle_line_int);
}

static bool run_line_float(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	(void)opcode;
	return run_line(reader, pickle_line_float);
}

static bool run_line_string(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	(void)opcode;
	return run_line(reader, pickle_line_string);
}

static bool run_line_unicode(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	(void)opcode;
	return run_line(reader, pickle_line_unicode);
}

static const struct pickle_opcode opcodes[256] = {
	[0x80] = { "PROTO", run_proto, 1, 0 },
	[0x95] = { "FRAME", run_frame, 8, 0 },
	['.'] = { "STOP", run_stop, 0, 0 },

	['N'] = { "NONE", run_constant, 0, PICKLE_NONE },
	[0x88] = { "NEWTRUE", run_constant, 1, PICKLE_BOOL },
	[0x89] = { "NEWFALSE", run_constant, 0, PICKLE_BOOL },
	['K'] = { "BININT1", run_int, 1, PICKLE_INT },
	['M'] = { "BININT2", run_int, 2, PICKLE_INT },
	['J'] = { "BININT", run_int, 4, PICKLE_INT },
	[0x8a] = { "LONG1", run_long1, 1, PICKLE_INT },
	[0x8b] = { "LONG4", run_long4, 4, PICKLE_HUGE },
	['G'] = { "BINFLOAT", run_float, 8, PICKLE_FLOAT },
	[0x8c] = { "SHORT_BINUNICODE", run_text, 1, PICKLE_TEXT },
	['X'] = { "BINUNICODE", run_text, 4, PICKLE_TEXT },
	[0x8d] = { "BINUNICODE8", run_text, 8, PICKLE_TEXT },
	['U'] = { "SHORT_BINSTRING", run_text, 1, PICKLE_TEXT },
	['T'] = { "BINSTRING", run_text, 4, PICKLE_TEXT },
	['C'] = { "SHORT_BINBYTES", run_text, 1, PICKLE_BYTES },
	['B'] = { "BINBYTES", run_text, 4, PICKLE_BYTES },
	[0x8e] = { "BINBYTES8", run_text, 8, PICKLE_BYTES },
	[0x96] = { "BYTEARRAY8", run_text, 8, PICKLE_BYTES },

	['I'] = { "INT", run_line_int, 0, PICKLE_INT },
	['L'] = { "LONG", run_line_int, 0, PICKLE_INT },
	['F'] = { "FLOAT", run_line_float, 0, PICKLE_FLOAT },
	['S'] = { "STRING", run_line_string, 0, PICKLE_TEXT },
	['V'] = { "UNICODE", run_line_unicode, 0, PICKLE_TEXT },

	['('] = { "MARK", pickle_run_mark, 0, 0 },
	['0'] = { "POP", pickle_run_pop, 0, 0 },
	['1'] = { "POP_MARK", pickle_run_pop_mark, 0, 0 },
	['2'] = { "DUP", pickle_run_dup, 0, 0 },
	[']'] = { "EMPTY_LIST", pickle_run_gather, 0, PICKLE_LIST },
	[')'] = { "EMPTY_TUPLE", pickle_run_gather, 0, PICKLE_TUPLE },
	['}'] = { "EMPTY_DICT", pickle_run_gather, 0, PICKLE_DICT },
	[0x8f] = { "EMPTY_SET", pickle_run_gather, 0, PICKLE_SET },
	[0x85] = { "TUPLE1", pickle_run_gather, 1, PICKLE_TUPLE },
	[0x86] = { "TUPLE2", pickle_run_gather, 2, PICKLE_TUPLE },
	[0x87] = { "TUPLE3", pickle_run_gather, 3, PICKLE_TUPLE },
	['l'] = { "LIST", pickle_run_gather_marked, 0, PICKLE_LIST },
	['t'] = { "TUPLE", pickle_run_gather_marked, 0, PICKLE_TUPLE },
	['d'] = { "DICT", pickle_run_gather_marked, 0, PICKLE_DICT },
	[0x91] = { "FROZENSET", pickle_run_gather_marked, 0, PICKLE_SET },
	['a'] = { "APPEND", pickle_run_add, 1, PICKLE_LIST },
	['e'] = { "APPENDS", pickle_run_add_marked, 0, PICKLE_LIST },
	['s'] = { "SETITEM", pickle_run_add, 2, PICKLE_DICT },
	['u'] = { "SETITEMS", pickle_run_add_marked, 0, PICKLE_DICT },
	[0x90] = { "ADDITEMS", pickle_run_add_marked, 0, PICKLE_SET },

	[0x94] = { "MEMOIZE", pickle_run_memoize, 0, 0 },
	['q'] = { "BINPUT", pickle_run_put, 1, 0 },
	['r'] = { "LONG_BINPUT", pickle_run_put, 4, 0 },
	['p'] = { "PUT", pickle_run_put, 0, 0 },
	['h'] = { "BINGET", pickle_run_get, 1, 0 },
	['j'] = { "LONG_BINGET", pickle_run_get, 4, 0 },
	['g'] = { "GET", pickle_run_get, 0, 0 },

	['c'] = { "GLOBAL", pickle_run_global, 0, 0 },
	['i'] = { "INST", pickle_run_global, 0, 0 },
	[0x93] = { "STACK_GLOBAL", pickle_run_stack_global, 0, 0 },
	['R'] = { "REDUCE", pickle_run_call, 0, 0 },
	['b'] = { "BUILD", pickle_run_call, 0, 0 },
	['o'] = { "OBJ", pickle_run_call, 0, 0 },
	[0x81] = { "NEWOBJ", pickle_run_call, 0, 0 },
	[0x92] = { "NEWOBJ_EX", pickle_run_call, 0, 0 },
	[0x82] = { "EXT1", pickle_run_extension, 0, 0 },
	[0x83] = { "EXT2", pickle_run_extension, 0, 0 },
	[0x84] = { "EXT4", pickle_run_extension, 0, 0 },
	['P'] = { "PERSID", pickle_run_persistent, 0, 0 },
	['Q'] = { "BINPERSID", pickle_run_persistent, 0, 0 },
	[0x97] = { "NEXT_BUFFER", pickle_run_persistent, 0, 0 },
	[0x98] = { "READONLY_BUFFER", pickle_run_persistent, 0, 0 },
};

static bool run(struct pickle_reader *reader)
{
	while (!reader->ended) {
		const struct pickle_opcode *opcode;
		const unsigned char *at;

		reader->opcode_byte = reader->before + reader->at;
		at = pickle_take(reader, 1);
		if (!at)
			return false;
		opcode = &opcodes[*at];
		if (!opcode->name)
			return pickle_fail(reader, "unknown opcode 0x%02x", *at);
		if (!opcode->run(reader, opcode))
			return false;
	}
	reader->pickle->bytes = reader->before + reader->at;
	return true;
}

bool pickle_load(struct pickle *pickle,
		 enum mam_status (*read)(void *user, void *buffer, size_t bytes, size_t *got),
		 void *user)
{
	struct pickle_reader reader = { .pickle = pickle, .read = read, .user = user };
	bool good;

	*pickle = (struct pickle){ 0 };
	reader.window = malloc(PICKLE_WINDOW);
	good = reader.window ? run(&reader) : pickle_fail_memory(&reader);
	free(reader.window);
	free(reader.stack.at);
	free(reader.marks.at);
	free(reader.memo.at);
	free(reader.line.at);
	return good;
}
