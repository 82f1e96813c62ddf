/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle.c - the values of a pickle, in eight bytes each.
 *
 * A value contains a number of up to 60 bits itself. All others contain an index: of a text (where
 * its characters are), of a list or dictionary (where its items are), or of a wide number. The
 * items of a list are contiguous. A list that has to grow while another one's items follow moves to
 * the end, with twice the capacity: the space that it abandons is smaller than the space that it
 * has.
 */
#include "read/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "read/pickle_parts.h"

bool pickle_more(struct pickle_array *array, size_t each, size_t more)
{
	size_t room = array->room;
	void *wider;

	if (more <= array->room - array->count)
		return true;
	if (more > SIZE_MAX / 4 / each - array->count)
		return false;
	while (room < array->count + more)
		room = room ? 2 * room : 256;
	wider = realloc(array->at, room * each);
	if (!wider)
		return false;
	array->at = wider;
	array->room = room;
	return true;
}

static struct pickle_extent *extent_of(const struct pickle *pickle, struct pickle_value value)
{
	return (struct pickle_extent *)pickle->boxes.at + (value.bits >> PICKLE_KIND_BITS);
}

bool pickle_make_int(struct pickle *pickle, int64_t number, struct pickle_value *value)
{
	const int64_t max = ((int64_t)1 << (63 - PICKLE_KIND_BITS)) - 1;

	if (number >= -max && number <= max) {
		*value = pickle_make(PICKLE_INT, (uint64_t)number);
		return true;
	}
	if (!pickle_more(&pickle->wides, sizeof(int64_t), 1))
		return false;
	memcpy((int64_t *)pickle->wides.at + pickle->wides.count, &number, sizeof(number));
	*value = pickle_make(PICKLE_WIDE, pickle->wides.count++);
	return true;
}

bool pickle_make_float(struct pickle *pickle, double number, struct pickle_value *value)
{
	if (!pickle_more(&pickle->wides, sizeof(double), 1))
		return false;
	memcpy((double *)pickle->wides.at + pickle->wides.count, &number, sizeof(number));
	*value = pickle_make(PICKLE_FLOAT, pickle->wides.count++);
	return true;
}

bool pickle_make_text(struct pickle *pickle, enum pickle_kind kind, size_t bytes,
		      struct pickle_value *value)
{
	if (!pickle_more(&pickle->texts, sizeof(struct pickle_string), 1))
		return false;
	((struct pickle_string *)pickle->texts.at)[pickle->texts.count] = (struct pickle_string){
		.first = pickle->chars.count - bytes,
		.bytes = (uint32_t)bytes,
	};
	*value = pickle_make(kind, pickle->texts.count++);
	return true;
}

bool pickle_make_box(struct pickle *pickle, enum pickle_kind kind, struct pickle_value *value)
{
	if (!pickle_more(&pickle->boxes, sizeof(struct pickle_extent), 1))
		return false;
	((struct pickle_extent *)pickle->boxes.at)[pickle->boxes.count] =
		(struct pickle_extent){ 0 };
	*value = pickle_make(kind, pickle->boxes.count++);
	return true;
}

/*
 * Make room for `count` more items, at the end of all items unless the box's own have room after
 * them.
 */
static bool widen_box(struct pickle *pickle, struct pickle_extent *extent, size_t count)
{
	struct pickle_array *items = &pickle->items;
	size_t room = extent->count ? 2 * (size_t)extent->count : 0;
	struct pickle_value *all;

	if (count <= extent->room - extent->count)
		return true;
	if (count > UINT32_MAX / 2 - extent->count)
		return false;
	if (room < extent->count + count)
		room = extent->count + count;
	if (extent->room && extent->first + extent->room == items->count) {
		if (!pickle_more(items, sizeof(*all), room - extent->room))
			return false;
		items->count += room - extent->room;
	} else {
		if (!pickle_more(items, sizeof(*all), room))
			return false;
		all = items->at;
		memcpy(all + items->count, all + extent->first, extent->count * sizeof(*all));
		extent->first = items->count;
		items->count += room;
	}
	extent->room = (uint32_t)room;
	return true;
}

