/* SPDX-License-Identifier: Apache-2.0 */
/*
 * knobs.c - the fake driver's settings, and failures on demand.
 *
 * The settings are environment variables (README has the list), read at the first call into the
 * library. An invalid setting ends the program with a message: a test that runs with other settings
 * than its author intended is worse than one that does not run.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RULES 16
#define DELAY_US_MAX 60000000 /* one minute */

/* One part of FAKE_CUDA_FAIL_AT. lock: fake */
struct rule {
	char name[48];      /* base name of a function, or "*" */
	unsigned long at;   /* the first call that fails, from 1 */
	bool onwards;       /* and all calls after it */
	int signal;         /* is raised before the call, which works then; 0: none */
	int code;           /* 0: out of memory for allocations, unknown error for other calls */
	unsigned long seen; /* calls so far */
};

struct fake_knobs fake_knobs;
static struct rule rules[RULES];
static int rule_count;
static struct rule sticky; /* FAKE_CUDA_STICKY_AFTER; at 0: not set. lock: fake */

/* fake_fail(): the at-th call and the following ones, `times` in total. lock: fake */
static struct {
	unsigned long at, times, seen;
	int failures;
	char name[48]; /* of the first failed call */
} armed;

static void refuse(const char *name, const char *value, const char *allowed)
{
	fprintf(stderr, "fake cuda: %s is '%s', but must be %s\n", name, value, allowed);
	_exit(2);
}

