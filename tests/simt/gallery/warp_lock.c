/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp_lock.c - the lanes of one warp spin on one lock.
 *
 * The bug: a lane owns the lock, and a lane of the same warp spins on it. If a warp's lanes
 * do not take turns, the spinning lane runs forever and the owner never reaches its unlock. GPUs
 * before Volta worked this way; since then the owner gets its turn, but each of 32 lanes waits for
 * up to 31 others.
 * Seen in: CPU code with a mutex that was moved to a GPU unchanged. In the twin one lane takes the
 * lock for its whole warp. Lanes of different warps may spin: warps take turns.
 * Found by: the policy that runs warps, as a livelock, if it runs them in lockstep.
 */
#include "simt/gallery/gallery.h"

struct ledger {
	uint32_t bug, lanes;
	uint32_t lock;
	uint32_t total; /* protected by the lock */
};

MAM_KERNEL(gallery_warp_lock)
{
	struct ledger *ledger = (struct ledger *)argument;
	/* The one place: the lanes that the caller represents. */
	uint32_t mine = ledger->bug ? 1u << mam_lane() : mam_lane() == 0 ? gallery_warp() : 0;

	if (mine == 0)
		return;
	while (mam_atomic_cas32(&ledger->lock, 0, 1, MAM_ACQUIRE, MAM_AT_DEVICE) != 0)
		continue;
	ledger->total += mam_popc32(mine);
	mam_atomic_store32(&ledger->lock, 0, MAM_RELEASE, MAM_AT_DEVICE);
}

static void ledger_begin(void *state, bool bug, unsigned int grid, unsigned int block)
{
	struct ledger *ledger = (struct ledger *)state;

	ledger->bug = bug;
	ledger->lanes = grid * block;
}

static const char *ledger_check(void *state)
{
	struct ledger *ledger = (struct ledger *)state;

	return ledger->total != ledger->lanes ? "the total is wrong" : NULL;
}

const struct gallery_row gallery_warp_lock_row = {
	.name = "warp_lock",
	.what = "lanes of one warp spin on a lock",
	.kernel = gallery_warp_lock,
	.bytes = sizeof(struct ledger),
	.grid = 2,
	.block = 2,
	.begin = ledger_begin,
	.check = ledger_check,
	.plain = GALLERY_LIVELOCK,
	.hooks = GALLERY_LIVELOCK,
	.config = { .steps_max = 20000, .lockstep = true },
};
