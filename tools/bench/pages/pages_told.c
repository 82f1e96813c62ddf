/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_told.c - the final steps of `mam bench pages` and mam bench model after printing the
 * tables: report errors, and write the requested files.
 */
#include "bench/bench.h"
#include "command.h"
#include "kit/message.h"
#include "pages_bench.h"
#include "bench/plot.h"
#include "bench/harness/typed.h"

int pages_report_rest(const struct bench_results *results, const struct bench_machine *machine,
		      bool faults, const char *typed, const char *csv, const char *plot)
{
	int status = STATUS_GOOD;

	if (results->incomplete) {
		message_error("memory ran out and some results were lost; close other programs and "
			      "try again");
		status = STATUS_FAILED;
	}
	if (faults) {
		message_error("the checks found errors of mam's own allocator; see the notes");
		status = STATUS_FAILED;
	}
	if (csv != NULL && !bench_results_save(results, machine, typed, csv))
		return bench_cannot_write(csv, "--csv");
	if (plot != NULL && results->count > 0 &&
	    plot_results(plot, results, machine) != STATUS_GOOD)
		return STATUS_BAD;
	return status;
}
