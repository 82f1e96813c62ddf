/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_frames.c - write the call site of a block as a stack of one frame, and other keys with
 * their values.
 *
 * FILE:LINE:NAME and FILE:LINE NAME are split; any other text is a name. A stack is written once,
 * and then referred to by its index in the memo.
 */
#include "write/snapshot.h"

#include <stdlib.h>
#include <string.h>

void snapshot_put_number(struct snapshot *snapshot, const char *key, int64_t number)
{
	pickle_put_word(&snapshot->put, key);
	pickle_put_number(&snapshot->put, number);
}

void snapshot_put_word(struct snapshot *snapshot, const char *key, const char *word)
{
	pickle_put_word(&snapshot->put, key);
	pickle_put_word(&snapshot->put, word);
}

void snapshot_put_bool(struct snapshot *snapshot, const char *key, bool is)
{
	pickle_put_word(&snapshot->put, key);
	pickle_put_bool(&snapshot->put, is);
}

/* Split FILE:LINE:NAME, FILE:LINE NAME or NAME in place. */
static void split_who(char *who, const char **file, int64_t *line, const char **name)
{
	for (char *colon = strchr(who, ':'); colon; colon = strchr(colon + 1, ':')) {
		size_t digits = strspn(colon + 1, "0123456789");
		char *end = colon + 1 + digits;

		if (digits == 0 || digits > 9 || (*end != ':' && *end != ' ') || colon == who)
			continue;
		*line = strtol(colon + 1, NULL, 10);
		*name = end + 1;
		*file = who;
		*colon = '\0';
		return;
	}
	*file = "";
	*line = 0;
	*name = who;
}

static void put_frame(struct snapshot *snapshot, const char *who)
{
	char *copy = strdup(who);
	const char *file, *name;
	int64_t line;

	if (!copy) {
		snapshot->put.no_memory = true;
		return;
	}
	split_who(copy, &file, &line, &name);
	pickle_put_open_dict(&snapshot->put);
	pickle_put_word(&snapshot->put, "filename");
	pickle_put_word(&snapshot->put, file);
	snapshot_put_number(snapshot, "line", line);
	pickle_put_word(&snapshot->put, "name");
	pickle_put_word(&snapshot->put, name);
	pickle_put_close_dict(&snapshot->put);
	free(copy);
}

void snapshot_put_frames(struct snapshot *snapshot, uint32_t block)
{
	const struct replay_trace *trace = snapshot->job->trace;
	uint32_t who = block != SNAPSHOT_NOBODY && trace->origins ? trace->origins[block].who : 0;

	pickle_put_word(&snapshot->put, "frames");
	if (who == 0) {
		pickle_put_open_list(&snapshot->put);
	} else if (snapshot->spelt[who]) {
		pickle_put_again(&snapshot->put, snapshot->spelt[who]);
	} else {
		pickle_put_open_list(&snapshot->put);
		put_frame(snapshot, trace->names[who]);
		pickle_put_item(&snapshot->put);
		snapshot->spelt[who] = ++snapshot->spelt_count;
		pickle_put_keep(&snapshot->put, snapshot->spelt[who]);
	}
}
