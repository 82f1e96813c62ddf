/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_dump.h - the heap of a running process: the lines of a dump (<mam/control.h>), and the files
 * that they become.
 */
#ifndef TOOLS_CTL_DUMP_H
#define TOOLS_CTL_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/names.h"

#define CTL_DUMP_DEVICES_MAX 64
#define CTL_DUMP_TAG_MAX 512 /* bytes, before they are decoded */

struct ctl_dump_chunk {
	uint32_t device;
	char source[16];
	uint64_t base, bytes;
	size_t first, count; /* of its blocks */
};

struct ctl_dump_block {
	uint64_t base, bytes;
	uint64_t requested; /* bytes; 0: freed, waiting for the GPU */
	uint32_t tag;       /* index in the names of the dump; 0: none */
};

/* Start with zeros. */
struct ctl_dump {
	struct ctl_dump_chunk *chunks;
	struct ctl_dump_block *blocks; /* by chunk, then by address */
	size_t chunk_count, block_count;
	uint64_t sum; /* of the chunks' bytes */
	struct names tags;
	bool has_tags; /* `tags` is initialized */
};

/* ctl_dump_add - add a line of any contents. False: it is invalid, or there is no memory. */
bool ctl_dump_add(struct ctl_dump *dump, const char *line);
void ctl_dump_fini(struct ctl_dump *dump);

/* ctl_dump_known - whether the suffix of a file's name is a format of a dump. False: no (reported). */
bool ctl_dump_known(const char *path);

/*
 * ctl_dump_write - write the file `path`. If several devices have blocks, write one for each, with
 * the device's number before the suffix. `title` names the process. Prints a line for each file.
 * False: an error (reported).
 */
bool ctl_dump_write(const struct ctl_dump *dump, const char *title, const char *path);

#endif
