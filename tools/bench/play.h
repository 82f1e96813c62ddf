/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play.h - a list of allocations and frees, made up or a program's, played through an allocator.
 */
#ifndef MAM_TOOLS_BENCH_PLAY_H
#define MAM_TOOLS_BENCH_PLAY_H

#include "bench.h"
#include "training.h"

/*
 * play_script - once cold and, where the peer is not too slow for it, a few times warm; then all
 * that is live is freed. NULL and numbers in `sample`, or one sentence: why not. Refused
 * allocations are a number if `may_refuse`, else a reason.
 */
const char *play_script(struct bench_peer *peer, const struct training *script, bool in_chunk,
			bool may_refuse, const struct bench_effort *effort,
			struct bench_sample *sample);

/* play_fits - is every allocation served? No time is taken; all is freed at the end. */
bool play_fits(struct bench_peer *peer, const struct training *script, struct bench_block *blocks);

#endif
