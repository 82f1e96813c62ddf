/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.h - the parts of `mam info`.
 */
#ifndef TOOLS_INFO_H
#define TOOLS_INFO_H

#include <stdbool.h>

/*
 * info_line - one fact: as a label and a text in columns, or, where `plain`, as a key, a tab and
 * the text.
 */
void info_line(bool plain, const char *key, const char *label, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

void info_devices(bool plain);     /* the driver, its devices, and what mam can do with them */
int info_device_count(void);       /* that the driver shows; 0 without one */
void info_options(bool plain);     /* each option's value and where that is from */
void info_options_explained(void); /* the table of options, a paragraph each */
int info_check(const char *program, bool plain); /* the exit status */

#endif
