/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dedicated.c - parses MAM_IPC: share, dedicated, or dedicated:SIZE, where SIZE is a number of
 * bytes with an optional suffix K, M, G or T, or KiB, MiB, GiB or TiB. Remembers smaller sizes that
 * the program shares: a program that shares a size once shares it again.
 */
#include "interpose/memory/dedicated.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <mam/options.h>

#include "interpose/process/say.h"

#define DEDICATED_DEFAULT ((size_t)1 << 20)
#define SHARED_MAX 64 /* sizes; a program shares few */

_Atomic size_t mam_dedicated_from;

/* Entries are set once, in order; 0: free. */
static _Atomic size_t shared[SHARED_MAX];

/*
 * Returns false if `text` as a whole is not a valid size, or if the size is 0 or exceeds SIZE_MAX.
 */
static bool read_size(const char *text, size_t *bytes)
{
	static const char letters[] = "KMGT";
	const char *letter = NULL;
	unsigned int shift = 0;
	uint64_t number = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, *text - '0', &number))
			return false;
	if (*text != '\0')
		letter = strchr(letters, toupper((unsigned char)*text));
	if (letter != NULL) {
		shift = 10 * (unsigned int)(letter - letters + 1);
		text++;
	}
	if (*text != '\0' && (letter == NULL || strcasecmp(text, "iB") != 0))
		return false;
	if (number == 0 || number > SIZE_MAX >> shift)
		return false;
	*bytes = (size_t)number << shift;
	return true;
}

static bool read_option(const char *text, size_t *from)
{
	static const char word[] = "dedicated";

	*from = SIZE_MAX;
	if (strcmp(text, "share") == 0)
		return true;
	if (strncmp(text, word, sizeof(word) - 1) != 0)
		return false;
	text += sizeof(word) - 1;
	if (*text == '\0') {
		*from = DEDICATED_DEFAULT;
		return true;
	}
	return *text == ':' && read_size(text + 1, from);
}

static size_t from_size(void)
{
	size_t from = atomic_load_explicit(&mam_dedicated_from, memory_order_relaxed), unread = 0;
	const char *text;
	bool good;

	if (from != 0)
		return from;
	text = mam_option_value("MAM_IPC");
	good = text == NULL || text[0] == '\0' || read_option(text, &from);
	if (!good || from == 0)
		from = SIZE_MAX;
	if (!atomic_compare_exchange_strong(&mam_dedicated_from, &unread, from))
		return unread;
	if (!good)
		mam_say(MAM_SAY_ERROR,
			"invalid value '%s' of MAM_IPC: must be share, dedicated, or "
			"dedicated:SIZE with a SIZE such as 64K or 1M; blocks are shared",
			text);
	return from;
}

bool mam_dedicated_serves_slow(size_t bytes)
{
	size_t size, from = from_size();

	if (from == SIZE_MAX) /* --ipc=share */
		return false;
	if (bytes >= from)
		return true;
	for (int i = 0; i < SHARED_MAX; i++) {
		size = atomic_load_explicit(&shared[i], memory_order_relaxed);
		if (size == bytes || size == 0)
			return size != 0;
	}
	return false;
}

void mam_dedicated_note(size_t bytes)
{
	size_t size;

	if (from_size() == SIZE_MAX)
		return;
	for (int i = 0; i < SHARED_MAX; i++) {
		size = 0;
		if (atomic_compare_exchange_strong(&shared[i], &size, bytes)) {
			mam_say(MAM_SAY_WARN,
				"cannot share a block of %zu bytes with peers that run without "
				"mam: it is in a pool; from now on the driver allocates this "
				"size, so that the next handle works; --ipc=dedicated:%zu does "
				"this from the start",
				bytes, bytes);
			return;
		}
		if (size == bytes)
			return;
	}
}
