/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terms.h - what a heap is to be like, reckoned from what a caller asks.
 */
#ifndef MAM_OPENCL_TERMS_H
#define MAM_OPENCL_TERMS_H

#include <mam/opencl.h>

/* As kernels take it (kma/layout.h). */
struct mam_cl_terms {
	size_t bytes; /* of the whole buffer */
	cl_uint superblocks, shift, entries_shift, search, counted;
};

enum mam_status mam_cl_terms(const char *who, const struct mam_cl_heap_attr *attr,
			     struct mam_cl_terms *terms);

#endif
