/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - a CUDA source as `mam coalesce` judges it: functions, their variables, and a tree of
 * statements and expressions, of which only that is kept which can matter to who comes where, and
 * whether all have the same value.
 *
 * Words:
 *   file      the source that was named; what it includes is read, too, but never rewritten
 *   function  one that runs on the device and whose body is known, in the file or in what it includes;
 *             of a template, each instance that is used
 *   variable  a parameter, a local, or one outside of functions; a member is part of its variable
 *
 * Ownership: a program owns all; texts and nodes live until co_program_free(). One thread.
 */
#ifndef MAM_TOOLS_COALESCE_PROGRAM_H
#define MAM_TOOLS_COALESCE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_NONE (-1) /* no function, no variable */

/*
 * A node's children are in the order in which they are evaluated, as far as C++ says one. "e": an
 * expression; "s": a statement; [ ] may be a CO_NOTHING.
 */
enum co_kind {
	CO_NOTHING, /* an absent part, an empty statement */
	/* statements */
	CO_SEQUENCE, /* s... */
	CO_DECLARE,  /* [e]: variable `variable`, with its initial value */
	CO_IF,       /* e, s, [s] */
	CO_LOOP,     /* [s] before, [e] condition, [e] step, s body; do_first: the body comes first */
	CO_SWITCH,   /* e, s: with CO_CASE in it */
	CO_CASE,     /* s: case or default, which may have that as its `name`; the statement behind it */
	CO_BREAK,
	CO_CONTINUE,
	CO_RETURN, /* [e]; with a `name`, exit or trap, it is the thread that ends there */
	CO_JUMP,   /* goto, label, try, asm goto: who comes where behind it is not known */
	/* expressions */
	CO_VALUE,    /* literals, sizeof, enumerators, addresses of functions: the same for all */
	CO_VARIABLE, /* `variable` */
	CO_MEMBER,   /* e.name: of a variable, not through a pointer */
	CO_LOAD,     /* *e, e[e], e->name: what memory holds there */
	CO_ADDRESS,  /* &e */
	CO_ASSIGN,   /* e target, e value; `reads`: the target's old value counts, too (+=, ++), and
	                the operator is `name` where the text says it, of an int or a wider one */
	CO_CHOICE,   /* e ? e : e */
	CO_LAZY,     /* e && e, e || e: the second is evaluated by some */
	CO_CALL,     /* e...: `function`, or `name` where no body is known; a method: &object first */
	CO_NEW,      /* [e] count of elements, e...: bytes each in `bytes`; memory of the device */
	CO_DELETE,   /* e */
	CO_MIX,      /* e...: any operator, cast, list: of its children, and nothing else; where it
	                compares, and the text says how, that is `name` */
	CO_UNKNOWN   /* e...: lambdas, inline assembly, what we do not know: any value, any effect */
};

/* Of a CO_MIX: what it makes of whether its operands are null. */
enum co_null {
	CO_NULL_OTHER,
	CO_NULL_KEPT,  /* a pointer as another type of pointer: it is null if the operand is */
	CO_NULL_TESTED /* p made bool, p == NULL: of the pointer it says that, and nothing else */
};

struct co_node {
	enum co_kind kind;
	enum co_null null;
	bool do_first, reads;
	bool array;        /* CO_NEW, CO_DELETE: []; CO_MEMBER, CO_LOAD: what is named is an array */
	bool is_volatile;  /* CO_MEMBER, CO_LOAD: what is named is volatile */
	bool own;          /* CO_CALL: somebody's own, though its body is not known: its name says nothing;
	                      CO_UNKNOWN: a new that is not the global one */
	bool macro;        /* its begin or its end is in a macro: no place that can be rewritten */
	bool elsewhere;    /* part of a default argument: the function evaluates it, its text is outside */
	bool in_file;      /* it stands in the file, so begin, end, line are of it */
	unsigned int line; /* 1... */
	size_t begin, end; /* bytes of the file */
	int variable;      /* CO_DECLARE, CO_VARIABLE */
	int function;      /* CO_CALL: index, or CO_NONE */
	const char *name;  /* CO_CALL: of what is called, "ns::f"; CO_MEMBER: of the member; see above */
	uint64_t bytes;    /* CO_NEW: of an element; 0: not known */
	struct co_node *first, *next; /* first child; sibling */
	struct co_node *last;         /* child; co_node_add() keeps it */
};

