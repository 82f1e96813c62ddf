/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - the process's only thread that serves all mailboxes of heaps that grow.
 *
 * It starts with the first client and ends with the last, or when the process exits. While there
 * are requests it polls without sleeping; afterwards it sleeps longer and longer between looks, in
 * the end about a millisecond. A wakeup costs 3 us, and up to 13 us in a virtual machine. So the
 * thread measures that cost, and sleeps so long that an idle service takes less than a hundredth of
 * a core.
 *
 * In the child of a fork there is no thread, and no client: removing a leftover client does
 * nothing. New ones may be added.
 */
#ifndef MAM_HEAP_SERVICE_SERVICE_H
#define MAM_HEAP_SERVICE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <mam/mam.h>

#ifndef MAM_SERVICE_HOT_NS          /* measured with others */
#define MAM_SERVICE_HOT_NS 1000000u /* of polling without sleep after a request */
#endif
#ifndef MAM_SERVICE_STIR_NS
#define MAM_SERVICE_STIR_NS 20000000u /* the same after mam_service_stir() */
#endif
#ifndef MAM_SERVICE_SLEEP_MIN_NS
#define MAM_SERVICE_SLEEP_MIN_NS 50000u /* the first sleep */
#endif
/* The longest sleep is between these two, depending on the cost of a look on the machine. */
#ifndef MAM_SERVICE_SLEEP_LONG_NS
#define MAM_SERVICE_SLEEP_LONG_NS 500000u
#define MAM_SERVICE_SLEEP_MAX_NS 4000000u
#endif
#define MAM_SERVICE_SHARE 160u /* an idle thread takes this part of a core */

/* A client of the service; embedded in the struct that the functions belong to. */
struct mam_service_client {
	/* lock: none, set before it is added */
	bool (*look)(struct mam_service_client *client); /* returns true if there is work in
							    progress */
	/* For idle times. Returns true if there is more to do. NULL: there never is. */
	bool (*spare)(struct mam_service_client *client);
	/* In the child of a fork, in its only thread: it is no longer a client. May be NULL. */
	void (*forked)(struct mam_service_client *client);
	/* lock: the service's */
	struct mam_service_client *next;
	bool served;
};

/*
 * mam_service_add - from now on the thread calls `look` and `spare`, which must not add or remove
 * clients. Returns OUT_OF_HOST_MEMORY if no thread can be created; the client is not added then.
 */
enum mam_status mam_service_add(struct mam_service_client *client);

/*
 * mam_service_remove - returns when the thread has left the client for good; waits for at most one
 * look. A no-op for a client that is not added.
 */
void mam_service_remove(struct mam_service_client *client);

/*
 * mam_service_pause - no client is served until mam_service_resume(), as if the thread had died;
 * the thread is in no look when the call returns. For tests, and for tools that stop a process.
 */
void mam_service_pause(void);
void mam_service_resume(void);

/*
 * mam_service_stir - announces that requests may follow soon: the thread wakes up, and polls
 * without sleep for a while. Called by functions that programs use between kernels. A no-op without
 * a thread.
 */
void mam_service_stir(void);

/* mam_service_cpu_ns - the CPU time of the thread since it started; 0: there is no thread. */
uint64_t mam_service_cpu_ns(void);

#endif
