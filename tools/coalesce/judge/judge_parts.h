/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_parts.h - what the parts of the judge share.
 *
 * The judge is an abstract interpreter: it runs each function with levels (judge.h) instead of
 * values, and follows all paths:
 *
 *   1. facts.c scans each function once: its callees, which variables it sets in which loop, what
 *      it allocates, and whether it can be judged at all.
 *   2. contexts.c analyzes each function once for each context: which threads enter it, the levels
 *      of its arguments, and what is known of shared variables. The context of a kernel is known;
 *      calls create the others. A caller uses the results of its callee's context and is analyzed
 *      again if they change.
 *   3. In a context, reach.c analyzes statements and values.c expressions. Where two paths join,
 *      the greater level counts; loops are repeated until a fixed point.
 *   4. When no context changes any more, all are analyzed once more, and verdicts.c records the
 *      result at each allocation.
 *
 * Bounds: in a context and at a loop header, levels and masks only rise. Each changes at most 3
 * times per variable and 2 times per shared variable. A function has at most MAX_CONTEXTS + 4
 * contexts. The whole analysis takes at most MAX_WORK steps; beyond that nothing is claimed. No
 * recursion is deeper than DEEPEST, and none goes from function to function.
 *
 * Invariant: anything that is cut off, not understood or out of bounds makes levels CO_EACH.
 */
#ifndef MAM_TOOLS_COALESCE_JUDGE_PARTS_H
#define MAM_TOOLS_COALESCE_JUDGE_PARTS_H

#include "coalesce/arena.h"
#include "coalesce/judge/judge.h"

#define DEEPEST 4000u    /* of a tree; deeper trees are not judged */
#define MAX_CONTEXTS 64u /* of a function; further calls share three, one per level of entry */
#define MAX_WORK 150000000ull
#define MAX_SHARED 64u              /* tracked shared variables: bits of a mask */
#define MAX_CELLS ((size_t)1 << 22) /* loops times variables of a function */
#define MAX_ARGUMENTS 32u           /* that are distinguished */

/* ---- levels and their reasons: levels.c ------------------------------------------------------ */

/* The cause of a level greater than CO_ALL. */
enum why {
	WHY_NOTHING,
	WHY_BUILTIN,   /* `at`: threadIdx, or its member */
	WHY_LOADED,    /* from memory */
	WHY_GAVE,      /* `at`: a call; its result */
	WHY_ALLOCATED, /* `at`: a call or a new */
	WHY_ADDRESSED, /* the variable `of`; also for the next ones */
	WHY_REFERENCE,
	WHY_VOLATILE,
	WHY_GLOBAL,
	WHY_SHARED,
	WHY_UNSET,
	WHY_PLACE,   /* the address of a thread's own variable */
	WHY_UNKNOWN, /* `at`: code that is not understood */
	WHY_CALLERS  /* the callers are unknown */
};

/* Why not all threads reach a place. */
enum place {
	PLACE_NONE,
	PLACE_CONDITION, /* an if, a switch, ?:, && */
	PLACE_LOOP,      /* its condition */
	PLACE_LEFT,      /* a return, break, continue */
	PLACE_ENDED,     /* a call in which threads may exit */
	PLACE_WAIT,      /* a loop, a call: one thread may wait for another there */
	PLACE_JUMP,
	PLACE_UNKNOWN,
	PLACE_DEEP
};

enum {
	/* Depends on memory at a loop-invariant address: a loop may wait for it to change. */
	BIT_SAME = 1,
	/* Depends on an atomic, volatile or unknown value: a loop may wait for it to change. */
	BIT_ATOMIC = 2,
	/* Depends on a variable that the innermost loop sets, and on none of the above. */
	BIT_MOVES = 4
};

/* The level of a value, or of the threads that reach a place. */
struct cell {
	unsigned char level; /* enum co_level */
	unsigned char nulls; /* level of whether a pointer is null; at most `level` */
	unsigned char bits;
	unsigned char why;           /* enum why */
	unsigned char place;         /* enum place */
	int of;                      /* the variable that it was last read from; CO_NONE */
	const struct co_node *at;    /* the place of `why` */
	const struct co_node *where; /* the place of `place` */
};

