/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_function.c - one function: its parameters, the initial values of members, its body.
 *
 * 1. `this` is the first parameter of a non-static method.
 * 2. Members of a constructor get their written initial values, in the order of the text. Implicit
 *    initialization of other members, and variables without a visible declaration, are CO_UNKNOWN.
 * 3. At the end of a function its by-value parameters are destroyed; at the end of a destructor,
 *    all members.
 * 4. A function that contains a label begins with CO_JUMP: nothing is known of which threads reach
 *    any place in it.
 */
#include <string.h>

#include "coalesce/arena.h"
#include "coalesce/front/front.h"

/* The byte of the ")" after the parameters; 0: in a macro, or in another file. */
static size_t parameters_end(struct front *f, CXCursor definition)
{
	CXSourceLocation name = clang_getCursorLocation(definition);
	struct front_place at = front_spelled(name);
	const struct front_text *text;
	size_t token, closes;

	if (front_in_macro(f, name) || at.file == NULL || !clang_File_isEqual(at.file, f->file))
		return 0;
	text = front_text(f, at.file);
	token = front_token(text, at.offset);
	if (token == FRONT_NOWHERE)
		return 0;
	/* operator()() and f<(1 > 0)>() have another pair before them. */
	if (front_token_is(text, token, "operator") && front_token_is(text, token + 1, "("))
		token += 3;
	else if (front_token_is(text, token + 1, "<"))
		return 0;
	for (; token < text->count && !front_token_is(text, token, "("); token++)
		if (front_token_is(text, token, "{") || front_token_is(text, token, ";"))
			return 0;
	closes = token < text->count ? front_token_closes(text, token) : FRONT_NOWHERE;
	if (closes == FRONT_NOWHERE)
		return 0;
	/* A macro in between may contain further parameters. */
	for (; token <= closes; token++) {
		CXSourceLocation place =
			clang_getLocationForOffset(f->unit, at.file, text->tokens[token].begin);

		if (front_in_macro(f, place))
			return 0;
	}
	return text->tokens[closes].begin;
}

static void describe(struct front *f, int index, CXCursor definition)
{
	struct front_place begin =
		front_expanded(clang_getRangeStart(clang_getCursorExtent(definition)));
	struct front_place end = front_end(definition);
	struct front_place at = front_expanded(clang_getCursorLocation(definition));
	struct co_function *function;
	CXCursor root = front_root(definition);
	enum CXTypeKind result;
	int i;

	/* Names first: they may run out of memory, but never move the functions. */
	const char *name = front_name(f, definition);
	const char *printed = front_closure_of(f, definition) != CO_NONE
				      ? front_lambda_printed(f, definition)
				      : front_printed(f, definition);

	function = &f->program->functions[index];
	function->name = name;
	function->printed = printed;
	function->kernel = front_has_attribute(definition, CXCursor_CUDAGlobalAttr);
	function->is_virtual |=
		definition.kind == CXCursor_CXXMethod && clang_CXXMethod_isVirtual(definition);
	function->line = at.line;
	result = clang_getCanonicalType(clang_getCursorResultType(definition)).kind;
	function->returns_reference = result != CXType_Void && !front_is_number(result);
	function->is_lambda = front_closure_of(f, definition) != CO_NONE;
	function->variadic = clang_Cursor_isVariadic(definition) != 0;
	if (begin.file != NULL && clang_File_isEqual(begin.file, f->file)) {
		function->in_file = true;
		function->begin = begin.offset;
		function->end = end.offset;
		/* A lambda gets no parameter. */
		if (!function->is_lambda)
			function->parameters_end = parameters_end(f, definition);
	}
	for (i = 0; i < index; i++)
		if (clang_equalCursors(front_root(f->definitions[i]), root))
			break;
	function->template_of = i;
}

static bool has_this(CXCursor definition)
{
	switch (definition.kind) {
	case CXCursor_Constructor:
	case CXCursor_Destructor:
	case CXCursor_ConversionFunction: return true;
	case CXCursor_CXXMethod: return !clang_CXXMethod_isStatic(definition);
	case CXCursor_FunctionTemplate: {
		enum CXCursorKind kind = clang_getTemplateCursorKind(definition);

		return kind == CXCursor_Constructor ||
		       (kind == CXCursor_CXXMethod && !clang_CXXMethod_isStatic(definition));
	}
	default: return false;
	}
}

static void parameters(struct front *f, int index, CXCursor definition, struct front_kids kids)
{
	size_t count = 0, i;
	int *list;

	list = f->failed ? NULL
			 : co_arena_take(f->program->arena, (kids.count + 1) * sizeof(*list));
	if (list == NULL) {
		f->failed = true;
		return;
	}
	f->this_variable = f->closure_variable = CO_NONE;
	f->closure = front_closure_of(f, definition);
	if (has_this(definition)) {
		int variable = co_variable_new(f->program);

		if (variable == CO_NONE) {
			f->failed = true;
			return;
		}
		f->program->variables[variable].name = "this";
		f->program->variables[variable].home = CO_PARAMETER;
		f->program->variables[variable].owner = index;
		f->program->variables[variable].pointer = f->closure == CO_NONE;
		front_declare_known(f, variable);
		list[count++] = variable;
		if (f->closure == CO_NONE) {
			f->this_variable = variable;
		} else {
			f->program->variables[variable].name = "a captured variable";
			f->closure_variable = variable;
		}
	}
	for (i = 0; i < kids.count && !f->failed; i++) {
		CXCursor kid = front_kid(f, kids, i);

		if (kid.kind != CXCursor_ParmDecl)
			continue;
		list[count] = front_variable(f, kid);
		front_open(f, list[count], clang_getCursorType(kid));
		count++;
	}
	f->program->functions[index].parameters = list;
	f->program->functions[index].parameter_count = count;
}

