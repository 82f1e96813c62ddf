/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_records.c - implicit operations of a class: construction without a value, copy and
 * destruction. libclang does not show functions that the compiler generates, so this searches for
 * the written ones in the class, its bases and its members.
 *
 * An instance of a class template has the types of its members, but everything else is only in the
 * template. In doubtful cases all flags are set. The same holds after MAX_RECORDS classes.
 */
#include <string.h>

#include "coalesce/front/front.h"

#define MAX_RECORDS 500u
#define DEEPEST_RECORD 16u
#define ALL_OF_IT (FRONT_COPIES | FRONT_BEGINS | FRONT_ENDS)

struct look {
	struct front *f;
	unsigned int found, budget, depth;
	bool unclear; /* there may be more than was found */
	CXCursor destructor;
	bool destroying;      /* calls are generated, not flags */
	struct co_node *into; /* of destructors */
	CXCursor place;
	int variable;
};

static void look_at(struct look *look, CXType type);

static CXType plain_type(CXType type)
{
	unsigned int steps;

	type = clang_getCanonicalType(type);
	for (steps = 0; steps < 64; steps++) {
		CXType inner = clang_getArrayElementType(type);

		if (inner.kind == CXType_Invalid)
			break;
		type = clang_getCanonicalType(inner);
	}
	return type;
}

bool front_is_record(CXType type)
{
	return plain_type(type).kind == CXType_Record;
}

static bool is_literal(CXCursor cursor);

static enum CXChildVisitResult literals(CXCursor cursor, CXCursor parent, CXClientData data)
{
	(void)parent;
	if (clang_isExpression(cursor.kind) && !is_literal(cursor))
		*(bool *)data = false;
	return CXChildVisit_Continue;
}

static bool is_literal(CXCursor cursor)
{
	bool all = true;

	cursor = front_strip(cursor);
	switch (cursor.kind) {
	case CXCursor_InitListExpr: clang_visitChildren(cursor, literals, &all); return all;
	case CXCursor_IntegerLiteral:
	case CXCursor_FloatingLiteral:
	case CXCursor_CharacterLiteral:
	case CXCursor_CXXBoolLiteralExpr:
	case CXCursor_CXXNullPtrLiteralExpr:
	case CXCursor_GNUNullExpr: return true;
	default: return false;
	}
}

static bool is_array(CXCursor cursor)
{
	CXType type = clang_getCanonicalType(clang_getCursorType(cursor));

	return clang_getArrayElementType(type).kind != CXType_Invalid;
}

static bool is_list(CXCursor cursor)
{
	cursor = front_strip(cursor);
	return cursor.kind == CXCursor_InitListExpr || cursor.kind == CXCursor_CallExpr;
}

static enum CXChildVisitResult initial(CXCursor cursor, CXCursor parent, CXClientData data)
{
	CXCursor *last = data;

	(void)parent;
	if (clang_isExpression(cursor.kind))
		*last = cursor;
	return CXChildVisit_Continue;
}

/* A written member of a class. */
static enum CXChildVisitResult member(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct look *look = data;
	bool written = !clang_CXXMethod_isDefaulted(cursor);

	(void)parent;
	switch (cursor.kind) {
	case CXCursor_Constructor:
		if (written && (clang_CXXConstructor_isCopyConstructor(cursor) ||
				clang_CXXConstructor_isMoveConstructor(cursor)))
			look->found |= FRONT_COPIES;
		else if (written)
			look->found |= FRONT_BEGINS;
		break;
	case CXCursor_Destructor:
		if (written || clang_CXXMethod_isVirtual(cursor)) {
			look->found |= FRONT_ENDS;
			look->destructor = cursor;
		}
		break;
	case CXCursor_FunctionTemplate:
	case CXCursor_CXXMethod:
		if (front_is(cursor, "operator=") && written)
			look->found |= FRONT_COPIES;
		if (front_is(cursor, "operator new") || front_is(cursor, "operator new[]") ||
		    front_is(cursor, "operator delete") || front_is(cursor, "operator delete[]"))
			look->found |= FRONT_NEWS;
		break;
	case CXCursor_FieldDecl: {
		CXCursor value = clang_getNullCursor();

		clang_visitChildren(cursor, initial, &value);
		/*
		 * The last expression may also be the bit-field width, or the number of elements.
		 */
		if (!clang_Cursor_isNull(value) && !is_literal(value) &&
		    !clang_Cursor_isBitField(cursor) && (!is_array(cursor) || is_list(value)))
			look->found |= FRONT_BEGINS;
		break;
	}
	default: break;
	}
	return CXChildVisit_Continue;
}

