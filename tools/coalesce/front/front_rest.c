/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_rest.c - code outside of the functions that were read: lambdas, initializers of members and
 * of variables outside of functions, default arguments, functions that front_function() does not
 * take, and text that an `if constexpr` discards.
 *
 * 1. All declarations of the source and of its own headers are visited. Code is of one of three
 *    kinds: host code, which is left out; code of a function that was read; and the rest. Code that
 *    may run on the device belongs to one of the last two.
 * 2. Any thread may call the functions that the rest refers to. This reads more functions, so it is
 *    repeated until no more are found.
 * 3. An allocation or a free that is in no function's tree is added as a call. It belongs to a
 *    function that stands for its declaration and may be called by any thread. So it is listed, and
 *    rewritten as the call of a single thread where possible, and nothing is claimed of it.
 *
 * Bound: linear to the source and its own headers for each round; mostly two rounds.
 *
 * Invariant: after it, the program has each call of malloc, free, mam_kmalloc, new and delete in
 * the file that libclang shows and that may run on the device. front_uses.c finds the others by
 * their names.
 */
#include <stdlib.h>
#include <string.h>

#include "coalesce/front/front.h"

/* Kinds of a call's key; a new of a class's own may be another new in another instance. */
enum { KEY_NEW, KEY_OWN_NEW, KEY_DELETE, KEY_CALL, KEY_KINDS };

enum code_kind { CODE_HOST, CODE_READ, CODE_REST };

struct pass {
	struct front *f;
	bool collects;   /* the last time: calls are added */
	uint64_t *calls; /* of all functions that were read; sorted */
	size_t count, room;
	uint64_t *added; /* the calls that were added */
	size_t added_count, added_room;
	struct front_map made; /* from declarations to functions made for them */
};

struct code {
	struct pass *pass;
	enum code_kind kind;
	bool device;  /* in a function or a lambda that may run on the device */
	bool pattern; /* of a template whose instances were read instead */
	CXCursor of;  /* the declaration that the code belongs to */
};

/* ---- calls that were read -------------------------------------------------------------------- */

static uint64_t key_of(enum co_kind kind, size_t begin)
{
	unsigned int number = kind == CO_NEW       ? KEY_NEW
			      : kind == CO_UNKNOWN ? KEY_OWN_NEW
			      : kind == CO_DELETE  ? KEY_DELETE
						   : KEY_CALL;

	return (uint64_t)begin * KEY_KINDS + number;
}

static void add_calls(struct front *f, const struct co_node *node)
{
	bool is_call = node->kind == CO_CALL || node->kind == CO_NEW || node->kind == CO_DELETE ||
		       (node->kind == CO_UNKNOWN && node->own);
	const struct co_node *child;

	if (is_call && node->in_file && !node->elsewhere &&
	    front_room(f, &f->calls, f->call_count, &f->call_room, sizeof(*f->calls)))
		f->calls[f->call_count++] = key_of(node->kind, node->begin);
	for (child = node->first; child != NULL; child = child->next)
		add_calls(f, child);
}

static int by_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void find_calls(struct front *f)
{
	size_t i;

	f->call_count = 0;
	for (i = 0; i < f->program->function_count && !f->failed; i++)
		if (f->program->functions[i].body != NULL)
			add_calls(f, f->program->functions[i].body);
	if (f->call_count > 1)
		qsort(f->calls, f->call_count, sizeof(*f->calls), by_key);
}

bool front_has_call(const struct front *f, enum co_kind kind, size_t begin)
{
	uint64_t key = key_of(kind, begin);

	return f->call_count > 0 &&
	       bsearch(&key, f->calls, f->call_count, sizeof(key), by_key) != NULL;
}

/* ---- added calls ----------------------------------------------------------------------------- */

/* The function that stands for the code of a declaration. CO_NONE: memory ran out. */
static int function_for(struct front *f, CXCursor of)
{
	int index = front_known(&f->made, of);
	const char *name, *printed;
	struct co_function *function;
	struct co_node *body;

	if (index != CO_NONE || f->failed)
		return index;
	name = front_name(f, of);
	printed = front_printed(f, of);
	body = front_node(f, CO_SEQUENCE, of);
	index = f->failed ? CO_NONE : co_function_new(f->program);
	if (index == CO_NONE || !front_map_add(f, &f->made, of, index) ||
	    !front_room(f, &f->definitions, (size_t)index, &f->definition_room,
			sizeof(*f->definitions))) {
		f->failed = true;
		return CO_NONE;
	}
	f->definitions[index] = clang_getNullCursor();
	function = &f->program->functions[index];
	function->name = name;
	function->printed = printed;
	function->in_file = function->is_virtual = function->is_rest = true;
	function->line = front_expanded(clang_getCursorLocation(of)).line;
	function->body = body;
	return index;
}

