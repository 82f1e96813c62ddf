/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_put.h - write plain data as a Python pickle: dictionaries, lists, texts, integers,
 * booleans.
 *
 * It uses protocol 2, and only opcodes that small readers know, too. No opcode names a class or a
 * function. A value is written by one call, or by an open call, its contents and a close call:
 *
 * 	pickle_put_open_dict(put);
 * 	pickle_put_word(put, "sizes");
 * 	pickle_put_open_list(put);
 * 	pickle_put_number(put, 7);
 * 	pickle_put_item(put);            (after each item)
 * 	pickle_put_close_dict(put);      (a list is not closed)
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
	struct names words;   /* texts written, in the order of their memo indices */
	uint32_t words_known; /* how many of them are in the memo */
	bool no_memory;
};

/* pickle_put_begin - false: out of memory, and pickle_put_end() must not be called. */
bool pickle_put_begin(struct pickle_put *put, FILE *file);

/* pickle_put_end - call it after the one value. False: writing failed, or out of memory (errno). */
bool pickle_put_end(struct pickle_put *put);

void pickle_put_open_dict(struct pickle_put *put); /* followed by pairs of a word and a value */
void pickle_put_close_dict(struct pickle_put *put);
void pickle_put_open_list(struct pickle_put *put);
void pickle_put_item(struct pickle_put *put); /* append the value just written to the list */
void pickle_put_pair(struct pickle_put *put); /* combine the two values just written to a tuple */
void pickle_put_number(struct pickle_put *put, int64_t number);
void pickle_put_bool(struct pickle_put *put, bool is);

/* pickle_put_word - write a text that occurs repeatedly: it is stored once. Any bytes. */
void pickle_put_word(struct pickle_put *put, const char *text);

/* pickle_put_text - write a text that occurs only once. */
void pickle_put_text(struct pickle_put *put, const char *text);

/*
 * pickle_put_keep - store the value just written under a number that the caller chooses. Numbers
 * should be assigned in order: strict readers refuse one above the number of bytes so far.
 * pickle_put_again - write it again: readers get the same object in both places.
 */
void pickle_put_keep(struct pickle_put *put, uint32_t number);
void pickle_put_again(struct pickle_put *put, uint32_t number);

#endif
