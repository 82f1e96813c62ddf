/* SPDX-License-Identifier: Apache-2.0 */
/*
 * without.h - a main() for fuzz targets without a fuzzer. Each named file is run as it is, then
 * truncated and with changed numbers: the same inputs in every run, until FUZZ_SECONDS (default 2)
 * have passed. Prints how many files were not empty.
 */
#ifndef TESTS_FUZZ_WITHOUT_H
#define TESTS_FUZZ_WITHOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WITHOUT_MAX = 1 << 20, WITHOUT_CHANGES = 150, WITHOUT_CUTS = 30 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static uint64_t without_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A few numbers that often break readers, mostly near the start. */
static void without_change(uint8_t *data, size_t bytes, uint64_t *state)
{
	static const uint64_t numbers[] = {
		0,          1,          0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, UINT64_MAX - 15,
		UINT64_MAX, 1ull << 63,
	};
	uint64_t number = numbers[without_next(state) % (sizeof(numbers) / sizeof(numbers[0]))];
	size_t width = (size_t)1 << without_next(state) % 4;
	size_t range = without_next(state) % 4 == 0 || bytes < 1024 ? bytes : 1024;
	size_t place = without_next(state) % range;

	if (without_next(state) % 2 == 0)
		place = place / width * width;
	if (width <= bytes - place)
		memcpy(data + place, &number, width);
}

/* Writes the current input to the file MAM_FUZZ_LAST, for inspection if it is the last one. */
static void without_keep(const uint8_t *data, size_t bytes)
{
	const char *path = getenv("MAM_FUZZ_LAST");
	FILE *file = path ? fopen(path, "wb") : NULL;

	if (!file)
		return;
	fwrite(data, 1, bytes, file);
	fclose(file);
}

/* In memory of exactly its size, so that a sanitizer detects one byte too many. */
static void without_copy(const uint8_t *data, size_t bytes, unsigned int changes, uint64_t *state)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);

	if (!copy)
		exit(EXIT_FAILURE);
	memcpy(copy, data, bytes);
	while (bytes && changes-- > 0)
		without_change(copy, bytes, state);
	without_keep(copy, bytes);
	LLVMFuzzerTestOneInput(copy, bytes);
	free(copy);
}

static bool without_time(void)
{
	static struct timespec begun;
	const char *seconds = getenv("FUZZ_SECONDS");
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (begun.tv_sec == 0)
		begun = now;
	return now.tv_sec - begun.tv_sec < (seconds ? atol(seconds) : 2);
}

/* Unchanged, or in all other ways. */
static bool without_file(const char *path, bool changed)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(WITHOUT_MAX);
	uint64_t state = 88172645463325252u;
	size_t bytes;

	if (!file || !data) {
		fprintf(stderr, "fuzz: cannot read '%s'\n", path);
		exit(EXIT_FAILURE);
	}
	bytes = fread(data, 1, WITHOUT_MAX, file);
	fclose(file);
	if (!changed)
		without_copy(data, bytes, 0, &state);
	for (size_t i = 0; changed && bytes > 0 && i < WITHOUT_CUTS && without_time(); i++) {
		size_t cut = i < WITHOUT_CUTS / 2 ? i : without_next(&state);

		without_copy(data, cut % bytes, 0, &state);
	}
	for (size_t i = 0; changed && bytes > 0 && i < WITHOUT_CHANGES && without_time(); i++)
		without_copy(data, bytes, 1 + without_next(&state) % 4, &state);
	free(data);
	return bytes > 0;
}

int main(int count, char **paths)
{
	int played = 0;

	for (int i = 1; i < count; i++)
		played += without_file(paths[i], false);
	for (int i = 1; i < count; i++)
		without_file(paths[i], true);
	printf("%d\n", played);
	return EXIT_SUCCESS;
}

#endif