void front_add_call(struct front *f, CXCursor of, struct co_node *call)
{
	int index = function_for(f, of);

	if (index != CO_NONE)
		front_add(f, f->program->functions[index].body, call);
}

static void add(const struct code *code, struct co_node *node)
{
	struct pass *pass = code->pass;
	uint64_t key = key_of(node->kind, node->begin);
	bool own = node->kind == CO_NEW && front_has_call(pass->f, CO_UNKNOWN, node->begin);
	size_t i;

	/* A new that is own in one instance of a template is not the other instances' new. */
	if (!node->in_file || (front_has_call(pass->f, node->kind, node->begin) && !own))
		return;
	/* libclang shows a class before the members of its type, and again with each of them. */
	for (i = 0; i < pass->added_count; i++)
		if (pass->added[i] == key)
			return;
	if (!front_room(pass->f, &pass->added, pass->added_count, &pass->added_room,
			sizeof(*pass->added)))
		return;
	pass->added[pass->added_count++] = key;
	front_add_call(pass->f, code->of, node);
}

/* "malloc" and so on: CUDA's, or mam's. NULL: another function, or a function of the source. */
static const char *name_of(struct front *f, CXCursor function)
{
	static const char *const names[] = { "malloc", "free", "mam_kmalloc", "mam_kfree" };
	const char *name;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (function.kind != CXCursor_FunctionDecl || !front_is(function, names[i]))
			continue;
		name = front_name(f, function);
		if (strncmp(name, "std::", 5) == 0)
			name += 5;
		if (strcmp(name, names[i]) == 0 && (i >= 2 || !front_own(function)))
			return names[i];
	}
	return NULL;
}

/* The name of the callee, if it allocates or frees. */
static const char *called(struct front *f, CXCursor cursor)
{
	CXCursor at = clang_getCursorReferenced(cursor);
	struct front_kids kids;

	if (clang_Cursor_isNull(at) || clang_isInvalid(at.kind)) {
		kids = front_parts(f, cursor);
		at = clang_getCursorReferenced(front_strip(front_kid(f, kids, 0)));
		front_kids_drop(f, kids);
	}
	/* Which of several functions is called is not known: front_uses() finds the name. */
	if (at.kind == CXCursor_OverloadedDeclRef && clang_getNumOverloadedDecls(at) > 0 &&
	    !f->own_family)
		at = clang_getOverloadedDecl(at, 0);
	return name_of(f, at);
}

/* A reference that a macro makes, perhaps of parts of names, is not in the text. */
static void look_at_macro(struct front *f, CXCursor cursor)
{
	CXCursor at = clang_getCursorReferenced(cursor);
	const char *name;

	if (cursor.kind != CXCursor_DeclRefExpr || !front_is_function(at.kind) ||
	    !front_begins_in_macro(f, cursor))
		return;
	name = front_keep(f, clang_getCursorSpelling(at));
	if (front_is_family(name) && !front_own(at))
		front_put_use(f, clang_getCursorLocation(cursor), name, "is in a macro");
}

static void collect(const struct code *code, CXCursor cursor)
{
	struct front *f = code->pass->f;
	struct co_node *node = NULL;
	const char *name;

	look_at_macro(f, cursor);
	if (!front_is_evaluated(f, cursor))
		return;
	if (cursor.kind == CXCursor_CXXNewExpr) {
		node = front_new_alone(f, cursor);
	} else if (cursor.kind == CXCursor_CXXDeleteExpr) {
		node = front_node(f, CO_DELETE, cursor);
	} else if (cursor.kind == CXCursor_CallExpr) {
		name = called(f, cursor);
		if (name != NULL) {
			node = front_node(f, CO_CALL, cursor);
			node->name = name;
		}
	}
	if (node != NULL && !f->failed)
		add(code, node);
}

/* reference targets of the rest */

static bool is_constexpr(CXCursor cursor);

/* A function of a header is part of the rest itself, unless it is an instance of a template. */
static void may_be_called(struct front *f, CXCursor cursor)
{
	CXCursor definition = clang_getCursorDefinition(cursor);
	int function;

	if (clang_Cursor_isNull(definition))
		return;
	function = front_known(&f->functions, definition);
	if (function == CO_NONE && (front_is_for_device(definition) || is_constexpr(definition)) &&
	    (front_in_file(f, definition) ||
	     !clang_equalCursors(front_root(definition), clang_getCanonicalCursor(definition))))
		function = front_function(f, definition);
	if (function != CO_NONE && !front_has_attribute(definition, CXCursor_CUDAGlobalAttr))
		f->program->functions[function].is_virtual = true;
}

