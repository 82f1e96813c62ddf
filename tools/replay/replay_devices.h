/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_devices.h - a trace of several GPUs: which of them is replayed.
 *
 * Devices do not share memory, so a replay is of one device. It is the one that the user names, or
 * the one with most events; a note names that one and counts the others.
 */
#ifndef TOOLS_REPLAY_DEVICES_H
#define TOOLS_REPLAY_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_build;

#define REPLAY_DEVICES_FIRST UINT64_MAX /* in place of a wanted number + 1: the lowest number */

/* A device that events of a file name. */
struct replay_device {
	uint64_t number;
	uint64_t events; /* count */
	bool is_known;   /* false: stands for all blocks of unknown devices */
};

/*
 * replay_devices_pick - the index of the device to replay. `wanted` is its number + 1, or 0 for the
 * one with most events, of equal ones the one with the lowest number, or REPLAY_DEVICES_FIRST.
 * False: the file has no such device, which was reported. pre: count > 0, and a device is known
 */
bool replay_devices_pick(const char *path, const struct replay_device *devices, size_t count,
			 uint64_t wanted, size_t *picked);

/* replay_devices_after - the number that follows the picked one; REPLAY_DEFAULT: none. */
uint64_t replay_devices_after(const struct replay_device *devices, size_t count, size_t picked);

/*
 * replay_devices_note - record that the next block of `build` is on device `number`, or on an
 * unknown one. False: out of memory (reported).
 */
bool replay_devices_note(struct replay_build *build, bool is_known, uint64_t number);

/*
 * replay_devices_reduce - keep only the picked device's part of a complete trace. False as above.
 */
bool replay_devices_reduce(struct replay_build *build);

#endif
