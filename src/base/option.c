/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.c - the table of options, and reading it from the environment.
 *
 * 1. The first call of any getter reads all rows. A variable that is unset, empty or invalid leaves
 *    the default.
 * 2. Invalid values, and MAM_ variables that are in no row, are remembered and reported after all
 *    rows are read, since the report uses options itself.
 *
 * Invariant: every default is a value that its own row allows (checked when it is read).
 */
#define _GNU_SOURCE /* secure_getenv, strchrnul, environ */
#include "base/option.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "base/lock.h"
#include "base/log.h"

#define PREFIX "MAM_"

/* The range that a pool allows for a granule. */
#define POWER_MIN 16
#define POWER_MAX (2 << 20)
#define PERCENT_MAX 1000 /* of a footprint */

#define ROW(...)                                           \
	{                                                  \
		sizeof(struct mam_option_row), __VA_ARGS__ \
	}

/* clang-format off */
static const struct mam_option_row rows[] = {
	[MAM_OPTION_DISABLE] = ROW("MAM_DISABLE", "bool", NULL, "no",
		"Under mam run, leave every call to the CUDA driver as it is."),
	[MAM_OPTION_SOURCE] = ROW("MAM_SOURCE", "choice", "vmm|cudamalloc|pinned|managed|host",
		"cudamalloc",
		"Memory of default pools, and under mam run of its pools (the first two): vmm: device memory, "
		"mapped in pieces; cudamalloc: device memory in whole chunks; pinned: host memory; managed: "
		"migrates on access; host: addresses only."),
	[MAM_OPTION_PEERS] = ROW("MAM_PEERS", "choice", "all|none", "all",
		"Other devices that may access memory of the source vmm: all that can, or none, which makes "
		"mapping faster if many devices are visible."),
	[MAM_OPTION_CHUNK] = ROW("MAM_CHUNK", "bytes", "largest", "0",
		"Size of a default pool's first chunk, allocated at once; 0: when needed."),
	[MAM_OPTION_GROWTH] = ROW("MAM_GROWTH", "bytes", "none", "0",
		"Minimum size of later chunks; 0: at least 64 MiB and an eighth of the pool up to 1 GiB, "
		"requests of 32 MiB and more exactly."),
	[MAM_OPTION_LIMIT] = ROW("MAM_LIMIT", "bytes", NULL, "0",
		"Maximum memory of a default pool, and under mam run of all intercepted calls of a device "
		"together; 0: no limit."),
	[MAM_OPTION_LIMIT_FILE] = ROW("MAM_LIMIT_FILE", "text", NULL, "",
		"Under mam run, file in which processes share the limit of each device: it then applies to "
		"the sum of all processes with this file; empty: to each process."),
	[MAM_OPTION_FOOTPRINT] = ROW("MAM_FOOTPRINT", "percent", NULL, "0",
		"Percent over its live bytes above which a default pool uses memory that other streams freed "
		"before it grows, while the GPU waits for them; 0: only in place of an out-of-memory error."),
	[MAM_OPTION_HOST_MEMORY] = ROW("MAM_HOST_MEMORY", "bytes", NULL, "0",
		"Maximum pinned host memory of the process for the contents of suspended pools; 0: as long as "
		"a quarter of the host's memory remains."),
	[MAM_OPTION_GRANULE] = ROW("MAM_GRANULE", "power", NULL, "512",
		"Unit in bytes to which block sizes are rounded up, from 16 to 2 MiB."),
	[MAM_OPTION_FREE] = ROW("MAM_FREE", "choice", "default|strict|stream|deferred", "default",
		"When freed blocks are reused: strict first waits for the device as cudaFree does, "
		"stream does not wait, deferred (under mam run, elsewhere as strict) does not wait and "
		"reuses them once all work before the free is done; default is strict on device memory "
		"and stream elsewhere."),
	[MAM_OPTION_CACHE] = ROW("MAM_CACHE", "choice", "on|off", "on",
		"Whether threads cache the blocks that they free in default pools, to allocate them "
		"again without a lock."),
	[MAM_OPTION_HEAP_GROWTH] = ROW("MAM_HEAP_GROWTH", "choice", "auto|on|off", "auto",
		"Whether heaps may grow while kernels run; auto: not under ncu, compute-sanitizer and "
		"cuda-gdb, where growing fails."),
	[MAM_OPTION_HEAP_LEAKS] = ROW("MAM_HEAP_LEAKS", "bool", NULL, "yes",
		"Whether a debug heap lists its live objects when it is destroyed."),
	[MAM_OPTION_CAPTURE] = ROW("MAM_CAPTURE", "choice", "strict|allow", "strict",
		"Under mam run, what allocations return in a thread that a stream capture restricts: "
		"the driver's result, or a block of the pool."),
	[MAM_OPTION_IPC] = ROW("MAM_IPC", "text", NULL, "share",
		"Under mam run, share: handles of pooled blocks work between processes under mam; "
		"dedicated or dedicated:SIZE: requests from 1M or SIZE up go to the driver."),
	[MAM_OPTION_PASS_ABOVE] = ROW("MAM_PASS_ABOVE", "bytes", NULL, "0",
		"Under mam run, larger requests go to the driver; 0: half of the device's memory."),
	[MAM_OPTION_STATS] = ROW("MAM_STATS", "bool", NULL, "no",
		"Under mam run, print statistics of the pools when the program ends."),
	[MAM_OPTION_STATS_FILE] = ROW("MAM_STATS_FILE", "text", NULL, "",
		"File for those statistics, as lines of key, tab, value; processes that the program starts "
		"append a dot and their process ID to the name; empty: standard error, as a table."),
	[MAM_OPTION_TRACE] = ROW("MAM_TRACE", "text", NULL, "",
		"Under mam run, file for a trace of all allocations (mam-trace(5)); empty: none."),
	[MAM_OPTION_TRACE_WHO] = ROW("MAM_TRACE_WHO", "bool", NULL, "no",
		"Whether that trace has the call site of each block; 2 us per allocation."),
	[MAM_OPTION_PROFILE] = ROW("MAM_PROFILE", "text", NULL, "",
		"Under mam run, file for a trace with the call stack of each allocation, in place of "
		"MAM_TRACE; empty: none."),
	[MAM_OPTION_PROFILE_RATE] = ROW("MAM_PROFILE_RATE", "bytes", NULL, "0",
		"Mean number of bytes between the allocations that such a trace has; 0: it has all."),
	[MAM_OPTION_LEAKS] = ROW("MAM_LEAKS", "bool", NULL, "no",
		"Under mam run, list the live blocks when the program ends."),
	[MAM_OPTION_LEAKS_FILE] = ROW("MAM_LEAKS_FILE", "text", NULL, "",
		"File for that list; empty: standard error."),
	[MAM_OPTION_OOM_REPORT] = ROW("MAM_OOM_REPORT", "text", NULL, "",
		"Under mam run, existing folder for reports of allocations that run out of memory; empty: none."),
	[MAM_OPTION_NVTX] = ROW("MAM_NVTX", "choice", "auto|no", "auto",
		"Under mam run and compute-sanitizer, register blocks with the tool."),
	[MAM_OPTION_CHILDREN] = ROW("MAM_CHILDREN", "bool", NULL, "yes",
		"Whether mam also serves processes that the program starts."),
	[MAM_OPTION_RUN_PID] = ROW("MAM_RUN_PID", "text", NULL, "",
		"Set by mam run: the process ID of the program that it started."),
	[MAM_OPTION_SHARE] = ROW("MAM_SHARE", "text", NULL, "",
		"Set by mam share: the number of the program and the socket by which it takes turns."),
	[MAM_OPTION_DEBUG] = ROW("MAM_DEBUG", "choice", "off|redzone", "off",
		"redzone: pools of device memory put red zones around blocks, check them and freed blocks on "
		"the GPU, and abort at damage; frees are strict, without thread caches."),
	[MAM_OPTION_LOG] = ROW("MAM_LOG", "choice", "error|warn|info|debug", "warn",
		"Verbosity of mam's messages."),
	[MAM_OPTION_LOG_FILE] = ROW("MAM_LOG_FILE", "text", NULL, "",
		"File to which messages are appended, each with the process ID; empty: standard error."),
};
/* clang-format on */

