/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_expressions.c - expressions.
 *
 * Casts, implicit conversions and other expressions that libclang does not name
 * (CXCursor_UnexposedExpr) are represented by their operand, if they have one. An array that is
 * converted to an address is CO_ADDRESS of it, unless an element is accessed immediately. A
 * conversion of a pointer to bool tests whether it is null. A reference is treated as the object
 * that it refers to: the variable it is bound to is `addressed`. Unknown expressions are
 * CO_UNKNOWN.
 */
#include <string.h>

#include "coalesce/front/front.h"

/* ---- unknown expressions --------------------------------------------------------------------- */

static enum CXChildVisitResult escape(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct front *f = data;
	CXCursor at = clang_getCursorReferenced(cursor);
	int known;

	(void)parent;
	if (f->failed)
		return CXChildVisit_Break;
	if (!clang_isExpression(cursor.kind) && cursor.kind != CXCursor_OverloadedDeclRef)
		return CXChildVisit_Recurse;
	if (front_is_function(at.kind)) {
		known = front_function(f, at);
		if (known != CO_NONE)
			f->program->functions[known].is_virtual = true;
	} else if (at.kind == CXCursor_OverloadedDeclRef) {
		unsigned int i, count = clang_getNumOverloadedDecls(at);

		for (i = 0; i < count; i++) {
			known = front_function(f, clang_getOverloadedDecl(at, i));
			if (known != CO_NONE)
				f->program->functions[known].is_virtual = true;
		}
	} else if (at.kind == CXCursor_VarDecl || at.kind == CXCursor_ParmDecl) {
		known = front_known(&f->variables, clang_getCanonicalCursor(at));
		if (known != CO_NONE)
			f->program->variables[known].addressed =
				f->program->variables[known].escaped = true;
	}
	return CXChildVisit_Recurse;
}

/* The type without const and volatile, as text. */
static const char *bare_name(struct front *f, CXType type)
{
	const char *name;

	type = clang_getCanonicalType(type);
	if (type.kind == CXType_LValueReference || type.kind == CXType_RValueReference)
		type = clang_getCanonicalType(clang_getPointeeType(type));
	if (type.kind == CXType_Pointer || type.kind == CXType_MemberPointer)
		return NULL; /* T *const & of a T *: compared whole */
	name = front_keep(f, clang_getTypeSpelling(type));
	if (strncmp(name, "const ", 6) == 0)
		name += 6;
	return name;
}

/* A reference to an object of its own type, and not to a temporary copy of another type. */
bool front_binds_to(struct front *f, CXType reference, CXCursor cursor, const struct co_node *node)
{
	CXCursor bare = front_strip(cursor);
	const char *one, *other;

	if (node->kind != CO_VARIABLE && node->kind != CO_MEMBER && node->kind != CO_LOAD)
		return false;
	if (bare.kind != CXCursor_DeclRefExpr && bare.kind != CXCursor_MemberRefExpr &&
	    bare.kind != CXCursor_ArraySubscriptExpr && bare.kind != CXCursor_UnaryOperator)
		return false;
	reference = clang_getPointeeType(clang_getCanonicalType(reference));
	if (clang_equalTypes(clang_getCanonicalType(reference),
			     clang_getCanonicalType(clang_getCursorType(bare))))
		return true;
	one = bare_name(f, reference);
	other = bare_name(f, clang_getCursorType(bare));
	return one != NULL && other != NULL && strcmp(one, other) == 0;
}

void front_escape(struct front *f, CXCursor cursor)
{
	(void)escape(cursor, cursor, f);
	clang_visitChildren(cursor, escape, f);
}

struct co_node *front_hidden(struct front *f, CXCursor cursor)
{
	f->loose_operators = true;
	return front_node(f, CO_UNKNOWN, cursor);
}

struct co_node *front_hidden_end(struct front *f, CXCursor cursor)
{
	f->loose_ends = true;
	return front_node(f, CO_UNKNOWN, cursor);
}

struct co_node *front_unknown(struct front *f, CXCursor cursor)
{
	struct co_node *node = front_node(f, CO_UNKNOWN, cursor), *child;
	struct front_kids kids = front_kids(f, cursor);
	size_t i;

