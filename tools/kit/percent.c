/* SPDX-License-Identifier: Apache-2.0 */
/* percent.c - see percent.h. */
#include "kit/percent.h"

int percent_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t percent_decode(const char *text, size_t bytes, char *to)
{
	size_t length = 0;

	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '%' && i + 2 < bytes && percent_digit(text[i + 1]) >= 0 &&
		    percent_digit(text[i + 2]) >= 0) {
			to[length++] = (char)(percent_digit(text[i + 1]) << 4 |
					      percent_digit(text[i + 2]));
			i += 2;
		} else {
			to[length++] = text[i];
		}
	}
	return length;
}
