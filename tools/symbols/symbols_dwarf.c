/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_dwarf.c - look up addresses in DWARF.
 *
 * 1. Opening a file reads the address ranges of each unit. .debug_aranges is not used: clang does
 *    not write it.
 * 2. The first lookup in a unit reads the ranges of its functions and of the functions that are
 *    inlined into them: nodes, each with the function that it is inlined into.
 * 3. Ranges become a sorted list of steps, each of which has the owner of the addresses up to the
 *    next step: the innermost range that contains them. A lookup is two binary searches, and
 *    one in the line table, which libdw keeps.
 *
 * A line table has the line of the innermost function; for its callers, the inlined function has
 * the line of the call.
 *
 * Damaged files: ranges that overlap partly are cut, siblings have to be in the order of the file,
 * and the number of entries that are read per unit is bounded by its length.
 */
#include "symbols/symbols_dwarf.h"

#include <stdlib.h>

#ifdef MAM_HAVE_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kit/names.h"
#include "symbols/demangle.h"
#include "run/elf_file.h"

#define NONE UINT32_MAX
#define DEPTH_MAX 256

/* Addresses from `start` to the next step belong to `owner`. */
struct step {
	uint64_t start;
	uint32_t owner; /* a unit or a node; NONE: nothing */
};

struct range {
	uint64_t start, end;
	uint32_t owner, depth; /* an inlined function is deeper than its caller */
};

struct ranges {
	struct range *list;
	size_t count, room;
	bool failed; /* out of memory */
};

struct steps {
	struct step *list;
	size_t count;
};

/* A function, or one that is inlined into its parent. */
struct node {
	Dwarf_Die die;
	uint32_t parent; /* NONE: not inlined */
	char *name;      /* NULL: not read yet */
};

struct unit {
	Dwarf_Die lines; /* has the line table */
	Dwarf_Die tree;  /* has the functions: the same one, or its split unit */
	bool read;
	struct node *nodes;
	uint32_t count, room;
	struct steps steps;
};

struct symbols_dwarf {
	int file;
	Dwarf *dwarf;
	struct unit *units;
	uint32_t count, room;
	struct steps steps;
	struct names paths; /* of source files */
};

/* A growing list: room for one more element. False: out of memory. */
static bool make_room(void *list, uint32_t count, uint32_t *room, size_t bytes)
{
	void **where = list;
	uint32_t wanted = *room ? 2 * *room : 64;
	void *grown;

	if (count < *room)
		return true;
	grown = wanted < NONE / 2 ? realloc(*where, wanted * bytes) : NULL;
	if (grown == NULL)
		return false;
	*where = grown;
	*room = wanted;
	return true;
}

static void add_range(struct ranges *ranges, struct range range)
{
	if (ranges->count == ranges->room) {
		size_t room = ranges->room ? 2 * ranges->room : 64;
		struct range *grown = realloc(ranges->list, room * sizeof(*grown));

		if (grown == NULL) {
			ranges->failed = true;
			return;
		}
		ranges->list = grown;
		ranges->room = room;
	}
	ranges->list[ranges->count++] = range;
}

/* Add the ranges of an entry. Linkers leave those of removed functions at address 0. */
static bool add_ranges(struct ranges *ranges, Dwarf_Die *die, uint32_t owner, uint32_t depth)
{
	const size_t before = ranges->count;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (start > 0 && start < end)
			add_range(ranges, (struct range){ start, end, owner, depth });
	return ranges->count > before;
}

static int compare(const void *first, const void *second)
{
	const struct range *a = first, *b = second;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;
}

static void put_step(struct steps *steps, uint64_t start, uint32_t owner)
{
	if (steps->count > 0 && steps->list[steps->count - 1].start == start)
		steps->count--;
	steps->list[steps->count++] = (struct step){ start, owner };
}

/* Turn ranges into steps, and free them. `open` are the ranges that contain the current address. */
static bool make_steps(struct ranges *ranges, struct steps *steps)
{
	struct range *list = ranges->list, **open = malloc((ranges->count + 1) * sizeof(*open));
	size_t depth = 0;

	steps->list = malloc((2 * ranges->count + 1) * sizeof(*steps->list));
	if (ranges->failed || open == NULL || steps->list == NULL) {
		free(list);
		free(open);
		return false;
	}
	if (ranges->count > 0)
		qsort(list, ranges->count, sizeof(*list), compare);
	for (size_t i = 0; i <= ranges->count; i++) {
		while (depth > 0 && (i == ranges->count || open[depth - 1]->end <= list[i].start)) {
			uint64_t end = open[--depth]->end;

			put_step(steps, end, depth > 0 ? open[depth - 1]->owner : NONE);
		}
		if (i == ranges->count)
			break;
		if (depth > 0 && list[i].end > open[depth - 1]->end)
			list[i].end = open[depth - 1]->end;
		open[depth++] = &list[i];
		put_step(steps, list[i].start, list[i].owner);
	}
	free(list);
	free(open);
	return true;
}