_Static_assert(sizeof(rows) / sizeof(rows[0]) == MAM_OPTION_COUNT, "a row for each identifier");

struct value {
	uint64_t number;
	const char *text;    /* as mam_option_value() returns it */
	const char *refused; /* the environment's value if the row forbids it; otherwise NULL */
	bool is_given;       /* set in the environment, and valid */
};

/* lock: none, set once by load() */
static struct value values[MAM_OPTION_COUNT];
static pthread_once_t loaded = PTHREAD_ONCE_INIT;
/* There is something to report, and no thread has started to report it. atomic */
static _Atomic bool unreported;

struct kind {
	const char *name;
	bool (*parse)(const struct mam_option_row *row, const char *text, struct value *value);
	const char *allowed; /* for the message about an invalid value; NULL: the row's values */
};

static bool parse_bool(const struct mam_option_row *row, const char *text, struct value *value)
{
	static const char *const words[] = { "0", "1", "no", "yes", "off", "on", "false", "true" };

	(void)row;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(text, words[i]) == 0) {
			value->number = i % 2;
			value->text = i % 2 ? "yes" : "no";
			return true;
		}
	}
	return false;
}

static bool parse_size(const struct mam_option_row *row, const char *text, struct value *value)
{
	const bool is_word = row->values && strcasecmp(text, row->values) == 0;
	uint64_t bytes = SIZE_MAX;

	if (!is_word && !mam_parse_bytes(text, &bytes))
		return false;
	value->number = bytes;
	value->text = is_word ? row->values : text;
	return true;
}

