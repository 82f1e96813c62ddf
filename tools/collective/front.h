/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front.h - what the parts that read a source with libclang tell each other.
 *
 *   front.c              the file is parsed, errors told, all functions read
 *   front_build.c        what a build may make of it otherwise
 *   front_flags.c        what the parser is asked for
 *   front_unit.c         which functions there are to read
 *   front_function.c     one function: parameters, members' initial values, body
 *   front_statements.c   statements
 *   front_declarations.c variables where they come to be, and what is called where they end
 *   front_expressions.c  expressions
 *   front_operators.c    unary and binary ones: libclang does not say which, their text does
 *   front_calls.c        calls, by name or not; constructors
 *   front_memory.c       new and delete
 *   front_assembly.c     inline assembly
 *   front_names.c        from libclang's cursors to our functions and variables
 *   front_records.c      what a class does by itself when it comes, is copied, goes
 *   front_rest.c         calls of code that no function contains: lambdas, initializers, ...
 *   front_lent.c         what functions outside of the source may call
 *   front_uses.c         all places that name malloc or free in device code
 *   front_nodes.c        nodes and their places; lists of cursors
 *   front_tokens.c       the texts of files as tokens
 *
 * What must hold:
 * - What is not understood becomes CO_UNKNOWN or CO_JUMP; the variables in it are `addressed`, and
 *   the functions in it are `is_virtual` (front_escape()), so nothing that it does is lost.
 * - When memory runs out `failed` is set and stays; nodes are then all the same spare one, nobody
 *   walks through them, and in the end there is no program.
 * - No recursion is deeper than FRONT_DEEPEST nodes.
 */
#ifndef MAM_TOOLS_COALESCE_FRONT_H
#define MAM_TOOLS_COALESCE_FRONT_H

#include <clang-c/Index.h>

#include "collective/program.h"

#define FRONT_DEEPEST 600u
#define FRONT_NOWHERE SIZE_MAX

/* ---- what is kept while a source is read ----------------------------------------------------- */

struct front_entry {
	CXCursor cursor;
	int value; /* CO_NONE: not taken */
};

/* From cursors to numbers; a hash table, open, half full at most. */
struct front_map {
	struct front_entry *entries;
	size_t count, room;
};

struct front_place {
	CXFile file; /* NULL: nowhere */
	unsigned int offset, line;
};

struct front_token {
	unsigned int begin, end;
};

/* A use of a macro, the whole of it; `reach`: the greatest end of this one and those before it. */
struct front_use {
	unsigned int begin, end, reach;
};

/* A file, and its tokens without comments, in order. */
struct front_text {
	CXFile file;
	const char *text; /* libclang's */
	size_t bytes, count;
	struct front_token *tokens;
	struct front_use *uses; /* of macros, in the order of begin */
	size_t use_count, use_room;
	struct front_text *next;
};

/* A function, class or lambda in the text. Of those around a place the innermost counts. */
struct front_region {
	CXFile file;
	unsigned int begin, end;
	bool host; /* it runs on the host alone, or is mam's own, which is known to be right */
};

/* All functions with that last name, but one; "": with any. */
struct front_loose {
	const char *name;
	int except;
	struct co_node *call;
};

/* A variable that is to be destroyed where its scope ends. */
struct front_scope {
	int variable;
	CXType type;
};

struct front {
	CXIndex index;
	CXTranslationUnit unit;
	CXFile file;
	struct co_program *program;
	bool failed;
	bool error_in_source; /* the one that was told */
	struct co_node spare;

