/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_read_text.c - see program_read_text.h.
 *
 * First all functions get their numbers, so that they can call later ones. Then each is read, by
 * recursion. Variable names are searched from the newest to the oldest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program_read_text.h"

struct reader {
	struct co_program *program;
	const char *at;
	unsigned int line;
	int function; /* that is being read; CO_NONE */
	bool included;
	bool failed;
};

static bool fail(struct reader *reader, const char *why)
{
	if (!reader->failed && reader->program)
		fprintf(stderr, "line %u: %s: %.30s\n", reader->line, why, reader->at);
	reader->failed = true;
	return false;
}

static void skip(struct reader *reader)
{
	for (; *reader->at == ' ' || *reader->at == '\n' || *reader->at == '\t'; reader->at++)
		reader->line += *reader->at == '\n';
}

static bool take(struct reader *reader, char c)
{
	skip(reader);
	if (*reader->at != c)
		return false;
	reader->at++;
	return true;
}

static bool more(struct reader *reader)
{
	return !reader->failed && !take(reader, ')') &&
	       (*reader->at || fail(reader, "the text ends"));
}

struct word {
	char text[64];
};

static struct word word_of(struct reader *reader)
{
	struct word word = { "" };
	skip(reader);
	size_t length = strcspn(reader->at, " \n\t()");
	if (!length || length >= sizeof word.text)
		fail(reader, "no word");
	else
		memcpy(word.text, reader->at, length);
	reader->at += length;
	return word;
}