extern const struct cell cell_all;

struct cell cell_why(enum co_level level, enum why why, const struct co_node *at, int of);
struct cell cell_join(struct cell one, struct cell other);
/* The value used in an operation, no longer as the unchanged pointer. */
struct cell cell_number(struct cell value);
/* The threads that continue after `where`, if `value` decides. */
struct cell cell_place(struct cell value, enum place place, const struct co_node *where);

/* The abstract state at a point of a function. */
struct state {
	struct state *next_free;
	bool dead;      /* unreachable on this path; still has the threads that left */
	bool synced;    /* all threads of the block have met since the function began */
	uint64_t dirty; /* shared variables that a thread may have written since the last meeting */
	uint64_t read;  /* those that a thread has read since then, as uniform */
	/* The threads that do not get here, by how they left: */
	struct cell returned, ended, broke, continued;
	struct cell cells[]; /* a level for each parameter and local of the function */
};

struct walk;

struct state *state_new(struct walk *walk); /* never NULL: see walk.scrap */
struct state *state_copy(struct walk *walk, const struct state *from);
void state_set(struct walk *walk, struct state *to, const struct state *from);
bool state_join(struct walk *walk, struct state *to, const struct state *from); /* true: changed */
void state_drop(struct walk *walk, struct state *state);

/* ---- functions with known behavior: known.c -------------------------------------------------- */

enum known {
	KNOWN_NOT,          /* anything may happen in it */
	KNOWN_PURE,         /* its result depends only on its arguments; no effects */
	KNOWN_HARMLESS,     /* any result; it does not hold threads back */
	KNOWN_ALL,          /* its result is uniform in the block */
	KNOWN_BARRIER,      /* the block meets; its result, if any, is uniform */
	KNOWN_VOTE,         /* mask, value: the warp's result */
	KNOWN_TILE_VOTE,    /* object, value: the warp's result */
	KNOWN_MATCH,        /* mask or object, value, place: the warp's result, twice */
	KNOWN_SHUFFLE,      /* mask, value, lane, [width]: the value of that lane */
	KNOWN_TILE_SHUFFLE, /* object, value, lane: the value of that lane */
	KNOWN_ATOMIC,
	KNOWN_MALLOC,
	KNOWN_KMALLOC,
	KNOWN_MEMORY, /* other allocations */
	KNOWN_FREE,
	KNOWN_KFREE,
	KNOWN_END /* the thread ends */
};

enum known known_name(const char *name);
bool known_reserved(const char *name); /* reserved for the implementation */
/*
 * The name of a callee. A callee with a body, or one of the source's own, is not known by its name.
 */
const char *call_name(const struct co_program *program, const struct co_node *node);
enum known call_known(const struct co_program *program, const struct co_node *node);

/* True if the call writes to the place that argument number `at` points or refers to. */
bool call_writes(enum known known, size_t at, const struct co_node *argument);

/* ---- functions: facts.c ---------------------------------------------------------------------- */

struct loop {
	const struct co_node *node;
	int outer;           /* of the surrounding loop; CO_NONE */
	unsigned char *sets; /* one bit per slot */
};

struct facts {
	int slots;          /* parameters and locals */
	struct loop *loops; /* sorted by address of the node */
	int loop_count;
	int *calls; /* callees with a body, each once or more */
	int call_count;
	const struct co_node *spoiled; /* a jump: nothing is known of the function */
	bool too_deep, called, allocates;
	bool has_atomics; /* it, or a function that is mutually recursive with it */
	int circle;       /* the same for mutually recursive functions */
	uint64_t touches; /* shared variables that it or its callees access */
	struct context *contexts;
	int context_count;
};

