/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - a main() for fuzz targets whose input is bytes, where there is no fuzzer: each file named
 * is played once; how many had something in them is printed.
 */
#ifndef TESTS_FUZZ_REPLAY_H
#define TESTS_FUZZ_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static bool play(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc((size_t)1 << 20);
	size_t bytes;

	if (!file || !data) {
		fprintf(stderr, "replay: %s cannot be read\n", path);
		exit(EXIT_FAILURE);
	}
	bytes = fread(data, 1, (size_t)1 << 20, file);
	LLVMFuzzerTestOneInput(data, bytes);
	free(data);
	fclose(file);
	return bytes > 0;
}

int main(int count, char **paths)
{
	int played = 0;

	for (int i = 1; i < count; i++)
		played += play(paths[i]);
	printf("%d\n", played);
	return EXIT_SUCCESS;
}

#endif
