/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.c - the file formats that mam replay reads, detected by their first bytes.
 */
#include "read/read.h"

#include <string.h>

static bool begins(const unsigned char *head, size_t bytes, const char *text)
{
	size_t length = strlen(text);

	return bytes >= length && memcmp(head, text, length) == 0;
}

/* The header of a log lists the columns; this one is first. */
static bool is_rmm(const unsigned char *head, size_t bytes)
{
	while (bytes && (*head == '\n' || *head == '\r')) {
		head++;
		bytes--;
	}
	return begins(head, bytes, "Thread,") || begins(head, bytes, "Time,Action,") ||
	       begins(head, bytes, "Event Type,");
}

/*
 * Starting with protocol 2, a pickle starts with its protocol number; an older one with the opcodes
 * of a dictionary or a list.
 */
static bool is_torch(const unsigned char *head, size_t bytes)
{
	static const char *const olds[] = { "(dp", "(lp", "}q", "]q" };

	if (bytes >= 2 && head[0] == 0x80)
		return true;
	for (size_t i = 0; i < sizeof(olds) / sizeof(olds[0]); i++)
		if (begins(head, bytes, olds[i]))
			return true;
	return false;
}

static bool is_anything(const unsigned char *head, size_t bytes)
{
	(void)head;
	(void)bytes;
	return true;
}

/* The first match wins. */
static const struct {
	enum read_kind kind;
	struct read_format format;
} formats[] = {
	{ READ_RMM, { "rmm", "line", is_rmm, read_rmm } },
	{ READ_TORCH, { "torch", "entry", is_torch, read_torch } },
	{ READ_MAM, { "mam", "line", is_anything, read_mam } },
};

const struct read_format *read_format_of(const unsigned char *head, size_t bytes)
{
	size_t i = 0;

	while (!formats[i].format.is(head, bytes))
		i++;
	return &formats[i].format;
}

const struct read_format *read_format_named(enum read_kind kind)
{
	size_t i = 0;

	while (formats[i].kind != kind)
		i++;
	return &formats[i].format;
}