static uint32_t owner_of(const struct steps *steps, uint64_t address)
{
	size_t low = 0, high = steps->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (steps->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? steps->list[low - 1].owner : NONE;
}

/* The length of the unit that an entry is the first one of. */
static size_t unit_bytes(Dwarf_Die *die)
{
	Dwarf_Off start = dwarf_dieoffset(die) - dwarf_cuoffset(die), end = 0;

	if (dwarf_next_unit(dwarf_cu_getdwarf(die->cu), start, &end, NULL, NULL, NULL, NULL, NULL,
			    NULL, NULL) != 0 ||
	    end < start)
		return 0;
	return end - start;
}

static bool read_units(struct symbols_dwarf *dwarf)
{
	struct ranges ranges = { .count = 0 };
	Dwarf_CU *at = NULL, *next;
	Dwarf_Die die, split;
	uint8_t type;

	while (dwarf_get_units(dwarf->dwarf, at, &next, NULL, &type, &die, &split) == 0) {
		struct unit *unit;

		at = next;
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (!make_room(&dwarf->units, dwarf->count, &dwarf->room, sizeof(*unit)))
			break;
		unit = &dwarf->units[dwarf->count];
		memset(unit, 0, sizeof(*unit));
		unit->lines = die;
		unit->tree = type == DW_UT_skeleton && dwarf_tag(&split) ? split : die;
		add_ranges(&ranges, &die, dwarf->count++, 0);
	}
	return make_steps(&ranges, &dwarf->steps) && dwarf->count > 0;
}

struct symbols_dwarf *symbols_dwarf_open(const char *path)
{
	struct symbols_dwarf *dwarf = calloc(1, sizeof(*dwarf));
	struct elf_file file;

	if (dwarf == NULL || !names_init(&dwarf->paths)) {
		free(dwarf);
		return NULL;
	}
	if (!elf_file_open(path, &file)) {
		names_fini(&dwarf->paths);
		free(dwarf);
		return NULL;
	}
	dwarf->file = file.number;
	dwarf->dwarf = dwarf_begin(file.number, DWARF_C_READ);
	if (dwarf->dwarf != NULL && read_units(dwarf))
		return dwarf;
	symbols_dwarf_close(dwarf);
	return NULL;
}

void symbols_dwarf_close(struct symbols_dwarf *dwarf)
{
	if (dwarf == NULL)
		return;
	for (uint32_t i = 0; i < dwarf->count; i++) {
		for (uint32_t j = 0; j < dwarf->units[i].count; j++)
			free(dwarf->units[i].nodes[j].name);
		free(dwarf->units[i].nodes);
		free(dwarf->units[i].steps.list);
	}
	free(dwarf->units);
	free(dwarf->steps.list);
	dwarf_end(dwarf->dwarf);
	names_fini(&dwarf->paths);
	close(dwarf->file);
	free(dwarf);
}

/* The state while the functions of a unit are read. */
struct visit {
	struct unit *unit;
	struct ranges ranges;
	size_t left; /* entries that may still be read */
};

static bool may_contain_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type: return true;
	default: return false;
	}
}

static uint32_t add_node(struct visit *visit, Dwarf_Die *die, uint32_t parent, uint32_t depth)
{
	struct unit *unit = visit->unit;

	if (!make_room(&unit->nodes, unit->count, &unit->room, sizeof(*unit->nodes)) ||
	    !add_ranges(&visit->ranges, die, unit->count, depth))
		return parent;
	unit->nodes[unit->count] = (struct node){ .die = *die, .parent = parent };
	return unit->count++;
}

static void visit_children(struct visit *visit, Dwarf_Die *parent, uint32_t node, uint32_t depth)
{
	Dwarf_Die die, next;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	while (visit->left > 0) {
		int tag = dwarf_tag(&die);

		visit->left--;
		if (may_contain_functions(tag)) {
			uint32_t inner = node;

			if (tag == DW_TAG_subprogram)
				inner = add_node(visit, &die, NONE, depth);
			else if (tag == DW_TAG_inlined_subroutine && node != NONE)
				inner = add_node(visit, &die, node, depth);
			visit_children(visit, &die, inner, depth + 1);
		}
		if (dwarf_siblingof(&die, &next) != 0 ||
		    dwarf_dieoffset(&next) <= dwarf_dieoffset(&die))
			return;
		die = next;
	}
}

