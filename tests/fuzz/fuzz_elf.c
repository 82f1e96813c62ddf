/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at all as an ELF file: the readers of mam info --check must end, and what they give out
 * must lie where they say.
 *
 * With libFuzzer (clang -fsanitize=fuzzer) this file is the target. Compiled plainly, with
 * -DFUZZ_REPLAY, it has a main(): each file named on the command line is read as it is, cut short
 * at every of its first bytes and here and there behind, and with numbers in it changed, the same
 * ones in every run.
 */
#define _GNU_SOURCE /* memfd_create */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Not assert(): it must hold with NDEBUG too. */
static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_elf: %s\n", what);
	abort();
}

/* Reads every byte, so that a sanitizer sees one that is not there. */
static size_t length_of(const char *text)
{
	return text == NULL ? 0 : strlen(text);
}

static void check(const struct elf *elf)
{
	size_t total = length_of(elf->soname) + length_of(elf->rpath) + length_of(elf->runpath);

	require(elf->needed_count <= ELF_NEEDED_MOST, "more names than there is room for");
	for (size_t i = 0; i < elf->needed_count; i++) {
		require(elf->needed[i] != NULL && elf->needed[i][0] != '\0', "a name of nothing");
		total += length_of(elf->needed[i]);
	}
	require(memchr(elf->interpreter, '\0', sizeof(elf->interpreter)) != NULL,
		"an interpreter without an end");
	require(elf->names != NULL || total == 0, "names from nowhere");
	require(elf->kind == ELF_DYNAMIC || elf->kind == ELF_BROKEN || elf->needed_count == 0,
		"libraries of a file that needs none");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int file = -1;
	static char path[64];
	struct elf elf;

	if (file < 0) {
		file = memfd_create("elf", MFD_CLOEXEC);
		require(file >= 0, "no file in memory");
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	}
	if (ftruncate(file, 0) != 0 || pwrite(file, data, bytes, 0) != (ssize_t)bytes)
		return 0;
	elf_read(path, &elf);
	check(&elf);
	elf_release(&elf);
	elf_mentions(path, "libcuda.so");
	return 0;
}

#ifdef FUZZ_REPLAY
enum { MOST = 1 << 20, CHANGES = 4000, CUTS = 600, MANY = 2 * ELF_NEEDED_MOST };

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A few numbers that readers trip over, at places that are mostly near the start. */
static void change(uint8_t *data, size_t bytes, uint64_t *state)
{
	static const uint64_t numbers[] = { 0,
					    1,
					    0x7f,
					    0xff,
					    0xffff,
					    0x7fffffff,
					    0xffffffff,
					    UINT64_MAX,
					    UINT64_MAX - 15,
					    (uint64_t)1 << 63 };
	uint64_t number = numbers[next(state) % (sizeof(numbers) / sizeof(numbers[0]))];
	size_t width = (size_t)1 << next(state) % 4;
	size_t range = next(state) % 4 == 0 ? bytes : bytes < 1024 ? bytes : 1024;
	size_t place = next(state) % range;

	if (next(state) % 2 == 0)
		place = place / width * width;
	if (width <= bytes - place)
		memcpy(data + place, &number, width);
}

/* More needed libraries than there is room for: a table of them behind the file's end. */
static void need_many(const uint8_t *data, size_t bytes)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)data;
	uint8_t *copy = calloc(1, bytes + MANY * sizeof(Elf64_Dyn));
	Elf64_Dyn *entry = (Elf64_Dyn *)(copy + bytes / 16 * 16);

	require(copy != NULL, "no memory");
	memcpy(copy, data, bytes);
	for (size_t i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr *part = (Elf64_Phdr *)(copy + header->e_phoff) + i;

		if (part->p_type != PT_DYNAMIC)
			continue;
		for (size_t place = 0; place < part->p_filesz; place += sizeof(*entry)) {
			memcpy(entry, data + part->p_offset + place, sizeof(*entry));
			entry += entry->d_tag == DT_STRTAB || entry->d_tag == DT_STRSZ;
		}
		part->p_offset = bytes / 16 * 16;
		part->p_filesz = MANY * sizeof(*entry);
	}
	while ((uint8_t *)(entry + 1) <= copy + bytes + (MANY - 1) * sizeof(*entry))
		*entry++ = (Elf64_Dyn){ .d_tag = DT_NEEDED, .d_un.d_val = 1 };
	LLVMFuzzerTestOneInput(copy, bytes + MANY * sizeof(*entry));
	free(copy);
}

static bool play(const char *path)
{
	FILE *stream = fopen(path, "rb");
	uint8_t *data = malloc(MOST), *copy = malloc(MOST);
	uint64_t state = 88172645463325252u;
	size_t bytes;

	if (stream == NULL || data == NULL || copy == NULL) {
		fprintf(stderr, "fuzz_elf: %s cannot be read\n", path);
		exit(EXIT_FAILURE);
	}
	bytes = fread(data, 1, MOST, stream);
	fclose(stream);
	LLVMFuzzerTestOneInput(data, bytes);
	if (bytes > 1024 && data[0] == ELFMAG0)
		need_many(data, bytes);
	for (size_t i = 0; bytes > 0 && i < CUTS; i++)
		LLVMFuzzerTestOneInput(data, i < CUTS / 2 ? i % bytes : next(&state) % bytes);
	for (size_t i = 0; bytes > 0 && i < CHANGES; i++) {
		memcpy(copy, data, bytes);
		for (uint64_t changes = 1 + next(&state) % 4; changes > 0; changes--)
			change(copy, bytes, &state);
		LLVMFuzzerTestOneInput(copy, bytes);
	}
	free(data);
	free(copy);
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
