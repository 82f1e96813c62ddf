/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_operators.c - unary and binary operators. libclang 14 does not identify the operator.
 *
 * Outside of macros the text identifies it. Unary: the first token, unless the operand begins there
 * as well: then it is x++ or x--. Binary: the token before the right operand. If that operand comes
 * from another macro use than the left one, it is the token before that use. If this token is not
 * an operator, the text does not identify it.
 *
 * Otherwise the types identify it, as far as needed, unless they depend on a template:
 * - && and || yield bool and have operands converted to bool. Of the other operators only `=` and
 *   the comma may. Compared numbers were converted to int, or a wider type, first.
 * - Operands that are places (a name, a member, an element) are read by an implicit cast, unless
 *   they are assigned to, incremented or decremented, or the left operand of a comma. So an
 *   operator with such a cast on the left is none of these. Without a cast, it may be one of them:
 *   it is represented as an assignment that also reads the old value. A comma of two operands
 *   without effect may be mistaken for that.
 * - *p has the type that p points to; &x has a type that points to x's type.
 */
#include <string.h>

#include "coalesce/front/front.h"

enum kind { UNKNOWN, ASSIGNS, COMMA, LAZY, TO_MEMBER, OTHER };

static const struct {
	const char *text;
	enum kind is;
} operators[] = {
	{ "=", ASSIGNS }, { "&&", LAZY },      { "||", LAZY },       { "and", LAZY },
	{ "or", LAZY },   { ".*", TO_MEMBER }, { "->*", TO_MEMBER }, { "+", OTHER },
	{ "-", OTHER },   { "*", OTHER },      { "/", OTHER },       { "%", OTHER },
	{ "&", OTHER },   { "|", OTHER },      { "^", OTHER },       { "<<", OTHER },
	{ ">>", OTHER },  { "<", OTHER },      { ">", OTHER },       { "<=", OTHER },
	{ ">=", OTHER },  { "==", OTHER },     { "!=", OTHER },      { "<=>", OTHER },
	{ "xor", OTHER }, { "bitand", OTHER }, { "bitor", OTHER },   { "not_eq", OTHER },
	{ ",", COMMA },
};

/* The kind of the token before the one at `place`. */
static enum kind in_front(struct front *f, struct front_place place)
{
	const struct front_text *text = front_text(f, place.file);
	size_t token = front_token(text, place.offset), i;

	if (token == FRONT_NOWHERE || token == 0)
		return UNKNOWN;
	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (front_token_is(text, token - 1, operators[i].text))
			return operators[i].is;
	return UNKNOWN;
}

static const char *word_of(struct front *f, const struct front_text *text, size_t token)
{
	const struct front_token *at = &text->tokens[token];
	const char *kept =
		f->failed ? NULL
			  : co_text_new(f->program, text->text + at->begin, at->end - at->begin);

	f->failed |= kept == NULL;
	return kept;
}

static CXType type_of(CXCursor cursor)
{
	return clang_getCanonicalType(clang_getCursorType(cursor));
}

static CXCursor bare(CXCursor cursor)
{
	return cursor.kind == CXCursor_ParenExpr ? front_strip_parentheses(cursor) : cursor;
}

static CXCursor only_part(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	CXCursor kid = front_kid(f, kids, kids.count ? kids.count - 1 : 0);

	front_kids_drop(f, kids);
	return kid;
}

static bool same_type(CXType a, CXType b)
{
	return clang_equalTypes(clang_getCanonicalType(a), clang_getCanonicalType(b)) != 0;
}