	CXCursor *stack; /* children of those cursors that are being read */
	size_t stack_count, stack_room;
	struct front_map functions, variables;
	CXCursor *definitions; /* of each function */
	size_t definition_room;
	bool *declared; /* of each variable: a CO_DECLARE was made, or none is needed */
	size_t declared_room;
	struct front_text *texts;
	CXCursor *patterns; /* templates, and functions of class templates, in the file */
	size_t pattern_count, pattern_room;
	struct front_place *errors; /* those that were put up with */
	size_t error_count, error_room;
	struct front_loose *loose; /* what is called where the type is not known */
	size_t loose_count, loose_room;
	bool loose_operators; /* some operators, too */
	bool loose_methods;   /* some methods of the source's classes, too */
	struct front_map lent; /* classes that functions outside of the source get */
	bool all_patterns;    /* instances may be missing */
	bool linked;          /* with device code of other files */
	uint64_t *calls; /* front_has_call() */
	size_t call_count, call_room;
	struct front_map made; /* from declarations to functions that stand for their code */
	struct front_region *regions;
	size_t region_count, region_room;
	bool own_family;      /* the source has a malloc or free of its own that is no method */
	bool has_extern;      /* an `extern __shared__` variable, of which the first is this one */
	int first_extern;

	/* of the function that is being read */
	int function, this_variable;
	unsigned int depth;
	unsigned int
		elsewhere; /* above 0: what is read stands in another place than where it acts */
	unsigned int line; /* the last that was known */
	bool jumped;       /* an expression may leave its statement */
	bool labels;
	bool case_here; /* the next statement may be a case of the switch around it */
	unsigned int wild_cases;
	struct front_scope *scopes;
	size_t scope_count, scope_room, break_base, continue_base;
};

/* ---- front_nodes.c --------------------------------------------------------------------------- */

/* A range of f->stack. */
struct front_kids {
	size_t base, count;
};

struct co_node *front_node(struct front *f, enum co_kind kind, CXCursor cursor);
struct co_node *front_wrap(struct front *f, enum co_kind kind, CXCursor cursor,
			   struct co_node *child);
void front_add(struct front *f, struct co_node *parent, struct co_node *child);
struct co_node *front_nothing(struct front *f, CXCursor cursor);
/* A node of a variable that has no name and that nobody else sees. */
struct co_node *front_temporary(struct front *f, CXCursor cursor);
/* Its address may be known from now on to anybody: all variables that `node` may stand for. */
void front_addressed(struct front *f, const struct co_node *node);

struct front_kids front_kids(struct front *f, CXCursor cursor);
CXCursor front_kid(const struct front *f, struct front_kids kids, size_t i);
void front_kids_drop(struct front *f, struct front_kids kids);
/* Only those that are expressions or statements: no types, no attributes. */
struct front_kids front_parts(struct front *f, CXCursor cursor);

/* Makes room for one more. False: memory ran out, and f->failed. */
bool front_room(struct front *f, void *array, size_t count, size_t *room, size_t each);

/* ---- front_tokens.c -------------------------------------------------------------------------- */

struct front_place front_spelled(CXSourceLocation location);
struct front_place front_expanded(CXSourceLocation location);
struct front_place front_begin(CXCursor cursor); /* spelled */
struct front_place front_end(CXCursor cursor);   /* behind its last token, expanded */
bool front_same_place(struct front_place a, struct front_place b);
/* Whether what is there comes from a macro, or may, as it is in a system header. */
bool front_in_macro(struct front *f, CXSourceLocation location);
bool front_begins_in_macro(struct front *f, CXCursor cursor);
bool front_ends_in_macro(struct front *f, CXCursor cursor);
/* Finds all uses of macros; before front_in_macro(). */
void front_macros(struct front *f);
const struct front_text *front_text(struct front *f, CXFile file); /* NULL: there is none */
/* The token that begins at `offset`; FRONT_NOWHERE: none does. */
size_t front_token(const struct front_text *text, unsigned int offset);
/* The first one at `offset` or behind it. */
size_t front_token_from(const struct front_text *text, unsigned int offset);
bool front_token_is(const struct front_text *text, size_t token, const char *wanted);
/* From a "(", "[" or "{" to what closes it. FRONT_NOWHERE: it is never closed. */
size_t front_token_closes(const struct front_text *text, size_t token);
/* Whether one of the words in `words`, NULL ends them, is between the cursor's ends. */
bool front_mentions(struct front *f, CXCursor cursor, const char *const *words);

