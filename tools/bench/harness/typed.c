/* SPDX-License-Identifier: Apache-2.0 */
/*
 * typed.c - the command line: bench_typed(), bench_cannot_write().
 */
#include "typed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "kit/message.h"

void bench_typed(int argc, char **argv, char *text, size_t bytes)
{
	size_t used = (size_t)snprintf(text, bytes, "mam bench");
	int i;

	for (i = 0; i < argc && used < bytes; i++)
		used += (size_t)snprintf(text + used, bytes - used, " %s", argv[i]);
}

int bench_cannot_write(const char *path, const char *option)
{
	message_error("%s cannot be written: %s; choose another place for %s", path,
		      strerror(errno), option);
	return STATUS_BAD;
}
