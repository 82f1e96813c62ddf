/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl.c - `mam ctl`: control a running program under `mam run`.
 *
 * 1. Find the process by its statistics page (ctl_find.h).
 * 2. Send one request to its socket (ctl_link.h), and print or write the reply.
 * A suspend of the whole process, and its resume, are calls of the driver instead (ctl_whole.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "ctl/ctl_dump.h"
#include "ctl/ctl_find.h"
#include "ctl/ctl_link.h"
#include "ctl/ctl_whole.h"
#include "kit/args.h"
#include "kit/format.h"
#include "kit/message.h"
#include "kit/whole_file.h"

#define ALWAYS "4294967295" /* seconds: 136 years */

struct settings {
	bool whole;
};

static const struct args_option options[] = {
	{ "whole", 0, ARGS_FLAG, offsetof(struct settings, whole), NULL, NULL,
	  "with suspend: let the driver checkpoint the whole process,\n"
	  "which need not run under mam run" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	.name = "mam ctl",
	.use = "[OPTION] PID|NAME COMMAND [ARGUMENT]",
	.intro =
		"Control a program that runs under mam run, by its process ID or name.\n\n"
		"  trim              release idle memory of all pools to the driver\n"
		"  limit SIZE|none   change mam run --limit: the memory per device\n"
		"  dump FILE         write the heap of this moment: .html or .svg, a heap map;\n"
		"                    .pickle, a snapshot for PyTorch's viewer; .trace or "
		".trace.gz,\n"
		"                    for mam replay\n"
		"  trace FILE|off    start a trace of allocations for mam replay, or end it\n"
		"  sites on|off      keep the call sites that hold most memory, for mam top\n"
		"  suspend [DIR|discard]\n"
		"                    hold the program, and release its memory to the driver: "
		"contents\n"
		"                    are kept in host memory, in a file in DIR, or not at all\n"
		"  resume            undo both kinds of suspend, and let the program continue\n"
		"  stats [FILE]      print the statistics of mam run --stats; in FILE as lines of\n"
		"                    key, tab, value\n",
	.outro = "Examples:\n"
		 "  mam ctl 4711 trim\n"
		 "  mam ctl python3 limit 20G\n"
		 "  mam ctl python3 dump heap.html\n"
		 "A program that does not respond within a second is an error.\n",
	.options = options,
};

/* Whether a reply ended with that many numbers. */
static bool read_numbers(const struct ctl_link *link, int count, uint64_t numbers[2])
{
	char end;

	numbers[0] = numbers[1] = 0;
	if (count == 0   ? link->line[0] == '\0'
	    : count == 1 ? sscanf(link->line, " %" SCNu64 "%c", &numbers[0], &end) == 1
			 : sscanf(link->line, " %" SCNu64 " %" SCNu64 "%c", &numbers[0],
				  &numbers[1], &end) == 2)
		return true;
	message_error("process %ld sent an invalid reply", (long)link->process->pid);
	return false;
}

/* A reply that has no lines before the last. */
static bool read_last(struct ctl_link *link, int count, uint64_t numbers[2])
{
	switch (ctl_link_read(link)) {
	case CTL_DONE: return read_numbers(link, count, numbers);
	case CTL_LINE: message_error("process %ld sent an invalid reply", (long)link->process->pid);
	/* fallthrough */
	case CTL_FAILED:
	default: return false;
	}
}

/* A reply that may have lines about what the program waits for; each is printed once. */
static bool read_waiting(struct ctl_link *link)
{
	static const char waiting[] = "waiting ";
	char last[MAM_CONTROL_LINE_MAX] = "";
	enum ctl_line is;

	while ((is = ctl_link_read(link)) == CTL_LINE) {
		if (strncmp(link->line, waiting, sizeof(waiting) - 1) != 0) {
			message_error("process %ld sent an invalid reply",
				      (long)link->process->pid);
			return false;
		}
		if (strcmp(link->line, last) != 0)
			message_note("process %ld waits %s", (long)link->process->pid,
				     link->line + sizeof(waiting) - 1);
		strcpy(last, link->line);
	}
	return is == CTL_DONE;
}

static int trim(struct ctl_link *link, const char *argument)
{
	uint64_t numbers[2];

	(void)argument;
	if (!read_last(link, 2, numbers))
		return STATUS_FAILED;
	printf("released %s; the pools have %s\n", format_bytes(numbers[0]).text,
	       format_bytes(numbers[1]).text);
	return STATUS_GOOD;
}

static int limit(struct ctl_link *link, const char *argument)
{
	uint64_t numbers[2], bytes = 0;

	if (!read_last(link, 1, numbers))
		return STATUS_FAILED;
	if (!args_bytes(argument, &bytes))
		printf("no limit; in use: %s\n", format_bytes(numbers[0]).text);
	else if (numbers[0] > bytes)
		printf("limit %s per device; in use: %s, so nothing can be allocated from the "
		       "driver\n",
		       format_bytes(bytes).text, format_bytes(numbers[0]).text);
	else
		printf("limit %s per device; in use: %s\n", format_bytes(bytes).text,
		       format_bytes(numbers[0]).text);
	return STATUS_GOOD;
}

static bool read_dump(struct ctl_link *link, struct ctl_dump *dump)
{
	enum ctl_line is;

	while ((is = ctl_link_read(link)) == CTL_LINE) {
		if (ctl_dump_add(dump, link->line))
			continue;
		message_error("process %ld sent an invalid dump, or there is no memory for it",
			      (long)link->process->pid);
		return false;
	}
	return is == CTL_DONE;
}

static int dump(struct ctl_link *link, const char *argument)
{
	struct ctl_dump dump = { .sum = 0 };
	char title[128];
	bool good;

	snprintf(title, sizeof(title), "%s (process %ld)", link->process->program,
		 (long)link->process->pid);
	good = read_dump(link, &dump) && ctl_dump_write(&dump, title, argument);
	ctl_dump_fini(&dump);
	return good ? STATUS_GOOD : STATUS_FAILED;
}

static bool write_text(const char *text, size_t bytes, const char *path)
{
	struct whole_file whole;
	FILE *file = path ? whole_file_open(&whole, path, "statistics") : stdout;
	bool good = file && fwrite(text, 1, bytes, file) == bytes;

	return path ? file && whole_file_close(&whole, good) : good;
}

static int stats(struct ctl_link *link, const char *argument)
{
	enum ctl_line is = CTL_FAILED;
	char *text = NULL;
	size_t bytes = 0;
	FILE *copy = open_memstream(&text, &bytes);
	bool good;

	while (copy && (is = ctl_link_read(link)) == CTL_LINE)
		fprintf(copy, "%s\n", link->line);
	good = copy && fclose(copy) == 0;
	if (!good)
		message_error("out of memory");
	good = good && is == CTL_DONE && write_text(text, bytes, argument);
	free(text);
	return good ? STATUS_GOOD : STATUS_FAILED;
}

static int trace(struct ctl_link *link, const char *argument)
{
	uint64_t numbers[2];

	if (!read_last(link, 1, numbers))
		return STATUS_FAILED;
	if (strcmp(argument, "off") == 0)
		printf("the trace has ended, with %s\n", format_counted(numbers[0], "event").text);
	else
		printf("trace %s started, with %s\n", argument,
		       format_counted(numbers[0], "block").text);
	return STATUS_GOOD;
}

static int sites(struct ctl_link *link, const char *argument)
{
	uint64_t numbers[2];

	if (!read_last(link, 0, numbers))
		return STATUS_FAILED;
	printf(strcmp(argument, "off") == 0 ? "call sites are no longer sampled\n"
					    : "call sites are sampled; see mam top\n");
	return STATUS_GOOD;
}

static int suspend(struct ctl_link *link, const char *argument)
{
	uint64_t numbers[2];

	(void)argument;
	if (!read_waiting(link) || !read_numbers(link, 2, numbers))
		return STATUS_FAILED;
	printf("suspended; released %s", format_bytes(numbers[0]).text);
	if (numbers[1] != 0)
		printf("; %s that are not in pools stay with the driver",
		       format_bytes(numbers[1]).text);
	printf("\n");
	return STATUS_GOOD;
}

static int resume(struct ctl_link *link, const char *argument)
{
	(void)argument;
	if (!read_waiting(link))
		return STATUS_FAILED;
	if (*link->line)
		printf("resumed\n");
	return STATUS_GOOD;
}

static const struct action {
	const char *name;
	int (*run)(struct ctl_link *link, const char *argument);
	int required, allowed; /* arguments */
} actions[] = {
	{ "trim", trim, 0, 0 },     { "limit", limit, 1, 1 }, { "dump", dump, 1, 1 },
	{ "stats", stats, 0, 1 },   { "trace", trace, 1, 1 }, { "suspend", suspend, 0, 1 },
	{ "resume", resume, 0, 0 }, { "sites", sites, 1, 1 },
};

static const struct action *find_action(const char *name)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(name, actions[i].name) == 0)
			return &actions[i];
	message_error("'%s' is not a command of mam ctl; see 'mam ctl --help'", name);
	return NULL;
}

