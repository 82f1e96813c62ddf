/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_stack.c - the stack of a pickle's opcodes, its marks, and the memo.
 *
 * No opcode reaches below the last mark. An index of the memo has to be less than the number of
 * bytes read, because storing each entry took at least a byte: so the size of the memo is bounded
 * by that of the file, whatever indices it contains.
 */
#include <string.h>

#include "read/pickle_parts.h"

bool pickle_push(struct pickle_reader *reader, struct pickle_value value)
{
	struct pickle_array *stack = &reader->stack;

	if (!pickle_more(stack, sizeof(value), 1))
		return pickle_fail_memory(reader);
	((struct pickle_value *)stack->at)[stack->count++] = value;
	return true;
}

/* The number of values above the last mark. */
static size_t above_mark(const struct pickle_reader *reader)
{
	size_t marks = reader->marks.count;

	return reader->stack.count - (marks ? ((size_t *)reader->marks.at)[marks - 1] : 0);
}

bool pickle_need(struct pickle_reader *reader, size_t count)
{
	return above_mark(reader) >= count || pickle_fail(reader, "the stack has too few values");
}

struct pickle_value *pickle_peek(const struct pickle_reader *reader, size_t depth)
{
	return (struct pickle_value *)reader->stack.at + reader->stack.count - 1 - depth;
}

bool pickle_run_mark(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	struct pickle_array *marks = &reader->marks;

	(void)opcode;
	if (!pickle_more(marks, sizeof(size_t), 1))
		return pickle_fail_memory(reader);
	((size_t *)marks->at)[marks->count++] = reader->stack.count;
	return true;
}

/* Remove the last mark; *count is the number of values above it, which remain. */
static bool take_mark(struct pickle_reader *reader, size_t *count)
{
	if (reader->marks.count == 0)
		return pickle_fail(reader, "the stack has no mark");
	*count = above_mark(reader);
	reader->marks.count--;
	return true;
}

bool pickle_run_pop_mark(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	size_t count = 0;

	(void)opcode;
	if (!take_mark(reader, &count))
		return false;
	reader->stack.count -= count;
	return true;
}

bool pickle_run_pop(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	if (reader->marks.count && above_mark(reader) == 0)
		return pickle_run_pop_mark(reader, opcode);
	if (!pickle_need(reader, 1))
		return false;
	reader->stack.count--;
	return true;
}

bool pickle_run_dup(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	(void)opcode;
	return pickle_need(reader, 1) && pickle_push(reader, *pickle_peek(reader, 0));
}

static bool are_pairs(struct pickle_reader *reader, const struct pickle_opcode *opcode,
		      size_t count)
{
	return opcode->kind != PICKLE_DICT || count % 2 == 0 ||
	       pickle_fail(reader, "a key of a dictionary has no value");
}

/* Replace the `count` values on top by one list, tuple, set or dictionary of them. */
static bool gather(struct pickle_reader *reader, const struct pickle_opcode *opcode, size_t count)
{
	struct pickle_value box;

	if (!are_pairs(reader, opcode, count))
		return false;
	if (!pickle_make_box(reader->pickle, (enum pickle_kind)opcode->kind, &box) ||
	    (count &&
	     !pickle_add_items(reader->pickle, box, pickle_peek(reader, count - 1), count)))
		return pickle_fail_memory(reader);
	reader->stack.count -= count;
	return pickle_push(reader, box);
}

bool pickle_run_gather(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	return pickle_need(reader, opcode->bytes) && gather(reader, opcode, opcode->bytes);
}

bool pickle_run_gather_marked(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	size_t count = 0;

	return take_mark(reader, &count) && gather(reader, opcode, count);
}

/* Append the `count` values on top to the list or dictionary below them. */
static bool add(struct pickle_reader *reader, const struct pickle_opcode *opcode, size_t count)
{
	if (!pickle_need(reader, count + 1) || !are_pairs(reader, opcode, count))
		return false;
	if (pickle_kind(*pickle_peek(reader, count)) != (enum pickle_kind)opcode->kind)
		return pickle_fail(reader, "the value to add to has another type");
	if (count && !pickle_add_items(reader->pickle, *pickle_peek(reader, count),
				       pickle_peek(reader, count - 1), count))
		return pickle_fail_memory(reader);
	reader->stack.count -= count;
	return true;
}

bool pickle_run_add(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	return add(reader, opcode, opcode->bytes);
}

bool pickle_run_add_marked(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	size_t count = 0;

	return take_mark(reader, &count) && add(reader, opcode, count);
}

/* Store the value on top in the memo at index `number`. */
static bool put(struct pickle_reader *reader, uint64_t number)
{
	struct pickle_array *memo = &reader->memo;
	struct pickle_value *all;

	if (!pickle_need(reader, 1))
		return false;
	if (number >= reader->before + reader->at)
		return pickle_fail(reader, "memo index %llu exceeds the number of bytes so far",
				   (unsigned long long)number);
	if (number >= memo->count) {
		size_t more = (size_t)number + 1 - memo->count;

		if (!pickle_more(memo, sizeof(*all), more))
			return pickle_fail_memory(reader);
		memset((struct pickle_value *)memo->at + memo->count, 0, more * sizeof(*all));
		memo->count += more;
	}
	all = memo->at;
	reader->memo_used += pickle_kind(all[number]) == PICKLE_NOTHING;
	all[number] = *pickle_peek(reader, 0);
	return true;
}

bool pickle_run_memoize(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	(void)opcode;
	return put(reader, reader->memo_used);
}

static bool take_place(struct pickle_reader *reader, const struct pickle_opcode *opcode,
		       uint64_t *number)
{
	if (opcode->bytes)
		return pickle_take_number(reader, opcode->bytes, number);
	return pickle_take_line(reader) && pickle_line_number(reader, number);
}

bool pickle_run_put(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	uint64_t number;

	return take_place(reader, opcode, &number) && put(reader, number);
}

bool pickle_run_get(struct pickle_reader *reader, const struct pickle_opcode *opcode)
{
	const struct pickle_value *all = reader->memo.at;
	uint64_t number;

	if (!take_place(reader, opcode, &number))
		return false;
	if (number >= reader->memo.count || pickle_kind(all[number]) == PICKLE_NOTHING)
		return pickle_fail(reader, "memo index %llu is unused", (unsigned long long)number);
	return pickle_push(reader, all[number]);
}
