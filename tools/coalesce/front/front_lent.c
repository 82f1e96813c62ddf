/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_lent.c - functions of the source that code outside of it may call: a library's template
 * gets an object and calls its operator (), as thrust::for_each() does.
 *
 * 1. A class of the source is lent if a function of a system header takes it, or a pointer or a
 *    reference to it, or if it is an argument of such a function's or class's template. Bases and
 *    members of a class that is lent are lent, too.
 * 2. Methods of a lent class may be called by any thread, and so may functions that take one: a
 *    template finds them by their argument.
 * 3. In a template of the source the types are unknown. If a library may get an object of one of
 *    them, all methods of the source may be called by any thread.
 *
 * Exceptions are functions with known behavior (known.c), the CUDA runtime, and the host's use of
 * std::.
 *
 * Bound: constant for each cursor, and once for each class.
 */
#include <string.h>

#include "coalesce/front/front.h"
#include "coalesce/judge/judge_parts.h"

#define DEEPEST_LENT 16u

static void lend_type(struct front *f, CXType type, unsigned int depth);

static bool is_outside(CXCursor cursor)
{
	return clang_Location_isInSystemHeader(clang_getCursorLocation(cursor)) != 0;
}

/* ---- classes --------------------------------------------------------------------------------- */

struct lent_class {
	struct front *f;
	unsigned int depth;
};

static enum CXChildVisitResult part(CXCursor cursor, CXCursor parent, CXClientData data)
{
	const struct lent_class *lending = data;

	(void)parent;
	if (cursor.kind == CXCursor_CXXBaseSpecifier || cursor.kind == CXCursor_FieldDecl)
		lend_type(lending->f, clang_getCursorType(cursor), lending->depth + 1);
	else if (front_is_function(cursor.kind))
		front_may_be_called(lending->f, cursor);
	return CXChildVisit_Continue;
}

static CXCursor written(CXCursor record)
{
	CXCursor template = clang_getSpecializedCursorTemplate(record);

	return clang_getCanonicalCursor(clang_Cursor_isNull(template) ? record : template);
}

static void lend_record(struct front *f, CXCursor record, unsigned int depth)
{
	struct lent_class lending = { f, depth };
	CXCursor definition;

	record = written(record);
	if (front_known(&f->lent, record) != CO_NONE || !front_map_add(f, &f->lent, record, 0))
		return;
	f->loose_operators = true;
	definition = clang_getCursorDefinition(record);
	if (!clang_Cursor_isNull(definition))
		clang_visitChildren(definition, part, &lending);
}

static CXType pointed(CXType type)
{
	unsigned int steps;

	for (steps = 0; steps < 64; steps++) {
		CXType element = clang_getArrayElementType(clang_getCanonicalType(type));

		type = clang_getCanonicalType(type);
		if (type.kind == CXType_Pointer || type.kind == CXType_LValueReference ||
		    type.kind == CXType_RValueReference)
			type = clang_getPointeeType(type);
		else if (element.kind != CXType_Invalid)
			type = element;
		else
			break;
	}
	return clang_getCanonicalType(type);
}

/* Arguments of a template that does not belong to the source. */
static void lend_arguments(struct front *f, CXType type, unsigned int depth)
{
	int count = clang_Type_getNumTemplateArguments(type), i;

	for (i = 0; i < count; i++)
		lend_type(f, clang_Type_getTemplateArgumentAsType(type, (unsigned int)i),
			  depth + 1);
}

