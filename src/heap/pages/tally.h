/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.h - counts failed requests and errors in a page heap. They are rare, so plain atomics
 * suffice.
 */
#ifndef MAM_HEAP_PAGES_TALLY_H
#define MAM_HEAP_PAGES_TALLY_H

#include "heap/pages/layout.h"

MAM_KSLOW void mam_tally_add(MAM_GLOBAL struct mam_pages *pages, enum mam_pages_tally kind,
			     uint32_t n)
{
	(void)mam_atomic_add64(&pages->tally[kind], n, MAM_RELAXED, MAM_AT_DEVICE);
}

#endif
