/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_uses.c - all places in device code that name malloc, free or another function of CUDA's
 * heap: a free may get memory from any of them, so it is rewritten only if each of them is.
 *
 * 1. The tokens of the source and of its own headers are compared with these names, and with those
 *    of macros that contain them, in as many steps as there are. So nothing is missed that libclang
 *    does not show.
 * 2. Left out are: code of the host (front_rest.c), preprocessor directives, operands that are not
 *    evaluated (sizeof, decltype), members, using-declarations, and other things of that name that
 *    libclang knows: a declaration in the source, or a reference to one.
 * 3. Each remaining place is a use. In the file it may be the name of a call that is rewritten,
 *    which the rewriter decides; in a header, a macro or inline assembly it cannot be.
 *
 * Of text that #if leaves out, only that in functions and classes counts: it may be there for
 * another compiler.
 *
 * Bound: linear to the tokens, and to the regions of code for each use.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "coalesce/arena.h"
#include "coalesce/front/front.h"

static const char *const family[] = { "malloc",
				      "free",
				      "calloc",
				      "realloc",
				      "aligned_alloc",
				      "cudaMalloc",
				      "cudaFree",
				      "__nv_aligned_device_malloc",
				      "__builtin_malloc",
				      "__builtin_calloc",
				      "__builtin_realloc",
				      "__builtin_free",
				      "__builtin_operator_new",
				      "__builtin_operator_delete" };

#define FAMILY (sizeof(family) / sizeof(family[0]))

struct macro {
	const struct front_text *text;
	size_t from, to; /* tokens; the first one is its name */
};

struct names {
	struct front *f;
	struct macro *macros;
	size_t macro_count, macro_room;
	size_t tainted; /* the first so many contain one of the names */
};

bool front_is_family(const char *name)
{
	size_t i;

	for (i = 0; i < FAMILY; i++)
		if (strcmp(name, family[i]) == 0)
			return true;
	return false;
}

static const char *family_token(const struct front_text *text, size_t token)
{
	size_t i;

	for (i = 0; i < FAMILY; i++)
		if (front_token_is(text, token, family[i]))
			return family[i];
	return NULL;
}

/* ---- macros ---------------------------------------------------------------------------------- */

static bool is_same_token(const struct front_text *a, size_t i, const struct front_text *b,
			  size_t j)
{
	unsigned int bytes = a->tokens[i].end - a->tokens[i].begin;

	return bytes == b->tokens[j].end - b->tokens[j].begin &&
	       memcmp(a->text + a->tokens[i].begin, b->text + b->tokens[j].begin, bytes) == 0;
}

static bool is_tainted(const struct names *names, const struct front_text *text, size_t token)
{
	size_t i;

	for (i = 0; i < names->tainted; i++)
		if (is_same_token(names->macros[i].text, names->macros[i].from, text, token))
			return true;
	return false;
}

static enum CXChildVisitResult definition(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct names *names = data;
	CXSourceRange range = clang_getCursorExtent(cursor);
	struct front_place begin, end;
	const struct front_text *text;
	size_t from, to;

	(void)parent;
	if (names->f->failed)
		return CXChildVisit_Break;
	if (cursor.kind != CXCursor_MacroDefinition || clang_Cursor_isMacroBuiltin(cursor) ||
	    clang_Location_isInSystemHeader(clang_getRangeStart(range)))
		return CXChildVisit_Continue;
	begin = front_spelled(clang_getRangeStart(range));
	end = front_spelled(clang_getRangeEnd(range));
	text = front_text(names->f, begin.file);
	from = front_token(text, begin.offset);
	if (from == FRONT_NOWHERE || !front_room(names->f, &names->macros, names->macro_count,
						 &names->macro_room, sizeof(*names->macros)))
		return CXChildVisit_Continue;
	to = front_token_from(text, end.offset);
	names->macros[names->macro_count++] =
		(struct macro){ text, from, to == FRONT_NOWHERE ? text->count : to };
	return CXChildVisit_Continue;
}

static bool contains_name(const struct names *names, const struct macro *macro)
{
	size_t token;

	for (token = macro->from + 1; token < macro->to; token++)
		if (family_token(macro->text, token) || is_tainted(names, macro->text, token))
			return true;
	return false;
}

/* Moves macros that contain a name, or another such macro, to the front. */
static void find_macros(struct names *names)
{
	size_t before, i;

	clang_visitChildren(clang_getTranslationUnitCursor(names->f->unit), definition, names);
	do {
		before = names->tainted;
		for (i = names->tainted; i < names->macro_count; i++) {
			struct macro macro = names->macros[i];

			if (!contains_name(names, &macro))
				continue;
			names->macros[i] = names->macros[names->tainted];
			names->macros[names->tainted++] = macro;
		}
	} while (names->tainted > before);
}

