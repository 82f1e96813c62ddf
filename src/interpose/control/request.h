/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - parses requests of mam ctl (<mam/control.h>). */
#ifndef MAM_INTERPOSE_REQUEST_H
#define MAM_INTERPOSE_REQUEST_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum mam_request_kind {
	MAM_REQUEST_TRIM,
	MAM_REQUEST_LIMIT,
	MAM_REQUEST_DUMP,
	MAM_REQUEST_STATS,
	MAM_REQUEST_STATS_KEYS,
	MAM_REQUEST_TRACE,
	MAM_REQUEST_TRACE_OFF,
	MAM_REQUEST_SITES,
	MAM_REQUEST_SUSPEND, /* to host memory, or with a path to a file */
	MAM_REQUEST_SUSPEND_DISCARD,
	MAM_REQUEST_RESUME
};

struct mam_request {
	enum mam_request_kind kind;
	uint64_t number; /* bytes of MAM_REQUEST_LIMIT, seconds of MAM_REQUEST_SITES; otherwise 0 */
	char path[PATH_MAX]; /* of MAM_REQUEST_TRACE and _SUSPEND; otherwise "" */
};

/*
 * Parses a received line of `length` bytes, of any contents. Returns NULL if it is valid, otherwise
 * the reason.
 */
const char *mam_request_parse(const char *line, size_t length, struct mam_request *request);

#endif
