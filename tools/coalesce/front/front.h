/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front.h - the interface between the parts that read a source with libclang.
 *
 *   front.c              parses the file, reports errors, has all functions read
 *   front_build.c        other texts that a build may make of the source
 *   front_flags.c        the parser's flags
 *   front_instances.c    explicit instances of kernels
 *   front_unit.c         finds the functions to read
 *   front_function.c     one function: parameters, initial values of members, body
 *   front_statements.c   statements
 *   front_declarations.c declarations of variables, and destructor calls at the end of scopes
 *   front_expressions.c  expressions
 *   front_operators.c    unary and binary operators, identified by their text or types
 *   front_calls.c        calls, by name or not; constructors
 *   front_memory.c       new and delete
 *   front_lambdas.c      closures, and lambdas as functions
 *   front_assembly.c     inline assembly
 *   front_names.c        maps libclang's cursors to our functions and variables
 *   front_records.c      implicit operations of a class: construction, copy, destruction
 *   front_rest.c         calls in code that no function contains: lambdas, initializers, ...
 *   front_lent.c         functions that code outside of the source may call
 *   front_uses.c         all places that name malloc or free in device code
 *   front_nodes.c        nodes and their places; lists of cursors
 *   front_tokens.c       the texts of files as tokens
 *
 * Invariants:
 * - Code that is not understood becomes CO_UNKNOWN or CO_JUMP. The variables in it are `addressed`
 *   and the functions in it `is_virtual` (front_escape()), so none of its effects is lost.
 * - If memory runs out, `failed` is set and stays set. All new nodes are then one spare node that
 *   is never traversed, and no program is returned.
 * - No recursion is deeper than FRONT_DEEPEST nodes.
 */
#ifndef MAM_TOOLS_COALESCE_FRONT_H
#define MAM_TOOLS_COALESCE_FRONT_H

#include <clang-c/Index.h>

#include "coalesce/program.h"
#include "kit/idtable.h"

#define FRONT_DEEPEST 600u
#define FRONT_NOWHERE SIZE_MAX

/* ---- state while a source is read ------------------------------------------------------------ */

struct front_entry {
	CXCursor cursor;
	int value;
	uint32_t next; /* an entry with the same hash, or IDTABLE_NONE */
};

/* A map from cursors to numbers. */
struct front_map {
	struct idtable firsts; /* from a hash to the first entry that has it */
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

/* The extent of a macro use. `reach`: the greatest end of this use and all earlier ones. */
struct front_use {
	unsigned int begin, end, reach;
};

/* A file and its tokens without comments, in order. */
struct front_text {
	CXFile file;
	const char *text; /* owned by libclang */
	size_t bytes, count;
	struct front_token *tokens;
	struct front_use *uses; /* of macros, ordered by begin */
	size_t use_count, use_room;
	struct front_text *next;
};

/* A function, class or lambda in the text. The innermost region around a place counts. */
struct front_region {
	CXFile file;
	unsigned int begin, end;
	bool host; /* it runs only on the host, or belongs to mam and is known to be correct */
};

/* A call of any function with that last name except one; "": of any function. */
struct front_loose {
	const char *name;
	int except;
	struct co_node *call;
};

/* A lambda whose closure the program shows: front_lambdas.c. */
struct front_closure {
	CXCursor lambda, class;
	struct front_place begin;
	bool wild; /* code that is not read may call it */
};

/* A variable that is destroyed at the end of its scope. */
struct front_scope {
	int variable;
	CXType type;
};

struct front {
	CXIndex index;
	CXTranslationUnit unit;
	CXFile file;
	struct co_program *program;
	const char *toolkit; /* that its headers are from; NULL: our own */
	size_t own_bytes;    /* of the source, without the names of its instances */
	bool failed;
	bool error_in_source; /* the reported error */
	struct co_node spare;

