/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_refuse.c - opcodes that request more than data: to look up a name in a module, to call a
 * function, or to create an object. Each fails with a message that describes the request. No
 * function here looks up, calls or creates anything.
 */
#include <string.h>

#include "read/pickle_parts.h"

#define NAME_COLUMNS 60 /* limit for a name in a message */

/* Read the next line, truncated to fit into a message. */
static bool take_name(struct pickle_reader *reader, char *name)
{
	size_t bytes;

	if (!pickle_take_line(reader))
		return false;
	bytes = reader->line.count < NAME_COLUMNS ? reader->line.count : NAME_COLUMNS;
	memcpy(name, reader->line.at, bytes);
	name[bytes] = '\0';
	return true;
}

static bool refuse(struct pickle_reader *reader, const struct pickle_opcode *opcode,
		   const char *asks, const char *first, const char *second)
{
	return pickle_fail(reader, "refused: opcode %s requests %s%s%s%s", opcode->name, asks,
			   first, *second ? "." : "", second);
}

bool pickle_run_global(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	char module[NAME_COLUMNS + 1], name[NAME_COLUMNS + 1];

	if (!take_name(reader, module) || !take_name(reader, name))
		return false;
	return refuse(reader, opcode, "a call of ", module, name);
}

/* Copy the text `depth` below the top of the stack, truncated to fit into a message. */
static void stack_name(struct pickle_reader *reader, size_t depth, char *name)
{
	const char *text;
	size_t bytes;

	strcpy(name, "something");
	if (reader->stack.count <= depth ||
	    !pickle_text(reader->pickle, *pickle_peek(reader, depth), &text, &bytes))
		return;
	if (bytes > NAME_COLUMNS)
		bytes = NAME_COLUMNS;
	memcpy(name, text, bytes);
	name[bytes] = '\0';
}

bool pickle_run_stack_global(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	char module[NAME_COLUMNS + 1], name[NAME_COLUMNS + 1];

	stack_name(reader, 1, module);
	stack_name(reader, 0, name);
	return refuse(reader, opcode, "a call of ", module, name);
}

bool pickle_run_call(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	return refuse(reader, opcode, "a call or an object", "", "");
}

bool pickle_run_extension(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	return refuse(reader, opcode, "a registered function", "", "");
}

bool pickle_run_persistent(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	return refuse(reader, opcode, "data from outside the file", "", "");
}