static bool parse_bytes(const char **text, size_t *bytes)
{
	static const char units[] = "KMGT";
	char *end;
	unsigned long long value = strtoull(*text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (end == *text)
		return false;
	if (unit) {
		value <<= 10 * (unit - units + 1);
		end++;
	}
	*bytes = value;
	*text = end;
	return true;
}

/* A list of sizes, one per device; the last one is repeated for the rest. */
static void read_memory(void)
{
	const char *value = getenv("FAKE_CUDA_MEMORY");
	const char *rest = value ? value : "1G";
	size_t bytes = 0;

	for (int i = 0; i < FAKE_DEVICES; i++) {
		if (*rest && !parse_bytes(&rest, &bytes))
			refuse("FAKE_CUDA_MEMORY", value, "sizes such as 512M, or 1G,256M");
		if (*rest == ',')
			rest++;
		fake_knobs.memory[i] = bytes;
	}
	if (*rest || bytes == 0)
		refuse("FAKE_CUDA_MEMORY", value, "at most 8 sizes such as 1G, none of them 0");
}

static void set_link(int one, int other, enum fake_link kind, uint64_t delay_ns)
{
	fake_knobs.links[one][other] = fake_knobs.links[other][one] = kind;
	fake_knobs.link_ns[one][other] = fake_knobs.link_ns[other][one] = delay_ns;
}

/* D-E:KIND or D-E:KIND:US */
static bool parse_link(char *text)
{
	static const char *const kinds[] = {
		[FAKE_LINK_NONE] = "none", [FAKE_LINK_PCIE] = "pcie", [FAKE_LINK_NVLINK] = "nvlink"
	};
	int one = text[0] - '0', other = text[0] && text[1] ? text[2] - '0' : -1;
	char *delay, *end = "";
	long delay_us = 0;

	if (one < 0 || one >= FAKE_DEVICES || other < 0 || other >= FAKE_DEVICES || one == other ||
	    text[1] != '-' || text[3] != ':')
		return false;
	delay = strchr(text + 4, ':');
	if (delay) {
		*delay++ = '\0';
		delay_us = strtol(delay, &end, 10);
	}
	if (*end || delay_us < 0 || delay_us > DELAY_US_MAX)
		return false;
	for (int kind = FAKE_LINK_NONE; kind <= FAKE_LINK_NVLINK; kind++)
		if (strcmp(text + 4, kinds[kind]) == 0) {
			set_link(one, other, kind, delay_us * 1000ull);
			return true;
		}
	return false;
}

static void read_links(void)
{
	const char *value = getenv("FAKE_CUDA_LINKS");
	char copy[512], *rest = copy, *part;

	for (int i = 0; i < FAKE_DEVICES * FAKE_DEVICES; i++)
		fake_knobs.links[i / FAKE_DEVICES][i % FAKE_DEVICES] =
			value && *value ? FAKE_LINK_NONE : FAKE_LINK_NVLINK;
	if (!value || !*value || strcmp(value, "none") == 0)
		return;
	snprintf(copy, sizeof(copy), "%s", value);
	while ((part = strsep(&rest, ",")) != NULL)
		if (!parse_link(part))
			refuse("FAKE_CUDA_LINKS", value,
			       "none, or pairs such as 0-1:nvlink,0-2:pcie:300");
}

static long read_number(const char *name, long preset, long max)
{
	const char *value = getenv(name);
	char *end;
	long number;

	if (!value || !*value)
		return preset;
	number = strtol(value, &end, 10);
	if (*end || number < 0 || number > max)
		refuse(name, value, "a number that is not negative nor too large");
	return number;
}

/* FUNC:N, FUNC:N+, FUNC:N:CODE, FUNC:N:kill or FUNC:N:int */
static bool parse_rule(const char *text, struct rule *rule)
{
	const char *colon = strchr(text, ':');
	char *end;

	if (!colon || colon - text >= (long)sizeof(rule->name))
		return false;
	memcpy(rule->name, text, colon - text);
	rule->at = strtoul(colon + 1, &end, 10);
	if (*end == '+') {
		rule->onwards = true;
		end++;
	}
	if (strcmp(end, ":kill") == 0) {
		rule->signal = SIGKILL;
		end += strlen(end);
	} else if (strcmp(end, ":int") == 0) {
		rule->signal = SIGINT;
		end += strlen(end);
	} else if (*end == ':') {
		rule->code = strtol(end + 1, &end, 10);
	}
	return *end == '\0' && rule->at != 0 && rule->code >= 0;
}

static void read_rules(void)
{
	const char *value = getenv("FAKE_CUDA_FAIL_AT");
	const char *broken = getenv("FAKE_CUDA_STICKY_AFTER");
	char copy[512], *rest = copy, *part;

	if (broken && *broken && (!parse_rule(broken, &sticky) || sticky.onwards || sticky.signal))
		refuse("FAKE_CUDA_STICKY_AFTER", broken, "FUNCTION:N or FUNCTION:N:CODE");
	if (!value || !*value)
		return;
	snprintf(copy, sizeof(copy), "%s", value);
	while ((part = strsep(&rest, ",")) != NULL)
		if (rule_count == RULES || !parse_rule(part, &rules[rule_count++]))
			refuse("FAKE_CUDA_FAIL_AT", value,
			       "FUNCTION:N, FUNCTION:N+, FUNCTION:N:CODE, FUNCTION:N:kill or "
			       "FUNCTION:N:int");
}

void fake_knobs_read(void)
{
	const char *log = getenv("FAKE_CUDA_LOG");

	fake_knobs.devices = read_number("FAKE_CUDA_DEVICES", 1, FAKE_DEVICES);
	fake_knobs.version = read_number("FAKE_CUDA_VERSION", FAKE_VERSION,
					 FAKE_VERSION < 13000 ? FAKE_VERSION : 99990);
	fake_knobs.lag_ns = read_number("FAKE_CUDA_LAG_US", 0, 60000000) * 1000ull;
	fake_knobs.lag_seed = read_number("FAKE_CUDA_LAG_RANDOM", -1, 1000000000) + 1;
	fake_knobs.clock_ns = read_number("FAKE_CUDA_CLOCK_NS", 0, 1000000000);
	fake_knobs.mappers = read_number("FAKE_CUDA_VMM", FAKE_DEVICES, FAKE_DEVICES);
	fake_knobs.first = (int)read_number("FAKE_CUDA_FIRST", 0, FAKE_DEVICES);
	fake_knobs.hasty = read_number("FAKE_CUDA_HASTY", 0, 1);
	fake_knobs.host_access = read_number("FAKE_CUDA_HOST_ACCESS", 0, 1);
	fake_knobs.sync_memops = read_number("FAKE_CUDA_SYNC_MEMOPS", 0, 1);
	read_memory();
	read_links();
	read_rules();
	fake_knobs.log = -1;
	if (log && *log)
		fake_knobs.log = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (log && *log && fake_knobs.log < 0)
		refuse("FAKE_CUDA_LOG", log, "a file that can be written");
}

static bool allocates(const char *name)
{
	static const char *const others[] = { "cuMemHostAlloc",  "cuMemHostRegister",
					      "cuMemCreate",     "cuMemAddressReserve",
					      "cuMemPoolCreate", "cuArrayCreate",
					      "cuArray3DCreate", "cuMipmappedArrayCreate" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(name, others[i]) == 0)
			return true;
	return strncmp(name, "cuMemAlloc", 10) == 0;
}

void fake_knobs_arm(unsigned long at, unsigned long times)
{
	memset(&armed, 0, sizeof(armed));
	armed.at = at;
	armed.times = times;
}

int fake_knobs_armed_failures(char *name, size_t bytes)
{
	if (armed.failures)
		snprintf(name, bytes, "%s", armed.name);
	return armed.failures;
}

static bool armed_fails(const char *name)
{
	if (armed.at == 0 || ++armed.seen < armed.at || armed.seen - armed.at >= armed.times)
		return false;
	if (armed.failures++ == 0)
		snprintf(armed.name, sizeof(armed.name), "%s", name);
	return true;
}

bool fake_knobs_fails(const char *name, int *result)
{
	bool fails = armed_fails(name);

	if (fails)
		*result = allocates(name) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
	for (struct rule *rule = rules; rule < rules + rule_count; rule++) {
		if (strcmp(rule->name, "*") != 0 && strcmp(rule->name, name) != 0)
			continue;
		rule->seen++;
		if (rule->seen != rule->at && !(rule->onwards && rule->seen > rule->at))
			continue;
		if (rule->signal) {
			kill(getpid(), rule->signal);
			continue;
		}
		fails = true;
		*result = rule->code        ? rule->code
			  : allocates(name) ? CUDA_ERROR_OUT_OF_MEMORY
					    : CUDA_ERROR_UNKNOWN;
	}
	return fails;
}

/* Is this the end of the call after which the context is broken? */
bool fake_knobs_breaks(const char *name, int *code)
{
	if (sticky.at == 0 || (strcmp(sticky.name, "*") != 0 && strcmp(sticky.name, name) != 0) ||
	    ++sticky.seen != sticky.at)
		return false;
	*code = sticky.code ? sticky.code : CUDA_ERROR_ILLEGAL_ADDRESS;
	return true;
}
