/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stretch.h - a heap with chosen free pages, for tests of runs. All pages are taken except a
 * stretch of `n` pages and shorter ones. The stretch is where words or rows of words meet, at the
 * start, at the end, or anywhere; one of its pages may be taken. A plain model computes, page by
 * page, the lowest run, and how many rows of words a warp looks at to find it.
 */
#ifndef MAM_TESTS_HEAP_STRETCH_H
#define MAM_TESTS_HEAP_STRETCH_H

#include "heap/kit.h"

#define WORDS 80
#define ROUNDS 40

struct field {
	struct mam_pages *pages;
	uint64_t want[WORDS];       /* the bits, then the expected bits */
	uint32_t mask, width, who;  /* callers */
	uint32_t n[32], page[32];   /* for each lane: the requested length, and the expected page */
	uint32_t word, end, undone; /* arguments of a sweep */
	uint32_t refused;           /* failed requests */
	struct mam_kwalk walk;      /* before, then the expected state after */
	uint32_t place, state, blind;
	uint32_t other, delay; /* the page that the other warp claims, and when */
	uint32_t first, next, steps[2];
	bool had, back;
};

static inline uint32_t below(uint32_t n)
{
	return (uint32_t)(simt_random() % n);
}

static inline bool is_taken(const struct field *field, uint32_t page)
{
	return field->want[page / 64] >> page % 64 & 1;
}

static inline void set(struct field *field, uint32_t page, uint32_t n, bool taken)
{
	for (; n--; page++) {
		field->want[page / 64] &= ~((uint64_t)1 << page % 64);
		field->want[page / 64] |= (uint64_t)taken << page % 64;
	}
}

/* The lowest run of `n` free pages in the words [word, end). */
static inline uint32_t lowest(const struct field *field, uint32_t word, uint32_t end, uint32_t n)
{
	uint32_t page, have = 0;

	for (page = word * 64; page < end * 64; page++) {
		have = is_taken(field, page) ? 0 : have + 1;
		if (have == n)
			return page + 1 - n;
	}
	return MAM_NO_PAGE;
}

/* How many rows a sweep looks at, from `word` to where a run ends or to `end`. */
static inline uint32_t rows(const struct field *field, uint32_t word, uint32_t end, uint32_t page,
			    uint32_t n)
{
	if (page != MAM_NO_PAGE)
		end = (page + n - 1) / 64 + 1;
	return word < end ? (end - word + field->width - 1) / field->width : 0;
}

/* A length at which the code behaves differently: word boundaries and row boundaries. */
static inline uint32_t some_length(const struct field *field, uint32_t max)
{
	static const uint32_t lengths[] = { 2,  3,  5,  16, 17,  31,  32,  33,  48,  63,
					    64, 65, 66, 96, 127, 128, 129, 191, 192, 193 };
	uint32_t n = below(4) ? lengths[below(sizeof(lengths) / sizeof(lengths[0]))]
			      : field->width * 64 - 2 + below(5);

	return n <= max && n > 1 ? n : 2;
}

/* Chooses callers and a heap size in words; all pages are taken. */
static inline void start(struct field *field)
{
	static const uint32_t widths[] = { 1, 2, 3, 4, 7, 31, 32 };
	uint32_t words, lane;

	field->width = widths[below(7)];
	field->mask = 0;
	while (mam_popc32(field->mask) < field->width)
		field->mask |= 1u << below(32);
	do
		field->who = below(32);
	while (!(field->mask >> field->who & 1));
	words = 1 + below(2 * field->width + 6);
	memset(field->pages, 0, mam_pages_bytes(WORDS * 64));
	mam_pages_format(field->pages, words * 64, 5);
	memset(field->want, -1, sizeof(field->want));
	field->refused = 0;
	memset(&field->walk, 0, sizeof(field->walk));
	field->walk.place = below(words * 64);
	field->walk.state = (uint32_t)simt_random();
	field->walk.blind = below(2);
	for (lane = 0; lane < 32; lane++)
		field->page[lane] = MAM_NO_PAGE;
}

/* Free stretches: one of `n` pages, perhaps except one page, and decoys. */
static inline void lay(struct field *field, uint32_t n)
{
	uint32_t max = field->pages->words * 64, at, decoys, part;

	for (decoys = below(4); decoys--;) {
		part = 1 + below(n < max ? n : max);
		at = below(max - part + 1);
		set(field, at, part, false);
		set(field, at + part / 2, 1, below(2));
	}
	if (n > max)
		return;
	switch (below(5)) {
	case 0: at = 0; break;
	case 1: at = max - n; break;
	case 2: /* across a word boundary, or up to it, or starting at it */
		at = 64 * below(field->pages->words) + 64 - below(n + 1);
		break;
	case 3: /* the same for a row boundary */
		at = 64 * field->width * (1 + below(3)) - below(n + 1);
		break;
	default: at = below(max - n + 1);
	}
	at = at <= max - n ? at : max - n;
	if (at >= n && below(2)) {
		set(field, at - n, n - 1, false);
		set(field, at - 1, 1, true);
	}
	set(field, at, n, false);
	if (!below(4))
		set(field, at + below(n), 1, true);
}

static inline void into_heap(struct field *field)
{
	memcpy(mam_pages_bits(field->pages), field->want, field->pages->words * sizeof(uint64_t));
}

static inline void same_bits(const struct field *field)
{
	const uint64_t *bits = mam_pages_bits(field->pages);
	uint32_t word;

	for (word = 0; word < field->pages->words; word++)
		MAM_KASSERT(bits[word] == field->want[word]);
	MAM_KASSERT(!field->pages->open.value);
}

static inline bool calls(const struct field *field)
{
	return field->mask >> mam_lane() & 1;
}

/* One block of so many lanes; `kernel` gets a struct field. */
static inline void explore(const char *name, simt_kernel *kernel, uint32_t block, uint32_t seeds)
{
	struct field *field = calloc(1, sizeof(*field));
	struct simt_case test = {
		.name = name,
		.kernel = kernel,
		.grid = 1,
		.block = block,
		.argument = field,
		.seeds = seeds,
		.config = { .race = KIT_RACE, .strict = true, .steps_max = 4000000 },
	};

	ck_assert_ptr_nonnull(field);
	field->pages =
		aligned_alloc(MAM_PAGES_LINE, (mam_pages_bytes(WORDS * 64) + MAM_PAGES_LINE - 1) /
						      MAM_PAGES_LINE * MAM_PAGES_LINE);
	ck_assert_ptr_nonnull(field->pages);
	memset(field->pages, 0, mam_pages_bytes(WORDS * 64));
	mam_pages_format(field->pages, WORDS * 64, 5);
	simt_must_pass(&test);
	free(field->pages);
	free(field);
}

#endif
