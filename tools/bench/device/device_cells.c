/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_cells.c - cells of a plan, and the numbers in their names.
 */
#include <stdarg.h>
#include <stdio.h>

#include "device_bench.h"

#define K UINT32_C(1024)
#define M (1024 * K)

const char *device_plan_number(uint64_t number, char *text, size_t bytes)
{
	if (number >= M && number % M == 0)
		snprintf(text, bytes, "%lluM", (unsigned long long)number / M);
	else if (number >= K && number % K == 0)
		snprintf(text, bytes, "%lluK", (unsigned long long)number / K);
	else
		snprintf(text, bytes, "%llu", (unsigned long long)number);
	return text;
}

void device_plan_add(struct device_plan *plan, struct device_cell cell, const char *format, ...)
{
	va_list arguments;

	if (plan->count == DEVICE_CELLS_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(cell.parameter, sizeof(cell.parameter), format, arguments);
	va_end(arguments);
	plan->cells[plan->count++] = cell;
}