	for (i = 0; i < kids.count && !f->failed; i++) {
		CXCursor kid = front_kid(f, kids, i);

		if (!clang_isExpression(kid.kind)) {
			front_escape(f, kid);
			continue;
		}
		child = front_expression(f, kid);
		front_addressed(f, child);
		front_add(f, node, child);
	}
	front_kids_drop(f, kids);
	front_escape(f, cursor);
	return node;
}

/* ---- names and members ----------------------------------------------------------------------- */

struct only {
	CXCursor kid;
	unsigned int count;
};

static enum CXChildVisitResult only(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct only *only = data;

	(void)parent;
	if (clang_isExpression(cursor.kind)) {
		only->kid = cursor;
		only->count++;
	}
	return CXChildVisit_Continue;
}

static CXCursor strip(CXCursor cursor, bool casts)
{
	unsigned int steps;

	for (steps = 0; steps < FRONT_DEEPEST; steps++) {
		struct only kids = { cursor, 0 };

		if (cursor.kind != CXCursor_ParenExpr &&
		    !(casts && cursor.kind == CXCursor_UnexposedExpr))
			break;
		clang_visitChildren(cursor, only, &kids);
		if (kids.count != 1)
			break;
		cursor = kids.kid;
	}
	return cursor;
}

CXCursor front_strip(CXCursor cursor)
{
	return strip(cursor, true);
}

CXCursor front_strip_parentheses(CXCursor cursor)
{
	return strip(cursor, false);
}

static struct co_node *named(struct front *f, CXCursor cursor)
{
	CXCursor at = clang_getCursorReferenced(cursor);
	struct co_node *node;

	switch (at.kind) {
	case CXCursor_VarDecl:
	case CXCursor_ParmDecl:
		if (front_is_record(clang_getCursorType(cursor)))
			front_closure_escapes(f, clang_getCursorType(cursor));
		node = front_captured(f, cursor, at);
		if (node != NULL)
			return node;
		node = front_node(f, CO_VARIABLE, cursor);
		node->variable = front_variable(f, at);
		return node;
	case CXCursor_EnumConstantDecl:
	case CXCursor_NonTypeTemplateParameter:
	case CXCursor_FieldDecl: /* of &T::field */ return front_node(f, CO_VALUE, cursor);
	case CXCursor_FunctionDecl:
	case CXCursor_FunctionTemplate:
	case CXCursor_CXXMethod:
	case CXCursor_OverloadedDeclRef:
		/* Not for callees: they do not get here. */
		front_escape(f, cursor);
		return front_node(f, CO_VALUE, cursor);
	default: break;
	}
	/* A template parameter, which a value replaces in an instance. */
	if (clang_Cursor_isNull(at) || clang_isInvalid(at.kind)) {
		struct front_kids kids = front_parts(f, cursor);
		CXCursor kid = front_kid(f, kids, 0);

		front_kids_drop(f, kids);
		if (kids.count == 1)
			return front_expression(f, kid);
	}
	return front_unknown(f, cursor);
}

/* The name of a member that libclang does not name: the text after its last ".". */
const char *front_last_word(struct front *f, CXCursor cursor)
{
	struct front_place end = front_spelled(clang_getRangeEnd(clang_getCursorExtent(cursor)));
	const struct front_text *text = front_text(f, end.file);
	size_t token = front_token_from(text, end.offset);
	const char *kept;

	if (text == NULL)
		return "";
	token = token == FRONT_NOWHERE ? text->count : token;
	if (token == 0 || text->tokens[token - 1].end != end.offset)
		return "";
	kept = f->failed ? NULL
			 : co_text_new(f->program, text->text + text->tokens[token - 1].begin,
				       end.offset - text->tokens[token - 1].begin);
	if (kept == NULL)
		f->failed = true;
	return kept ? kept : "";
}

