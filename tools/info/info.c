/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.c - `mam info`: print this version of mam, the CUDA devices that it finds, its settings, and
 * files that mam run wrote.
 */
#include "info/info.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <zlib.h>

#include <mam/mam.h>

#include "kit/args.h"
#include "command.h"
#include "kit/message.h"
#include "run/run_object.h"
#include "info/selftest.h"

#define LABEL_COLUMNS 16

struct settings {
	bool options;
	bool self_test;
	bool stats;
	bool plain;
	const char *check;
};

static const struct args_option options[] = {
	{ "check", 'c', ARGS_TEXT, offsetof(struct settings, check), "PROGRAM", NULL,
	  "list how a program reaches CUDA, and whether mam run\n"
	  "intercepts it; exit 0: it can, 1: it cannot" },
	{ "options", 'o', ARGS_FLAG, offsetof(struct settings, options), NULL, NULL,
	  "explain the environment variables mam reads, with their\n"
	  "values and their origins" },
	{ "stats", 's', ARGS_FLAG, offsetof(struct settings, stats), NULL, NULL,
	  "combine files of mam run --stats=FILE, and processes that\n"
	  "run or were killed, in one table, with the maximum over the\n"
	  "mean and the rank that has it" },
	{ "self-test", 't', ARGS_FLAG, offsetof(struct settings, self_test), NULL, NULL,
	  "fill blocks of a pool on the GPU with patterns and read them\n"
	  "back; exit 0: correct, 1: wrong, 77: no GPU" },
	{ "plain", 'p', ARGS_FLAG, offsetof(struct settings, plain), NULL, NULL,
	  "print key<TAB>value lines for scripts" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	.name = "mam info",
	.use = "[OPTION]... | --stats FILE|PID...",
	.intro = "Print the version of mam, the driver and devices that it finds, and its "
		 "settings.\n",
	.outro = "Examples:\n"
		 "  mam info --check ./app            can mam run intercept its calls?\n"
		 "  MAM_LIMIT=4G mam info --options\n"
		 "  mam info --stats stats.*          the ranks of mam run --stats=stats.%r\n"
		 "  mam info --stats 4711             a process that runs or was killed\n",
	.options = options,
};

void info_line(bool plain, const char *key, const char *label, const char *format, ...)
{
	va_list arguments;

	if (plain)
		printf("%s\t", key);
	else
		printf("%-*s", LABEL_COLUMNS, label);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

static void print_about(bool plain)
{
	const bool preload = run_object_exists(RUN_OBJECT_PRELOAD),
		   audit = run_object_exists(RUN_OBJECT_AUDIT);

	info_line(plain, "version", "mam", "%s", mam_version());
	info_line(plain, "sources", "sources", "vmm, cudamalloc, pinned, managed, host");
	info_line(plain, "self_test", "self-test", "%s",
		  selftest_built() ? "available (mam info --self-test)"
				   : "unavailable: its kernels need nvcc, which was not found "
				     "when mam was built");
	info_line(plain, "zlib", "zlib", "%s", zlibVersion());
	info_line(plain, "routes", "mam run", "%s",
		  preload && audit ? "available, with --route=preload and --route=audit"
		  : preload        ? "available, with --route=preload only: " RUN_OBJECT_AUDIT
			      " is missing"
			    : "unavailable: " RUN_OBJECT_PRELOAD " is missing");
	info_devices(plain);
	info_options(plain);
}

int info_main(int argc, char **argv)
{
	struct settings settings = { .check = NULL };
	int first, status;

	if (!args_parse(&command, argc, argv, &settings, &first, &status))
		return status;
	if (settings.stats && first == argc) {
		message_error("no file given; see 'mam info --help'");
		return STATUS_BAD;
	}
	if (settings.stats)
		return info_stats(argc - first, argv + first, settings.plain);
	if (first < argc) {
		message_error("unexpected argument '%s'; see 'mam info --help'", argv[first]);
		return STATUS_BAD;
	}
	if (settings.check != NULL)
		return info_check(settings.check, settings.plain);
	if (settings.self_test)
		return selftest();
	if (settings.options && !settings.plain)
		info_options_explained();
	else if (settings.options)
		info_options(true);
	else
		print_about(settings.plain);
	return STATUS_GOOD;
}
