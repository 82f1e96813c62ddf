/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.h - the parts of `mam info`.
 */
#ifndef TOOLS_INFO_H
#define TOOLS_INFO_H

#include <stdbool.h>

/*
 * info_line - print one fact: as a label and a text in columns or, if `plain`, as a key, a tab and
 * the text.
 */
void info_line(bool plain, const char *key, const char *label, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

void info_devices(bool plain);          /* the driver, its devices, and mam's support for them */
void info_links(int count, bool plain); /* between devices, and what NCCL uses */
int info_device_count(void);            /* devices that the driver reports; 0 without a driver */
void info_options(bool plain);          /* the value of each option and its origin */
void info_options_explained(void);      /* the table of options, one paragraph per option */
int info_check(const char *program, bool plain);     /* returns the exit status */
int info_stats(int count, char **names, bool plain); /* files and process IDs; the same */

#endif
