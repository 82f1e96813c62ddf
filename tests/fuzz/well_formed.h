/* SPDX-License-Identifier: Apache-2.0 */
/*
 * well_formed.h - checks that a text is JSON, or XML as in our plots, by grammar alone and without
 * a library.
 */
#ifndef TESTS_FUZZ_WELL_FORMED_H
#define TESTS_FUZZ_WELL_FORMED_H

#include <ctype.h>

#include "fuzz.h"
#include "kit/utf8.h"

static inline void well_formed_utf8(const char *text, size_t bytes)
{
	for (size_t i = 0, one; i < bytes; i += one) {
		one = utf8_length(text + i, bytes - i);
		require(one > 0, "the text is not UTF-8");
		require((unsigned char)text[i] >= 0x20 || strchr("\n\t", text[i]),
			"the text has a control character");
	}
}

static inline const char *json_blanks(const char *at)
{
	return at + strspn(at, " \n\t\r");
}

static inline const char *json_string(const char *at)
{
	require(*at++ == '"', "JSON: not a string");
	for (; *at != '"'; at++) {
		require((unsigned char)*at >= 0x20, "JSON: a string contains a control character");
		if (*at != '\\')
			continue;
		at++;
		require(*at && strchr("\"\\/bfnrtu", *at), "JSON: invalid escape");
		for (int i = 0; *at == 'u' && i < 4; i++)
			require(isxdigit((unsigned char)at[i + 1]), "JSON: invalid \\u escape");
	}
	return at + 1;
}

static inline const char *json_number(const char *at)
{
	at += *at == '-';
	require(isdigit((unsigned char)*at), "JSON: not a value");
	require(at[0] != '0' || !isdigit((unsigned char)at[1]),
		"JSON: a number with a leading zero");
	at += strspn(at, "0123456789");
	if (*at == '.') {
		require(isdigit((unsigned char)at[1]), "JSON: a number without digits");
		at += 1 + strspn(at + 1, "0123456789");
	}
	if (*at == 'e' || *at == 'E') {
		at += 1 + (at[1] == '-' || at[1] == '+');
		require(isdigit((unsigned char)*at), "JSON: a number without digits");
		at += strspn(at, "0123456789");
	}
	return at;
}

static inline const char *json_value(const char *at, unsigned int depth)
{
	char close;

	at = json_blanks(at);
	require(depth < 20, "JSON: nested too deeply");
	if (*at == '"')
		return json_string(at);
	if (strncmp(at, "true", 4) == 0 || strncmp(at, "null", 4) == 0)
		return at + 4;
	if (strncmp(at, "false", 5) == 0)
		return at + 5;
	if (*at != '{' && *at != '[')
		return json_number(at);
	close = *at == '{' ? '}' : ']';
	at = json_blanks(at + 1);
	while (*at != close) {
		if (close == '}') {
			at = json_blanks(json_string(at));
			require(*at++ == ':', "JSON: missing colon");
		}
		at = json_blanks(json_value(at, depth + 1));
		require(*at == ',' || *at == close, "JSON: missing comma");
		if (*at == ',') {
			at = json_blanks(at + 1);
			require(*at != close, "JSON: trailing comma");
		}
	}
	return at + 1;
}

/* pre: a zero byte follows the text. */
static inline void well_formed_json(const char *text, size_t bytes)
{
	well_formed_utf8(text, bytes);
	require(json_blanks(json_value(text, 0)) == text + bytes, "JSON: text after the end");
}

#define XML_DEPTH 32
#define XML_NAME 32

static inline const char *xml_text(const char *at, const char *end)
{
	for (; at < end && *at != '<'; at++) {
		size_t name = strcspn(at, ";");

		require(*at != '>', "XML: unescaped '>'");
		if (*at != '&')
			continue;
		require((name == 3 && strncmp(at, "&lt", 3) == 0) ||
				(name == 3 && strncmp(at, "&gt", 3) == 0) ||
				(name == 4 && strncmp(at, "&amp", 4) == 0) ||
				(name == 5 && strncmp(at, "&quot", 5) == 0) || at[1] == '#',
			"XML: invalid entity");
	}
	return at;
}

/* The attributes of a tag, up to its end. */
static inline const char *xml_attributes(const char *at)
{
	for (;;) {
		at += strspn(at, " \n\t");
		if (*at == '>' || (at[0] == '/' && at[1] == '>'))
			return at;
		while (isalnum((unsigned char)*at) || (*at && strchr("-:_", *at)))
			at++;
		require(at[0] == '=' && at[1] == '"', "XML: an attribute without a value");
		require(strncmp(at, "=\"nan", 5) && strncmp(at, "=\"-nan", 6) &&
				strncmp(at, "=\"inf", 5) && strncmp(at, "=\"-inf", 6),
			"XML: an attribute is not a finite number");
		at = xml_text(at + 2, at + 2 + strcspn(at + 2, "\"<"));
		require(*at++ == '"', "XML: unterminated value");
	}
}

/* pre: a zero byte follows the text. */
static inline void well_formed_xml(const char *text, size_t bytes)
{
	char open[XML_DEPTH][XML_NAME];
	const char *at = text, *end = text + bytes;
	unsigned int depth = 0, elements = 0;

	well_formed_utf8(text, bytes);
	while ((at = xml_text(at, end)) < end) {
		size_t name;

		if (strncmp(at, "<!--", 4) == 0 || strncmp(at, "<?", 2) == 0) {
			at = strstr(at, at[1] == '?' ? "?>" : "-->");
			require(at != NULL, "XML: unterminated comment or instruction");
			at = strchr(at, '>') + 1;
			continue;
		}
		name = strcspn(at + 1, " \n\t>/");
		if (at[1] == '/') {
			name = strcspn(at + 2, ">");
			require(depth > 0 && strlen(open[depth - 1]) == name &&
					strncmp(open[depth - 1], at + 2, name) == 0,
				"XML: mismatched end tag");
			depth--;
			at += 2 + name + 1;
			continue;
		}
		require(depth < XML_DEPTH && name > 0 && name < XML_NAME, "XML: invalid element");
		memcpy(open[depth], at + 1, name);
		open[depth++][name] = '\0';
		elements++;
		at = xml_attributes(at + 1 + name);
		if (*at == '/') {
			depth--;
			at++;
		}
		at++;
	}
	require(depth == 0 && elements > 0, "XML: an element is not closed");
}

#endif
