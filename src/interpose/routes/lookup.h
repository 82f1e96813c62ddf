/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h - where a call of dlsym() or dlvsym() goes: to the C library's function, or to one that
 * replaces its result.
 */
#ifndef MAM_INTERPOSE_LOOKUP_H
#define MAM_INTERPOSE_LOOKUP_H

/* tail.c's assembly calls them, which link-time optimization does not see. */
#if __has_attribute(externally_visible)
#define MAM_FROM_ASSEMBLY __attribute__((used, externally_visible, visibility("hidden")))
#else
#define MAM_FROM_ASSEMBLY __attribute__((used, visibility("hidden")))
#endif

/*
 * Called by tail.c with the arguments of the program's call. Both return the function to jump to.
 */
MAM_FROM_ASSEMBLY void *(*mam_lookup_dlsym(void *handle, const char *name))(void *, const char *);
MAM_FROM_ASSEMBLY void *(*mam_lookup_dlvsym(void *handle, const char *name,
					    const char *version))(void *, const char *,
								  const char *);

/*
 * The function that CUDA's library defines under a name of table.h, or NULL. It is for libmam.so in
 * the program, which waits for the device by the driver's own free (source/driver.c).
 */
__attribute__((visibility("default"))) void *mam_interpose_original(const char *name);

#endif
