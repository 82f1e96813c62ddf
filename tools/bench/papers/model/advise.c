/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise.c - `mam bench advise`: the page size, L and heap size that the random-walk paper's model
 * recommends for a burst of requests, and its predictions for the current and the recommended heap.
 *
 * This file parses the command line and prints the results of advice.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "command.h"
#include "kit/args.h"
#include "kit/message.h"
#include "mam/heap.h"
#include "model.h"

#define LOSES_MUCH 0.25 /* of pages; objects of other sizes then share slabs */

struct request {
	bool keys;
	const char *free, *sizes, *counters, *read;
	uint64_t threads, lanes, pages, page_bytes, was_max;
};

#define FIELD(name) offsetof(struct request, name)

static const struct args_option options[] = {
	{ "threads", 't', ARGS_COUNT, FIELD(threads), "N", NULL,
	  "threads that allocate concurrently, before any frees" },
	{ "lanes", 0, ARGS_COUNT, FIELD(lanes), "N", NULL,
	  "of each warp that ask: 32 unless given" },
	{ "pages", 0, ARGS_COUNT, FIELD(pages), "T", NULL, "pages that the heap has now" },
	{ "free", 0, ARGS_TEXT, FIELD(free), "PERCENT", NULL,
	  "of its pages, free before the burst: 100 unless given" },
	{ "page-bytes", 0, ARGS_BYTES, FIELD(page_bytes), "BYTES", NULL,
	  "of a page now: 4096 unless given" },
	{ "sizes", 0, ARGS_TEXT, FIELD(sizes), "LIST", NULL,
	  "BYTES:COUNT of requests, as in 64:1000,256:50; a page\neach unless given" },
	{ "counters", 0, ARGS_TEXT, FIELD(counters), "FILE", NULL,
	  "the heap's counters, lines of KEY<TAB>VALUE, named as\nthe fields of struct "
	  "mam_heap_info" },
	{ "was-most", 0, ARGS_COUNT, FIELD(was_max), "STEPS", NULL,
	  "that a warp may take at L: 4 unless given, which makes L\nthe 5 in a thousand that "
	  "heaps of pages have" },
	{ "read", 0, ARGS_TEXT, FIELD(read), "FILE", NULL,
	  "what mam bench model --csv wrote, for microseconds" },
	{ "plain", 'p', ARGS_FLAG, FIELD(keys), NULL, NULL, "lines of KEY<TAB>VALUE, for scripts" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	"mam bench advise",
	"--threads N [OPTION]...",
	"Print the page size, low share and heap size that the random-walk model recommends for a "
	"heap\n"
	"of pages, and how many steps it expects. No GPU needed.\n",
	"Example:\n"
	"  mam bench advise --threads 5000 --pages 1000000 --free 1 --sizes 256:9,1050:1\n"
	"More in mam-bench-model(1).\n",
	options,
	false,
};

/* Returns false after reporting that the text is not a percentage. */
static bool read_percent(const char *text, double *share)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || *end != '\0' || !(percent > 0) || percent > 100) {
		message_error("--free: '%.40s' is not a percentage above 0, up to 100", text);
		return false;
	}
	*share = percent / 100;
	return true;
}

/*
 * Uses the heap's own counters for values missing on the command line; returns false after
 * reporting an error.
 */
static bool take_counters(const struct request *request, struct advise_counters *counters,
			  struct advise_ask *ask)
{
	if (!advise_counters_read(request->counters, counters))
		return false;
	if (ask->pages == 0)
		ask->pages = counters->pages;
	if (request->free == NULL)
		ask->free = (double)counters->free / (double)counters->pages;
	if (request->page_bytes == 0)
		ask->page_bytes = counters->page_bytes;
	if (request->sizes == NULL && counters->objects > 0) {
		ask->sizes[0] = (struct advise_size){
			(counters->object_bytes + counters->objects - 1) / counters->objects, 1
		};
		ask->size_count = ask->sizes[0].bytes > 0;
	}
	return true;
}

