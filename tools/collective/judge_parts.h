/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_parts.h - what the parts of the judge share.
 *
 * The judge goes through each function as a thread would, but with levels (judge.h) in place of
 * values, and with all ways at once:
 *
 *   1. facts.c reads each function once: whom it calls, which variables it sets in which loop,
 *      what it allocates, whether it can be judged at all.
 *   2. contexts.c goes through each function once for each context: how all come to it, the levels
 *      of its arguments, and what is known of shared variables. A kernel's context is known;
 *      calls make the others. What a context gives back is its caller's, who is gone through
 *      again if it changes.
 *   3. In a context, reach.c does statements and values.c expressions. Where two ways meet, the
 *      greater level counts; loops are repeated until nothing changes.
 *   4. When no context changes any more, all are gone through once more and verdicts.c notes what
 *      they find at each allocation.
 *
 * Bounds: levels and masks only rise in a context and at a loop's head, so each of them changes at
 * most 3 times a variable and 2 times a shared one; at most MOST_CONTEXTS + 4 contexts a function; all
 * together at most MOST_WORK steps, behind which nothing is claimed of anything. No recursion is
 * deeper than DEEPEST, and none goes from function to function.
 *
 * What must hold: whatever is cut short, not understood or out of bounds makes levels CO_EACH.
 */
#ifndef MAM_TOOLS_COALESCE_JUDGE_PARTS_H
#define MAM_TOOLS_COALESCE_JUDGE_PARTS_H

#include "collective/arena.h"
#include "collective/judge.h"

#define DEEPEST 4000u     /* levels of a tree; deeper ones are not judged */
#define MOST_CONTEXTS 64u /* of a function; further calls share three, by who comes */
#define MOST_WORK 150000000ull
#define MOST_SHARED 64u              /* shared variables that are followed: bits of a mask */
#define MOST_CELLS ((size_t)1 << 22) /* loops times variables of a function */
#define MOST_ARGUMENTS 32u           /* that are told apart */

/* ---- levels and their reasons: levels.c ------------------------------------------------------ */

/* What made a level greater than CO_ALL. */
enum why {
	WHY_NOTHING,
	WHY_BUILTIN,   /* `at`: threadIdx, or its member */
	WHY_LOADED,    /* at a line */
	WHY_GAVE,      /* `at`: a call; its result */
	WHY_ALLOCATED, /* `at`: a call or a new */
	WHY_ADDRESSED, /* the variable `of`, and so on */
	WHY_REFERENCE,
	WHY_VOLATILE,
	WHY_GLOBAL,
	WHY_SHARED,
	WHY_UNSET,
	WHY_PLACE,   /* the address of a thread's own variable */
	WHY_UNKNOWN, /* `at`: what is not understood */
	WHY_CALLERS  /* nothing is known of who calls */
};

/* Why not all come. */
enum place {
	PLACE_NONE,
	PLACE_CONDITION, /* an if, a switch, ?:, && */
	PLACE_LOOP,      /* its condition */
	PLACE_LEFT,      /* a return, break, continue */
	PLACE_ENDED,     /* a call in which threads may end */
	PLACE_WAIT,      /* a loop, a call: one thread may wait for another there */
	PLACE_JUMP,
	PLACE_UNKNOWN,
	PLACE_DEEP
};

enum {
	/* It depends on memory that was read at a place that stays: it may be waited for. */
	BIT_SAME = 1,
	/* It depends on an atomic, volatile or unknown thing: it may be waited for. */
	BIT_ATOMIC = 2,
	/* It depends on a variable that the innermost loop sets, and neither of the above. */
	BIT_MOVES = 4
};

/* A level, of a value or of who comes to a place. */
struct cell {
	unsigned char level; /* enum co_level */
	unsigned char nulls; /* of a pointer: of whether it is null; not above `level` */
	unsigned char bits;
	unsigned char why;           /* enum why */
	unsigned char place;         /* enum place */
	int of;                      /* the variable that it was read from last; CO_NONE */
	const struct co_node *at;    /* `why` is there */
	const struct co_node *where; /* `place` is there */
};

extern const struct cell cell_all;

struct cell cell_why(enum co_level level, enum why why, const struct co_node *at, int of);
struct cell cell_join(struct cell one, struct cell other);
/* As a value that is no pointer as it came. */
struct cell cell_number(struct cell value);
/* Who comes behind `where`, by a value. */
struct cell cell_place(struct cell value, enum place place, const struct co_node *where);

