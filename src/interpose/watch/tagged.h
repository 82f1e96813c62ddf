/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tagged.h - the tags of the program (mam/tag.h), and the watcher that knows the tag of each live
 * block.
 *
 *   1. libmam.so in the program calls the functions below, and so do programs that look them up.
 *   2. The first push starts the watcher: earlier blocks have no tags, and programs without tags do
 *      not pay for them.
 *   3. An allocation of a thread with tags records its path in a ledger; a free removes the record.
 *      This applies to the blocks that leaks.h lists.
 * Bound: 48 bytes per live block with a tag.
 */
#ifndef MAM_INTERPOSE_TAGGED_H
#define MAM_INTERPOSE_TAGGED_H

#include <stdbool.h>

#include <mam/mam.h>

struct mam_ledger_entry;
struct mam_watch_call;

/* mam_tag_push(), mam_tag_pop() and mam_tag_path() of this process. */
__attribute__((visibility("default"))) enum mam_status mam_interpose_tag_push(const char *name);
__attribute__((visibility("default"))) enum mam_status mam_interpose_tag_pop(void);
__attribute__((visibility("default"))) const char *mam_interpose_tag_path(void);

void mam_tagged_alloc(const struct mam_watch_call *call);
void mam_tagged_free(const struct mam_watch_call *call);

/* Called when a context and all its memory are gone. */
void mam_tagged_context_gone(void *context);

/* Returns the path of the live block at an address; NULL: it has no tag. */
const char *mam_tagged_find(const void *block);

/*
 * Passes each live block with a tag to `visit` until that returns false; the id of an entry is its
 * path. `visit` is called under a lock: see ledger.h.
 */
void mam_tagged_visit(bool (*visit)(const struct mam_ledger_entry *entry, void *user), void *user);

/* Called in the child of a fork: drops the parent's blocks. */
void mam_tagged_restart(void);

#endif
