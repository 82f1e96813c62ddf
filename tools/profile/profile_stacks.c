/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_stacks.c - read the frames that comments define.
 */
#include "profile/profile_stacks.h"

#include <stdlib.h>
#include <string.h>

#include <mam/trace.h>

#include "kit/percent.h"
#include "kit/widen.h"
#include "symbols/symbols.h"

#define WORDS_MAX 7

struct word {
	const char *at;
	size_t bytes;
};

void profile_stacks_init(struct profile_stacks *stacks, struct profile_tree *tree)
{
	*stacks = (struct profile_stacks){ .tree = tree };
}

void profile_stacks_fini(struct profile_stacks *stacks)
{
	symbols_destroy(stacks->symbols);
	free(stacks->stacks);
	free(stacks->modules);
	free(stacks->frames);
	free(stacks->walk);
	idtable_fini(&stacks->stack_ids);
	idtable_fini(&stacks->module_ids);
	idtable_fini(&stacks->nodes);
}

/* Split a text at single blanks. Returns the number of words; WORDS_MAX: or more. */
static size_t split(const char *text, size_t bytes, struct word words[WORDS_MAX])
{
	const char *end = text + bytes;
	size_t count = 0;

	while (count < WORDS_MAX) {
		const char *blank = memchr(text, ' ', (size_t)(end - text));

		words[count].at = text;
		words[count++].bytes = (size_t)((blank ? blank : end) - text);
		if (!blank)
			break;
		text = blank + 1;
	}
	return count;
}

static bool is(struct word word, const char *text)
{
	return word.bytes == strlen(text) && memcmp(word.at, text, word.bytes) == 0;
}

static bool read_number(struct word word, uint64_t *number)
{
	*number = 0;
	for (size_t i = 0; i < word.bytes; i++) {
		uint64_t digit = (uint64_t)(unsigned char)word.at[i] - '0';

		if (digit > 9 || *number > (UINT64_MAX - digit) / 10)
			return false;
		*number = *number * 10 + digit;
	}
	return word.bytes > 0;
}

/* 0x and up to 16 hexadecimal digits. */
static bool read_address(struct word word, uint64_t *address)
{
	*address = 0;
	if (word.bytes < 3 || word.bytes > 18 || memcmp(word.at, "0x", 2) != 0)
		return false;
	for (size_t i = 2; i < word.bytes; i++) {
		int digit = percent_digit(word.at[i]);

		if (digit < 0)
			return false;
		*address = *address << 4 | (uint64_t)digit;
	}
	return true;
}

/* The name of a word, with %XX decoded. False: out of memory. */
static bool read_name(struct profile_stacks *stacks, struct word word, uint32_t *name)
{
	char text[MAM_TRACE_LINE_BYTES];

	*name = profile_tree_name(stacks->tree, text, percent_decode(word.at, word.bytes, text));
	return *name != PROFILE_NONE;
}

enum taken { GOOD, INVALID, NO_MEMORY };

/* #module N PATH BUILDID */
static enum taken take_module(struct profile_stacks *stacks, const struct word *words, size_t count)
{
	struct profile_module module;
	uint64_t number;
	uint32_t *at;

	if (count != 4 || !read_number(words[1], &number))
		return INVALID;
	if (!read_name(stacks, words[2], &module.path) ||
	    !read_name(stacks, words[3], &module.build_id) ||
	    !widen_32(&stacks->modules, stacks->module_count, &stacks->module_room,
		      sizeof(*stacks->modules)))
		return NO_MEMORY;
	at = idtable_at(&stacks->module_ids, number);
	if (!at)
		return NO_MEMORY;
	if (*at != IDTABLE_NONE)
		return INVALID;
	*at = stacks->module_count;
	stacks->modules[stacks->module_count++] = module;
	return GOOD;
}

/* Add a frame, unless the number is used. */
static enum taken add(struct profile_stacks *stacks, uint64_t number,
		      const struct profile_stack *stack)
{
	uint32_t *at;

	if (!widen_32(&stacks->stacks, stacks->stack_count, &stacks->stack_room,
		      sizeof(*stacks->stacks)))
		return NO_MEMORY;
	at = idtable_at(&stacks->stack_ids, number);
	if (!at)
		return NO_MEMORY;
	if (*at != IDTABLE_NONE)
		return INVALID;
	*at = stacks->stack_count;
	stacks->stacks[stacks->stack_count++] = *stack;
	return GOOD;
}

/*
 * #frame N PARENT native MODULE 0xOFFSET
 * #frame N PARENT address 0xADDRESS
 * #frame N PARENT python LINE FILE FUNCTION
 */
static enum taken take_frame(struct profile_stacks *stacks, const struct word *words, size_t count)
{
	struct profile_stack stack = { .kind = STACK_NATIVE };
	uint64_t number, line;

