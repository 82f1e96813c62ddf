/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number.c - see number.h.
 */
#include "top/number.h"

#include <stdio.h>
#include <time.h>

/* Three digits, unless `number` is above 999. */
static struct format_text three_digits(double number, const char *unit)
{
	struct format_text out;
	int digits = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;

	snprintf(out.text, sizeof(out.text), "%.*f%s", digits, number, unit);
	return out;
}

/* Numbers that would print as 1000 have the next unit. */
static struct format_text scaled(double number, double step, const char *const *units, int count)
{
	int unit = 0;

	while (number >= 999.5 && unit + 1 < count) {
		number /= step;
		unit++;
	}
	if (unit == 0) {
		struct format_text out;

		snprintf(out.text, sizeof(out.text), "%.0f%s", number, units[0]);
		return out;
	}
	return three_digits(number, units[unit]);
}

struct format_text number_bytes(uint64_t bytes)
{
	static const char *const units[] = { "", "K", "M", "G", "T", "P", "E" };

	return scaled((double)bytes, 1024, units, 7);
}

struct format_text number_rate(double rate)
{
	static const char *const units[] = { "", "k", "M", "G", "T" };
	struct format_text unknown = { "-" };

	return rate < 0 ? unknown : scaled(rate, 1000, units, 5);
}

struct format_text number_time(uint64_t ns)
{
	static const char *const units[] = { "us", "ms", "s" };
	struct format_text zero = { "0" };
	double seconds = (double)ns * 1e-9;

	if (ns == 0)
		return zero;
	if (seconds < 999.5)
		return scaled((double)ns * 1e-3, 1000, units, 3);
	return three_digits(seconds / 3600, "h");
}

struct format_text number_processes(uint64_t count)
{
	struct format_text out;

	snprintf(out.text, sizeof(out.text), "%.26s process%s", format_count(count).text,
		 count == 1 ? "" : "es");
	return out;
}

struct format_text number_moment(uint64_t seconds)
{
	const time_t now = time(NULL), then = (time_t)seconds;
	struct format_text result = { "?" };
	struct tm today, local;

	if (seconds > UINT64_C(1) << 40 || localtime_r(&now, &today) == NULL ||
	    localtime_r(&then, &local) == NULL)
		return result;
	strftime(result.text, sizeof(result.text),
		 local.tm_year == today.tm_year && local.tm_yday == today.tm_yday
			 ? "%H:%M:%S"
			 : "%Y-%m-%d %H:%M:%S",
		 &local);
	return result;
}
