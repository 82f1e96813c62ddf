/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an ELF file: the readers of mam info --check must terminate, and their results must
 * lie inside the file.
 */
#include "run/elf_read.h"
#include "fuzz.h"

/* Reads every byte, so that a sanitizer detects an invalid one. */
static size_t length_of(const char *text)
{
	return text == NULL ? 0 : strlen(text);
}

static void check(const struct elf *elf)
{
	size_t total = length_of(elf->soname) + length_of(elf->rpath) + length_of(elf->runpath);

	require(elf->needed_count <= ELF_NEEDED_MAX, "more names than fit");
	for (size_t i = 0; i < elf->needed_count; i++) {
		require(elf->needed[i] != NULL && elf->needed[i][0] != '\0', "an empty name");
		total += length_of(elf->needed[i]);
	}
	require(memchr(elf->interpreter, '\0', sizeof(elf->interpreter)) != NULL,
		"an interpreter without a terminating zero");
	require(elf->names != NULL || total == 0, "a name outside the buffer");
	require(elf->kind == ELF_DYNAMIC || elf->kind == ELF_BROKEN || elf->needed_count == 0,
		"libraries of a file that needs none");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const char library[] = "libcuda.so";
	static struct fuzz_file file;
	struct elf elf;

	fuzz_file_put(&file, data, bytes);
	elf_read(file.path, &elf);
	check(&elf);
	elf_release(&elf);
	require(!elf_mentions(file.path, library) || memmem(data, bytes, library, strlen(library)),
		"a library that is not named in the file");
	return 0;
}
