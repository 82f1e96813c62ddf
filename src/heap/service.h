/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - the one thread of the process that looks at all mailboxes of heaps that grow.
 *
 * It starts with the first client and ends with the last, or when the process exits. While
 * something is asked it looks without a rest; afterwards it sleeps longer and longer between looks,
 * about a millisecond in the end. To wake up costs from 3 us to 13 us, of a virtual machine: so it
 * measures what it costs, and sleeps so long that an idle one takes less than a hundredth of a
 * core.
 *
 * In the child of a fork there is no thread, and no client: what is left of one may be removed,
 * which does nothing. New ones may be added.
 */
#ifndef MAM_HEAP_SERVICE_H
#define MAM_HEAP_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <mam/mam.h>

#ifndef MAM_SERVICE_HOT_NS /* measured with others */
#define MAM_SERVICE_HOT_NS 1000000u /* of looking without a rest after something was asked */
#endif
#ifndef MAM_SERVICE_STIR_NS
#define MAM_SERVICE_STIR_NS 20000000u /* the same after mam_service_stir() */
#endif
#ifndef MAM_SERVICE_SLEEP_LEAST_NS
#define MAM_SERVICE_SLEEP_LEAST_NS 50000u /* the first sleep */
#endif
/* The longest sleep is between these two, by what a look costs on the machine. */
#ifndef MAM_SERVICE_SLEEP_LONG_NS
#define MAM_SERVICE_SLEEP_LONG_NS 500000u
#define MAM_SERVICE_SLEEP_MOST_NS 4000000u
#endif
#define MAM_SERVICE_SHARE 160u /* an idle thread takes this part of a core */

/* Who is looked after; embedded in what the functions know it by. */
struct mam_service_client {
	/* lock: none, set before it is added */
	bool (*look)(struct mam_service_client *client); /* true: something is going on */
	/* For when nobody asks for anything. True: there is more to do. NULL: never anything. */
	bool (*spare)(struct mam_service_client *client);
	/* In the child of a fork, in its only thread: it is no client any more. May be NULL. */
	void (*forked)(struct mam_service_client *client);
	/* lock: the service's */
	struct mam_service_client *next;
	bool served;
};

/*
 * mam_service_add - from now on the thread calls `look` and `spare`, in which it may not add or
 * remove. OUT_OF_HOST_MEMORY: there can be no thread, and it was not added.
 */
enum mam_status mam_service_add(struct mam_service_client *client);

/*
 * mam_service_remove - the thread is outside of the client and does not come back; waits for one
 * look at most. Of one that is not added: nothing.
 */
void mam_service_remove(struct mam_service_client *client);

/*
 * mam_service_pause - nobody is looked after until mam_service_resume(), as if the thread had died;
 * it is in no look when the call is back. For tests, and for tools that stop a process.
 */
void mam_service_pause(void);
void mam_service_resume(void);

/*
 * mam_service_stir - something may soon be asked: the thread wakes up, and looks without a rest for
 * a while. By calls that programs make between kernels. Of no thread: nothing.
 */
void mam_service_stir(void);

/* mam_service_cpu_ns - what the thread has cost since it began; 0: there is none. */
uint64_t mam_service_cpu_ns(void);

#endif
