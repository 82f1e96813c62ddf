/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - `mam profile`: read a profile, and print or write what it shows.
 *
 * 1. Read the file (profile_load.c), and with --diff another.
 * 2. Select a moment, and compute its view (profile_view.c).
 * 3. Write it in the format that --format or the suffix of the output file names.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "kit/args.h"
#include "kit/message.h"
#include "kit/progress.h"
#include "kit/whole_file.h"
#include "profile/profile_load.h"
#include "profile/profile_view.h"
#include "replay/replay.h"

struct settings {
	const char *at, *diff, *output;
	uint64_t by, format, top, device;
	bool plain;
};

enum { TEXT = 1, TREE, COLLAPSED, SPEEDSCOPE, PPROF, JSON, HTML, SVG };

static const struct format {
	uint64_t number;
	const char *suffix;
	bool (*write)(FILE *file, const struct profile_view *view);
} formats[] = {
	/* The first suffix that fits. */
	{ SPEEDSCOPE, ".speedscope.json", profile_write_speedscope },
	{ JSON, ".json", profile_write_json },
	{ PPROF, ".pb.gz", profile_write_pprof },
	{ COLLAPSED, ".folded", profile_write_collapsed },
	{ HTML, ".html", profile_write_html },
	{ SVG, ".svg", profile_write_svg },
	{ TEXT, ".txt", profile_write_text },
	{ TREE, NULL, profile_write_tree },
};

#define SUFFIXES ".html, .svg, .txt, .json, .speedscope.json, .pb.gz or .folded"

static const struct args_word by_words[] = {
	{ "bytes", PROFILE_BY_BYTES },
	{ "count", PROFILE_BY_COUNT },
	{ "lifetime", PROFILE_BY_LIFETIME },
	{ NULL, 0 },
};

static const struct args_word format_words[] = {
	{ "text", TEXT },
	{ "tree", TREE },
	{ "collapsed", COLLAPSED },
	{ "speedscope", SPEEDSCOPE },
	{ "pprof", PPROF },
	{ "json", JSON },
	{ "html", HTML },
	{ "svg", SVG },
	{ NULL, 0 },
};

static const struct args_word device_words[] = {
	{ "0", 0 },
	{ "all", REPLAY_DEFAULT },
	{ NULL, 0 },
};

#define FIELD(name) offsetof(struct settings, name)

static const struct args_option options[] = {
	{ "at", 'a', ARGS_TEXT, FIELD(at), "WHEN", NULL,
	  "the moment to show: peak (default), exit, or a time since\n"
	  "the start of the file such as 90s or 12.5ms" },
	{ "diff", 'd', ARGS_TEXT, FIELD(diff), "BASE", NULL,
	  "show what has grown since BASE: an earlier time of the\n"
	  "same file, or another file" },
	{ "by", 'b', ARGS_WORD, FIELD(by), "WHAT", by_words,
	  "measure bytes (default), the count of blocks, or lifetime:\n"
	  "bytes times the seconds that they were live" },
	{ "top", 't', ARGS_COUNT, FIELD(top), "N", NULL,
	  "print N places; default 20. Other lists have a quarter" },
	{ "format", 'f', ARGS_WORD, FIELD(format), "NAME", format_words,
	  "text (default), tree, json, collapsed (for flame graphs),\n"
	  "speedscope or pprof; html or svg, with a flame graph" },
	{ "output", 'o', ARGS_TEXT, FIELD(output), "FILE", NULL,
	  "write FILE, not standard output. Without --format, its\n"
	  "suffix selects the format: .html, .svg, .txt, .json,\n"
	  ".speedscope.json, .pb.gz or .folded" },
	{ "device", 0, ARGS_COUNT, FIELD(device), "N", device_words,
	  "only the memory of this GPU; default: all" },
	{ "plain", 'p', ARGS_FLAG, FIELD(plain), NULL, NULL,
	  "print lines of words separated by tabs, for scripts" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	.name = "mam profile",
	.use = "[OPTION]... FILE",
	.intro =
		"Show the code that uses the memory: from a profile of mam run --profile, or a\n"
		"memory snapshot of PyTorch with stacks. Traces and logs of RMM work, too, as far\n"
		"as they name call sites.\n",
	.outro = "Examples:\n"
		 "  mam run --profile=train.mam -- python3 train.py\n"
		 "  mam profile train.mam\n"
		 "  mam profile --at exit --format tree train.mam\n"
		 "  mam profile --diff 10s --at 100s train.mam\n"
		 "  mam profile -o train.html train.mam\n"
		 "  mam profile -o train.speedscope.json train.mam\n",
	.options = options,
};

/*
 * A time: a number with an optional unit. Without one, it is a number of seconds, or for a file
 * without times of events. False: not a time.
 */
static bool read_time(const char *text, struct profile_time *time)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 } };
	char *unit;
	double number;

	if (!isdigit((unsigned char)*text) || strspn(text, "0123456789.nmus") != strlen(text))
		return false;
	number = strtod(text, &unit);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].name) != 0 || number * units[i].ns >= 1.8e19)
			continue;
		time->ns = (uint64_t)(number * units[i].ns + 0.5);
		time->event = i == 0 ? (uint64_t)number : PROFILE_NO_TIME;
		return true;
	}
	return false;
}

/* When a view is: a word, or a time, which is that of profile->asked[number]. */
struct when {
	const char *text;
	bool is_peak, is_exit;
	struct profile_time time;
};

