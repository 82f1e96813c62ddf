/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - the file with the contents of suspended pieces.
 *
 * Only the process that suspended a pool can resume it, since only that process has the addresses.
 * So the file has no name: nothing remains of it when it is closed or the process ends, whenever
 * and however that happens, and no incomplete file can be mistaken for a complete one. On file
 * systems without unnamed files it has a name for a moment (<mam/newfile.h>), while it is empty.
 * Nothing is flushed to the disk: no one reads it after a crash. Children of a fork have the
 * descriptor until they end or execute another program, so the process truncates the file before it
 * closes it.
 *
 * Blocks of zeros are not written. Each chunk has a checksum in host memory, which finds what the
 * file system or the disk changed.
 *
 * A chunk begins at a multiple of the unit, and is read with the same offset and length as it was
 * written.
 */
#ifndef MAM_SUSPEND_FILE_H
#define MAM_SUSPEND_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mam/mam.h>

struct mam_contents_file {
	int number;     /* descriptor; -1: none */
	pid_t process;  /* that made it */
	uint64_t unit;  /* a power of two */
	uint64_t *sums; /* by unit, of the chunk that begins there; from malloc() */
};

/* mam_contents_file_open - in this folder. Returns IO, with the reason in the log, or
 * OUT_OF_HOST_MEMORY; the file is closed then. */
enum mam_status mam_contents_file_open(struct mam_contents_file *file, const char *folder,
				       uint64_t bytes, uint64_t unit);
void mam_contents_file_close(struct mam_contents_file *file);

/* Both return IO, with the reason in the log. */
enum mam_status mam_contents_file_write(struct mam_contents_file *file, const void *from,
					uint64_t offset, size_t bytes);
enum mam_status mam_contents_file_read(struct mam_contents_file *file, void *to, uint64_t offset,
				       size_t bytes);

#endif
