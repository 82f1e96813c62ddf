/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_memory.c - new and delete.
 *
 * libclang lists the operands of a new expression without their roles: placement arguments, number
 * of elements, initial values, in this order. So the text is checked: parentheses directly after
 * `new` contain placement arguments, unless no type follows. The first "[" after that contains the
 * number of elements. If a macro makes this ambiguous, the result and the effects are unknown.
 *
 * new (std::nothrow) T is treated as new T. Any other placement new uses existing memory, so it is
 * only its arguments. Initial values of many elements are evaluated once per element, so only some
 * threads may call the functions that construct them.
 */
#include <string.h>

#include "coalesce/front/front.h"

#define ALIGNMENT_MAX 16 /* of types that use operator new(size_t) */

struct parts {
	size_t placed; /* number of placement arguments */
	bool array;
	bool clear;     /* the roles are known */
	size_t bracket; /* the "[" */
	const struct front_text *text;
	struct front_place begin; /* libclang may not know its place; with `end` */
	unsigned int end;
};

static bool is_word(const struct front_text *text, size_t token)
{
	char c = text != NULL && token < text->count ? text->text[text->tokens[token].begin] : ' ';

	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

/* From the token after the begin of a type to its "[", skipping "<>" and "()". */
static size_t find_bracket(const struct front_text *text, size_t token, size_t end)
{
	size_t angles = 0;

	for (; text != NULL && token < end && token < text->count; token++) {
		if (front_token_is(text, token, "<"))
			angles++;
		else if (front_token_is(text, token, ">") && angles > 0)
			angles--;
		else if (front_token_is(text, token, ">>"))
			angles -= angles > 1 ? 2 : angles;
		else if (front_token_is(text, token, "[") && angles == 0)
			return token;
		else if (angles == 0 &&
			 (front_token_is(text, token, "(") || front_token_is(text, token, "{") ||
			  front_token_is(text, token, ";") || front_token_is(text, token, ",") ||
			  front_token_is(text, token, ")")))
			break;
	}
	return FRONT_NOWHERE;
}

/* libclang does not know the place of `new struct T`: it precedes the first of its parts. */
static bool find_place(struct front *f, CXCursor cursor, struct front_place *begin,
		       unsigned int *end)
{
	struct front_kids kids = front_kids(f, cursor);
	const struct front_text *text;
	size_t i, token;

	begin->file = NULL;
	*end = 0;
	for (i = 0; i < kids.count; i++) {
		struct front_place at = front_begin(front_kid(f, kids, i));
		struct front_place last = front_end(front_kid(f, kids, i));

		if (at.file == NULL || last.file == NULL)
			continue;
		if (begin->file == NULL || at.offset < begin->offset)
			*begin = at;
		if (last.offset > *end)
			*end = last.offset;
	}
	front_kids_drop(f, kids);
	text = front_text(f, begin->file);
	token = text ? front_token(text, begin->offset) : FRONT_NOWHERE;
	if (token == FRONT_NOWHERE || token == 0 || !front_token_is(text, token - 1, "new"))
		return false;
	begin->offset = text->tokens[token - 1].begin;
	token = front_token_from(text, *end);
	if (front_token_is(text, token, "(") || front_token_is(text, token, "{")) {
		token = front_token_closes(text, token);
		if (token == FRONT_NOWHERE)
			return false;
		*end = text->tokens[token].end;
	}
	return true;
}

static struct parts look(struct front *f, CXCursor cursor, struct front_kids kids)
{
	struct front_place begin = front_begin(cursor);
	struct parts parts = { .bracket = FRONT_NOWHERE, .text = front_text(f, begin.file) };
	size_t token = front_token(parts.text, begin.offset), closes, i;
	CXCursor first;
	bool macro = front_begins_in_macro(f, cursor);

	if (begin.file == NULL && find_place(f, cursor, &begin, &parts.end)) {
		CXSourceLocation at = clang_getLocationForOffset(f->unit, begin.file, begin.offset);

		parts.text = front_text(f, begin.file);
		token = front_token(parts.text, begin.offset);
		parts.begin = begin;
		macro = front_in_macro(f, at);
	}
	if (token == FRONT_NOWHERE)
		return parts;
	if (front_token_is(parts.text, token, "::"))
		token++;
	if (!front_token_is(parts.text, token, "new"))
		return parts;
	token++;
	if (front_token_is(parts.text, token, "(")) {
		closes = front_token_closes(parts.text, token);
		if (macro || closes == FRONT_NOWHERE)
			return parts;
		if (is_word(parts.text, closes + 1)) {
			for (i = 0; i < kids.count; i++) {
				struct front_place at = front_expanded(clang_getRangeStart(
					clang_getCursorExtent(front_kid(f, kids, i))));

				if (at.file != NULL &&
				    at.offset > parts.text->tokens[token].begin &&
				    at.offset < parts.text->tokens[closes].begin)
					parts.placed++;
			}
			token = closes + 1;
		} else if (front_token_is(parts.text, closes + 1, "(")) {
			return parts; /* a type in parentheses, or placement: ambiguous */
		} else {
			token++; /* new (int[n]) */
		}
	}
	parts.bracket = find_bracket(parts.text, token, FRONT_NOWHERE);
	first = front_kid(f, kids, parts.placed);
	parts.array = parts.bracket != FRONT_NOWHERE;
	/* The name of an array type: the operand for its size has the name's place. */
	if (!parts.array && kids.count > parts.placed && token < parts.text->count &&
	    clang_getCanonicalType(clang_getCursorType(first)).kind == CXType_ULong &&
	    front_expanded(clang_getRangeStart(clang_getCursorExtent(first))).offset ==
		    parts.text->tokens[token].begin) {
		parts.array = true;
		parts.bracket = token - 1;
	}
	/* The type may be in a macro, or be a parameter of one, and be an array. */
	parts.clear = parts.array || kids.count == parts.placed ||
		      (!macro && !front_begins_in_macro(f, first)) ||
		      clang_getCanonicalType(clang_getCursorType(first)).kind != CXType_ULong;
	return parts;
}

/* The number of elements is in the first "[": other operands may belong to the type. */
static size_t find_count(struct front *f, struct front_kids kids, const struct parts *parts)
{
	size_t i;

	for (i = parts->placed; i < kids.count; i++) {
		struct front_place at = front_expanded(
			clang_getRangeStart(clang_getCursorExtent(front_kid(f, kids, i))));
		size_t token = at.file != NULL && clang_File_isEqual(at.file, parts->text->file)
				       ? front_token(parts->text, at.offset)
				       : FRONT_NOWHERE;

		if (token != FRONT_NOWHERE && token == parts->bracket + 1)
			return i;
	}
	return FRONT_NOWHERE;
}

static bool has_call(const struct co_node *node)
{
	const struct co_node *child;

	if (node->kind == CO_CALL || node->kind == CO_UNKNOWN || node->kind == CO_NEW)
		return true;
	for (child = node->first; child != NULL; child = child->next)
		if (has_call(child))
			return true;
	return false;
}

/* Evaluated once per element. */
static struct co_node *by_some(struct front *f, CXCursor cursor, struct co_node *node)
{
	struct co_node *lazy;

	if (f->failed || !has_call(node))
		return node;
	lazy = front_wrap(f, CO_LAZY, cursor, front_node(f, CO_UNKNOWN, cursor));
	front_add(f, lazy, node);
	return lazy;
}

static bool is_nothrow(CXCursor cursor)
{
	CXCursor bare = front_strip(cursor);

	return bare.kind == CXCursor_DeclRefExpr && front_is(bare, "nothrow");
}

/* In template instances libclang ends the expression before its "[". */
static void mend_place(struct front *f, struct co_node *node, const struct parts *parts)
{
	size_t closes;

	if (parts->begin.file != NULL && clang_File_isEqual(parts->begin.file, f->file)) {
		CXSourceLocation at =
			clang_getLocationForOffset(f->unit, f->file, parts->begin.offset);

		node->in_file = true;
		node->begin = parts->begin.offset;
		node->end = parts->end;
		node->line = front_expanded(at).line;
		node->macro = f->elsewhere > 0 || front_in_macro(f, at);
	}
	if (!node->in_file || node->macro || parts->bracket == FRONT_NOWHERE)
		return;
	closes = front_token_closes(parts->text, parts->bracket);
	if (closes == FRONT_NOWHERE)
		node->macro = true;
	else if (node->end < parts->text->tokens[closes].end)
		node->end = parts->text->tokens[closes].end;
}

/* A constructor leaves its results in this memory. */
static struct co_node *initial(struct front *f, CXCursor cursor)
{
	CXCursor bare = front_strip(cursor);

	return bare.kind == CXCursor_CallExpr &&
			       clang_getCursorReferenced(bare).kind == CXCursor_Constructor
		       ? front_construct(f, bare, CO_NONE)
		       : front_expression(f, cursor);
}

/* True for an operator of its class, or the toolkit's for over-aligned types: collective.cuh. */
static bool has_own_new(struct front *f, CXType type)
{
	return (front_is_record(type) && (front_record(f, type) & FRONT_NEWS)) ||
	       clang_Type_getAlignOf(type) > ALIGNMENT_MAX;
}

struct co_node *front_new(struct front *f, CXCursor cursor)
{
	CXType type = clang_getPointeeType(clang_getCanonicalType(clang_getCursorType(cursor)));
	struct front_kids kids = front_parts(f, cursor);
	struct parts parts = look(f, cursor, kids);
	struct co_node *node;
	long long bytes = clang_Type_getSizeOf(type);
	bool own = has_own_new(f, type);
	size_t i, at;

	/* A new of its own may do anything; so may that of an unknown type. */
	if (!parts.clear || own || front_is_dependent(type)) {
		front_kids_drop(f, kids);
		f->loose_operators |= front_is_dependent(type);
		node = front_unknown(f, cursor);
		node->own = own;
		return node;
	}
	if (parts.placed > 0 && !(parts.placed == 1 && is_nothrow(front_kid(f, kids, 0)))) {
		node = front_node(f, CO_MIX, cursor);
		for (i = 0; i < kids.count; i++)
			front_add(f, node,
				  parts.array
					  ? by_some(f, cursor, initial(f, front_kid(f, kids, i)))
					  : initial(f, front_kid(f, kids, i)));
		front_kids_drop(f, kids);
		return node;
	}
	node = front_node(f, CO_NEW, cursor);
	node->array = parts.array;
	node->bytes = bytes > 0 ? (uint64_t)bytes : 0;
	mend_place(f, node, &parts);
	at = parts.array ? find_count(f, kids, &parts) : FRONT_NOWHERE;
	if (!parts.array)
		front_add(f, node, front_nothing(f, cursor));
	else if (at != FRONT_NOWHERE)
		front_add(f, node, front_expression(f, front_kid(f, kids, at)));
	else
		front_add(f, node, front_node(f, CO_UNKNOWN, cursor));
	for (i = parts.placed; i < kids.count && !f->failed; i++) {
		struct co_node *value;

		if (parts.array && i == at)
			continue;
		value = initial(f, front_kid(f, kids, i));
		front_add(f, node, parts.array ? by_some(f, cursor, value) : value);
	}
	front_kids_drop(f, kids);
	return node;
}

struct co_node *front_new_alone(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	struct parts parts = look(f, cursor, kids);
	bool placed = parts.placed > 0 && !(parts.placed == 1 && is_nothrow(front_kid(f, kids, 0)));
	struct co_node *node;

	front_kids_drop(f, kids);
	if (placed)
		return NULL;
	node = front_node(f, CO_NEW, cursor);
	node->array = parts.array;
	mend_place(f, node, &parts);
	front_add(f, node, front_nothing(f, cursor));
	return node;
}

struct co_node *front_delete(struct front *f, CXCursor cursor)
{
	struct front_place begin = front_begin(cursor);
	const struct front_text *text = front_text(f, begin.file);
	size_t token = front_token(text, begin.offset);
	struct front_kids kids = front_parts(f, cursor);
	CXCursor kid = front_kid(f, kids, 0);
	struct co_node *node, *ends;
	CXType type;

	front_kids_drop(f, kids);
	if (kids.count != 1)
		return front_unknown(f, cursor);
	type = clang_getPointeeType(clang_getCanonicalType(clang_getCursorType(kid)));
	if (front_is_record(type) && (front_record(f, type) & FRONT_NEWS))
		return front_unknown(f, cursor);
	node = front_wrap(f, CO_DELETE, cursor, front_expression(f, kid));
	if (token != FRONT_NOWHERE) { /* in a macro it cannot be rewritten, so it does not matter */
		token += front_token_is(text, token, "::");
		node->array = front_token_is(text, token, "delete") &&
			      front_token_is(text, token + 1, "[");
	}
	if (!front_is_record(type) && !front_is_dependent(type))
		return node;
	if (!(front_record(f, type) & FRONT_ENDS))
		return node;
	/* If there is something to destroy. */
	ends = front_node(f, CO_MIX, cursor);
	front_destroy(f, ends, type, cursor, CO_NONE);
	ends = front_wrap(f, CO_MIX, cursor, by_some(f, cursor, ends));
	front_add(f, ends, node);
	return ends;
}
