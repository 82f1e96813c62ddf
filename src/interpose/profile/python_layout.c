/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_layout.c - see python_layout.h.
 */
#include "interpose/profile/python_layout.h"

#include <stddef.h>
#include <string.h>

#define OFFSET_MAX 4096 /* of a field in any structure; a larger value is not an offset */

/* The release level in a version: alpha and beta versions may have other structures. */
#define LEVEL 0xf0
#define LEVEL_CANDIDATE 0xc0

/* The words of the debuggers' table: a cookie, the version, whether the build has no lock. */
#define COOKIE "xdebugpy"
#define WORD_VERSION 1
#define WORD_FREE_THREADED 2

/* Fields of PyObject and PyVarObject, and of str up to 3.11 and since 3.12. */
#define OBJECTS                                                                             \
	.type = 8, .bytes_size = 16, .bytes_data = 32, .text_length = 16, .text_state = 32, \
	.kind_shift = 2
#define OLD_TEXT .text_ascii = 48, .text_wide = 72
#define NEW_TEXT .text_ascii = 40, .text_wide = 56

static const struct mam_python_layout constant[] = {
	{ .lines = MAM_PYTHON_LINES_3_9,
	  .finalizing = 16,
	  .interpreters = 32,
	  .thread_frame = 24,
	  .record_frame = MAM_PYTHON_ABSENT,
	  .thread_id = 176,
	  .previous = 24,
	  .code = 32,
	  .instruction = 104,
	  .owner = MAM_PYTHON_ABSENT,
	  .copy = MAM_PYTHON_ABSENT,
	  .file = 104,
	  .function = 112,
	  .first_line = 40,
	  .line_table = 120,
	  OBJECTS,
	  OLD_TEXT },
	{ .lines = MAM_PYTHON_LINES_3_10,
	  .finalizing = 16,
	  .interpreters = 32,
	  .thread_frame = 24,
	  .record_frame = MAM_PYTHON_ABSENT,
	  .thread_id = 176,
	  .previous = 24,
	  .code = 32,
	  .instruction = 96,
	  .owner = MAM_PYTHON_ABSENT,
	  .copy = MAM_PYTHON_ABSENT,
	  .file = 104,
	  .function = 112,
	  .first_line = 40,
	  .line_table = 120,
	  OBJECTS,
	  OLD_TEXT },
	{ .lines = MAM_PYTHON_LINES_3_11,
	  .finalizing = 24,
	  .interpreters = 40,
	  .thread_frame = 56,
	  .record_frame = 8,
	  .thread_id = 152,
	  .previous = 48,
	  .code = 32,
	  .instruction = 56,
	  .owner = MAM_PYTHON_ABSENT,
	  .copy = MAM_PYTHON_ABSENT,
	  .file = 112,
	  .function = 128,
	  .first_line = 72,
	  .line_table = 136,
	  .code_bytes = 184,
	  OBJECTS,
	  OLD_TEXT },
	{ .lines = MAM_PYTHON_LINES_3_11,
	  .finalizing = 24,
	  .interpreters = 40,
	  .thread_frame = 56,
	  .record_frame = 0,
	  .thread_id = 136,
	  .previous = 8,
	  .code = 0,
	  .instruction = 56,
	  .owner = 70,
	  .copy = MAM_PYTHON_ABSENT,
	  .file = 112,
	  .function = 128,
	  .first_line = 68,
	  .line_table = 136,
	  .code_bytes = 192,
	  OBJECTS,
	  NEW_TEXT },
};

