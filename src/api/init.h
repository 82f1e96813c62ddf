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

/*
 * mam_init_above - what the stop above has to do around a fork: `prepare` when all of mam's locks
 * are had, `parent` or `child` before they are let go or made new. Handlers of its own would run in
 * the wrong order: they would hold its lock while a pool's grow lock is waited for, whose owner may
 * wait for a kernel, which waits for whoever needs that lock. One stop, which stays. Not under a
 * lock, as mam_init().
 */
struct mam_above {
	void (*prepare)(void);
	void (*parent)(void);
	void (*child)(void);
};

void mam_init_above(const struct mam_above *above);

#endif
