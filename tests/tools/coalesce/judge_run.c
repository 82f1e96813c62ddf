/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_run.c - see judge_run.h.
 *
 * Each thread records, in order, the calls that are claimed for the block, and their sizes if those
 * are claimed to be uniform. All threads must have recorded the same.
 */
#include <stdlib.h>
#include <string.h>

#include "judge_run.h"

#define THREADS 6
#define STEPS 3000u
#define EVENTS 600u
#define DEPTH 40u
#define VARIABLES 64

enum flow { NEXT, BREAK, CONTINUE, RETURN, END };

struct event {
	const struct co_node *node;
	unsigned long bytes;
};

struct thread {
	const struct co_program *program;
	const struct co_judgement *judgement;
	const struct co_place *together;
	size_t together_count;
	unsigned long number, input, noise;
	unsigned int steps, depth;
	unsigned long result;
	bool ended, too_long;
	struct event events[EVENTS];
	size_t event_count;
};

struct frame {
	unsigned long values[VARIABLES];
};

static unsigned long mixed(unsigned long a, unsigned long b)
{
	unsigned long x = a * 0x9e3779b97f4a7c15ul + b + 1;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ul;
	return (x ^ x >> 32) & 0xffff;
}

/* A value that only this thread has, and only now. */
static unsigned long own(struct thread *thread)
{
	return mixed(mixed(thread->number + 1, thread->noise++), thread->input) % 5;
}

static const struct co_verdict *verdict_of(const struct thread *thread, const struct co_node *node)
{
	for (size_t i = 0; i < thread->judgement->count; i++)
		if (thread->judgement->verdicts[i].node == node)
			return &thread->judgement->verdicts[i];
	return NULL;
}

static void note(struct thread *thread, const struct co_node *node, unsigned long bytes)
{
	const struct co_verdict *verdict = verdict_of(thread, node);
	if (!verdict || verdict->reached != CO_ALL)
		return;
	if (thread->event_count == EVENTS) {
		thread->too_long = true;
		return;
	}
	bool same = verdict->kind != CO_HELPER && verdict->size == CO_ALL;
	thread->events[thread->event_count++] = (struct event){ node, same ? bytes : 0 };
}

static unsigned long evaluate(struct thread *thread, struct frame *frame,
			      const struct co_node *node);
static enum flow execute(struct thread *thread, struct frame *frame, const struct co_node *node);

static bool stopped(struct thread *thread)
{
	if (++thread->steps > STEPS)
		thread->too_long = true;
	return thread->too_long || thread->ended;
}

static unsigned long call_function(struct thread *thread, int function,
				   const unsigned long *arguments, size_t count)
{
	const struct co_function *of = &thread->program->functions[function];
	struct frame frame;
	if (thread->depth >= DEPTH) {
		thread->too_long = true;
		return 0;
	}
	for (size_t i = 0; i < VARIABLES; i++)
		frame.values[i] = own(thread);
	for (size_t i = 0; i < of->parameter_count; i++)
		frame.values[of->parameters[i]] = i < count ? arguments[i] : own(thread);
	thread->depth++;
	enum flow flow = execute(thread, &frame, of->body);
	thread->depth--;
	return flow == RETURN ? thread->result : 0;
}

static bool is_together(const struct thread *thread, const struct co_node *node)
{
	for (size_t i = 0; i < thread->together_count; i++)
		if (thread->together[i].begin == node->begin &&
		    thread->together[i].end == node->end)
			return true;
	return false;
}

static unsigned long call(struct thread *thread, struct frame *frame, const struct co_node *node)
{
	unsigned long arguments[8] = { 0 };
	size_t count = 0;
	for (const struct co_node *child = node->first; child && count < 8; child = child->next)
		arguments[count++] = evaluate(thread, frame, child);
	if (stopped(thread))
		return 0;
	note(thread, node, count ? arguments[count - 1] : 0);
	if (node->function == CO_NONE && is_together(thread, node))
		return mixed(node->begin + thread->event_count, thread->input) % 3 ? 1 + own(thread)
										   : 0;
	if (node->function == CO_NONE)
		return own(thread);
	return call_function(thread, node->function, arguments, count);
}

static unsigned long read_variable(struct thread *thread, struct frame *frame,
				   const struct co_node *node)
{
	const struct co_variable *variable = &thread->program->variables[node->variable];
	if (variable->home != CO_BUILTIN)
		return frame->values[node->variable];
	return strcmp(variable->name, "threadIdx") == 0 ? thread->number : thread->input % 3;
}

static unsigned long assign(struct thread *thread, struct frame *frame, const struct co_node *node)
{
	unsigned long value = 0;
	if (node->first->next)
		value = evaluate(thread, frame, node->first->next);
	if (node->first->kind != CO_VARIABLE) {
		evaluate(thread, frame, node->first);
		return value;
	}
	if (node->reads)
		value += frame->values[node->first->variable] + 1;
	if (!stopped(thread))
		frame->values[node->first->variable] = value;
	return value;
}

