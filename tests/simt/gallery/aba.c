/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aba.c - a stack whose head is a bare index, so that a pop cannot detect that the stack has
 * changed.
 *
 * The bug: lane A reads the head X and its successor Y. Lane B pops X, pops Y, and pushes X
 * again. A's compare-and-swap finds X at the head, as before, and makes Y the head: but B owns Y.
 * From then on Y is handed out twice, or the nodes below it are lost.
 * Seen in: free lists of pages and superblocks after Treiber (1986), in every language without a
 * garbage collector; on GPUs a delayed warp makes the window as long as a whole kernel. The twin
 * counts pops in the upper half of the 64-bit head: the reused X is then a different value.
 * Found by: a preemption of one lane between its two reads and its swap, for three whole operations
 * of another lane: a few seeds of any policy, if lanes and nodes are few.
 */
#include "simt/gallery/gallery.h"

#define STACK_ROUNDS 2

struct stack {
	uint32_t bug, wrong, nodes;
	uint64_t head; /* pops << 32 | node; 0: no node */
	uint32_t next[GALLERY_LANES + 1];
	uint32_t owners[GALLERY_LANES + 1];
};

MAM_KFN uint32_t stack_pop(struct stack *stack)
{
	uint64_t seen = mam_atomic_load64(&stack->head, MAM_ACQUIRE, MAM_AT_DEVICE);

	while ((uint32_t)seen != 0) {
		uint32_t next =
			mam_atomic_load32(&stack->next[(uint32_t)seen], MAM_RELAXED, MAM_AT_DEVICE);
		/* The one place: the twin counts its pops. */
		uint64_t pops = stack->bug ? 0 : (seen >> 32) + 1;
		uint64_t found = mam_atomic_cas64(&stack->head, seen, pops << 32 | next,
						  MAM_ACQ_REL, MAM_AT_DEVICE);

		if (found == seen)
			return (uint32_t)seen;
		seen = found;
	}
	return 0;
}

MAM_KFN void stack_push(struct stack *stack, uint32_t node)
{
	uint64_t seen = mam_atomic_load64(&stack->head, MAM_RELAXED, MAM_AT_DEVICE);

	for (;;) {
		mam_atomic_store32(&stack->next[node], (uint32_t)seen, MAM_RELAXED, MAM_AT_DEVICE);
		uint64_t found = mam_atomic_cas64(&stack->head, seen, (seen >> 32) << 32 | node,
						  MAM_ACQ_REL, MAM_AT_DEVICE);

		if (found == seen)
			return;
		seen = found;
	}
}

/* Records the owner of a node, and that the node has no other owner. */
MAM_KFN uint32_t stack_take(struct stack *stack)
{
	uint32_t node = stack_pop(stack);

	if (node && mam_atomic_add32(&stack->owners[node], 1, MAM_RELAXED, MAM_AT_DEVICE) != 0)
		gallery_wrong(&stack->wrong);
	return node;
}

MAM_KFN void stack_release(struct stack *stack, uint32_t node)
{
	if (node == 0)
		return;
	(void)mam_atomic_add32(&stack->owners[node], 0xffffffffu, MAM_RELAXED, MAM_AT_DEVICE);
	stack_push(stack, node);
}

MAM_KERNEL(gallery_aba)
{
	struct stack *stack = (struct stack *)argument;

	for (uint32_t round = 0; round < STACK_ROUNDS; round++) {
		uint32_t first = stack_take(stack), second = stack_take(stack);

		stack_release(stack, first);
		stack_release(stack, second);
	}
}

static void stack_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct stack *stack = (struct stack *)state;

	stack->bug = bug;
	stack->nodes = grid * block;
	stack->head = 1;
	for (uint32_t node = 1; node < stack->nodes; node++)
		stack->next[node] = node + 1;
}

static const char *stack_check(void *state)
{
	struct stack *stack = (struct stack *)state;
	uint32_t count = 0;

	if (stack->wrong)
		return "a node has two owners";
	for (uint32_t node = (uint32_t)stack->head; node != 0; node = stack->next[node])
		if (++count > stack->nodes)
			return "the stack has become a ring";
	return count != stack->nodes ? "nodes are lost" : NULL;
}

const struct gallery_row gallery_aba_row = {
	.name = "aba",
	.what = "a stack without a tag (ABA)",
	.kernel = gallery_aba,
	.bytes = sizeof(struct stack),
	.grid = 2,
	.block = 2,
	.begin = stack_begin,
	.check = stack_check,
	.plain = GALLERY_WRONG | GALLERY_LIVELOCK,
	.hooks = GALLERY_WRONG | GALLERY_LIVELOCK,
	.config = { .steps_max = 20000 },
};