static void read_functions(struct unit *unit)
{
	struct visit visit = { .unit = unit, .left = unit_bytes(&unit->tree) };

	unit->read = true;
	visit_children(&visit, &unit->tree, NONE, 0);
	if (!make_steps(&visit.ranges, &unit->steps))
		unit->steps.count = 0;
}

static const char *name_of(struct node *node)
{
	static const unsigned int linkage[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name };
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (node->name != NULL)
		return node->name;
	for (size_t i = 0; i < sizeof(linkage) / sizeof(linkage[0]) && name == NULL; i++)
		name = dwarf_formstring(dwarf_attr_integrate(&node->die, linkage[i], &attribute));
	if (name == NULL)
		name = dwarf_diename(&node->die);
	node->name = demangle(name ? name : "");
	return node->name ? node->name : "";
}

/* The path of a source file; a relative one starts in the folder of the compiler. */
static const char *path_of(struct symbols_dwarf *dwarf, struct unit *unit, const char *file)
{
	Dwarf_Attribute attribute;
	const char *folder;
	char path[PATH_MAX];
	uint32_t number;
	int length;

	if (file == NULL || file[0] == '/')
		return file ? file : "";
	folder = dwarf_formstring(dwarf_attr(&unit->lines, DW_AT_comp_dir, &attribute));
	if (folder == NULL)
		return file;
	length = snprintf(path, sizeof(path), "%s/%s", folder, file);
	if (length < 0 || (size_t)length >= sizeof(path) ||
	    !names_number(&dwarf->paths, path, (size_t)length, &number))
		return file;
	return dwarf->paths.texts[number];
}

/* The last row of the line table at or before an address. */
static void find_line(struct symbols_dwarf *dwarf, struct unit *unit, uint64_t address,
		      struct symbol *found)
{
	Dwarf_Lines *lines;
	Dwarf_Line *line;
	Dwarf_Addr start;
	size_t low = 0, high;
	bool end;
	int number;

	if (dwarf_getsrclines(&unit->lines, &lines, &high) != 0)
		return;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (dwarf_lineaddr(dwarf_onesrcline(lines, middle), &start) != 0)
			return;
		if (start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	line = low > 0 ? dwarf_onesrcline(lines, low - 1) : NULL;
	if (line == NULL || dwarf_lineendsequence(line, &end) != 0 || end)
		return;
	found->file = path_of(dwarf, unit, dwarf_linesrc(line, NULL, NULL));
	found->line = dwarf_lineno(line, &number) == 0 && number > 0 ? (unsigned int)number : 0;
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number = 0;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &number) != 0)
		return 0;
	return number;
}

/* The line from which an inlined function is called: that of its caller's frame. */
static void find_call(struct symbols_dwarf *dwarf, struct unit *unit, struct node *node,
		      struct symbol *caller)
{
	Dwarf_Word index = number_of(&node->die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;
	const char *file = NULL;

	if (dwarf_getsrcfiles(&unit->tree, &files, &count) == 0 && index < count)
		file = dwarf_filesrc(files, index, NULL, NULL);
	caller->file = path_of(dwarf, unit, file);
	caller->line = (unsigned int)number_of(&node->die, DW_AT_call_line);
}

size_t symbols_dwarf_find(struct symbols_dwarf *dwarf, uint64_t offset, struct symbol *found,
			  size_t max)
{
	const uint32_t number = owner_of(&dwarf->steps, offset);
	struct unit *unit;
	uint32_t at;
	size_t count = 0;

	if (number == NONE || max == 0)
		return 0;
	unit = &dwarf->units[number];
	if (!unit->read)
		read_functions(unit);
	found[0] = (struct symbol){ "", "", 0 };
	find_line(dwarf, unit, offset, &found[0]);
	at = owner_of(&unit->steps, offset);
	if (at == NONE)
		return found[0].line > 0;
	for (;;) {
		struct node *node = &unit->nodes[at];

		found[count++].function = name_of(node);
		at = node->parent;
		if (at == NONE || count == max)
			return count;
		find_call(dwarf, unit, node, &found[count]);
	}
}

#else

struct symbols_dwarf *symbols_dwarf_open(const char *path)
{
	(void)path;
	return NULL;
}

void symbols_dwarf_close(struct symbols_dwarf *dwarf)
{
	(void)dwarf;
}

size_t symbols_dwarf_find(struct symbols_dwarf *dwarf, uint64_t offset, struct symbol *found,
			  size_t max)
{
	(void)dwarf;
	(void)offset;
	(void)found;
	(void)max;
	return 0;
}

#endif
