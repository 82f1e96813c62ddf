/* SPDX-License-Identifier: Apache-2.0 */
/*
 * automaton.h - a non-deterministic finite automaton over many texts at once: each lane has one
 * text, and a list of the automaton's possible states, which it rebuilds at each symbol.
 *
 * step, at one symbol:
 * 1. Count the targets of the listed states by this symbol. That is the maximum length of the next
 *    list.
 * 2. Allocate the next list, of that size.
 * 3. Enter each target state once.
 * 4. Free the old list.
 *
 * An automaton is a table in compressed rows: by symbol a, state s leads to targets[first[r]] to
 * targets[first[r + 1] - 1], r = s * symbols + a. It begins in state 0; accepts[s] is not 0 if s is
 * an accepting state.
 *
 * Bound: one allocation and one free per symbol; if n states have k targets, n + k * (states of the
 * next list) steps. Memory: two lists per lane, however many states the automaton has: 4 bytes per
 * target and 4 more.
 *
 * Concurrent calls: automaton_search() by any lanes of any kernels.
 *
 * CUDA and OpenCL C. In OpenCL include mam.cl first, which defines MAM_DS_BASE; in CUDA that is a
 * struct mam_kbase.
 */
#ifndef AUTOMATON_H
#define AUTOMATON_H

#ifdef __CUDACC__
#include <mam/ds.cuh>
#endif

/* In place of a count: out of memory. */
#define AUTOMATON_NO_MEMORY 0xffffffffu

/* Belongs to one lane. States follow it. */
struct automaton_list {
	uint32_t count;
};

MAM_KFN MAM_GLOBAL uint32_t *automaton_states(MAM_GLOBAL struct automaton_list *list)
{
	return (MAM_GLOBAL uint32_t *)(list + 1);
}

/* An empty list with room for `most` states; NULL: out of memory. */
MAM_KFN MAM_GLOBAL struct automaton_list *automaton_list(MAM_DS_BASE base, uint32_t max)
{
	MAM_GLOBAL struct automaton_list *list;

	list = (MAM_GLOBAL struct automaton_list *)mam_ds_alloc(
		base, sizeof(*list) + (size_t)max * sizeof(uint32_t));
	if (list)
		list->count = 0;
	return list;
}

MAM_KFN void automaton_enter(MAM_GLOBAL struct automaton_list *list, uint32_t state)
{
	MAM_GLOBAL uint32_t *states = automaton_states(list);
	uint32_t i;

	MAM_ROLLED
	for (i = 0; i < list->count; i++)
		if (states[i] == state)
			return;
	states[list->count++] = state;
}

/*
 * The list after a symbol; `first` is the row of state 0 by that symbol. Frees the list before.
 * NULL: out of memory.
 */
MAM_KFN MAM_GLOBAL struct automaton_list *automaton_step(MAM_DS_BASE base,
							 MAM_GLOBAL struct automaton_list *list,
							 MAM_GLOBAL const uint32_t *first,
							 uint32_t symbols,
							 MAM_GLOBAL const uint32_t *targets)
{
	MAM_GLOBAL struct automaton_list *next;
	MAM_GLOBAL const uint32_t *row;
	uint32_t max = 0, i, target;

	MAM_ROLLED
	for (i = 0; i < list->count; i++) {
		row = first + automaton_states(list)[i] * symbols;
		max += row[1] - row[0];
	}
	next = automaton_list(base, max);
	MAM_ROLLED
	for (i = 0; next && i < list->count; i++) {
		row = first + automaton_states(list)[i] * symbols;
		MAM_ROLLED
		for (target = row[0]; target < row[1]; target++)
			automaton_enter(next, targets[target]);
	}
	(void)mam_ds_free(base, list);
	return next;
}

MAM_KFN bool automaton_accepts(MAM_GLOBAL struct automaton_list *list,
			       MAM_GLOBAL const uint32_t *accepts)
{
	uint32_t i;

	MAM_ROLLED
	for (i = 0; i < list->count; i++)
		if (accepts[automaton_states(list)[i]])
			return true;
	return false;
}

/* After how many symbols of the text the automaton accepts, or AUTOMATON_NO_MEMORY. */
MAM_KFN uint32_t automaton_search(MAM_DS_BASE base, MAM_GLOBAL const uint32_t *first,
				  uint32_t symbols, MAM_GLOBAL const uint32_t *targets,
				  MAM_GLOBAL const uint32_t *accepts,
				  MAM_GLOBAL const unsigned char *text, uint32_t length)
{
	MAM_GLOBAL struct automaton_list *list = automaton_list(base, 1);
	uint32_t found = 0, i;

	if (list)
		automaton_enter(list, 0);
	MAM_ROLLED
	for (i = 0; list && i < length; i++) {
		list = automaton_step(base, list, first + text[i], symbols, targets);
		if (list && automaton_accepts(list, accepts))
			found++;
	}
	if (!list)
		return AUTOMATON_NO_MEMORY;
	(void)mam_ds_free(base, list);
	return found;
}

/*
 * Searches all `count` texts of `length` symbols each, stored one after the other, by all lanes of
 * a kernel.
 */
MAM_KFN void automaton_search_all(MAM_DS_BASE base, MAM_GLOBAL const uint32_t *first,
				  uint32_t symbols, MAM_GLOBAL const uint32_t *targets,
				  MAM_GLOBAL const uint32_t *accepts,
				  MAM_GLOBAL const unsigned char *texts, uint32_t length,
				  uint32_t count, MAM_GLOBAL uint32_t *found)
{
	uint64_t lanes = (uint64_t)mam_grid_blocks() * mam_block_threads();
	uint64_t i = (uint64_t)mam_block() * mam_block_threads() + mam_thread();

	MAM_ROLLED
	for (; i < count; i += lanes)
		found[i] = automaton_search(base, first, symbols, targets, accepts,
					    texts + i * length, length);
}

#endif
