/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - texts of errors: names of lanes, which lanes wait where, a trace.
 */
#ifndef MAM_TESTS_SIMT_REPORT_H
#define MAM_TESTS_SIMT_REPORT_H

#include <stdarg.h>

#include "simt/lane.h"

const char *simt_report_kind(enum simt_collective kind);
/* Valid until the second next call. */
const char *simt_report_name(const struct simt_lane *lane);
/* The same for a number of the race checker; writes nothing if it is not a lane's number. */
void simt_report_number(unsigned int number, char *text, size_t bytes);
void simt_report_set(struct simt_world *world, enum simt_verdict verdict, const char *format,
		     va_list arguments) __attribute__((format(printf, 3, 0)));
void simt_report_deadlock(struct simt_world *world);
void simt_report_livelock(struct simt_world *world);
void simt_report_no_memory(struct simt_world *world);
/* A line of a replay's trace: what the lane does at its site. */
void simt_report_trace(const struct simt_lane *lane, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
