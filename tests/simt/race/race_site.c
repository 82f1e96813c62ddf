/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_site.c - interned program counters.
 *
 * 1. A hash table maps a program counter to its entry, whose text is the site. Entries are never
 *    freed: there is one per instruction of the program that accesses memory.
 * 2. The text contains the object (dladdr) and the offset in it. An object's load address differs
 *    between runs, the rest does not.
 * 3. For human readers, addr2line runs once per entry, and its output replaces the text. If memory
 *    runs out, sites are "an unknown place".
 */
#include "simt/race/race_site.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 256
#define TEXT_BYTES 160

struct place {
	const void *pc;
	bool resolved;
	char text[TEXT_BYTES];
};

static struct place **places;
static size_t places_room, places_count;
static const char unknown[] = "an unknown place";

static size_t place_index(const void *pc, struct place *const *table, size_t room)
{
	size_t i = (size_t)(((uintptr_t)pc * 0x9e3779b97f4a7c15u) >> 20) & (room - 1);

	while (table[i] && table[i]->pc != pc)
		i = (i + 1) & (room - 1);
	return i;
}

static bool grow(void)
{
	size_t room = places_room ? 2 * places_room : ROOM_FIRST;
	struct place **table = calloc(room, sizeof(struct place *));

	if (!table)
		return false;
	for (size_t i = 0; i < places_room; i++)
		if (places[i])
			table[place_index(places[i]->pc, table, room)] = places[i];
	free(places);
	places = table;
	places_room = room;
	return true;
}

/* The address of the call, not of the instruction after it. */
static const char *call_of(const void *pc)
{
	return (const char *)((uintptr_t)pc - 1);
}

static void describe(struct place *place)
{
	const char *name;
	Dl_info info;

	if (!dladdr(call_of(place->pc), &info) || !info.dli_fname) {
		snprintf(place->text, sizeof(place->text), "%s", unknown);
		return;
	}
	name = strrchr(info.dli_fname, '/');
	snprintf(place->text, sizeof(place->text), "%.120s+0x%zx", name ? name + 1 : info.dli_fname,
		 (size_t)(call_of(place->pc) - (const char *)info.dli_fbase));
}

const char *race_site_of(const void *pc)
{
	struct place *place;
	size_t i;

	if (2 * places_count >= places_room && !grow())
		return unknown;
	i = place_index(pc, places, places_room);
	if (places[i])
		return places[i]->text;
	place = calloc(1, sizeof(*place));
	if (!place)
		return unknown;
	place->pc = pc;
	describe(place);
	places[i] = place;
	places_count++;
	return place->text;
}

static struct place *place_of_text(const char *site)
{
	for (size_t i = 0; i < places_room; i++)
		if (places[i] && places[i]->text == site)
			return places[i];
	return NULL;
}

/* Shared objects are named by their path, the program itself by its path in /proc. */
static void resolve(struct place *place)
{
	char command[4352], line[1024];
	const char *object;
	uintptr_t base;
	Dl_info info;
	FILE *tool;

	place->resolved = true;
	if (!dladdr(call_of(place->pc), &info) || !info.dli_fname)
		return;
	object = strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe";
	base = (uintptr_t)info.dli_fbase;
	if (strchr(object, '\''))
		return;
	snprintf(command, sizeof(command), "addr2line -e '%s' 0x%zx 2>/dev/null", object,
		 (size_t)((uintptr_t)call_of(place->pc) - base));
	tool = popen(command, "r");
	if (!tool)
		return;
	if (fgets(line, sizeof(line), tool) && line[0] != '?' && strchr(line, ':')) {
		size_t length = strcspn(line, " \n");
		size_t skip = length < TEXT_BYTES ? 0 : length - TEXT_BYTES + 1;

		memcpy(place->text, line + skip, length - skip);
		place->text[length - skip] = '\0';
	}
	pclose(tool);
}

const char *race_site_text(const char *site)
{
	struct place *place;
	const char *slash, *from;

	if (!site)
		return unknown;
	place = place_of_text(site);
	if (place && !place->resolved)
		resolve(place);
	slash = strrchr(site, '/');
	if (!slash)
		return site;
	for (from = slash; from > site && from[-1] != '/'; from--)
		;
	return from;
}
