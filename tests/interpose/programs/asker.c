/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asker.c - prints what dlsym returns to a program without CUDA, and to one between two wrapper
 * libraries (lookups.sh).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

int wrapper_value(void);
int wrapper_next(void);
int wrapper_next_version(void);
int wrapper_default(void);
int wrapper_beside(void);

static void ask(const char *where, void *handle, const char *name)
{
	void *found, *version;
	const char *error;

	dlerror();
	found = dlsym(handle, name);
	error = dlerror();
	/* Only the end of the message: the linker puts the program's name in front of it. */
	error = error == NULL                               ? "none"
		: strstr(error, "undefined symbol") != NULL ? "undefined symbol"
							    : "other";
	version = dlvsym(handle, name, "libcudart.so.13");
	printf("%s %s: found %d, by version %d, error %s\n", where, name, found != NULL,
	       version != NULL, error);
}

/* Their names begin like functions of the driver, and they take and return other types. */
__attribute__((visibility("default"))) double cuMemsetScaled(double value, double factor)
{
	return value * factor;
}

__attribute__((visibility("default"))) long cuLaunchCount(void)
{
	return 0x100000002;
}

static int own_works(void *handle)
{
	void *scaled = dlsym(handle, "cuMemsetScaled"), *count = dlsym(handle, "cuLaunchCount");

	return scaled != NULL && count != NULL &&
	       ((__typeof__(&cuMemsetScaled))scaled)(1.5, 4) == 6 &&
	       ((__typeof__(&cuLaunchCount))count)() == 0x100000002;
}

int main(void)
{
	static const char *const names[] = { "cudaMalloc",
					     "cuMemAlloc_v2",
					     "cuGetProcAddress_v2",
					     "cuMemAlloc",
					     "cuMemsetD8_v2",
					     "cudnnCreate",
					     "cu",
					     "c",
					     "" };
	void *whole = dlopen(NULL, RTLD_NOW), *math = dlopen("libm.so.6", RTLD_NOW);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ask("default", RTLD_DEFAULT, names[i]);
		ask("next", RTLD_NEXT, names[i]);
		ask("program", whole, names[i]);
		ask("libm", math, names[i]);
	}
	ask("libm", math, "cos");
	printf("functions of the program: %d %d\n", own_works(RTLD_DEFAULT), own_works(whole));
	printf("value %d next %d version %d default %d beside %d\n", wrapper_value(),
	       wrapper_next(), wrapper_next_version(), wrapper_default(), wrapper_beside());
	return 0;
}
