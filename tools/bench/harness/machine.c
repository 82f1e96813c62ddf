/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c - the machine of the measurements: GPU, driver, CPU, kernel, date, commit.
 *
 * The commit is BENCH_COMMIT from the environment; otherwise that of git, if the current folder is
 * a checkout of mam; otherwise "unknown".
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench/bench.h"

static void strip(char *text)
{
	size_t length = strlen(text);

	while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
		text[--length] = '\0';
}

static void read_cpu(char *cpu, size_t bytes)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256], model[100] = "unknown";

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
			strip(line);
			snprintf(model, sizeof(model), "%.90s", colon + 2);
			break;
		}
	}
	if (file != NULL)
		fclose(file);
	snprintf(cpu, bytes, "%s x %ld", model, sysconf(_SC_NPROCESSORS_ONLN));
}

static void read_commit(char *commit, size_t bytes)
{
	const char *given = getenv("BENCH_COMMIT");
	FILE *git;

	snprintf(commit, bytes, "%s", given != NULL && given[0] != '\0' ? given : "unknown");
	if (given != NULL && given[0] != '\0')
		return;
	git = popen("git ls-files --error-unmatch include/mam/mam.h >/dev/null 2>&1 && "
		    "git describe --always --dirty 2>/dev/null",
		    "r");
	if (git == NULL)
		return;
	if (fgets(commit, (int)bytes, git) == NULL)
		snprintf(commit, bytes, "unknown");
	pclose(git);
	strip(commit);
}

/* A header line must be one line, whatever the environment holds. */
static void flatten(char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < ' ')
			*text = ' ';
	}
}

void bench_machine_read_host(struct bench_machine *machine)
{
	struct utsname names;
	time_t now = time(NULL);
	struct tm parts;

	snprintf(machine->gpu, sizeof(machine->gpu), "none");
	snprintf(machine->driver, sizeof(machine->driver), "none");
	read_cpu(machine->cpu, sizeof(machine->cpu));
	if (uname(&names) == 0)
		snprintf(machine->kernel, sizeof(machine->kernel), "%.40s %.80s", names.sysname,
			 names.release);
	else
		snprintf(machine->kernel, sizeof(machine->kernel), "unknown");
	if (gmtime_r(&now, &parts) == NULL ||
	    strftime(machine->date, sizeof(machine->date), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		snprintf(machine->date, sizeof(machine->date), "unknown");
	read_commit(machine->commit, sizeof(machine->commit));
	flatten(machine->commit);
}

void bench_machine_read(struct bench_machine *machine)
{
	bench_machine_read_host(machine);
	if (!bench_cuda_facts(machine->gpu, sizeof(machine->gpu), machine->driver,
			      sizeof(machine->driver))) {
		snprintf(machine->gpu, sizeof(machine->gpu), "none");
		snprintf(machine->driver, sizeof(machine->driver), "none");
	}
	flatten(machine->gpu);
	flatten(machine->driver);
}
