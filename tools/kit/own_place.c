/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_place.c - see own_place.h. The kernel reports the path of the program's file. To form a
 * relative path, the common prefix of the two folders is dropped, each remaining component of the
 * first becomes "..", and the rest of the second is appended.
 */
#include "kit/own_place.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool own_place(char *folder, size_t room)
{
	ssize_t length = readlink("/proc/self/exe", folder, room);
	char *slash;

	/* A path that fills the whole buffer may have been truncated. */
	if (length <= 0 || (size_t)length >= room)
		return false;
	folder[length] = '\0';
	slash = strrchr(folder, '/');
	*(slash == NULL ? folder : slash) = '\0';
	return true;
}

void own_place_way(const char *from, const char *to, char *way, size_t room)
{
	size_t same = 0, length = 0;

	for (size_t i = 0; from[i] != '\0' && from[i] == to[i]; i++)
		if (from[i] == '/')
			same = i;
	if (from[same] == '/' && to[same] == '/') {
		from += same + 1;
		to += same + 1;
	}
	way[0] = '\0';
	for (const char *part = from; *part != '\0'; part += *part == '/') {
		part += strcspn(part, "/");
		length += (size_t)snprintf(way + length, length < room ? room - length : 0, "../");
	}
	if (length < room)
		snprintf(way + length, room - length, "%s", to);
}