	if (count < 5 || !read_number(words[1], &number) || number == 0 ||
	    !read_number(words[2], &stack.parent))
		return INVALID;
	if (is(words[3], "native") && count == 6) {
		if (!read_number(words[4], &stack.module) || !read_address(words[5], &stack.offset))
			return INVALID;
	} else if (is(words[3], "address") && count == 5) {
		stack.kind = STACK_ADDRESS;
		if (!read_address(words[4], &stack.offset))
			return INVALID;
	} else if (is(words[3], "python") && count == 7) {
		stack.kind = STACK_PYTHON;
		if (!read_number(words[4], &line) || line > UINT32_MAX ||
		    memchr(words[6].at, ' ', words[6].bytes))
			return INVALID;
		stack.line = (uint32_t)line;
		if (!read_name(stacks, words[5], &stack.file) ||
		    !read_name(stacks, words[6], &stack.function))
			return NO_MEMORY;
	} else {
		return INVALID;
	}
	return add(stacks, number, &stack);
}

static enum taken take_sampled(struct profile_stacks *stacks, const struct word *words,
			       size_t count)
{
	uint64_t bytes;

	if (count != 2 || !read_number(words[1], &bytes) || bytes == 0)
		return INVALID;
	stacks->sample_rate = (double)bytes;
	return GOOD;
}

/* #perf-map PATH; the path is where programs write such maps, and nowhere else. */
static enum taken take_perf_map(struct profile_stacks *stacks, const struct word *words,
				size_t count)
{
	static const char start[] = "/tmp/perf-";
	const size_t bytes = sizeof(start) - 1;
	const char *path;
	uint32_t name;

	if (count != 2)
		return INVALID;
	if (!read_name(stacks, words[1], &name))
		return NO_MEMORY;
	path = stacks->tree->names.texts[name]; /* decoded: a slash may have been written as %2F */
	if (strncmp(path, start, bytes) != 0 || strchr(path + bytes, '/'))
		return INVALID;
	stacks->perf_map = name;
	return GOOD;
}

bool profile_stacks_comment(struct profile_stacks *stacks, const char *text, size_t bytes)
{
	struct word words[WORDS_MAX];
	enum taken taken = GOOD;
	size_t count;

	if (bytes < 8 || (memcmp(text, "#frame ", 7) != 0 && memcmp(text, "#module ", 8) != 0 &&
			  memcmp(text, "#sampled", 8) != 0 && memcmp(text, "#perf-map", 8) != 0))
		return true;
	count = split(text, bytes, words);
	if (is(words[0], "#frame"))
		taken = take_frame(stacks, words, count);
	else if (is(words[0], "#module"))
		taken = take_module(stacks, words, count);
	else if (is(words[0], "#sampled"))
		taken = take_sampled(stacks, words, count);
	else if (is(words[0], "#perf-map"))
		taken = take_perf_map(stacks, words, count);
	stacks->invalid += taken == INVALID;
	return taken != NO_MEMORY;
}

static bool ends(const struct replay_frame *frame, const char *end)
{
	size_t bytes = strlen(end);

	return frame->file_bytes >= bytes &&
	       memcmp(frame->file + frame->file_bytes - bytes, end, bytes) == 0;
}

static bool is_python(const struct replay_frame *frame)
{
	return ends(frame, ".py") || (frame->file_bytes && frame->file[0] == '<');
}

/* A frame of a snapshot. */
static uint32_t frame_of(struct profile_stacks *stacks, const struct replay_frame *from)
{
	struct profile_frame frame = { .kind = is_python(from) ? PROFILE_PYTHON : PROFILE_NATIVE };

	if (from->line <= UINT32_MAX)
		frame.line = (uint32_t)from->line;
	frame.function = profile_tree_name(stacks->tree, from->function, from->function_bytes);
	frame.file = profile_tree_name(stacks->tree, from->file, from->file_bytes);
	if (frame.function == PROFILE_NONE || frame.file == PROFILE_NONE)
		return PROFILE_NONE;
	if (frame.function == 0 && frame.file == 0)
		return profile_tree_unknown(stacks->tree, "(unknown function)");
	return profile_tree_frame(stacks->tree, &frame);
}

bool profile_stacks_add(struct profile_stacks *stacks, uint64_t number,
			const struct replay_frame *frames, size_t count)
{
	struct profile_stack stack = { .kind = STACK_NODE };
	uint32_t node = 0, depth = 0;

	for (size_t i = count; i-- > 0 && node != PROFILE_NONE;) {
		if (depth++ == PROFILE_DEPTH_MAX) {
			node = profile_tree_child(
				stacks->tree, node,
				profile_tree_deeper(stacks->tree, is_python(&frames[i])));
			break;
		}
		node = profile_tree_child(stacks->tree, node, frame_of(stacks, &frames[i]));
	}
	if (node == 0)
		node = profile_tree_child(stacks->tree, 0,
					  profile_tree_unknown(stacks->tree, "(unknown stack)"));
	stack.line = node;
	return node != PROFILE_NONE && add(stacks, number, &stack) != NO_MEMORY;
}