static bool parse_power(const struct mam_option_row *row, const char *text, struct value *value)
{
	uint64_t bytes;

	(void)row;
	if (!mam_parse_bytes(text, &bytes) || !mam_is_power_of_two(bytes) || bytes < POWER_MIN ||
	    bytes > POWER_MAX)
		return false;
	value->number = bytes;
	value->text = text;
	return true;
}

static bool parse_percent(const struct mam_option_row *row, const char *text, struct value *value)
{
	uint64_t percent = 0;

	(void)row;
	for (const char *at = text; *at; at++) {
		if (*at < '0' || *at > '9')
			return false;
		percent = percent * 10 + (uint64_t)(*at - '0');
		if (percent > PERCENT_MAX)
			return false;
	}
	value->number = percent;
	value->text = text;
	return true;
}

static bool parse_text(const struct mam_option_row *row, const char *text, struct value *value)
{
	(void)row;
	value->text = text;
	return true;
}

static bool parse_choice(const struct mam_option_row *row, const char *text, struct value *value)
{
	const size_t length = strlen(text);
	const char *word = row->values;

	for (uint64_t place = 0; word; place++) {
		const char *end = strchrnul(word, '|');

		if ((size_t)(end - word) == length && strncmp(word, text, length) == 0) {
			value->number = place;
			value->text = text;
			return true;
		}
		word = *end ? end + 1 : NULL;
	}
	return false;
}

static const struct kind kinds[] = {
	{ "bool", parse_bool, "yes or no (1 or 0, on or off, true or false)" },
	{ "bytes", parse_size, "a size such as 512, 64K, 64MiB or 2G" },
	{ "power", parse_power, "a power of two from 16 to 2M" },
	{ "percent", parse_percent, "a whole number from 0 to 1000" },
	{ "choice", parse_choice, NULL },
	{ "text", parse_text, NULL },
};

static const struct kind *kind_of(const struct mam_option_row *row)
{
	const struct kind *kind = kinds;

	while (strcmp(kind->name, row->kind) != 0)
		kind++;
	return kind;
}

static const struct mam_option_row *row_of(const char *name, size_t length)
{
	for (size_t i = 0; i < MAM_OPTION_COUNT; i++) {
		if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0)
			return &rows[i];
	}
	return NULL;
}

/* The first variable at or after `variable` with our prefix and without a row. NULL: no more. */
static char **next_unknown(char **variable)
{
	for (; variable && *variable; variable++) {
		const size_t length = (size_t)(strchrnul(*variable, '=') - *variable);

		if (strncmp(*variable, PREFIX, strlen(PREFIX)) == 0 && !row_of(*variable, length))
			return variable;
	}
	return NULL;
}

static void load(void)
{
	bool complaints = next_unknown(environ) != NULL;

	for (size_t i = 0; i < MAM_OPTION_COUNT; i++) {
		const struct mam_option_row *row = &rows[i];
		const char *given = secure_getenv(row->name);
		const bool is_sound = kind_of(row)->parse(row, row->fallback, &values[i]);
		char *text;

		assert(is_sound);
		(void)is_sound; /* without assertions */
		if (!given || !given[0])
			continue;
		text = strdup(given); /* the program may change its environment later */
		if (!text)
			continue;
		if (!kind_of(row)->parse(row, text, &values[i])) {
			values[i].refused = text;
			complaints = true;
			continue;
		}
		values[i].is_given = true;
		if (values[i].text != text)
			free(text);
	}
	atomic_store_explicit(&unreported, complaints, memory_order_release);
}