static enum CXChildVisitResult base(CXCursor cursor, CXCursor parent, CXClientData data)
{
	(void)parent;
	if (cursor.kind == CXCursor_CXXBaseSpecifier)
		look_at(data, clang_getCursorType(cursor));
	return CXChildVisit_Continue;
}

static enum CXVisitorResult field(CXCursor cursor, CXClientData data)
{
	look_at(data, clang_getCursorType(cursor));
	return CXVisit_Continue;
}

static void call_destructor(struct look *look, CXCursor destructor)
{
	struct front *f = look->f;
	struct co_node *call, *object;

	if (clang_CXXMethod_isDefaulted(destructor) && look->variable != CO_NONE)
		return; /* it is only virtual */
	call = front_node(f, CO_CALL, look->place);
	call->name = front_name(f, destructor);
	call->macro = true;
	if (look->variable == CO_NONE) {
		/* A derived class may override it. */
		if (!clang_CXXMethod_isVirtual(destructor))
			call->function = front_function(f, destructor);
		object = front_node(f, CO_UNKNOWN, look->place);
	} else {
		object = front_node(f, CO_VARIABLE, look->place);
		object->variable = look->variable;
		front_addressed(f, object);
		object = front_wrap(f, CO_ADDRESS, look->place, object);
		call->function = front_function(f, destructor);
	}
	front_add(f, call, object);
	front_add(f, look->into, call);
}

static void look_at(struct look *look, CXType type)
{
	CXCursor record, written;
	unsigned int before;

	type = plain_type(type);
	if (type.kind != CXType_Record) {
		if (type.kind == CXType_Unexposed || type.kind == CXType_Invalid ||
		    type.kind == CXType_Dependent) {
			look->found |= ALL_OF_IT;
			look->unclear = true;
		}
		return;
	}
	record = clang_getTypeDeclaration(type);
	written = clang_getSpecializedCursorTemplate(record);
	if (look->budget == 0 || look->depth >= DEEPEST_RECORD) {
		look->found |= ALL_OF_IT | FRONT_NEWS;
		look->unclear = true;
		return;
	}
	look->budget--;
	look->depth++;
	if (clang_Cursor_isNull(written))
		written = record;
	if (!clang_Cursor_isNull(clang_getCursorDefinition(written)))
		written = clang_getCursorDefinition(written);
	before = look->found;
	look->found = 0;
	clang_visitChildren(written, member, look);
	if (look->destroying && (look->found & FRONT_ENDS))
		call_destructor(look, look->destructor);
	look->found |= before;
	clang_Type_visitFields(type, field, look);
	clang_visitChildren(written, base, look);
	look->depth--;
}

unsigned int front_record(struct front *f, CXType type)
{
	struct look look = { .f = f, .budget = MAX_RECORDS };

	look_at(&look, type);
	return look.found;
}

void front_destroy(struct front *f, struct co_node *into, CXType type, CXCursor cursor,
		   int variable)
{
	struct look look = { .f = f,
			     .budget = MAX_RECORDS,
			     .destroying = true,
			     .into = into,
			     .place = cursor,
			     .variable = variable };

	look_at(&look, type);
	if (look.unclear)
		front_add(f, into, front_hidden_end(f, cursor));
}

struct binds {
	unsigned int left; /* records that may still be visited */
	bool found;
};

static enum CXVisitorResult binds(CXCursor cursor, CXClientData data)
{
	struct binds *look = data;
	CXType type = plain_type(clang_getCursorType(cursor));

	if (type.kind == CXType_LValueReference || type.kind == CXType_RValueReference ||
	    front_is_dependent(type) || look->left == 0)
		look->found = true;
	else if (type.kind == CXType_Record) {
		look->left--;
		look->found |= front_has_attribute(clang_getTypeDeclaration(type),
						   CXCursor_CXXBaseSpecifier);
		clang_Type_visitFields(type, binds, look);
	}
	return look->found ? CXVisit_Break : CXVisit_Continue;
}

bool front_binds(CXType type)
{
	struct binds look = { MAX_RECORDS, false };

	type = plain_type(type);
	if (type.kind != CXType_Record)
		return front_is_dependent(type);
	look.found = front_has_attribute(clang_getTypeDeclaration(type), CXCursor_CXXBaseSpecifier);
	clang_Type_visitFields(type, binds, &look);
	return look.found;
}
