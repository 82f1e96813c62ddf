/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_scope.c - a kernel publishes to a host thread with a fence of device scope.
 *
 * The bug: a lane fills a mailbox, and a fence of device scope precedes the flag. It orders
 * accesses as seen by lanes of the device. The host reads over another path, and may see the flag
 * before the mail.
 * Seen in: mailboxes between a running kernel and the host that were tested on one machine, over
 * one bus, where writes happened to arrive in order.
 * The twin's fence has system scope.
 * Found by: the race checker with access hooks, which treats a host thread as covered by system
 * scope only. It needs a world: a launch and a host thread in one interleaving.
 */
#include "simt/gallery/gallery.h"

struct mailbox {
	uint32_t bug, wrong;
	uint32_t ready, payload;
};

MAM_KERNEL(gallery_host_scope)
{
	struct mailbox *mailbox = (struct mailbox *)argument;

	if (gallery_index() != 0)
		return;
	mailbox->payload = 42;
	/* The one place: the scope of the fence. */
	if (mailbox->bug)
		mam_fence(MAM_RELEASE, MAM_AT_DEVICE);
	else
		mam_fence(MAM_RELEASE, MAM_AT_SYSTEM);
	mam_atomic_store32(&mailbox->ready, 1, MAM_RELAXED, MAM_AT_SYSTEM);
}

#ifndef __CUDACC__
static void mailbox_host(void *state)
{
	struct mailbox *mailbox = (struct mailbox *)state;

	for (int look = 0; look < GALLERY_LOOKS; look++) {
		if (!mam_atomic_load32(&mailbox->ready, MAM_ACQUIRE, MAM_AT_SYSTEM))
			continue;
		mailbox->wrong = mailbox->payload != 42;
		return;
	}
}
#endif

static void mailbox_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	(void)grid;
	(void)block;
	((struct mailbox *)state)->bug = bug;
}

static const char *mailbox_check(void *state)
{
	return ((struct mailbox *)state)->wrong ? "the host saw the flag but not the mail" : NULL;
}

const struct gallery_row gallery_host_scope_row = {
	.name = "host_scope",
	.what = "a fence of device scope to the host",
	.kernel = gallery_host_scope,
	.bytes = sizeof(struct mailbox),
	.grid = 1,
	.block = 2,
	.begin = mailbox_begin,
	.check = mailbox_check,
	.host = GALLERY_HOST(mailbox_host),
	.hooks = GALLERY_RACE,
};