/* Returns false after reporting an error. */
static bool make_ask(const struct request *request, struct advise_counters *counters,
		     struct advise_ask *ask)
{
	const uint64_t page = request->page_bytes;

	*ask = (struct advise_ask){ .threads = request->threads,
				    .lanes = (unsigned int)request->lanes,
				    .pages = request->pages,
				    .free = 1,
				    .page_bytes = page > 0 ? page : MAM_HEAP_PAGE_DEFAULT,
				    .was_max = (double)request->was_max };
	if (request->threads == 0)
		message_error("--threads N is required: the number of threads that allocate "
			      "concurrently");
	else if (request->threads > UINT32_MAX)
		message_error("--threads must be at most %lu", (unsigned long)UINT32_MAX);
	else if (request->lanes > 32)
		message_error("--lanes must be at most 32");
	else if (request->pages > ADVISE_PAGES_MAX)
		message_error("--pages must be at most %llu", (unsigned long long)ADVISE_PAGES_MAX);
	else if (page > 0 &&
		 (page < MAM_HEAP_PAGE_MIN || page > MAM_HEAP_PAGE_MAX || (page & (page - 1)) != 0))
		message_error("--page-bytes expects a power of two from %u to 4M",
			      MAM_HEAP_PAGE_MIN);
	else if (request->free != NULL && request->pages == 0 && request->counters == NULL)
		message_error("--free requires --pages or --counters");
	else
		return (request->free == NULL || read_percent(request->free, &ask->free)) &&
		       (request->sizes == NULL || advise_sizes(request->sizes, ask)) &&
		       (request->counters == NULL || take_counters(request, counters, ask)) &&
		       (request->read == NULL || advise_fit(request->read, ask));
	return false;
}

/* ---- output ---- */

static const char *show_bytes(double bytes, char *text, size_t room)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	size_t i;

	for (i = 0; bytes >= 1024 && i + 1 < sizeof(units) / sizeof(units[0]); i++)
		bytes /= 1024;
	snprintf(text, room, "%.4g %s", bytes, units[i]);
	return text;
}

static void put_line(const char *label, const char *format, bool knows_now, double now, double then)
{
	char text[32] = "-";

	if (knows_now)
		snprintf(text, sizeof(text), format, now);
	printf("  %-34s %12s", label, text);
	snprintf(text, sizeof(text), format, then);
	printf(" %12s\n", text);
}

static void report_people(const struct advise_ask *ask, const struct advise_counters *counters,
			  const struct advice *advice)
{
	const struct advise_expect *now = &advice->now, *then = &advice->then;
	char text[32];

	printf("a burst of %llu request%s, %u of each warp\n\nrecommended\n",
	       (unsigned long long)ask->threads, ask->threads == 1 ? "" : "s", ask->lanes);
	printf("  %-34s %12s   %.1f%% of the allocated bytes are unused\n", "page size",
	       show_bytes((double)advice->page_bytes, text, sizeof(text)), advice->waste * 100);
	snprintf(text, sizeof(text), "%.1f%%", advice->low / 10.0);
	printf("  %-34s %12s   low_per_mille %u: a search gives up after %.0f used pages\n",
	       "L, the low share", text, advice->low, advice->patience);
	printf("  %-34s %12s   pages: %llu; the burst takes %llu\n", "heap",
	       show_bytes((double)advice->heap_bytes, text, sizeof(text)),
	       (unsigned long long)advice->heap_pages, (unsigned long long)advice->burst_pages);
	printf("\n%-36s %12s %12s\n", "expected", "now", "then");
	put_line("free before the burst, %", "%.4g", advice->knows_now, now->free_before * 100,
		 then->free_before * 100);
	put_line("free after it, %", "%.4g", advice->knows_now, now->free_after * 100,
		 then->free_after * 100);
	put_line("steps of a thread (TAS, WAS)", "%.3g", advice->knows_now, now->steps,
		 then->steps);
	put_line("steps of the last warp, at most", "%.3g", advice->knows_now, now->steps_limit,
		 then->steps_limit);
	if (ask->step_us > 0)
		put_line("the kernel, us", "%.4g", advice->knows_now, now->us, then->us);
	if (advice->waste > LOSES_MUCH)
		printf("note: pages lose much of such sizes; a heap of objects loses less "
		       "(mam_kmalloc)\n");
	if (counters->objects > 0)
		printf("note: the counters are of a heap of objects, which has no page size and no "
		       "L to choose\n");
	if (counters->searches > 0)
		printf("note: a search probed %.3g places on average, as the heap counted\n",
		       (double)counters->looks / (double)counters->searches);
	if (counters->full + counters->no_run > 0)
		printf("note: requests that got nothing, as the heap counted: %llu\n",
		       (unsigned long long)(counters->full + counters->no_run));
}

