/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stub.h - a source that behaves like device memory: a free must wait, a fork ends it, and the test
 * sees each call.
 *
 * Chunks are host addresses without memory. The stub is the test's own: it ends with the test.
 */
#ifndef TESTS_API_STUB_H
#define TESTS_API_STUB_H

#include <stdatomic.h>

#include <mam/source.h>

struct stub {
	struct mam_source source;   /* first: a stub is a source */
	struct mam_source *host;    /* where chunks come from */
	_Atomic unsigned int grows; /* count of calls */
	_Atomic unsigned int shrinks;
	_Atomic unsigned int waits;
	enum mam_status wait_answer; /* what the next waits answer */
	enum mam_status grow_answer; /* other than MAM_OK: what grow answers, giving nothing */
};

void stub_init(struct stub *stub);

#endif
