/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_mentions.c - search the constants of an ELF file for a string.
 *
 * 1. If the section headers are valid: search the sections whose names start with .rodata. GPU
 *    kernels have sections of their own, which can be a hundred times larger and are skipped.
 * 2. Otherwise, search the segments that are loaded and not writable.
 *
 * Bound: each byte of these is read once, 64 KiB at a time, and at most SCAN_MAX bytes in total.
 */
#define _GNU_SOURCE /* memmem */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/elf_file.h"

#define SCAN_MAX (UINT64_C(1) << 30)
#define PIECE_BYTES 65536
#define TEXT_MAX 64

struct scan {
	struct elf_file file;
	const char *text;
	size_t length;
	uint64_t left; /* bytes that may still be read */
};

/* Adjacent pieces overlap, so that a string that spans two of them is found. */
static bool in_range(struct scan *scan, uint64_t offset, uint64_t bytes)
{
	char piece[PIECE_BYTES + TEXT_MAX];

	if (offset > scan->file.bytes)
		return false;
	if (bytes > scan->file.bytes - offset)
		bytes = scan->file.bytes - offset;
	while (bytes >= scan->length && scan->left > 0) {
		size_t some = bytes < sizeof(piece) ? (size_t)bytes : sizeof(piece);
		size_t step = some < sizeof(piece) ? some : PIECE_BYTES;

		if (!elf_file_get(&scan->file, offset, piece, some))
			return false;
		if (memmem(piece, some, scan->text, scan->length) != NULL)
			return true;
		offset += step;
		bytes -= step;
		scan->left -= step < scan->left ? step : scan->left;
	}
	return false;
}

static bool is_constants(struct scan *scan, const Elf64_Shdr *names, const Elf64_Shdr *section)
{
	char name[8];

	return section->sh_type == SHT_PROGBITS && names->sh_offset <= scan->file.bytes &&
	       section->sh_name < scan->file.bytes - names->sh_offset &&
	       elf_file_get(&scan->file, names->sh_offset + section->sh_name, name, 7) &&
	       memcmp(name, ".rodata", 7) == 0;
}

/* *sound: the file has sections of constants, so the result holds for the whole file. */
static bool in_sections(struct scan *scan, const Elf64_Ehdr *header, bool *sound)
{
	Elf64_Shdr section, names;
	bool found = false;

	*sound = false;
	if (header->e_shentsize != sizeof(section) || header->e_shnum == 0 ||
	    header->e_shoff > scan->file.bytes ||
	    !elf_file_get(&scan->file,
			  header->e_shoff + (uint64_t)header->e_shstrndx * sizeof(section), &names,
			  sizeof(names)))
		return false;
	for (uint64_t i = 0; i < header->e_shnum && !found; i++) {
		if (!elf_file_get(&scan->file, header->e_shoff + i * sizeof(section), &section,
				  sizeof(section)))
			break;
		if (!is_constants(scan, &names, &section))
			continue;
		*sound = true;
		found = in_range(scan, section.sh_offset, section.sh_size);
	}
	return found;
}

static bool in_parts(struct scan *scan, const Elf64_Ehdr *header)
{
	Elf64_Phdr part;

	if (header->e_phentsize != sizeof(part) || header->e_phoff > scan->file.bytes)
		return false;
	for (uint64_t i = 0; i < header->e_phnum; i++) {
		if (!elf_file_get(&scan->file, header->e_phoff + i * sizeof(part), &part,
				  sizeof(part)))
			return false;
		if (part.p_type == PT_LOAD && !(part.p_flags & PF_W) &&
		    in_range(scan, part.p_offset, part.p_filesz))
			return true;
	}
	return false;
}

bool elf_mentions(const char *path, const char *text)
{
	struct scan scan = { .text = text, .length = strlen(text), .left = SCAN_MAX };
	Elf64_Ehdr header;
	enum elf_kind kind;
	bool found = false, sound;

	if (scan.length > TEXT_MAX || !elf_file_open(path, &scan.file))
		return false;
	if (elf_file_header(&scan.file, &header, &kind)) {
		found = in_sections(&scan, &header, &sound);
		if (!sound)
			found = in_parts(&scan, &header);
	}
	close(scan.file.number);
	return found;
}
