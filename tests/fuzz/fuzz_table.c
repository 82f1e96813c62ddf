/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as operations on the table of ids and the list of names, compared with lists that are
 * searched from end to end.
 *
 * An operation is a byte that selects it, and its arguments: an id of eight bytes or a nearby one,
 * many consecutive ids, a name.
 */
#include "kit/idtable.h"
#include "kit/names.h"
#include "fuzz.h"

#define IDS 3000
#define NAMES 200
#define NAME_BYTES 32

static struct model {
	uint64_t ids[IDS];
	uint32_t blocks[IDS];
	size_t count;
	char names[NAMES][NAME_BYTES];
	uint32_t name_count;
} model;

static size_t place_of(uint64_t id)
{
	size_t at = 0;

	while (at < model.count && model.ids[at] != id)
		at++;
	return at;
}

static void find(const struct idtable *table, uint64_t id)
{
	size_t at = place_of(id);

	require(idtable_find(table, id) == (at < model.count ? model.blocks[at] : IDTABLE_NONE),
		"an id has the wrong block");
}

static void put(struct idtable *table, uint64_t id, uint32_t block)
{
	size_t at = place_of(id);
	uint32_t *now;

	if (at == IDS)
		return;
	now = idtable_at(table, id);
	require(now != NULL, "an id cannot be added");
	require(*now == (at < model.count ? model.blocks[at] : IDTABLE_NONE),
		"an id has the slot of another id");
	*now = model.blocks[at] = block;
	model.ids[at] = id;
	model.count += at == model.count;
}

static void name(struct names *names, struct fuzz_bytes *from)
{
	char text[NAME_BYTES] = "";
	size_t bytes = fuzz_byte(from) % NAME_BYTES;
	uint32_t wanted = 0, number = UINT32_MAX;

	for (size_t i = 0; i < bytes; i++)
		text[i] = (char)fuzz_byte(from);
	for (wanted = 0; wanted < model.name_count; wanted++)
		if (strlen(model.names[wanted]) == strnlen(text, bytes) &&
		    memcmp(model.names[wanted], text, strnlen(text, bytes)) == 0)
			break;
	if (wanted == NAMES)
		return;
	require(names_number(names, text, bytes, &number) && number == wanted,
		"a name has the wrong number");
	if (wanted == model.name_count)
		memcpy(model.names[model.name_count++], text, strnlen(text, bytes));
}

static void check(const struct idtable *table, const struct names *names)
{
	require(table->used == model.count, "ids are miscounted");
	require(3 * table->used <= 2 * table->slots_count, "the table is too full");
	require((table->slots_count & (table->slots_count - 1)) == 0,
		"the size is not a power of two");
	require(names->count == model.name_count, "names are miscounted");
	for (size_t i = 0; i < model.count; i++)
		require(idtable_find(table, model.ids[i]) == model.blocks[i], "an id is missing");
	for (uint32_t i = 0; i < model.name_count; i++)
		require(strcmp(names->texts[i], model.names[i]) == 0, "a name is missing");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_bytes from = { data, data + bytes };
	struct idtable table = { 0 };
	struct names names;
	uint32_t block = 0;
	uint64_t id = 0, stride;

	memset(&model, 0, sizeof(model));
	model.name_count = 1; /* "" */
	require(names_init(&names), "no memory");
	find(&table, 0);
	while (fuzz_left(&from) > 0) {
		unsigned int step = fuzz_byte(&from);

		switch (step % 6) {
		case 0: put(&table, id = fuzz_number(&from, 8), block++); break;
		case 1: put(&table, id += fuzz_byte(&from) - 128u, block++); break;
		case 2: find(&table, fuzz_number(&from, 8)); break;
		case 3: find(&table, id + fuzz_byte(&from) - 128u); break;
		case 4:
			stride = (uint64_t)fuzz_byte(&from) << fuzz_byte(&from) % 57;
			for (unsigned int i = 0; i < 4 * (step / 6); i++)
				put(&table, id += stride, block++);
			break;
		default: name(&names, &from); break;
		}
	}
	check(&table, &names);
	idtable_fini(&table);
	names_fini(&names);
	return 0;
}
