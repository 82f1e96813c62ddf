/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the environment: each option has its default or a value that its row allows, and
 * reports where the value came from. Each error is reported exactly once, in one line.
 *
 * The option parser and the log are compiled into this file, so that they start anew for each
 * input, and their output goes to a buffer. Values are checked here by separate code; sizes have a
 * target of their own.
 *
 * Input: a byte that sets how the log's file behaves, then texts that end in a zero byte. The first
 * byte of a text selects the option, and the rest is its value. If it selects none, the text is a
 * variable.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "base/bytes.h"
#include "base/option.c"
#include "fuzz.h"

#define LOG_BYTES ((size_t)1 << 16)
#define LOG_FD 1000 /* not used otherwise */
#define VARIABLES 40

static char written[LOG_BYTES];
static size_t written_bytes;
static bool opens; /* the log's file */

static int fuzz_open(const char *path)
{
	require(path[0] != '\0', "a log file without a name");
	errno = ENOENT;
	return opens ? LOG_FD : -1;
}

static void fuzz_close(int fd)
{
	require(fd == LOG_FD, "another file is closed");
}

/* Sometimes two bytes at a time, as on a terminal. */
static ssize_t fuzz_write(int fd, const char *text, size_t bytes)
{
	require(fd == LOG_FD || fd == STDERR_FILENO, "a line goes to the wrong file");
	require(bytes > 0 && written_bytes + bytes < LOG_BYTES, "too many lines are printed");
	if (bytes > 2 && written_bytes % 3 == 1)
		bytes = 2;
	memcpy(written + written_bytes, text, bytes);
	written_bytes += bytes;
	return (ssize_t)bytes;
}

#define open(path, flags, mode) fuzz_open(path)
#define close(fd) fuzz_close(fd)
#define write(fd, text, bytes) fuzz_write(fd, text, bytes)
#include "base/log.c"
#undef open
#undef close
#undef write

/* As at process start. */
static void begin_anew(void)
{
	for (size_t i = 0; i < MAM_OPTION_COUNT; i++) {
		free((char *)values[i].refused);
		if (values[i].is_given && strcmp(rows[i].kind, "bool") != 0 &&
		    values[i].text != rows[i].values)
			free((char *)values[i].text);
	}
	memset(values, 0, sizeof(values));
	loaded = (pthread_once_t)PTHREAD_ONCE_INIT;
	atomic_store(&unreported, false);
	written_bytes = 0;
}

/* The index of a word in "a|b|c"; -1: not found. */
static int place_of(const char *word, const char *list)
{
	char copy[200], *rest = NULL, *each;
	int place = 0;

	snprintf(copy, sizeof(copy), "%s", list);
	for (each = strtok_r(copy, "|", &rest); each; each = strtok_r(NULL, "|", &rest), place++)
		if (strcmp(each, word) == 0)
			return place;
	return -1;
}

/* Whether a row allows a text, and its value. */
static bool judge(const struct mam_option_row *row, const char *text, uint64_t *number)
{
	int place;

	*number = 0;
	if (strcmp(row->kind, "text") == 0)
		return true;
	if (strcmp(row->kind, "bool") == 0) {
		*number = !strcasecmp(text, "1") || !strcasecmp(text, "yes") ||
			  !strcasecmp(text, "on") || !strcasecmp(text, "true");
		return *number || !strcasecmp(text, "0") || !strcasecmp(text, "no") ||
		       !strcasecmp(text, "off") || !strcasecmp(text, "false");
	}
	if (strcmp(row->kind, "percent") == 0) {
		if (strspn(text, "0123456789") != strlen(text))
			return false;
		*number = strtoull(text, NULL, 10);
		return *number <= 1000;
	}
	if (strcmp(row->kind, "choice") == 0) {
		place = text[0] ? place_of(text, row->values) : -1;
		*number = place < 0 ? 0 : (uint64_t)place;
		return place >= 0;
	}
	if (row->values && strcasecmp(text, row->values) == 0) {
		*number = SIZE_MAX;
		return true;
	}
	if (!mam_parse_bytes(text, number))
		return false;
	return strcmp(row->kind, "power") != 0 ||
	       (*number >= 16 && *number <= 2u << 20 && __builtin_popcountll(*number) == 1);
}

