/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag_paths.h - the tags of the threads (mam/tag.h) in one copy of mam's code. The interposer has a
 * copy, which libmam.so in the program then uses; not installed.
 *
 *   1. A thread has the path of its names, one pointer. So recording it with a block costs one load.
 *   2. A push looks up the new path by a hash over its text. Paths are never changed or removed, so a
 *      lookup needs no lock, and a pointer identifies a path. A new path is inserted by
 *      compare-and-swap, after those that other threads inserted were compared with it.
 *   3. A push that fails is counted instead, and so are those after it: each has its pop.
 * Bound: 65,536 paths, up to 280 bytes each, and 32 KiB.
 */
#ifndef MAM_TAG_PATHS_H
#define MAM_TAG_PATHS_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAM_TAG_PATHS_MAX 65536u

/* mam_tag_push(), mam_tag_pop() and mam_tag_path() for this copy. Equal paths have one pointer. */
enum mam_status mam_tag_paths_push(const char *name);
enum mam_status mam_tag_paths_pop(void);
const char *mam_tag_paths_here(void);

#ifdef __cplusplus
}
#endif
#endif