/* ---- location of a token --------------------------------------------------------------------- */

/* The kind of code around a place; NULL: it is outside of functions and classes. */
static const struct front_region *region_at(const struct front *f, CXFile file, unsigned int offset)
{
	const struct front_region *found = NULL, *it;
	size_t i;

	for (i = 0; i < f->region_count; i++) {
		it = &f->regions[i];
		if (offset < it->begin || offset >= it->end || !clang_File_isEqual(it->file, file))
			continue;
		/* The innermost; of two at one place, which a macro creates, the device's. */
		if (found == NULL || it->end - it->begin < found->end - found->begin ||
		    (it->end - it->begin == found->end - found->begin && found->host))
			found = it;
	}
	return found;
}

/* Is it in a line, or in lines that are continued, that begins with "#"? */
static bool is_directive(const struct front_text *text, unsigned int offset)
{
	unsigned int begin = offset;

	for (;;) {
		while (begin > 0 && text->text[begin - 1] != '\n')
			begin--;
		if (begin < 2 || (text->text[begin - 2] != '\\' &&
				  !(begin > 2 && text->text[begin - 2] == '\r' &&
				    text->text[begin - 3] == '\\')))
			break;
		begin--;
	}
	while (begin < offset && strchr(" \t\f\v", text->text[begin]) != NULL)
		begin++;
	return text->text[begin] == '#';
}

static bool is_left_out(struct front *f, CXFile file, unsigned int offset)
{
	CXSourceRangeList *list = clang_getSkippedRanges(f->unit, file);
	bool is = false;
	unsigned int i;

	for (i = 0; list != NULL && i < list->count && !is; i++)
		is = offset >= front_expanded(clang_getRangeStart(list->ranges[i])).offset &&
		     offset < front_expanded(clang_getRangeEnd(list->ranges[i])).offset;
	clang_disposeSourceRangeList(list);
	return is;
}

/* In an operand of sizeof and the like, or in an attribute; not in braces within it. */
static bool is_not_evaluated(const struct front_text *text, size_t token)
{
	static const char *const words[] = { "sizeof",   "alignof",     "_Alignof",     "decltype",
					     "noexcept", "__alignof__", "__typeof__",   "__typeof",
					     "typeof",   "__alignof",   "__attribute__" };
	size_t depth = 0, i, k;

	for (i = token; i > 0; i--) {
		if (front_token_is(text, i - 1, ")") || front_token_is(text, i - 1, "]") ||
		    front_token_is(text, i - 1, "}"))
			depth++;
		else if (front_token_is(text, i - 1, "{") && depth == 0)
			return false;
		else if (front_token_is(text, i - 1, "[") && depth == 0 && i > 1 &&
			 front_token_is(text, i - 2, "["))
			return true;
		else if (front_token_is(text, i - 1, "(") || front_token_is(text, i - 1, "[") ||
			 front_token_is(text, i - 1, "{")) {
			if (depth > 0) {
				depth--;
				continue;
			}
			for (k = 0; i > 1 && k < sizeof(words) / sizeof(words[0]); k++)
				if (front_token_is(text, i - 2, words[k]))
					return true;
		} else if (depth == 0 && front_token_is(text, i - 1, ";"))
			return false;
	}
	return false;
}

bool front_is_evaluated(struct front *f, CXCursor cursor)
{
	struct front_place begin =
		front_expanded(clang_getRangeStart(clang_getCursorExtent(cursor)));
	const struct front_text *text = front_text(f, begin.file);
	size_t token = front_token(text, begin.offset);

	return token == FRONT_NOWHERE || !is_not_evaluated(text, token);
}

/* ---- libclang's declaration of a name -------------------------------------------------------- */

/* All functions that the name may mean belong to the source. */
static bool is_own_set(CXCursor set)
{
	unsigned int count = clang_getNumOverloadedDecls(set), i;

	for (i = 0; i < count; i++)
		if (!front_own(clang_getOverloadedDecl(set, i)))
			return false;
	return count > 0;
}

static bool is_using(const struct front_text *text, size_t token)
{
	for (; token > 0; token--) {
		if (front_token_is(text, token - 1, "using"))
			return true;
		if (front_token_is(text, token - 1, ";") || front_token_is(text, token - 1, "{") ||
		    front_token_is(text, token - 1, "}") || front_token_is(text, token - 1, "(") ||
		    front_token_is(text, token - 1, "="))
			return false;
	}
	return false;
}