/* this->member = value, for the written values. */
static void initial_values(struct front *f, struct front_kids kids, struct co_node *body)
{
	size_t i;

	for (i = 0; i < kids.count && !f->failed; i++) {
		CXCursor kid = front_kid(f, kids, i), before = front_kid(f, kids, i - 1);
		struct co_node *node;

		if (!clang_isExpression(kid.kind))
			continue;
		if (i > 0 && before.kind == CXCursor_MemberRef) {
			node = front_wrap(f, CO_ASSIGN, kid,
					  front_wrap(f, CO_LOAD, kid, front_this(f, kid)));
			front_add(f, node, front_expression(f, kid));
		} else {
			node = front_unknown(f, kid); /* of a base, or by another constructor */
		}
		front_add(f, body, node);
	}
}

static struct co_node *body_of(struct front *f, CXCursor definition, struct front_kids kids)
{
	struct co_node *body = front_node(f, CO_SEQUENCE, definition);
	CXType class = clang_getCursorType(clang_getCursorSemanticParent(definition));
	size_t i;

	if (definition.kind == CXCursor_Constructor) {
		if (front_record(f, class) & FRONT_BEGINS)
			initial_values(f, kids, body);
	}
	for (i = 0; i < kids.count && !f->failed; i++) {
		CXCursor kid = front_kid(f, kids, i);

		if (clang_isStatement(kid.kind))
			front_add(f, body, front_statement(f, kid));
	}
	front_leave(f, body, 0, definition);
	f->scope_count = 0;
	return body;
}

/* Implicit construction or destruction of members and bases. */
static enum CXVisitorResult member_does(CXCursor field, CXClientData data)
{
	unsigned int *does = ((void **)data)[1];

	*does |= front_record(((void **)data)[0], clang_getCursorType(field));
	return CXVisit_Continue;
}

static bool does_more(struct front *f, CXCursor definition)
{
	CXCursor class = clang_getCursorSemanticParent(definition);
	unsigned int does = 0, wanted;
	void *data[2] = { f, &does };

	if (definition.kind != CXCursor_Constructor && definition.kind != CXCursor_Destructor)
		return false;
	wanted = definition.kind == CXCursor_Constructor ? FRONT_BEGINS : FRONT_ENDS;
	if (clang_Type_visitFields(clang_getCursorType(class), member_does, data) == 0 &&
	    (does & wanted))
		return true;
	return front_has_attribute(class, CXCursor_CXXBaseSpecifier) ||
	       class.kind == CXCursor_ClassTemplate;
}

/* Variables that are used, but whose declaration was not seen: their values are unknown. */
static void declare_rest(struct front *f, int index, CXCursor definition, struct co_node *body,
			 size_t from)
{
	size_t i;

	for (i = from; !f->failed && i < f->program->variable_count; i++) {
		struct co_node *node;

		if (f->program->variables[i].home != CO_LOCAL ||
		    f->program->variables[i].owner != index || front_is_declared(f, (int)i))
			continue;
		node = front_wrap(f, CO_DECLARE, definition, front_node(f, CO_UNKNOWN, definition));
		node->variable = (int)i;
		f->program->variables[i].addressed = true;
		front_declare_known(f, (int)i);
		front_add(f, body, node);
	}
}

static enum CXChildVisitResult lend(CXCursor cursor, CXCursor parent, CXClientData data)
{
	(void)parent;
	front_lend(data, cursor, false);
	return CXChildVisit_Recurse;
}

void front_function_read(struct front *f, int index)
{
	CXCursor definition = f->definitions[index];
	struct front_kids kids = front_kids(f, definition);
	size_t from = f->program->variable_count;
	struct co_node *body, *whole;

	f->function = index;
	f->depth = f->elsewhere = 0;
	f->jumped = f->labels = f->case_here = false;
	f->scope_count = f->break_base = f->continue_base = 0;
	f->line = front_expanded(clang_getCursorLocation(definition)).line;
	describe(f, index, definition);
	/* The instance of a template: what it passes to code outside of the source. */
	if (!clang_equalCursors(front_root(definition), clang_getCanonicalCursor(definition)))
		clang_visitChildren(definition, lend, f);
	parameters(f, index, definition, kids);
	body = body_of(f, definition, kids);
	front_kids_drop(f, kids);
	whole = front_node(f, CO_SEQUENCE, definition);
	declare_rest(f, index, definition, whole, from);
	if (f->labels)
		front_add(f, whole, front_node(f, CO_JUMP, definition));
	if (does_more(f, definition))
		front_add(f, whole,
			  definition.kind == CXCursor_Destructor ? front_hidden_end(f, definition)
								 : front_hidden(f, definition));
	front_add(f, whole, body);
	if (f->failed)
		return;
	f->program->functions[index].body = whole->first == body ? body : whole;
}