/* x.y, not x->y, for an x of unknown type. */
static bool follows_dot(struct front *f, CXCursor cursor)
{
	struct front_place end = front_end(cursor);
	const struct front_text *text = front_text(f, end.file);
	size_t token = front_token_from(text, end.offset);

	if (text == NULL || front_ends_in_macro(f, cursor))
		return false;
	token = token == FRONT_NOWHERE ? text->count : token;
	return token >= 2 && text->tokens[token - 1].end == end.offset &&
	       front_token_is(text, token - 2, ".");
}

struct co_node *front_this(struct front *f, CXCursor cursor)
{
	struct co_node *node = front_node(f, CO_VARIABLE, cursor);

	node->macro = true;
	if (f->this_variable == CO_NONE)
		node->kind = CO_UNKNOWN;
	node->variable = f->this_variable;
	return node;
}

static bool is_array(CXType type)
{
	return clang_getArrayElementType(clang_getCanonicalType(type)).kind != CXType_Invalid;
}

/* Records the relevant properties of a place's type. */
struct co_node *front_typed(struct co_node *node, CXCursor cursor)
{
	CXType type = clang_getCanonicalType(clang_getCursorType(cursor));

	node->array = is_array(type);
	for (; is_array(type); type = clang_getCanonicalType(clang_getArrayElementType(type)))
		node->is_volatile |= clang_isVolatileQualifiedType(type) != 0;
	node->is_volatile |= clang_isVolatileQualifiedType(type) != 0;
	return node;
}

static struct co_node *member(struct front *f, CXCursor cursor)
{
	CXCursor at = clang_getCursorReferenced(cursor), kid;
	struct front_kids kids;
	struct co_node *base, *node;
	CXType type;

	if (at.kind != CXCursor_FieldDecl && !clang_Cursor_isNull(at) && !clang_isInvalid(at.kind))
		return named(f, cursor);
	kids = front_parts(f, cursor);
	kid = front_kid(f, kids, 0);
	front_kids_drop(f, kids);
	if (kids.count > 1)
		return front_unknown(f, cursor);
	if (kids.count == 0 && at.kind != CXCursor_FieldDecl)
		return front_unknown(f, cursor);
	if (kids.count == 0) {
		node = front_wrap(f, CO_LOAD, cursor, front_this(f, cursor));
		node->name = front_keep(f, clang_getCursorSpelling(at));
		return node;
	}
	type = clang_getCanonicalType(clang_getCursorType(kid));
	base = front_expression(f, kid);
	if (type.kind == CXType_Pointer) {
		node = front_wrap(f, CO_LOAD, cursor, base);
		node->name = front_keep(f, clang_getCursorSpelling(at));
	} else if (type.kind == CXType_Record || follows_dot(f, cursor)) {
		node = front_wrap(f, CO_MEMBER, cursor, base);
		node->name = at.kind == CXCursor_FieldDecl
				     ? front_keep(f, clang_getCursorSpelling(at))
				     : front_last_word(f, cursor);
	} else {
		node = front_wrap(f, CO_UNKNOWN, cursor, base);
		front_addressed(f, base);
	}
	type = clang_getCursorType(at);
	if (type.kind == CXType_LValueReference || type.kind == CXType_RValueReference)
		node = front_wrap(f, CO_LOAD, cursor, node);
	return front_typed(node, cursor);
}

/* ---- casts, arrays, the rest ----------------------------------------------------------------- */

static CXType type_of(CXCursor cursor)
{
	return clang_getCanonicalType(clang_getCursorType(cursor));
}

static bool is_pointer(CXCursor cursor)
{
	return type_of(cursor).kind == CXType_Pointer;
}

/* An implicit conversion of an array to the address of its first element. */
static bool decays(struct front *f, CXCursor cursor, CXCursor *array)
{
	struct front_kids kids;

	if (cursor.kind != CXCursor_UnexposedExpr ||
	    clang_getCanonicalType(clang_getCursorType(cursor)).kind != CXType_Pointer)
		return false;
	kids = front_parts(f, cursor);
	*array = front_kid(f, kids, 0);
	front_kids_drop(f, kids);
	return kids.count == 1 && is_array(clang_getCursorType(*array));
}

struct co_node *front_array(struct front *f, CXCursor cursor)
{
	CXCursor array;

	struct co_node *node;
	const struct co_node *at;