void front_may_be_called(struct front *f, CXCursor at)
{
	unsigned int count, i;

	if (front_is_function(at.kind)) {
		may_be_called(f, at);
	} else if (at.kind == CXCursor_OverloadedDeclRef) {
		count = clang_getNumOverloadedDecls(at);
		for (i = 0; i < count; i++)
			may_be_called(f, clang_getOverloadedDecl(at, i));
	}
}

static CXType deleted(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	CXCursor kid = front_kid(f, kids, 0);

	front_kids_drop(f, kids);
	return clang_getPointeeType(clang_getCanonicalType(clang_getCursorType(kid)));
}

/* Functions of the source that a system header's class may call are lent to it: front_lent.c. */
static bool is_of_system(CXType type)
{
	CXCursor class = clang_getTypeDeclaration(clang_getCanonicalType(type));

	return clang_Location_isInSystemHeader(clang_getCursorLocation(class)) != 0;
}

/* Objects that begin or end there call functions that libclang does not show. */
static void refer_to_hidden(struct front *f, CXCursor cursor)
{
	CXType type = clang_getCursorType(cursor);

	if (cursor.kind == CXCursor_CXXDeleteExpr)
		type = deleted(f, cursor);
	else if (cursor.kind != CXCursor_VarDecl && !clang_isExpression(cursor.kind))
		return;
	if (type.kind != CXType_Invalid && front_is_dependent(type))
		f->loose_operators = true;
	if ((cursor.kind == CXCursor_VarDecl || cursor.kind == CXCursor_CallExpr ||
	     cursor.kind == CXCursor_CXXDeleteExpr) &&
	    front_is_record(type) && !is_of_system(type) &&
	    (front_record(f, type) & (FRONT_BEGINS | FRONT_ENDS)))
		f->loose_operators = true;
}

/* A call of a member of an object, or of a class, whose type is not known. */
static void refer_to_member(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	CXCursor callee = front_strip(front_kid(f, kids, 0));
	CXCursor at = clang_getCursorReferenced(callee);

	front_kids_drop(f, kids);
	if ((callee.kind == CXCursor_MemberRefExpr || callee.kind == CXCursor_DeclRefExpr) &&
	    (clang_Cursor_isNull(at) || clang_isInvalid(at.kind)))
		front_loose_name(f, front_last_word(f, callee), CO_NONE, front_nothing(f, cursor));
}

static void refer(const struct code *code, CXCursor cursor)
{
	struct front *f = code->pass->f;

	/* A declaration refers to itself. */
	if (clang_isExpression(cursor.kind) || cursor.kind == CXCursor_OverloadedDeclRef)
		front_may_be_called(f, clang_getCursorReferenced(cursor));
	if (!code->device)
		return;
	refer_to_hidden(f, cursor);
	if (cursor.kind == CXCursor_CallExpr)
		refer_to_member(f, cursor);
}

/* ---- kinds of code --------------------------------------------------------------------------- */