/* The program writes the file, in another working directory. False: invalid (reported). */
static bool trace_request(const char *file, char request[MAM_CONTROL_REQUEST_MAX + 1])
{
	char folder[PATH_MAX], whole[PATH_MAX];
	const char *slash = strrchr(file, '/');
	int length = snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - file) + 1 : 1,
			      slash ? file : ".");
	const char *name = slash ? slash + 1 : file;

	if (*name == '\0' || strchr(file, '\n') || length >= (int)sizeof(folder)) {
		message_error("'%s' is not the name of a file", file);
		return false;
	}
	if (!realpath(folder, whole)) {
		message_error("cannot use the folder of '%s': %s", file, strerror(errno));
		return false;
	}
	length = snprintf(request, MAM_CONTROL_REQUEST_MAX + 1, "trace %s/%s\n",
			  strcmp(whole, "/") == 0 ? "" : whole, name);
	if (length <= MAM_CONTROL_REQUEST_MAX)
		return true;
	message_error("the name of '%s' is too long", file);
	return false;
}

/* The same for the folder of the contents. */
static bool suspend_request(const char *folder, char request[MAM_CONTROL_REQUEST_MAX + 1])
{
	char whole[PATH_MAX];
	struct stat what;

	if (!realpath(folder, whole) || stat(whole, &what) != 0) {
		message_error("cannot use the folder '%s': %s", folder, strerror(errno));
		return false;
	}
	if (!S_ISDIR(what.st_mode)) {
		message_error("'%s' is not a folder", folder);
		return false;
	}
	if (strchr(whole, '\n') || snprintf(request, MAM_CONTROL_REQUEST_MAX + 1, "suspend %s\n",
					    whole) > MAM_CONTROL_REQUEST_MAX) {
		message_error("'%s' is not the name of a folder that can be used", folder);
		return false;
	}
	return true;
}

