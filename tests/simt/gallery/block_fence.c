/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_fence.c - a fence of block scope, although the reader is in another block.
 *
 * The bug: the writer fills a mailbox, and a fence of block scope precedes the flag. Such a
 * fence orders accesses as seen by lanes of the same block. The reader is on another SM, and there
 * flag and mail may arrive in either order.
 * Seen in: GPU queues and allocators that used the cheaper fence because a test on one SM, or on an
 * architecture that does not distinguish the two, never failed. The twin's fence has device scope.
 * Found by: the race checker with access hooks, which models scopes. A thread sanitizer for CPUs
 * has no concept of them.
 */
#include "simt/gallery/gallery.h"

struct mail {
	uint32_t ready, payload;
};

struct post {
	uint32_t bug, wrong;
	struct mail mails[GALLERY_LANES];
};

MAM_KERNEL(gallery_block_fence)
{
	struct post *post = (struct post *)argument;
	/* Even blocks write to the odd ones that follow them. */
	struct mail *mail = &post->mails[mam_block() / 2 * mam_block_threads() + mam_thread()];

	if (mam_block() % 2 == 0) {
		mail->payload = mam_thread() + 1;
		/* The one place: the scope of the fence. */
		if (post->bug)
			mam_fence(MAM_RELEASE, MAM_AT_BLOCK);
		else
			mam_fence(MAM_RELEASE, MAM_AT_DEVICE);
		mam_atomic_store32(&mail->ready, 1, MAM_RELAXED, MAM_AT_DEVICE);
		return;
	}
	for (uint32_t look = 0; look < GALLERY_LOOKS; look++) {
		if (!mam_atomic_load32(&mail->ready, MAM_RELAXED, MAM_AT_DEVICE))
			continue;
		mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
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

const struct gallery_row gallery_block_fence_row = {
	.name = "block_fence",
	.what = "a fence of block scope between blocks",
	.kernel = gallery_block_fence,
	.bytes = sizeof(struct post),
	.grid = 2,
	.block = 1,
	.begin = post_begin,
	.check = post_check,
	.hooks = GALLERY_RACE,
};