static bool read_when(const char *text, struct when *when)
{
	*when = (struct when){ .text = text, .time = { PROFILE_NO_TIME, PROFILE_NO_TIME } };
	when->is_peak = strcmp(text, "peak") == 0;
	when->is_exit = strcmp(text, "exit") == 0;
	if (when->is_peak || when->is_exit || read_time(text, &when->time))
		return true;
	message_error("--at is '%s', but must be peak, exit, or a time such as 90s or 12.5ms",
		      text);
	return false;
}

static bool find_moment(const struct profile *profile, const struct when *when, int asked,
			uint32_t *moment)
{
	const struct profile_moment *last = &profile->moments[profile->moment_count - 1];

	*moment = when->is_peak   ? profile->peak
		  : when->is_exit ? profile->moment_count - 1
				  : profile->asked[asked];
	if (*moment != PROFILE_NONE)
		return true;
	if (!profile->has_times && when->time.event == PROFILE_NO_TIME)
		message_error("%s has no times; specify the number of an event in place of '%s'",
			      profile->path, when->text);
	else
		message_error("%s has nothing at '%s': it ends after %s", profile->path, when->text,
			      profile_duration(profile, (double)last->time).text);
	return false;
}

static const struct format *find_format(const struct settings *settings)
{
	uint64_t number = settings->format ? settings->format : TEXT;

	if (!settings->format && settings->output) {
		size_t length = strlen(settings->output);

		for (size_t i = 0; formats[i].suffix; i++) {
			size_t bytes = strlen(formats[i].suffix);

			if (length > bytes &&
			    strcmp(settings->output + length - bytes, formats[i].suffix) == 0)
				return &formats[i];
		}
		message_error("cannot write '%s': the suffix must be " SUFFIXES ", or use --format",
			      settings->output);
		return NULL;
	}
	for (size_t i = 0;; i++)
		if (formats[i].number == number)
			return &formats[i];
}

static bool write_view(const struct settings *settings, const struct format *format,
		       const struct profile_view *view)
{
	struct whole_file whole;
	FILE *file =
		settings->output ? whole_file_open(&whole, settings->output, "a profile") : stdout;
	bool good;

	if (!file)
		return false;
	if (settings->plain)
		good = profile_write_plain(file, view);
	else
		good = format->write(file, view);
	if (!good)
		message_error("out of memory");
	return settings->output ? whole_file_close(&whole, good) : good;
}

struct run {
	const struct settings *settings;
	const struct format *format;
	const char *path;
	struct when at, base;
	bool base_is_file;
	struct profile_tree tree;
	struct profile profile, other;
};

static bool load(struct run *run)
{
	struct profile_load_settings settings = {
		.device = run->settings->device,
		.wanted = { run->at.time, run->base.time },
	};

	if (!profile_load(&run->profile, &run->tree, run->path, &settings))
		return false;
	settings.wanted[1] = (struct profile_time){ PROFILE_NO_TIME, PROFILE_NO_TIME };
	if (run->base_is_file &&
	    !profile_load(&run->other, &run->tree, run->settings->diff, &settings))
		return false;
	profile_share(&run->profile, &run->tree);
	return true;
}

static bool show(struct run *run)
{
	struct profile_view view = {
		.profile = &run->profile,
		.by = (enum profile_by)run->settings->by,
		.top = run->settings->top,
	};
	bool good;

	if (!find_moment(&run->profile, &run->at, 0, &view.moment))
		return false;
	if (run->settings->diff) {
		view.base = run->base_is_file ? &run->other : &run->profile;
		if (!find_moment(view.base, run->base_is_file ? &run->at : &run->base,
				 run->base_is_file ? 0 : 1, &view.base_moment))
			return false;
	}
	good = profile_view_fill(&view);
	if (!good)
		message_error("%s: out of memory", run->path);
	good = good && write_view(run->settings, run->format, &view);
	profile_view_fini(&view);
	return good;
}

static bool prepare(struct run *run)
{
	const struct settings *settings = run->settings;

	run->format = find_format(settings);
	if (!run->format || !read_when(settings->at, &run->at))
		return false;
	run->base.time = (struct profile_time){ PROFILE_NO_TIME, PROFILE_NO_TIME };
	run->base.text = settings->diff;
	if (settings->diff)
		run->base_is_file = !read_time(settings->diff, &run->base.time);
	if (settings->diff && settings->by == PROFILE_BY_LIFETIME) {
		message_error(
			"--diff cannot show the growth of lifetimes; use --by bytes or count");
		return false;
	}
	if (run->format->number == HTML && run->base_is_file) {
		message_error(
			"a page shows one file; for the growth since another file, write a .svg");
		return false;
	}
	if (run->format->number == PPROF && !settings->output && isatty(STDOUT_FILENO)) {
		message_error("the format pprof is not text; name a file with --output");
		return false;
	}
	return true;
}

int profile_main(int argc, char **argv)
{
	struct settings settings = {
		.at = "peak",
		.by = PROFILE_BY_BYTES,
		.top = 20,
		.device = REPLAY_DEFAULT,
	};
	struct run run = { .settings = &settings };
	int first, status;
	bool good;

	if (!args_parse(&command, argc, argv, &settings, &first, &status))
		return status;
	if (argc - first != 1) {
		if (argc == first)
			message_error("no file given; see 'mam profile --help'");
		else
			message_error("unexpected argument '%s'; see 'mam profile --help'",
				      argv[first + 1]);
		return STATUS_BAD;
	}
	run.path = argv[first];
	if (!prepare(&run))
		return STATUS_BAD;
	progress_begin(settings.plain);
	good = profile_tree_init(&run.tree);
	if (!good)
		message_error("out of memory");
	good = good && load(&run) && show(&run);
	progress_end();
	profile_fini(&run.profile);
	profile_fini(&run.other);
	profile_tree_fini(&run.tree);
	return good ? STATUS_GOOD : STATUS_BAD;
}
