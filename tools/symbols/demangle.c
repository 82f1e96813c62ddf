/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.c - demangle C++ names through the C++ runtime of the system, which is loaded when the
 * first such name appears. So mam needs no C++ library, and without one the names stay mangled.
 */
#include "symbols/demangle.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Longer names are left mangled: their readable form can be exponentially longer. */
#define MANGLED_MAX 16384

typedef char *(*demangler)(const char *name, char *buffer, size_t *bytes, int *status);

static demangler find_demangler(void)
{
	static const char *const libraries[] = { "libstdc++.so.6", "libc++abi.so.1" };

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
		void *function = library ? dlsym(library, "__cxa_demangle") : NULL;
		demangler found;

		if (function != NULL) {
			memcpy(&found, &function, sizeof(found));
			return found;
		}
	}
	return NULL;
}

char *demangle(const char *name)
{
	static demangler function;
	static int searched;
	size_t length = strcspn(name, strncmp(name, "_Z", 2) == 0 ? "@." : "@");
	char *copy = strndup(name, length);
	char *readable;
	int status;

	if (copy == NULL || strncmp(copy, "_Z", 2) != 0 || length > MANGLED_MAX)
		return copy;
	if (!searched)
		function = find_demangler();
	searched = 1;
	readable = function ? function(copy, NULL, NULL, &status) : NULL;
	if (readable == NULL)
		return copy;
	free(copy);
	return readable;
}
