/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play.h - runs a list of allocations and frees, synthetic or recorded from a program, through an
 * allocator.
 */
#ifndef MAM_TOOLS_BENCH_PLAY_H
#define MAM_TOOLS_BENCH_PLAY_H

#include "bench/bench.h"
#include "training.h"

/*
 * play_script - run it once cold and, if the peer is not too slow, a few times warm; then free all
 * live blocks. Returns NULL with numbers in `sample`, or one sentence with the reason of the
 * failure. Failed allocations are a number if `may_refuse`, otherwise a reason.
 */
const char *play_script(struct bench_peer *peer, const struct training *script, bool in_chunk,
			bool may_refuse, const struct bench_effort *effort,
			struct bench_sample *sample);

/*
 * play_fits - return true if every allocation succeeds. Untimed; all blocks are freed at the end.
 */
bool play_fits(struct bench_peer *peer, const struct training *script, struct bench_block *blocks);

#endif