/* Writes the request. Returns false if the argument is invalid (reported). */
static bool make_request(const struct action *action, const char *argument,
			 char request[MAM_CONTROL_REQUEST_MAX + 1])
{
	uint64_t bytes = 0;

	if (action->run == dump && !ctl_dump_known(argument))
		return false;
	if (action->run == limit && strcmp(argument, "none") != 0 &&
	    (!args_bytes(argument, &bytes) || bytes == 0 || bytes > INT64_MAX)) {
		message_error("the limit is '%s', but must be a size such as 20G, or none",
			      argument);
		return false;
	}
	if (action->run == sites) {
		snprintf(request, MAM_CONTROL_REQUEST_MAX + 1, "sites %s\n",
			 strcmp(argument, "on") == 0 ? ALWAYS : "0");
		if (strcmp(argument, "on") == 0 || strcmp(argument, "off") == 0)
			return true;
		message_error("the argument of sites is '%s', but must be on or off", argument);
		return false;
	}
	if (action->run == trace && strcmp(argument, "off") != 0)
		return trace_request(argument, request);
	if (action->run == suspend && argument && strcmp(argument, "discard") != 0)
		return suspend_request(argument, request);
	if (action->run == limit)
		snprintf(request, MAM_CONTROL_REQUEST_MAX + 1, "limit %" PRIu64 "\n", bytes);
	else
		snprintf(request, MAM_CONTROL_REQUEST_MAX + 1, "%s%s\n", action->name,
			 action->run == trace                 ? " off"
			 : action->run == stats && argument   ? " keys"
			 : action->run == suspend && argument ? " discard"
							      : "");
	return true;
}

