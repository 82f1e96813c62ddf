/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.c - see collect.h.
 *
 * Folders are opened one component at a time, and files relative to them, so that a user cannot
 * exchange a component for a link in between. A folder or file that cannot be opened belongs to
 * another user, or its process has ended: neither is an error.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "exporter/collect.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "page/page_list.h"

#define ENTRIES_MAX 4096 /* of one user's folder */
#define COPIES_MAX 8u    /* src/base/statpage.c */

/* Where a folder is: part of the pools' ids, as copies of the library are counted in each. */
enum where { SHARED_MEMORY, RUNTIME, WHERES };

struct search {
	struct collect_list *list;
	enum where where;
	uid_t user;
	size_t pools_before; /* count: of other users */
	unsigned int pages;  /* count: of this user */
	bool failed;         /* out of memory */
};

static bool grow(struct collect_list *list)
{
	size_t room = list->room == 0 ? 64 : 2 * list->room;
	struct collect_pool *pools;

	if (list->count < list->room)
		return true;
	pools = (struct collect_pool *)realloc(list->pools, room * sizeof(*pools));
	if (pools == NULL)
		return false;
	list->pools = pools;
	list->room = room;
	return true;
}

static void add_pool(struct search *search, const struct mam_statpage *page,
		     const struct page_entry *entry, unsigned int number)
{
	struct collect_list *list = search->list;
	struct mam_statpage_figures figures;
	struct collect_pool *pool;

	if (mam_statpage_read_pool(page, number, &figures) == MAM_STATPAGE_FREE)
		return;
	if (list->count - search->pools_before >= COLLECT_POOLS_USER_MAX ||
	    list->count >= COLLECT_POOLS_MAX) {
		list->omitted++;
		return;
	}
	if (!grow(list)) {
		search->failed = true;
		return;
	}
	pool = &list->pools[list->count++];
	*pool = (struct collect_pool){
		.uid = search->user,
		.pid = entry->pid,
		.id = (entry->copy * WHERES + search->where) * MAM_STATPAGE_POOLS + number,
		.device = page->pools[number].device,
		.figures = figures,
	};
	memcpy(pool->program, page->program, sizeof(pool->program));
	memcpy(pool->name, page->pools[number].name, sizeof(pool->name));
	memcpy(pool->source, page->pools[number].source, sizeof(pool->source));
}

/* The process must run, and have the start time of the name: so each has one page per copy. */
static bool is_of_process(const char *name, struct page_entry *entry)
{
	return page_parse(name, entry) && entry->copy < COPIES_MAX &&
	       mam_statpage_start_of(entry->pid) == entry->start;
}

static void add_page(struct search *search, int folder, const char *name)
{
	static struct mam_statpage page;
	struct page_entry entry = { .path = NULL };
	struct stat status;
	int file;

	if (!is_of_process(name, &entry))
		return;
	if (search->pages++ >= COLLECT_PAGES_MAX) {
		search->list->omitted++;
		return;
	}
	file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (file < 0)
		return;
	if (fstat(file, &status) == 0 && status.st_uid == search->user &&
	    page_read_file(file, &page)) {
		search->list->pages++;
		for (unsigned int i = 0; i < MAM_STATPAGE_POOLS; i++)
			add_pool(search, &page, &entry, i);
	}
	close(file);
}

/* The folder of one user's pages. */
static void search_pages(struct search *search, int parent, const char *name)
{
	int number = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = number < 0 ? NULL : fdopendir(number);
	struct dirent *entry;
	struct stat status;

	if (folder != NULL && fstat(number, &status) == 0 && status.st_uid == search->user)
		for (int i = 0; i < ENTRIES_MAX && (entry = readdir(folder)) != NULL; i++)
			add_page(search, number, entry->d_name);
	if (folder != NULL)
		closedir(folder);
	else if (number >= 0)
		close(number);
}

struct users {
	uid_t *uids;
	size_t count, room;
};

/* Whether the text is a user's number, without leading zeros and the like. */
static bool parse_user(const char *text, uid_t *user)
{
	char again[24], *end;

	*user = (uid_t)strtoul(text, &end, 10);
	snprintf(again, sizeof(again), "%lu", (unsigned long)*user);
	return strcmp(text, again) == 0;
}

