/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_rmm.c - read the CSV log of RMM's logging_resource_adaptor, plain or gzip.
 *
 * 1. The first line names the columns. Action, Pointer and Size are required; Thread, Time and
 *    Stream are optional; others are skipped. RMM before 0.14 has other names for the same columns,
 *    and one for the device.
 * 2. Each line is an allocation, a free, or an allocation that failed, which is only counted.
 * 3. history.c repairs the order of events that several threads logged.
 *
 * Pointers and streams are hexadecimal, with or without 0x. Times are times of day:
 * 10:23:11.123456, with a colon for the dot up to 0.19, or seconds with a fraction. A clock that
 * falls back by half a day has passed midnight.
 */
#include "read/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kit/format.h"
#include "read/history.h"
#include "kit/message.h"
#include "kit/progress.h"
#include "read/read_line.h"

#define COLUMNS_LIMIT 32
#define PROGRESS_STEP 65536
#define SECOND ((int64_t)1000000000)
#define DAY (86400 * SECOND)

enum column { ACTION, POINTER, SIZE, STREAM, THREAD, TIME, LOCATION, DEVICE, COLUMN_COUNT };

static const struct {
	const char *name;
	enum column column;
} column_names[] = {
	{ "Action", ACTION },   { "Event Type", ACTION }, { "Pointer", POINTER },
	{ "Address", POINTER }, { "Size", SIZE },         { "Size (bytes)", SIZE },
	{ "Stream", STREAM },   { "Thread", THREAD },     { "Time", TIME },
	{ "Start", TIME },      { "Location", LOCATION }, { "Device ID", DEVICE },
};

/* The meaning of an action. */
enum what { IS_ALLOC, IS_FREE, IS_FAILURE };

static const struct {
	const char *name;
	enum what what;
} actions[] = {
	{ "allocate", IS_ALLOC }, { "free", IS_FREE }, { "allocate failure", IS_FAILURE },
	{ "Alloc", IS_ALLOC },    { "Free", IS_FREE }, { "deallocate", IS_FREE },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct log {
	struct input *input;
	const char *path;
	struct read_line line;
	struct history history;
	int columns[COLUMN_COUNT]; /* the position of each, or -1 */
	char *fields[COLUMNS_LIMIT];
	int field_count;
	uint64_t failures;
	uint64_t first_failure; /* its line number */
	int64_t day;            /* ns to add to times: the days of midnights that passed */
	int64_t last_time;
	bool has_time;
};

static bool log_fail(const struct log *log, const char *what, const char *text)
{
	message_error("%s: line %" PRIu64 ": %s '%.40s'", log->path, log->line.number, what, text);
	return false;
}

/* Split the line at its commas and strip blanks around fields. */
static void split(struct log *log)
{
	char *at = log->line.text;

	log->field_count = 0;
	while (log->field_count < COLUMNS_LIMIT) {
		char *end = at + strcspn(at, ","), *last = end;
		bool more = *end == ',';

		while (*at == ' ' || *at == '\t')
			at++;
		while (last > at && (last[-1] == ' ' || last[-1] == '\t'))
			last--;
		*last = '\0';
		log->fields[log->field_count++] = at;
		if (!more)
			break;
		at = end + 1;
	}
}

/* The field of a column, or NULL. */
static const char *field(const struct log *log, enum column column)
{
	int at = log->columns[column];

	return at >= 0 && at < log->field_count ? log->fields[at] : NULL;
}

static bool read_header(struct log *log)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
		log->columns[i] = -1;
	split(log);
	for (int i = log->field_count; i-- > 0;)
		for (size_t j = 0; j < COUNT(column_names); j++)
			if (strcmp(log->fields[i], column_names[j].name) == 0)
				log->columns[column_names[j].column] = i;
	if (log->columns[ACTION] >= 0 && log->columns[POINTER] >= 0 && log->columns[SIZE] >= 0)
		return true;
	message_error("%s: line %" PRIu64 ": not an RMM log: its first line must name the columns "
		      "Action, Pointer and Size",
		      log->path, log->line.number);
	return false;
}

/* Parse all of the text as a number of `base`. */
static bool parse(const char *text, int base, uint64_t *number)
{
	uint64_t sum = 0;

	if (base == 16 && text[0] == '0' && (text[1] | 0x20) == 'x')
		text += 2;
	if (!*text)
		return false;
	for (; *text; text++) {
		char c = *text;
		int digit = c >= '0' && c <= '9'                     ? c - '0'
			    : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
								     : 16;

		if (digit >= base || sum > (UINT64_MAX - (uint64_t)digit) / (uint64_t)base)
			return false;
		sum = sum * (uint64_t)base + (uint64_t)digit;
	}
	*number = sum;
	return true;
}

/* Convert the digits after a dot to nanoseconds; false: not digits. */
static bool parse_fraction(const char *text, int64_t *ns)
{
	int64_t sum = 0, unit = SECOND;

	for (; *text >= '0' && *text <= '9'; text++) {
		unit /= 10;
		sum += unit * (*text - '0');
	}
	*ns = sum;
	return *text == '\0';
}

/* Convert HH:MM:SS.ffffff, HH:MM:SS:ffffff, SS.ffffff or SS to nanoseconds. */
static bool parse_time(const char *text, int64_t *ns)
{
	const char *blank = strrchr(text, ' ');
	int64_t sum = 0, fraction = 0, part;
	int colons = 0;

	if (blank)
		text = blank + 1; /* follows a date */
	for (;; text++) {
		if (*text < '0' || *text > '9')
			return false;
		for (part = 0; *text >= '0' && *text <= '9'; text++)
			if (part < INT32_MAX)
				part = 10 * part + (*text - '0');
		sum = 60 * sum + part;
		if (*text == '\0')
			break;
		if (*text == '.' || (*text == ':' && colons == 2)) {
			if (!parse_fraction(text + 1, &fraction))
				return false;
			break;
		}
		if (*text != ':' || colons++ == 2)
			return false;
	}
	if (sum > INT64_MAX / SECOND / 2)
		return false;
	*ns = sum * SECOND + fraction;
	return true;
}

