/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.h - the environment variables that mam reads, by identifier. <mam/options.h> is the public
 * interface of the same table.
 *
 * Every call may be made from any thread, under any lock. The first call reads the environment and
 * reports the errors that it finds. The other calls cost one load.
 */
#ifndef MAM_BASE_OPTION_H
#define MAM_BASE_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include <mam/options.h>

/* In the order of the table's rows in option.c. */
enum mam_option_id {
	MAM_OPTION_DISABLE,
	MAM_OPTION_SOURCE,
	MAM_OPTION_PEERS,
	MAM_OPTION_CHUNK,
	MAM_OPTION_GROWTH,
	MAM_OPTION_LIMIT,
	MAM_OPTION_LIMIT_FILE,
	MAM_OPTION_FOOTPRINT,
	MAM_OPTION_HOST_MEMORY,
	MAM_OPTION_GRANULE,
	MAM_OPTION_FREE,
	MAM_OPTION_CACHE,
	MAM_OPTION_HEAP_GROWTH,
	MAM_OPTION_HEAP_LEAKS,
	MAM_OPTION_CAPTURE,
	MAM_OPTION_IPC,
	MAM_OPTION_PASS_ABOVE,
	MAM_OPTION_STATS,
	MAM_OPTION_STATS_FILE,
	MAM_OPTION_TRACE,
	MAM_OPTION_TRACE_WHO,
	MAM_OPTION_PROFILE,
	MAM_OPTION_PROFILE_RATE,
	MAM_OPTION_LEAKS,
	MAM_OPTION_LEAKS_FILE,
	MAM_OPTION_OOM_REPORT,
	MAM_OPTION_NVTX,
	MAM_OPTION_CHILDREN,
	MAM_OPTION_RUN_PID,
	MAM_OPTION_SHARE,
	MAM_OPTION_DEBUG,
	MAM_OPTION_LOG,
	MAM_OPTION_LOG_FILE,
	MAM_OPTION_COUNT
};

bool mam_option_bool(enum mam_option_id id);
uint64_t mam_option_bytes(enum mam_option_id id); /* a word instead of a size: SIZE_MAX */
uint64_t mam_option_percent(enum mam_option_id id);
unsigned int mam_option_choice(enum mam_option_id id); /* index of the word, counted from 0 */
const char *mam_option_text(enum mam_option_id id);    /* value of a text or choice; not NULL */

#endif