static void lend_type(struct front *f, CXType type, unsigned int depth)
{
	CXCursor record;

	type = pointed(type);
	if (type.kind != CXType_Record || f->failed)
		return;
	if (depth >= DEEPEST_LENT) {
		f->loose_methods = true;
		return;
	}
	record = clang_getTypeDeclaration(type);
	if (is_outside(record))
		lend_arguments(f, type, depth);
	else if (front_is_lambda(type))
		front_closure_escapes(f, type);
	else
		lend_record(f, record, depth);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* True if it is known to call no function of the source, or none on the device. */
static bool is_harmless(struct front *f, CXCursor function, bool host)
{
	const char *name = front_name(f, function);

	return known_name(name) != KNOWN_NOT || starts(name, "cuda") || starts(name, "std::move") ||
	       starts(name, "std::forward") || (host && starts(name, "std::"));
}

static void lend_to(struct front *f, CXCursor function, bool host)
{
	CXType type = clang_getCursorType(function);
	int count = clang_getNumArgTypes(type), i;

	if (!front_is_function(function.kind) || !is_outside(function) ||
	    is_harmless(f, function, host))
		return;
	for (i = 0; i < count; i++)
		lend_type(f, clang_getArgType(type, (unsigned int)i), 0);
	count = clang_Cursor_getNumTemplateArguments(function);
	for (i = 0; i < count; i++)
		if (clang_Cursor_getTemplateArgumentKind(function, (unsigned int)i) ==
		    CXTemplateArgumentKind_Type)
			lend_type(f,
				  clang_Cursor_getTemplateArgumentType(function, (unsigned int)i),
				  0);
}

static bool passes_object(CXCursor call)
{
	int count = clang_Cursor_getNumArguments(call), i;

	for (i = 0; i < count; i++) {
		CXType type = pointed(
			clang_getCursorType(clang_Cursor_getArgument(call, (unsigned int)i)));

		if (front_is_dependent(type) || type.kind == CXType_Record)
			return true;
	}
	return false;
}

/* A call in a template: at most the callee's name is known. */
static void lend_to_unknown(struct front *f, CXCursor call, bool host)
{
	struct front_kids kids = front_parts(f, call);
	CXCursor callee = front_strip(front_kid(f, kids, 0));
	CXCursor at = clang_getCursorReferenced(callee);
	unsigned int count, i;

	front_kids_drop(f, kids);
	if (!passes_object(call))
		return;
	if (at.kind != CXCursor_OverloadedDeclRef) {
		f->loose_methods |= callee.kind == CXCursor_MemberRefExpr ||
				    (callee.kind == CXCursor_DeclRefExpr &&
				     (clang_Cursor_isNull(at) || clang_isInvalid(at.kind)));
		return;
	}
	count = clang_getNumOverloadedDecls(at);
	for (i = 0; i < count; i++) {
		CXCursor one = clang_getOverloadedDecl(at, i);

		if (is_outside(one) && !is_harmless(f, one, host))
			f->loose_methods = true;
	}
}

static bool is_of_std(struct front *f, CXType type)
{
	CXCursor record = clang_getTypeDeclaration(pointed(type));

	return record.kind != CXCursor_NoDeclFound && starts(front_name(f, record), "std::");
}

void front_lend(struct front *f, CXCursor cursor, bool host)
{
	CXCursor at;
	CXType type;

	switch (cursor.kind) {
	case CXCursor_CallExpr:
		at = clang_getCursorReferenced(cursor);
		if (clang_Cursor_isNull(at) || clang_isInvalid(at.kind) ||
		    at.kind == CXCursor_OverloadedDeclRef)
			lend_to_unknown(f, cursor, host);
		else
			lend_to(f, at, host);
		break;
	case CXCursor_DeclRefExpr: lend_to(f, clang_getCursorReferenced(cursor), host); return;
	case CXCursor_VarDecl:
	case CXCursor_FieldDecl:
	case CXCursor_CXXBaseSpecifier: break;
	default: return;
	}
	type = pointed(clang_getCursorType(cursor));
	if (type.kind == CXType_Record && is_outside(clang_getTypeDeclaration(type)) &&
	    !(host && is_of_std(f, type)))
		lend_arguments(f, type, 0);
}

bool front_is_lent(struct front *f, CXCursor function)
{
	CXCursor parent = clang_getCursorSemanticParent(function);
	CXType type = clang_getCursorType(function);
	int count = clang_getNumArgTypes(type), i;
	bool is_method = clang_getCursorType(parent).kind == CXType_Record ||
			 parent.kind == CXCursor_ClassTemplate ||
			 parent.kind == CXCursor_ClassTemplatePartialSpecialization;

	if (is_method && (f->loose_methods || front_known(&f->lent, written(parent)) != CO_NONE))
		return true;
	for (i = 0; i < count; i++) {
		CXType argument = pointed(clang_getArgType(type, (unsigned int)i));

		if (argument.kind == CXType_Record &&
		    front_known(&f->lent, written(clang_getTypeDeclaration(argument))) != CO_NONE)
			return true;
	}
	return false;
}
