/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.c - `mam coalesce`: executes the program mam-coalesce (main.c). Only that program is
 * linked to libclang, so no other subcommand loads a compiler. It is installed in the folder of the
 * objects of mam run.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "kit/message.h"
#include "run/run_object.h"

int coalesce_main(int argc, char **argv)
{
	char path[PATH_MAX];

	(void)argc;
	if (!run_object_find("mam-coalesce", path, sizeof(path))) {
		message_error(
			"this mam was built without libclang, which reads CUDA sources: install "
			"libclang-dev (Fedora: clang-devel; Arch: clang), then configure and "
			"build mam again");
		return STATUS_BAD;
	}
	fflush(stdout);
	execv(path, argv);
	message_error("cannot start '%s': %s", path, strerror(errno));
	return STATUS_BAD;
}