enum co_home {
	CO_PARAMETER,
	CO_LOCAL,    /* a thread's own */
	CO_SHARED,   /* a block's: __shared__, extern or not */
	CO_CONSTANT, /* __constant__, constexpr, const with a known value: the same for all */
	CO_GLOBAL,   /* __device__, __managed__, static: anybody may write to it */
	CO_BUILTIN   /* threadIdx, blockIdx, blockDim, gridDim, warpSize: by name */
};

struct co_variable {
	const char *name;
	enum co_home home;
	int owner;       /* the function; CO_NONE */
	bool pointer;    /* of pointer or reference type */
	bool reference;  /* a reference: what is assigned to it goes elsewhere */
	bool is_volatile;
	bool addressed;  /* its address is taken, or a reference bound to it, somewhere */
};

struct co_function {
	const char *name;    /* as people would write it: "ns::f" */
	const char *printed; /* with the template's arguments: "f<int>" */
	bool kernel;         /* __global__ */
	bool in_file;
	bool is_virtual;     /* or its address is taken: anybody may call it */
	bool is_rest;        /* not a function: the calls of code that was not followed (front_rest.c) */
	unsigned int line;
	size_t begin, end;          /* of the definition, in the file */
	size_t parameters_end;      /* byte of its ")" in the file; 0: not in the file, or in a macro */
	int *parameters;            /* variables; of the arena; a method: `this` first */
	size_t parameter_count;
	bool variadic;
	int template_of;            /* the first function of the same definition; itself if it is that */
	struct co_node *body;       /* CO_SEQUENCE */
};

/*
 * A place in code that may run on the device that names malloc, free or another function of CUDA's
 * heap, or may do so. Unless all of them are calls that can be rewritten, none is rewritten.
 */
struct co_use {
	const char *name; /* "malloc"; or a macro that contains it */
	const char *file; /* an included file; NULL: the file itself */
	unsigned int line;
	size_t begin;    /* of the name, in the file */
	const char *why; /* why it cannot be rewritten; NULL: it can be, if it is the name of a call */
};

struct co_program {
	const char *path;
	const char *text; /* of the file, `bytes` of them and a NUL */
	size_t bytes;
	struct co_function *functions;
	size_t function_count;
	struct co_variable *variables;
	size_t variable_count;
	struct co_use *uses;
	size_t use_count;
	bool has_new; /* the file has new or delete in code that may run on the device */
	struct co_arena *arena; /* of texts and nodes */
};

/*
 * co_program_read - the file at `path`, read as a compiler with `flags` would, for the device.
 * NULL: one sentence in `why`, which names the file, the line and what to do. 1 second at most.
 */
struct co_program *co_program_read(const char *path, const char *const *flags, size_t flag_count,
				   char *why, size_t why_bytes);
void co_program_free(struct co_program *program);
/* co_program_put - the program as text, for tests and for people who look into the tool */
void co_program_put(const struct co_program *program, void *file);

/* ---- making one: arena.c, program.c ---------------------------------------------------------- */

/* All of these: NULL, when memory ran out. */
struct co_program *co_program_new(const char *path);
struct co_node *co_node_new(struct co_program *program, enum co_kind kind);
void co_node_add(struct co_node *parent, struct co_node *child); /* behind the others */
char *co_text_new(struct co_program *program, const char *text, size_t bytes);
/* Index, or CO_NONE when memory ran out. */
int co_variable_new(struct co_program *program);
int co_function_new(struct co_program *program);
/* The new one, all zero; NULL when memory ran out. */
struct co_use *co_use_new(struct co_program *program);

#endif