	cursor = front_strip_parentheses(cursor);
	if (!decays(f, cursor, &array))
		return front_expression(f, cursor);
	node = front_expression(f, array);
	/* Of (c ? a : b).elements, or (a, b): the written object has no name. */
	for (at = node; at != NULL && (at->kind == CO_MEMBER ||
				       (at->kind == CO_LOAD && at->first && at->first->array));)
		at = at->first;
	if (at != NULL && at->kind != CO_VARIABLE && at->kind != CO_LOAD)
		front_addressed(f, at);
	return node;
}

static struct co_node *all_parts(struct front *f, enum co_kind kind, CXCursor cursor)
{
	struct co_node *node = front_node(f, kind, cursor);
	struct front_kids kids = front_parts(f, cursor);
	size_t i;

	for (i = 0; i < kids.count && !f->failed; i++)
		front_add(f, node, front_expression(f, front_kid(f, kids, i)));
	front_kids_drop(f, kids);
	return node;
}

static bool has_elements(CXCursor cursor)
{
	return is_pointer(cursor) || is_array(type_of(cursor));
}

/* In a template it may be a user-defined operator. */
static struct co_node *element(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	CXCursor base = front_kid(f, kids, 0), index = front_kid(f, kids, 1);
	struct co_node *node;

	front_kids_drop(f, kids);
	if (kids.count != 2 || (!has_elements(base) && !has_elements(index)))
		return front_loose(f, cursor, all_parts(f, CO_MIX, cursor));
	if (!has_elements(base)) { /* 1[a] is a[1] */
		CXCursor other = base;

		base = index;
		index = other;
	}
	node = front_wrap(f, CO_LOAD, cursor, front_array(f, base));
	front_add(f, node, front_expression(f, index));
	return front_typed(node, cursor);
}

/* The only operand, or a value; with several operands its meaning is unknown. */
static struct co_node *unexposed(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	CXCursor kid = front_kid(f, kids, 0);
	struct co_node *child;

	front_kids_drop(f, kids);
	if (kids.count == 0) {
		/* Zero, type traits, or initial values of members. */
		if (front_begin(cursor).file == NULL ||
		    !front_is_record(clang_getCursorType(cursor)))
			return front_node(f, CO_VALUE, cursor);
		return front_unknown(f, cursor);
	}
	if (kids.count > 1)
		return front_unknown(f, cursor);
	child = front_expression(f, kid);
	/* T(x) of a T that has no constructor. */
	if (front_is_record(clang_getCursorType(cursor)) &&
	    !front_is_record(clang_getCursorType(kid)) && front_binds(clang_getCursorType(cursor)))
		front_addressed(f, child);
	if (is_pointer(kid) && type_of(cursor).kind == CXType_Bool) {
		child = front_wrap(f, CO_MIX, cursor, child);
		child->null = CO_NULL_TESTED;
		return child;
	}
	if (!is_array(clang_getCursorType(kid)) || !is_pointer(cursor) || child->kind == CO_VALUE)
		return child;
	front_addressed(f, child);
	return front_wrap(f, CO_ADDRESS, cursor, child);
}

static bool is_place(CXCursor cursor)
{
	cursor = front_strip_parentheses(cursor);
	return cursor.kind == CXCursor_DeclRefExpr || cursor.kind == CXCursor_MemberRefExpr ||
	       cursor.kind == CXCursor_ArraySubscriptExpr;
}

static struct co_node *cast(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	CXCursor kid = front_kid(f, kids, kids.count ? kids.count - 1 : 0);
	struct co_node *child;

	front_kids_drop(f, kids);
	if (kids.count == 0)
		return front_node(f, CO_VALUE, cursor);
	if (kids.count > 1)
		return front_unknown(f, cursor);
	child = front_expression(f, kid);
	if (front_is_dependent(clang_getCursorType(cursor)))
		return front_loose(f, cursor, child);
	if (clang_getCanonicalType(clang_getCursorType(cursor)).kind == CXType_Void)
		return front_wrap(f, CO_MIX, cursor, child);
	/* To a reference: another name for the same place. */
	if (is_place(kid) && !front_is_dependent(clang_getCursorType(kid))) {
		front_addressed(f, child);
		child = front_wrap(f, CO_LOAD, cursor, front_wrap(f, CO_ADDRESS, cursor, child));
		return front_typed(child, cursor);
	}
	child = front_wrap(f, CO_MIX, cursor, child);
	if (is_pointer(kid) && is_pointer(cursor))
		child->null = CO_NULL_KEPT;
	return child;
}

