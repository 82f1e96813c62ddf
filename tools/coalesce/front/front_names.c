/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_names.c - maps libclang's cursors to our functions and variables.
 *
 * 1. A function is identified by the cursor of its definition, and read later. Each instance of a
 *    template is a definition of its own.
 * 2. Functions of system headers, including ours, and functions that allocate and free are only
 *    names: the analysis knows their behavior.
 * 3. A variable outside of functions is identified by its first declaration, so that all its
 *    declarations mean the same variable.
 */
#include <stdlib.h>
#include <string.h>

#include "coalesce/arena.h"
#include "coalesce/front/front.h"

#define NAME_BYTES 1024

/* ---- maps ------------------------------------------------------------------------------------ */

int front_known(const struct front_map *map, CXCursor cursor)
{
	uint32_t at = idtable_find(&map->firsts, clang_hashCursor(cursor));

	while (at != IDTABLE_NONE && !clang_equalCursors(map->entries[at].cursor, cursor))
		at = map->entries[at].next;
	return at == IDTABLE_NONE ? CO_NONE : map->entries[at].value;
}

bool front_map_add(struct front *f, struct front_map *map, CXCursor cursor, int value)
{
	uint32_t *first = NULL;

	if (front_room(f, &map->entries, map->count, &map->room, sizeof(*map->entries)))
		first = idtable_at(&map->firsts, clang_hashCursor(cursor));
	if (first == NULL) {
		f->failed = true;
		return false;
	}
	map->entries[map->count] = (struct front_entry){ cursor, value, *first };
	*first = (uint32_t)map->count++;
	return true;
}