static bool is_something_else(struct front *f, const struct front_text *text, size_t token,
			      const char *name)
{
	CXSourceLocation at =
		clang_getLocationForOffset(f->unit, text->file, text->tokens[token].begin);
	CXCursor cursor = clang_getCursor(f->unit, at), referenced;

	if (is_using(text, token))
		return true;
	if (clang_isDeclaration(cursor.kind)) {
		if (!front_is(cursor, name) ||
		    !front_same_place(front_expanded(at),
				      front_expanded(clang_getCursorLocation(cursor))))
			return false;
		return front_own(cursor) || !clang_isCursorDefinition(cursor);
	}
	if (!clang_isExpression(cursor.kind) && !clang_isReference(cursor.kind))
		return false;
	referenced = clang_getCursorReferenced(cursor);
	if (clang_Cursor_isNull(referenced) || clang_isInvalid(referenced.kind)) /* T::free() */
		return cursor.kind == CXCursor_DeclRefExpr && token > 0 &&
		       front_token_is(text, token - 1, "::");
	if (referenced.kind == CXCursor_OverloadedDeclRef)
		return is_own_set(referenced);
	return front_is(referenced, name) && front_own(referenced);
}

/* ---- uses ------------------------------------------------------------------------------------ */

void front_put_use(struct front *f, CXSourceLocation at, const char *name, const char *why)
{
	struct front_place place = front_expanded(at);
	bool in_file = place.file != NULL && clang_File_isEqual(place.file, f->file);
	struct co_use *use = f->failed ? NULL : co_use_new(f->program);

	if (use == NULL) {
		f->failed = true;
		return;
	}
	use->line = place.line;
	use->begin = in_file ? place.offset : 0;
	use->why = why;
	use->name = co_text_new(f->program, name, strlen(name));
	if (!in_file) {
		use->why = "is in a file that is included";
		use->file = front_keep(f, clang_getFileName(place.file));
	}
	f->failed |= use->name == NULL;
}

static void put(struct names *names, const struct front_text *text, size_t token, const char *name,
		const char *why)
{
	front_put_use(
		names->f,
		clang_getLocationForOffset(names->f->unit, text->file, text->tokens[token].begin),
		name, why);
}

/* Is it in code that may run on the device? */
static bool is_device_code(struct front *f, const struct front_text *text, size_t token)
{
	unsigned int offset = text->tokens[token].begin;
	const struct front_region *region = region_at(f, text->file, offset);

	if (region != NULL)
		return !region->host;
	return !is_left_out(f, text->file, offset);
}

static bool has_bytes(const struct front_text *text, size_t token, const char *bytes)
{
	return memmem(text->text + text->tokens[token].begin,
		      text->tokens[token].end - text->tokens[token].begin, bytes,
		      strlen(bytes)) != NULL;
}

/* Inline assembly from its first word; its text is in strings. */
static void look_at_assembly(struct names *names, const struct front_text *text, size_t token)
{
	size_t open = token + 1, close;

	while (open < text->count && open < token + 4 && !front_token_is(text, open, "("))
		open++;
	close = front_token_is(text, open, "(") ? front_token_closes(text, open) : FRONT_NOWHERE;
	for (; close != FRONT_NOWHERE && open < close; open++)
		if (text->text[text->tokens[open].end - 1] == '"' &&
		    (has_bytes(text, open, "malloc") || has_bytes(text, open, "free")) &&
		    is_device_code(names->f, text, open))
			put(names, text, open, "inline assembly", "calls malloc or free");
}

/* A function that is `= delete` is not a delete. */
static bool is_new(const struct front_text *text, size_t token)
{
	if (front_token_is(text, token, "new"))
		return true;
	return front_token_is(text, token, "delete") &&
	       !(token > 0 && front_token_is(text, token - 1, "=") &&
		 front_token_is(text, token + 1, ";"));
}

/* ---- allocations that libclang does not show ------------------------------------------------- */

/* Is there a call in the program whose name is at `token`, perhaps after scopes? */
static bool is_listed(const struct front *f, const struct front_text *text, size_t token,
		      enum co_kind kind)
{
	for (;;) {
		if (front_has_call(f, kind, text->tokens[token].begin))
			return true;
		if (token == 0 || !front_token_is(text, token - 1, "::"))
			return false;
		token--;
		if (front_has_call(f, kind, text->tokens[token].begin))
			return true;
		if (token == 0)
			return false;
		token--;
	}
}

