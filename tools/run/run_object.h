/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_object.h - the shared objects that `mam run` loads into a program, and mam's other files
 * beside them.
 */
#ifndef TOOLS_RUN_OBJECT_H
#define TOOLS_RUN_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

#define RUN_OBJECT_PRELOAD "libmam-preload.so"
#define RUN_OBJECT_AUDIT "libmam-audit.so"

bool run_object_exists(const char *object);
/* run_object_find - write its path, of at most PATH_MAX bytes, to `path`; false: not found */
bool run_object_find(const char *object, char *path, size_t room);

/*
 * run_object_put - put an object's path first in a variable of the dynamic linker, before the
 * current value. False: the object was not found (reported).
 */
bool run_object_put(const char *object, const char *variable);

#endif