/* Certainly a value and not a place: nothing can be assigned to it. */
static bool is_value(struct front *f, CXCursor cursor, unsigned int depth)
{
	CXCursor kid, at;

	cursor = bare(cursor);
	if (depth > 8)
		return false;
	switch ((int)cursor.kind) {
	case CXCursor_UnexposedExpr:
	case CXCursor_IntegerLiteral:
	case CXCursor_FloatingLiteral:
	case CXCursor_CharacterLiteral:
	case CXCursor_CXXBoolLiteralExpr:
	case CXCursor_CXXNullPtrLiteralExpr:
	case CXCursor_GNUNullExpr:
	case CXCursor_UnaryExpr:
	case CXCursor_CXXThisExpr:
	case CXCursor_CXXNewExpr: return true;
	case CXCursor_CStyleCastExpr:
	case CXCursor_CXXStaticCastExpr:
	case CXCursor_CXXReinterpretCastExpr:
	case CXCursor_CXXConstCastExpr:
	case CXCursor_CXXFunctionalCastExpr: return is_value(f, only_part(f, cursor), depth + 1);
	case CXCursor_DeclRefExpr:
		at = clang_getCursorReferenced(cursor);
		if (clang_Cursor_isNull(at) || clang_isInvalid(at.kind))
			return is_value(f, only_part(f, cursor), depth + 1);
		return at.kind == CXCursor_EnumConstantDecl ||
		       at.kind == CXCursor_NonTypeTemplateParameter;
	case CXCursor_CallExpr: {
		CXType result;

		at = clang_getCursorReferenced(cursor);
		result = clang_getCanonicalType(clang_getCursorResultType(at));
		return front_is_function(at.kind) && result.kind != CXType_LValueReference &&
		       result.kind != CXType_RValueReference && result.kind != CXType_Invalid;
	}
	case CXCursor_UnaryOperator:
		kid = only_part(f, cursor);
		return is_value(f, kid, depth + 1) &&
		       !(type_of(kid).kind == CXType_Pointer &&
			 same_type(clang_getPointeeType(type_of(kid)), type_of(cursor)));
	case CXCursor_BinaryOperator: {
		struct front_kids kids = front_parts(f, cursor);

		at = front_kid(f, kids, 0);
		kid = front_kid(f, kids, 1);
		front_kids_drop(f, kids);
		/* The value of a comma is its right operand. */
		return kids.count == 2 && is_value(f, at, depth + 1) && is_value(f, kid, depth + 1);
	}
	default: return false;
	}
}

bool front_is_value(struct front *f, CXCursor cursor)
{
	return is_value(f, cursor, 0);
}

static enum kind by_types(struct front *f, CXCursor cursor, CXCursor left, CXCursor right)
{
	if (type_of(right).kind == CXType_MemberPointer)
		return TO_MEMBER;
	if (!is_value(f, left, 0))
		return UNKNOWN;
	return type_of(cursor).kind == CXType_Bool && type_of(left).kind == CXType_Bool &&
			       type_of(right).kind == CXType_Bool
		       ? LAZY
		       : OTHER;
}

static enum kind which(struct front *f, CXCursor cursor, CXCursor left, CXCursor right)
{
	struct front_place place =
		front_expanded(clang_getRangeStart(clang_getCursorExtent(right)));
	bool from_macro = front_begins_in_macro(f, right);
	enum kind is = UNKNOWN;

	if (!from_macro ||
	    (!front_same_place(front_expanded(clang_getRangeStart(clang_getCursorExtent(left))),
			       place) &&
	     !front_begins_in_macro(f, left)))
		is = in_front(f, place);
	return is == UNKNOWN ? by_types(f, cursor, left, right) : is;
}

bool front_is_dependent(CXType type)
{
	CXString spelling;
	bool depends;

	type = clang_getCanonicalType(type);
	if (type.kind != CXType_Unexposed)
		return type.kind == CXType_Dependent || type.kind == CXType_Invalid ||
		       type.kind == CXType_Overload;
	/* clang's own header defines threadIdx.x in this way. */
	spelling = clang_getTypeSpelling(type);
	depends = strcmp(clang_getCString(spelling), "<pseudo-object type>") != 0;
	clang_disposeString(spelling);
	return depends;
}

static struct co_node *two(struct front *f, enum co_kind kind, CXCursor cursor,
			   struct co_node *left, struct co_node *right)
{
	struct co_node *node = front_wrap(f, kind, cursor, left);

	front_add(f, node, right);
	return node;
}

/* `reads` and may change the left operand; the result is unknown. */
static struct co_node *any_operator(struct front *f, CXCursor cursor, struct co_node *left,
				    struct co_node *right)
{
	struct co_node *maybe = two(f, CO_LAZY, cursor, front_node(f, CO_UNKNOWN, cursor), right);
	struct co_node *node = two(f, CO_ASSIGN, cursor, left, maybe);