/* Ensures that the call at `token` is in the program, at least as one that cannot be changed. */
static void list(struct front *f, const struct front_text *text, size_t token, enum co_kind kind,
		 const char *name)
{
	size_t open = token + 1;
	CXSourceLocation at =
		clang_getLocationForOffset(f->unit, text->file, text->tokens[token].begin);
	struct co_node *node;

	if (!clang_File_isEqual(text->file, f->file) || is_listed(f, text, token, kind) ||
	    front_in_macro(f, at) || is_left_out(f, text->file, text->tokens[token].begin) ||
	    is_not_evaluated(text, token))
		return;
	if (kind == CO_CALL) {
		/* (malloc)(n) */
		if (token > 0 && front_token_is(text, token - 1, "(") &&
		    front_token_is(text, open, ")"))
			open++;
		if (!front_token_is(text, open, "("))
			return;
	}
	node = f->failed ? NULL : co_node_new(f->program, kind);
	if (node == NULL) {
		f->failed = true;
		return;
	}
	/* Without an end, its text is not what the rewriter expects. */
	node->in_file = true;
	node->begin = node->end = text->tokens[token].begin;
	node->line = front_expanded(at).line;
	node->name = name;
	front_add_call(f, clang_getTranslationUnitCursor(f->unit), node);
}

/* Not new (place) T, nor an operator. */
static bool is_allocating_new(const struct front_text *text, size_t token)
{
	return front_token_is(text, token, "new") && !front_token_is(text, token + 1, "(") &&
	       !(token > 0 && front_token_is(text, token - 1, "operator"));
}

/* A name that contains a line continuation; it is not compared. */
static bool is_continued(const struct front_text *text, size_t token)
{
	char first = text->text[text->tokens[token].begin];

	return (isalpha((unsigned char)first) || first == '_' || first == '\\') &&
	       memchr(text->text + text->tokens[token].begin, '\n',
		      text->tokens[token].end - text->tokens[token].begin) != NULL &&
	       text->text[text->tokens[token].end - 1] != '"';
}

static void look_at(struct names *names, const struct front_text *text, size_t token)
{
	struct front *f = names->f;
	const char *name = family_token(text, token);
	unsigned int offset = text->tokens[token].begin;
	char macro[64];

	if (name == NULL && is_tainted(names, text, token)) {
		unsigned int bytes = text->tokens[token].end - offset;

		if (bytes >= sizeof(macro))
			bytes = sizeof(macro) - 1;
		memcpy(macro, text->text + offset, bytes);
		macro[bytes] = '\0';
		if (!is_directive(text, offset) && is_device_code(f, text, token))
			put(names, text, token, macro, "is a macro that contains malloc or free");
		return;
	}
	if (is_continued(text, token) && is_device_code(f, text, token))
		put(names, text, token, "a name", "is continued on the next line");
	if (name == NULL || is_directive(text, offset) || !is_device_code(f, text, token))
		return;
	if ((token > 0 &&
	     (front_token_is(text, token - 1, ".") || front_token_is(text, token - 1, "->"))) ||
	    is_not_evaluated(text, token) || is_something_else(f, text, token, name))
		return;
	put(names, text, token, name, NULL);
	if (strcmp(name, "malloc") == 0)
		list(f, text, token, CO_CALL, "malloc");
}

/* new and delete, and mam_kmalloc(), whose names need not be changed. */
static void look_at_new(struct front *f, const struct front_text *text, size_t token)
{
	if (!clang_File_isEqual(text->file, f->file) ||
	    is_directive(text, text->tokens[token].begin) || !is_device_code(f, text, token))
		return;
	if (is_allocating_new(text, token))
		list(f, text, token, CO_NEW, NULL);
	else if (front_token_is(text, token, "mam_kmalloc"))
		list(f, text, token, CO_CALL, "mam_kmalloc");
	f->program->has_new |= is_new(text, token);
}

static void look_at_file(CXFile file, CXSourceLocation *stack, unsigned int depth,
			 CXClientData data)
{
	struct names *names = data;
	struct front *f = names->f;
	const struct front_text *text;
	size_t i;

	(void)stack;
	(void)depth;
	if (f->failed ||
	    clang_Location_isInSystemHeader(clang_getLocationForOffset(f->unit, file, 0)))
		return;
	text = front_text(f, file);
	for (i = 0; text != NULL && text->tokens != NULL && i < text->count && !f->failed; i++) {
		if (front_token_is(text, i, "asm") || front_token_is(text, i, "__asm__") ||
		    front_token_is(text, i, "__asm"))
			look_at_assembly(names, text, i);
		else if (is_new(text, i) || front_token_is(text, i, "mam_kmalloc"))
			look_at_new(f, text, i);
		else
			look_at(names, text, i);
	}
}

void front_uses(struct front *f)
{
	struct names names = { .f = f };

	find_macros(&names);
	clang_getInclusions(f->unit, look_at_file, &names);
	free(names.macros);
}
