/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forget.c - see forget.h. It removes the block's marks, the note through which peers open it, and
 * the driver's flag of its chunk.
 */
#include "interpose/share/forget.h"

#include "interpose/share/attribute.h"
#include "interpose/share/ipc_note.h"
#include "interpose/share/marks.h"

static const struct mam_marks_ends ends = {
	.shared = mam_ipc_note_remove,
	.synchronous = mam_attribute_not_synchronous,
};

void mam_forget_block(const void *block)
{
	mam_marks_free(block, &ends);
}

void mam_forget_chunk(void *base, size_t bytes)
{
	mam_marks_chunk_gone(base, bytes, &ends);
}