static bool add_user(struct users *users, uid_t user)
{
	if (users->count == users->room) {
		size_t room = users->room == 0 ? 16 : 2 * users->room;
		uid_t *uids = (uid_t *)realloc(users->uids, room * sizeof(*uids));

		if (uids == NULL)
			return false;
		users->uids = uids;
		users->room = room;
	}
	users->uids[users->count++] = user;
	return true;
}

/*
 * Adds the users that have a folder there, whose name is the prefix and the user's number. Any user
 * can create such a name in /dev/shm, but only with its own number as owner.
 */
static bool add_users(struct users *users, int parent, const char *prefix)
{
	int number = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = number < 0 ? NULL : fdopendir(number);
	struct dirent *entry;
	struct stat status;
	bool done = true;
	uid_t user;

	if (folder == NULL && number >= 0)
		close(number);
	while (folder != NULL && done && (entry = readdir(folder)) != NULL)
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    parse_user(entry->d_name + strlen(prefix), &user) &&
		    fstatat(parent, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    status.st_uid == user)
			done = add_user(users, user);
	if (folder != NULL)
		closedir(folder);
	return done;
}

static int compare(const void *one, const void *other)
{
	uid_t a = *(const uid_t *)one, b = *(const uid_t *)other;

	return a < b ? -1 : a > b;
}

/* The folder that contains all folders of that kind. */
static int open_parent(enum where where)
{
	return open(where == RUNTIME ? "/run/user" : "/dev/shm",
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void search_user(struct search *search, const int parents[WHERES])
{
	char name[40];
	int own;

	snprintf(name, sizeof(name), "mam-%lu", (unsigned long)search->user);
	search->where = SHARED_MEMORY;
	search_pages(search, parents[SHARED_MEMORY], name);
	search->where = RUNTIME;
	own = openat(parents[RUNTIME], name + strlen("mam-"),
		     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (own < 0)
		return;
	search_pages(search, own, "mam");
	close(own);
}

static bool search_users(struct collect_list *list)
{
	int parents[WHERES] = { open_parent(SHARED_MEMORY), open_parent(RUNTIME) };
	struct users users = { .uids = NULL };
	bool done = add_users(&users, parents[SHARED_MEMORY], "mam-") &&
		    add_users(&users, parents[RUNTIME], "");

	if (users.count > 1)
		qsort(users.uids, users.count, sizeof(*users.uids), compare);
	for (size_t i = 0; i < users.count && done; i++) {
		struct search search = { list, .user = users.uids[i], .pools_before = list->count };

		if (i > 0 && users.uids[i] == users.uids[i - 1])
			continue;
		search_user(&search, parents);
		done = !search.failed;
	}
	free(users.uids);
	for (int i = 0; i < WHERES; i++)
		if (parents[i] >= 0)
			close(parents[i]);
	return done;
}

/* Whether $XDG_RUNTIME_DIR names a folder that search_users() does not search. */
static bool is_elsewhere(char folder[PATH_MAX])
{
	char standard[64];

	if (!mam_statpage_folder(folder, PATH_MAX))
		return false;
	snprintf(standard, sizeof(standard), "/run/user/%ld/mam", (long)geteuid());
	if (strcmp(folder, standard) == 0)
		return false;
	snprintf(standard, sizeof(standard), "/dev/shm/mam-%ld", (long)geteuid());
	return strcmp(folder, standard) != 0;
}

bool collect_pages(struct collect_list *list)
{
	struct search search = { list, .where = RUNTIME, .user = geteuid() };
	char folder[PATH_MAX];
	bool done;

	list->count = 0;
	list->pages = list->omitted = 0;
	if (is_elsewhere(folder)) {
		search_pages(&search, AT_FDCWD, folder);
		done = !search.failed;
	} else {
		done = search_users(list);
	}
	if (!done)
		list->count = 0;
	return done;
}

void collect_fini(struct collect_list *list)
{
	free(list->pools);
	*list = (struct collect_list){ .pools = NULL };
}
