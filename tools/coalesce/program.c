/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - creates, frees and prints programs.
 *
 * Functions and variables are in arrays that double when they are full, that is, when their count
 * is a power of two. Texts and nodes are in the arena. The text form consists of S-expressions, one
 * node per line:
 *
 *   (program "path"
 *    (variable 0 "n" parameter of=0 +pointer)
 *    (function 0 "f" "f<int>" +kernel +in_file @3:10-60 end=20 template=0 (parameters 0)
 *     (sequence@3:20-60
 *      (assign+reads@4:22-28
 *       (variable@4:22-23 0 "n")
 *       (value@4:27-28)))))
 *
 * A node consists of its kind, its flags, its line, and its bytes if it is in the file; then the
 * thing that it names; then its children. Trees deeper than DEEPEST are truncated with "...".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coalesce/arena.h"
#include "coalesce/program.h"

#define FEWEST ((size_t)8) /* initial capacity for functions and variables */
#define DEEPEST 10000u

static const char *const kinds[] = {
	[CO_NOTHING] = "nothing",   [CO_SEQUENCE] = "sequence",
	[CO_DECLARE] = "declare",   [CO_IF] = "if",
	[CO_LOOP] = "loop",         [CO_SWITCH] = "switch",
	[CO_CASE] = "case",         [CO_BREAK] = "break",
	[CO_CONTINUE] = "continue", [CO_RETURN] = "return",
	[CO_JUMP] = "jump",         [CO_VALUE] = "value",
	[CO_VARIABLE] = "variable", [CO_MEMBER] = "member",
	[CO_LOAD] = "load",         [CO_ADDRESS] = "address",
	[CO_ASSIGN] = "assign",     [CO_CHOICE] = "choice",
	[CO_LAZY] = "lazy",         [CO_CALL] = "call",
	[CO_NEW] = "new",           [CO_DELETE] = "delete",
	[CO_MIX] = "mix",           [CO_UNKNOWN] = "unknown",
};

static const char *const homes[] = {
	[CO_PARAMETER] = "parameter", [CO_LOCAL] = "local",   [CO_SHARED] = "shared",
	[CO_CONSTANT] = "constant",   [CO_GLOBAL] = "global", [CO_BUILTIN] = "builtin",
};

struct co_program *co_program_new(const char *path)
{
	struct co_program *program = calloc(1, sizeof *program);
	if (!program)
		return NULL;
	program->arena = co_arena_new();
	program->path = program->arena ? co_text_new(program, path, strlen(path)) : NULL;
	program->text = program->path ? co_text_new(program, "", 0) : NULL;
	if (!program->text) {
		co_program_free(program);
		return NULL;
	}
	return program;
}

void co_program_free(struct co_program *program)
{
	if (!program)
		return;
	free(program->functions);
	free(program->variables);
	free(program->uses);
	co_arena_free(program->arena);
	free(program);
}

struct co_node *co_node_new(struct co_program *program, enum co_kind kind)
{
	struct co_node *node = co_arena_take(program->arena, sizeof *node);
	if (!node)
		return NULL;
	node->kind = kind;
	node->variable = CO_NONE;
	node->function = CO_NONE;
	return node;
}

void co_node_add(struct co_node *parent, struct co_node *child)
{
	if (parent->last)
		parent->last->next = child;
	else
		parent->first = child;
	parent->last = child;
}

char *co_text_new(struct co_program *program, const char *text, size_t bytes)
{
	return co_arena_text(program->arena, text, bytes);
}

/*
 * Makes room for one more element of `each` bytes after `count`. NULL: memory ran out, and nothing
 * has changed.
 */
static void *grown(void *at, size_t count, size_t each)
{
	bool full = count == 0 || (count >= FEWEST && (count & (count - 1)) == 0);
	if (!full)
		return at;
	size_t room = count ? 2 * count : FEWEST;
	if (room > SIZE_MAX / each || room > INT32_MAX)
		return NULL;
	return realloc(at, room * each);
}

int co_variable_new(struct co_program *program)
{
	struct co_variable *variables =
		grown(program->variables, program->variable_count, sizeof *variables);
	if (!variables)
		return CO_NONE;
	program->variables = variables;
	variables[program->variable_count] =
		(struct co_variable){ .name = "", .home = CO_LOCAL, .owner = CO_NONE };
	return (int)program->variable_count++;
}

int co_function_new(struct co_program *program)
{
	struct co_function *functions =
		grown(program->functions, program->function_count, sizeof *functions);
	if (!functions)
		return CO_NONE;
	program->functions = functions;
	int index = (int)program->function_count++;
	functions[index] = (struct co_function){ .name = "", .printed = "", .template_of = index };
	return index;
}

