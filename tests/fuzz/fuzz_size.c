/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a size: the readers of the command line and of the library, compared with results
 * that are computed in another way, digit by digit in 128 bits. What the library writes is read
 * back.
 */
#include <ctype.h>

#include "kit/args.h"
#include "base/bytes.h"
#include "fuzz.h"

typedef unsigned __int128 wide; /* no other code has this much room */

#define WIDE_MAX ((wide)1 << 100)
#define DIGITS_MAX ((wide)10000000000u * 10000000000u) /* times 2^60 it still fits */

/* Digits as a number, WIDE_MAX at most. Returns the text after them. */
static const char *digits(const char *text, wide *number)
{
	*number = 0;
	for (; isdigit((unsigned char)*text); text++) {
		*number = 10 * *number + (wide)(*text - '0');
		if (*number > WIDE_MAX)
			*number = WIDE_MAX;
	}
	return text;
}

/* The index of k, m, g, t, p or e, counted from 1; 0: none. */
static unsigned int letter(char c)
{
	const char *at = c ? strchr("kmgtpe", tolower((unsigned char)c)) : NULL;

	return at ? (unsigned int)(at - "kmgtpe") + 1 : 0;
}

/*
 * As args.h specifies: "512", "64K", "64KiB", "1.5G", "10B". The exact value is at least `least`
 * and less than `least` plus one. Returns false for any other text.
 */
static bool args_oracle(const char *text, wide *min, unsigned int *shift)
{
	wide whole, part = 0, scale = 1;
	const char *at = digits(text, &whole);
	bool has_point = *at == '.';

	if (at == text)
		return false;
	if (has_point)
		for (at++; isdigit((unsigned char)*at); at++) {
			if (scale >= DIGITS_MAX)
				continue; /* too small to count */
			part = 10 * part + (wide)(*at - '0');
			scale *= 10;
		}
	*shift = 10 * letter(*at);
	if (*shift) {
		at++;
		at += *at == 'i';
	}
	at += *at == 'B';
	if (*at || (has_point && *shift == 0))
		return false;
	if (whole >= WIDE_MAX >> *shift)
		return false;
	*min = (whole << *shift) + (part << *shift) / scale;
	return *min <= UINT64_MAX;
}

static void check_args(const char *text)
{
	uint64_t bytes = 4711;
	unsigned int shift = 0;
	wide min = 0;
	bool good = args_bytes(text, &bytes), wanted = args_oracle(text, &min, &shift);
	/* Fractions of a unit are computed as double, which has 53 bits. */
	wide slack = shift > 50 ? (wide)1 << (shift - 50) : 1, away;

	require(good || bytes == 4711, "a refused size was stored");
	if (good != wanted) {
		require(shift != 0 && min + 2 * slack > UINT64_MAX,
			wanted ? "a valid size is refused" : "an invalid size is accepted");
		return;
	}
	away = bytes > min ? bytes - min : min - bytes;
	require(!good || away <= slack, "a size has the wrong value");
}

/* As bytes.h specifies. */
static bool library_oracle(const char *text, wide *bytes)
{
	wide number;
	const char *at = digits(text, &number);
	unsigned int unit;

	if (at == text)
		return false;
	at += at[0] == ' ' && at[1];
	unit = letter(*at);
	at += unit > 0;
	if (unit && unit <= 4 && tolower((unsigned char)at[0]) == 'b' && !at[1]) {
		while (unit-- > 0 && number < WIDE_MAX / 1000)
			number *= 1000;
		at++;
	} else {
		if (unit && tolower((unsigned char)at[0]) == 'i' &&
		    tolower((unsigned char)at[1]) == 'b')
			at += 2;
		else if (!unit && tolower((unsigned char)at[0]) == 'b')
			at++;
		number = number >> (100 - 10 * unit) ? WIDE_MAX : number << 10 * unit;
	}
	*bytes = number;
	return !*at && number <= UINT64_MAX;
}

static void check_library(const char *text)
{
	uint64_t bytes = 4711, count = 4711;
	wide wanted = 0, number;
	bool good = mam_parse_bytes(text, &bytes);
	const char *rest = digits(text, &number);

	require(good == library_oracle(text, &wanted),
		good ? "an invalid size is accepted" : "a valid size is refused");
	require(good ? bytes == wanted : bytes == 4711, "a size has the wrong value");
	good = mam_parse_count(text, &count);
	require(good == (rest != text && !*rest && number <= UINT64_MAX),
		"an invalid count is accepted");
	require(good ? count == number : count == 4711, "a count has the wrong value");
}

static void check_written(uint64_t bytes)
{
	char text[MAM_BYTES_TEXT], again[MAM_BYTES_TEXT];
	uint64_t back;

	memset(text, 'x', sizeof(text));
	require(mam_format_bytes(bytes, text) == text && memchr(text, '\0', sizeof(text)),
		"no text");
	if (strchr(text, '.'))
		return;
	require(mam_parse_bytes(text, &back) && back == bytes,
		"a written size cannot be read back");
	require(strcmp(mam_format_bytes(back, again), text) == 0,
		"the second text differs from the first");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);
	uint64_t number = 0;

	require(text != NULL, "no memory");
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	check_args(text);
	check_library(text);
	memcpy(&number, data, bytes < sizeof(number) ? bytes : sizeof(number));
	check_written(number);
	free(text);
	return 0;
}