/*
 * The edit distance: the number of letters of `a` to add, remove or change to get `b`. Only the
 * start of longer names counts.
 */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t row[32];
	size_t diagonal, above;

	if (b_length >= sizeof(row) / sizeof(row[0]))
		b_length = sizeof(row) / sizeof(row[0]) - 1;
	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 0; i < a_length; i++) {
		diagonal = row[0];
		row[0] = i + 1;
		for (size_t j = 0; j < b_length; j++) {
			above = row[j + 1];
			row[j + 1] = diagonal + (a[i] != b[j]);
			if (row[j + 1] > above + 1)
				row[j + 1] = above + 1;
			if (row[j + 1] > row[j] + 1)
				row[j + 1] = row[j] + 1;
			diagonal = above;
		}
	}
	return row[b_length];
}

/*
 * The option that the user may have meant by `name`: misspelled, or followed by more words. NULL:
 * no option is close.
 */
static const struct mam_option_row *nearest_row(const char *name, size_t length)
{
	const struct mam_option_row *nearest = NULL;
	size_t min = 3; /* two wrong letters are a typo, three are another word */

	for (size_t i = 0; i < MAM_OPTION_COUNT; i++) {
		const size_t row_length = strlen(rows[i].name);
		const size_t away = distance(name, length, rows[i].name, row_length);

		if (away < min) {
			nearest = &rows[i];
			min = away;
		} else if (!nearest && strncmp(name, rows[i].name, row_length) == 0) {
			nearest = &rows[i];
		}
	}
	return nearest;
}

/* A near miss is a warning. Other names may belong to another program. */
static void report_unknown(const char *variable)
{
	const int length = (int)(strchrnul(variable, '=') - variable);
	const struct mam_option_row *near = nearest_row(variable, (size_t)length);

	if (near)
		mam_log(MAM_LOG_WARN, "unknown variable %.*s ignored; did you mean %s?", length,
			variable, near->name);
	else
		mam_log(MAM_LOG_INFO, "unknown variable %.*s ignored", length, variable);
}

static void report_refused(const struct mam_option_row *row, const char *text)
{
	const struct kind *kind = kind_of(row);

	mam_log(MAM_LOG_ERROR,
		"invalid value '%.64s' of %s: expected %s%s%s; using the default '%s'", text,
		row->name, kind->allowed ? kind->allowed : "one of ",
		kind->allowed && row->values ? " or " : "", row->values ? row->values : "",
		row->fallback);
}

static void report(void)
{
	for (size_t i = 0; i < MAM_OPTION_COUNT; i++) {
		if (values[i].refused)
			report_refused(&rows[i], values[i].refused);
	}
	for (char **unknown = next_unknown(environ); unknown; unknown = next_unknown(unknown + 1))
		report_unknown(*unknown);
}

/* Without the report, for callers that report on their own. */
static const struct value *loaded_value_of(const struct mam_option_row *row)
{
	pthread_once(&loaded, load);
	return &values[row - rows];
}

static const struct value *value_of(const struct mam_option_row *row)
{
	pthread_once(&loaded, load);
	if (atomic_load_explicit(&unreported, memory_order_relaxed) &&
	    atomic_exchange(&unreported, false))
		report();
	return &values[row - rows];
}

bool mam_option_bool(enum mam_option_id id)
{
	return value_of(&rows[id])->number != 0;
}

uint64_t mam_option_bytes(enum mam_option_id id)
{
	return value_of(&rows[id])->number;
}

uint64_t mam_option_percent(enum mam_option_id id)
{
	return value_of(&rows[id])->number;
}

unsigned int mam_option_choice(enum mam_option_id id)
{
	return (unsigned int)value_of(&rows[id])->number;
}

const char *mam_option_text(enum mam_option_id id)
{
	return value_of(&rows[id])->text;
}

static const struct mam_option_row *shown[MAM_OPTION_COUNT]; /* lock: none, set once */

static void show_all(void)
{
	for (size_t i = 0; i < MAM_OPTION_COUNT; i++)
		shown[i] = &rows[i];
}

const struct mam_option_row *const *mam_options(size_t *count)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, show_all);
	if (count)
		*count = MAM_OPTION_COUNT;
	return shown;
}

const char *mam_option_value(const char *name)
{
	const struct mam_option_row *row = name ? row_of(name, strlen(name)) : NULL;

	return row ? value_of(row)->text : NULL;
}

const char *mam_option_origin(const char *name)
{
	const struct mam_option_row *row = name ? row_of(name, strlen(name)) : NULL;
	const struct value *value = row ? loaded_value_of(row) : NULL;

	if (!value)
		return NULL;
	return value->is_given ? "environment" : value->refused ? "default, refused" : "default";
}

uint64_t mam_option_number(const char *name)
{
	const struct mam_option_row *row = name ? row_of(name, strlen(name)) : NULL;

	return row ? value_of(row)->number : 0;
}