struct co_use *co_use_new(struct co_program *program)
{
	struct co_use *uses = grown(program->uses, program->use_count, sizeof *uses);
	if (!uses)
		return NULL;
	program->uses = uses;
	uses[program->use_count] = (struct co_use){ .name = "" };
	return &uses[program->use_count++];
}

/* ---- text form ------------------------------------------------------------------------------- */

static void put_text(FILE *file, const char *text)
{
	putc('"', file);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', file);
		putc(*text == '\n' ? ' ' : *text, file);
	}
	putc('"', file);
}

static void put_flag(FILE *file, bool flag, const char *name)
{
	if (flag)
		fprintf(file, " +%s", name);
}

static void put_variable(FILE *file, const struct co_program *program, size_t index)
{
	const struct co_variable *variable = &program->variables[index];
	fprintf(file, "\n (variable %zu ", index);
	put_text(file, variable->name);
	fprintf(file, " %s", homes[variable->home]);
	if (variable->owner != CO_NONE)
		fprintf(file, " of=%d", variable->owner);
	put_flag(file, variable->pointer, "pointer");
	put_flag(file, variable->reference, "reference");
	put_flag(file, variable->is_volatile, "volatile");
	put_flag(file, variable->addressed, "addressed");
	put_flag(file, variable->escaped, "escaped");
	put_flag(file, variable->plain, "plain");
	putc(')', file);
}

/* The thing that a node names: the variable, the function, the size of the type. */
static void put_named(FILE *file, const struct co_program *program, const struct co_node *node)
{
	if (node->variable != CO_NONE) {
		fprintf(file, " %d ", node->variable);
		put_text(file, program->variables[node->variable].name);
	}
	if (node->function != CO_NONE) {
		fprintf(file, " %d ", node->function);
		put_text(file, program->functions[node->function].name);
	} else if (node->name) {
		putc(' ', file);
		put_text(file, node->name);
	}
	if (node->kind == CO_NEW)
		fprintf(file, " bytes=%" PRIu64, node->bytes);
}

static void put_node(FILE *file, const struct co_program *program, const struct co_node *node,
		     unsigned int depth)
{
	fprintf(file, "\n%*s", (int)(depth < 60 ? depth : 60), "");
	if (depth > DEEPEST) {
		fprintf(file, "...");
		return;
	}
	static const char *const nulls[] = { "", "+keeps_null", "+tests_null" };
	fprintf(file, "(%s%s%s%s%s%s%s%s%s%s", kinds[node->kind], node->do_first ? "+do_first" : "",
		node->reads ? "+reads" : "", node->array ? "+array" : "",
		node->is_volatile ? "+volatile" : "", node->own ? "+own" : "",
		node->macro ? "+macro" : "", node->bound ? "+bound" : "",
		node->elsewhere ? "+elsewhere" : "", nulls[node->null]);
	fprintf(file, "@%u", node->line);
	if (node->in_file)
		fprintf(file, ":%zu-%zu", node->begin, node->end);
	put_named(file, program, node);
	for (const struct co_node *child = node->first; child; child = child->next)
		put_node(file, program, child, depth + 1);
	putc(')', file);
}

static void put_function(FILE *file, const struct co_program *program, size_t index)
{
	const struct co_function *function = &program->functions[index];
	fprintf(file, "\n (function %zu ", index);
	put_text(file, function->name);
	putc(' ', file);
	put_text(file, function->printed);
	put_flag(file, function->kernel, "kernel");
	put_flag(file, function->in_file, "in_file");
	put_flag(file, function->is_virtual, "virtual");
	put_flag(file, function->is_rest, "rest");
	put_flag(file, function->is_lambda, "lambda");
	put_flag(file, function->returns_reference, "returns_reference");
	put_flag(file, function->variadic, "variadic");
	fprintf(file, " @%u:%zu-%zu end=%zu template=%d (parameters", function->line,
		function->begin, function->end, function->parameters_end, function->template_of);
	for (size_t i = 0; i < function->parameter_count; i++)
		fprintf(file, " %d", function->parameters[i]);
	putc(')', file);
	if (function->body)
		put_node(file, program, function->body, 2);
	putc(')', file);
}

void co_program_put(const struct co_program *program, void *file)
{
	fprintf(file, "(program ");
	put_text(file, program->path);
	for (size_t i = 0; i < program->variable_count; i++)
		put_variable(file, program, i);
	for (size_t i = 0; i < program->function_count; i++)
		put_function(file, program, i);
	fprintf(file, ")\n");
}
