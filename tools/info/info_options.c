/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info_options.c - the options of mam, their values and the origin of each value.
 */
#include <stdio.h>
#include <string.h>

#include <mam/options.h>

#include "info/info.h"

void info_options(bool plain)
{
	size_t count;
	const struct mam_option_row *const *rows = mam_options(&count);

	for (size_t i = 0; i < count; i++) {
		const char *name = rows[i]->name, *value = mam_option_value(name);

		if (plain)
			printf("option.%s\t%s\norigin.%s\t%s\n", name, value, name,
			       mam_option_origin(name));
		else
			info_line(false, "", i == 0 ? "options" : "", "%s=%s%*s%s", name, value,
				  (int)(strlen(name) + strlen(value) < 28
						? 28 - strlen(name) - strlen(value)
						: 1),
				  "", mam_option_origin(name));
	}
}

void info_options_explained(void)
{
	size_t count;
	const struct mam_option_row *const *rows = mam_options(&count);

	for (size_t i = 0; i < count; i++) {
		const char *name = rows[i]->name;

		printf("%s%s=%s  (%s; %s%s%s; default %s)\n    %s\n", i ? "\n" : "", name,
		       mam_option_value(name), mam_option_origin(name), rows[i]->kind,
		       rows[i]->values ? ": " : "", rows[i]->values ? rows[i]->values : "",
		       *rows[i]->fallback ? rows[i]->fallback : "empty", rows[i]->doc);
	}
}
