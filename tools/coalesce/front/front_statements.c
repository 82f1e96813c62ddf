/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_statements.c - statements.
 *
 * libclang lists the parts of an `if` or a `for` without identifying absent ones. The text
 * identifies them by the positions of the ";" in its parentheses. If a macro makes this ambiguous,
 * the statement is CO_JUMP.
 *
 * A range-based loop is a loop with a known end if the range is an array, otherwise with an unknown
 * one. A case that is not in the switch's own list of statements is a jump into another statement:
 * then nothing is known of the whole switch. Nothing is known of a function with labels either.
 */
#include <string.h>

#include "coalesce/front/front.h"

static struct co_node *sequence_of(struct front *f, CXCursor cursor, struct co_node *a,
				   struct co_node *b)
{
	struct co_node *node = front_wrap(f, CO_SEQUENCE, cursor, a);

	if (b != NULL)
		front_add(f, node, b);
	return node;
}

/* Nothing is known of which threads reach it, its parts, or the code after it. */
static struct co_node *between_jumps(struct front *f, CXCursor cursor, struct co_node *node)
{
	struct co_node *all = sequence_of(f, cursor, front_node(f, CO_JUMP, cursor), node);

	front_add(f, all, front_node(f, CO_JUMP, cursor));
	return all;
}

/* All of its parts, in an order that may be wrong. */
static struct co_node *jumbled(struct front *f, CXCursor cursor)
{
	struct co_node *node = front_node(f, CO_SEQUENCE, cursor);
	struct front_kids kids = front_kids(f, cursor);
	size_t i;

	front_escape(f, cursor);
	front_add(f, node, front_node(f, CO_UNKNOWN, cursor));
	for (i = 0; i < kids.count && !f->failed; i++) {
		CXCursor kid = front_kid(f, kids, i);

		if (kid.kind == CXCursor_VarDecl)
			front_add(f, node, front_declaration(f, kid));
		else if (clang_isExpression(kid.kind) || clang_isStatement(kid.kind))
			front_add(f, node, front_statement(f, kid));
	}
	front_kids_drop(f, kids);
	return between_jumps(f, cursor, node);
}

static struct co_node *block(struct front *f, CXCursor cursor, bool cases)
{
	struct co_node *node = front_node(f, CO_SEQUENCE, cursor);
	struct front_kids kids = front_kids(f, cursor);
	size_t base = f->scope_count, i;

	for (i = 0; i < kids.count && !f->failed; i++) {
		f->case_here = cases;
		front_add(f, node, front_statement(f, front_kid(f, kids, i)));
	}
	f->case_here = false;
	front_kids_drop(f, kids);
	front_leave(f, node, base, cursor);
	f->scope_count = base;
	return node;
}

static struct co_node *declarations(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_kids(f, cursor);
	struct co_node *node = NULL, *next;
	size_t i;

	for (i = 0; i < kids.count && !f->failed; i++) {
		CXCursor kid = front_kid(f, kids, i);

		if (kid.kind == CXCursor_VarDecl) {
			next = front_declaration(f, kid);
		} else if (kid.kind == CXCursor_StructDecl || kid.kind == CXCursor_ClassDecl ||
			   kid.kind == CXCursor_UnionDecl) {
			front_escape(f, kid); /* its members have initial values */
			continue;
		} else if (kid.kind == CXCursor_UnexposedDecl) {
			/* Structured bindings: names for parts of a value. */
			front_escape(f, kid);
			next = front_unknown(f, kid);
		} else {
			continue;
		}
		if (node != NULL && node->kind == CO_SEQUENCE)
			front_add(f, node, next);
		else
			node = node ? sequence_of(f, cursor, node, next) : next;
	}
	front_kids_drop(f, kids);
	return node ? node : front_nothing(f, cursor);
}

/* ---- if, switch ------------------------------------------------------------------------------ */

