/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_calls.c - calls.
 *
 * 1. The callee is a function, a method of an object, a constructor, or the target of a pointer. A
 *    user-defined operator is called like any other function.
 * 2. The first argument of a method is the address of its object, and its first parameter is
 *    `this`. The other arguments are as written. Omitted arguments are the parameters' default
 *    arguments.
 * 3. An object that is bound to a reference, or may be, is `addressed`.
 * 4. In an unused template a name may mean several functions. If it means one, it is a call of that
 *    one. If it means more, or a member of an unknown object, any function of that name may be
 *    called by any thread.
 *
 * A constructed object is represented as the memory that its constructor wrote. Implicit
 * assignments and copies are plain assignments and copies if they call no function.
 */
#include <string.h>

#include "coalesce/arena.h"
#include "coalesce/front/front.h"

/* ---- arguments ------------------------------------------------------------------------------- */

/* The default argument of an omitted argument; null: it is unknown. */
static CXCursor default_argument(struct front *f, CXCursor callee, unsigned int i)
{
	CXCursor tries[3] = { callee, clang_getCursorDefinition(callee), front_root(callee) };
	CXCursor found = clang_getNullCursor();
	size_t k, at;

	for (k = 0; k < 3 && clang_Cursor_isNull(found); k++) {
		struct front_kids kids;
		unsigned int seen = 0;

		if (clang_Cursor_isNull(tries[k]))
			continue;
		kids = front_kids(f, tries[k]);
		for (at = 0; at < kids.count; at++) {
			CXCursor kid = front_kid(f, kids, at);

			if (kid.kind == CXCursor_ParmDecl && seen++ == i) {
				struct front_kids parts = front_parts(f, kid);

				if (parts.count > 0)
					found = front_kid(f, parts, parts.count - 1);
				front_kids_drop(f, parts);
			}
		}
		front_kids_drop(f, kids);
	}
	return found;
}

static bool is_absent(CXCursor cursor)
{
	return cursor.kind == CXCursor_UnexposedExpr && front_begin(cursor).file == NULL;
}

/* True if the argument is passed by reference, as far as known. */
static bool by_reference(CXType function, unsigned int i, CXCursor argument)
{
	int count = clang_getNumArgTypes(function);
	CXType type;

	if (count < 0)
		return front_strip(argument).kind != CXCursor_CallExpr;
	if (i >= (unsigned int)count)
		return false;
	type = clang_getCanonicalType(clang_getArgType(function, i));
	return type.kind == CXType_LValueReference || type.kind == CXType_RValueReference ||
	       front_is_dependent(type);
}

/* A number, of which the reference gets a copy. */
static bool is_temporary(struct front *f, CXType function, unsigned int i, CXCursor argument,
			 const struct co_node *node)
{
	CXType type = clang_getCanonicalType(
		clang_getPointeeType(clang_getCanonicalType(clang_getArgType(function, i))));

	return (node->kind == CO_MIX || node->kind == CO_VALUE) &&
	       clang_getNumArgTypes(function) > (int)i && front_is_number(type.kind) &&
	       front_is_value(f, argument);
}

static bool is_closure(CXCursor argument)
{
	CXType type = clang_getCursorType(front_strip(argument));

	return front_is_record(type) && front_is_lambda(type);
}

/* Arguments from number `from` up, which belong to the parameters from the first up. */
static void arguments(struct front *f, struct co_node *call, CXCursor cursor, CXCursor callee,
		      CXType function, unsigned int from)
{
	int count = clang_Cursor_getNumArguments(cursor), i;

	for (i = (int)from; i < count && !f->failed; i++) {
		CXCursor argument = clang_Cursor_getArgument(cursor, (unsigned int)i);
		unsigned int parameter = (unsigned int)i - from;
		struct co_node *node;
		bool absent = is_absent(argument);

		if (absent)
			argument = default_argument(f, callee, parameter);
		f->elsewhere += absent;
		if (clang_Cursor_isNull(argument)) {
			node = front_node(f, CO_UNKNOWN, cursor);
			node->macro = true;
		} else if (call->function != CO_NONE && is_closure(argument)) {
			node = front_closure_value(f, argument);
		} else {
			node = front_expression(f, argument);
		}
		f->elsewhere -= absent;
		if (by_reference(function, parameter, argument) &&
		    (is_temporary(f, function, parameter, argument, node) ||
		     (node->kind == CO_MIX && is_closure(argument)))) {
			node->bound = true;
		} else if (by_reference(function, parameter, argument)) {
			front_addressed(f, node);
			node->bound = clang_getNumArgTypes(function) > (int)parameter &&
				      front_binds_to(f, clang_getArgType(function, parameter),
						     argument, node);
		}
		front_add(f, call, node);
	}
}

