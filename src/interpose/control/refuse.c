/* SPDX-License-Identifier: Apache-2.0 */
/* refuse.c - see refuse.h. */
#include "interpose/control/refuse.h"

#include <stdbool.h>
#include <stddef.h>

#include <mam/source.h>

#include "interpose/memory/peer.h"
#include "interpose/memory/pools.h"
#include "interpose/share/marks.h"

/* lock: none, of the thread that asks; there is one */
static bool has_token;

static void note_token(const unsigned char *token)
{
	(void)token;
	has_token = true;
}

static bool is_mapped(void)
{
	struct mam_pools_entry *entry;

	for (unsigned int at = 0; (entry = mam_pools_next(&at)) != NULL;)
		if (entry->source->ops->map == NULL)
			return false;
	return true;
}

const char *mam_refuse_why(void)
{
	has_token = false;
	mam_marks_each_token(note_token);
	if (!is_mapped())
		return "a pool has chunks of cuMemAlloc in place of mapped memory: see the "
		       "program's messages";
	if (has_token)
		return "a block is shared with other processes (cuIpcGetMemHandle)";
	if (mam_marks_is_exported())
		return "a block was exported (cuMemGetHandleForAddressRange)";
	if (mam_peer_exists())
		return "other devices have peer access to the memory (cuCtxEnablePeerAccess)";
	return NULL;
}
