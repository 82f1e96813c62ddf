/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stub.h - a source that behaves like device memory: a free must wait, a fork ends it, and the test
 * sees each call.
 *
 * Chunks are host addresses without memory. The test owns the stub and ends with it.
 */
#ifndef TESTS_API_STUB_H
#define TESTS_API_STUB_H

#include <stdatomic.h>

#include <mam/source.h>

struct stub {
	struct mam_source source;   /* first member: a stub is a source */
	struct mam_source *host;    /* the source of the chunks */
	_Atomic unsigned int grows; /* count of calls */
	_Atomic unsigned int shrinks;
	_Atomic unsigned int waits;
	enum mam_status wait_status; /* status of the next waits */
	enum mam_status grow_status; /* if not MAM_OK: status of grow, which then fails */
};

void stub_init(struct stub *stub);

#endif
