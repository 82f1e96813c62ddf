/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h - where a call of dlsym() or dlvsym() goes: to the C library's function, or to one
 * that swaps its answer.
 */
#ifndef MAM_INTERPOSE_LOOKUP_H
#define MAM_INTERPOSE_LOOKUP_H

/*
 * Called by tail.c with the arguments of the program's call. Both return the function to jump to.
 */
void *(*mam_lookup_dlsym(void *handle, const char *name))(void *, const char *);
void *(*mam_lookup_dlvsym(void *handle, const char *name,
			  const char *version))(void *, const char *, const char *);

#endif
