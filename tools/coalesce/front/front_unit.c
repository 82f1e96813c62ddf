/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_unit.c - finds the functions, and has all of them read.
 *
 * 1. All declarations are visited. Device functions in the file that have a body are listed;
 *    templates, and methods of class templates, are kept for later. A kernel that a host function
 *    launches is listed as the launched instance. Functions whose address a host function or the
 *    initial value of a variable takes may be called by any thread.
 * 2. Functions are read in the order of the list. Their callees are listed, too, so that the used
 *    instances of a template are read with their own types.
 * 3. A template in the file of which no instance was found is read as written. In it, a call with
 *    unknown types is a call of a name, and any thread may call all functions of that last name.
 *    Instances may be missing if there are explicit ones that front_instances.c does not name, or
 *    if a host function has errors. Then all templates of the file are read in that way, too.
 * 4. Code that no function contains is added (front_rest.c), and places that name malloc or free
 *    are listed (front_uses.c).
 * 5. If files are linked as device code, any thread may call functions with external linkage.
 *
 * Each function is read once: linear in the text, except for macros and instances.
 */
#include <string.h>

#include "coalesce/front/front.h"

bool front_is_for_device(CXCursor cursor)
{
	return front_has_attribute(cursor, CXCursor_CUDAGlobalAttr) ||
	       front_has_attribute(cursor, CXCursor_CUDADeviceAttr);
}

/* ---- host code ------------------------------------------------------------------------------- */

/* A cursor in a host function, or in the initial value of a variable. */
static enum CXChildVisitResult host_part(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct front *f = data;
	CXCursor at;
	int function;

	(void)parent;
	if (f->failed)
		return CXChildVisit_Break;
	if (cursor.kind == CXCursor_OverloadedDeclRef) /* in a template */
		front_may_be_called(f, cursor);
	if (cursor.kind != CXCursor_DeclRefExpr && cursor.kind != CXCursor_MemberRefExpr)
		return CXChildVisit_Recurse;
	at = clang_getCursorReferenced(cursor);
	if (at.kind == CXCursor_OverloadedDeclRef)
		front_may_be_called(f, at);
	if (!front_is_function(at.kind) || !front_is_for_device(at))
		return CXChildVisit_Recurse;
	if (front_has_attribute(at, CXCursor_CUDAGlobalAttr)) {
		(void)front_function(f, at);
	} else {
		/* A function for both sides is the host's here. */
		function = front_known(&f->functions, clang_getCursorDefinition(at));
		if (function == CO_NONE && !front_has_attribute(at, CXCursor_CUDAHostAttr))
			function = front_function(f, at);
		if (function != CO_NONE && !front_has_attribute(at, CXCursor_CUDAHostAttr))
			f->program->functions[function].is_virtual = true;
	}
	return CXChildVisit_Recurse;
}

/* ---- declarations ---------------------------------------------------------------------------- */

bool front_in_file(const struct front *f, CXCursor cursor)
{
	struct front_place at = front_expanded(clang_getCursorLocation(cursor));

	return at.file != NULL && clang_File_isEqual(at.file, f->file);
}

static void keep_pattern(struct front *f, CXCursor cursor)
{
	CXCursor definition = clang_getCursorDefinition(cursor);

	if (clang_Cursor_isNull(definition) || !clang_equalCursors(definition, cursor) ||
	    !front_in_file(f, cursor) || !front_is_for_device(cursor) ||
	    !front_room(f, &f->patterns, f->pattern_count, &f->pattern_room, sizeof(*f->patterns)))
		return;
	f->patterns[f->pattern_count++] = cursor;
}

static bool in_template(CXCursor cursor)
{
	unsigned int steps;

	for (steps = 0; steps < 64 && !clang_Cursor_isNull(cursor); steps++) {
		if (cursor.kind == CXCursor_ClassTemplate ||
		    cursor.kind == CXCursor_ClassTemplatePartialSpecialization ||
		    cursor.kind == CXCursor_FunctionTemplate)
			return true;
		if (cursor.kind == CXCursor_TranslationUnit || clang_isInvalid(cursor.kind))
			break;
		cursor = clang_getCursorSemanticParent(cursor);
	}
	return false;
}

/* A function of the source that a call of malloc() or free() may mean in another namespace. */
static bool is_own_family(CXCursor cursor)
{
	CXString string;
	const char *name;
	bool is;

	if (cursor.kind != CXCursor_FunctionDecl && cursor.kind != CXCursor_FunctionTemplate)
		return false;
	string = clang_getCursorSpelling(cursor);
	name = clang_getCString(string);
	is = name != NULL && front_is_family(name) && front_own(cursor) &&
	     !front_is_record(clang_getCursorType(clang_getCursorSemanticParent(cursor)));
	clang_disposeString(string);
	return is;
}

