/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_declarations.c - declarations of variables, and destructor calls where they end.
 *
 * A variable whose class or members have a destructor is in the list of open scopes from its
 * declaration. At the end of its block, and at each break, continue and return out of it, the
 * destructors are called in reverse order.
 *
 * A variable in memory that is not the thread's own is initialized once, before all kernels. Its
 * declaration has no effect here.
 */
#include "coalesce/front/front.h"

void front_open(struct front *f, int variable, CXType type)
{
	if (!front_is_record(type) || variable == CO_NONE ||
	    !(front_record(f, type) & FRONT_ENDS) ||
	    !front_room(f, &f->scopes, f->scope_count, &f->scope_room, sizeof(*f->scopes)))
		return;
	f->scopes[f->scope_count++] = (struct front_scope){ variable, type };
}

void front_leave(struct front *f, struct co_node *into, size_t base, CXCursor cursor)
{
	size_t i;

	for (i = f->scope_count; i > base && !f->failed; i--)
		front_destroy(f, into, f->scopes[i - 1].type, cursor, f->scopes[i - 1].variable);
}

/* Constructors need to know the variable that they construct. */
static struct co_node *initial_value(struct front *f, CXCursor cursor, int variable)
{
	CXCursor bare = front_strip(cursor);

	if (front_is_record(clang_getCursorType(bare)) &&
	    front_is_lambda(clang_getCursorType(bare)))
		return front_closure_value(f, cursor);
	if (bare.kind == CXCursor_CallExpr &&
	    clang_getCursorReferenced(bare).kind == CXCursor_Constructor)
		return front_construct(f, bare, variable);
	return front_expression(f, cursor);
}

struct co_node *front_declaration(struct front *f, CXCursor cursor)
{
	CXCursor value = clang_Cursor_getVarDeclInitializer(cursor);
	int variable = front_variable(f, cursor);
	struct co_node *node, *made;
	const struct co_variable *what;

	if (f->failed)
		return front_nothing(f, cursor);
	what = &f->program->variables[variable];
	if (what->home != CO_LOCAL) {
		if (!clang_Cursor_isNull(value))
			front_escape(f, value);
		return front_nothing(f, cursor);
	}
	node = front_node(f, CO_DECLARE, cursor);
	node->variable = variable;
	front_declare_known(f, variable);
	if (!clang_Cursor_isNull(value)) {
		bool reference = what->reference;

		made = initial_value(f, value, variable);
		if (reference) {
			front_addressed(f, made);
			made->bound = front_binds_to(f, clang_getCursorType(cursor), value, made);
		}
		if (front_is_dependent(clang_getCursorType(cursor)) && !reference)
			made = front_loose(f, cursor, made);
		front_add(f, node, made);
	}
	front_open(f, variable, clang_getCursorType(cursor));
	return node;
}
