/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post.h - the host's half of a heap's mailbox (mail.h): it allocates what kernels request from the
 * heap's pool, and frees what they no longer need.
 *
 * Nothing here waits for a kernel, as a kernel may be waiting for the reply: no synchronization,
 * launch, fill or free of the driver's between a request and its reply, no lock that is held during
 * such a call, and no copy except of zeros, in a stream of its own, without a wait (zero.h).
 */
#ifndef MAM_HEAP_SERVICE_POST_H
#define MAM_HEAP_SERVICE_POST_H

#include "heap/service/post_box.h" /* struct mam_post_config, struct mam_post_counts */

struct mam_post;

/*
 * mam_post_create - creates a mailbox, and posts grants ahead into it; from then on the service
 * (service.h) serves it. It is not an error if memory for grants ahead is unavailable now. Returns
 * UNSUPPORTED if the pool's memory is not device memory, OUT_OF_MEMORY without pinned memory for
 * the mailbox, OUT_OF_HOST_MEMORY (also for the thread), NO_DEVICE or DRIVER. On failure nothing is
 * allocated.
 */
enum mam_status mam_post_create(struct mam_pool *pool, const struct mam_post_config *config,
				struct mam_post **post);

/* mam_post_mail - its address for kernels: the same on host and device. */
struct mam_mail *mam_post_mail(const struct mam_post *post);

void mam_post_count(struct mam_post *post, struct mam_post_counts *counts);

/*
 * mam_post_large_tables - the device addresses of the tables of large objects, of which there are at
 * most MAM_LARGE_TABLES + 1. Returns their number. mam_post_part_tables - the same of grants, at
 * most MAM_PARTS_TABLES + 1; the first one's is 0.
 */
uint32_t mam_post_large_tables(struct mam_post *post, uint64_t *at);
uint32_t mam_post_part_tables(struct mam_post *post, uint64_t *at);

/*
 * Between kernels: no kernel of this heap runs, and none will before the call returns. The rule
 * that keeps the counts of both sides consistent is in post_quiet.h. The caller must ensure:
 * - the device's `taken` and `asks` never change; parts that were freed are removed from its table,
 *   and `parts` is lowered;
 * - first retract with the device's `taken`, then return the empty grants;
 * - after clear the device has no large objects and no tables of them except the first; all of its
 *   slots are free (large_free all ones, large_sent without a kind); their generations may continue
 *   or restart at 0.
 *
 * mam_post_retract - frees the grants starting at number `taken`, which were posted but not taken,
 * to the pool. No more are posted ahead before the next request of a kernel. Returns INVALID_VALUE
 * if `taken` is impossible. mam_post_return - frees this grant, which was taken at the last
 * retract, to the pool. Returns NOT_OWNED if there is no such grant. mam_post_clear - frees all
 * large objects and all slots. They add the freed bytes to `bytes`.
 */
enum mam_status mam_post_retract(struct mam_post *post, uint64_t taken, uint64_t *bytes);
enum mam_status mam_post_return(struct mam_post *post, uint64_t space, uint64_t *bytes);
void mam_post_clear(struct mam_post *post, uint64_t *bytes);

/*
 * mam_post_destroy - stops the service of this mailbox and frees all grants and objects to the
 * pool. NULL is a no-op. It frees the mailbox to the driver, which waits for the context as
 * cudaFreeHost does. In the child of a fork only the metadata is freed.
 */
void mam_post_destroy(struct mam_post *post);

#endif
