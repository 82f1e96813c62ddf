/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - the rows of table.h as data, with the original of each. Rows are found by name.
 *
 * Searches are linear: a program looks up a name once, and twenty comparisons cost less than the
 * linker's own lookup.
 */
#include "interpose/routes/table.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "interpose/routes/hooks.h"
#include "interpose/routes/real.h"
#include "interpose/routes/thunk.h"

enum library { RUNTIME, DRIVER };

/* Which default stream a function uses. */
enum kind { ANY, LEGACY, PER_THREAD };

#define FLAG_PER_THREAD 2u /* cuGetProcAddress: per-thread default streams */

struct row {
	const char *name; /* ELF name */
	enum library library;
	const char *base; /* the name that cuGetProcAddress() takes; NULL: not available from it */
	int since;        /* the first version that selects this row */
	enum kind kind;
	void *by_symbol; /* our function for callers that bind or look up the ELF name */
	void *by_lookup; /* our function for callers of cuGetProcAddress() */
};

#define NO_THUNK(...)
#define THUNK(name, base, since, kind) void mam_thunk_##name(void);
MAM_TABLE_ROWS(NO_THUNK, NO_THUNK, THUNK)

/* clang-format off */
static const struct row rows[] = {
#define RUNTIME_ROW(name) \
	{ #name, RUNTIME, NULL, 0, ANY, (void *)(uintptr_t)name, (void *)(uintptr_t)name },
#define DRIVER_ROW(name, base, since, kind) \
	{ #name, DRIVER, #base, since, kind, (void *)(uintptr_t)name, (void *)(uintptr_t)name },
#define COUNTED_ROW(name, base, since, kind) \
	{ #name, DRIVER, #base, since, kind, (void *)(uintptr_t)name, \
	  (void *)(uintptr_t)mam_thunk_##name },
	MAM_TABLE_ROWS(RUNTIME_ROW, DRIVER_ROW, COUNTED_ROW)
};
/* clang-format on */

__thread bool mam_thunk_flag;

/* atomic; NULL: not known yet */
static void *_Atomic originals[MAM_TABLE_COUNT];

/* The library in which an original is searched if none is remembered. */
static const char *const prefixes[] = { [RUNTIME] = "libcudart.so", [DRIVER] = "libcuda.so" };

enum mam_table_id mam_table_by_name(const char *name)
{
	for (int id = 0; id < MAM_TABLE_COUNT; id++)
		if (strcmp(rows[id].name, name) == 0)
			return (enum mam_table_id)id;
	return MAM_TABLE_NONE;
}

enum mam_table_id mam_table_by_base(const char *base, int version, uint64_t flags)
{
	enum kind wanted = flags & FLAG_PER_THREAD ? PER_THREAD : LEGACY;
	enum mam_table_id best = MAM_TABLE_NONE;

	for (int id = 0; id < MAM_TABLE_COUNT; id++) {
		const struct row *row = &rows[id];

		if (row->base == NULL || row->since > version ||
		    (row->kind != ANY && row->kind != wanted) || strcmp(row->base, base) != 0)
			continue;
		if (best == MAM_TABLE_NONE || row->since > rows[best].since)
			best = (enum mam_table_id)id;
	}
	return best;
}

const char *mam_table_name(enum mam_table_id id)
{
	return id < MAM_TABLE_COUNT ? rows[id].name : "";
}

static void *remembered(enum mam_table_id id)
{
	return atomic_load_explicit(&originals[id], memory_order_acquire);
}

enum mam_table_id mam_table_by_original(const void *function)
{
	for (int id = 0; id < MAM_TABLE_COUNT; id++)
		if (rows[id].library == DRIVER && remembered((enum mam_table_id)id) == function)
			return (enum mam_table_id)id;
	return MAM_TABLE_NONE;
}

/*
 * The first original is kept, so that a replacement calls the same function for the lifetime of the
 * process.
 */
static void *remember(enum mam_table_id id, void *found)
{
	void *expected = NULL;

	if (atomic_compare_exchange_strong(&originals[id], &expected, found))
		return found;
	return expected;
}

static bool is_ours(const struct row *row, const void *function)
{
	return function == row->by_symbol || function == row->by_lookup;
}

void *mam_table_swap(enum mam_table_id id, void *found, bool by_lookup)
{
	const struct row *row = &rows[id];

	if (found == NULL)
		return NULL;
	/* It is already ours if a library's own references bind to this object. */
	if (!is_ours(row, found) && remember(id, found) != found && row->library == RUNTIME)
		return found;
	return by_lookup ? row->by_lookup : row->by_symbol;
}

void *mam_table_original(enum mam_table_id id)
{
	const struct row *row = &rows[id];
	void *found = remembered(id);

	if (found != NULL)
		return found;
	found = mam_real_next(row->name);
	if (found == NULL)
		found = mam_real_in(prefixes[row->library], row->name);
	if (found == NULL || is_ours(row, found))
		return NULL;
	return remember(id, found);
}
