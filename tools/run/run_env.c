/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_env.c - convert the settings of mam run to the MAM_ variables of mam(7), and check each
 * before the program starts.
 */
#define _GNU_SOURCE /* strchrnul */
#include "run/run_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mam/options.h>

#include "kit/message.h"

#define PROFILE_FILE "mam.profile"

const struct args_word run_env_largest[] = { { "largest", UINT64_MAX }, { NULL, 0 } };
const struct args_word run_env_none[] = { { "none", UINT64_MAX }, { NULL, 0 } };

/* Set a number as the object reads it; the option's list has the word for the largest number. */
static bool set_bytes(const char *variable, uint64_t bytes, const struct args_word *words)
{
	char text[32];

	if (bytes == RUN_ENV_UNSET)
		return true;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	return setenv(variable, words != NULL && bytes == words->value ? words->text : text, 1) ==
	       0;
}

/* Set one of the words that the variable's row allows. */
static bool set_choice(const char *option, const char *variable, const char *word)
{
	size_t count, length = word == NULL ? 0 : strlen(word);
	const struct mam_option_row *const *rows = mam_options(&count);
	const struct mam_option_row *row;

	if (word == NULL)
		return true;
	while (strcmp((*rows)->name, variable) != 0)
		rows++;
	row = *rows;
	for (const char *at = row->values; *at != '\0';
	     at = *strchrnul(at, '|') ? strchrnul(at, '|') + 1 : "")
		if (length == (size_t)(strchrnul(at, '|') - at) && strncmp(at, word, length) == 0)
			return setenv(variable, word, 1) == 0;
	message_error("--%s is '%s', but must be one of %s", option, word, row->values);
	return false;
}

/* Only a trace records call sites. */
static bool set_who(bool who, const char *trace)
{
	const char *file = trace != NULL ? trace : getenv("MAM_TRACE");

	if (!who)
		return true;
	if (file != NULL && file[0] != '\0')
		return setenv("MAM_TRACE_WHO", "1", 1) == 0;
	message_error("--who requires --trace FILE");
	return false;
}

/* A profile is a trace, and a process writes only one. */
static bool set_profile(const struct run_settings *settings)
{
	const char *file = settings->profile;
	const char *inherited = getenv("MAM_PROFILE");

	if (file != NULL && settings->trace != NULL) {
		message_error("--profile and --trace exclude each other: a profile is a trace");
		return false;
	}
	if (settings->profile_rate != RUN_ENV_UNSET && file == NULL &&
	    (inherited == NULL || inherited[0] == '\0')) {
		message_error("--profile-rate requires --profile");
		return false;
	}
	return (file == NULL ||
		run_env_file("profile", "MAM_PROFILE", file[0] == '\0' ? PROFILE_FILE : file)) &&
	       set_bytes("MAM_PROFILE_RATE", settings->profile_rate, NULL);
}

static bool set_leaks(const char *file)
{
	if (file == NULL)
		return true;
	return setenv("MAM_LEAKS", "1", 1) == 0 &&
	       (file[0] == '\0' || run_env_file("leaks", "MAM_LEAKS_FILE", file));
}

static bool set_children(const char *word)
{
	if (word == NULL || strcmp(word, "yes") == 0 || strcmp(word, "no") == 0)
		return word == NULL || setenv("MAM_CHILDREN", word, 1) == 0;
	message_error("--children is '%s', but must be yes or no", word);
	return false;
}

/*
 * Set "share", "dedicated" or "dedicated:SIZE", from the option or the environment; the object
 * expects the size in plain bytes.
 */
static bool set_ipc(const char *word)
{
	static const char sized[] = "dedicated:";
	const size_t length = sizeof(sized) - 1;
	const char *name = word != NULL ? "--ipc" : "MAM_IPC";
	uint64_t bytes;
	char text[48];

	if (word == NULL)
		word = getenv("MAM_IPC");
	if (word == NULL || *word == '\0')
		return true;
	if (strcmp(word, "share") == 0 || strcmp(word, "dedicated") == 0)
		return setenv("MAM_IPC", word, 1) == 0;
	if (strncmp(word, sized, length) != 0 || !args_bytes(word + length, &bytes) || bytes == 0) {
		message_error("%s is '%s', but must be share, dedicated, or dedicated:SIZE", name,
			      word);
		return false;
	}
	snprintf(text, sizeof(text), "%s%llu", sized, (unsigned long long)bytes);
	return setenv("MAM_IPC", text, 1) == 0;
}

