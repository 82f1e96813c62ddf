/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.cuh - in place of mam's, for files that run.h runs.
 */
enum mam_coalesce { MAM_COLLECTIVE_ALONE, MAM_COLLECTIVE_WARP, MAM_COLLECTIVE_BLOCK };
#define mam_cmalloc(bytes, scope) mm_cmalloc(__LINE__, bytes, scope)
#define mam_cfree(p) free(p)