/* The number and positions of the ";" in the parentheses after the word at a cursor's begin. */
static bool semicolons(struct front *f, CXCursor cursor, unsigned int at[2], size_t *count)
{
	struct front_place begin = front_begin(cursor);
	const struct front_text *text = front_text(f, begin.file);
	size_t token = front_token(text, begin.offset), closes;

	*count = 0;
	if (token == FRONT_NOWHERE)
		return false;
	token++;
	if (front_token_is(text, token, "constexpr"))
		token++;
	if (!front_token_is(text, token, "("))
		return false;
	closes = front_token_closes(text, token);
	if (closes == FRONT_NOWHERE)
		return false;
	for (token++; token < closes; token++) {
		if (front_token_is(text, token, "(") || front_token_is(text, token, "{") ||
		    front_token_is(text, token, "[")) {
			token = front_token_closes(text, token);
			if (token == FRONT_NOWHERE)
				return false;
		} else if (front_token_is(text, token, ";")) {
			if (*count == 2)
				return false;
			at[(*count)++] = text->tokens[token].begin;
		}
	}
	return true;
}

/*
 * In a macro the text is not available. But a condition is bool, or the number of a switch. The
 * part before it is a statement, or, if it is an expression, it is hardly ever bool.
 */
static bool is_plain(const struct front *f, struct front_kids kids)
{
	CXCursor first = front_kid(f, kids, 0), second = front_kid(f, kids, 1);

	if (!clang_isExpression(first.kind))
		return false;
	return kids.count == 2 ||
	       (clang_getCanonicalType(clang_getCursorType(first)).kind == CXType_Bool &&
		(!clang_isExpression(second.kind) ||
		 clang_getCanonicalType(clang_getCursorType(second)).kind != CXType_Bool));
}

/*
 * The parts before the condition of an if, switch or while: at most two, an initial statement and a
 * variable. False: their number does not match the text.
 */
static bool before_condition(struct front *f, CXCursor cursor, struct front_kids kids, size_t *next,
			     struct co_node *into)
{
	unsigned int at[2];
	size_t count;

	*next = 0;
	if (front_begins_in_macro(f, cursor))
		return is_plain(f, kids);
	if (!semicolons(f, cursor, at, &count) || count > 1)
		return false;
	if (count == 1) {
		CXCursor kid = front_kid(f, kids, 0);
		struct front_place begin =
			front_expanded(clang_getRangeStart(clang_getCursorExtent(kid)));

		if (begin.file == NULL || begin.offset >= at[0] || kids.count < 3)
			return false;
		front_add(f, into, front_statement(f, kid));
		(*next)++;
	}
	if (front_kid(f, kids, *next).kind == CXCursor_VarDecl)
		front_add(f, into, front_declaration(f, front_kid(f, kids, (*next)++)));
	return true;
}

/* Scopes that were opened before a statement end after it. */
static struct co_node *with_before(struct front *f, CXCursor cursor, struct co_node *before,
				   struct co_node *node, size_t base)
{
	bool alone = !f->failed && before->first == NULL && f->scope_count == base;

	if (alone)
		return node;
	front_add(f, before, node);
	front_leave(f, before, base, cursor);
	f->scope_count = base;
	return before;
}

static struct co_node *conditional(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_kids(f, cursor);
	struct co_node *before = front_node(f, CO_SEQUENCE, cursor), *node;
	size_t base = f->scope_count, next, left;

	if (!before_condition(f, cursor, kids, &next, before) || kids.count < next + 2 ||
	    kids.count > next + 3 || !clang_isExpression(front_kid(f, kids, next).kind)) {
		front_kids_drop(f, kids);
		f->scope_count = base;
		return jumbled(f, cursor);
	}
	left = kids.count - next;
	node = front_wrap(f, CO_IF, cursor, front_expression(f, front_kid(f, kids, next)));
	front_add(f, node, front_statement(f, front_kid(f, kids, next + 1)));
	front_add(f, node,
		  left == 3 ? front_statement(f, front_kid(f, kids, next + 2))
			    : front_nothing(f, cursor));
	front_kids_drop(f, kids);
	return with_before(f, cursor, before, node, base);
}

