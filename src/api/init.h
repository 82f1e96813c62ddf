/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.h - what a process does once, when its first pool is made.
 */
#ifndef MAM_API_INIT_H
#define MAM_API_INIT_H

/*
 * mam_init - any thread, any number of times, before a pool is made; not under one of mam's locks.
 */
void mam_init(void);

#endif