static enum CXChildVisitResult declared(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct front *f = data;

	(void)parent;
	if (f->failed)
		return CXChildVisit_Break;
	switch (cursor.kind) {
	case CXCursor_Namespace:
	case CXCursor_LinkageSpec:
	case CXCursor_UnexposedDecl: /* extern "C", for libclang 14 */
	case CXCursor_StructDecl:
	case CXCursor_ClassDecl:
	case CXCursor_UnionDecl:
	case CXCursor_FriendDecl:
	case CXCursor_ClassTemplate:
	case CXCursor_ClassTemplatePartialSpecialization: return CXChildVisit_Recurse;
	default: break;
	}
	if (clang_Location_isInSystemHeader(clang_getCursorLocation(cursor)))
		return CXChildVisit_Continue;
	f->own_family |= is_own_family(cursor);
	if (cursor.kind == CXCursor_VarDecl || cursor.kind == CXCursor_FieldDecl) {
		clang_visitChildren(cursor, host_part, f);
		return CXChildVisit_Continue;
	}
	if (!front_is_function(cursor.kind))
		return CXChildVisit_Continue;
	if (!front_is_for_device(cursor))
		clang_visitChildren(cursor, host_part, f);
	else if (in_template(cursor))
		keep_pattern(f, cursor);
	else if (clang_isCursorDefinition(cursor) && front_in_file(f, cursor))
		(void)front_function(f, cursor);
	return CXChildVisit_Continue;
}

/* "template" that does not precede "<" makes an explicit instance, which libclang does not show. */
static bool has_explicit_instances(struct front *f)
{
	const struct front_text *text = front_text(f, f->file);
	size_t i;

	for (i = 0; text != NULL && i + 1 < text->count; i++)
		if (front_is_instance(text, i))
			return true;
	return false;
}

bool front_has_instance(const struct front *f, CXCursor pattern)
{
	CXCursor root = front_root(pattern);
	size_t i;

	for (i = 0; i < f->program->function_count; i++)
		if (clang_equalCursors(front_root(f->definitions[i]), root))
			return true;
	return false;
}

/* ---- calls of names -------------------------------------------------------------------------- */

static const char *last_name(const char *name)
{
	const char *at = name, *next;

	while ((next = strstr(at, "::")) != NULL)
		at = next + 2;
	return at;
}

/* Calls of its name then call a function of the source. */
static bool is_loose(const struct front *f, int index, CXCursor cursor)
{
	bool called = false;
	const struct co_function *function = &f->program->functions[index];
	const char *name = last_name(function->name);
	size_t i;

	if (f->loose_ends &&
	    (cursor.kind == CXCursor_Destructor || strncmp(name, "operator delete", 15) == 0))
		return true;
	if (f->loose_operators &&
	    (strncmp(name, "operator", 8) == 0 || cursor.kind == CXCursor_Constructor ||
	     cursor.kind == CXCursor_Destructor || cursor.kind == CXCursor_ConversionFunction))
		return true;
	for (i = 0; i < f->loose_count; i++)
		if (f->loose[i].except != index &&
		    (f->loose[i].name[0] == '\0' || strcmp(f->loose[i].name, name) == 0))
			called = f->loose[i].call->own = true;
	return called;
}

void front_read_all(struct front *f, size_t *next)
{
	for (; !f->failed && *next < f->program->function_count; (*next)++)
		front_function_read(f, (int)*next);
}

static bool is_for_all_files(CXCursor function)
{
	enum CXLinkageKind linkage = clang_getCursorLinkage(function);

	return linkage != CXLinkage_Internal && linkage != CXLinkage_UniqueExternal;
}

void front_unit(struct front *f)
{
	size_t next = 0, i;

	clang_visitChildren(clang_getTranslationUnitCursor(f->unit), declared, f);
	front_read_all(f, &next);
	f->all_patterns |= !f->has_instances && has_explicit_instances(f);
	for (i = 0; i < f->pattern_count && !f->failed; i++)
		if (f->all_patterns || !front_has_instance(f, f->patterns[i])) {
			(void)front_function(f, f->patterns[i]);
			front_read_all(f, &next);
		}
	front_rest(f, &next);
	front_uses(f);
	for (i = 0; !f->failed && i < f->program->function_count; i++) {
		struct co_function *function = &f->program->functions[i];
		bool called = is_loose(f, (int)i, f->definitions[i]) ||
			      front_is_lent(f, f->definitions[i]) ||
			      front_is_wild(f, f->definitions[i]) ||
			      (f->linked && is_for_all_files(f->definitions[i]));

		/* A kernel launch starts whole blocks, whatever its call site. */
		function->is_virtual |= called && !function->kernel;
	}
}

/* ---- errors ---------------------------------------------------------------------------------- */

struct host_search {
	struct front_place error;
	bool found;
};

static enum CXChildVisitResult holds_error(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct host_search *search = data;
	CXSourceRange range = clang_getCursorExtent(cursor);
	struct front_place begin = front_expanded(clang_getRangeStart(range));
	struct front_place end = front_expanded(clang_getRangeEnd(range));

	(void)parent;
	if (begin.file == NULL || !clang_File_isEqual(begin.file, search->error.file) ||
	    search->error.offset < begin.offset || search->error.offset > end.offset)
		return CXChildVisit_Continue;
	if (front_is_function(cursor.kind) && !front_is_for_device(cursor) &&
	    (front_has_attribute(cursor, CXCursor_CompoundStmt))) {
		search->found = true;
		return CXChildVisit_Break;
	}
	return front_is_function(cursor.kind) ? CXChildVisit_Break : CXChildVisit_Recurse;
}

bool front_tolerates(struct front *f, struct front_place error)
{
	struct host_search search = { error, false };

	if (error.file == NULL)
		return false;
	clang_visitChildren(clang_getTranslationUnitCursor(f->unit), holds_error, &search);
	if (!search.found ||
	    !front_room(f, &f->errors, f->error_count, &f->error_room, sizeof(*f->errors)))
		return false;
	f->errors[f->error_count++] = error;
	f->all_patterns = true;
	return true;
}
