/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exporter.c - `mam exporter`: the memory of all processes that use mam, for Prometheus.
 */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "exporter/listen.h"
#include "exporter/metrics.h"
#include "exporter/serve.h"
#include "kit/args.h"
#include "kit/message.h"
#include "kit/whole_file.h"

#define AGE_MS 250 /* a client that repeats its request faster gets the same text */

struct settings {
	const char *textfile;
	uint64_t interval;
	const char *listen;
};

static const struct args_option options[] = {
	{ "textfile", 't', ARGS_TEXT, offsetof(struct settings, textfile), "FILE", NULL,
	  "write the metrics to FILE, for the textfile collector of\n"
	  "node_exporter" },
	{ "interval", 'i', ARGS_COUNT, offsetof(struct settings, interval), "SECONDS", NULL,
	  "repeat that after so many seconds, until it is stopped" },
	{ "listen", 'l', ARGS_TEXT, offsetof(struct settings, listen), "WHERE", NULL,
	  "serve /metrics on [ADDRESS:]PORT (default address:\n"
	  "127.0.0.1) or unix:PATH, until it is stopped" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	.name = "mam exporter",
	.use = "[--textfile FILE [--interval SECONDS] | --listen WHERE]",
	.intro = "Print the memory of all processes that use mam as OpenMetrics text, for "
		 "Prometheus;\n"
		 "of all users if started by root.\n",
	.outro = "Examples:\n"
		 "  mam exporter                            print them once\n"
		 "  mam exporter --listen 9836              http://127.0.0.1:9836/metrics\n"
		 "  mam exporter --textfile /var/lib/node_exporter/mam.prom --interval 15\n",
	.options = options,
};

static int print_text(FILE *file)
{
	size_t bytes;
	char *text = metrics_text(&bytes);
	bool good = text != NULL;

	if (good)
		fwrite(text, 1, bytes, file); /* the caller checks the stream */
	else
		message_error("out of memory");
	free(text);
	return good ? STATUS_GOOD : STATUS_BAD;
}

static int write_file(const char *path)
{
	struct whole_file whole;
	FILE *file = whole_file_open(&whole, path, "metrics");
	int status;

	if (file == NULL)
		return STATUS_BAD;
	status = print_text(file);
	return whole_file_close(&whole, status == STATUS_GOOD) ? status : STATUS_BAD;
}

/* A failure after the first time may pass, as that of a full disk: try again. */
static int write_files(const char *path, uint64_t interval)
{
	int status = write_file(path);

	if (status != STATUS_GOOD || interval == 0)
		return status;
	for (;;) {
		sleep(interval < UINT_MAX ? (unsigned int)interval : UINT_MAX);
		write_file(path);
	}
}

static int serve(const char *where)
{
	static const struct serve_page page = { metrics_text, METRICS_TYPE, AGE_MS };
	int socket = listen_open(where);
	bool good;

	if (socket < 0)
		return STATUS_BAD;
	good = serve_run(socket, &page, &serve_times);
	listen_close(socket);
	return good ? STATUS_GOOD : STATUS_BAD;
}

int exporter_main(int argc, char **argv)
{
	struct settings settings = { .textfile = NULL };
	int first, status;

	if (!args_parse(&command, argc, argv, &settings, &first, &status))
		return status;
	if (first < argc) {
		message_error("unexpected argument '%s'; see 'mam exporter --help'", argv[first]);
		return STATUS_BAD;
	}
	if (settings.textfile != NULL && settings.listen != NULL) {
		message_error("--textfile and --listen exclude each other");
		return STATUS_BAD;
	}
	if (settings.interval != 0 && settings.textfile == NULL) {
		message_error("--interval requires --textfile");
		return STATUS_BAD;
	}
	if (settings.listen != NULL)
		return serve(settings.listen);
	if (settings.textfile != NULL)
		return write_files(settings.textfile, settings.interval);
	return print_text(stdout);
}
