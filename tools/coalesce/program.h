/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - a CUDA source as `mam coalesce` analyzes it: functions, their variables, and a tree
 * of statements and expressions. The tree has only the parts that can affect which threads reach a
 * place, and whether a value is uniform.
 *
 * Terms:
 *   file      the named source; included files are read, too, but never rewritten
 *   function  a device function with a known body, in the file or in an included file; of a
 *             template, each instance that is used
 *   variable  a parameter, a local variable, or one outside of functions; a member is part of its
 *             variable
 *
 * Ownership: a program owns all of its parts; texts and nodes live until co_program_free(). Not
 * thread-safe.
 */
#ifndef MAM_TOOLS_COALESCE_PROGRAM_H
#define MAM_TOOLS_COALESCE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_NONE (-1) /* no function, no variable */

/*
 * The children of a node are in evaluation order, as far as C++ specifies one. "e": an expression;
 * "s": a statement; [ ] may be a CO_NOTHING.
 */
enum co_kind {
	CO_NOTHING, /* an absent part, an empty statement */
	/* statements */
	CO_SEQUENCE, /* s... */
	CO_DECLARE,  /* [e]: variable `variable`, with its initial value */
	CO_IF,       /* e, s, [s] */
	CO_LOOP,     /* [s] before, [e] condition, [e] step, s body; do_first: the body is first */
	CO_SWITCH,   /* e, s: contains CO_CASE */
	CO_CASE,     /* s: case or default, either may be its `name`; the statement after it */
	CO_BREAK,
	CO_CONTINUE,
	CO_RETURN, /* [e]; with a `name`, exit or trap, it ends the thread */
	CO_JUMP,   /* goto, label, try, asm goto: control flow after it is unknown */
	/* expressions */
	CO_VALUE,    /* literals, sizeof, enumerators, addresses of functions: uniform */
	CO_VARIABLE, /* `variable` */
	CO_MEMBER,   /* e.name: of a variable, not through a pointer */
	CO_LOAD,     /* *e, e[e], e->name: the value in memory */
	CO_ADDRESS,  /* &e */
	CO_ASSIGN,   /* e target, e value; `reads`: also depends on the target's old value (+=, ++);
	                `name` is the operator if the text has it and the type is int or wider */
	CO_CHOICE,   /* e ? e : e */
	CO_LAZY,     /* e && e, e || e: some threads evaluate the second one */
	CO_CALL,     /* e...: `function`, or `name` if no body is known; a method: &object first */
	CO_NEW,      /* [e] number of elements, e...: `bytes` per element; device memory */
	CO_DELETE,   /* e */
	CO_MIX,      /* e...: any operator, cast, list: depends only on its children; `name` is the
	                comparison operator, if the text has it */
	CO_UNKNOWN   /* e...: lambdas, inline assembly, unknown code: any value, any effect */
};

/* How the result of a CO_MIX depends on whether its operands are null. */
enum co_null {
	CO_NULL_OTHER,
	CO_NULL_KEPT,  /* a pointer cast to another pointer type: null if the operand is */
	CO_NULL_TESTED /* p converted to bool, p == NULL: depends only on whether p is null */
};

struct co_node {
	enum co_kind kind;
	enum co_null null;
	bool do_first, reads;
	bool array;        /* CO_NEW, CO_DELETE: []; CO_MEMBER, CO_LOAD: the object is an array */
	bool is_volatile;  /* CO_MEMBER, CO_LOAD: the object is volatile */
	bool own;          /* CO_CALL: a function of the source without a known body: its name
	                      implies nothing; CO_UNKNOWN: a new that is not the global one */
	bool macro;        /* it begins or ends in a macro, so it cannot be rewritten */
	bool bound;        /* a reference is bound to this place, or to a temporary number (CO_MIX,
	                      CO_VALUE) of this value */
	bool elsewhere;    /* in a default argument: evaluated here, its text is elsewhere */
	bool in_file;      /* its text is in the file; begin, end and line refer to it */
	unsigned int line; /* 1... */
	size_t begin, end; /* byte range in the file */
	int variable;      /* CO_DECLARE, CO_VARIABLE */
	int function;      /* CO_CALL: index, or CO_NONE */
	const char *name;  /* of the callee, "ns::f"; CO_MEMBER: of the member; see above */
	uint64_t bytes;    /* CO_NEW: of an element; 0: unknown */
	struct co_node *first, *next; /* first child; sibling */
	struct co_node *last;         /* child; maintained by co_node_add() */
};

