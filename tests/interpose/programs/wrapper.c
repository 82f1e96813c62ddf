/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrapper.c - libraries that define a function and look up the next one of that name, as wrappers
 * and profilers do.
 *
 * lookups.sh compiles it three times: with VALUE 1 as the outer library, with VALUE 2 as the inner
 * one, and with VALUE 3 as a library that is found only on the outer library's own search path. The
 * outer one must reach the inner one by RTLD_NEXT, which the linker resolves relative to the
 * calling library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int wrapper_value(void);
int wrapper_next(void);
int wrapper_next_version(void);
int wrapper_default(void);
int wrapper_beside(void);

int wrapper_value(void)
{
	return VALUE;
}

#if VALUE == 1
static int call(void *function)
{
	int (*typed)(void);

	*(void **)&typed = function;
	return typed == NULL ? -1 : typed();
}

int wrapper_next(void)
{
	return call(dlsym(RTLD_NEXT, "wrapper_value"));
}

/* The C library's own printf by version, looked up from here. */
int wrapper_next_version(void)
{
	return dlvsym(RTLD_NEXT, "printf", VERSION) != NULL;
}

int wrapper_default(void)
{
	return call(dlsym(RTLD_DEFAULT, "wrapper_value"));
}

/* Found by this library's RUNPATH of $ORIGIN/beside and by no other path. */
int wrapper_beside(void)
{
	void *library = dlopen("libwrapper-beside.so", RTLD_NOW);

	return library == NULL ? -1 : call(dlsym(library, "wrapper_value"));
}
#endif