	CXCursor *stack; /* children of the cursors that are being read */
	size_t stack_count, stack_room;
	struct front_map functions, variables;
	CXCursor *definitions; /* of each function */
	size_t definition_room;
	bool *declared; /* for each variable: has a CO_DECLARE, or needs none */
	size_t declared_room;
	struct front_text *texts;
	CXCursor *patterns; /* function templates, and methods of class templates, in the file */
	size_t pattern_count, pattern_room;
	struct front_place *errors; /* tolerated errors */
	size_t error_count, error_room;
	struct front_loose *loose; /* calls in which the type is unknown */
	size_t loose_count, loose_room;
	bool loose_operators;  /* some of them are operators */
	bool loose_ends;       /* some are destructors */
	bool loose_methods;    /* some are methods of the source's classes */
	struct front_map lent; /* classes that are passed to functions outside of the source */
	bool all_patterns;     /* instances may be missing */
	bool has_instances;    /* the parsed text names all explicit ones */
	bool linked;           /* with device code of other files */
	uint64_t *calls;       /* front_has_call() */
	size_t call_count, call_room;
	struct front_closure *closures;
	size_t closure_count, closure_room;
	int closure;           /* of the current function; CO_NONE: it is not a lambda */
	int closure_variable;  /* its first parameter */
	struct front_map made; /* from declarations to functions that stand for their code */
	struct front_region *regions;
	size_t region_count, region_room;
	bool own_family; /* the source defines its own malloc or free, not as a method */
	bool has_extern; /* an `extern __shared__` variable: first_extern is the first */
	int first_extern;

