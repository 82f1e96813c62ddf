/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post.h - the host's half of a heap's mailbox (mail.h): who takes what kernels ask for from the
 * heap's pool, and gives back what they do not need any more.
 *
 * Nothing here waits for a kernel, as one may be waiting for the answer: no synchronisation,
 * launch, copy, fill or free of the driver's between a request and its answer, and no lock under
 * which anybody does such a thing.
 */
#ifndef MAM_HEAP_POST_H
#define MAM_HEAP_POST_H

#include "heap/post_box.h" /* struct mam_post_config, struct mam_post_counts */

struct mam_post;

/*
 * mam_post_create - a mailbox, and what is ahead posted into it; from now on the service
 * (service.h) looks after it. What is ahead and cannot be had now is not missed. UNSUPPORTED: the
 * pool's memory is no device's; OUT_OF_MEMORY: no pinned memory for the mailbox; OUT_OF_HOST_MEMORY
 * (the thread, too); NO_DEVICE; DRIVER. What fails takes nothing.
 */
enum mam_status mam_post_create(struct mam_pool *pool, const struct mam_post_config *config,
				struct mam_post **post);

/* mam_post_mail - where kernels find it: the same address on host and device. */
struct mam_mail *mam_post_mail(const struct mam_post *post);

void mam_post_count(struct mam_post *post, struct mam_post_counts *counts);

/*
 * Between kernels: none of this heap runs, and none will before the call is back. The rule by which
 * both sides' counts stay one is in post_quiet.h; for the caller it is:
 * - the device's `taken` and `asks` stay as they are, always; parts that went back are taken out of
 *   its table, and `parts` is lowered;
 * - first retract with the device's `taken`, then return what is empty;
 * - after clear all of the device's slots are free (state FREE and large_free all ones); their
 *   generations may go on or begin at 0.
 *
 * mam_post_retract - grants from number `taken` on were posted and nobody took them: back to the
 * pool. No more are posted ahead before a kernel asks again. INVALID_VALUE: `taken` cannot be.
 * mam_post_return - this grant, which was taken when retract was called last, goes back to the
 * pool. NOT_OWNED: there is no such one. mam_post_clear - all large objects go back, and every slot
 * is free. They add to `bytes` what went back.
 */
enum mam_status mam_post_retract(struct mam_post *post, uint64_t taken, uint64_t *bytes);
enum mam_status mam_post_return(struct mam_post *post, uint64_t ground, uint64_t *bytes);
void mam_post_clear(struct mam_post *post, uint64_t *bytes);

/*
 * mam_post_destroy - the service looks no more; all that was given goes back to the pool. NULL:
 * nothing. It gives the mailbox back to the driver, which waits for the context as cudaFreeHost
 * does. In the child of a fork only the books are freed.
 */
void mam_post_destroy(struct mam_post *post);

#endif
