/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_instances.c - explicit instances of kernels, which libclang does not show.
 *
 * "template __global__ void f<int>(int *);" makes an instance that no code names. The source is
 * parsed again with a host function after its last line that takes the address of each of them. If
 * that has an error, or a template is instantiated in another form, the source is used as it is, and
 * front_unit.c reads all templates as written.
 *
 * Bound: linear in the text. Invariant: the text of the source, and all places in it, stay as they
 * are.
 */
#include <stdlib.h>
#include <string.h>

#include "coalesce/front/front.h"

struct maker {
	const struct front_text *text;
	char *made;
	size_t bytes, room;
	bool good;
};

static void put(struct maker *maker, const char *text, size_t bytes)
{
	if (maker->made == NULL || maker->bytes + bytes + 1 > maker->room) {
		size_t room = 2 * (maker->room + bytes + 256);
		char *grown = realloc(maker->made, room);

		maker->good &= grown != NULL;
		if (grown == NULL)
			return;
		maker->made = grown;
		maker->room = room;
	}
	memcpy(maker->made + maker->bytes, text, bytes);
	maker->bytes += bytes;
	maker->made[maker->bytes] = '\0';
}

static void put_tokens(struct maker *maker, size_t from, size_t to)
{
	for (; from < to && maker->good; from++) {
		const struct front_token *token = &maker->text->tokens[from];

		put(maker, maker->text->text + token->begin, token->end - token->begin);
		put(maker, " ", 1);
	}
}

static bool is_plain(const struct front_text *text, size_t from, size_t to)
{
	for (; from < to; from++)
		if (front_token_is(text, from, "(") || front_token_is(text, from, "{") ||
		    front_token_is(text, from, "#"))
			return false;
	return true;
}

/* From the token "template": its name is between "void" and the "(". */
static bool make_one(struct maker *maker, size_t at)
{
	const struct front_text *text = maker->text;
	size_t name = at + 3, open, close;

	if (!front_token_is(text, at + 1, "__global__") || !front_token_is(text, at + 2, "void"))
		return false;
	for (open = name; open < text->count && !front_token_is(text, open, "("); open++)
		if (front_token_is(text, open, ";"))
			return false;
	close = open < text->count ? front_token_closes(text, open) : FRONT_NOWHERE;
	if (close == FRONT_NOWHERE || !front_token_is(text, close + 1, ";") ||
	    !is_plain(text, name, open) || !is_plain(text, open + 1, close))
		return false;
	put(maker, "(void)static_cast<void (*)(", 27);
	put_tokens(maker, open + 1, close);
	put(maker, ")>(&", 4);
	put_tokens(maker, name, open);
	put(maker, ");", 2);
	return maker->good;
}

bool front_is_instance(const struct front_text *text, size_t i)
{
	return front_token_is(text, i, "template") && !front_token_is(text, i + 1, "<") &&
	       (i == 0 ||
		(!front_token_is(text, i - 1, ".") && !front_token_is(text, i - 1, "->") &&
		 !front_token_is(text, i - 1, "::")));
}

char *front_instances(struct front *f, size_t *bytes)
{
	struct maker maker = { .text = front_text(f, f->file), .good = true };
	bool any = false;
	size_t i;

	if (maker.text == NULL)
		return NULL;
	put(&maker, maker.text->text, maker.text->bytes);
	put(&maker, "\nstatic inline void mam_coalesce_instances(void){", 49);
	for (i = 0; i + 1 < maker.text->count && maker.good; i++)
		if (front_is_instance(maker.text, i)) {
			maker.good &= make_one(&maker, i);
			any = true;
		}
	put(&maker, "}\n", 2);
	*bytes = maker.bytes;
	if (any && maker.good)
		return maker.made;
	free(maker.made);
	return NULL;
}
