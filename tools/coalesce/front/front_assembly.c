/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_assembly.c - recognizes inline assembly that only sets its operands.
 *
 * 1. The strings after `asm (` are concatenated, up to the first ":". The statement is not
 *    recognized if it is in a macro, contains a comment, or contains an escape other than \n and
 *    \t.
 * 2. The text is split at ";" and at newlines. The first word of each piece, after an optional
 *    predicate, is looked up.
 * 3. All of them must be on the list of arithmetic and load instructions. No instruction on it
 *    branches, exits, waits or writes to memory.
 *
 * Source: PTX ISA 8.5, chapter 9. Bound: LONGEST characters; longer statements are not recognized.
 */
#include <string.h>

#include "coalesce/front/front.h"

#define LONGEST 2000

static const char plain[] =
	" abs activemask add addc and bfe bfi bfind brev clz cnot copysign cos"
	" cvt cvta div dp2a dp4a ex2 fma fns isspacep ld ldu lg2 lop3 mad mad24"
	" madc max min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad"
	" selp set setp shf shl shr sin slct sqrt sub subc szext tanh testp xor ";

/* Appends the text between the quotes. False: it is not a plain string, or does not fit. */
static bool append(char *all, size_t *bytes, const char *token, size_t length)
{
	size_t i;

	if (length < 2 || token[0] != '"' || token[length - 1] != '"')
		return false;
	for (i = 1; i + 1 < length; i++) {
		char c = token[i];

		if (c == '\\') {
			c = token[++i] == 'n' ? '\n' : token[i] == 't' ? '\t' : '\0';
			if (i + 1 >= length)
				return false;
		}
		if (c == '\0' || c == '/' || *bytes + 1 >= LONGEST)
			return false;
		all[(*bytes)++] = c;
	}
	return true;
}

static bool is_word(const struct front_text *text, size_t token, const char *const *words)
{
	for (; *words != NULL; words++)
		if (front_token_is(text, token, *words))
			return true;
	return false;
}

/* The strings of `asm volatile ("..." "..." :`; "": they cannot be determined. */
static void template_of(struct front *f, CXCursor cursor, char all[LONGEST])
{
	static const char *const words[] = { "asm", "__asm__", "__asm", NULL };
	static const char *const kept[] = { "volatile", "__volatile__", "__volatile", NULL };
	static const char *const ends[] = { ":", "::", ")", NULL };
	struct front_place begin = front_begin(cursor);
	const struct front_text *text = front_text(f, begin.file);
	size_t token = front_token(text, begin.offset), bytes = 0;

	all[0] = '\0';
	if (token == FRONT_NOWHERE || !is_word(text, token++, words))
		return;
	token += is_word(text, token, kept);
	if (!front_token_is(text, token++, "("))
		return;
	for (; token < text->count && !is_word(text, token, ends); token++) {
		const struct front_token *at = &text->tokens[token];
		CXSourceLocation place = clang_getLocationForOffset(f->unit, begin.file, at->begin);

		if (front_in_macro(f, place) ||
		    !append(all, &bytes, text->text + at->begin, at->end - at->begin)) {
			all[0] = '\0';
			return;
		}
	}
	all[bytes] = '\0';
}

/* One instruction. */
static bool is_plain(const char *piece, size_t length)
{
	static const char blanks[] = " \t{}";
	char word[16];
	size_t i = 0, bytes = 1;

	while (i < length && strchr(blanks, piece[i]))
		i++;
	if (i == length || (length - i > 4 && memcmp(piece + i, ".reg", 4) == 0))
		return true;
	if (piece[i] == '@') {
		while (i < length && !strchr(blanks, piece[i]))
			i++;
		while (i < length && strchr(blanks, piece[i]))
			i++;
	}
	word[0] = ' ';
	for (; i < length && piece[i] != '.' && !strchr(blanks, piece[i]); i++) {
		if (bytes + 3 > sizeof(word))
			return false;
		word[bytes++] = piece[i];
	}
	word[bytes++] = ' ';
	word[bytes] = '\0';
	/* Nor a label before another one. */
	return bytes > 2 && strstr(plain, word) != NULL && memchr(piece, ':', length) == NULL;
}

bool front_only_values(struct front *f, CXCursor cursor)
{
	char all[LONGEST];
	const char *piece = all;

	template_of(f, cursor, all);
	if (all[0] == '\0')
		return false;
	for (;;) {
		size_t length = strcspn(piece, ";\n");

		if (!is_plain(piece, length))
			return false;
		if (piece[length] == '\0')
			return true;
		piece += length + 1;
	}
}
