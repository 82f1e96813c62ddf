/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_put.c - prints a source as `mam coalesce` understands it: FILE [COMPILER-FLAG]...
 */
#include <stdio.h>

#include "coalesce/program.h"

int main(int argc, char **argv)
{
	struct co_program *program;
	char why[1024] = "";

	if (argc < 2) {
		fprintf(stderr, "usage: front_put FILE [COMPILER-FLAG]...\n");
		return 2;
	}
	program = co_program_read(argv[1], (const char *const *)argv + 2, (size_t)argc - 2, why,
				  sizeof(why));
	if (program == NULL) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	co_program_put(program, stdout);
	co_program_free(program);
	return 0;
}