static bool set_source(const char *word)
{
	if (word == NULL || strcmp(word, "vmm") == 0 || strcmp(word, "cudamalloc") == 0)
		return word == NULL || setenv("MAM_SOURCE", word, 1) == 0;
	message_error("--source is '%s', but must be vmm or cudamalloc", word);
	return false;
}

static bool set_stats(const char *file)
{
	char number[32];

	snprintf(number, sizeof(number), "%ld", (long)getpid());
	if (setenv("MAM_RUN_PID", number, 1) != 0)
		return false;
	if (file == NULL)
		return true;
	if (setenv("MAM_STATS", "1", 1) != 0)
		return false;
	return file[0] == '\0' || run_env_file("stats", "MAM_STATS_FILE", file);
}

/* The values that a row allows, to follow "must be". */
static const char *allowed_by(const struct mam_option_row *row)
{
	return strcmp(row->kind, "bool") == 0      ? "yes or no"
	       : strcmp(row->kind, "bytes") == 0   ? "a size such as 512, 64K or 80G"
	       : strcmp(row->kind, "power") == 0   ? "a power of two from 16 to 2M"
	       : strcmp(row->kind, "percent") == 0 ? "a whole number from 0 to 1000"
						   : "one of ";
}

/*
 * Check the variables that no option has replaced: the object would report an invalid one and use
 * the default, and the program would run without the limit that was intended.
 */
static bool check_environment(void)
{
	size_t count;
	const struct mam_option_row *const *rows = mam_options(&count);

	for (size_t i = 0; i < count; i++) {
		const struct mam_option_row *row = rows[i];
		const char *origin = mam_option_origin(row->name);
		const bool is_bytes = strcmp(row->kind, "bytes") == 0;

		if (origin == NULL || strcmp(origin, "default, refused") != 0)
			continue;
		message_error("%s is '%.64s', but must be %s%s%s", row->name, getenv(row->name),
			      allowed_by(row), is_bytes && row->values != NULL ? " or " : "",
			      row->values != NULL ? row->values : "");
		return false;
	}
	return true;
}

/* Chunks are then allocated by cuMemAlloc, which "cudamalloc" stands for. */
static void warn_of_source(void)
{
	const char *source = getenv("MAM_SOURCE");

	if (source != NULL && *source != '\0' && strcmp(source, "cudamalloc") != 0 &&
	    strcmp(source, "vmm") != 0)
		message_warning("MAM_SOURCE=%s has no effect on pools of mam run, which "
				"allocate with cuMemAlloc",
				source);
}

static bool set_all(const struct run_settings *settings)
{
	return set_bytes("MAM_CHUNK", settings->chunk, run_env_largest) &&
	       set_bytes("MAM_GROWTH", settings->growth, run_env_none) &&
	       set_bytes("MAM_LIMIT", settings->limit, NULL) &&
	       run_limit_set(settings->limit_shared) &&
	       set_bytes("MAM_PASS_ABOVE", settings->pass_above, NULL) &&
	       set_source(settings->source) && set_choice("free", "MAM_FREE", settings->free) &&
	       set_choice("capture", "MAM_CAPTURE", settings->capture) &&
	       set_choice("nvtx", "MAM_NVTX", settings->nvtx) && set_children(settings->children) &&
	       set_ipc(settings->ipc) && run_env_oom(settings) &&
	       run_env_file("trace", "MAM_TRACE", settings->trace) &&
	       set_who(settings->who, settings->trace) && set_profile(settings) &&
	       set_leaks(settings->leaks) && set_choice("log", "MAM_LOG", settings->log) &&
	       (!settings->disable || setenv("MAM_DISABLE", "1", 1) == 0) &&
	       set_stats(settings->stats);
}

bool run_env_set(const struct run_settings *settings)
{
	if (!set_all(settings) || !check_environment())
		return false;
	warn_of_source();
	return true;
}