/* The last copy of the library that has a socket. `resumed`: none is needed. */
static int control(const struct page_entry *pages, size_t count, const struct action *action,
		   const char *argument, const char *request, bool resumed)
{
	struct ctl_link link;
	int status;

	while (count > 0) {
		if (!ctl_link_open(&link, &pages[count - 1], request, count > 1 || resumed)) {
			count--;
			continue;
		}
		link.accepted = resumed ? "the program is not suspended" : NULL;
		status = action->run(&link, argument);
		ctl_link_close(&link);
		return status;
	}
	return resumed ? STATUS_GOOD : STATUS_FAILED;
}

/* The ID of a process, with or without pages. Returns -1 if there is no such name (reported). */
static long long find_process(const struct page_list *list, const char *text)
{
	size_t count;
	long found;

	if (ctl_find_is_id(text))
		return strtoll(text, NULL, 10);
	found = ctl_find(list, text, &count);
	return found < 0 ? -1 : list->entries[found].pid;
}

static int control_whole(const struct page_list *list, const char *text)
{
	long long process = find_process(list, text);

	return process >= 0 && ctl_whole_suspend(process) ? STATUS_GOOD : STATUS_FAILED;
}

/* A process that is suspended in both ways can serve requests only when its calls return again. */
static int control_resume(const struct page_list *list, const char *text,
			  const struct action *action, const char *request)
{
	long long process = find_process(list, text);
	enum ctl_whole whole = process < 0 ? CTL_WHOLE_FAILED : ctl_whole_resume(process);
	size_t count;
	long found;

	if (whole == CTL_WHOLE_FAILED)
		return STATUS_FAILED;
	message_hush(whole != CTL_WHOLE_UNKNOWN);
	found = ctl_find(list, text, &count);
	message_hush(false);
	if (found >= 0)
		return control(list->entries + found, count, action, NULL, request,
			       whole == CTL_WHOLE_DONE);
	if (whole == CTL_WHOLE_RUNS)
		message_error("process %lld is not suspended", process);
	return whole == CTL_WHOLE_DONE ? STATUS_GOOD : STATUS_FAILED;
}

/* Returns false if the words after the process are invalid (reported). */
static bool check_words(const struct action *action, char **words, int given, bool whole)
{
	if (whole && (action->run != suspend || given > 0)) {
		message_error("--whole is an option of suspend without an argument");
		return false;
	}
	if (given > action->allowed)
		message_error("unexpected argument '%s'; see 'mam ctl --help'",
			      words[action->allowed]);
	else if (given < action->required)
		message_error("'%s' requires an argument; see 'mam ctl --help'", action->name);
	return given >= action->required && given <= action->allowed;
}

int ctl_main(int argc, char **argv)
{
	char request[MAM_CONTROL_REQUEST_MAX + 1];
	struct page_list list = { .is_quiet = true };
	struct settings settings = { .whole = false };
	const struct action *action;
	int first, status, given;
	size_t count;
	long found;

	if (!args_parse(&command, argc, argv, &settings, &first, &status))
		return status;
	if (argc - first < 2) {
		message_error("no %s given; see 'mam ctl --help'",
			      argc == first ? "process" : "command");
		return STATUS_BAD;
	}
	action = find_action(argv[first + 1]);
	if (!action)
		return STATUS_BAD;
	given = argc - first - 2;
	if (!check_words(action, argv + first + 2, given, settings.whole) ||
	    !make_request(action, given ? argv[first + 2] : NULL, request) ||
	    !page_list_refresh(&list))
		return STATUS_BAD;
	if (settings.whole) {
		status = control_whole(&list, argv[first]);
	} else if (action->run == resume) {
		status = control_resume(&list, argv[first], action, request);
	} else {
		found = ctl_find(&list, argv[first], &count);
		status = found < 0 ? STATUS_FAILED
				   : control(list.entries + found, count, action,
					     given ? argv[first + 2] : NULL, request, false);
	}
	page_list_fini(&list);
	return status;
}
