/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_text.c - the text of a report (<mam/heap.h>): a template for each kind of error, in which a
 * letter after a % stands for a field of the report.
 *
 *	%f %g      finder, giver: "block (3,0,0) thread (17,0,0)", or "an unknown thread"
 *	%a         the address
 *	%o         the object at the address: "a 40-byte object (0x7f0000000040, allocated by
 *	           block (1,0,0) thread (2,0,0))", or "an object of unknown size (...)"
 *	%O         the same, for the object that contains the address
 *	%b         the count of lost reports, with the verb: "1 more error was"
 *	%p         the offset
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <mam/heap.h>

#include "base/sized.h"

static const char *const rows[MAM_HEAP_MISTAKES] = {
	[MAM_HEAP_OVERRUN] = "out-of-bounds write: byte %p of %o; detected at free by %f",
	[MAM_HEAP_UNDERRUN] = "out-of-bounds write: byte %p of %o; detected at free by %f",
	[MAM_HEAP_WRITTEN_AFTER_FREE] =
		("write after free: byte %p of %o, freed by %g; detected at "
		 "allocation by %f"),
	[MAM_HEAP_DOUBLE_FREE] = "double free: %o, freed by %g; freed again by %f",
	[MAM_HEAP_FOREIGN_FREE] = "invalid free: %a is not an object of the heap; freed by %f",
	[MAM_HEAP_INTERIOR_FREE] = "invalid free: %a is byte %p of %O; freed by %f",
	[MAM_HEAP_LEAK] = "memory leak: %o was never freed",
	[MAM_HEAP_UNTOLD] = "%b lost, because the report buffer was full",
};

/* The text so far; `length` counts as snprintf() does. */
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
		add(sentence, "an unknown thread");
}

/* Returns whether "eight", "eleven" or "eighteen" starts the spoken number. */
static bool starts_with_vowel(uint64_t number)
{
	while (number >= 1000)
		number /= 1000;
	return number == 8 || number == 11 || number == 18 || number / 10 == 8 || number / 100 == 8;
}

static void add_object(struct sentence *sentence, const struct mam_heap_report *report,
		       uintptr_t address)
{
	if (report->bytes == 0 && !report->holder.known)
		add(sentence, "an object of unknown size (");
	else
		add(sentence, "%s %" PRIu64 "-byte object (",
		    starts_with_vowel(report->bytes) ? "an" : "a", report->bytes);
	add(sentence, "%#" PRIxPTR ", allocated by ", address);
	add_thread(sentence, &report->holder);
	add(sentence, ")");
}

static void add_letter(struct sentence *sentence, const struct mam_heap_report *report, char letter)
{
	const uintptr_t address = (uintptr_t)report->address;

	switch (letter) {
	case 'f': add_thread(sentence, &report->finder); break;
	case 'g': add_thread(sentence, &report->giver); break;
	case 'a': add(sentence, "%#" PRIxPTR, address); break;
	case 'o': add_object(sentence, report, address); break;
	case 'O': add_object(sentence, report, address - (uintptr_t)report->offset); break;
	case 'b':
		add(sentence, "%" PRIu64 " more %s", report->bytes,
		    report->bytes == 1 ? "error was" : "errors were");
		break;
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
