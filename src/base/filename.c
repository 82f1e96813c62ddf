/* SPDX-License-Identifier: Apache-2.0 */
/* filename.c - see <mam/filename.h>. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv */
#endif
#include <mam/filename.h>

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANK_DIGITS_MAX 9

long mam_filename_rank(void)
{
	static const char *const names[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
					     "PMI_RANK", "SLURM_PROCID" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = secure_getenv(names[i]);
		size_t digits = text == NULL ? 0 : strspn(text, "0123456789");

		if (digits > 0 && digits <= RANK_DIGITS_MAX && text[digits] == '\0')
			return strtol(text, NULL, 10);
	}
	return -1;
}

/* Writes what %`letter` stands for. Returns false if it stands for itself. */
static bool make_word(char letter, size_t bytes, char *word)
{
	long rank;

	switch (letter) {
	case 'p': snprintf(word, bytes, "%ld", (long)getpid()); return true;
	case 'r':
		rank = mam_filename_rank();
		if (rank >= 0)
			snprintf(word, bytes, "%ld", rank);
		else
			snprintf(word, bytes, "pid%ld", (long)getpid());
		return true;
	case 'h':
		if (gethostname(word, bytes) != 0)
			snprintf(word, bytes, "host");
		word[bytes - 1] = '\0';
		return true;
	case '%': snprintf(word, bytes, "%%"); return true;
	default: return false;
	}
}

int mam_filename_expand(const char *pattern, size_t bytes, char *name)
{
	size_t length = 0;
	int parts = 0;

	for (const char *at = pattern; *at != '\0'; at++) {
		char word[HOST_NAME_MAX + 1] = { *at };

		if (*at == '%' && make_word(at[1], sizeof(word), word)) {
			at++;
			parts |= *at == 'p'   ? MAM_FILENAME_PROCESS
				 : *at == 'r' ? MAM_FILENAME_RANK
					      : 0;
		}
		if (length + strlen(word) >= bytes)
			return -1;
		memcpy(name + length, word, strlen(word));
		length += strlen(word);
	}
	if (length >= bytes)
		return -1;
	name[length] = '\0';
	return parts;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

const char *mam_filename_script(const char *arguments, size_t bytes)
{
	const char *end = arguments + bytes, *at = arguments;

	if (bytes == 0 || end[-1] != '\0' ||
	    (strncmp(last_part(at), "python", 6) != 0 && strncmp(last_part(at), "pypy", 4) != 0))
		return NULL;
	for (at += strlen(at) + 1; at < end; at += strlen(at) + 1) {
		/* After -m, the name of a module. */
		if (at[0] != '-' && at[0] != '\0')
			return last_part(at)[0] == '\0' ? NULL : last_part(at);
		if (at[0] == '\0' || at[1] == '\0' || at[1] == 'c')
			return NULL;
		/* The argument of these follows. */
		if (strcmp(at, "-W") == 0 || strcmp(at, "-X") == 0)
			at += strlen(at) + 1;
		if (at >= end)
			break;
	}
	return NULL;
}
