/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - shared by the fuzz targets: a check that must hold, an input read byte by byte, a file
 * with any contents, and captured output.
 *
 * A target is LLVMFuzzerTestOneInput(). libFuzzer needs nothing else; with -DFUZZ_REPLAY there is a
 * main() that runs the target on the files of the command line (without.h).
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Not assert(): the check also runs with NDEBUG. fuzz.sh searches for such lines. */
#define require(holds, what) fuzz_require((holds), __FILE__, __LINE__, (what))

static inline void fuzz_require(bool holds, const char *file, int line, const char *what)
{
	const char *name = strrchr(file, '/');

	if (holds)
		return;
	dprintf(STDERR_FILENO, "%s:%d: %s\n", name ? name + 1 : file, line, what);
	abort();
}

/* An input that is read from its front; after its end it returns zeros. */
struct fuzz_bytes {
	const uint8_t *next, *end;
};

static inline unsigned int fuzz_byte(struct fuzz_bytes *bytes)
{
	return bytes->next < bytes->end ? *bytes->next++ : 0;
}

/* A number of `width` bytes, little endian. */
static inline uint64_t fuzz_number(struct fuzz_bytes *bytes, unsigned int width)
{
	uint64_t number = 0;

	for (unsigned int i = 0; i < width; i++)
		number |= (uint64_t)fuzz_byte(bytes) << 8 * i;
	return number;
}

static inline size_t fuzz_left(const struct fuzz_bytes *bytes)
{
	return (size_t)(bytes->end - bytes->next);
}

/* A file in memory, created by the first call; its path opens it again and again. */
struct fuzz_file {
	int descriptor; /* 0: not created yet */
	char path[40];
};

static inline void fuzz_file_put(struct fuzz_file *file, const void *data, size_t bytes)
{
	if (file->descriptor == 0) {
		file->descriptor = memfd_create("fuzz", MFD_CLOEXEC);
		require(file->descriptor > 0, "cannot create a file in memory");
		snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->descriptor);
	}
	require(ftruncate(file->descriptor, 0) == 0 &&
			pwrite(file->descriptor, data, bytes, 0) == (ssize_t)bytes,
		"cannot write a file in memory");
}

#define FUZZ_FOLDER_BYTES 40

/* A folder of this process's own, in memory where possible. */
static inline void fuzz_folder_make(char path[FUZZ_FOLDER_BYTES])
{
	snprintf(path, FUZZ_FOLDER_BYTES, "/dev/shm/mam-fuzz-XXXXXX");
	if (mkdtemp(path))
		return;
	snprintf(path, FUZZ_FOLDER_BYTES, "/tmp/mam-fuzz-XXXXXX");
	require(mkdtemp(path) != NULL, "no folder");
}

/* The output of the code under test, captured from stdout and stderr. */
struct fuzz_heard {
	FILE *stdout_before, *stderr_before;
	char *printed, *said; /* after fuzz_heard_end() */
	size_t printed_bytes, said_bytes;
};

static inline void fuzz_heard_begin(struct fuzz_heard *heard)
{
	FILE *out = open_memstream(&heard->printed, &heard->printed_bytes);
	FILE *err = open_memstream(&heard->said, &heard->said_bytes);

	require(out && err, "no memory for captured output");
	heard->stdout_before = stdout;
	heard->stderr_before = stderr;
	stdout = out;
	stderr = err;
}

static inline void fuzz_heard_end(struct fuzz_heard *heard)
{
	fclose(stdout);
	fclose(stderr);
	stdout = heard->stdout_before;
	stderr = heard->stderr_before;
}

static inline void fuzz_heard_free(struct fuzz_heard *heard)
{
	free(heard->printed);
	free(heard->said);
}

/* Whether the word follows the name of the command in a line. */
static inline bool fuzz_is(const char *word, const char *line, size_t bytes)
{
	const char *colon = (const char *)memchr(line, ':', bytes);
	size_t left = colon ? bytes - (size_t)(colon - line) : 0;

	return left > strlen(word) && memcmp(colon, word, strlen(word)) == 0;
}

/*
 * The number of errors printed: one line each that starts with the name of the command and
 * "error:". Notes and warnings may be printed too. No line ends with a full stop or contains a
 * control character.
 */
static inline size_t fuzz_sentences(const struct fuzz_heard *heard)
{
	size_t lines = 0, start = 0;

	for (size_t i = 0; i < heard->said_bytes; i++) {
		unsigned char c = (unsigned char)heard->said[i];

		if (c == '\n') {
			const char *line = heard->said + start;

			require(i > start && line[i - start - 1] != '.',
				"a message ends with a full stop");
			if (!fuzz_is(": note: ", line, i - start) &&
			    !fuzz_is(": warning: ", line, i - start)) {
				require(fuzz_is(": error: ", line, i - start),
					"a message is not an error, a warning or a note");
				lines++;
			}
			start = i + 1;
		}
		require(c == '\n' || (c >= 0x20 && c != 0x7f),
			"a message contains control characters");
	}
	require(heard->said_bytes == 0 || heard->said[heard->said_bytes - 1] == '\n',
		"a message does not end with a newline");
	return lines;
}

#ifdef FUZZ_REPLAY
#include "without.h"
#endif

#endif
