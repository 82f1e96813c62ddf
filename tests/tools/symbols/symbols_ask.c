/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what symbols_find() finds, for symbols.sh.
 *
 *	usage: symbols_ask [PATH BUILD-ID OFFSET]...
 *
 * BUILD-ID "null" is NULL; OFFSET is hexadecimal. One line per question: the frames, innermost
 * first, each as FUNCTION@FILE:LINE without the folder of the file, or "unknown". $SYMBOLS_ROOT
 * replaces /usr/lib/debug.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/symbols.h"
#include "symbols/symbols_files.h"

#define FRAMES 32

static void ask(struct symbols *symbols, char **words)
{
	const char *id = strcmp(words[1], "null") == 0 ? NULL : words[1];
	struct symbol found[FRAMES];
	size_t count =
		symbols_find(symbols, words[0], id, strtoull(words[2], NULL, 16), found, FRAMES);

	for (size_t i = 0; i < count; i++) {
		const char *slash = strrchr(found[i].file, '/');

		printf("%s%s@%s:%u", i > 0 ? " < " : "", found[i].function,
		       slash ? slash + 1 : found[i].file, found[i].line);
	}
	puts(count > 0 ? "" : "unknown");
}

int main(int count, char **words)
{
	struct symbols *symbols = symbols_create();

	if (getenv("SYMBOLS_ROOT"))
		symbols_files_root = getenv("SYMBOLS_ROOT");
	if (symbols == NULL)
		return 1;
	for (int i = 1; i + 2 < count; i += 3)
		ask(symbols, words + i);
	symbols_destroy(symbols);
	return 0;
}