	/* of the current function */
	int function, this_variable;
	unsigned int depth;
	unsigned int elsewhere; /* above 0: the code is evaluated at another place than its text */
	unsigned int line;      /* the last known line */
	bool jumped;            /* an expression may leave its statement */
	bool labels;
	bool case_here; /* the next statement may be a case of the surrounding switch */
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
/* A node of an unnamed variable that no other code can access. */
struct co_node *front_temporary(struct front *f, CXCursor cursor);
/* The address of every variable that `node` may stand for can be known to any code from now on. */
void front_addressed(struct front *f, const struct co_node *node);

struct front_kids front_kids(struct front *f, CXCursor cursor);
CXCursor front_kid(const struct front *f, struct front_kids kids, size_t i);
void front_kids_drop(struct front *f, struct front_kids kids);
/* Only the children that are expressions or statements: no types, no attributes. */
struct front_kids front_parts(struct front *f, CXCursor cursor);

/* Makes room for one more element. False: memory ran out, and f->failed is set. */
bool front_room(struct front *f, void *array, size_t count, size_t *room, size_t each);

/* ---- front_tokens.c -------------------------------------------------------------------------- */

struct front_place front_spelled(CXSourceLocation location);
struct front_place front_expanded(CXSourceLocation location);
struct front_place front_begin(CXCursor cursor); /* spelled */
struct front_place front_end(CXCursor cursor);   /* after its last token, expanded */
bool front_same_place(struct front_place a, struct front_place b);
/* True if the text there comes from a macro, or may, because it is in a system header. */
bool front_in_macro(struct front *f, CXSourceLocation location);
bool front_begins_in_macro(struct front *f, CXCursor cursor);
bool front_ends_in_macro(struct front *f, CXCursor cursor);
/* Finds all macro uses. Call it before front_in_macro(). */
void front_macros(struct front *f);
const struct front_text *front_text(struct front *f, CXFile file); /* NULL: there is none */
/* The token that begins at `offset`; FRONT_NOWHERE: none does. */
size_t front_token(const struct front_text *text, unsigned int offset);
/* The first token at or after `offset`. */
size_t front_token_from(const struct front_text *text, unsigned int offset);
bool front_token_is(const struct front_text *text, size_t token, const char *wanted);
/* The token that closes a "(", "[" or "{". FRONT_NOWHERE: it is never closed. */
size_t front_token_closes(const struct front_text *text, size_t token);
/* True if the cursor's text contains one of `words` (NULL-terminated). */
bool front_mentions(struct front *f, CXCursor cursor, const char *const *words);

/* ---- front_names.c --------------------------------------------------------------------------- */

const char *front_keep(struct front *f, CXString string); /* and disposes of it */
const char *front_name(struct front *f, CXCursor cursor); /* "ns::f" */
const char *front_printed(struct front *f, CXCursor cursor);
bool front_is(CXCursor cursor, const char *spelling);
/* CO_NONE: its body is unknown, or is not analyzed. */
int front_function(struct front *f, CXCursor cursor);
int front_variable(struct front *f, CXCursor cursor);
int front_known(const struct front_map *map, CXCursor cursor);
bool front_map_add(struct front *f, struct front_map *map, CXCursor cursor, int value);
void front_map_fini(struct front_map *map);
/* True if the first declaration is in the source or in a header that is not a system header. */
bool front_own(CXCursor cursor);
CXCursor front_root(CXCursor function); /* the outermost template it is an instance of */
bool front_has_attribute(CXCursor cursor, enum CXCursorKind attribute);
bool front_is_function(enum CXCursorKind kind);
bool front_is_lambda(CXType type);
bool front_is_number(enum CXTypeKind kind); /* or a pointer */
void front_declare_known(struct front *f, int variable);
bool front_is_declared(const struct front *f, int variable);

/* ---- front_records.c ------------------------------------------------------------------------- */

enum front_record {
	FRONT_COPIES = 1, /* a copy or an assignment calls a function */
	FRONT_BEGINS = 2, /* so does construction without a value */
	FRONT_ENDS = 4,   /* so does destruction */
	FRONT_NEWS = 8    /* it has its own new or delete */
};

/* The flags that hold for a value of that type; all of them if the type is unknown. */
unsigned int front_record(struct front *f, CXType type);
bool front_is_record(CXType type);
/* It has reference members, or bases that may have some: its initializers bind to them. */
bool front_binds(CXType type);
/* Adds the calls that its destruction makes; CO_NONE: it is not a variable. */
void front_destroy(struct front *f, struct co_node *into, CXType type, CXCursor cursor,
		   int variable);

/* ---- trees ----------------------------------------------------------------------------------- */

struct co_node *front_expression(struct front *f, CXCursor cursor);
/* The array itself, without the conversion to the address of its first element. */
struct co_node *front_array(struct front *f, CXCursor cursor);
/* Marks `node`, a place, with properties of its type: array, volatile. */
struct co_node *front_typed(struct co_node *node, CXCursor cursor);
/* The last token of its text; "": it is in a macro. */
const char *front_last_word(struct front *f, CXCursor cursor);
struct co_node *front_this(struct front *f, CXCursor cursor);
struct co_node *front_unknown(struct front *f, CXCursor cursor);
void front_escape(struct front *f, CXCursor cursor);
bool front_binds_to(struct front *f, CXType reference, CXCursor cursor, const struct co_node *node);
/* Constructors, assignments or destructors; which ones is unknown. */
struct co_node *front_hidden(struct front *f, CXCursor cursor);
struct co_node *front_hidden_end(struct front *f, CXCursor cursor); /* destructors only */
/* Skips implicit casts and parentheses. */
CXCursor front_strip(CXCursor cursor);
/* Skips only parentheses. */
CXCursor front_strip_parentheses(CXCursor cursor);
bool front_is_dependent(CXType type);

bool front_is_value(struct front *f, CXCursor cursor); /* not a place; false: it may be one */
/* The effect on `child` of an operator or constructor of an unknown type. */
struct co_node *front_loose(struct front *f, CXCursor cursor, struct co_node *child);
struct co_node *front_unary(struct front *f, CXCursor cursor);
struct co_node *front_binary(struct front *f, CXCursor cursor);
struct co_node *front_compound_assign(struct front *f, CXCursor cursor);

struct co_node *front_call(struct front *f, CXCursor cursor);
/* `node`: a call of any function of that name except `except`; "": of any function. */
void front_loose_name(struct front *f, const char *name, int except, struct co_node *node);
/* `variable`: the constructed variable; CO_NONE: an unnamed object. */
struct co_node *front_construct(struct front *f, CXCursor cursor, int variable);
/* True for inline assembly that only sets its operands. */
bool front_only_values(struct front *f, CXCursor cursor);
/* The name of a call that ends the thread, otherwise NULL. */
const char *front_ends_thread(struct front *f, CXCursor cursor);
struct co_node *front_new(struct front *f, CXCursor cursor);
/* A CO_NEW without its operands; NULL: a placement new, which allocates nothing. */
struct co_node *front_new_alone(struct front *f, CXCursor cursor);
struct co_node *front_delete(struct front *f, CXCursor cursor);

/* ---- front_lambdas.c ---- */
/* The closure of a lambda, where only code that is read gets it; otherwise anything. */
struct co_node *front_closure(struct front *f, CXCursor cursor);
/* The node of an expression that is a closure, or a variable that contains one. */
struct co_node *front_closure_value(struct front *f, CXCursor cursor);
const char *front_lambda_printed(struct front *f, CXCursor method); /* "a lambda in f" */
/* The lambda that a method belongs to; CO_NONE. */
int front_closure_of(struct front *f, CXCursor method);
bool front_has_closure(const struct front *f, CXCursor method);
/* Any code may call the lambda from now on. */
void front_closure_escapes(struct front *f, CXType type);
bool front_is_wild(const struct front *f, CXCursor method);
/* In a lambda: the value that it captured of a variable; NULL: it is not captured by value. */
struct co_node *front_captured(struct front *f, CXCursor cursor, CXCursor variable);
/* The code of the lambda is that of functions that were read. */
bool front_lambda_is_read(struct front *f, CXCursor lambda);

struct co_node *front_statement(struct front *f, CXCursor cursor);
struct co_node *front_declaration(struct front *f, CXCursor cursor); /* of one variable */
/* Adds the destructor calls of all scopes from number `base` up; they stay open. */
void front_leave(struct front *f, struct co_node *into, size_t base, CXCursor cursor);
void front_open(struct front *f, int variable, CXType type);

/* ---- front_instances.c ---- */
bool front_is_instance(const struct front_text *text, size_t token); /* explicit: "template" */
/* The source, with a function after it that names all explicit instances; NULL: it cannot. */
char *front_instances(struct front *f, size_t *bytes);

/* ---- functions, the unit --------------------------------------------------------------------- */

void front_function_read(struct front *f, int function);
/* Finds all functions and reads them. */
void front_unit(struct front *f);
/* True for an error in a host function. It is tolerated: it does not matter. */
bool front_tolerates(struct front *f, struct front_place error);

/* ---- front_rest.c, front_uses.c -------------------------------------------------------------- */

/*
 * Reads the functions from number *next up, then adds code that no function contains to the
 * program.
 */
void front_rest(struct front *f, size_t *next);
/* Reads the functions from number *next up, and those that they call. */
void front_read_all(struct front *f, size_t *next);
/* After front_rest(): does a function of the program have a call that begins there? */
bool front_has_call(const struct front *f, enum co_kind kind, size_t begin);
/* Adds a call to the function that stands for the code of a declaration. */
void front_add_call(struct front *f, CXCursor of, struct co_node *call);
/* Marks the functions that code outside of the source may call through what it gets at a cursor. */
void front_lend(struct front *f, CXCursor cursor, bool host);
bool front_is_lent(struct front *f, CXCursor function);
/* Any thread may call the functions that `at` names; kernels may be launched. */
void front_may_be_called(struct front *f, CXCursor at);
void front_uses(struct front *f); /* after front_rest() */
/* `why`: the reason that it cannot be rewritten, a string that stays valid. */
void front_put_use(struct front *f, CXSourceLocation at, const char *name, const char *why);
/* False inside of operands of which the compiler only uses the type. */
bool front_is_evaluated(struct front *f, CXCursor cursor);
/* Is it a function of CUDA's heap, whose memory any free may receive? */
bool front_is_family(const char *name);
bool front_in_file(const struct front *f, CXCursor cursor);
bool front_is_for_device(CXCursor cursor); /* by its attributes */
bool front_has_instance(const struct front *f, CXCursor pattern);
bool front_has_error(const struct front *f, CXCursor cursor); /* a tolerated one */

/* ---- front_build.c --------------------------------------------------------------------------- */

#define FRONT_SEVERAL (-1)

/* Do the flags specify that device code of several files is linked? */
bool front_is_linked(const char *const *flags, size_t count);
/* The value of __CUDA_ARCH__ according to the flags; 0: none; FRONT_SEVERAL. */
int front_architecture(const char *const *flags, size_t count);
/* Does the source depend on __CUDA_ARCH__? If so, `why` has the place. */
bool front_asks_architecture(struct front *f, char *why, size_t why_bytes);

/* ---- front_flags.c --------------------------------------------------------------------------- */

struct front_flags {
	const char **flags;
	size_t count, room;
	char texts[8][8192]; /* storage for generated flags, which `flags` points to */
	size_t text_count;
};

/* Finds the folder of mam's own headers. False: it does not exist. */
bool front_headers(char *folder, size_t room);

/* `toolkit`: a CUDA folder; NULL: mam's own headers. False: memory ran out. */
bool front_flags(struct front_flags *made, const char *const *flags, size_t count,
		 const char *toolkit);
void front_flags_free(struct front_flags *made);
/* NULL: none was found. */
const char *front_toolkit(const char *const *flags, size_t count);

#endif