	front_addressed(f, left);
	node->reads = true;
	return node;
}

/* An operator of dependent types may be a user-defined function. */
static struct co_node *loose(struct front *f, CXCursor cursor, struct co_node *left,
			     struct co_node *right)
{
	struct co_node *node = front_wrap(f, CO_CALL, cursor, left);

	node->name = "operator";
	f->loose_operators = true;
	front_addressed(f, left);
	if (right != NULL) {
		front_addressed(f, right);
		front_add(f, node, right);
	}
	return node;
}

struct co_node *front_loose(struct front *f, CXCursor cursor, struct co_node *child)
{
	return loose(f, cursor, child, NULL);
}

/* The token before an operand; NULL: it is in a macro. */
static const char *operator_text(struct front *f, CXCursor operand)
{
	struct front_place place = front_begin(operand);
	const struct front_text *text = front_text(f, place.file);
	size_t token = front_token(text, place.offset);

	if (front_begins_in_macro(f, operand) || token == FRONT_NOWHERE || token == 0)
		return NULL;
	return word_of(f, text, token - 1);
}

static const char *comparison(const char *word)
{
	static const char *const words[] = { "<", ">", "<=", ">=", "==", "!=" };
	size_t i;

	for (i = 0; word != NULL && i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i]) == 0)
			return words[i];
	return NULL;
}

/* Integers that are too wide to overflow soon. */
static bool is_wide(CXCursor cursor)
{
	switch (type_of(cursor).kind) {
	case CXType_Int:
	case CXType_UInt:
	case CXType_Long:
	case CXType_ULong:
	case CXType_LongLong:
	case CXType_ULongLong:
	case CXType_Pointer: return true;
	default: return false;
	}
}

static bool is_pointer(CXCursor cursor)
{
	return type_of(cursor).kind == CXType_Pointer || type_of(cursor).kind == CXType_NullPtr;
}

/* NULL, nullptr, 0; not through a name. */
static bool is_null(CXCursor cursor)
{
	cursor = front_strip(cursor);
	return cursor.kind == CXCursor_GNUNullExpr || cursor.kind == CXCursor_IntegerLiteral ||
	       cursor.kind == CXCursor_CXXNullPtrLiteralExpr;
}

struct co_node *front_binary(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	CXCursor left = front_kid(f, kids, 0), right = front_kid(f, kids, 1);
	struct co_node *node = NULL, *a, *b;
	enum kind is;
	bool dependent, compares_to_null;

	if (kids.count != 2) {
		front_kids_drop(f, kids);
		return front_unknown(f, cursor);
	}
	compares_to_null = type_of(cursor).kind == CXType_Bool && is_pointer(left) &&
			   is_pointer(right) && (is_null(left) || is_null(right));
	is = which(f, cursor, left, right);
	dependent = front_is_dependent(clang_getCursorType(left)) ||
		    front_is_dependent(clang_getCursorType(right));
	a = front_expression(f, left);
	b = front_expression(f, right);
	front_kids_drop(f, kids);
	if (is == UNKNOWN)
		node = any_operator(f, cursor, a, b);
	else if (is == TO_MEMBER)
		node = loose(f, cursor, a, b);
	else if (dependent && is == ASSIGNS)
		node = two(f, CO_ASSIGN, cursor, a, loose(f, cursor, b, NULL));
	else if (dependent && is != LAZY)
		node = loose(f, cursor, a, b);
	else if (dependent)
		node = two(f, CO_LAZY, cursor, loose(f, cursor, a, NULL), b);
	else if (is == ASSIGNS)
		node = two(f, CO_ASSIGN, cursor, a, b);
	else
		node = two(f, is == LAZY ? CO_LAZY : CO_MIX, cursor, a, b);
	if (node->kind == CO_MIX && !dependent)
		node->name = comparison(operator_text(f, right));
	if (node->kind == CO_MIX && compares_to_null)
		node->null = CO_NULL_TESTED;
	return node;
}

