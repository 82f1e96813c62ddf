/* SPDX-License-Identifier: Apache-2.0 */
/* attr.h - compute the parameters of a heap from the caller's attributes. */
#ifndef MAM_OPENCL_ATTR_H
#define MAM_OPENCL_ATTR_H

#include <mam/opencl.h>

/* The parameters that kernels take (kma/layout.h). */
struct mam_cl_terms {
	size_t bytes; /* of the whole buffer */
	cl_uint superblocks, shift, entries_shift, search, counted;
};

enum mam_status mam_cl_terms(const char *who, const struct mam_cl_heap_attr *attr,
			     struct mam_cl_terms *terms);

#endif