static CXType function_type(CXType type)
{
	type = clang_getCanonicalType(type);
	if (type.kind == CXType_Pointer || type.kind == CXType_LValueReference ||
	    type.kind == CXType_MemberPointer)
		type = clang_getCanonicalType(clang_getPointeeType(type));
	return type;
}

/* A temporary object is destroyed at the end of the statement. This models it here. */
static struct co_node *with_end(struct front *f, CXCursor cursor, struct co_node *call)
{
	CXType type = clang_getCursorType(cursor);
	struct co_node *node;

	if (!front_is_record(type) || !(front_record(f, type) & FRONT_ENDS))
		return call;
	node = front_wrap(f, CO_MIX, cursor, call);
	front_destroy(f, node, type, cursor, CO_NONE);
	return node;
}

/* ---- callees --------------------------------------------------------------------------------- */

void front_loose_name(struct front *f, const char *name, int except, struct co_node *node)
{
	if (front_room(f, &f->loose, f->loose_count, &f->loose_room, sizeof(*f->loose)))
		f->loose[f->loose_count++] = (struct front_loose){ name, except, node };
}

/* Of several functions of one name: CUDA declares one for the host and one for the device. */
static bool may_be_own(CXCursor overloaded)
{
	unsigned int i, count = clang_getNumOverloadedDecls(overloaded);
	bool own = count == 0;

	for (i = 0; i < count && !own; i++)
		own = front_own(clang_getOverloadedDecl(overloaded, i));
	return own;
}

/* A call through a pointer, or of any function that a name may mean. */
static struct co_node *call_unknown(struct front *f, CXCursor cursor, struct front_kids kids)
{
	struct co_node *node = front_node(f, CO_CALL, cursor);
	CXCursor callee = front_kid(f, kids, 0), bare = front_strip(callee);
	CXCursor at = clang_getCursorReferenced(bare);
	CXType type = function_type(clang_getCursorType(callee));

	if (at.kind == CXCursor_OverloadedDeclRef) {
		CXCursor one = clang_getOverloadedDecl(at, 0);

		if (clang_getNumOverloadedDecls(at) == 1 && front_is_function(one.kind)) {
			node->function = front_function(f, one);
			node->name = front_name(f, one);
			node->own = node->function == CO_NONE && front_own(one);
			front_loose_name(f, front_keep(f, clang_getCursorSpelling(at)),
					 node->function, node);
		} else {
			front_escape(f, bare);
			node->name = front_keep(f, clang_getCursorSpelling(at));
			node->own = may_be_own(at);
			front_loose_name(f, node->name, CO_NONE, node);
		}
		/* Arguments may be of a namespace that has its own function of that name. */
		node->own |= f->own_family && front_is_family(node->name);
		if (one.kind == CXCursor_CXXMethod && !clang_CXXMethod_isStatic(one))
			front_add(f, node, front_this(f, cursor));
	} else if (bare.kind == CXCursor_MemberRefExpr && front_is_dependent(type)) {
		front_loose_name(f, front_last_word(f, bare), CO_NONE, node);
		front_add(f, node, front_unknown(f, bare));
	} else if ((int)kids.count <= clang_Cursor_getNumArguments(cursor)) {
		/* T(...) of an unknown type */
		node->kind = CO_UNKNOWN;
		f->loose_operators = true;
	} else {
		front_add(f, node, front_expression(f, callee));
		/* An object with an operator (), or T::f(). */
		if (front_is_dependent(type)) {
			f->loose_operators = true;
			if (bare.kind == CXCursor_DeclRefExpr &&
			    (clang_Cursor_isNull(at) || clang_isInvalid(at.kind)))
				front_loose_name(f, front_last_word(f, bare), CO_NONE, node);
		}
	}
	arguments(f, node, cursor, clang_getNullCursor(), type, 0);
	return node;
}

