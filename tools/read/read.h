/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.h - the kinds of files that mam replay reads, a file read_*.c each.
 *
 *   read_mam.c    a trace as in mam-trace(5)
 *   read_rmm.c    the CSV log of RMM's logging_resource_adaptor
 *   read_torch.c  PyTorch's memory snapshot, a pickle
 */
#ifndef TOOLS_READ_H
#define TOOLS_READ_H

#include "read/input.h"
#include "replay/replay_build.h"

struct read_format {
	const char *name;  /* as --format has it */
	const char *place; /* what it calls a place in the file: "line" */
	/* is - does a file that begins with these bytes look like one? */
	bool (*is)(const unsigned char *head, size_t bytes);
	/*
	 * read - tell `build` all events. False: not a whole file of the kind, which was said. With
	 * `salvage`, what stands before the place where a file was cut off is enough.
	 */
	bool (*read)(struct input *input, struct replay_build *build, bool salvage);
};

/* read_format_of - the kind of a file that begins so. A file of no other kind is a trace. */
const struct read_format *read_format_of(const unsigned char *head, size_t bytes);

/* read_format_named - the kind that --format calls so. pre: it is one of the numbers below. */
enum read_kind { READ_AUTO = 1, READ_MAM, READ_RMM, READ_TORCH };
const struct read_format *read_format_named(enum read_kind kind);

bool read_mam(struct input *input, struct replay_build *build, bool salvage);
bool read_rmm(struct input *input, struct replay_build *build, bool salvage);
bool read_torch(struct input *input, struct replay_build *build, bool salvage);

#endif