/* What is known at a point of a function. */
struct state {
	struct state *next_free;
	bool dead;      /* nobody comes here by this way; who left is known all the same */
	bool synced;    /* since the function's begin all threads of the block have met */
	uint64_t dirty; /* shared variables that somebody may have written since all met */
	uint64_t read;  /* that somebody has read since then, as the same for all */
	/* Those who do not come here, as they left: */
	struct cell returned, ended, broke, continued;
	struct cell cells[]; /* a level for each parameter and local of the function */
};

struct walk;

struct state *state_new(struct walk *walk); /* never NULL: see walk.scrap */
struct state *state_copy(struct walk *walk, const struct state *from);
void state_set(struct walk *walk, struct state *to, const struct state *from);
bool state_join(struct walk *walk, struct state *to, const struct state *from); /* true: new */
void state_drop(struct walk *walk, struct state *state);

/* ---- functions whose meaning is known: known.c ----------------------------------------------- */

enum known {
	KNOWN_NOT,       /* anything may happen in it */
	KNOWN_PURE,      /* its result is of its arguments, and it does nothing */
	KNOWN_HARMLESS,  /* its result may be anything; it does not keep threads */
	KNOWN_ALL,       /* its result is the same for all of the block */
	KNOWN_BARRIER,   /* the block meets; its result, if any, is the same for all */
	KNOWN_VOTE,      /* mask, value: the warp's result */
	KNOWN_TILE_VOTE, /* object, value: the warp's result */
	KNOWN_SHUFFLE,   /* mask, value, lane, [width]: the value of that lane */
	KNOWN_ATOMIC,
	KNOWN_MALLOC,
	KNOWN_KMALLOC,
	KNOWN_MEMORY, /* other allocations */
	KNOWN_FREE,
	KNOWN_KFREE,
	KNOWN_END /* the thread ends */
};

enum known known_name(const char *name);
bool known_reserved(const char *name); /* nobody else may have it */
/* Of what is called; what has a body, or is somebody's own, is what it is, whatever its name. */
const char *call_name(const struct co_program *program, const struct co_node *node);
enum known call_known(const struct co_program *program, const struct co_node *node);

/* ---- functions: facts.c ---------------------------------------------------------------------- */

struct loop {
	const struct co_node *node;
	int outer;           /* index; CO_NONE */
	unsigned char *sets; /* a bit for each slot */
};

struct facts {
	int slots;          /* parameters and locals */
	struct loop *loops; /* by address of the node */
	int loop_count;
	int *calls; /* functions with a body, each once or more */
	int call_count;
	const struct co_node *spoiled; /* a jump: nothing is known of it */
	bool too_deep, called, allocates;
	bool has_atomics; /* it, or who it is in a circle of calls with */
	int circle;       /* functions that call each other in circles have the same */
	uint64_t touches; /* shared variables, also by whom it calls */
	struct context *contexts;
	int context_count;
};

struct variable_facts {
	int slot;      /* of its owner's; CO_NONE */
	int shared;    /* bit of masks; CO_NONE */
	bool anybody;  /* others may write to it by its address, or from another function */
	bool kept;     /* it is named where its address may be kept, if it is taken */
	bool indexed;  /* somewhere it is read or written by [] */
	bool as_value; /* somewhere it is used otherwise */
};

struct record;

/* ---- contexts: calls.c ----------------------------------------------------------------------- */

struct context {
	struct context *next;      /* of the function */
	struct context *next_made; /* of all, newest first */
	int function;
	struct cell entry;
	struct cell *arguments;
	uint64_t dirty, read;
	/* What it gives back; it only rises. */
	struct cell result, ended, sizes;
	uint64_t dirty_behind, read_behind;
	bool synced;
	bool stale, used, root;
	struct context **callers;
	int caller_count, caller_room;
};

struct judge {
	const struct co_program *program;
	const char *const *library;
	const struct co_place *together; /* who is promised to be; in order */
	size_t together_count;
	struct co_arena *arena; /* the judgement's: reasons, verdicts */
	struct co_arena *own;   /* gone behind co_judge() */
	struct facts *facts;
	struct variable_facts *variables;
	uint64_t racy;   /* shared variables that are written while others may read */
	uint64_t arrays; /* shared variables that are arrays: they may be in the same place */
	struct context *made;
	struct record *records; /* by address of the node */
	size_t record_count;
	bool noting;  /* the last time through */
	bool failed;  /* memory ran out */
	bool changed; /* something that all contexts depend on */
	uint64_t work;
};