/* The address of the object whose method is called; `how`: the member expression. */
static struct co_node *object_of(struct front *f, CXCursor cursor, CXCursor how)
{
	struct front_kids kids = front_parts(f, how);
	CXCursor kid = front_kid(f, kids, 0);
	struct co_node *object;

	front_kids_drop(f, kids);
	if (kids.count == 0)
		return front_this(f, cursor);
	object = front_expression(f, kid);
	if (clang_getCanonicalType(clang_getCursorType(kid)).kind == CXType_Pointer)
		return object;
	front_addressed(f, object);
	return front_wrap(f, CO_ADDRESS, kid, object);
}

/* An implicit assignment: it assigns all members with their own operators. */
static struct co_node *assign_whole(struct front *f, CXCursor cursor)
{
	CXType type = clang_getCursorType(clang_Cursor_getArgument(cursor, 0));
	struct co_node *node = front_wrap(f, CO_ASSIGN, cursor,
					  front_expression(f, clang_Cursor_getArgument(cursor, 0)));

	front_add(f, node, front_expression(f, clang_Cursor_getArgument(cursor, 1)));
	if (front_record(f, type) & FRONT_COPIES) {
		struct co_node *hidden = front_hidden(f, cursor);

		front_add(f, hidden, node);
		return hidden;
	}
	return node;
}

/*
 * The name of a method of a tile as large as a warp includes the size:
 * "thread_block_tile<32>::any".
 */
static const char *name_of_tile(struct front *f, CXCursor callee, const char *name)
{
	static const char tile[] = "cooperative_groups::thread_block_tile::";
	CXString spelling = clang_getTypeSpelling(
		clang_getCanonicalType(clang_getCursorType(clang_getCursorSemanticParent(callee))));
	const char *type = clang_getCString(spelling), *at = NULL, *made = name;

	if (type != NULL && strncmp(name, tile, sizeof(tile) - 1) == 0)
		at = strstr(type, "thread_block_tile<32");
	if (at != NULL && strchr("U,>", at[sizeof("thread_block_tile<32") - 1]) && !f->failed) {
		made = co_arena_print(f->program->arena,
				      "cooperative_groups::thread_block_tile<32>::%s",
				      name + sizeof(tile) - 1);
		f->failed |= made == NULL;
	}
	clang_disposeString(spelling);
	return made;
}

static struct co_node *call_method(struct front *f, CXCursor cursor, CXCursor callee,
				   struct front_kids kids)
{
	CXCursor how = front_strip(front_kid(f, kids, 0));
	bool is_operator = how.kind != CXCursor_MemberRefExpr ||
			   !clang_equalCursors(clang_getCursorReferenced(how), callee);
	CXCursor first = is_operator ? clang_Cursor_getArgument(cursor, 0) : how;
	struct co_node *node, *object;

	if (is_operator && front_is_lambda(clang_getCursorType(first))) {
		/* The object first: that may be where the lambda is. */
		object = front_closure_value(f, first);
		if (front_closure_of(f, callee) == CO_NONE || front_function(f, callee) == CO_NONE)
			return front_unknown(f, cursor);
		node = front_wrap(f, CO_CALL, cursor, object);
		node->function = front_function(f, callee);
		node->name = front_name(f, callee);
		arguments(f, node, cursor, callee, clang_getCursorType(callee), 1);
		return with_end(f, cursor, node);
	}
	if (is_operator && front_is(callee, "operator=") && clang_CXXMethod_isDefaulted(callee) &&
	    clang_Cursor_getNumArguments(cursor) == 2)
		return assign_whole(f, cursor);
	node = front_node(f, CO_CALL, cursor);
	node->name = name_of_tile(f, callee, front_name(f, callee));
	/* A derived class may override it. */
	if (!clang_CXXMethod_isVirtual(callee))
		node->function = front_function(f, callee);
	node->own = node->function == CO_NONE && front_own(callee);
	if (!is_operator) {
		front_add(f, node, object_of(f, cursor, how));
	} else {
		object = front_expression(f, first);
		front_addressed(f, object);
		front_add(f, node, front_wrap(f, CO_ADDRESS, first, object));
	}
	arguments(f, node, cursor, callee, clang_getCursorType(callee), is_operator ? 1 : 0);
	return with_end(f, cursor, node);
}

