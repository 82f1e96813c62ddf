/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h - the loaded file that contains this copy of mam's code: libmam.so, libmam-preload.so, or a
 * program. A process may have several copies.
 */
#ifndef MAM_BASE_OBJECT_H
#define MAM_BASE_OBJECT_H

#include <stdbool.h>

/* mam_object_has - whether code or data is in that file. */
bool mam_object_has(const void *address);

/* mam_object_path - the file's name, as the dynamic linker has it; NULL: unknown. */
const char *mam_object_path(void);

#endif