static struct co_node *switches(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_kids(f, cursor);
	struct co_node *before = front_node(f, CO_SEQUENCE, cursor), *node;
	size_t base = f->scope_count, next, break_base = f->break_base;
	unsigned int wild = f->wild_cases;
	CXCursor body;

	if (!before_condition(f, cursor, kids, &next, before) || kids.count != next + 2) {
		front_kids_drop(f, kids);
		f->scope_count = base;
		return jumbled(f, cursor);
	}
	node = front_wrap(f, CO_SWITCH, cursor, front_expression(f, front_kid(f, kids, next)));
	body = front_kid(f, kids, next + 1);
	front_kids_drop(f, kids);
	f->break_base = f->scope_count;
	f->case_here = true;
	front_add(f, node,
		  body.kind == CXCursor_CompoundStmt ? block(f, body, true)
						     : front_statement(f, body));
	f->case_here = false;
	f->break_base = break_base;
	if (f->wild_cases != wild)
		node = between_jumps(f, cursor, node);
	return with_before(f, cursor, before, node, base);
}

/* The value of a case is a constant, and its last part is the statement. */
static struct co_node *case_of(struct front *f, CXCursor cursor, bool here)
{
	struct front_kids kids = front_parts(f, cursor);
	struct co_node *node, *inner;

	f->case_here = here;
	inner = kids.count ? front_statement(f, front_kid(f, kids, kids.count - 1))
			   : front_nothing(f, cursor);
	front_kids_drop(f, kids);
	if (here)
		return front_wrap(f, CO_CASE, cursor, inner);
	f->wild_cases++;
	node = sequence_of(f, cursor, front_node(f, CO_JUMP, cursor), inner);
	return node;
}

/* ---- loops ----------------------------------------------------------------------------------- */

static struct co_node *body(struct front *f, CXCursor cursor)
{
	size_t break_base = f->break_base, continue_base = f->continue_base;
	struct co_node *node;

	f->break_base = f->continue_base = f->scope_count;
	node = front_statement(f, cursor);
	f->break_base = break_base;
	f->continue_base = continue_base;
	return node;
}

static struct co_node *loop(struct front *f, CXCursor cursor, struct co_node *before,
			    struct co_node *condition, struct co_node *step, struct co_node *inner)
{
	struct co_node *node = front_wrap(f, CO_LOOP, cursor, before);

	front_add(f, node, condition);
	front_add(f, node, step);
	front_add(f, node, inner);
	return node;
}

/* while (T x = ...): each iteration sets x anew. */
static struct co_node *while_declares(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_kids(f, cursor);
	CXCursor declared = front_kid(f, kids, 0), value;
	CXCursor truth = front_kid(f, kids, 1), inner = front_kid(f, kids, 2);
	int variable = front_variable(f, declared);
	struct co_node *declare, *set, *node;

	front_kids_drop(f, kids);
	value = clang_Cursor_getVarDeclInitializer(declared);
	if (f->failed || clang_Cursor_isNull(value) || !clang_isExpression(truth.kind) ||
	    f->program->variables[variable].reference ||
	    !front_is_number(clang_getCanonicalType(clang_getCursorType(declared)).kind))
		return jumbled(f, cursor);
	declare = front_node(f, CO_DECLARE, declared);
	declare->variable = variable;
	front_declare_known(f, variable);
	node = front_node(f, CO_VARIABLE, declared);
	node->variable = variable;
	set = front_wrap(f, CO_ASSIGN, declared, node);
	front_add(f, set, front_expression(f, value));
	set = front_wrap(f, CO_MIX, declared, set);
	front_add(f, set, front_expression(f, truth));
	node = loop(f, cursor, front_nothing(f, cursor), set, front_nothing(f, cursor),
		    body(f, inner));
	return sequence_of(f, cursor, declare, node);
}

