/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post_quiet.h - what is done to a mailbox between kernels: none of the heap runs, nor will before
 * the call is back, and nobody looks meanwhile.
 *
 * How the counts of both sides stay one: the device's `taken` and `asks` (growth.h) only ever rise,
 * whatever goes back. Grants that nobody took go back by setting the host's `posted` down to
 * `taken`, so the next grant has the number that the device asks for next. An ask that the mailbox
 * still shows is of a kernel that ended, and is answered by nothing any more. No grant is posted
 * ahead again before the next ask: what was trimmed stays away until somebody needs it. Only grants
 * that were known to be taken at the last such call can be given back one by one; what number they
 * have does not matter to anybody.
 *
 * After mam_post_forget() slots are as new, in host and mailbox: the device may begin with any
 * generation above 0, the old ones or new ones.
 */
#ifndef MAM_HEAP_POST_QUIET_H
#define MAM_HEAP_POST_QUIET_H

#include "heap/post_box.h"

/*
 * mam_post_take_back - grants that were posted and not taken go back; adds to `bytes`. False:
 * `taken` cannot be: nothing changed.
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
	box->asked = mam_post_read(&box->mail->asked);
	mam_post_tell(&box->mail->posted, taken);
	return true;
}

/* mam_post_give_back - one that was taken goes back; adds to `bytes`. False: there is none. */
static inline bool mam_post_give_back(struct mam_post_box *box, uint64_t ground, uint64_t *bytes)
{
	for (unsigned int i = 0; i < box->grants; i++) {
		if (box->grant[i].ground != ground || box->grant[i].number >= box->settled)
			continue;
		*bytes += mam_post_drop_grant(box, i);
		return true;
	}
	return false;
}

/* mam_post_forget - all large objects go back, and all slots are new; adds to `bytes`. */
static inline void mam_post_forget(struct mam_post_box *box, uint64_t *bytes)
{
	for (uint32_t i = 0; i < MAM_MAIL_SLOTS; i++) {
		*bytes += box->slot[i].address != 0 ? box->slot[i].bytes : 0;
		mam_post_drop_slot(box, &box->slot[i]);
		box->slot[i].seen = 0;
		box->slot[i].generation = 0;
		mam_post_write(&box->mail->ask[i].stamp, 0);
		mam_post_write(&box->mail->answer[i].address, 0);
		mam_post_tell(&box->mail->answer[i].stamp, 0);
	}
	memset(box->waiting, 0, sizeof(box->waiting));
}

#endif
