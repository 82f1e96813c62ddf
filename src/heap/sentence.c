/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sentence.c - a report as people read it (<mam/heap.h>): a row of words for each kind of mistake,
 * in which a letter behind a % stands for what the report has.
 *
 *	%f %h %g   finder, holder, giver: "block (3,0,0) thread (17,0,0)", or "somebody"
 *	%a         the address
 *	%o         "40 bytes of block (1,0,0) thread (2,0,0)", or "an object that is not known"
 *	%b         bytes, in words that agree
 *	%p         the offset
 *	%B         where an object begins that the address lies in
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <mam/heap.h>

#include "base/sized.h"

static const char *const rows[MAM_HEAP_MISTAKES] = {
	[MAM_HEAP_OVERRUN] = "%f gave back %a (%o), behind whose end somebody wrote: at byte %p",
	[MAM_HEAP_UNDERRUN] = "%f gave back %a (%o), in front of which somebody wrote: at byte %p",
	[MAM_HEAP_WRITTEN_AFTER_FREE] = "%a (%o) was written to at byte %p after %g had given it "
					"back; seen when %f got the memory",
	[MAM_HEAP_DOUBLE_FREE] = "%f gave back %a (%o) a second time, after %g",
	[MAM_HEAP_FOREIGN_FREE] = "%f gave back %a, which is no object of the heap",
	[MAM_HEAP_INTERIOR_FREE] = "%f gave back %a, which is byte %p of an object at %B (%o)",
	[MAM_HEAP_LEAK] = "%a (%o) was never given back",
	[MAM_HEAP_UNTOLD] = "%b more were found, and had no room, as nobody read the reports",
};

/* What has been written so far, as snprintf() counts it. */
struct sentence {
	char *text;
	size_t bytes, length;
};

__attribute__((format(printf, 2, 3))) static void add(struct sentence *sentence, const char *format,
						       ...)
{
	const size_t at = sentence->length < sentence->bytes ? sentence->length : sentence->bytes;
	va_list words;
	int length;

	va_start(words, format);
	length = vsnprintf(sentence->bytes ? sentence->text + at : NULL, sentence->bytes - at,
			   format, words);
	va_end(words);
	sentence->length += length > 0 ? (size_t)length : 0;
}

static void add_thread(struct sentence *sentence, const struct mam_heap_thread *thread)
{
	if (thread->known)
		add(sentence,
		    "block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") thread (%" PRIu32 ",%" PRIu32
		    ",%" PRIu32 ")",
		    thread->block[0], thread->block[1], thread->block[2], thread->thread[0],
		    thread->thread[1], thread->thread[2]);
	else
		add(sentence, "somebody");
}

static void add_bytes(struct sentence *sentence, uint64_t bytes, const char *one, const char *many)
{
	add(sentence, "%" PRIu64 "%s", bytes, bytes == 1 ? one : many);
}

static void add_object(struct sentence *sentence, const struct mam_heap_report *report)
{
	if (report->bytes == 0 && !report->holder.known) {
		add(sentence, "it is not known whose");
		return;
	}
	add_bytes(sentence, report->bytes, " byte of ", " bytes of ");
	add_thread(sentence, &report->holder);
}

static void add_letter(struct sentence *sentence, const struct mam_heap_report *report, char letter)
{
	const uintptr_t address = (uintptr_t)report->address;

	switch (letter) {
	case 'f': add_thread(sentence, &report->finder); break;
	case 'g': add_thread(sentence, &report->giver); break;
	case 'a': add(sentence, "%#" PRIxPTR, address); break;
	case 'B': add(sentence, "%#" PRIxPTR, address - (uintptr_t)report->offset); break;
	case 'o': add_object(sentence, report); break;
	case 'b': add_bytes(sentence, report->bytes, " mistake", " mistakes"); break;
	case 'p': add(sentence, "%" PRId64, report->offset); break;
	}
}

size_t mam_heap_report_text(const struct mam_heap_report *report, char *text, size_t bytes)
{
	struct sentence sentence = { text, text ? bytes : 0, 0 };

	if (sentence.bytes != 0)
		text[0] = '\0';
	if (!report || !mam_sized_fits(report, sizeof(*report), NULL, 0) ||
	    (unsigned int)report->kind >= MAM_HEAP_MISTAKES)
		return 0;
	for (const char *at = rows[report->kind]; *at; at++) {
		if (*at == '%')
			add_letter(&sentence, report, *++at);
		else
			add(&sentence, "%c", *at);
	}
	return sentence.length;
}
