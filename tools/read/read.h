/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.h - the file formats that mam replay reads, one file read_*.c per format.
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
	const char *name;  /* as an argument of --format */
	const char *place; /* the unit of positions in the file: "line" */
	/* is - whether a file that starts with these bytes appears to have the format. */
	bool (*is)(const unsigned char *head, size_t bytes);
	/*
	 * read - pass all events to `build`. False: not a complete file of the format (reported).
	 * With `salvage`, the events before a truncation are sufficient.
	 */
	bool (*read)(struct input *input, struct replay_build *build, bool salvage);
};

/* read_format_of - the format of a file that starts with these bytes. The fallback is a trace. */
const struct read_format *read_format_of(const unsigned char *head, size_t bytes);

/* read_format_named - the format of a value of --format. pre: it is one of the numbers below. */
enum read_kind { READ_AUTO = 1, READ_MAM, READ_RMM, READ_TORCH };
const struct read_format *read_format_named(enum read_kind kind);

bool read_mam(struct input *input, struct replay_build *build, bool salvage);
bool read_rmm(struct input *input, struct replay_build *build, bool salvage);
bool read_torch(struct input *input, struct replay_build *build, bool salvage);

#endif
