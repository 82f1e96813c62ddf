/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_list.c - the settings to compare: the default list, or those of --compare=LIST.
 *
 *   LIST     SETTING[;SETTING]...
 *   SETTING  nothing, or WORD[,WORD]...
 *   WORD     a long option without its dashes: source=vmm
 *
 * 1. All settings share the command line's other options.
 * 2. The words of a setting override them; the same option table parses both.
 * 3. A default setting is dropped if it contradicts the command line, or equals another one.
 */
#include "compare/compare.h"

#include <stdlib.h>
#include <string.h>

#include "kit/message.h"

static const char usual[] = ";"
			    "cache=on;"
			    "source=host,chunk=64M,growth=auto;"
			    "source=vmm;"
			    "source=vmm,cache=on;"
			    "align=256;"
			    "align=2M;"
			    "free=strict;"
			    "free=deferred";

/* The options in which settings may differ. */
static const char *const words[] = { "source", "simulate",  "chunk",   "growth",
				     "limit",  "footprint", "align",   "free",
				     "lag",    "cache",     "streams", "threads" };

#define WORDS (sizeof(words) / sizeof(words[0]))

static const struct args_option *find_option(const char *name)
{
	for (size_t i = 0; i < WORDS; i++) {
		if (strcmp(words[i], name) != 0)
			continue;
		for (const struct args_option *option = replay_options; option->name; option++)
			if (strcmp(option->name, name) == 0)
				return option;
	}
	return NULL;
}

static void say_unknown(const char *word)
{
	char text[200] = "";

	for (size_t i = 0; i < WORDS; i++) {
		strcat(text, i == 0 ? "" : i == WORDS - 1 ? " and " : ", ");
		strcat(text, words[i]);
	}
	message_error("--compare: settings cannot differ in '%s', only in %s", word, text);
}

/* Strip blanks at both ends. */
static char *bare(char *text)
{
	size_t length;

	text += strspn(text, " \t\n");
	length = strlen(text);
	while (length && strchr(" \t\n", text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* Parse one word into the settings. */
static bool take_word(char *word, struct replay_settings *settings)
{
	char *value = strchr(word, '=');
	const struct args_option *option;

	if (value)
		*value++ = '\0';
	word = bare(word);
	option = find_option(word);
	if (!option)
		say_unknown(word);
	else if (!value && option->kind != ARGS_FLAG)
		message_error("--compare: '%s' requires a value, as in %s=%s", word, word,
			      option->value);
	else if (value && option->kind == ARGS_FLAG)
		message_error("--compare: '%s' takes no value, but got '%s'", word, value);
	else
		return args_store(option, value ? bare(value) : NULL, settings);
	return false;
}

static bool take_setting(char *text, struct replay_settings *settings)
{
	char *rest;

	text = bare(text);
	while (text && *text) {
		rest = strchr(text, ',');
		if (rest)
			*rest++ = '\0';
		if (!take_word(text, settings))
			return false;
		text = rest;
	}
	return true;
}

/* Whether the words of a default setting contradict the command line. */
static bool is_against(const struct replay_settings *base, const struct replay_settings *given)
{
	if ((base->source && base->source != given->source) ||
	    (base->cache && base->cache != given->cache) ||
	    (base->free && base->free != given->free) ||
	    (base->granule != REPLAY_DEFAULT && base->granule != given->granule))
		return true;
	if ((base->chunk_bytes != REPLAY_DEFAULT && base->chunk_bytes != given->chunk_bytes) ||
	    (base->growth_bytes != REPLAY_DEFAULT && base->growth_bytes != given->growth_bytes))
		return true;
	/* These are valid with some policies only, and chunks must not exceed the limit. */
	if ((base->streams != REPLAY_DEFAULT && given->free) ||
	    (base->lag != REPLAY_DEFAULT && given->free == REPLAY_FREE_STRICT))
		return true;
	return base->limit_bytes && given->chunk_bytes < REPLAY_DEFAULT &&
	       given->chunk_bytes > base->limit_bytes;
}

static bool same_field(const struct args_option *option, const struct replay_settings *a,
		       const struct replay_settings *b)
{
	const char *x = (const char *)a + option->offset, *y = (const char *)b + option->offset;

	if (option->kind == ARGS_FLAG)
		return *(const bool *)x == *(const bool *)y;
	if (option->kind == ARGS_TEXT)
		return strcmp(*(const char *const *)x, *(const char *const *)y) == 0;
	return *(const uint64_t *)x == *(const uint64_t *)y;
}

/* Whether the setting after the last one of the list equals an earlier one. */
static bool is_there(const struct compare_list *list)
{
	const struct compare_setting *last = &list->settings[list->count];

	for (const struct compare_setting *one = list->settings; one < last; one++) {
		size_t same = 0;

		for (size_t i = 0; i < WORDS; i++)
			same += same_field(find_option(words[i]), &one->settings, &last->settings);
		if (same == WORDS)
			return true;
	}
	return false;
}

/* Complete a setting with defaults. */
static bool finish(struct compare_setting *setting, int files)
{
	struct replay_settings *settings = &setting->settings;

	*settings = setting->given;
	/* From the command line, it applies to the sources that can be simulated. */
	if (!settings->source || strcmp(settings->source, "vmm") != 0)
		settings->simulate = false;
	return replay_settings_end(settings, files);
}

static bool read_list(const struct replay_settings *base, int files, char *text, bool own,
		      struct compare_list *list)
{
	while (text) {
		struct compare_setting *setting = &list->settings[list->count];
		char *rest = strchr(text, ';');

		if (rest)
			*rest++ = '\0';
		if (list->count == COMPARE_MAX) {
			message_error("--compare supports at most %d settings", COMPARE_MAX);
			return false;
		}
		setting->given = *base;
		if (!take_setting(text, &setting->given))
			return false;
		text = rest;
		if (!own && is_against(base, &setting->given))
			continue;
		if (!finish(setting, files))
			return false;
		if (own || !is_there(list))
			list->count++;
	}
	return true;
}

bool compare_list_make(const struct replay_settings *base, int files, struct compare_list *list)
{
	const bool own = *base->compare;

	memset(list, 0, sizeof(*list));
	list->text = strdup(own ? base->compare : usual);
	if (!list->text) {
		message_error("out of memory for the settings");
		return false;
	}
	if (!read_list(base, files, list->text, own, list)) {
		compare_list_fini(list);
		return false;
	}
	compare_name(list);
	return true;
}

void compare_list_fini(struct compare_list *list)
{
	free(list->text);
	list->text = NULL;
}
