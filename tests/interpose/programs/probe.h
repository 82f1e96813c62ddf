/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h - the frame of all probes: a table of scenes, each of which prints what CUDA returned.
 *
 * A probe checks nothing itself. A test runs a scene plain and under `mam run` and compares the
 * output, so that any result that mam changes shows up.
 */
#ifndef MAM_TESTS_PROBE_H
#define MAM_TESTS_PROBE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct probe_scene {
	const char *name;
	void (*play)(void);
};

/* The device of scenes with one device: $PROBE_DEVICE, or 0. */
static inline int probe_device(void)
{
	const char *device = getenv("PROBE_DEVICE");

	return device != NULL ? device[0] - '0' : 0;
}

static inline int probe_play(int count, char **arguments, const struct probe_scene *scenes,
			     size_t scene_count)
{
	for (size_t i = 0; count == 2 && i < scene_count; i++) {
		if (strcmp(arguments[1], scenes[i].name) == 0) {
			setvbuf(stdout, NULL, _IOLBF, 0);
			scenes[i].play();
			return 0;
		}
	}
	fprintf(stderr, "usage: %s SCENE\n", arguments[0]);
	return 2;
}

#define SHOW(call) printf("%s: %d\n", #call, (call))

#endif