static struct co_node *while_loop(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	CXCursor condition = front_kid(f, kids, 0), inner = front_kid(f, kids, 1), declared;
	struct co_node *truth;

	front_kids_drop(f, kids);
	kids = front_kids(f, cursor);
	declared = front_kid(f, kids, 0);
	front_kids_drop(f, kids);
	if (kids.count == 3 && declared.kind == CXCursor_VarDecl)
		return while_declares(f, cursor);
	if (kids.count != 2 || !clang_isExpression(condition.kind))
		return jumbled(f, cursor);
	truth = front_expression(f, condition);
	return loop(f, cursor, front_nothing(f, cursor), truth, front_nothing(f, cursor),
		    body(f, inner));
}

static struct co_node *do_loop(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	CXCursor inner = front_kid(f, kids, 0), condition = front_kid(f, kids, 1);
	struct co_node *made, *node;

	front_kids_drop(f, kids);
	if (kids.count != 2 || !clang_isExpression(condition.kind))
		return jumbled(f, cursor);
	made = body(f, inner);
	node = loop(f, cursor, front_nothing(f, cursor), front_expression(f, condition),
		    front_nothing(f, cursor), made);
	node->do_first = true;
	return node;
}

/* Which of the four parts each child is. False: ambiguous. */
static bool assign_parts(struct front *f, CXCursor cursor, struct front_kids kids, int part[4])
{
	bool macro = front_begins_in_macro(f, cursor);
	unsigned int at[2];
	size_t count, i;

	memset(part, -1, 4 * sizeof(part[0]));
	if (kids.count == 0 || kids.count > 4)
		return false;
	part[3] = (int)kids.count - 1;
	for (i = 0; i < kids.count; i++)
		if (front_kid(f, kids, i).kind == CXCursor_VarDecl)
			return false; /* a condition that declares a variable */
	if (kids.count == 4) {
		for (i = 0; i < 3; i++)
			part[i] = (int)i;
		return true;
	}
	if (macro || !semicolons(f, cursor, at, &count) || count != 2)
		return false;
	for (i = 0; i + 1 < kids.count; i++) {
		struct front_place begin = front_expanded(
			clang_getRangeStart(clang_getCursorExtent(front_kid(f, kids, i))));
		int which = begin.offset < at[0] ? 0 : begin.offset < at[1] ? 1 : 2;

		if (begin.file == NULL || part[which] >= 0)
			return false;
		part[which] = (int)i;
	}
	return true;
}

static struct co_node *for_loop(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_kids(f, cursor);
	struct co_node *made[4] = { NULL, NULL, NULL, NULL }, *node, *before;
	size_t base = f->scope_count;
	int part[4], i;
	static const int order[4] = { 0, 1, 3, 2 };

	if (!assign_parts(f, cursor, kids, part)) {
		front_kids_drop(f, kids);
		return jumbled(f, cursor);
	}
	for (i = 0; i < 4; i++) {
		int which = order[i];
		CXCursor kid;

		if (part[which] < 0) {
			made[which] = front_nothing(f, cursor);
			continue;
		}
		kid = front_kid(f, kids, (size_t)part[which]);
		made[which] = which == 0   ? front_statement(f, kid)
			      : which == 3 ? body(f, kid)
					   : front_expression(f, kid);
	}
	front_kids_drop(f, kids);
	node = loop(f, cursor, made[0], made[1], made[2], made[3]);
	if (f->scope_count == base)
		return node;
	before = front_node(f, CO_SEQUENCE, cursor);
	return with_before(f, cursor, before, node, base);
}

