/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deepbind_host.c - opens a plugin with RTLD_DEEPBIND and calls its play(): the plugin's references
 * bind to its own libraries before any preloaded object.
 */
#define _GNU_SOURCE /* RTLD_DEEPBIND */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int count, char **arguments)
{
	void *plugin =
		count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
	int (*play)(void);

	if (plugin == NULL) {
		fprintf(stderr, "usage: %s PLUGIN (%s)\n", arguments[0],
			count == 2 ? dlerror() : "no plugin was given");
		return 2;
	}
	play = (int (*)(void))(uintptr_t)dlsym(plugin, "play");
	return play == NULL ? 2 : play();
}
