/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_put.h - plain data as a Python pickle: dictionaries, lists, texts, whole numbers, booleans.
 *
 * Protocol 2, and of it only what small readers know, too. Nothing in it names a class or a
 * function. A value is put by one call, or between an open and a close:
 *
 *	pickle_put_open_dict(put);
 *	pickle_put_word(put, "sizes");
 *	pickle_put_open_list(put);
 *	pickle_put_number(put, 7);
 *	pickle_put_item(put);            (behind each item)
 *	pickle_put_close_dict(put);      (a list needs no close)
 */
#ifndef TOOLS_PICKLE_PUT_H
#define TOOLS_PICKLE_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kit/names.h"

struct pickle_put {
	FILE *file;
	struct names words;   /* texts that were put, in the order of their numbers in the memo */
	uint32_t words_known; /* how many of them stand in the memo */
	bool no_memory;
};

/* pickle_put_begin - false: no memory, nothing to end. */
bool pickle_put_begin(struct pickle_put *put, FILE *file);

/* pickle_put_end - behind the one value. False: writing failed or there was no memory (errno). */
bool pickle_put_end(struct pickle_put *put);

void pickle_put_open_dict(struct pickle_put *put); /* then a word and a value, again and again */
void pickle_put_close_dict(struct pickle_put *put);
void pickle_put_open_list(struct pickle_put *put);
void pickle_put_item(struct pickle_put *put); /* the value just put is the list's next item */
void pickle_put_pair(struct pickle_put *put); /* the two values just put become a tuple */
void pickle_put_number(struct pickle_put *put, int64_t number);
void pickle_put_bool(struct pickle_put *put, bool is);

/* pickle_put_word - a text that comes up again and again: it is spelt out once. Any bytes. */
void pickle_put_word(struct pickle_put *put, const char *text);

/* pickle_put_text - a text of which there is but one. */
void pickle_put_text(struct pickle_put *put, const char *text);

/*
 * pickle_put_keep - the value just put may be put again, by this number of the caller's choice. They
 * should be given in order: careful readers refuse a number above that of the bytes so far.
 * pickle_put_again - put it again: readers will have the same object in both places.
 */
void pickle_put_keep(struct pickle_put *put, uint32_t number);
void pickle_put_again(struct pickle_put *put, uint32_t number);

#endif