bool pickle_add_items(struct pickle *pickle, struct pickle_value box,
		      const struct pickle_value *items, size_t count)
{
	struct pickle_extent *extent = extent_of(pickle, box);

	if (count == 0)
		return true;
	if (!widen_box(pickle, extent, count))
		return false;
	memcpy((struct pickle_value *)pickle->items.at + extent->first + extent->count, items,
	       count * sizeof(*items));
	extent->count += (uint32_t)count;
	return true;
}

void pickle_fini(struct pickle *pickle)
{
	free(pickle->boxes.at);
	free(pickle->items.at);
	free(pickle->texts.at);
	free(pickle->chars.at);
	free(pickle->wides.at);
	*pickle = (struct pickle){ 0 };
}

enum pickle_kind pickle_kind(struct pickle_value value)
{
	unsigned int kind = value.bits & ((1u << PICKLE_KIND_BITS) - 1);

	return kind == PICKLE_WIDE ? PICKLE_INT : (enum pickle_kind)kind;
}

bool pickle_int(const struct pickle *pickle, struct pickle_value value, int64_t *number)
{
	uint64_t rest = value.bits >> PICKLE_KIND_BITS;
	const uint64_t sign = (uint64_t)1 << (63 - PICKLE_KIND_BITS);

	switch (value.bits & ((1u << PICKLE_KIND_BITS) - 1)) {
	case PICKLE_INT: *number = (int64_t)((rest ^ sign) - sign); return true;
	case PICKLE_BOOL: *number = (int64_t)rest; return true;
	case PICKLE_WIDE:
		memcpy(number, (int64_t *)pickle->wides.at + rest, sizeof(*number));
		return true;
	default: return false;
	}
}

bool pickle_float(const struct pickle *pickle, struct pickle_value value, double *number)
{
	if (pickle_kind(value) != PICKLE_FLOAT)
		return false;
	memcpy(number, (double *)pickle->wides.at + (value.bits >> PICKLE_KIND_BITS),
	       sizeof(*number));
	return true;
}

bool pickle_text(const struct pickle *pickle, struct pickle_value value, const char **text,
		 size_t *bytes)
{
	const struct pickle_string *string;
	enum pickle_kind kind = pickle_kind(value);

	if (kind != PICKLE_TEXT && kind != PICKLE_BYTES)
		return false;
	string = (struct pickle_string *)pickle->texts.at + (value.bits >> PICKLE_KIND_BITS);
	*bytes = string->bytes;
	*text = string->bytes ? (char *)pickle->chars.at + string->first : "";
	return true;
}

size_t pickle_count(const struct pickle *pickle, struct pickle_value value)
{
	enum pickle_kind kind = pickle_kind(value);

	if (kind < PICKLE_LIST)
		return 0;
	return extent_of(pickle, value)->count / (kind == PICKLE_DICT ? 2 : 1);
}

struct pickle_value pickle_item(const struct pickle *pickle, struct pickle_value value, size_t at)
{
	return ((struct pickle_value *)pickle->items.at)[extent_of(pickle, value)->first + at];
}

void pickle_pair(const struct pickle *pickle, struct pickle_value value, size_t at,
		 struct pickle_value *key, struct pickle_value *held)
{
	const struct pickle_value *pair =
		(struct pickle_value *)pickle->items.at + extent_of(pickle, value)->first + 2 * at;

	*key = pair[0];
	*held = pair[1];
}

struct pickle_value pickle_get(const struct pickle *pickle, struct pickle_value value,
			       const char *key)
{
	size_t length = strlen(key), bytes;
	struct pickle_value name, held;
	const char *text;

	if (pickle_kind(value) != PICKLE_DICT)
		return pickle_make(PICKLE_NOTHING, 0);
	for (size_t at = pickle_count(pickle, value); at-- > 0;) {
		pickle_pair(pickle, value, at, &name, &held);
		if (pickle_kind(name) == PICKLE_TEXT && pickle_text(pickle, name, &text, &bytes) &&
		    bytes == length && memcmp(text, key, length) == 0)
			return held;
	}
	return pickle_make(PICKLE_NOTHING, 0);
}

size_t pickle_box(struct pickle_value value)
{
	return (size_t)(value.bits >> PICKLE_KIND_BITS);
}
