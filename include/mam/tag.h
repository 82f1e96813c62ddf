/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag.h - names for what a thread does, to find the memory that it uses.
 *
 *   mam_tag_push("optimizer");
 *   ...                           every block that this thread allocates now has the tag
 *   mam_tag_pop();
 *
 * Tags nest: the tag of a block is the path of all names that are pushed, "training/optimizer". In a
 * program that runs under mam run, blocks of CUDA's functions have tags: in traces (mam-trace.5), in
 * heap maps, in the dumps of mam ctl and in the out-of-memory report. Blocks of this library's pools
 * have them in traces and profiles (profile.h), and in the reports of MAM_DEBUG=redzone.
 *
 * Each thread has its own tags. A new thread has none; the child of a fork has those of the thread
 * that called fork(). Any number of threads may call these functions at once.
 */
#ifndef MAM_TAG_H
#define MAM_TAG_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAM_TAG_PATH_BYTES 256 /* longest path, its terminator included */

/*
 * mam_tag_push - add a name to the tags of the calling thread, until mam_tag_pop(). The name is any
 * text that is not empty, and is copied. Each different path is stored once and never freed.
 *
 * Every push needs a pop, even if the push returned an error. Until that pop the tags stay as they
 * were, whatever else the thread pushes. Errors: INVALID_VALUE (NULL or an empty name),
 * OUT_OF_HOST_MEMORY (the path would be longer than MAM_TAG_PATH_BYTES, the process has 65,536
 * different paths, or the system has no memory).
 */
MAM_API enum mam_status mam_tag_push(const char *name);

/*
 * mam_tag_pop - remove the newest name of the calling thread. Errors: INVALID_VALUE (no push is
 * without its pop; nothing changes).
 */
MAM_API enum mam_status mam_tag_pop(void);

/*
 * mam_tag_path - the tags of the calling thread as in a trace: names are separated by '/', and bytes
 * of a name other than visible ASCII, and '%' and '/', are written as %XX. "" if there is no tag.
 * Valid forever.
 */
MAM_API const char *mam_tag_path(void);

#ifdef __cplusplus
}
#endif
#endif
