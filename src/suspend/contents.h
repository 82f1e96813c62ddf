/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contents.h - where the bytes of suspended pieces are: in pinned host memory, or in a file.
 *
 *   host   Pinned memory for all pieces (pinned.h): copies run at the speed of the bus, all of them
 *          are in flight at once, and the first three quarters can be released while the rest is
 *          copied. Its first units are copied to while others are still pinned.
 *   file   Two pinned buffers: while the GPU copies one chunk, the host writes or reads another.
 *          file.h describes the file.
 *
 * Host memory can be kept for the next suspend (mam_contents_open()).
 *
 * A visit saves or loads pieces one after the other, in a stream of its own. Their bytes have
 * arrived when the visit's end succeeds. So loading overlaps with mapping the next piece.
 *
 * lock: the pool's grow_lock, held by all callers, also across the driver calls.
 */
#ifndef MAM_SUSPEND_CONTENTS_H
#define MAM_SUSPEND_CONTENTS_H

#include "heap/service/copy.h"
#include "pool/suspend.h"
#include "suspend/file.h"
#include "suspend/pinned.h"

struct mam_contents {
	struct mam_copy copy;
	struct mam_copy_visit visit; /* between begin and end */
	struct mam_pinned pinned;    /* all bytes, or both buffers */
	struct mam_contents_file file;
	bool is_file;
	uint64_t mark_at;       /* pieces at or above this offset are saved after the mark */
	enum mam_status status; /* of the visit: the first error of the file */
	/* of the visit, while it saves: the copies before the mark, and all, have ended */
	bool is_marked, has_begun_well, has_ended_well;
	/* the chunk that is in flight to or from a buffer; bytes 0: none */
	size_t flight_bytes;
	uint64_t flight_offset;
	unsigned flight_buffer;
};

/*
 * mam_contents_open - for `bytes` of the source's memory. folder NULL: in host memory. Zeroed, or of an
 * earlier use with the same source: then its host memory is used again, if it suffices. Returns
 * UNSUPPORTED if the source is not one of device memory, OUT_OF_HOST_MEMORY, IO or DRIVER.
 * mam_contents_close - `abandoned`: without a driver call.
 */
enum mam_status mam_contents_open(struct mam_contents *contents, struct mam_source *source,
				  uint64_t bytes, const char *folder);
void mam_contents_close(struct mam_contents *contents, bool abandoned);

/* Errors of begin: DRIVER, and no end may follow. Errors of end: DRIVER or IO. */
enum mam_status mam_contents_begin(struct mam_contents *contents);
void mam_contents_save(struct mam_contents *contents, const struct mam_suspended *piece);
/*
 * mam_contents_is_saved - wait until the piece is saved, after all pieces were passed to save. The
 * last quarter of the bytes in host memory may still be on its way when earlier pieces are saved.
 * False: an error, which the end returns.
 */
bool mam_contents_is_saved(struct mam_contents *contents, const struct mam_suspended *piece);
void mam_contents_load(struct mam_contents *contents, const struct mam_suspended *piece);
enum mam_status mam_contents_end(struct mam_contents *contents);

#endif
