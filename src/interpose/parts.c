/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.c - lists all parts of mam run that need initialization, and all watchers. A watcher
 * includes the headers of the code that it watches. Only this file includes the watchers' headers.
 */
#include <stddef.h>

#include "interpose/control/serve.h"
#include "interpose/control/suspend.h"
#include "interpose/control/turn.h"
#include "interpose/kinds/refs.h"
#include "interpose/memory/account.h"
#include "interpose/memory/capture.h"
#include "interpose/memory/peer.h"
#include "interpose/memory/pools.h"
#include "interpose/report/end.h"
#include "interpose/report/oom.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/init.h"
#include "interpose/share/forget.h"
#include "interpose/share/ipc_opened.h"
#include "interpose/share/ipc_pieces.h"
#include "interpose/share/marks.h"
#include "interpose/watch/count.h"
#include "interpose/watch/leaks.h"
#include "interpose/watch/library.h"
#include "interpose/watch/nvtx.h"
#include "interpose/watch/profiled.h"
#include "interpose/watch/sites.h"
#include "interpose/watch/tagged.h"
#include "interpose/watch/tracer.h"
#include "interpose/watch/watch.h"

/* Watchers follow mam_watch_restart(), which removes all watchers. */
const struct mam_init_part mam_init_parts[] = {
	{ .start = mam_gate_start, .restart = mam_gate_restart },
	{ .restart = mam_suspend_restart },
	{ .start = mam_turn_start, .restart = mam_turn_restart },
	{ .restart = mam_watch_restart },
	{ .restart = mam_library_restart },
	{ .start = mam_count_start, .restart = mam_count_restart },
	{ .restart = mam_capture_restart },
	{ .restart = mam_peer_restart },
	{ .restart = mam_account_restart },
	{ .restart = mam_refs_restart },
	{ .restart = mam_marks_restart },
	{ .restart = mam_ipc_opened_restart },
	{ .restart = mam_ipc_pieces_restart },
	{ .start = mam_tracer_start, .restart = mam_tracer_restart },
	{ .restart = mam_profiled_forget },
	{ .start = mam_leaks_start, .restart = mam_leaks_restart },
	{ .restart = mam_tagged_restart },
	{ .restart = mam_sites_restart },
	{ .restart = mam_oom_restart },
	{ .start = mam_end_start, .restart = mam_end_restart },
	{ .restart = mam_pools_restart },
	{ .restart = mam_serve_restart, .first_pool = mam_serve_start },
	{ .restart = NULL },
};

void mam_watch_out_of_memory(const struct mam_watch_call *call)
{
	mam_oom_explain(call);
}

static void forget_block(const struct mam_watch_call *call)
{
	mam_forget_block(call->block);
}

static void forget_chunk(void *base, size_t bytes, void *context, bool came)
{
	(void)context;
	if (!came)
		mam_forget_chunk(base, bytes);
}

/* In the order in which they are notified of a call. */
const struct mam_watcher mam_watchers[] = {
	{ .bit = MAM_WATCH_STATS,
	  .alloc = mam_count_call,
	  .free = mam_count_call,
	  .call = mam_count_call },
	{ .bit = MAM_WATCH_TRACE,
	  .alloc = mam_tracer_alloc,
	  .free = mam_tracer_free,
	  .context_gone = mam_tracer_context_gone },
	{ .bit = MAM_WATCH_LEAKS,
	  .alloc = mam_leaks_alloc,
	  .free = mam_leaks_free,
	  .context_gone = mam_leaks_context_gone },
	{ .bit = MAM_WATCH_NVTX,
	  .alloc = mam_nvtx_alloc,
	  .free = mam_nvtx_free,
	  .chunk = mam_nvtx_chunk },
	{ .bit = MAM_WATCH_MARKS, .free = forget_block, .chunk = forget_chunk },
	{ .bit = MAM_WATCH_TAGS,
	  .alloc = mam_tagged_alloc,
	  .free = mam_tagged_free,
	  .context_gone = mam_tagged_context_gone },
	{ .bit = MAM_WATCH_SITES,
	  .alloc = mam_sites_alloc,
	  .free = mam_sites_free,
	  .context_gone = mam_sites_context_gone },
	{ .bit = 0 },
};
