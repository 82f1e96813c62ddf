/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - a main() for fuzz targets where there is no fuzzer. Each file named is played as it is,
 * cut short, and with numbers in it changed: the same inputs in every run. How many files had
 * something in them is printed.
 */
#ifndef TESTS_FUZZ_REPLAY_H
#define TESTS_FUZZ_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPLAY_MOST = 1 << 20, REPLAY_CHANGES = 150, REPLAY_CUTS = 30 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static uint64_t replay_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A few numbers that readers trip over, at places that are mostly near the start. */
static void replay_change(uint8_t *data, size_t bytes, uint64_t *state)
{
	static const uint64_t numbers[] = {
		0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, UINT64_MAX, UINT64_MAX - 15, 1ull << 63,
	};
	uint64_t number = numbers[replay_next(state) % (sizeof(numbers) / sizeof(numbers[0]))];
	size_t width = (size_t)1 << replay_next(state) % 4;
	size_t range = replay_next(state) % 4 == 0 || bytes < 1024 ? bytes : 1024;
	size_t place = replay_next(state) % range;

	if (replay_next(state) % 2 == 0)
		place = place / width * width;
	if (width <= bytes - place)
		memcpy(data + place, &number, width);
}

/* In memory of just its size, so that a sanitizer sees one byte too many. */
static void replay_copy(const uint8_t *data, size_t bytes, unsigned int changes, uint64_t *state)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);

	if (!copy)
		exit(EXIT_FAILURE);
	memcpy(copy, data, bytes);
	while (bytes && changes-- > 0)
		replay_change(copy, bytes, state);
	LLVMFuzzerTestOneInput(copy, bytes);
	free(copy);
}

static bool replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(REPLAY_MOST);
	uint64_t state = 88172645463325252u;
	size_t bytes;

	if (!file || !data) {
		fprintf(stderr, "replay: %s cannot be read\n", path);
		exit(EXIT_FAILURE);
	}
	bytes = fread(data, 1, REPLAY_MOST, file);
	fclose(file);
	replay_copy(data, bytes, 0, &state);
	for (size_t i = 0; bytes > 0 && i < REPLAY_CUTS; i++)
		replay_copy(data, i < REPLAY_CUTS / 2 ? i % bytes : replay_next(&state) % bytes, 0, &state);
	for (size_t i = 0; bytes > 0 && i < REPLAY_CHANGES; i++)
		replay_copy(data, bytes, 1 + replay_next(&state) % 4, &state);
	free(data);
	return bytes > 0;
}

int main(int count, char **paths)
{
	int played = 0;

	for (int i = 1; i < count; i++)
		played += replay_file(paths[i]);
	printf("%d\n", played);
	return EXIT_SUCCESS;
}

#endif
