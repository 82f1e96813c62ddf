/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.c - see model.h.
 *
 * One page is copied at a time, so that memory does not grow with the number of processes by more
 * than their figures.
 */
#include "top/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kit/message.h"

static struct mam_statpage page; /* of the process that is being read */

void top_add(struct mam_statpage_figures *sum, const struct mam_statpage_figures *part)
{
	sum->pools += part->pools;
	sum->calls += part->calls;
	sum->allocs += part->allocs;
	sum->frees += part->frees;
	sum->failures += part->failures;
	sum->live_blocks += part->live_blocks;
	sum->live_bytes += part->live_bytes;
	sum->peak_live_bytes += part->peak_live_bytes;
	sum->cached_bytes += part->cached_bytes;
	sum->retired_bytes += part->retired_bytes;
	sum->peak_retired_bytes += part->peak_retired_bytes;
	sum->reserved_bytes += part->reserved_bytes;
	sum->peak_reserved_bytes += part->peak_reserved_bytes;
	sum->driver_calls += part->driver_calls;
	sum->driver_ns += part->driver_ns;
	sum->peak_together += part->peak_together;
	sum->is_used |= part->is_used;
}

uint64_t top_history(const struct top_use *use, unsigned int age)
{
	return age >= use->samples || age >= TOP_HISTORY
		       ? 0
		       : use->history[(use->samples - 1 - age) % TOP_HISTORY];
}

/* A counter that became smaller belongs to another pool. */
static double rate(uint64_t now, uint64_t before, uint64_t elapsed_ns)
{
	if (elapsed_ns == 0 || now < before)
		return TOP_UNKNOWN;
	return (double)(now - before) * 1e9 / (double)elapsed_ns;
}

static void free_process(struct top_process *process)
{
	free(process->uses);
	free(process->pools);
}

static void free_processes(struct top_process *processes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free_process(&processes[i]);
	free(processes);
}

