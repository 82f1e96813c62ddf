/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preloads.h - other objects of LD_PRELOAD that define functions of table.h.
 */
#ifndef MAM_INTERPOSE_PRELOADS_H
#define MAM_INTERPOSE_PRELOADS_H

/*
 * Warns if one of them follows mam in the order of LD_PRELOAD: the program's calls bind to mam, and
 * the other object receives only those that mam forwards. Calls the dynamic linker, so no lock may
 * be held.
 */
void mam_preloads_check(void);

#endif
