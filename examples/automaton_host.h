/* SPDX-License-Identifier: Apache-2.0 */
/*
 * automaton_host.h - an automaton that finds a word with up to some number of errors, texts to
 * search, and the same search on the host without an automaton. C11 and C++11.
 *
 * State i * (errors + 1) + e: i symbols of the word have been matched, with e errors. From there,
 * by symbol a:
 *   to e + 1, the same i: a is an extra symbol;
 *   for each number d of missing symbols: to i + d + 1 with e + d, if a is the next symbol then,
 *   and with e + d + 1, as if it were.
 * State 0 leads to itself by every symbol, as the word may begin anywhere. A state accepts if the
 * rest of the word may be missing.
 *
 * The reference is Sellers' (The theory and computation of evolutionary distances, J. Algorithms 1,
 * 1980): a column of edit distances, for one symbol of the text after the other.
 */
#ifndef AUTOMATON_HOST_H
#define AUTOMATON_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define AUTOMATON_SYMBOLS 4u
#define AUTOMATON_WORD_MAX 64u
#define AUTOMATON_ERRORS_MAX 4u

struct automaton {
	uint32_t length, errors; /* of the word; maximum in it */
	uint32_t states, rows, targets_count;
	unsigned char word[AUTOMATON_WORD_MAX];
	uint32_t *first; /* rows + 1 of them */
	uint32_t *targets;
	uint32_t *accepts;
};

static inline uint32_t automaton_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static inline void automaton_free(struct automaton *made)
{
	free(made->first);
	free(made->targets);
	free(made->accepts);
	made->first = made->targets = made->accepts = NULL;
}

static inline void automaton_target(struct automaton *made, uint32_t matched, uint32_t errors)
{
	if (matched <= made->length && errors <= made->errors)
		made->targets[made->targets_count++] = matched * (made->errors + 1) + errors;
}

static inline void automaton_row(struct automaton *made, uint32_t state, uint32_t symbol)
{
	uint32_t matched = state / (made->errors + 1), errors = state % (made->errors + 1), d;

	made->first[state * AUTOMATON_SYMBOLS + symbol] = made->targets_count;
	if (state == 0)
		automaton_target(made, 0, 0);
	automaton_target(made, matched, errors + 1);
	for (d = 0; matched + d < made->length && errors + d <= made->errors; d++) {
		if (made->word[matched + d] == symbol)
			automaton_target(made, matched + d + 1, errors + d);
		automaton_target(made, matched + d + 1, errors + d + 1);
	}
}

/*
 * A random word of 1 to AUTOMATON_WORD_MAX symbols, with 0 to AUTOMATON_ERRORS_MAX errors. False:
 * out of memory.
 */
static inline bool automaton_make(struct automaton *made, uint64_t seed, uint32_t length,
				  uint32_t errors)
{
	uint64_t random = seed;
	uint32_t i;

	made->length = length;
	made->errors = errors;
	made->states = (length + 1) * (errors + 1);
	made->rows = made->states * AUTOMATON_SYMBOLS;
	made->targets_count = 0;
	for (i = 0; i < length; i++)
		made->word[i] = (unsigned char)(automaton_random(&random) % AUTOMATON_SYMBOLS);
	made->first = (uint32_t *)malloc((made->rows + 1) * sizeof(uint32_t));
	made->targets =
		(uint32_t *)malloc((size_t)made->rows * (2 * errors + 4) * sizeof(uint32_t));
	made->accepts = (uint32_t *)malloc(made->states * sizeof(uint32_t));
	if (!made->first || !made->targets || !made->accepts) {
		automaton_free(made);
		return false;
	}
	for (i = 0; i < made->rows; i++)
		automaton_row(made, i / AUTOMATON_SYMBOLS, i % AUTOMATON_SYMBOLS);
	made->first[made->rows] = made->targets_count;
	for (i = 0; i < made->states; i++)
		made->accepts[i] = length - i / (errors + 1) + i % (errors + 1) <= errors;
	return true;
}

/* The maximum number of targets of all states together by one symbol: no list is longer. */
static inline uint32_t automaton_max(const struct automaton *made)
{
	uint32_t sums[AUTOMATON_SYMBOLS] = { 0 }, max = 0, i;

	for (i = 0; i < made->rows; i++)
		sums[i % AUTOMATON_SYMBOLS] += made->first[i + 1] - made->first[i];
	for (i = 0; i < AUTOMATON_SYMBOLS; i++)
		max = sums[i] > max ? sums[i] : max;
	return max;
}

/* `count` texts of `length` symbols, one after the other; NULL: out of memory. */
static inline unsigned char *automaton_texts(uint64_t seed, uint32_t count, uint32_t length)
{
	size_t bytes = (size_t)count * length, i; /* and one, so that it is never 0 */
	unsigned char *texts = (unsigned char *)malloc(bytes + 1);
	uint64_t random = seed ^ 0x5deece66du;

	for (i = 0; texts && i <= bytes; i++)
		texts[i] = (unsigned char)(automaton_random(&random) % AUTOMATON_SYMBOLS);
	return texts;
}

/* After how many symbols of the text a match of the word with up to `errors` errors ends. */
static inline uint32_t automaton_expect(const struct automaton *made, const unsigned char *text,
					uint32_t length)
{
	uint32_t column[AUTOMATON_WORD_MAX + 1], found = 0, diagonal, best, i, j;

	for (j = 0; j <= made->length; j++)
		column[j] = j;
	for (i = 0; i < length; i++) {
		diagonal = column[0];
		for (j = 1; j <= made->length; j++) {
			best = diagonal + (made->word[j - 1] != text[i]);
			if (column[j] + 1 < best)
				best = column[j] + 1;
			if (column[j - 1] + 1 < best)
				best = column[j - 1] + 1;
			diagonal = column[j];
			column[j] = best;
		}
		found += column[made->length] <= made->errors;
	}
	return found;
}

#endif
