/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_place.h - where this program lies, and what was installed with it, seen from there.
 */
#ifndef MAM_KIT_OWN_PLACE_H
#define MAM_KIT_OWN_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* The folder of the program that runs. False: the system does not say. */
bool own_place(char *folder, size_t room);

/*
 * The way from one folder to another, as configure placed both: "../lib/mam". The folders above the
 * first difference are left out, so a tree that was moved whole still fits.
 */
void own_place_way(const char *from, const char *to, char *way, size_t room);

#endif