/*
 * Set the time of an event, corrected for midnights. Without one, it is that of the previous line.
 */
static void note_time(struct log *log, struct history_event *event)
{
	const char *text = field(log, TIME);
	int64_t ns;

	if (text && parse_time(text, &ns)) {
		ns += log->day;
		if (log->has_time && ns < log->last_time - DAY / 2) {
			log->day += DAY;
			ns += DAY;
		} else if (log->day && ns > log->last_time + DAY / 2) {
			ns -= DAY; /* logged late: from before midnight */
		}
		log->last_time = ns;
		log->has_time = true;
	}
	event->has_time = log->has_time;
	event->time = (uint64_t)log->last_time;
}

static bool find_action(const char *text, enum what *what)
{
	for (size_t i = 0; i < COUNT(actions); i++) {
		if (strcmp(text, actions[i].name) == 0) {
			*what = actions[i].what;
			return true;
		}
	}
	return false;
}

/* Read the optional fields. An unparsable one counts as absent. */
static bool read_rest(struct log *log, struct history_event *event)
{
	const char *stream = field(log, STREAM), *thread = field(log, THREAD);
	const char *location = field(log, LOCATION), *device = field(log, DEVICE);

	if (stream && !parse(stream, 16, &event->stream))
		event->stream = 0;
	event->has_thread = thread && parse(thread, 10, &event->thread);
	event->has_device = device && parse(device, 10, &event->device);
	note_time(log, event);
	if (location && *location &&
	    !names_number(&log->history.names, location, strlen(location), &event->who)) {
		message_error("%s: out of memory", log->path);
		return false;
	}
	return true;
}

static bool read_row(struct log *log)
{
	struct history_event event = { .place = (uint32_t)log->line.number, .has_bytes = true };
	const char *action, *pointer, *size;
	enum what what;

	split(log);
	action = field(log, ACTION);
	pointer = field(log, POINTER);
	size = field(log, SIZE);
	if (!action || !pointer || !size)
		return log_fail(log, "too few fields after", log->fields[0]);
	if (!find_action(action, &what))
		return log_fail(log, "unknown action", action);
	if (!parse(size, 10, &event.bytes))
		return log_fail(log, "invalid size", size);
	if (what == IS_FAILURE) {
		if (log->failures++ == 0)
			log->first_failure = log->line.number;
		return true;
	}
	if (strcmp(pointer, "(nil)") != 0 && !parse(pointer, 16, &event.id))
		return log_fail(log, "invalid pointer", pointer);
	if (event.id == 0)
		return true; /* zero bytes */
	event.frees = what == IS_FREE;
	if (!read_rest(log, &event))
		return false;
	if (history_add(&log->history, &event))
		return true;
	message_error("%s: out of memory", log->path);
	return false;
}

static bool read_rows(struct log *log, bool salvage)
{
	bool header = false;
	uint64_t taken, in_all;

	while (read_line_next(&log->line)) {
		if (log->line.text[strspn(log->line.text, " \t")] == '\0')
			continue;
		if (header ? !read_row(log) : !read_header(log))
			return false;
		header = true;
		if (log->line.number % PROGRESS_STEP == 0) {
			input_position(log->input, &taken, &in_all);
			progress_show("reading", taken, in_all);
		}
	}
	if (!log->line.trouble)
		return true;
	progress_end();
	if (salvage && log->line.cut)
		message_warning("%s: after line %" PRIu64 ": %s, and the rest is lost", log->path,
				log->line.number, log->line.trouble);
	else
		message_error("%s: after line %" PRIu64 ": %s%s", log->path, log->line.number,
			      log->line.trouble,
			      log->line.cut ? "; use --salvage to play the complete events" : "");
	return salvage && log->line.cut;
}

/* Report the irregularities, one sentence each. */
static void say_odd(const struct log *log)
{
	const struct history *history = &log->history;

	if (log->failures)
		message_note("%s: allocations that failed in the program: %s, the first on line "
			     "%" PRIu64,
			     log->path, format_count(log->failures).text, log->first_failure);
	if (history->by_time)
		message_warning("%s: the order of lines is inconsistent; using the order by time, "
				"which is less so",
				log->path);
	if (history->late)
		message_warning("%s: allocations of a pointer that was not yet freed: %s; each old "
				"block is treated as freed just before",
				log->path, format_count(history->late).text);
	if (history->older)
		message_note("%s: blocks older than the log: %s, treated as allocated before its "
			     "first line",
			     log->path, format_count(history->older).text);
	if (history->unknown)
		message_warning("%s: frees of unknown pointers: %s, ignored", log->path,
				format_count(history->unknown).text);
}

bool read_rmm(struct input *input, struct replay_build *build, bool salvage)
{
	struct log *log = calloc(1, sizeof(*log));
	bool good = false;

	if (!log || !history_init(&log->history) || !read_line_init(&log->line, input)) {
		message_error("%s: out of memory", build->trace->path);
	} else {
		log->input = input;
		log->path = build->trace->path;
		good = read_rows(log, salvage) && history_report(&log->history, build, true);
		progress_end();
		if (good)
			say_odd(log);
	}
	if (log) {
		read_line_fini(&log->line);
		history_fini(&log->history);
	}
	free(log);
	return good;
}