struct variable_facts {
	int slot;     /* in its owner; CO_NONE */
	int shared;   /* bit of masks; CO_NONE */
	bool anybody; /* any code may write it, by its address or in another function */
	bool kept;    /* it is named where its address may be retained, if taken */
	bool indexed; /* it is read or written by [] in some place */
	/* targets.c: */
	int target;         /* of a parameter: the slot of what it points or refers to; CO_NONE */
	int alias;          /* of a local name: the variable that it stands for; CO_NONE */
	bool alias_through; /* what that one points or refers to */
	bool alias_whole;   /* all of it */
	bool leaks;         /* it may be kept, changed or computed with, or its target may */
	bool written;       /* its target may be written through it */
	bool modified;      /* it is set, other than by its declaration */
	bool foreign;       /* a lambda names it */
	bool as_value;      /* it is used in another way in some place */
};

/* A local variable, or the target of a name, is what another name points or refers to. */
struct binding {
	int from, to;
	bool through;                            /* the target of `from`, not `from` itself */
	const struct co_node *call, *expression; /* NULL: it is a declaration */
};

struct record;

/* ---- contexts: calls.c ----------------------------------------------------------------------- */

struct context {
	struct context *next;      /* of the function */
	struct context *next_made; /* of all, newest first */
	int function;
	struct cell entry;
	struct cell *arguments;
	struct cell *targets; /* of the parameters in `lent`, at the call */
	uint32_t lent,
		whole; /* parameters whose target is followed; is a whole number or pointer */
	uint64_t dirty, read;
	/* Its results, which only rise. */
	struct cell result, ended, sizes;
	struct cell *outs; /* of the targets, at the end */
	uint64_t dirty_behind, read_behind;
	bool synced;
	bool stale, used, root;
	struct context **callers;
	int caller_count, caller_room;
};

struct judge {
	const struct co_program *program;
	const char *const *library;
	const struct co_place *together; /* assumed to be together; sorted */
	size_t together_count;
	struct co_arena *arena; /* of the judgement: reasons, verdicts */
	struct co_arena *own;   /* freed at the end of co_judge() */
	struct facts *facts;
	struct variable_facts *variables;
	uint64_t racy;   /* shared variables that are written while other threads may read */
	uint64_t arrays; /* shared variables that are arrays: they may overlap */
	struct context *made;
	struct binding *bindings;
	size_t binding_count;
	struct record *records; /* sorted by address of the node */
	size_t record_count;
	bool noting;  /* the last pass */
	bool failed;  /* memory ran out */
	bool changed; /* something that all contexts depend on has changed */
	uint64_t work;
};

struct scope {
	struct scope *outer;
	struct loop *loop;   /* NULL: a switch */
	struct state *out;   /* threads that left by break */
	struct state *next;  /* threads that left by continue */
	struct state *enter; /* a switch: the state at its entry */
	struct cell left;    /* a loop: the level at which threads leave it */
	bool waits, has_default;
	bool parts; /* a switch: threads may take different cases */
};

struct walk {
	struct judge *judge;
	struct context *context;
	struct facts *facts;
	struct cell here; /* by the surrounding conditions and the exits of outer loops */
	struct scope *scope;
	struct loop *loop;    /* the innermost one; NULL */
	struct state **heads; /* for each loop, the state at its header so far */
	struct cell *left;    /* of each loop */
	struct state *behind; /* at the end of the function */
	struct cell result, sizes;
	struct state *free_states;
	struct state *nobody; /* the state of unreachable code */
	struct state *scrap;  /* replaces states for which memory ran out */
	struct co_arena *arena;
};

bool facts_find(struct judge *judge); /* false: memory ran out */
void facts_spread(struct judge *judge);
bool circles_find(struct judge *judge); /* circles.c; false: memory ran out */
struct loop *facts_loop(struct facts *facts, const struct co_node *node);

/* ---- targets.c ---- */
/* The variable that contains a place, or whose target does: `through`. CO_NONE: none is known. */
int target_root(const struct judge *judge, const struct co_node *node, bool *through);
const struct co_node *target_place(const struct judge *judge, const struct co_node *node, int to);
int target_bound(const struct judge *judge, const struct co_node *node, int to, int function,
		 bool *through);