struct co_node *front_compound_assign(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	bool dependent = false;
	struct co_node *node, *value;
	size_t i;

	if (kids.count != 2) {
		front_kids_drop(f, kids);
		return front_unknown(f, cursor);
	}
	for (i = 0; i < kids.count; i++)
		dependent |= front_is_dependent(clang_getCursorType(front_kid(f, kids, i)));
	node = front_wrap(f, CO_ASSIGN, cursor, front_expression(f, front_kid(f, kids, 0)));
	node->reads = true;
	if (is_wide(front_kid(f, kids, 0)))
		node->name = operator_text(f, front_kid(f, kids, 1));
	value = front_expression(f, front_kid(f, kids, 1));
	front_add(f, node, dependent ? loose(f, cursor, value, NULL) : value);
	front_kids_drop(f, kids);
	return node;
}

/* ---- unary ----------------------------------------------------------------------------------- */

static struct co_node *count(struct front *f, CXCursor cursor, struct co_node *operand)
{
	struct co_node *node = two(f, CO_ASSIGN, cursor, operand, front_node(f, CO_VALUE, cursor));

	node->reads = true;
	return node;
}

/* Identified by types, because the operator is in a macro. */
static struct co_node *unary_by_types(struct front *f, CXCursor cursor, CXCursor kid)
{
	CXType type = type_of(cursor), inner = type_of(kid);
	struct co_node *operand;

	if (front_is_dependent(inner) || front_is_dependent(type))
		return loose(f, cursor, front_expression(f, kid), NULL);
	if (inner.kind == CXType_Pointer && same_type(clang_getPointeeType(inner), type))
		return front_typed(front_wrap(f, CO_LOAD, cursor, front_array(f, kid)), cursor);
	operand = front_expression(f, kid);
	if ((type.kind == CXType_Pointer && same_type(clang_getPointeeType(type), inner)) ||
	    type.kind == CXType_MemberPointer) {
		front_addressed(f, operand);
		return operand->kind == CO_VALUE ? operand
						 : front_wrap(f, CO_ADDRESS, cursor, operand);
	}
	if (is_value(f, kid, 0))
		return front_wrap(f, CO_MIX, cursor, operand);
	return count(f, cursor, operand);
}

/* "++" or "--", as prefix or suffix; NULL: it is in a macro. */
static const char *counted(struct front *f, CXCursor cursor, const struct front_text *text,
			   size_t token)
{
	static const char *const words[] = { "++", "--" };
	const char *last = front_ends_in_macro(f, cursor) ? "" : front_last_word(f, cursor);
	size_t i;

	for (i = 0; i < 2; i++)
		if (front_token_is(text, token, words[i]) || strcmp(last, words[i]) == 0)
			return words[i];
	return NULL;
}

struct co_node *front_unary(struct front *f, CXCursor cursor)
{
	struct front_kids kids = front_parts(f, cursor);
	CXCursor kid = front_kid(f, kids, 0);
	struct front_place begin = front_begin(cursor);
	const struct front_text *text = front_text(f, begin.file);
	size_t token = front_token(text, begin.offset);
	struct co_node *operand, *node;
	bool dependent;

	front_kids_drop(f, kids);
	if (kids.count != 1)
		return front_unknown(f, cursor);
	if (token == FRONT_NOWHERE || front_begins_in_macro(f, cursor))
		return unary_by_types(f, cursor, kid);
	dependent = front_is_dependent(clang_getCursorType(kid));
	if (front_same_place(begin, front_begin(kid)) || front_token_is(text, token, "++") ||
	    front_token_is(text, token, "--")) {
		operand = front_expression(f, kid);
		if (dependent)
			front_addressed(f, operand);
		node = count(f, cursor, operand);
		if (is_wide(kid))
			node->name = counted(f, cursor, text, token);
		return node;
	}
	if (front_token_is(text, token, "*") && !dependent)
		return front_typed(front_wrap(f, CO_LOAD, cursor, front_array(f, kid)), cursor);
	operand = front_expression(f, kid);
	if (front_token_is(text, token, "&") || front_token_is(text, token, "bitand")) {
		front_addressed(f, operand);
		if (operand->kind == CO_VALUE) /* a function, whose address is uniform */
			return operand;
		return front_wrap(f, CO_ADDRESS, cursor, operand);
	}
	return dependent ? loose(f, cursor, operand, NULL) : front_wrap(f, CO_MIX, cursor, operand);
}
