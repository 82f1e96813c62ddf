/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.c - the measurements: a list of rows, its notes, and the CSV file made of it.
 *
 * Row strings point to the workload and peer tables, which live as long as the program; notes are
 * copies.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mam/newfile.h>

#include "bench/bench.h"

void bench_results_fini(struct bench_results *results)
{
	size_t i;

	for (i = 0; i < results->note_count; i++)
		free(results->notes[i]);
	free(results->notes);
	free(results->rows);
}

void bench_results_add(struct bench_results *results, const char *workload, const char *peer,
		       const char *parameter, const char *metric, double value)
{
	if (results->count == results->room) {
		size_t room = results->room > 0 ? results->room * 2 : 256;
		struct bench_result *rows = realloc(results->rows, room * sizeof(*rows));

		if (rows == NULL) {
			results->incomplete = true;
			return;
		}
		results->rows = rows;
		results->room = room;
	}
	results->rows[results->count++] =
		(struct bench_result){ workload, peer, parameter, metric, value };
}

void bench_results_note(struct bench_results *results, const char *format, ...)
{
	char **notes = realloc(results->notes, (results->note_count + 1) * sizeof(*notes));
	char text[720];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (notes != NULL) {
		results->notes = notes;
		notes[results->note_count] = strdup(text);
		if (notes[results->note_count] != NULL) {
			results->note_count++;
			return;
		}
	}
	results->incomplete = true;
}

bool bench_results_get(const struct bench_results *results, const char *workload, const char *peer,
		       const char *parameter, const char *metric, double *value)
{
	size_t i;

	for (i = results->count; i-- > 0;) {
		const struct bench_result *row = &results->rows[i];

		if (strcmp(row->workload, workload) == 0 && strcmp(row->peer, peer) == 0 &&
		    strcmp(row->metric, metric) == 0 &&
		    (parameter == NULL || strcmp(row->parameter, parameter) == 0)) {
			*value = row->value;
			return true;
		}
	}
	return false;
}

/* A field with a comma is quoted; ours contain neither quotes nor newlines. */
static void put_field(FILE *file, const char *field, char end)
{
	const char *quote = strchr(field, ',') != NULL ? "\"" : "";

	fprintf(file, "%s%s%s%c", quote, field, quote, end);
}

static void write_rows(FILE *file, const struct bench_results *results,
		       const struct bench_machine *machine, const char *command)
{
	size_t i;

	fprintf(file, "# gpu: %s\n# driver: %s\n# cpu: %s\n# kernel: %s\n", machine->gpu,
		machine->driver, machine->cpu, machine->kernel);
	fprintf(file, "# date: %s\n# commit: %s\n# command: %s\n", machine->date, machine->commit,
		command);
	fprintf(file, "# columns: workload,allocator,parameter,metric,value\n");
	for (i = 0; i < results->count; i++) {
		const struct bench_result *row = &results->rows[i];

		put_field(file, row->workload, ',');
		put_field(file, row->peer, ',');
		put_field(file, row->parameter, ',');
		put_field(file, row->metric, ',');
		fprintf(file, "%.6g\n", row->value);
	}
}

/* A pipe, a device or a link, such as /dev/stdout, must not be replaced but written to. */
static bool is_direct(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/*
 * Signals are blocked while a temporary file may exist next to the output (<mam/newfile.h>), so
 * that none leaves it there. Writing takes a few milliseconds.
 */
static void hold_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

bool bench_results_may_save(const char *path)
{
	struct mam_newfile file;
	sigset_t before;
	FILE *direct;
	int error;

	if (is_direct(path)) {
		direct = fopen(path, "a");
		if (direct != NULL)
			fclose(direct);
		return direct != NULL;
	}
	hold_signals(&before);
	error = mam_newfile_open(&file, path, 0666);
	if (error == 0)
		close(file.number);
	mam_newfile_drop(&file);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return error == 0;
}

/* Into `file`, which is closed. Returns an errno. */
static int write_and_close(FILE *file, const struct bench_results *results,
			   const struct bench_machine *machine, const char *command)
{
	int error;

	if (file == NULL)
		return errno;
	fflush(stdout); /* it may be the same file */
	write_rows(file, results, machine, command);
	error = ferror(file) ? EIO : 0;
	return fclose(file) != 0 ? errno : error;
}

bool bench_results_save(const struct bench_results *results, const struct bench_machine *machine,
			const char *command, const char *path)
{
	struct mam_newfile file;
	sigset_t before;
	int error;

	if (is_direct(path)) {
		error = write_and_close(fopen(path, "w"), results, machine, command);
	} else {
		hold_signals(&before);
		error = mam_newfile_open(&file, path, 0666);
		if (error == 0) {
			error = write_and_close(fdopen(dup(file.number), "w"), results, machine,
						command);
			if (error == 0)
				error = mam_newfile_put(&file, path);
			close(file.number);
		}
		mam_newfile_drop(&file);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	errno = error;
	return error == 0;
}