static const struct top_process *find_process(const struct top_model *model,
					      const struct page_entry *entry)
{
	for (size_t low = 0, high = model->count; low < high;) {
		size_t middle = low + (high - low) / 2;
		const struct top_process *process = &model->processes[middle];

		if (process->pid == entry->pid && process->start == entry->start &&
		    process->copy == entry->copy)
			return process;
		if (process->pid != entry->pid       ? process->pid < entry->pid
		    : process->start != entry->start ? process->start < entry->start
						     : process->copy < entry->copy)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Its characters may be any: a terminal might interpret them. */
static void copy_text(char to[33], const char from[32])
{
	memcpy(to, from, 32);
	to[32] = '\0';
	for (char *c = to; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

static const struct top_pool *find_pool(const struct top_process *process,
					const struct top_pool *pool)
{
	for (size_t i = 0; process != NULL && i < process->pool_count; i++)
		if (process->pools[i].number == pool->number &&
		    strcmp(process->pools[i].name, pool->name) == 0)
			return &process->pools[i];
	return NULL;
}

static bool add_pools(struct top_process *process, const struct top_process *before,
		      uint64_t elapsed_ns)
{
	static struct top_pool pools[MAM_STATPAGE_POOLS];
	size_t count = 0;

	for (unsigned int i = 0; i < MAM_STATPAGE_POOLS; i++) {
		struct top_pool *pool = &pools[count];
		enum mam_statpage_state state = mam_statpage_read_pool(&page, i, &pool->figures);
		const struct top_pool *last;
		int gpu = page.pools[i].device;

		if (state == MAM_STATPAGE_FREE)
			continue;
		pool->number = i;
		pool->gpu = gpu < 0 || gpu >= MAM_STATPAGE_DEVICES ? 0 : gpu;
		pool->has_ended = state == MAM_STATPAGE_ENDED;
		copy_text(pool->name, page.pools[i].name);
		copy_text(pool->source, page.pools[i].source);
		last = find_pool(before, pool);
		pool->alloc_rate =
			last == NULL ? TOP_UNKNOWN
				     : rate(pool->figures.allocs, last->figures.allocs, elapsed_ns);
		count++;
	}
	process->pools = (struct top_pool *)malloc((count + 1) * sizeof(*pools));
	if (process->pools == NULL)
		return false;
	memcpy(process->pools, pools, count * sizeof(*pools));
	process->pool_count = count;
	return true;
}

static const struct top_use *find_use(const struct top_process *process, int gpu)
{
	for (size_t i = 0; process != NULL && i < process->use_count; i++)
		if (process->uses[i].gpu == gpu)
			return &process->uses[i];
	return NULL;
}

static void set_use(struct top_use *use, int gpu, const struct top_process *process,
		    const struct top_use *last, uint64_t elapsed_ns)
{
	memset(&use->figures, 0, sizeof(use->figures));
	use->gpu = gpu;
	use->samples = 0;
	use->alloc_rate = TOP_UNKNOWN;
	use->nvml_bytes = TOP_NO_BYTES;
	for (size_t i = 0; i < process->pool_count; i++)
		if (process->pools[i].gpu == gpu)
			top_add(&use->figures, &process->pools[i].figures);
	if (last != NULL) {
		memcpy(use->history, last->history, sizeof(use->history));
		use->samples = last->samples;
		use->alloc_rate = rate(use->figures.allocs, last->figures.allocs, elapsed_ns);
	}
	use->history[use->samples++ % TOP_HISTORY] = use->figures.live_bytes;
	use->site_count = mam_statpage_read_sites(&page, gpu, use->sites, TOP_SITES + 1,
						  &use->sites_since, &use->sites_sum);
}

static bool add_uses(struct top_process *process, const struct top_process *before,
		     uint64_t elapsed_ns)
{
	bool is_used[MAM_STATPAGE_DEVICES] = { false };
	size_t count = 0;

	for (size_t i = 0; i < process->pool_count; i++) {
		count += !is_used[process->pools[i].gpu];
		is_used[process->pools[i].gpu] = true;
	}
	process->uses = (struct top_use *)malloc((count + (count == 0)) * sizeof(*process->uses));
	if (process->uses == NULL)
		return false;
	for (int gpu = 0; gpu < MAM_STATPAGE_DEVICES; gpu++)
		if (is_used[gpu])
			set_use(&process->uses[process->use_count++], gpu, process,
				find_use(before, gpu), elapsed_ns);
	if (count == 0)
		set_use(&process->uses[process->use_count++], TOP_NO_GPU, process, NULL, 0);
	return true;
}

/* From `page`. */
static bool fill(struct top_process *process, const struct page_entry *entry,
		 const struct top_process *before, uint64_t now_ns)
{
	uint64_t elapsed_ns = before == NULL ? 0 : now_ns - before->sampled_ns;

	process->pid = entry->pid;
	process->start = entry->start;
	process->copy = entry->copy;
	process->rank = page.rank;
	process->sampled_ns = now_ns;
	memcpy(process->program, entry->program, sizeof(process->program));
	return add_pools(process, before, elapsed_ns) && add_uses(process, before, elapsed_ns);
}

bool top_model_sample(struct top_model *model, uint64_t now_ns)
{
	struct top_process *processes;
	size_t count = 0;
	bool good = true;

	if (!page_list_refresh(&model->list))
		return false;
	processes = (struct top_process *)calloc(model->list.count + 1, sizeof(*processes));
	if (processes == NULL) {
		message_error("out of memory");
		return false;
	}
	for (size_t i = 0; i < model->list.count;) {
		const struct page_entry *entry = &model->list.entries[i];

		if (page_read(entry->path, &page)) {
			good = fill(&processes[count++], entry, find_process(model, entry), now_ns);
			if (!good)
				message_error("out of memory");
			i++;
		} else if (errno != 0) { /* it has ended meanwhile */
			i++;
		} else {
			good = page_list_skip(&model->list, i);
		}
		if (!good) {
			free_processes(processes, count);
			return false;
		}
	}
	free_processes(model->processes, model->count);
	model->processes = processes;
	model->count = count;
	return true;
}

void top_model_fini(struct top_model *model)
{
	page_list_fini(&model->list);
	free_processes(model->processes, model->count);
	model->processes = NULL;
	model->count = 0;
}

uint64_t top_unsampled(const struct top_use *use)
{
	uint64_t live = use->figures.live_bytes, sampled = use->sites_sum.bytes;

	if (use->sites_since == 0 || sampled > live || live - sampled <= use->sites_sum.error)
		return 0;
	return live - sampled;
}
