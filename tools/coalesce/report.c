/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - one line per allocation of a file, in the order of the file: the place, the function,
 * the scope, whether all threads request the same size, and the reason.
 *
 * For programs: file, line, function, scope (block, warp, none), size (uniform, varying, -),
 * reason; separated by tabs, and without tabs in them. Frees, and calls of helpers, are not listed.
 */
#include "report.h"

#include <string.h>

bool co_report_is_listed(const struct co_verdict *verdict)
{
	return (verdict->kind == CO_MALLOC || verdict->kind == CO_KMALLOC ||
		verdict->kind == CO_OPERATOR_NEW) &&
	       verdict->node->in_file;
}

static const char *scope_of(const struct co_verdict *verdict)
{
	static const char *const names[] = { "block", "warp", "none" };

	return names[verdict->reached];
}

/* An allocation of a single thread has no common size. */
static const char *size_of(const struct co_verdict *verdict)
{
	if (verdict->reached == CO_EACH)
		return "-";
	return verdict->size <= verdict->reached ? "uniform" : "varying";
}

const char *co_report_call(const struct co_verdict *verdict)
{
	return verdict->kind == CO_MALLOC    ? "malloc"
	       : verdict->kind == CO_KMALLOC ? "mam_kmalloc"
					     : "new";
}

/* Prints a text in one line, with field separators replaced by blanks. */
static void put_text(FILE *file, const char *text)
{
	for (; *text != '\0'; text++)
		putc(*text == '\t' || *text == '\n' || *text == '\r' ? ' ' : *text, file);
}

static void count(const struct co_verdict *verdict, const struct co_verdict *later,
		  struct co_tally *tally)
{
	if (verdict->reached == CO_EACH) {
		tally->none++;
		tally->later += later->reached != CO_EACH;
		return;
	}
	if (verdict->reached == CO_ALL)
		tally->block++;
	else
		tally->warp++;
	tally->varying += strcmp(size_of(verdict), "varying") == 0;
}

void co_report_put(FILE *file, const struct co_program *program, const struct co_decision *decision,
		   bool plain, struct co_tally *tally)
{
	const struct co_judgement *judgement = decision->judgement;
	size_t i;

	for (i = 0; i < judgement->count; i++) {
		const struct co_verdict *verdict = &judgement->verdicts[i];
		const struct co_verdict *later = &decision->rewritten->verdicts[i];
		const char *function = program->functions[verdict->function].printed;

		if (!co_report_is_listed(verdict))
			continue;
		count(verdict, later, tally);
		put_text(file, program->path);
		if (plain)
			fprintf(file, "\t%u\t", verdict->node->line);
		else
			fprintf(file, ":%u: %s in ", verdict->node->line, co_report_call(verdict));
		put_text(file, function);
		fprintf(file, plain ? "\t%s\t%s\t" : ": %s, %s: ", scope_of(verdict),
			size_of(verdict));
		put_text(file, verdict->reason);
		if (later->reached < verdict->reached)
			fprintf(file, "; once the file is rewritten: %s, %s", scope_of(later),
				size_of(later));
		putc('\n', file);
	}
}

void co_report_sum(FILE *file, const struct co_tally *tally, size_t files)
{
	const size_t all = tally->block + tally->warp + tally->none;

	if (all == 0) {
		fprintf(file, "no device allocation in %zu file%s\n", files, files == 1 ? "" : "s");
		return;
	}
	fprintf(file,
		"%zu allocation%s: %zu by a whole block, %zu by a whole warp (%zu of these with "
		"varying sizes), %zu by some threads or unknown",
		all, all == 1 ? "" : "s", tally->block, tally->warp, tally->varying, tally->none);
	if (tally->later > 0)
		fprintf(file, " (%zu of these collective once rewritten)", tally->later);
	putc('\n', file);
}