static void put_expect(const char *when, const struct advise_expect *expect)
{
	printf("%s_free_before\t%.6g\n%s_free_after\t%.6g\n%s_steps\t%.6g\n%s_steps_most\t%.6g\n",
	       when, expect->free_before, when, expect->free_after, when, expect->steps, when,
	       expect->steps_limit);
	if (expect->us > 0)
		printf("%s_us\t%.6g\n", when, expect->us);
}

static void report_keys(const struct advise_ask *ask, const struct advise_counters *counters,
			const struct advice *advice)
{
	printf("page_bytes\t%llu\nwaste\t%.6g\nlow_per_mille\t%u\npatience\t%.0f\n",
	       (unsigned long long)advice->page_bytes, advice->waste, advice->low,
	       advice->patience);
	printf("burst_pages\t%llu\nheap_pages\t%llu\nheap_bytes\t%llu\n",
	       (unsigned long long)advice->burst_pages, (unsigned long long)advice->heap_pages,
	       (unsigned long long)advice->heap_bytes);
	if (ask->step_us > 0)
		printf("first_us\t%.6g\nstep_us\t%.6g\n", ask->first_us, ask->step_us);
	if (advice->knows_now)
		put_expect("now", &advice->now);
	put_expect("then", &advice->then);
	if (counters->searches > 0)
		printf("counted_looks\t%.6g\n",
		       (double)counters->looks / (double)counters->searches);
}

int advise_main(int argc, char **argv)
{
	struct request request = { .lanes = MODEL_WARP, .was_max = 4 };
	struct advise_counters counters = { .pages = 0 };
	struct advise_ask ask;
	struct advice advice;
	const char *why;
	char text[32];
	int first, status;

	if (!args_parse(&command, argc, argv, &request, &first, &status))
		return status;
	if (first < argc) {
		message_error("'%s' is one word too many; see mam bench advise --help",
			      argv[first]);
		return STATUS_BAD;
	}
	if (!make_ask(&request, &counters, &ask))
		return STATUS_BAD;
	why = advise_compute(&ask, &advice);
	if (why != NULL) {
		message_error("%s", why);
		return STATUS_BAD;
	}
	if (ask.pages > 0 && !advice.knows_now) {
		message_error(
			"the heap is too small: the burst takes %.0f pages of %llu bytes, and "
			"fewer are free; give it %llu pages of %llu, %s",
			advise_burst(&ask, ask.page_bytes), (unsigned long long)ask.page_bytes,
			(unsigned long long)advice.heap_pages,
			(unsigned long long)advice.page_bytes,
			show_bytes((double)advice.heap_bytes, text, sizeof(text)));
		return STATUS_BAD;
	}
	if (request.keys)
		report_keys(&ask, &counters, &advice);
	else
		report_people(&ask, &counters, &advice);
	return STATUS_GOOD;
}