bool target_add(struct judge *judge, struct binding binding); /* false: memory ran out */
void targets_resolve(struct judge *judge);
/* The slot of what a name points or refers to. `whole`: an assignment replaces all of it. */
int target_slot(const struct walk *walk, int variable, bool *whole);
/* The slot of a place that is reached through a name; CO_NONE: it is not, or not followed. */
int target_slot_of(const struct walk *walk, const struct co_node *place, bool *whole);
/* The argument is a number, and the parameter a reference to a copy of it. */
bool target_is_temporary(const struct judge *judge, const struct co_node *argument, int parameter);
int target_lent(const struct walk *walk, const struct co_node *argument, int parameter,
		bool *whole);

/* The targets that a call lends to its callee. */
struct lending {
	uint32_t lent, whole;
	struct cell targets[MAX_ARGUMENTS];
};

/* ---- contexts.c ---- */
/* A context without any knowledge, except whether the function is a kernel. */
struct context *context_root(struct judge *judge, int function);
/* The context of such a call. Both return NULL if memory ran out. */
struct context *context_of(struct walk *walk, const struct state *state, int function,
			   struct cell entry, const struct cell *arguments, size_t count,
			   const struct lending *lending);
/* Analyzes from the roots to a fixed point, then once more to record verdicts. */
void contexts_analyze(struct judge *judge);
/* ---- counting.c ---- */
/* True if the loop terminates, provided that other threads cannot change its condition. */
bool loop_counts(struct judge *judge, const struct co_node *loop);
bool node_names(const struct co_node *node, int variable); /* anywhere in it */
/* ---- calls.c ---- */
struct cell call_value(struct walk *walk, struct state *state, const struct co_node *node);

/* ---- analysis: reach.c, values.c, shared.c --------------------------------------------------- */

void reach_function(struct walk *walk, struct state *state);
struct cell reach_here(const struct walk *walk, const struct state *state);
/* Threads end here, or may never continue; `who` reached this place. */
void reach_end(struct state *state, struct cell who);

/* The result of an allocation: private memory of each thread, or NULL. */
struct cell cell_allocated(const struct judge *judge, const struct co_node *node);
struct cell value_of(struct walk *walk, struct state *state, const struct co_node *node);
struct cell value_children(struct walk *walk, struct state *state, const struct co_node *node);
/* The variables named in `node` may have any value from now on. */
void value_spoil(struct walk *walk, struct state *state, const struct co_node *node);
void value_set(struct walk *walk, struct state *state, const struct co_node *target,
	       struct cell value);
/* `part`: other parts of the variable keep their values. */
void value_set_slot(struct walk *walk, struct state *state, int slot, struct cell value, bool part);
/* The level of the indices within a place. */
struct cell value_index(struct walk *walk, struct state *state, const struct co_node *node);

struct cell shared_read(struct walk *walk, struct state *state, const struct co_node *node,
			int variable, struct cell index);
void shared_write(struct walk *walk, struct state *state, int variable);
void shared_unknown(struct walk *walk, struct state *state);
void shared_meet(struct walk *walk, struct state *state);
/* While some threads run the path to `done`, others are still at the start of the `other` path. */
void shared_meanwhile(struct state *other, const struct state *done);

/* ---- results: verdicts.c, reasons.c ---------------------------------------------------------- */

struct record {
	struct co_verdict verdict;
	struct cell reached, best, sizes, all_sizes; /* sizes: of contexts that can pass a scope */
	bool seen, some;
	int definition;                /* the first instance of the same text */
	const struct co_node *measure; /* the size, for the reason */
};

bool verdicts_note_call(struct judge *judge, int function, const struct co_node *node);
void verdicts_sort(struct judge *judge);
void verdicts_note(struct walk *walk, const struct co_node *node, struct cell reached,
		   struct cell size);
struct co_judgement *verdicts_make(struct judge *judge);
const char *reason_of(struct judge *judge, const struct record *record, unsigned int *line);

#endif
