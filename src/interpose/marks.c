/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c - see marks.h.
 */
#include "interpose/marks.h"

void mam_marks_free(void *block)
{
	(void)block;
}

void mam_marks_chunk_gone(void *base, size_t bytes)
{
	(void)base;
	(void)bytes;
}

void mam_marks_restart(void)
{
}
