/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_line.c - see python_line.h.
 *
 * All formats list ranges of instructions in ascending order with the difference of their lines.
 *   3.9    pairs: instruction bytes until the change, signed difference of the line
 *   3.10   pairs: instruction bytes of the range, signed difference; -128: no line
 *   3.11   entries of a head and of further bytes, whose top bit is 0. The head has the top bit,
 *          four bits that specify which form the entry has, and three for the range's code units - 1.
 * Source: lnotab_notes.txt and locations.md in CPython's folder Objects.
 * Bound: one pass over the table, which may have any contents.
 */
#include "interpose/profile/python_line.h"

#include <stdbool.h>

#define NO_LINE 0x80     /* 3.10 */
#define UNIT_BYTES 2     /* a code unit of 3.11 */
#define FORM_ONE_LINE 10 /* 10 to 12: the difference is the form - 10, columns follow */
#define FORM_NO_COLUMNS 13
#define FORM_LONG 14
#define FORM_NONE 15

/* Signed; a difference below 0 wraps around, as does the sum of line and difference. */
static uint32_t difference(uint8_t byte)
{
	return byte < 0x80 ? byte : byte - 0x100u;
}

static uint32_t line_3_9(const uint8_t *table, size_t bytes, uint32_t line, uint32_t instruction)
{
	uint32_t end = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		end += table[i];
		if (end > instruction)
			break;
		line += difference(table[i + 1]);
	}
	return line;
}

static uint32_t line_3_10(const uint8_t *table, size_t bytes, uint32_t line, uint32_t instruction)
{
	uint32_t end = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		bool none = table[i + 1] == NO_LINE;

		if (!none)
			line += difference(table[i + 1]);
		end += table[i];
		if (end > instruction)
			return none ? 0 : line;
	}
	return 0;
}

/* Six bits per byte, the lowest first; bit 6: more follow. The lowest bit of the value is the sign. */
static uint32_t read_signed(const uint8_t *at, const uint8_t *end)
{
	uint32_t value = 0;
	bool more = true;

	for (unsigned int shift = 0; more && shift < 32 && at < end; shift += 6, at++) {
		value |= (uint32_t)(*at & 0x3f) << shift;
		more = (*at & 0x40) != 0;
	}
	return value & 1 ? -(value >> 1) : value >> 1;
}

static uint32_t line_3_11(const uint8_t *table, size_t bytes, uint32_t line, uint32_t instruction)
{
	const uint8_t *at = table, *end = table + bytes;
	uint32_t range_end = 0;

	while (at < end) {
		uint8_t head = *at++, form = head >> 3 & 0xf;

		if (form == FORM_NO_COLUMNS || form == FORM_LONG)
			line += read_signed(at, end);
		else if (form >= FORM_ONE_LINE && form < FORM_NO_COLUMNS)
			line += form - FORM_ONE_LINE;
		range_end += ((head & 7u) + 1) * UNIT_BYTES;
		if (range_end > instruction)
			return form == FORM_NONE ? 0 : line;
		while (at < end && *at < 0x80)
			at++;
	}
	return 0;
}

uint32_t mam_python_line(enum mam_python_lines format, const uint8_t *table, size_t bytes,
			 uint32_t first, uint32_t instruction)
{
	switch (format) {
	case MAM_PYTHON_LINES_3_9: return line_3_9(table, bytes, first, instruction);
	case MAM_PYTHON_LINES_3_10: return line_3_10(table, bytes, first, instruction);
	case MAM_PYTHON_LINES_3_11: break;
	}
	return line_3_11(table, bytes, first, instruction);
}