static unsigned long evaluate(struct thread *thread, struct frame *frame,
			      const struct co_node *node)
{
	const struct co_node *child = node->first;
	unsigned long value = 0;
	if (stopped(thread))
		return 0;
	switch (node->kind) {
	case CO_VALUE: return 1 + node->begin % 4;
	case CO_VARIABLE: return read_variable(thread, frame, node);
	case CO_ASSIGN: return assign(thread, frame, node);
	case CO_CALL: return call(thread, frame, node);
	case CO_LAZY:
		for (value = 1; child && value; child = child->next)
			value = evaluate(thread, frame, child) % 3;
		return value;
	case CO_CHOICE:
		if (child && evaluate(thread, frame, child) % 2)
			return child->next ? evaluate(thread, frame, child->next) : 0;
		child = child && child->next ? child->next->next : NULL;
		return child ? evaluate(thread, frame, child) : 0;
	default: break;
	}
	for (; child; child = child->next)
		value += evaluate(thread, frame, child);
	if (node->null == CO_NULL_TESTED)
		return value == 0;
	return node->kind == CO_LOAD || node->kind == CO_UNKNOWN ? own(thread) : value;
}

/* The statements of a switch: those of its body, or its body. */
static enum flow execute_switch(struct thread *thread, struct frame *frame,
				const struct co_node *node)
{
	unsigned long value = evaluate(thread, frame, node->first), cases = 0;
	const struct co_node *body = node->first->next, *start = NULL, *other = NULL;
	if (!body)
		return NEXT;
	bool list = body->kind == CO_SEQUENCE;
	const struct co_node *first = list ? body->first : body;
	for (const struct co_node *at = first; at; at = list ? at->next : NULL)
		cases += at->kind == CO_CASE && !at->name;
	value %= cases + 1;
	for (const struct co_node *at = first; at; at = list ? at->next : NULL) {
		if (at->kind == CO_CASE && at->name)
			other = at;
		else if (at->kind == CO_CASE && value-- == 0 && !start)
			start = at;
	}
	for (start = start ? start : other; start; start = list ? start->next : NULL) {
		enum flow flow = execute(thread, frame, start);
		if (flow == BREAK)
			return NEXT;
		if (flow != NEXT)
			return flow;
	}
	return NEXT;
}

static enum flow execute_loop(struct thread *thread, struct frame *frame,
			      const struct co_node *node)
{
	const struct co_node *condition = node->first->next, *step = condition->next;
	const struct co_node *body = step->next;
	bool skip = node->do_first;
	for (execute(thread, frame, node->first);; skip = false) {
		if (!skip && condition->kind != CO_NOTHING &&
		    evaluate(thread, frame, condition) % 4 == 0)
			return NEXT;
		enum flow flow = body ? execute(thread, frame, body) : NEXT;
		if (stopped(thread) || flow == RETURN || flow == END)
			return flow;
		if (flow == BREAK)
			return NEXT;
		evaluate(thread, frame, step);
	}
}

static enum flow execute(struct thread *thread, struct frame *frame, const struct co_node *node)
{
	const struct co_node *child = node->first;
	enum flow flow = NEXT;
	if (stopped(thread))
		return END;
	switch (node->kind) {
	case CO_SEQUENCE:
	case CO_CASE:
		for (; child && flow == NEXT; child = child->next)
			flow = execute(thread, frame, child);
		return flow;
	case CO_DECLARE:
		frame->values[node->variable] = child && child->kind != CO_NOTHING
							? evaluate(thread, frame, child)
							: own(thread);
		return NEXT;
	case CO_IF:
		if (evaluate(thread, frame, child) % 2)
			return child->next ? execute(thread, frame, child->next) : NEXT;
		child = child->next ? child->next->next : NULL;
		return child ? execute(thread, frame, child) : NEXT;
	case CO_LOOP: return execute_loop(thread, frame, node);
	case CO_SWITCH: return execute_switch(thread, frame, node);
	case CO_BREAK: return BREAK;
	case CO_CONTINUE: return CONTINUE;
	case CO_RETURN: {
		unsigned long value = child ? evaluate(thread, frame, child) : 0;
		if (stopped(thread))
			return END;
		thread->result = value;
		thread->ended |= node->name != NULL;
		return node->name ? END : RETURN;
	}
	default: evaluate(thread, frame, node); return NEXT;
	}
}

static bool is_alike(const struct thread *one, const struct thread *other)
{
	if (one->event_count != other->event_count)
		return false;
	for (size_t i = 0; i < one->event_count; i++)
		if (one->events[i].node != other->events[i].node ||
		    one->events[i].bytes != other->events[i].bytes)
			return false;
	return true;
}

enum run_result judge_run(const struct co_program *program, const struct co_judgement *judgement,
			  const struct co_place *together, size_t together_count, int kernel,
			  unsigned long input, unsigned long *held)
{
	static struct thread threads[THREADS];
	unsigned long arguments[8];
	if (program->variable_count > VARIABLES)
		return RUN_TOO_LONG;
	for (size_t i = 0; i < 8; i++)
		arguments[i] = mixed(input, i) % 5;
	for (size_t i = 0; i < THREADS; i++) {
		memset(&threads[i], 0, sizeof threads[i]);
		threads[i].program = program;
		threads[i].judgement = judgement;
		threads[i].together = together;
		threads[i].together_count = together_count;
		threads[i].number = i;
		threads[i].input = input;
		call_function(&threads[i], kernel, arguments, 8);
		if (threads[i].too_long)
			return RUN_TOO_LONG;
	}
	for (size_t i = 1; i < THREADS; i++)
		if (!is_alike(&threads[0], &threads[i]))
			return RUN_WRONG;
	*held += threads[0].event_count;
	return RUN_FINE;
}
