/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lists.c - comma-separated names: bench_in_list(), bench_check_list().
 */
#include "lists.h"

#include <stdio.h>
#include <string.h>

bool bench_in_list(const char *list, const char *name)
{
	size_t bytes = strlen(name);

	while (list != NULL && *list != '\0') {
		size_t length = strcspn(list, ",");

		if (length == bytes && strncmp(list, name, length) == 0)
			return true;
		list += length + (list[length] == ',');
	}
	return false;
}

bool bench_check_list(const char *list, bool (*known)(const char *name, int context), int context,
		      char *unknown, size_t bytes)
{
	while (list != NULL && *list != '\0') {
		size_t length = strcspn(list, ",");

		snprintf(unknown, bytes, "%.*s", (int)(length < bytes ? length : bytes - 1), list);
		if (!known(unknown, context))
			return false;
		list += length + (list[length] == ',');
	}
	return true;
}
