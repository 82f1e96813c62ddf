/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_lambdas.c - closures, and lambdas as functions.
 *
 * 1. A closure is one value: the join of the values of all outer variables that the lambda names.
 *    The variable that contains it is like any other.
 * 2. A lambda is a function whose first parameter is its closure. A call of a closure is a call of
 *    that function. In it, a variable that was captured by value is a member of the closure. One
 *    that was captured by reference is named as it is: the judge knows whether anything sets it.
 * 3. A closure is followed while it is only called, declared, or passed to a function that is read.
 *    A closure that is used in any other way is wild: any code may call the lambda.
 *
 * libclang does not show how a variable is captured, but its text does. A lambda that is mutable, and
 * one that the host creates, is not followed.
 *
 * Bound: one comparison for each lambda of the source at each use of a captured variable.
 */
#include <string.h>

#include "coalesce/arena.h"
#include "coalesce/front/front.h"

static int find(const struct front *f, CXCursor class)
{
	size_t i;

	for (i = f->closure_count; i > 0; i--)
		if (clang_equalCursors(f->closures[i - 1].class, class))
			return (int)i - 1;
	return CO_NONE;
}

int front_closure_of(struct front *f, CXCursor method)
{
	CXCursor class = clang_getCursorSemanticParent(method);

	if (!front_is(method, "operator()") || !clang_CXXMethod_isConst(method))
		return CO_NONE;
	return find(f, class);
}

bool front_has_closure(const struct front *f, CXCursor method)
{
	return front_is(method, "operator()") && clang_CXXMethod_isConst(method) &&
	       find(f, clang_getCursorSemanticParent(method)) != CO_NONE;
}

const char *front_lambda_printed(struct front *f, CXCursor method)
{
	CXCursor around = clang_getCursorSemanticParent(clang_getCursorSemanticParent(method));
	const char *name = front_is_function(around.kind) ? front_printed(f, around) : NULL;
	char *text;

	if (name == NULL || f->failed)
		return "a lambda";
	if (front_closure_of(f, around) != CO_NONE)
		name = "another lambda";
	text = co_arena_print(f->program->arena, "a lambda in %s", name);
	f->failed |= text == NULL;
	return text ? text : "";
}

static CXCursor class_of(CXType type)
{
	type = clang_getCanonicalType(type);
	if (type.kind == CXType_LValueReference || type.kind == CXType_RValueReference ||
	    type.kind == CXType_Pointer)
		type = clang_getCanonicalType(clang_getPointeeType(type));
	return clang_getTypeDeclaration(type);
}

void front_closure_escapes(struct front *f, CXType type)
{
	int closure = find(f, class_of(type));

	if (closure == CO_NONE || f->closures[closure].wild)
		return;
	f->closures[closure].wild = true;
	front_escape(f, f->closures[closure].lambda);
}

static bool is_same_text(const struct front_closure *one, struct front_place begin)
{
	return one->begin.file != NULL && begin.file != NULL &&
	       clang_File_isEqual(one->begin.file, begin.file) && one->begin.offset == begin.offset;
}

/* In another instance of its template, too: they have one text. */
bool front_is_wild(const struct front *f, CXCursor method)
{
	int closure = find(f, clang_getCursorSemanticParent(method));
	size_t i;

	for (i = 0; closure != CO_NONE && i < f->closure_count; i++)
		if (f->closures[i].wild &&
		    is_same_text(&f->closures[i], f->closures[closure].begin))
			return true;
	return false;
}

bool front_lambda_is_read(struct front *f, CXCursor lambda)
{
	struct front_place begin = front_begin(lambda);
	size_t i;

	for (i = 0; i < f->program->function_count; i++) {
		CXCursor class = clang_getCursorSemanticParent(f->definitions[i]);
		int closure = f->program->functions[i].is_lambda ? find(f, class) : CO_NONE;

		if (closure != CO_NONE && is_same_text(&f->closures[closure], begin))
			return true;
	}
	return false;
}

/* ---- captures -------------------------------------------------------------------------------- */

/* The initial values of the captures are before the parameters and the body. */
static bool ends_captures(CXCursor kid)
{
	return kid.kind == CXCursor_ParmDecl || clang_isStatement(kid.kind);
}

struct naming {
	struct front *f;
	struct co_node *into;
};

/* A variable of the function around it, which the lambda names. */
static enum CXChildVisitResult name_of_outer(CXCursor cursor, CXCursor parent, CXClientData data)
{
	const struct naming *naming = data;
	struct front *f = naming->f;
	CXCursor at = clang_getCursorReferenced(cursor);
	int known;
	struct co_node *node;