enum co_home {
	CO_PARAMETER,
	CO_LOCAL,    /* private to a thread */
	CO_SHARED,   /* of a block: __shared__, extern or not */
	CO_CONSTANT, /* __constant__, constexpr, const with a known value: uniform */
	CO_GLOBAL,   /* __device__, __managed__, static: any thread may write it */
	CO_BUILTIN   /* threadIdx, blockIdx, blockDim, gridDim, warpSize: by name */
};

struct co_variable {
	const char *name;
	enum co_home home;
	int owner;      /* the function; CO_NONE */
	bool pointer;   /* of pointer or reference type */
	bool reference; /* a reference: assignments go to its target */
	bool is_volatile;
	bool addressed; /* its address is taken somewhere, or a reference is bound to it */
	bool escaped;   /* in code that the tree does not show */
	bool plain;     /* a number or a pointer, or points or refers to one: no array, no class */
};

struct co_function {
	const char *name;    /* as in source code: "ns::f" */
	const char *printed; /* with template arguments: "f<int>" */
	bool kernel;         /* __global__ */
	bool in_file;
	bool is_virtual; /* virtual, or its address is taken: any code may call it */
	bool is_lambda;  /* its first parameter is the closure: the join of all captured values */
	bool returns_reference;
	bool is_rest; /* stands for the calls of code that is not analyzed (front_rest.c) */
	unsigned int line;
	size_t begin, end;     /* of the definition, in the file */
	size_t parameters_end; /* byte of its ")"; 0: not in the file, or in a macro */
	int *parameters;       /* variables, in the arena; a method: `this` first */
	size_t parameter_count;
	bool variadic;
	int template_of;      /* the first function of the same definition */
	struct co_node *body; /* CO_SEQUENCE */
};

/*
 * A place in code that may run on the device and that names malloc, free or another function of
 * CUDA's heap, or may do so. Either all of them are calls that can be rewritten, or none is
 * rewritten.
 */
struct co_use {
	const char *name; /* "malloc"; or a macro that contains it */
	const char *file; /* an included file; NULL: the file itself */
	unsigned int line;
	size_t begin;    /* of the name, in the file */
	const char *why; /* why it cannot be rewritten; NULL: it can, if it is the name of a call */
};

struct co_program {
	const char *path;
	const char *text; /* of the file: `bytes` bytes and a NUL */
	size_t bytes;
	struct co_function *functions;
	size_t function_count;
	struct co_variable *variables;
	size_t variable_count;
	struct co_use *uses;
	size_t use_count;
	bool has_new;           /* the file has new or delete in code that may run on the device */
	struct co_arena *arena; /* of texts and nodes */
};

/*
 * co_program_read - reads the file at `path` as a compiler with `flags` would, for the device.
 * NULL: `why` contains one sentence that names the file, the line and the remedy. At most 1 second.
 */
struct co_program *co_program_read(const char *path, const char *const *flags, size_t flag_count,
				   char *why, size_t why_bytes);
void co_program_free(struct co_program *program);
/* co_program_put - prints the program as text, for tests and for debugging */
void co_program_put(const struct co_program *program, void *file);

/* ---- construction: arena.c, program.c -------------------------------------------------------- */

/* All of these return NULL if memory ran out. */
struct co_program *co_program_new(const char *path);
struct co_node *co_node_new(struct co_program *program, enum co_kind kind);
void co_node_add(struct co_node *parent, struct co_node *child); /* after the others */
char *co_text_new(struct co_program *program, const char *text, size_t bytes);
/* An index, or CO_NONE if memory ran out. */
int co_variable_new(struct co_program *program);
int co_function_new(struct co_program *program);
/* A new, zeroed entry; NULL if memory ran out. */
struct co_use *co_use_new(struct co_program *program);

#endif
