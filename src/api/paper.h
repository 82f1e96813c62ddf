/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paper.h - fork handlers of the paper's one environment (paper.c).
 */
#ifndef MAM_API_PAPER_H
#define MAM_API_PAPER_H

/* The environment's lock is taken before the registry's. */
void mam_paper_fork_prepare(void);
void mam_paper_fork_parent(void);
void mam_paper_fork_child(void);

#endif