void front_map_fini(struct front_map *map)
{
	idtable_fini(&map->firsts);
	free(map->entries);
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *front_keep(struct front *f, CXString string)
{
	const char *text = clang_getCString(string), *kept = NULL;

	if (text == NULL)
		text = "";
	if (!f->failed)
		kept = co_text_new(f->program, text, strlen(text));
	if (kept == NULL)
		f->failed = true;
	clang_disposeString(string);
	return kept ? kept : "";
}

bool front_is(CXCursor cursor, const char *spelling)
{
	CXString string = clang_getCursorSpelling(cursor);
	const char *text = clang_getCString(string);
	bool equal = text != NULL && strcmp(text, spelling) == 0;

	clang_disposeString(string);
	return equal;
}

static bool is_scope(CXCursor cursor)
{
	switch (cursor.kind) {
	case CXCursor_Namespace: return !clang_Cursor_isInlineNamespace(cursor);
	case CXCursor_StructDecl:
	case CXCursor_ClassDecl:
	case CXCursor_UnionDecl:
	case CXCursor_ClassTemplate:
	case CXCursor_ClassTemplatePartialSpecialization: return true;
	default: return false;
	}
}

/* Prepends `name` and "::" to the text at the end of `text`, which begins at *start. */
static void put_front(char *text, size_t *start, const char *name)
{
	size_t bytes = strlen(name), joint = text[*start] != '\0' ? 2 : 0;

	if (bytes + joint > *start)
		return;
	*start -= bytes + joint;
	memcpy(text + *start, name, bytes);
	memcpy(text + *start + bytes, "::", joint);
}

static const char *path(struct front *f, CXCursor cursor, const char *last, bool arguments)
{
	char text[NAME_BYTES];
	size_t start = NAME_BYTES - 1;
	unsigned int steps;
	const char *kept;

	text[start] = '\0';
	put_front(text, &start, last);
	cursor = clang_getCursorSemanticParent(cursor);
	for (steps = 0; steps < 64 && !clang_Cursor_isNull(cursor) && !clang_isInvalid(cursor.kind);
	     steps++, cursor = clang_getCursorSemanticParent(cursor)) {
		CXString string = arguments ? clang_getCursorDisplayName(cursor)
					    : clang_getCursorSpelling(cursor);
		const char *name = clang_getCString(string);

		if (is_scope(cursor))
			put_front(text, &start,
				  name && *name && *name != '(' ? name : "(anonymous)");
		clang_disposeString(string);
	}
	kept = f->failed ? NULL : co_text_new(f->program, text + start, NAME_BYTES - 1 - start);
	if (kept == NULL)
		f->failed = true;
	return kept ? kept : "";
}

const char *front_name(struct front *f, CXCursor cursor)
{
	return path(f, cursor, front_keep(f, clang_getCursorSpelling(cursor)), false);
}

/* One argument of a template. */
static const char *argument(struct front *f, CXCursor cursor, unsigned int i)
{
	switch (clang_Cursor_getTemplateArgumentKind(cursor, i)) {
	case CXTemplateArgumentKind_Type:
		return front_keep(
			f, clang_getTypeSpelling(clang_Cursor_getTemplateArgumentType(cursor, i)));
	case CXTemplateArgumentKind_Integral: {
		char *text =
			f->failed
				? NULL
				: co_arena_print(f->program->arena, "%lld",
						 clang_Cursor_getTemplateArgumentValue(cursor, i));

		if (text == NULL)
			f->failed = true;
		return text ? text : "";
	}
	default: return "...";
	}
}

const char *front_printed(struct front *f, CXCursor cursor)
{
	const char *name = front_keep(f, clang_getCursorSpelling(cursor));
	int count = clang_Cursor_getNumTemplateArguments(cursor), i;
	char *text;

	for (i = 0; i < count && !f->failed; i++) {
		text = co_arena_print(f->program->arena, "%s%s%s%s", name, i ? ", " : "<",
				      argument(f, cursor, (unsigned int)i),
				      i + 1 == count ? ">" : "");
		if (text == NULL)
			f->failed = true;
		else
			name = text;
	}
	return path(f, cursor, name, true);
}

/* ---- functions ------------------------------------------------------------------------------- */

bool front_is_function(enum CXCursorKind kind)
{
	return kind == CXCursor_FunctionDecl || kind == CXCursor_CXXMethod ||
	       kind == CXCursor_Constructor || kind == CXCursor_Destructor ||
	       kind == CXCursor_ConversionFunction || kind == CXCursor_FunctionTemplate;
}

CXCursor front_root(CXCursor function)
{
	unsigned int steps;

	for (steps = 0; steps < 64; steps++) {
		CXCursor template = clang_getSpecializedCursorTemplate(function);

		if (clang_Cursor_isNull(template))
			break;
		function = template;
	}
	return clang_getCanonicalCursor(function);
}

struct search {
	enum CXCursorKind kind;
	bool found;
};

static enum CXChildVisitResult look(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct search *search = data;

	(void)parent;
	search->found = cursor.kind == search->kind;
	return search->found ? CXChildVisit_Break : CXChildVisit_Continue;
}

bool front_has_attribute(CXCursor cursor, enum CXCursorKind attribute)
{
	struct search search = { attribute, false };

	clang_visitChildren(cursor, look, &search);
	return search.found;
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool front_is_lambda(CXType type)
{
	CXString spelling = clang_getTypeSpelling(clang_getCanonicalType(type));
	const char *text = clang_getCString(spelling);
	bool is = text != NULL && strstr(text, "(lambda at") != NULL;

	clang_disposeString(spelling);
	return is;
}

/* Allocators are not analyzed, even if their body is visible. */
static bool is_allocator(CXCursor cursor)
{
	CXString string = clang_getCursorSpelling(cursor);
	const char *name = clang_getCString(string);
	bool is = name != NULL && (strcmp(name, "malloc") == 0 || strcmp(name, "free") == 0 ||
				   strcmp(name, "mam_kmalloc") == 0 ||
				   starts(name, "mam_kmalloc_") || starts(name, "mam_kfree") ||
				   starts(name, "mam_cmalloc") || starts(name, "mam_cfree"));

	clang_disposeString(string);
	return is;
}

bool front_has_error(const struct front *f, CXCursor cursor)
{
	struct front_place begin =
		front_expanded(clang_getRangeStart(clang_getCursorExtent(cursor)));
	struct front_place end = front_end(cursor);
	size_t i;

	for (i = 0; i < f->error_count; i++)
		if (begin.file != NULL && clang_File_isEqual(f->errors[i].file, begin.file) &&
		    f->errors[i].offset >= begin.offset && f->errors[i].offset <= end.offset)
			return true;
	return false;
}

static bool has_body(CXCursor cursor)
{
	return front_has_attribute(cursor, CXCursor_CompoundStmt) ||
	       front_has_attribute(cursor, CXCursor_CXXTryStmt);
}

/* Its effects are recorded where it is created: front_escape(). */
static bool is_lambda(CXCursor cursor)
{
	return front_is_lambda(clang_getCursorType(clang_getCursorSemanticParent(cursor)));
}

/* Another file may contain the definition that is used. */
static bool is_weak(CXCursor cursor)
{
	CXPrintingPolicy policy;
	CXString string;
	const char *text;
	bool is;

	if (!front_has_attribute(cursor, CXCursor_UnexposedAttr))
		return false;
	policy = clang_getCursorPrintingPolicy(cursor);
	clang_PrintingPolicy_setProperty(policy, CXPrintingPolicy_TerseOutput, 1);
	string = clang_getCursorPrettyPrinted(cursor, policy);
	text = clang_getCString(string);
	is = text == NULL || strstr(text, "__((weak") != NULL;
	clang_disposeString(string);
	clang_PrintingPolicy_dispose(policy);
	return is;
}

int front_function(struct front *f, CXCursor cursor)
{
	CXCursor definition = clang_getCursorDefinition(cursor);
	int function;

	if (f->failed || clang_Cursor_isNull(definition) || !front_is_function(definition.kind))
		return CO_NONE;
	function = front_known(&f->functions, definition);
	if (function != CO_NONE)
		return function;
	if (clang_Location_isInSystemHeader(clang_getCursorLocation(definition)) ||
	    is_allocator(definition) ||
	    (is_lambda(definition) && !front_has_closure(f, definition)) ||
	    clang_CXXMethod_isDefaulted(definition) || front_has_error(f, definition) ||
	    (is_weak(definition) && !front_has_attribute(definition, CXCursor_CUDAGlobalAttr)) ||
	    !has_body(definition))
		return CO_NONE;
	function = co_function_new(f->program);
	if (function == CO_NONE) {
		f->failed = true;
		return CO_NONE;
	}
	if (!front_map_add(f, &f->functions, definition, function) ||
	    !front_room(f, &f->definitions, (size_t)function, &f->definition_room,
			sizeof(*f->definitions)))
		return CO_NONE;
	f->definitions[function] = definition;
	return function;
}

/* ---- variables ------------------------------------------------------------------------------- */

void front_declare_known(struct front *f, int variable)
{
	while (!f->failed && (size_t)variable >= f->declared_room)
		(void)front_room(f, &f->declared, f->declared_room, &f->declared_room,
				 sizeof(*f->declared));
	if (!f->failed)
		f->declared[variable] = true;
}

bool front_is_declared(const struct front *f, int variable)
{
	return (size_t)variable < f->declared_room && f->declared[variable];
}

bool front_own(CXCursor cursor)
{
	CXSourceLocation first = clang_getCursorLocation(clang_getCanonicalCursor(cursor));

	return front_expanded(first).file != NULL && !clang_Location_isInSystemHeader(first);
}

static bool is_builtin(CXCursor cursor)
{
	static const char *const names[] = { "threadIdx", "blockIdx", "blockDim", "gridDim",
					     "warpSize" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (front_is(cursor, names[i]))
			return !front_own(cursor);
	return false;
}

/* An array may have the qualifier itself, or its elements may. */
static bool is_said(CXType type, unsigned int (*qualifier)(CXType))
{
	unsigned int steps;

	type = clang_getCanonicalType(type);
	for (steps = 0; steps < 64 && type.kind != CXType_Invalid; steps++) {
		if (qualifier(type))
			return true;
		type = clang_getCanonicalType(clang_getArrayElementType(type));
	}
	return false;
}

static enum co_home home(CXCursor cursor, bool inside)
{
	CXType type = clang_getCursorType(cursor);

	if (cursor.kind == CXCursor_ParmDecl)
		return CO_PARAMETER;
	if (!inside && is_builtin(cursor))
		return CO_BUILTIN;
	if (front_has_attribute(cursor, CXCursor_CUDASharedAttr))
		return CO_SHARED;
	if (front_has_attribute(cursor, CXCursor_CUDAConstantAttr))
		return CO_CONSTANT;
	if (inside && !clang_Cursor_hasVarDeclGlobalStorage(cursor))
		return CO_LOCAL;
	/* No code may write to it; in a class, except to mutable members. */
	return is_said(type, clang_isConstQualifiedType) &&
			       !is_said(type, clang_isVolatileQualifiedType) &&
			       !front_is_record(type) && !front_is_dependent(type)
		       ? CO_CONSTANT
		       : CO_GLOBAL;
}

/* A number or a pointer. */
bool front_is_number(enum CXTypeKind kind)
{
	return kind == CXType_Enum || kind == CXType_Pointer ||
	       (kind >= CXType_FirstBuiltin && kind <= CXType_LastBuiltin && kind != CXType_Void &&
		kind != CXType_Dependent && kind != CXType_Overload);
}

int front_variable(struct front *f, CXCursor cursor)
{
	CXCursor first = clang_getCanonicalCursor(cursor), parent;
	CXType type = clang_getCanonicalType(clang_getCursorType(cursor));
	int index = front_known(&f->variables, first);
	struct co_variable *variable;
	bool inside;

	if (index != CO_NONE || f->failed)
		return index;
	index = co_variable_new(f->program);
	if (index == CO_NONE || !front_map_add(f, &f->variables, first, index)) {
		f->failed = true;
		return CO_NONE;
	}
	parent = clang_getCursorSemanticParent(cursor);
	inside = cursor.kind == CXCursor_ParmDecl || front_is_function(parent.kind);
	variable = &f->program->variables[index];
	variable->name = front_keep(f, clang_getCursorSpelling(cursor));
	variable->home = home(cursor, inside);
	variable->reference =
		type.kind == CXType_LValueReference || type.kind == CXType_RValueReference;
	variable->pointer = variable->reference || type.kind == CXType_Pointer ||
			    type.kind == CXType_MemberPointer;
	variable->plain = front_is_number(
		clang_getCanonicalType(variable->pointer ? clang_getPointeeType(type) : type).kind);
	variable->is_volatile = is_said(type, clang_isVolatileQualifiedType);
	if (variable->home == CO_LOCAL || variable->home == CO_PARAMETER ||
	    variable->home == CO_SHARED)
		variable->owner = inside ? f->function : CO_NONE;
	/* All `extern __shared__` variables are the same memory. */
	if (variable->home == CO_SHARED && clang_Cursor_getStorageClass(cursor) == CX_SC_Extern) {
		variable->addressed = f->has_extern;
		if (f->has_extern)
			f->program->variables[f->first_extern].addressed = true;
		else
			f->first_extern = index;
		f->has_extern = true;
	}
	if (variable->home != CO_LOCAL)
		front_declare_known(f, index);
	return index;
}
