/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_object.h - the shared objects that `mam run` puts into a program, and what else of mam's lies
 * beside them.
 */
#ifndef TOOLS_RUN_OBJECT_H
#define TOOLS_RUN_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

#define RUN_OBJECT_PRELOAD "libmam-preload.so"
#define RUN_OBJECT_AUDIT "libmam-audit.so"

bool run_object_exists(const char *object);
/* run_object_find - its path, of PATH_MAX bytes; false: it is nowhere */
bool run_object_find(const char *object, char *path, size_t room);

/*
 * run_object_put - write an object's path first into a variable of the dynamic linker's; what was
 * there stays behind it. False: it cannot be had, and that was said.
 */
bool run_object_put(const char *object, const char *variable);

#endif
