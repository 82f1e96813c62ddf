/* SPDX-License-Identifier: Apache-2.0 */
/* named.h - fork handlers of the list of names (named.c). */
#ifndef MAM_API_NAMED_H
#define MAM_API_NAMED_H

/* The names' lock is taken before the registry's. */
void mam_named_fork_prepare(void);
void mam_named_fork_parent(void);
void mam_named_fork_child(void);

#endif
