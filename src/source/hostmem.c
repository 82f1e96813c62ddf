/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem.c - hostmem.h: the kernel's numbers, and those of a control group if there is one.
 *
 * 1. The machine: MemTotal and MemAvailable of /proc/meminfo. Without /proc, sysinfo(), whose free
 *    memory excludes reclaimable caches. That is less, so on the safe side.
 * 2. The control group that the process sees as its root, that is, the group of a container: its
 *    limit and use, in the files of version 2 or of version 1. File caches count as used there, but
 *    the kernel reclaims them first, so the group's own inactive_file is subtracted.
 * 3. The lesser of both, for total and available alike.
 */
#include "source/hostmem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#define KIB ((size_t)1024)

/* The number after a line's first word, `key`. If `key` is NULL, the file's only number. */
static bool read_number(const char *root, const char *path, const char *key, size_t *number)
{
	char line[256], name[512];
	bool found = false;
	FILE *file;

	snprintf(name, sizeof(name), "%s%s", root, path);
	file = fopen(name, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		const size_t length = key ? strlen(key) : 0;
		const char *digits = line + length;
		char *end;

		if (key && (strncmp(line, key, length) != 0 || !strchr(": \t", line[length])))
			continue;
		digits += strspn(digits, ": \t");
		*number = strtoull(digits, &end, 10);
		found = end != digits; /* "max" means no limit and is not a number */
	}
	fclose(file);
	return found;
}

static bool read_machine(const char *root, struct mam_hostmem *host)
{
	struct sysinfo info;
	size_t total, available;

	if (read_number(root, "/proc/meminfo", "MemTotal", &total) &&
	    read_number(root, "/proc/meminfo", "MemAvailable", &available)) {
		host->total_bytes = total * KIB;
		host->available_bytes = available * KIB;
		return true;
	}
	if (sysinfo(&info) != 0)
		return false;
	host->total_bytes = (size_t)info.totalram * info.mem_unit;
	host->available_bytes = (size_t)info.freeram * info.mem_unit;
	return true;
}

/* The files of each version of control groups. */
static const struct {
	const char *limit, *use, *details, *caches;
} groups[] = {
	{ "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
	  "/sys/fs/cgroup/memory.stat", "inactive_file" },
	{ "/sys/fs/cgroup/memory/memory.limit_in_bytes",
	  "/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat",
	  "total_inactive_file" },
};

static void cap_by_group(const char *root, struct mam_hostmem *host)
{
	size_t limit, used, caches, available;

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (!read_number(root, groups[i].limit, NULL, &limit) ||
		    !read_number(root, groups[i].use, NULL, &used))
			continue;
		if (!read_number(root, groups[i].details, groups[i].caches, &caches) ||
		    caches > used)
			caches = 0;
		used -= caches;
		available = limit > used ? limit - used : 0;
		if (limit < host->total_bytes)
			host->total_bytes = limit;
		if (available < host->available_bytes)
			host->available_bytes = available;
	}
}

bool mam_hostmem_read(const char *root, struct mam_hostmem *host)
{
	struct mam_hostmem found;

	if (!read_machine(root, &found))
		return false;
	cap_by_group(root, &found);
	*host = found;
	return true;
}

size_t mam_hostmem_room(const struct mam_hostmem *host)
{
	const size_t kept = host->total_bytes / 4;

	return host->available_bytes > kept ? host->available_bytes - kept : 0;
}