/* Checks one row against the environment. Counts the errors that must have been reported for it. */
static void check_row(const struct mam_option_row *row, size_t *warnings)
{
	const char *given = getenv(row->name), *text = mam_option_value(row->name);
	const char *origin = mam_option_origin(row->name);
	uint64_t number, fallback;
	bool good;

	require(judge(row, row->fallback, &fallback), "the row forbids its default");
	if (!given || !given[0]) {
		require(strcmp(origin, "default") == 0, "a value without a variable");
		require(strcmp(text, row->fallback) == 0, "a default has the wrong text");
		require(mam_option_number(row->name) == fallback, "a default has the wrong value");
		return;
	}
	good = judge(row, given, &number);
	*warnings += !good;
	require(strcmp(origin, good ? "environment" : "default, refused") == 0, "another origin");
	require(mam_option_number(row->name) == (good ? number : fallback), "another number");
	if (!good)
		require(strcmp(text, row->fallback) == 0,
			"a refused value does not have the default's text");
	else if (strcmp(row->kind, "bool") == 0)
		require(strcmp(text, number ? "yes" : "no") == 0, "a bool has the wrong text");
	else
		require(strcasecmp(text, given) == 0, "a value has the wrong text");
}

static size_t count_lines(void)
{
	const char *path = mam_option_text(MAM_OPTION_LOG_FILE);
	const char *speaker = opens && path[0] ? "mam[" : "mam: ";
	size_t count = 0;

	for (size_t i = 0; i < written_bytes; i++) {
		unsigned char c = (unsigned char)written[i];

		require(c == '\n' || (c >= ' ' && c != 0x7f),
			"a report contains control characters");
		if (c == '\n')
			count++;
		if (i == 0 || written[i - 1] == '\n')
			require(strncmp(written + i, speaker, 4) == 0,
				"a report does not start with mam");
	}
	require(written_bytes == 0 || written[written_bytes - 1] == '\n', "half a report");
	return count;
}

static void check(void)
{
	size_t wanted = 0, warnings = 0, infos = 0;

	mam_option_bool(MAM_OPTION_DISABLE); /* the first call reads the environment */
	for (size_t i = 0; i < MAM_OPTION_COUNT; i++)
		check_row(&rows[i], &warnings);
	for (char **each = environ; *each; each++) {
		size_t length = strcspn(*each, "=");

		if (strncmp(*each, "MAM_", 4) != 0 || row_of(*each, length))
			continue;
		if (nearest_row(*each, length))
			warnings++;
		else
			infos++;
	}
	if (mam_option_choice(MAM_OPTION_LOG) >= MAM_LOG_WARN)
		wanted += warnings;
	if (mam_option_choice(MAM_OPTION_LOG) >= MAM_LOG_INFO)
		wanted += infos;
	require(count_lines() == wanted, "wrong number of reports");
	require(mam_option_value("MAM_") == NULL && mam_option_origin(NULL) == NULL,
		"an option without a name");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *variables[VARIABLES + 1] = { NULL }, **before = environ;
	char *text = malloc(bytes + 1), *at = text + 1;
	size_t count = 0;

	require(text != NULL, "no memory");
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	opens = text[0] & 1;
	while (bytes > 0 && at < text + bytes && count < VARIABLES) {
		size_t length = strlen(at);
		bool is_value = (unsigned char)*at - 1u < MAM_OPTION_COUNT;

		if (asprintf(&variables[count], "%s%s%s", is_value ? rows[*at - 1].name : "",
			     is_value ? "=" : "", is_value ? at + 1 : at) < 0)
			abort();
		count++;
		at += length + 1;
	}
	begin_anew();
	environ = variables;
	check();
	environ = before;
	while (count > 0)
		free(variables[--count]);
	free(text);
	return 0;
}
