/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_nodes.c - nodes and their places; lists of a cursor's children.
 *
 * A node has the place of its cursor, as written in the file. For a node from a macro it is the
 * whole macro use. `macro` is set if its first or last token comes from a macro. It is also set if
 * the node is evaluated at another place than its text (default arguments, `elsewhere`): then no
 * text in the file stands for it.
 *
 * Children of cursors are on one stack, because reading a cursor reads its children first.
 */
#include <stdlib.h>
#include <string.h>

#include "coalesce/front/front.h"

bool front_room(struct front *f, void *array, size_t count, size_t *room, size_t each)
{
	void **at = array, *grown;
	size_t more = *room ? 2 * *room : 16;

	if (f->failed)
		return false;
	if (count < *room)
		return true;
	grown = more > SIZE_MAX / each ? NULL : realloc(*at, more * each);
	if (grown == NULL) {
		f->failed = true;
		return false;
	}
	memset((char *)grown + *room * each, 0, (more - *room) * each);
	*at = grown;
	*room = more;
	return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void place(struct front *f, struct co_node *node, CXCursor cursor)
{
	CXSourceRange range = clang_getCursorExtent(cursor);
	CXSourceLocation first = clang_getRangeStart(range), last = clang_getRangeEnd(range);
	struct front_place begin = front_expanded(first), end = front_expanded(last);

	node->line = f->line;
	node->macro = true;
	node->elsewhere = f->elsewhere > 0;
	if (begin.file == NULL)
		return;
	node->line = f->line = begin.line;
	if (!clang_File_isEqual(begin.file, f->file) || end.file == NULL ||
	    !clang_File_isEqual(end.file, f->file) || end.offset < begin.offset)
		return;
	node->in_file = true;
	node->begin = begin.offset;
	node->end = end.offset;
	node->macro = f->elsewhere > 0 || end.offset == begin.offset ||
		      front_begins_in_macro(f, cursor) || front_ends_in_macro(f, cursor);
}

struct co_node *front_node(struct front *f, enum co_kind kind, CXCursor cursor)
{
	struct co_node *node = f->failed ? NULL : co_node_new(f->program, kind);

	if (node == NULL) {
		f->failed = true;
		f->spare.first = f->spare.last = f->spare.next = NULL;
		return &f->spare;
	}
	place(f, node, cursor);
	return node;
}

void front_add(struct front *f, struct co_node *parent, struct co_node *child)
{
	if (!f->failed)
		co_node_add(parent, child);
}

struct co_node *front_wrap(struct front *f, enum co_kind kind, CXCursor cursor,
			   struct co_node *child)
{
	struct co_node *node = front_node(f, kind, cursor);

	front_add(f, node, child);
	return node;
}

struct co_node *front_nothing(struct front *f, CXCursor cursor)
{
	return front_node(f, CO_NOTHING, cursor);
}

struct co_node *front_temporary(struct front *f, CXCursor cursor)
{
	struct co_node *node = front_node(f, CO_VARIABLE, cursor);
	int variable = f->failed ? CO_NONE : co_variable_new(f->program);

	if (variable == CO_NONE) {
		f->failed = true;
		return node;
	}
	f->program->variables[variable].owner = f->function;
	f->program->variables[variable].addressed = true;
	front_declare_known(f, variable);
	node->variable = variable;
	return node;
}

static bool is_storage(const struct front *f, const struct co_node *node)
{
	while (node != NULL && node->kind == CO_MEMBER)
		node = node->first;
	return node != NULL && node->kind == CO_VARIABLE && node->variable != CO_NONE &&
	       !f->program->variables[node->variable].pointer;
}

void front_addressed(struct front *f, const struct co_node *node)
{
	const struct co_node *child;

	if (f->failed || node == NULL)
		return;
	switch (node->kind) {
	case CO_VARIABLE:
		if (node->variable != CO_NONE)
			f->program->variables[node->variable].addressed = true;
		break;
	case CO_MEMBER:
	case CO_ASSIGN: front_addressed(f, node->first); break;
	case CO_LOAD:
		if (is_storage(f, node->first))
			front_addressed(f, node->first);
		break;
	case CO_CHOICE:
		for (child = node->first ? node->first->next : NULL; child != NULL;
		     child = child->next)
			front_addressed(f, child);
		break;
	case CO_MIX:
	case CO_UNKNOWN:
		for (child = node->first; child != NULL; child = child->next)
			front_addressed(f, child);
		break;
	default: break;
	}
}

/* ---- children -------------------------------------------------------------------------------- */

static enum CXChildVisitResult collect(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct front *f = data;

	(void)parent;
	if (!front_room(f, &f->stack, f->stack_count, &f->stack_room, sizeof(*f->stack)))
		return CXChildVisit_Break;
	f->stack[f->stack_count++] = cursor;
	return CXChildVisit_Continue;
}

struct front_kids front_kids(struct front *f, CXCursor cursor)
{
	struct front_kids kids = { f->stack_count, 0 };

	clang_visitChildren(cursor, collect, f);
	kids.count = f->stack_count - kids.base;
	return kids;
}

struct front_kids front_parts(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_kids(f, cursor);
	size_t i, kept = 0;

	for (i = 0; i < kids.count; i++) {
		CXCursor kid = f->stack[kids.base + i];

		if (clang_isExpression(kid.kind) || clang_isStatement(kid.kind))
			f->stack[kids.base + kept++] = kid;
	}
	kids.count = kept;
	f->stack_count = kids.base + kept;
	return kids;
}

CXCursor front_kid(const struct front *f, struct front_kids kids, size_t i)
{
	return i < kids.count ? f->stack[kids.base + i] : clang_getNullCursor();
}

void front_kids_drop(struct front *f, struct front_kids kids)
{
	f->stack_count = kids.base;
}