static struct co_node *range_loop(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_kids(f, cursor);
	CXCursor variable = front_kid(f, kids, 0), range = front_kid(f, kids, 1);
	CXCursor inner = front_kid(f, kids, 2);
	struct co_node *values, *declare, *all, *node;
	size_t base = f->scope_count;
	bool array;
	int index;

	front_kids_drop(f, kids);
	if (kids.count != 3 || variable.kind != CXCursor_VarDecl || !clang_isExpression(range.kind))
		return jumbled(f, cursor);
	array = clang_getArraySize(clang_getCanonicalType(clang_getCursorType(range))) > 0;
	values = front_expression(f, range);
	index = front_variable(f, variable);
	if (f->failed)
		return values;
	if (!array || f->program->variables[index].reference)
		front_addressed(f, values);
	declare = front_node(f, CO_DECLARE, variable);
	declare->variable = index;
	front_declare_known(f, index);
	if (array) {
		struct co_node *element = front_wrap(f, CO_LOAD, range, values);

		front_add(f, element, front_node(f, CO_VALUE, range));
		front_add(f, declare, element);
	} else {
		front_add(f, declare, front_wrap(f, CO_UNKNOWN, range, values));
	}
	front_open(f, index, clang_getCursorType(variable));
	all = sequence_of(f, cursor, declare, body(f, inner));
	front_leave(f, all, base, cursor);
	f->scope_count = base;
	node = loop(f, cursor, front_nothing(f, cursor),
		    front_node(f, array ? CO_VALUE : CO_UNKNOWN, range), front_nothing(f, cursor),
		    all);
	/* break and continue also destroy the variable, which is not modeled */
	return front_record(f, clang_getCursorType(variable)) & FRONT_ENDS
		       ? between_jumps(f, cursor, node)
		       : node;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static struct co_node *leave_by(struct front *f, CXCursor cursor, enum co_kind kind, size_t base)
{
	struct co_node *all;

	if (f->scope_count <= base)
		return front_node(f, kind, cursor);
	all = front_node(f, CO_SEQUENCE, cursor);
	front_leave(f, all, base, cursor);
	front_add(f, all, front_node(f, kind, cursor));
	return all;
}

static struct co_node *returns(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	CXCursor kid = front_kid(f, kids, 0);
	struct co_node *node = front_node(f, CO_RETURN, cursor), *value = NULL;

	front_kids_drop(f, kids);
	if (kids.count > 0)
		value = front_expression(f, kid);
	if (f->scope_count > 0) {
		struct co_node *all = front_node(f, CO_MIX, cursor);

		if (value != NULL)
			front_add(f, all, value);
		front_leave(f, all, 0, cursor);
		value = all;
	}
	front_add(f, node, value ? value : front_nothing(f, cursor));
	return node;
}

/* Returns any value. */
static struct co_node *asm_call(struct front *f, CXCursor cursor)
{
	struct co_node *node = front_node(f, CO_CALL, cursor);

	node->name = "asm";
	return node;
}

/* Operands that are places may be written. */
static struct co_node *assembly(struct front *f, CXCursor cursor)
{
	static const char *const leaving[] = { "exit", "ret", "trap", "bra", "goto", "brx", NULL };
	struct co_node *all = front_node(f, CO_SEQUENCE, cursor);
	bool plain = front_only_values(f, cursor);
	struct co_node *unknown = plain ? asm_call(f, cursor) : front_node(f, CO_UNKNOWN, cursor);
	struct front_kids kids = front_parts(f, cursor);
	size_t i;

	for (i = 0; i < kids.count && !f->failed; i++) {
		struct co_node *operand = front_expression(f, front_kid(f, kids, i));

		front_add(f, unknown, operand);
	}
	front_add(f, all, unknown);
	for (i = 0; i < kids.count && !f->failed; i++) {
		CXCursor kid = front_kid(f, kids, i);
		struct co_node *assign;

		if (kid.kind == CXCursor_UnexposedExpr || !clang_isExpression(kid.kind))
			continue;
		assign = front_wrap(f, CO_ASSIGN, cursor, front_expression(f, kid));
		front_add(f, assign,
			  plain ? asm_call(f, cursor) : front_node(f, CO_UNKNOWN, cursor));
		front_add(f, all, assign);
	}
	front_kids_drop(f, kids);
	if (!plain && front_mentions(f, cursor, leaving))
		return between_jumps(f, cursor, all);
	return all;
}

static struct co_node *ends_thread(struct front *f, CXCursor cursor, const char *name)
{
	struct co_node *node = front_node(f, CO_RETURN, cursor);
	struct co_node *value = front_expression(f, cursor);

	f->jumped = false;
	node->name = name;
	if (!f->failed && value->kind == CO_CALL)
		value->kind = CO_MIX, value->name = NULL;
	front_add(f, node, value);
	return node;
}

static struct co_node *label(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	CXCursor kid = front_kid(f, kids, 0);

	front_kids_drop(f, kids);
	f->labels = true;
	return kids.count == 1 ? sequence_of(f, cursor, front_node(f, CO_JUMP, cursor),
					     front_statement(f, kid))
			       : jumbled(f, cursor);
}

static struct co_node *statement(struct front *f, CXCursor cursor, bool case_here)
{
	struct front_kids kids;
	const char *name;
	CXCursor kid;

	switch ((int)cursor.kind) {
	case CXCursor_CompoundStmt: return block(f, cursor, false);
	case CXCursor_DeclStmt: return declarations(f, cursor);
	case CXCursor_NullStmt: return front_nothing(f, cursor);
	case CXCursor_IfStmt: return conditional(f, cursor);
	case CXCursor_SwitchStmt: return switches(f, cursor);
	case CXCursor_CaseStmt:
	case CXCursor_DefaultStmt: return case_of(f, cursor, case_here);
	case CXCursor_ForStmt: return for_loop(f, cursor);
	case CXCursor_WhileStmt: return while_loop(f, cursor);
	case CXCursor_DoStmt: return do_loop(f, cursor);
	case CXCursor_CXXForRangeStmt: return range_loop(f, cursor);
	case CXCursor_BreakStmt: return leave_by(f, cursor, CO_BREAK, f->break_base);
	case CXCursor_ContinueStmt: return leave_by(f, cursor, CO_CONTINUE, f->continue_base);
	case CXCursor_ReturnStmt: return returns(f, cursor);
	case CXCursor_GCCAsmStmt:
	case CXCursor_MSAsmStmt: return assembly(f, cursor);
	case CXCursor_UnexposedStmt: /* with attributes */
		kids = front_parts(f, cursor);
		kid = front_kid(f, kids, 0);
		front_kids_drop(f, kids);
		return kids.count == 1 ? front_statement(f, kid) : jumbled(f, cursor);
	case CXCursor_GotoStmt: f->labels = true; return front_node(f, CO_JUMP, cursor);
	case CXCursor_IndirectGotoStmt: f->labels = true; return jumbled(f, cursor);
	case CXCursor_LabelStmt: return label(f, cursor);
	default: break;
	}
	if (!clang_isExpression(cursor.kind))
		return jumbled(f, cursor);
	name = front_ends_thread(f, cursor);
	return name ? ends_thread(f, cursor, name) : front_expression(f, cursor);
}

struct co_node *front_statement(struct front *f, CXCursor cursor)
{
	bool jumped = f->jumped, case_here = f->case_here;
	struct co_node *node;

	f->jumped = f->case_here = false;
	if (f->depth >= FRONT_DEEPEST) {
		front_escape(f, cursor);
		f->labels = true;
		return front_node(f, CO_UNKNOWN, cursor);
	}
	f->depth++;
	node = statement(f, cursor, case_here);
	f->depth--;
	if (f->jumped && !f->failed)
		node = between_jumps(f, cursor, node);
	f->jumped = jumped;
	return node;
}