struct scope {
	struct scope *outer;
	struct loop *loop;   /* NULL: a switch */
	struct state *out;   /* who left by break */
	struct state *next;  /* who left by continue */
	struct state *enter; /* a switch: as it was entered */
	struct cell left;    /* a loop: as threads leave it */
	bool waits, has_default;
	bool parts; /* a switch: not all go to the same case */
};

struct walk {
	struct judge *judge;
	struct context *context;
	struct facts *facts;
	struct cell here; /* who comes, by the conditions around, and by who left outer loops */
	struct scope *scope;
	struct loop *loop;    /* the innermost; NULL */
	struct state **heads; /* of each loop, what is known of its begin up to now */
	struct cell *left;    /* of each loop */
	struct state *behind; /* the function */
	struct cell result, sizes;
	struct state *free_states;
	struct state *nobody; /* as known where nobody comes */
	struct state *scrap;  /* stands for states for which there was no memory */
	struct co_arena *arena;
};

bool facts_find(struct judge *judge); /* false: no memory */
void facts_spread(struct judge *judge);
bool circles_find(struct judge *judge); /* circles.c; false: no memory */
struct loop *facts_loop(struct facts *facts, const struct co_node *node);

/* ---- contexts.c ---- */
/* A context of which nothing is known but that it is a kernel's, or not even that. */
struct context *context_root(struct judge *judge, int function);
/* The context of such a call. Both: NULL, no memory. */
struct context *context_of(struct walk *walk, const struct state *state, int function,
			   struct cell entry, const struct cell *arguments, size_t count);
/* From the kernels, until nothing changes; then once more, with notes. */
void contexts_settle(struct judge *judge);
/* ---- counting.c ---- */
/* It ends by itself, if its condition depends on nothing that others may change. */
bool loop_counts(struct judge *judge, const struct co_node *loop);
bool node_names(const struct co_node *node, int variable); /* in it, somewhere */
/* ---- calls.c ---- */
struct cell call_value(struct walk *walk, struct state *state, const struct co_node *node);

/* ---- going through: reach.c, values.c, shared.c ---------------------------------------------- */

void reach_function(struct walk *walk, struct state *state);
struct cell reach_here(const struct walk *walk, const struct state *state);
/* Threads end here, or may never go on; `who` came. */
void reach_end(struct state *state, struct cell who);

/* What an allocation gives: memory of each thread's own, or NULL. */
struct cell cell_allocated(const struct judge *judge, const struct co_node *node);
struct cell value_of(struct walk *walk, struct state *state, const struct co_node *node);
struct cell value_children(struct walk *walk, struct state *state, const struct co_node *node);
/* What is named in `node` may have any value. */
void value_spoil(struct walk *walk, struct state *state, const struct co_node *node);
void value_set(struct walk *walk, struct state *state, const struct co_node *target,
	       struct cell value);

struct cell shared_read(struct walk *walk, struct state *state, const struct co_node *node,
			int variable, struct cell index);
void shared_write(struct walk *walk, struct state *state, int variable);
void shared_unknown(struct walk *walk, struct state *state);
void shared_meet(struct walk *walk, struct state *state);
/* While some go the way to `done`, others are still at the begin of the `other` one. */
void shared_meanwhile(struct state *other, const struct state *done);

/* ---- what is found: verdicts.c, reasons.c ---------------------------------------------------- */

struct record {
	struct co_verdict verdict;
	struct cell reached, best, sizes,
		all_sizes; /* sizes: of contexts that can pass something */
	bool seen, some;
	int definition;                /* the first function of the same text */
	const struct co_node *measure; /* the size, for the reason */
};

bool verdicts_note_call(struct judge *judge, int function, const struct co_node *node);
void verdicts_sort(struct judge *judge);
void verdicts_note(struct walk *walk, const struct co_node *node, struct cell reached,
		   struct cell size);
struct co_judgement *verdicts_make(struct judge *judge);
const char *reason_of(struct judge *judge, const struct record *record, unsigned int *line);

#endif
