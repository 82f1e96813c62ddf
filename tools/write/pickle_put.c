/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_put.c - write plain data as a Python pickle of protocol 2.
 *
 * A pickle is a program for a small stack machine; the opcodes are those of Python's pickletools.
 * Its memo is an array: texts have the even indices, in the order of first use, and values that the
 * caller keeps have the odd ones. Numbers are little-endian two's complement, in the shortest
 * encoding.
 */
#include "write/pickle_put.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kit/utf8.h"

#define PROTOCOL 2

enum opcode {
	PROTO = 0x80,
	STOP = '.',
	EMPTY_DICT = '}',
	MARK = '(',
	SETITEMS = 'u',
	EMPTY_LIST = ']',
	APPEND = 'a',
	TUPLE2 = 0x86,
	NEWTRUE = 0x88,
	NEWFALSE = 0x89,
	BININT = 'J',  /* 4 bytes, signed */
	BININT1 = 'K', /* 1 byte, unsigned */
	BININT2 = 'M', /* 2 bytes, unsigned */
	LONG1 = 0x8a,  /* the given number of bytes, signed */
	BINUNICODE = 'X',
	BINPUT = 'q',
	LONG_BINPUT = 'r',
	BINGET = 'h',
	LONG_BINGET = 'j'
};

static void put_little(FILE *file, uint64_t number, int bytes)
{
	for (int i = 0; i < bytes; i++)
		putc((int)(number >> 8 * i & 0xff), file);
}

bool pickle_put_begin(struct pickle_put *put, FILE *file)
{
	*put = (struct pickle_put){ .file = file };
	if (!names_init(&put->words)) {
		errno = ENOMEM;
		return false;
	}
	putc(PROTO, file);
	putc(PROTOCOL, file);
	return true;
}

bool pickle_put_end(struct pickle_put *put)
{
	putc(STOP, put->file);
	names_fini(&put->words);
	if (put->no_memory)
		errno = ENOMEM;
	return !put->no_memory && !ferror(put->file);
}

void pickle_put_open_dict(struct pickle_put *put)
{
	putc(EMPTY_DICT, put->file);
	putc(MARK, put->file);
}

void pickle_put_close_dict(struct pickle_put *put)
{
	putc(SETITEMS, put->file);
}

void pickle_put_open_list(struct pickle_put *put)
{
	putc(EMPTY_LIST, put->file);
}

void pickle_put_item(struct pickle_put *put)
{
	putc(APPEND, put->file);
}

void pickle_put_pair(struct pickle_put *put)
{
	putc(TUPLE2, put->file);
}

void pickle_put_number(struct pickle_put *put, int64_t number)
{
	int bytes = 1;

	if (number >= 0 && number <= 0xffff) {
		putc(number <= 0xff ? BININT1 : BININT2, put->file);
		put_little(put->file, (uint64_t)number, number <= 0xff ? 1 : 2);
	} else if (number >= INT32_MIN && number <= INT32_MAX) {
		putc(BININT, put->file);
		put_little(put->file, (uint64_t)number, 4);
	} else {
		while (bytes < 8 && number >> (8 * bytes - 1) != (number < 0 ? -1 : 0))
			bytes++;
		putc(LONG1, put->file);
		putc(bytes, put->file);
		put_little(put->file, (uint64_t)number, bytes);
	}
}

void pickle_put_bool(struct pickle_put *put, bool is)
{
	putc(is ? NEWTRUE : NEWFALSE, put->file);
}

void pickle_put_text(struct pickle_put *put, const char *text)
{
	size_t bytes;
	char *repaired = utf8_repaired(text, strlen(text), &bytes);

	/* The length has 4 bytes; a longer text would need another opcode. */
	if (!repaired || bytes > UINT32_MAX) {
		put->no_memory = true;
		bytes = 0;
	}
	putc(BINUNICODE, put->file);
	put_little(put->file, bytes, 4);
	if (bytes)
		fwrite(repaired, 1, bytes, put->file);
	free(repaired);
}

static void put_memo(struct pickle_put *put, uint32_t place, enum opcode near, enum opcode far)
{
	putc(place <= 0xff ? near : far, put->file);
	put_little(put->file, place, place <= 0xff ? 1 : 4);
}

void pickle_put_word(struct pickle_put *put, const char *text)
{
	uint32_t number;

	if (!names_number(&put->words, text, strlen(text), &number)) {
		put->no_memory = true;
		number = 0;
	}
	/* Number 0 is the empty text, and any text for which the table has no room. */
	if (number == 0) {
		pickle_put_text(put, text);
	} else if (number <= put->words_known) {
		put_memo(put, 2 * number, BINGET, LONG_BINGET);
	} else {
		pickle_put_text(put, text);
		put_memo(put, 2 * number, BINPUT, LONG_BINPUT);
		put->words_known = number;
	}
}

void pickle_put_keep(struct pickle_put *put, uint32_t number)
{
	put_memo(put, 2 * number + 1, BINPUT, LONG_BINPUT);
}

void pickle_put_again(struct pickle_put *put, uint32_t number)
{
	put_memo(put, 2 * number + 1, BINGET, LONG_BINGET);
}