/* Tokens `from` to `to` contain a word that lets code run on the device, or a macro that may. */
static bool has_device_words(struct front *f, const struct front_text *text, size_t from, size_t to)
{
	static const char *const words[] = { "constexpr", "consteval", "__attribute__",
					     "__declspec" };
	size_t i, k;

	for (i = from; i < to && i < text->count; i++) {
		if (front_in_macro(f, clang_getLocationForOffset(f->unit, text->file,
								 text->tokens[i].begin)))
			return true;
		for (k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			if (front_token_is(text, i, words[k]))
				return true;
	}
	return false;
}

/* The "{" of a body: the first one at `token` or after it, outside of "()" and "[]". */
static size_t find_body(const struct front_text *text, size_t token)
{
	for (; text != NULL && token < text->count; token++) {
		if (front_token_is(text, token, "{") || front_token_is(text, token, ";"))
			return token;
		if (front_token_is(text, token, "(") || front_token_is(text, token, "["))
			token = front_token_closes(text, token);
		if (token == FRONT_NOWHERE)
			break;
	}
	return FRONT_NOWHERE;
}

/* nvcc may let the device call it although it has no attribute for that. */
static bool is_constexpr(CXCursor cursor)
{
	CXPrintingPolicy policy = clang_getCursorPrintingPolicy(cursor);
	CXString string;
	const char *text;
	bool is;

	clang_PrintingPolicy_setProperty(policy, CXPrintingPolicy_TerseOutput, 1);
	string = clang_getCursorPrettyPrinted(cursor, policy);
	text = clang_getCString(string);
	is = text == NULL || strstr(text, "constexpr ") != NULL ||
	     strstr(text, "consteval ") != NULL;
	clang_disposeString(string);
	clang_PrintingPolicy_dispose(policy);
	return is;
}

/* A lambda in a host function, whose "[" is at `token`, runs on the host without such a word. */
static bool is_host_lambda(struct front *f, const struct front_text *text, size_t token)
{
	size_t closes = front_token_closes(text, token), body;

	body = closes == FRONT_NOWHERE ? closes : find_body(text, closes + 1);
	return body != FRONT_NOWHERE && front_token_is(text, body, "{") &&
	       !has_device_words(f, text, closes + 1, body);
}

static bool runs_on_host(struct front *f, CXCursor lambda)
{
	struct front_place begin = front_begin(lambda);
	const struct front_text *text = front_text(f, begin.file);
	size_t token = front_token(text, begin.offset);

	return !front_begins_in_macro(f, lambda) && front_token_is(text, token, "[") &&
	       is_host_lambda(f, text, token);
}

/* An error may hide a lambda or a class from libclang: search for their first words. */
static bool may_hide_code(struct front *f, CXCursor cursor)
{
	static const char *const before[] = { "(", ",", "=", "{", "}",  ";",  "?",
					      ":", "&", "|", "!", "&&", "||", "return" };
	struct front_place begin =
		front_expanded(clang_getRangeStart(clang_getCursorExtent(cursor)));
	const struct front_text *text = front_text(f, begin.file);
	unsigned int end = front_end(cursor).offset;
	size_t i, k;

	if (!front_has_error(f, cursor) || text == NULL)
		return false;
	for (i = front_token_from(text, begin.offset);
	     i != FRONT_NOWHERE && i < text->count && text->tokens[i].begin < end; i++) {
		if (front_token_is(text, i, "struct") || front_token_is(text, i, "class") ||
		    front_token_is(text, i, "union"))
			return true;
		for (k = 0; i > 0 && k < sizeof(before) / sizeof(before[0]); k++)
			if (front_token_is(text, i, "[") &&
			    front_token_is(text, i - 1, before[k]) && !is_host_lambda(f, text, i))
				return true;
	}
	return false;
}

static bool is_mam(CXCursor cursor)
{
	CXString string = clang_getCursorSpelling(cursor);
	const char *name = clang_getCString(string);
	bool is = name != NULL && strncmp(name, "mam_", 4) == 0;

	clang_disposeString(string);
	return is;
}

static enum code_kind kind_of_function(const struct code *around, CXCursor cursor)
{
	struct front *f = around->pass->f;
	CXCursor definition = clang_getCursorDefinition(cursor);

	if (is_mam(cursor) && !front_in_file(f, cursor))
		return CODE_HOST;
	if (front_is_for_device(cursor))
		return (!clang_Cursor_isNull(definition) &&
			front_known(&f->functions, definition) != CO_NONE) ||
				       front_has_instance(f, cursor)
			       ? CODE_READ
			       : CODE_REST;
	/* A method of a class in a function of the device runs there. */
	if (around->device || is_constexpr(cursor) || may_hide_code(f, cursor))
		return CODE_REST;
	return CODE_HOST;
}

/* A global operator that replaces the compiler's, like those of collective.cuh. */
static void look_at_operator(struct front *f, CXCursor cursor)
{
	static const char *const names[] = { "operator new", "operator new[]", "operator delete",
					     "operator delete[]" };
	CXType type = clang_getCursorType(cursor), argument;
	int count = clang_getNumArgTypes(type), i;
	size_t k = 0;

	while (k < sizeof(names) / sizeof(names[0]) && !front_is(cursor, names[k]))
		k++;
	if (cursor.kind != CXCursor_FunctionDecl || k == sizeof(names) / sizeof(names[0]) ||
	    !clang_isCursorDefinition(cursor))
		return;
	for (i = 1; i < count; i++) {
		argument = clang_getCanonicalType(clang_getArgType(type, (unsigned int)i));
		if (argument.kind == CXType_LValueReference)
			argument = clang_getPointeeType(argument);
		argument = clang_getCanonicalType(argument);
		if (argument.kind != CXType_ULong && argument.kind != CXType_UInt &&
		    !front_is(clang_getTypeDeclaration(argument), "nothrow_t") &&
		    !front_is(clang_getTypeDeclaration(argument), "align_val_t"))
			return;
	}
	front_put_use(f, clang_getCursorLocation(cursor), names[k], "is defined by the source");
}

static void put_region(struct front *f, CXCursor cursor, bool host)
{
	CXSourceRange range = clang_getCursorExtent(cursor);
	struct front_place begin = front_expanded(clang_getRangeStart(range));
	struct front_place end = front_expanded(clang_getRangeEnd(range));

	if (begin.file == NULL || end.file == NULL || !clang_File_isEqual(begin.file, end.file) ||
	    !front_room(f, &f->regions, f->region_count, &f->region_room, sizeof(*f->regions)))
		return;
	f->regions[f->region_count++] =
		(struct front_region){ begin.file, begin.offset, end.offset, host };
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_class(enum CXCursorKind kind)
{
	return kind == CXCursor_StructDecl || kind == CXCursor_ClassDecl ||
	       kind == CXCursor_UnionDecl || kind == CXCursor_ClassTemplate ||
	       kind == CXCursor_ClassTemplatePartialSpecialization;
}

/* The code in a declaration or a lambda. False: the cursor belongs to the code around it. */
static bool inner_code(const struct code *around, CXCursor cursor, struct code *inner)
{
	struct front *f = around->pass->f;

	*inner = *around;
	if (front_is_function(cursor.kind)) {
		inner->kind = kind_of_function(around, cursor);
		inner->device = inner->kind != CODE_HOST;
		inner->pattern =
			inner->kind == CODE_READ &&
			front_known(&f->functions, clang_getCursorDefinition(cursor)) == CO_NONE;
		inner->of = cursor;
		if (around->pass->collects)
			look_at_operator(f, cursor);
	} else if (is_class(cursor.kind)) {
		inner->kind = CODE_REST;
		inner->of = cursor;
	} else if (cursor.kind == CXCursor_LambdaExpr) {
		inner->kind = around->kind == CODE_HOST && runs_on_host(f, cursor) ? CODE_HOST
			      : around->kind == CODE_READ && front_lambda_is_read(f, cursor)
				      ? CODE_READ
				      : CODE_REST;
		inner->device = inner->kind != CODE_HOST;
	} else if (cursor.kind == CXCursor_ParmDecl ||
		   cursor.kind == CXCursor_NonTypeTemplateParameter) {
		/* A caller evaluates it. */
		inner->kind = around->kind == CODE_READ ? CODE_REST : around->kind;
		return around->kind == CODE_READ;
	} else if (cursor.kind == CXCursor_FieldDecl ||
		   (cursor.kind == CXCursor_VarDecl && !around->device &&
		    around->kind == CODE_REST)) {
		inner->of = cursor;
		return true;
	} else {
		return false;
	}
	if (around->pass->collects)
		put_region(f, cursor, inner->kind == CODE_HOST);
	return true;
}

static enum CXChildVisitResult visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
	const struct code *code = data;
	struct code inner;

	(void)parent;
	if (code->pass->f->failed)
		return CXChildVisit_Break;
	if (clang_isDeclaration(cursor.kind) &&
	    clang_Location_isInSystemHeader(clang_getCursorLocation(cursor)))
		return CXChildVisit_Continue;
	/* Operands of sizeof and the like are not evaluated; `using` calls nothing. */
	if (cursor.kind == CXCursor_UnaryExpr || cursor.kind == CXCursor_UsingDeclaration)
		return CXChildVisit_Continue;
	if (code->kind == CODE_REST && !code->pass->collects)
		refer(code, cursor);
	/* In an instance the types are known: front_function.c lends what it passes. */
	if (!code->pass->collects && !code->pattern)
		front_lend(code->pass->f, cursor, code->kind == CODE_HOST);
	if (code->kind != CODE_HOST && code->pass->collects)
		collect(code, cursor);
	if (!inner_code(code, cursor, &inner))
		return CXChildVisit_Recurse;
	clang_visitChildren(cursor, visit, &inner);
	return CXChildVisit_Continue;
}

void front_rest(struct front *f, size_t *next)
{
	struct pass pass = { .f = f };
	struct code outside = { &pass, CODE_REST, false, false, clang_getNullCursor() };
	size_t before;

	do {
		before = f->program->function_count;
		clang_visitChildren(clang_getTranslationUnitCursor(f->unit), visit, &outside);
		front_read_all(f, next);
	} while (!f->failed && f->program->function_count > before);
	find_calls(f);
	pass.collects = true;
	if (!f->failed)
		clang_visitChildren(clang_getTranslationUnitCursor(f->unit), visit, &outside);
	free(pass.added);
	find_calls(f);
}