struct co_node *front_construct(struct front *f, CXCursor cursor, int variable)
{
	CXCursor callee = clang_getCursorReferenced(cursor);
	CXType type = clang_getCursorType(cursor);
	struct co_node *node, *object;
	unsigned int does;

	if (clang_CXXMethod_isDefaulted(callee)) {
		int count = clang_Cursor_getNumArguments(cursor);

		does = front_record(f, type);
		node = front_node(f, CO_MIX, cursor);
		if (count > 0)
			front_add(f, node,
				  front_expression(f, clang_Cursor_getArgument(cursor, 0)));
		if (does & (count > 0 ? FRONT_COPIES : FRONT_BEGINS))
			front_add(f, node, front_hidden(f, cursor));
		return node;
	}
	node = front_node(f, CO_CALL, cursor);
	node->name = front_name(f, callee);
	node->function = front_function(f, callee);
	node->own = node->function == CO_NONE && front_own(callee);
	if (variable == CO_NONE) {
		object = front_temporary(f, cursor);
	} else {
		object = front_node(f, CO_VARIABLE, cursor);
		object->variable = variable;
		front_addressed(f, object);
	}
	front_add(f, node, front_wrap(f, CO_ADDRESS, cursor, object));
	arguments(f, node, cursor, callee, clang_getCursorType(callee), 0);
	return front_wrap(f, CO_LOAD, cursor, node);
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool is_one_of(CXCursor cursor, const char *const *names)
{
	for (; *names != NULL; names++)
		if (front_is(cursor, *names))
			return true;
	return false;
}

const char *front_ends_thread(struct front *f, CXCursor cursor)
{
	static const char *const names[] = { "exit",       "_exit",  "_Exit",
					     "abort",      "__trap", "__builtin_trap",
					     "quick_exit", "__exit", "__builtin_unreachable",
					     NULL };
	CXCursor at;

	cursor = front_strip(cursor);
	at = clang_getCursorReferenced(cursor);
	if (cursor.kind != CXCursor_CallExpr || at.kind != CXCursor_FunctionDecl ||
	    !is_one_of(at, names) || front_own(at))
		return NULL;
	return front_name(f, at);
}

static struct co_node *call_function(struct front *f, CXCursor cursor, CXCursor callee)
{
	static const char *const leave[] = {
		"exit", "_exit", "_Exit", "quick_exit", "__exit", NULL
	};
	struct co_node *node = front_node(f, CO_CALL, cursor);

	node->name = front_name(f, callee);
	if (front_has_attribute(callee, CXCursor_CUDAGlobalAttr)) {
		/* A kernel that launches a kernel. */
		node->kind = CO_UNKNOWN;
		node->name = NULL;
	} else {
		node->function = front_function(f, callee);
		node->own = node->function == CO_NONE && front_own(callee);
	}
	if (is_one_of(callee, leave))
		f->jumped = true;
	/* Its result is its first argument; the second one is an optimization hint. */
	if (front_is(callee, "__builtin_expect")) {
		node->kind = CO_MIX;
		node->name = NULL;
	}
	arguments(f, node, cursor, callee, clang_getCursorType(callee), 0);
	return with_end(f, cursor, node);
}

struct co_node *front_call(struct front *f, CXCursor cursor)
{
	CXCursor callee = clang_getCursorReferenced(cursor);
	struct front_kids kids = front_parts(f, cursor);
	struct co_node *node;

	switch (callee.kind) {
	case CXCursor_Constructor:
		node = with_end(f, cursor, front_construct(f, cursor, CO_NONE));
		break;
	case CXCursor_CXXMethod:
	case CXCursor_ConversionFunction:
	case CXCursor_Destructor:
		node = clang_CXXMethod_isStatic(callee) ? call_function(f, cursor, callee)
							: call_method(f, cursor, callee, kids);
		break;
	case CXCursor_FunctionDecl: node = call_function(f, cursor, callee); break;
	default: node = call_unknown(f, cursor, kids); break;
	}
	front_kids_drop(f, kids);
	return node;
}
