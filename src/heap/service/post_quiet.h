/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post_quiet.h - changes a mailbox between kernels: no kernel of the heap runs, nor will one before
 * the call returns, and no thread looks at the mailbox meanwhile.
 *
 * How the counts of both sides stay consistent: the device's `taken` and `asks` (growth.h) never
 * decrease. Grants that no kernel took are freed by lowering the host's `posted` to `taken`, so the
 * next grant has the number that the device requests next. A request that the mailbox still shows
 * belongs to a kernel that ended, and gets no reply. No grant is posted ahead again before the next
 * request: trimmed memory stays away until a kernel needs it. Only grants that were known to be
 * taken at the last such call can be freed one by one; their numbers no longer matter.
 *
 * After mam_post_forget() slots are as new, in host and mailbox: the device may start with any
 * generation above 0, the old ones or new ones.
 */
#ifndef MAM_HEAP_SERVICE_POST_QUIET_H
#define MAM_HEAP_SERVICE_POST_QUIET_H

#include "heap/service/post_box.h"

/*
 * mam_post_take_back - frees grants that were posted but not taken; adds to `bytes`. Returns false
 * if `taken` is impossible: nothing changed.
 */
static inline bool mam_post_take_back(struct mam_post_box *box, uint64_t taken, uint64_t *bytes)
{
	if (taken > box->posted || box->posted - taken > MAM_MAIL_GRANTS)
		return false;
	while (box->grants != 0 && box->grant[box->grants - 1].number >= taken)
		*bytes += mam_post_drop_grant(box, box->grants - 1);
	box->posted = taken;
	box->settled = taken;
	box->wanted = taken;
	box->target = taken;
	box->open = false;
	box->blocks = 0;
	box->max_blocks = 0;
	box->asked = mam_post_read(&box->mail->asked);
	mam_post_report(&box->mail->posted, taken);
	return true;
}

/*
 * mam_post_give_back - frees a grant that was taken; adds to `bytes`. Returns false if none
 * matches.
 */
static inline bool mam_post_give_back(struct mam_post_box *box, uint64_t space, uint64_t *bytes)
{
	for (unsigned int i = 0; i < box->grants; i++) {
		if (box->grant[i].space != space || box->grant[i].number >= box->settled)
			continue;
		*bytes += mam_post_drop_grant(box, i);
		return true;
	}
	return false;
}

/* mam_post_forget - frees all large objects and resets all slots; adds to `bytes`. */
static inline void mam_post_forget(struct mam_post_box *box, uint64_t *bytes)
{
	*bytes += mam_post_drop_tables(box);
	for (uint32_t i = 0; i < MAM_LARGE_TABLES; i++)
		mam_post_write(&box->mail->large_table[i], 0);
	for (uint32_t i = 0; i < MAM_MAIL_SLOTS; i++) {
		box->slot[i] = (struct mam_post_slot){ 0 };
		mam_post_write(&box->mail->ask[i].stamp, 0);
		mam_post_write(&box->mail->answer[i].address, 0);
		mam_post_report(&box->mail->answer[i].stamp, 0);
	}
	memset(box->waiting, 0, sizeof(box->waiting));
}

#endif