/* ---- front_names.c --------------------------------------------------------------------------- */

const char *front_keep(struct front *f, CXString string); /* and gives it back */
const char *front_name(struct front *f, CXCursor cursor); /* "ns::f" */
const char *front_printed(struct front *f, CXCursor cursor);
bool front_is(CXCursor cursor, const char *spelling);
/* CO_NONE: its body is not known, or is not to be looked into. */
int front_function(struct front *f, CXCursor cursor);
int front_variable(struct front *f, CXCursor cursor);
int front_known(const struct front_map *map, CXCursor cursor);
bool front_map_add(struct front *f, struct front_map *map, CXCursor cursor, int value);
/* What the source, or a header that is no system's, was the first to declare. */
bool front_own(CXCursor cursor);
CXCursor front_root(CXCursor function); /* the template of the template ... that it is of */
bool front_has_attribute(CXCursor cursor, enum CXCursorKind attribute);
bool front_is_function(enum CXCursorKind kind);
bool front_is_lambda(CXType type);
void front_declare_known(struct front *f, int variable);
bool front_is_declared(const struct front *f, int variable);

/* ---- front_records.c ------------------------------------------------------------------------- */

enum front_record {
	FRONT_COPIES = 1, /* a copy or an assignment of it calls a function */
	FRONT_BEGINS = 2, /* so it is when it comes to be without a value */
	FRONT_ENDS = 4,   /* or when it goes */
	FRONT_NEWS = 8    /* it has its own new or delete */
};

/* Which of them hold for a value of that type; all where it is not known. */
unsigned int front_record(struct front *f, CXType type);
bool front_is_record(CXType type);
/* It has members that are references, or bases that may have: its initial values are bound to. */
bool front_binds(CXType type);
/* Adds calls of what is called when it goes; CO_NONE: it is no variable. */
void front_destroy(struct front *f, struct co_node *into, CXType type, CXCursor cursor,
		   int variable);

/* ---- trees ----------------------------------------------------------------------------------- */

struct co_node *front_expression(struct front *f, CXCursor cursor);
/* What the value of an array is taken from, without the step from the array to its address. */
struct co_node *front_array(struct front *f, CXCursor cursor);
/* `node`, a place, with what its type says: an array, volatile. */
struct co_node *front_typed(struct co_node *node, CXCursor cursor);
/* The last token of its text; "": it is in a macro. */
const char *front_last_word(struct front *f, CXCursor cursor);
struct co_node *front_this(struct front *f, CXCursor cursor);
struct co_node *front_unknown(struct front *f, CXCursor cursor);
void front_escape(struct front *f, CXCursor cursor);
/* Constructors, assignments or destructors, we do not know which. */
struct co_node *front_hidden(struct front *f, CXCursor cursor);
/* Past implicit casts and parentheses. */
CXCursor front_strip(CXCursor cursor);
/* Past parentheses alone. */
CXCursor front_strip_parentheses(CXCursor cursor);
bool front_is_dependent(CXType type);

/* What an operator, or a constructor, of an unknown type makes of it. */
struct co_node *front_loose(struct front *f, CXCursor cursor, struct co_node *child);
struct co_node *front_unary(struct front *f, CXCursor cursor);
struct co_node *front_binary(struct front *f, CXCursor cursor);
struct co_node *front_compound_assign(struct front *f, CXCursor cursor);