	(void)parent;
	if (f->failed)
		return CXChildVisit_Break;
	if (cursor.kind == CXCursor_CXXThisExpr)
		front_add(f, naming->into, front_this(f, cursor));
	if (cursor.kind != CXCursor_DeclRefExpr ||
	    (at.kind != CXCursor_VarDecl && at.kind != CXCursor_ParmDecl))
		return CXChildVisit_Recurse;
	known = front_known(&f->variables, clang_getCanonicalCursor(at));
	if (known == CO_NONE || (f->program->variables[known].home != CO_LOCAL &&
				 f->program->variables[known].home != CO_PARAMETER))
		return CXChildVisit_Recurse;
	node = front_captured(f, cursor, at);
	if (node == NULL) {
		node = front_node(f, CO_VARIABLE, cursor);
		node->variable = known;
	}
	front_add(f, naming->into, node);
	return CXChildVisit_Recurse;
}

struct co_node *front_closure(struct front *f, CXCursor cursor)
{
	CXCursor class = class_of(clang_getCursorType(cursor));
	struct co_node *node = front_node(f, CO_MIX, cursor);
	struct naming naming = { f, node };
	struct front_kids kids;
	size_t i;

	if (find(f, class) == CO_NONE &&
	    front_room(f, &f->closures, f->closure_count, &f->closure_room, sizeof(*f->closures)))
		f->closures[f->closure_count++] =
			(struct front_closure){ cursor, class, front_begin(cursor), false };
	kids = front_kids(f, cursor);
	for (i = 0; i < kids.count && !f->failed && !ends_captures(front_kid(f, kids, i)); i++)
		if (clang_isExpression(front_kid(f, kids, i).kind))
			front_add(f, node, front_expression(f, front_kid(f, kids, i)));
	front_kids_drop(f, kids);
	clang_visitChildren(cursor, name_of_outer, &naming);
	return node;
}

/*
 * By its name in the "[]", or by a "=" at its begin. False: by reference, or it is not known, because
 * a macro is involved.
 */
static bool captures_by_value(struct front *f, int closure, CXCursor variable)
{
	struct front_place begin = f->closures[closure].begin;
	const struct front_text *text = front_text(f, begin.file);
	size_t open = front_token(text, begin.offset), token, closes;
	const char *name = front_keep(f, clang_getCursorSpelling(variable));
	bool by_value;

	if (open == FRONT_NOWHERE || !front_token_is(text, open, "[") ||
	    front_begins_in_macro(f, f->closures[closure].lambda))
		return false;
	closes = front_token_closes(text, open);
	if (closes == FRONT_NOWHERE)
		return false;
	by_value = front_token_is(text, open + 1, "=");
	for (token = open + 1; token < closes; token++) {
		CXSourceLocation at =
			clang_getLocationForOffset(f->unit, begin.file, text->tokens[token].begin);

		if (front_in_macro(f, at))
			return false;
		if (front_token_is(text, token, name) &&
		    (front_token_is(text, token - 1, "[") || front_token_is(text, token - 1, ",") ||
		     front_token_is(text, token - 1, "&")))
			by_value = !front_token_is(text, token - 1, "&") &&
				   !front_token_is(text, token + 1, "=");
	}
	return by_value;
}

struct co_node *front_captured(struct front *f, CXCursor cursor, CXCursor variable)
{
	int known = front_known(&f->variables, clang_getCanonicalCursor(variable));
	const struct co_variable *of = known != CO_NONE ? &f->program->variables[known] : NULL;
	struct co_node *node, *closure;

	if (f->closure == CO_NONE || of == NULL || of->owner == f->function ||
	    (of->home != CO_LOCAL && of->home != CO_PARAMETER) ||
	    !captures_by_value(f, f->closure, variable))
		return NULL;
	closure = front_node(f, CO_VARIABLE, cursor);
	closure->variable = f->closure_variable;
	node = front_wrap(f, CO_MEMBER, cursor, closure);
	node->name = front_keep(f, clang_getCursorSpelling(variable));
	return node;
}

/* ---- uses ------------------------------------------------------------------------------------ */

struct co_node *front_closure_value(struct front *f, CXCursor cursor)
{
	CXCursor bare = front_strip(cursor), at;
	unsigned int steps;
	struct co_node *node;

	/* A copy: its constructor is implicit. */
	for (steps = 0; steps < 8 && bare.kind == CXCursor_CallExpr &&
			clang_getCursorReferenced(bare).kind == CXCursor_Constructor &&
			clang_Cursor_getNumArguments(bare) == 1;
	     steps++)
		bare = front_strip(clang_Cursor_getArgument(bare, 0));
	if (bare.kind == CXCursor_LambdaExpr)
		return front_closure(f, bare);
	at = clang_getCursorReferenced(bare);
	if (bare.kind != CXCursor_DeclRefExpr ||
	    (at.kind != CXCursor_VarDecl && at.kind != CXCursor_ParmDecl) ||
	    find(f, class_of(clang_getCursorType(bare))) == CO_NONE)
		return front_expression(f, cursor);
	node = front_captured(f, bare, at);
	if (node != NULL)
		return node;
	node = front_node(f, CO_VARIABLE, bare);
	node->variable = front_variable(f, at);
	return node;
}
