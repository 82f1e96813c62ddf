/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - pools as text in the OpenMetrics format, version 1.0.
 */
#ifndef TOOLS_METRICS_H
#define TOOLS_METRICS_H

#include <stddef.h>
#include <stdio.h>

#include "exporter/collect.h"

#define METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* metrics_put - write the text. Errors remain set in `file`. */
void metrics_put(FILE *file, const struct collect_list *list);

/*
 * metrics_text - collect all pages and return their text, which the caller frees. NULL: out of
 * memory.
 */
char *metrics_text(size_t *bytes);

#endif