struct co_node *front_call(struct front *f, CXCursor cursor);
/* `node`: the call, which may be of any function of that name but `except`; "": of any function. */
void front_loose_name(struct front *f, const char *name, int except, struct co_node *node);
/* `variable`: that comes to be; CO_NONE: something without a name. */
struct co_node *front_construct(struct front *f, CXCursor cursor, int variable);
/* Inline assembly that sets its operands, and does nothing else. */
bool front_only_values(struct front *f, CXCursor cursor);
/* A call that ends the thread: its name, else NULL. */
const char *front_ends_thread(struct front *f, CXCursor cursor);
struct co_node *front_new(struct front *f, CXCursor cursor);
/* As CO_NEW, without its operands; NULL: it gets the memory's place, and allocates nothing. */
struct co_node *front_new_alone(struct front *f, CXCursor cursor);
struct co_node *front_delete(struct front *f, CXCursor cursor);

struct co_node *front_statement(struct front *f, CXCursor cursor);
struct co_node *front_declaration(struct front *f, CXCursor cursor); /* of one variable */
/* Calls at the end of all scopes from the `base`th on; they stay open. */
void front_leave(struct front *f, struct co_node *into, size_t base, CXCursor cursor);
void front_open(struct front *f, int variable, CXType type);

/* ---- functions, the unit --------------------------------------------------------------------- */

void front_function_read(struct front *f, int function);
/* Finds what there is, and reads all of it. */
void front_unit(struct front *f);
/* An error in a host's function is no matter. True: put up with, too. */
bool front_tolerates(struct front *f, struct front_place error);

/* ---- front_rest.c, front_uses.c -------------------------------------------------------------- */

/* Functions from *next on are read; then what no function contains is added to the program. */
void front_rest(struct front *f, size_t *next);
/* Reads the functions from *next on, and those that they call. */
void front_read_all(struct front *f, size_t *next);
/* After front_rest(): does a function of the program have a call that begins there? */
bool front_has_call(const struct front *f, enum co_kind kind, size_t begin);
/* Adds a call to the function that stands for the code of a declaration. */
void front_add_call(struct front *f, CXCursor of, struct co_node *call);
/* Functions that code outside of the source may call, by what it gets at a cursor. */
void front_lend(struct front *f, CXCursor cursor, bool host);
bool front_is_lent(struct front *f, CXCursor function);
/* Functions that `at` names may be called by any thread; kernels may be started. */
void front_may_be_called(struct front *f, CXCursor at);
void front_uses(struct front *f); /* after front_rest() */
/* `why`: it cannot be rewritten; a text that stays. */
void front_put_use(struct front *f, CXSourceLocation at, const char *name, const char *why);
/* Is it outside of operands that the compiler only takes the type of? */
bool front_is_evaluated(struct front *f, CXCursor cursor);
/* Is it one of the functions of CUDA's heap, which each free may get memory from? */
bool front_is_family(const char *name);
bool front_in_file(const struct front *f, CXCursor cursor);
bool front_is_for_device(CXCursor cursor); /* by its attributes */
bool front_has_instance(const struct front *f, CXCursor pattern);
bool front_has_error(const struct front *f, CXCursor cursor); /* one that was put up with */

/* ---- front_build.c --------------------------------------------------------------------------- */

#define FRONT_SEVERAL (-1)

/* Do the flags say that device code of several files is linked? */
bool front_is_linked(const char *const *flags, size_t count);
/* The value of __CUDA_ARCH__ that the flags say; 0: none; FRONT_SEVERAL. */
int front_architecture(const char *const *flags, size_t count);
/* Does what is read depend on it, and where? */
bool front_asks_architecture(struct front *f, char *why, size_t why_bytes);

/* ---- front_flags.c --------------------------------------------------------------------------- */

struct front_flags {
	const char **flags;
	size_t count, room;
	char texts[5][8192]; /* those that were made, of which `flags` has the addresses */
	size_t text_count;
};

/* Where our own headers are. False: they are not there. */
bool front_headers(char *folder, size_t room);

/* `toolkit`: a folder of CUDA's; NULL: our own headers. False: memory ran out. */
bool front_flags(struct front_flags *made, const char *const *flags, size_t count,
		 const char *toolkit);
void front_flags_free(struct front_flags *made);
/* NULL: none was found. */
const char *front_toolkit(const char *const *flags, size_t count);

#endif
