/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_find.c - see ctl_find.h.
 */
#include "ctl/ctl_find.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/message.h"

#define SHOWN_MAX 8 /* process IDs in a message */

bool ctl_find_is_id(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

static bool is_meant(const struct page_entry *entry, const char *text, bool by_id)
{
	return by_id ? strtoll(text, NULL, 10) == (long long)entry->pid
		     : strcmp(text, entry->program) == 0;
}

static void say_several(const struct page_list *list, const char *text)
{
	char ids[SHOWN_MAX * 16] = "";
	pid_t last = 0;
	int shown = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct page_entry *entry = &list->entries[i];
		size_t length = strlen(ids);

		if (entry->pid == last || !is_meant(entry, text, false))
			continue;
		last = entry->pid;
		if (shown == SHOWN_MAX)
			snprintf(ids + length, sizeof(ids) - length, ", ...");
		else if (shown < SHOWN_MAX)
			snprintf(ids + length, sizeof(ids) - length, "%s%ld", shown ? ", " : "",
				 (long)entry->pid);
		shown++;
	}
	message_error("several processes are named '%s'; specify one by its ID: %s", text, ids);
}

long ctl_find(const struct page_list *list, const char *text, size_t *count)
{
	const bool by_id = ctl_find_is_id(text);
	long first = -1;

	*count = 0;
	for (size_t i = 0; i < list->count; i++) {
		if (!is_meant(&list->entries[i], text, by_id))
			continue;
		if (first >= 0 && list->entries[i].pid != list->entries[first].pid) {
			say_several(list, text);
			return -1;
		}
		if (first < 0)
			first = (long)i;
		++*count;
	}
	if (first < 0)
		message_error("there is no process %s of this user that uses mam", text);
	return first;
}
