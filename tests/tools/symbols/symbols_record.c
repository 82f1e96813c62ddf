/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that symbols.sh builds: record(MARK) prints MARK, and the path and the offset of the
 * call, as the recorder of mam run does.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <link.h>
#include <stdint.h>
#include <stdio.h>

void record(const char *mark);

struct search {
	uintptr_t pc, bias;
	const char *path;
};

static int visit(struct dl_phdr_info *object, size_t bytes, void *user)
{
	struct search *search = user;

	(void)bytes;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		uintptr_t start = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;

		if (object->dlpi_phdr[i].p_type == PT_LOAD &&
		    search->pc - start < object->dlpi_phdr[i].p_memsz) {
			search->bias = object->dlpi_addr;
			search->path = object->dlpi_name;
			return 1;
		}
	}
	return 0;
}

void record(const char *mark)
{
	struct search search = { .pc = (uintptr_t)__builtin_return_address(0) - 1 };

	dl_iterate_phdr(visit, &search);
	printf("%s %s %lx\n", mark, search.path && *search.path ? search.path : "-",
	       (unsigned long)(search.pc - search.bias));
}
