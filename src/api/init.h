/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.h - initialization of a process when it creates its first pool.
 */
#ifndef MAM_API_INIT_H
#define MAM_API_INIT_H

/*
 * mam_init - any thread, any number of times, before a pool is created; not under mam's locks.
 */
void mam_init(void);

/*
 * mam_init_above - registers what the layer above does around a fork: `prepare` runs when all of
 * mam's locks are held, `parent` or `child` before they are released or reinitialized. Separate
 * fork handlers would run in the wrong order: they would hold the layer's lock while waiting for a
 * pool's grow lock. The holder of the grow lock may wait for a kernel, and the kernel for a thread
 * that needs the layer's lock. There is one such layer, permanently. Not under a lock, as
 * mam_init().
 */
struct mam_above {
	void (*prepare)(void);
	void (*parent)(void);
	void (*child)(void);
};

void mam_init_above(const struct mam_above *above);

#endif
