/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing_acquire.c - the reader of a published value does not acquire.
 *
 * The bug: the writer fills a mailbox and publishes it by a store that releases. The reader
 * sees the flag by a relaxed load, and reads the mailbox. A release needs a matching acquire: the
 * reader's payload may be an old one, from a cache that was not invalidated.
 * Seen in: code whose author put the fence on the writer's side, where the data is, and thought
 * that the reader is protected by its `if`. A branch does not order loads. The twin's load
 * acquires.
 * Found by: the race checker with access hooks, when a reader sees the flag.
 */
#include "simt/gallery/gallery.h"

struct mail {
	uint32_t ready, payload;
};

struct post {
	uint32_t bug, wrong;
	struct mail mails[GALLERY_LANES];
};

MAM_KFN uint32_t mail_ready(struct mail *mail, uint32_t bug)
{
	/* The one place: the memory order of the load. */
	if (bug)
		return mam_atomic_load32(&mail->ready, MAM_RELAXED, MAM_AT_DEVICE);
	return mam_atomic_load32(&mail->ready, MAM_ACQUIRE, MAM_AT_DEVICE);
}

MAM_KERNEL(gallery_missing_acquire)
{
	struct post *post = (struct post *)argument;
	/* Even blocks write to the odd ones that follow them. */
	struct mail *mail = &post->mails[mam_block() / 2 * mam_block_threads() + mam_thread()];

	if (mam_block() % 2 == 0) {
		mail->payload = mam_thread() + 1;
		mam_atomic_store32(&mail->ready, 1, MAM_RELEASE, MAM_AT_DEVICE);
		return;
	}
	for (uint32_t look = 0; look < GALLERY_LOOKS; look++) {
		if (!mail_ready(mail, post->bug))
			continue;
		if (mail->payload != mam_thread() + 1)
			gallery_wrong(&post->wrong);
		return;
	}
}

static void post_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	(void)grid;
	(void)block;
	((struct post *)state)->bug = bug;
}

static const char *post_check(void *state)
{
	return ((struct post *)state)->wrong ? "a reader saw the flag but not the mail" : NULL;
}

const struct gallery_row gallery_missing_acquire_row = {
	.name = "missing_acquire",
	.what = "the reader does not acquire",
	.kernel = gallery_missing_acquire,
	.bytes = sizeof(struct post),
	.grid = 2,
	.block = 1,
	.begin = post_begin,
	.check = post_check,
	.hooks = GALLERY_RACE,
};
