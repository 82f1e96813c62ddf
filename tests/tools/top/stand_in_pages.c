/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in_pages.c - processes with statistics pages that do not change by themselves, in the
 * folder of $XDG_RUNTIME_DIR: stand_in_pages COUNT. Each line "grow NUMBER BYTES" on standard input
 * adds live bytes to a process, and "fail NUMBER" a failure. The end of the input ends all of them.
 *
 * Process 0 has 4 pools on 2 GPUs and the name "train", the others have one pool each.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/page/stand_in.h"

#define MIB ((uint64_t)1 << 20)
#define GPUS 4

static void fill(struct mam_statpage_counts *counts, uint64_t mib)
{
	counts->live_bytes = mib * MIB;
	counts->live_rounded_bytes = mib * MIB;
	counts->live_blocks = mib * 3;
	counts->peak_live_bytes = (mib + mib / 8) * MIB;
	counts->cached_bytes = mib / 4 * MIB;
	counts->retired_bytes = mib / 8 * MIB;
	counts->peak_retired_bytes = mib / 4 * MIB;
	counts->reserved_bytes = mib * 2 * MIB;
	counts->peak_reserved_bytes = mib * 2 * MIB;
	counts->allocs = mib * 10;
	counts->frees = mib * 7;
	counts->driver_calls = mib / 16 + 1;
	counts->driver_ns = mib * 250000;
}

static void add_pools(struct mam_statpage *page, int number)
{
	static const char *const names[] = { "default", "activations", "optimizer" };

	for (int i = 0; number == 0 && i < 3; i++)
		fill(stand_in_pool(page, names[i], "vmm", 0), (uint64_t)1024 << i);
	fill(stand_in_pool(page, "default", "cudamalloc", number == 0 ? 1 : number % GPUS),
	     (uint64_t)(16 + number * 16));
}

static struct mam_statpage *create(int number)
{
	static struct mam_statpage page;
	char path[STAND_IN_PATH], name[32];
	void *mapped = MAP_FAILED;
	pid_t child = fork();
	int file;

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (true)
			pause();
	}
	snprintf(name, sizeof(name), "worker-%d", number);
	stand_in_begin(&page, child, 0, number == 0 ? "train" : name);
	add_pools(&page, number);
	if (child < 0 || !stand_in_write(&page, 0, path))
		exit(1);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file >= 0)
		mapped =
			mmap(NULL, MAM_STATPAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (mapped == MAP_FAILED)
		exit(1);
	close(file);
	return (struct mam_statpage *)mapped;
}

int main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0, number;
	struct mam_statpage **pages;
	unsigned long long bytes;
	char line[128];

	pages = (struct mam_statpage **)calloc((size_t)count + 1, sizeof(struct mam_statpage *));
	if (pages == NULL || count < 1)
		return 1;
	for (int i = 0; i < count; i++)
		pages[i] = create(i);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (sscanf(line, "grow %d %llu", &number, &bytes) == 2 && number < count) {
			pages[number]->pools[0].counts[0].live_bytes += bytes;
			pages[number]->pools[0].counts[0].allocs += 1000;
		} else if (sscanf(line, "fail %d", &number) == 1 && number < count) {
			pages[number]->pools[0].counts[0].failures++;
		}
	}
	for (int i = 0; i < count; i++)
		kill((pid_t)pages[i]->pid, SIGKILL);
	while (wait(NULL) > 0)
		;
	free(pages);
	return 0;
}
