/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_trace.c - write a trace as in mam-trace(5), converted from any input format.
 *
 * Reading it gives the same trace: the same events, blocks, streams, times, threads and names. The
 * results of the replay do not matter.
 *
 * A line has at most MAM_TRACE_LINE_BYTES. Numbers need less than half of that, so who is truncated
 * to WHO_MAX bytes.
 */
#include "write/export.h"

#include <inttypes.h>

#include <mam/trace.h>

#include "kit/format.h"

#define WHO_MAX 3500

/*
 * Write the value of a field, with %XX for bytes that it cannot contain. Never write half of a %XX.
 */
static void put_value(FILE *file, const char *text)
{
	static const char digits[] = "0123456789ABCDEF";

	for (int put = 0; *text; text++) {
		unsigned char byte = (unsigned char)*text;
		bool plain = byte > 0x20 && byte != 0x7f && byte != '%';

		put += plain ? 1 : 3;
		if (put > WHO_MAX)
			return;
		if (plain)
			putc(byte, file);
		else
			fprintf(file, "%%%c%c", digits[byte >> 4], digits[byte & 15]);
	}
}

static void put_alloc(const struct export_job *job, uint32_t number)
{
	const struct replay_trace *trace = job->trace;
	const struct replay_block *block = &trace->blocks[number];
	const char *who = export_who(trace, number);

	fprintf(job->file, "a %" PRIu64 " %" PRIu64 " %" PRIu64, block->id, block->bytes,
		block->stream);
	if (trace->has_threads)
		fprintf(job->file, " thread=%" PRIu64, trace->origins[number].thread);
	if (*who) {
		fputs(" who=", job->file);
		put_value(job->file, who);
	}
}

static void put_free(const struct export_job *job, uint32_t number)
{
	const struct replay_trace *trace = job->trace;
	const struct replay_block *block = &trace->blocks[number];

	fprintf(job->file, "f %" PRIu64, block->id);
	if (trace->free_streams && trace->free_streams[number] != block->stream)
		fprintf(job->file, " stream=%" PRIu64, trace->free_streams[number]);
}

bool write_trace(const struct export_job *job)
{
	const struct replay_trace *trace = job->trace;

	fprintf(job->file, "# mam trace, version 1, of %s\n", replay_trace_title(trace, 39).text);
	for (uint32_t event = 0; event < trace->event_count; event++) {
		uint32_t what = trace->events[event];

		export_progress(job, event);
		if (what & 1)
			put_free(job, what >> 1);
		else
			put_alloc(job, what >> 1);
		if (trace->times)
			fprintf(job->file, " t=%" PRIu64, trace->times[event]);
		putc('\n', job->file);
	}
	return !ferror(job->file);
}
