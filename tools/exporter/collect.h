/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.h - the pools of all processes whose statistics pages this process may read
 * (<mam/statpage.h>).
 *
 * They are those of this user, and with the necessary rights those of all users: in
 * /dev/shm/mam-UID and /run/user/UID/mam. If $XDG_RUNTIME_DIR names a folder of another place, only
 * the pages in its folder mam are read.
 *
 * The pages of other users are untrusted, and so are their folders: no link is followed, folders and
 * files must belong to the user, and each user has a fixed share of memory and time.
 */
#ifndef TOOLS_COLLECT_H
#define TOOLS_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mam/statpage.h>

#define COLLECT_PAGES_MAX 512u       /* of one user */
#define COLLECT_POOLS_USER_MAX 1024u /* of one user */
#define COLLECT_POOLS_MAX 16384u     /* of all users */

struct collect_pool {
	uid_t uid;
	pid_t pid;
	unsigned int id; /* unique in the process */
	int device;      /* below 0: none */
	/* any bytes, as the process wrote them, without the NULs at the end */
	char program[64], name[32], source[32];
	struct mam_statpage_figures figures;
};

/* Set it to zeros before the first collect_pages(). */
struct collect_list {
	struct collect_pool *pools;
	size_t count;
	size_t room;      /* for this many pools there is memory */
	uint64_t pages;   /* count: they were read */
	uint64_t omitted; /* count: pages and pools above the limits */
};

/* collect_pages - replace the list. False: out of memory; the list is empty. */
bool collect_pages(struct collect_list *list);
void collect_fini(struct collect_list *list);

#endif