static struct co_node *list(struct front *f, CXCursor cursor)
{
	struct co_node *node = all_parts(f, CO_MIX, cursor);

	if (front_binds(clang_getCursorType(cursor)))
		front_addressed(f, node);

	/* Members that are not in the list have initial values, too. */
	if (front_is_record(clang_getCursorType(cursor)) &&
	    (front_record(f, clang_getCursorType(cursor)) & FRONT_BEGINS))
		front_add(f, node, front_hidden(f, cursor));
	return node;
}

/* A statement expression, or an expression that may exit in the middle. */
static struct co_node *leaves(struct front *f, CXCursor cursor)
{
	f->jumped = true;
	front_escape(f, cursor);
	return front_node(f, CO_UNKNOWN, cursor);
}

static struct co_node *expression(struct front *f, CXCursor cursor)
{
	switch ((int)cursor.kind) {
	case CXCursor_IntegerLiteral:
	case CXCursor_FloatingLiteral:
	case CXCursor_ImaginaryLiteral:
	case CXCursor_StringLiteral:
	case CXCursor_CharacterLiteral:
	case CXCursor_CXXBoolLiteralExpr:
	case CXCursor_CXXNullPtrLiteralExpr:
	case CXCursor_GNUNullExpr:
	case CXCursor_UnaryExpr: /* sizeof and the like */
	case CXCursor_SizeOfPackExpr:
	case CXCursor_CXXTypeidExpr: return front_node(f, CO_VALUE, cursor);
	case CXCursor_UnexposedExpr:
	case CXCursor_ParenExpr: return unexposed(f, cursor);
	case CXCursor_CStyleCastExpr:
	case CXCursor_CXXStaticCastExpr:
	case CXCursor_CXXReinterpretCastExpr:
	case CXCursor_CXXConstCastExpr:
	case CXCursor_CXXFunctionalCastExpr:
	case CXCursor_CXXAddrspaceCastExpr: return cast(f, cursor);
	case CXCursor_DeclRefExpr: return named(f, cursor);
	case CXCursor_MemberRefExpr: return member(f, cursor);
	case CXCursor_CXXThisExpr: return front_this(f, cursor);
	case CXCursor_ArraySubscriptExpr: return element(f, cursor);
	case CXCursor_UnaryOperator: return front_unary(f, cursor);
	case CXCursor_BinaryOperator: return front_binary(f, cursor);
	case CXCursor_CompoundAssignOperator: return front_compound_assign(f, cursor);
	case CXCursor_ConditionalOperator: return all_parts(f, CO_CHOICE, cursor);
	case CXCursor_CallExpr: return front_call(f, cursor);
	case CXCursor_CXXNewExpr: return front_new(f, cursor);
	case CXCursor_CXXDeleteExpr: return front_delete(f, cursor);
	case CXCursor_InitListExpr: return list(f, cursor);
	case CXCursor_CompoundLiteralExpr: return all_parts(f, CO_MIX, cursor);
	case CXCursor_LambdaExpr:
		front_closure_escapes(f, clang_getCursorType(cursor));
		front_escape(f, cursor);
		return front_node(f, CO_UNKNOWN, cursor);
	case CXCursor_StmtExpr:
	case CXCursor_CXXThrowExpr:
	case CXCursor_AddrLabelExpr: return leaves(f, cursor);
	default: return front_unknown(f, cursor);
	}
}

struct co_node *front_expression(struct front *f, CXCursor cursor)
{
	struct co_node *node;

	if (f->depth >= FRONT_DEEPEST)
		return leaves(f, cursor);
	f->depth++;
	node = expression(f, cursor);
	f->depth--;
	return node;
}
