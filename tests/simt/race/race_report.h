/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_report.h - the text of a race: both accesses, and what would have ordered them if that is
 * clear.
 */
#ifndef MAM_TESTS_SIMT_RACE_REPORT_H
#define MAM_TESTS_SIMT_RACE_REPORT_H

#include <stddef.h>

#include "simt/race/race_track.h"

/* Writes the name of a lane. */
typedef void race_name(unsigned int lane, char *text, size_t bytes);

/* `name` may be NULL. */
void race_report(char *text, size_t bytes, const struct race_lane *lanes, race_name *name,
		 const struct race_track *track, const struct race_record *record,
		 const struct race_access *access);

#endif
