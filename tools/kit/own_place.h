/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_place.h - the folder of this program, and paths relative to it of files installed with it.
 */
#ifndef MAM_KIT_OWN_PLACE_H
#define MAM_KIT_OWN_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* The folder of the running program. False: the system does not report it. */
bool own_place(char *folder, size_t room);

/*
 * The relative path from one folder to another, as configure placed both: "../lib/mam". The common
 * parent folders are dropped, so the path remains valid if the whole tree is moved.
 */
void own_place_way(const char *from, const char *to, char *way, size_t room);

#endif