/* For each version since 3.13, the words of the debuggers' table that contain the offsets. */
static const struct words {
	uint8_t frame, thread_id;
	uint8_t previous, code, instruction, owner, copy;
	uint8_t file, function, line_table, first_line, code_bytes, copies;
	uint8_t type, bytes_size, bytes_data, text_state, text_length, text_ascii;
} words[] = {
	{ .frame = 23,
	  .thread_id = 24,
	  .previous = 29,
	  .code = 30,
	  .instruction = 31,
	  .owner = 33,
	  .file = 35,
	  .function = 37,
	  .line_table = 38,
	  .first_line = 39,
	  .code_bytes = 43,
	  .type = 45,
	  .bytes_size = 65,
	  .bytes_data = 66,
	  .text_state = 68,
	  .text_length = 69,
	  .text_ascii = 70 },
	{ .frame = 26,
	  .thread_id = 27,
	  .previous = 32,
	  .code = 33,
	  .instruction = 34,
	  .owner = 36,
	  .copy = 38,
	  .file = 40,
	  .function = 42,
	  .line_table = 43,
	  .first_line = 44,
	  .code_bytes = 48,
	  .copies = 49,
	  .type = 51,
	  .bytes_size = 75,
	  .bytes_data = 76,
	  .text_state = 78,
	  .text_length = 79,
	  .text_ascii = 80 },
	{ .frame = 26,
	  .thread_id = 30,
	  .previous = 40,
	  .code = 41,
	  .instruction = 42,
	  .owner = 44,
	  .copy = 46,
	  .file = 48,
	  .function = 50,
	  .line_table = 51,
	  .first_line = 52,
	  .code_bytes = 56,
	  .copies = 57,
	  .type = 59,
	  .bytes_size = 87,
	  .bytes_data = 88,
	  .text_state = 90,
	  .text_length = 91,
	  .text_ascii = 92 },
};

#define FIRST_CONSTANT 9
#define FIRST_WORDS 13
#define CONSTANTS (sizeof(constant) / sizeof(constant[0]))
#define WORDS (sizeof(words) / sizeof(words[0]))

/* Copies one offset of the debuggers' table. */
static void read_offset(const uint64_t *table, uint8_t word, uint32_t *offset, bool *plausible)
{
	*offset = (uint32_t)table[word];
	*plausible = *plausible && table[word] < OFFSET_MAX;
}

static bool read_words(const uint64_t *table, const struct words *at,
		       struct mam_python_layout *layout)
{
	/* In 3.13, a free-threaded build has neither copies of the code nor another state of strings. */
	bool copies = table[WORD_FREE_THREADED] != 0 && at->copies != 0, plausible = true;

	*layout = (struct mam_python_layout){ .lines = MAM_PYTHON_LINES_3_11,
					      .record_frame = MAM_PYTHON_ABSENT,
					      .copy = MAM_PYTHON_ABSENT,
					      .kind_shift = copies ? 8 : 2 };
	read_offset(table, 4, &layout->finalizing, &plausible);
	read_offset(table, 5, &layout->interpreters, &plausible);
	read_offset(table, at->frame, &layout->thread_frame, &plausible);
	read_offset(table, at->thread_id, &layout->thread_id, &plausible);
	read_offset(table, at->previous, &layout->previous, &plausible);
	read_offset(table, at->code, &layout->code, &plausible);
	read_offset(table, at->instruction, &layout->instruction, &plausible);
	read_offset(table, at->owner, &layout->owner, &plausible);
	read_offset(table, at->file, &layout->file, &plausible);
	read_offset(table, at->function, &layout->function, &plausible);
	read_offset(table, at->line_table, &layout->line_table, &plausible);
	read_offset(table, at->first_line, &layout->first_line, &plausible);
	read_offset(table, at->code_bytes, &layout->code_bytes, &plausible);
	read_offset(table, at->type, &layout->type, &plausible);
	read_offset(table, at->bytes_size, &layout->bytes_size, &plausible);
	read_offset(table, at->bytes_data, &layout->bytes_data, &plausible);
	read_offset(table, at->text_state, &layout->text_state, &plausible);
	read_offset(table, at->text_length, &layout->text_length, &plausible);
	read_offset(table, at->text_ascii, &layout->text_ascii, &plausible);
	/* The header for other characters also has a length and a pointer. */
	layout->text_wide = layout->text_ascii + 16;
	if (copies) {
		read_offset(table, at->copy, &layout->copy, &plausible);
		read_offset(table, at->copies, &layout->code_copies, &plausible);
	}
	return plausible;
}

bool mam_python_layout(uint32_t version, const void *runtime, struct mam_python_layout *layout)
{
	const uint64_t *table = runtime;
	uint32_t minor = version >> 16 & 0xff;

	if (version >> 24 != 3 || (version & LEVEL) < LEVEL_CANDIDATE)
		return false;
	if (minor - FIRST_CONSTANT < CONSTANTS) {
		*layout = constant[minor - FIRST_CONSTANT];
		return true;
	}
	if (minor - FIRST_WORDS >= WORDS || memcmp(runtime, COOKIE, sizeof(table[0])) != 0 ||
	    table[WORD_VERSION] != version)
		return false;
	return read_words(table, &words[minor - FIRST_WORDS], layout);
}
