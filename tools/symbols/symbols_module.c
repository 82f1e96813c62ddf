/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_module.c - combine the sources of symbols of one file:
 *
 * 1. DWARF of the file itself, or of its debug file (symbols_files.h);
 * 2. where DWARF has no function: the symbol table of the debug file or the file.
 *
 * If the file is missing or has another build ID than recorded, a debug file with the recorded one
 * is sufficient.
 */
#include "symbols/symbols_module.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "symbols/symbols_dwarf.h"
#include "symbols/symbols_elf.h"
#include "symbols/symbols_files.h"
#include "symbols/symbols_jit.h"

struct symbols_module {
	bool changed;
	struct symbols_elf elf; /* of JIT code, its table */
	struct symbols_dwarf *dwarf;
	char *name; /* the text that the last call returned */
};

/* Use the debug file at `path`: its DWARF, and its symbol table if that is more complete. */
static void add_debug_file(struct symbols_module *module, const char *path, bool dwarf)
{
	struct symbols_elf debug;

	if (dwarf)
		module->dwarf = symbols_dwarf_open(path);
	if (symbols_elf_read(path, &debug) && debug.whole && !module->elf.whole) {
		symbols_elf_release(&module->elf);
		module->elf = debug;
		return;
	}
	symbols_elf_release(&debug);
}

static void find_debug_file(struct symbols_module *module, const char *of, bool dwarf)
{
	char path[PATH_MAX];

	if (symbols_files_by_id(module->elf.build_id, path) ||
	    symbols_files_by_link(of, &module->elf, path))
		add_debug_file(module, path, dwarf);
}

/* The file cannot be used: a debug file of the recorded build ID may exist. */
static void use_recorded(struct symbols_module *module, const char *build_id, bool dwarf)
{
	char path[PATH_MAX];

	symbols_elf_release(&module->elf);
	if (build_id != NULL && symbols_files_by_id(build_id, path))
		add_debug_file(module, path, dwarf);
}

static void open_file(struct symbols_module *module, const char *path, const char *build_id,
		      bool dwarf)
{
	const char *recorded = build_id && strcmp(build_id, "-") == 0 ? "" : build_id;

	if (!symbols_elf_read(path, &module->elf)) {
		use_recorded(module, recorded, dwarf);
		return;
	}
	if (recorded != NULL && strcmp(recorded, module->elf.build_id) != 0) {
		use_recorded(module, recorded, dwarf);
		module->changed = module->dwarf == NULL && module->elf.table.count == 0;
		return;
	}
	if (dwarf)
		module->dwarf = symbols_dwarf_open(path);
	if (module->dwarf == NULL && (dwarf || !module->elf.whole))
		find_debug_file(module, path, dwarf);
}

struct symbols_module *symbols_module_open(const char *path, const char *build_id, bool dwarf)
{
	struct symbols_module *module = calloc(1, sizeof(*module));

	if (module == NULL)
		return NULL;
	if (!symbols_jit_is(path))
		open_file(module, path, build_id, dwarf);
	else
		symbols_jit_read(path, &module->elf.table);
	return module;
}

void symbols_module_close(struct symbols_module *module)
{
	if (module == NULL)
		return;
	symbols_elf_release(&module->elf);
	symbols_dwarf_close(module->dwarf);
	free(module->name);
	free(module);
}

bool symbols_module_changed(const struct symbols_module *module)
{
	return module->changed;
}

/*
 * gcc stores no mangled names of static C++ functions: whether DWARF has only the bare name, so that
 * the symbol table may know more. "operator()" is such a name, too.
 */
static bool is_bare(const char *name)
{
	static const char call[] = "operator()";

	return strchr(name + (strncmp(name, call, strlen(call)) == 0 ? strlen(call) : 0), '(') ==
	       NULL;
}

size_t symbols_module_find(struct symbols_module *module, uint64_t offset, struct symbol *found,
			   size_t max)
{
	const struct symbols_function *function;
	size_t count = 0;
	const char *name;

	if (max == 0)
		return 0;
	if (module->dwarf != NULL)
		count = symbols_dwarf_find(module->dwarf, offset, found, max);
	name = count > 0 ? found[count - 1].function : "";
	if (!is_bare(name))
		return count;
	function = symbols_table_find(&module->elf.table, offset);
	if (function == NULL || (name[0] != '\0' && strncmp(function->name, "_Z", 2) != 0))
		return count;
	if (count == 0)
		found[count++] = (struct symbol){ "", "", 0 };
	free(module->name);
	module->name = demangle(function->name);
	found[count - 1].function = module->name ? module->name : "";
	return count;
}