static bool is(const struct word *word, const char *text)
{
	return strcmp(word->text, text) == 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *keep(struct reader *reader, const char *text)
{
	char *kept = co_text_new(reader->program, text, strlen(text));
	if (!kept)
		reader->failed = true;
	return kept ? kept : "";
}

static int find_function(const struct co_program *program, const char *name)
{
	for (size_t i = 0; i < program->function_count; i++)
		if (strcmp(program->functions[i].name, name) == 0)
			return (int)i;
	return CO_NONE;
}

static int add_variable(struct reader *reader, const char *name, enum co_home home, int owner)
{
	char bare[64];
	size_t length = strcspn(name, "*&!^");
	int index = co_variable_new(reader->program);
	if (index == CO_NONE) {
		reader->failed = true;
		return CO_NONE;
	}
	snprintf(bare, sizeof bare, "%.*s", (int)length, name);
	struct co_variable *variable = &reader->program->variables[index];
	variable->name = keep(reader, bare);
	variable->home = home;
	variable->owner = owner;
	variable->reference = strchr(name, '&');
	variable->pointer = strchr(name, '*') || variable->reference;
	variable->is_volatile = strchr(name, '!');
	variable->addressed = strchr(name, '^');
	return index;
}

static int find_variable(struct reader *reader, const char *name)
{
	static const char *const builtin[] = { "threadIdx", "blockIdx", "blockDim",
					       "gridDim",   "warpSize", "laneid" };
	const struct co_program *program = reader->program;
	for (size_t i = program->variable_count; i-- > 0;)
		if (strcmp(program->variables[i].name, name) == 0 &&
		    (program->variables[i].owner == CO_NONE ||
		     program->variables[i].owner == reader->function))
			return (int)i;
	for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)
		if (strcmp(builtin[i], name) == 0)
			return add_variable(reader, name, CO_BUILTIN, CO_NONE);
	fail(reader, "no such variable");
	return CO_NONE;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static struct co_node *node_new(struct reader *reader, enum co_kind kind)
{
	struct co_node *node = co_node_new(reader->program, kind);
	if (!node) {
		reader->failed = true;
		return NULL;
	}
	node->in_file = !reader->included;
	node->line = reader->line;
	node->begin = (size_t)(reader->at - reader->program->text);
	node->end = node->begin + 1;
	return node;
}

static struct co_node *read_node(struct reader *reader);

static void read_children(struct reader *reader, struct co_node *node)
{
	while (more(reader)) {
		struct co_node *child = read_node(reader);
		if (child)
			co_node_add(node, child);
	}
	if (node)
		node->end = (size_t)(reader->at - reader->program->text);
}

static struct co_node *variable_node(struct reader *reader, const char *name)
{
	struct co_node *node = node_new(reader, CO_VARIABLE);
	int variable = find_variable(reader, name);
	if (node)
		node->variable = variable;
	return reader->failed ? NULL : node;
}

static struct co_node *member_of(struct reader *reader, const char *variable)
{
	struct co_node *node = node_new(reader, CO_MEMBER);
	struct co_node *of = variable_node(reader, variable);
	if (!node || !of)
		return NULL;
	node->name = "x";
	co_node_add(node, of);
	return node;
}

static struct co_node *read_atom(struct reader *reader)
{
	skip(reader);
	struct reader before = *reader;
	struct word word = word_of(reader);
	struct co_node *node;
	if (reader->failed)
		return NULL;
	if (is(&word, "_"))
		return node_new(&before, CO_NOTHING);
	if (strspn(word.text, "0123456789") == strlen(word.text))
		node = node_new(&before, CO_VALUE);
	else if (is(&word, "tid"))
		node = member_of(&before, "threadIdx");
	else if (is(&word, "bid"))
		node = member_of(&before, "blockIdx");
	else
		node = variable_node(&before, word.text);
	reader->failed |= before.failed;
	if (node)
		node->end = node->begin + strlen(word.text);
	return node;
}

static const struct {
	const char *word;
	enum co_kind kind;
} kinds[] = {
	{ "nothing", CO_NOTHING }, { "sequence", CO_SEQUENCE }, { "declare", CO_DECLARE },
	{ "if", CO_IF },           { "loop", CO_LOOP },         { "loop1", CO_LOOP },
	{ "switch", CO_SWITCH },   { "case", CO_CASE },         { "default", CO_CASE },
	{ "break", CO_BREAK },     { "continue", CO_CONTINUE }, { "return", CO_RETURN },
	{ "end", CO_RETURN },      { "jump", CO_JUMP },         { "member", CO_MEMBER },
	{ "@", CO_LOAD },          { "&", CO_ADDRESS },         { "=", CO_ASSIGN },
	{ "+=", CO_ASSIGN },       { "?", CO_CHOICE },          { "&&", CO_LAZY },
	{ "||", CO_LAZY },         { "call", CO_CALL },         { "malloc", CO_CALL },
	{ "new", CO_NEW },         { "new[]", CO_NEW },         { "delete", CO_DELETE },
	{ "unknown", CO_UNKNOWN }, { "share", CO_DECLARE },     { "own", CO_CALL },
	{ "@!", CO_LOAD },         { "member[]", CO_MEMBER },
};

/* The arguments of a list that follow its first word, in front of its children. */
static void read_head(struct reader *reader, struct co_node *node, const struct word *word)
{
	if (node->kind == CO_DECLARE) {
		bool shared = is(word, "share");
		struct word name = word_of(reader);
		node->variable = add_variable(reader, name.text, shared ? CO_SHARED : CO_LOCAL,
					      reader->function);
	} else if (node->kind == CO_MEMBER) {
		struct word name = word_of(reader);
		node->name = keep(reader, name.text);
	} else if (is(word, "call") || is(word, "own")) {
		struct word name = word_of(reader);
		node->name = keep(reader, name.text);
		node->function = find_function(reader->program, name.text);
	} else if (is(word, "malloc") || is(word, "end") || is(word, "default")) {
		node->name = keep(reader, word->text);
	}
	node->do_first = is(word, "loop1");
	node->null = is(word, "null")   ? CO_NULL_TESTED
		     : is(word, "cast") ? CO_NULL_KEPT
					: CO_NULL_OTHER;
	node->reads = is(word, "+=");
	if (node->reads || (node->kind == CO_MIX && strpbrk(word->text, "<>")))
		node->name = keep(reader, word->text);
	node->array = is(word, "new[]") || is(word, "member[]");
	node->is_volatile = is(word, "@!");
	node->own = is(word, "own");
	node->bytes = node->kind == CO_NEW ? 8 : 0;
}

static struct co_node *read_node(struct reader *reader)
{
	if (!take(reader, '('))
		return read_atom(reader);
	reader->at--;
	struct co_node *node = node_new(reader, CO_MIX);
	reader->at++;
	struct word word = word_of(reader);
	if (!node || reader->failed)
		return NULL;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (is(&word, kinds[i].word))
			node->kind = kinds[i].kind;
	read_head(reader, node, &word);
	read_children(reader, node);
	return reader->failed ? NULL : node;
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool is_function(const struct word *word)
{
	return is(word, "kernel") || is(word, "device") || is(word, "virtual") ||
	       is(word, "included");
}

static int add_function(struct reader *reader, const struct word *kind, const char *name)
{
	int index = co_function_new(reader->program);
	if (index == CO_NONE) {
		reader->failed = true;
		return CO_NONE;
	}
	struct co_function *function = &reader->program->functions[index];
	function->name = function->printed = keep(reader, name);
	function->kernel = is(kind, "kernel");
	function->is_virtual = is(kind, "virtual");
	function->in_file = !is(kind, "included");
	function->line = reader->line;
	return index;
}

static void skip_list(struct reader *reader)
{
	for (int depth = 1; depth && *reader->at; reader->at++) {
		reader->line += *reader->at == '\n';
		depth += (*reader->at == '(') - (*reader->at == ')');
	}
}

static void read_function(struct reader *reader, int index)
{
	int parameters[16];
	size_t count = 0;
	reader->function = index;
	reader->included = !reader->program->functions[index].in_file;
	if (!take(reader, '('))
		fail(reader, "no parameters");
	while (more(reader) && count < 16) {
		struct word name = word_of(reader);
		parameters[count++] = add_variable(reader, name.text, CO_PARAMETER, index);
	}
	char *kept = reader->failed ? NULL
				    : co_text_new(reader->program, (char *)parameters,
						  count * sizeof *parameters);
	struct co_node *body = node_new(reader, CO_SEQUENCE);
	if (!kept || !body) {
		reader->failed = true;
		return;
	}
	read_children(reader, body);
	struct co_function *function = &reader->program->functions[index];
	function->parameters = (int *)(void *)kept;
	function->parameter_count = count;
	function->body = body;
	reader->function = CO_NONE;
	reader->included = false;
}

/* Another instance, from the same text. */
static void read_again(struct reader *reader, int first, const char *text)
{
	struct reader other = *reader;
	struct word kind = { "device" };
	other.at = text;
	other.line = 1;
	int index = add_function(reader, &kind, "again");
	while (!reader->failed && *other.at) {
		take(&other, '(');
		struct word word = word_of(&other), name = word_of(&other);
		if (is_function(&word) && is(&name, reader->program->functions[first].name)) {
			reader->program->functions[index].template_of = first;
			reader->program->functions[index].kernel = is(&word, "kernel");
			read_function(&other, index);
			reader->failed |= other.failed;
			return;
		}
		skip_list(&other);
		skip(&other);
	}
}

/* Numbers first, then the bodies. */
static void read_all(struct reader *reader, const char *text, bool names)
{
	int next = 0;
	reader->at = text;
	reader->line = 1;
	for (skip(reader); *reader->at && !reader->failed; skip(reader)) {
		if (!take(reader, '(')) {
			fail(reader, "no list");
			return;
		}
		struct word word = word_of(reader), name = word_of(reader);
		if (is_function(&word) && names)
			add_function(reader, &word, name.text);
		else if (is_function(&word))
			read_function(reader, next++);
		else if (is(&word, "again") && !names)
			read_again(reader, find_function(reader->program, name.text), text);
		else if (names && !is(&word, "again"))
			add_variable(reader, name.text,
				     is(&word, "shared")     ? CO_SHARED
				     : is(&word, "constant") ? CO_CONSTANT
							     : CO_GLOBAL,
				     CO_NONE);
		if (names || !is_function(&word))
			skip_list(reader);
	}
}

struct co_program *program_read_text(const char *text)
{
	struct reader reader = { .function = CO_NONE };
	reader.program = co_program_new("text.cu");
	if (!reader.program)
		return NULL;
	reader.program->bytes = strlen(text);
	const char *copy = co_text_new(reader.program, text, reader.program->bytes);
	if (!copy)
		reader.failed = true;
	else
		reader.program->text = copy;
	if (copy)
		read_all(&reader, copy, true);
	if (copy && !reader.failed)
		read_all(&reader, copy, false);
	if (!reader.failed)
		return reader.program;
	co_program_free(reader.program);
	return NULL;
}
