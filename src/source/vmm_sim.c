/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm_sim.c - the vmm source without a driver: addresses only, and an estimate of the cost of the
 * calls, for replay and tests on machines without a GPU.
 *
 * The costs were measured on an idle H100, in nanoseconds, with linear interpolation in between.
 *
 * Invariant: given_bytes is the sum of all existing handles, and at most properties.total_bytes.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "source/vmm.h"

#define GRANULARITY ((size_t)2 << 20)
#define DEFAULT_TOTAL ((size_t)80 << 30)
#define RESERVE_NS 2000

/* The cost of one call at the three measured sizes. */
struct cost {
	uint32_t at_2m, at_64m, at_1g;
};

static const struct cost create_cost = { 14000, 31000, 42000 };
static const struct cost map_cost = { 1700, 2000, 4000 };
static const struct cost access_cost = { 46000, 51000, 98000 };
static const struct cost unmap_cost = { 29000, 31000, 51000 };
static const struct cost release_cost = { 14000, 53000, 500000 };

struct simulated {
	struct mam_vmm vmm;
	uint64_t ns;        /* lock: vmm.lock */
	size_t given_bytes; /* lock: vmm.lock */
	uint64_t handles;   /* count of all handles ever created; lock: vmm.lock */
};

static uint64_t between(double low, double high, uint64_t bytes, double from, double to)
{
	double part = ((double)bytes - from) / (to - from);

	return (uint64_t)(low + (high - low) * part);
}

static uint64_t cost_of(const struct cost *cost, size_t bytes)
{
	const double mebi = 1 << 20;

	if (bytes <= GRANULARITY)
		return cost->at_2m;
	if ((double)bytes <= 64 * mebi)
		return between(cost->at_2m, cost->at_64m, bytes, 2 * mebi, 64 * mebi);
	return between(cost->at_64m, cost->at_1g, bytes, 64 * mebi, 1024 * mebi);
}

static struct simulated *of(struct mam_vmm *vmm)
{
	return (struct simulated *)vmm;
}

static void spend(struct mam_vmm *vmm, uint64_t ns)
{
	mam_lock_take(&vmm->lock);
	of(vmm)->ns += ns;
	mam_lock_release(&vmm->lock);
}

static enum mam_status sim_reserve(struct mam_vmm *vmm, size_t bytes, uint64_t *base)
{
	const size_t mapped = bytes + GRANULARITY;
	uint64_t start;
	void *area;

	spend(vmm, RESERVE_NS);
	if (mapped < bytes)
		return MAM_ERROR_OUT_OF_MEMORY;
	area = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		return MAM_ERROR_OUT_OF_MEMORY;
	start = (uintptr_t)area;
	*base = mam_round_up(start, GRANULARITY);
	if (*base > start)
		munmap(area, *base - start);
	if (start + mapped > *base + bytes)
		munmap((void *)(uintptr_t)(*base + bytes), start + mapped - (*base + bytes));
	return MAM_OK;
}

static enum mam_status sim_unreserve(struct mam_vmm *vmm, uint64_t base, size_t bytes)
{
	spend(vmm, RESERVE_NS);
	return munmap((void *)(uintptr_t)base, bytes) == 0 ? MAM_OK : MAM_ERROR_DRIVER;
}

static enum mam_status sim_create(struct mam_vmm *vmm, size_t bytes, uint64_t *handle)
{
	struct simulated *sim = of(vmm);
	bool fits;

	mam_lock_take(&vmm->lock);
	fits = bytes <= vmm->source.properties.total_bytes - sim->given_bytes;
	if (fits) {
		sim->given_bytes += bytes;
		*handle = ++sim->handles;
	}
	sim->ns += cost_of(&create_cost, bytes);
	mam_lock_release(&vmm->lock);
	return fits ? MAM_OK : MAM_ERROR_OUT_OF_MEMORY;
}

static enum mam_status sim_release(struct mam_vmm *vmm, uint64_t handle, size_t bytes)
{
	(void)handle;
	mam_lock_take(&vmm->lock);
	of(vmm)->given_bytes -= bytes;
	of(vmm)->ns += cost_of(&release_cost, bytes);
	mam_lock_release(&vmm->lock);
	return MAM_OK;
}

static enum mam_status sim_map(struct mam_vmm *vmm, uint64_t base, size_t bytes, uint64_t handle)
{
	(void)base;
	(void)handle;
	spend(vmm, cost_of(&map_cost, bytes) + cost_of(&access_cost, bytes));
	return MAM_OK;
}

static enum mam_status sim_unmap(struct mam_vmm *vmm, uint64_t base, size_t bytes)
{
	(void)base;
	spend(vmm, cost_of(&unmap_cost, bytes));
	return MAM_OK;
}

static size_t sim_room(struct mam_vmm *vmm)
{
	size_t room;

	mam_lock_take(&vmm->lock);
	room = vmm->source.properties.total_bytes - of(vmm)->given_bytes;
	mam_lock_release(&vmm->lock);
	return room;
}

static void sim_destroy(struct mam_vmm *vmm)
{
	free(of(vmm));
}

static const struct mam_vmm_backend backend = {
	.reserve = sim_reserve,
	.unreserve = sim_unreserve,
	.create = sim_create,
	.release = sim_release,
	.map = sim_map,
	.unmap = sim_unmap,
	.room = sim_room,
	.destroy = sim_destroy,
};

/* There is no work. Pools must behave as on a GPU, and behave differently without this function. */
static enum mam_status sim_quiesce(struct mam_source *source)
{
	(void)source;
	return MAM_OK;
}

static uint64_t sim_cost(struct mam_source *source)
{
	struct mam_vmm *vmm = (struct mam_vmm *)source;
	uint64_t ns;

	mam_lock_take(&vmm->lock);
	ns = of(vmm)->ns;
	mam_lock_release(&vmm->lock);
	return ns;
}

enum mam_status mam_vmm_sim_create(const struct mam_vmm_attr *attr, struct mam_source **source)
{
	struct simulated *sim = calloc(1, sizeof(*sim));

	if (sim == NULL)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	mam_vmm_init(&sim->vmm, &backend);
	sim->vmm.ops.cost = sim_cost;
	sim->vmm.ops.quiesce = sim_quiesce;
	sim->vmm.source.properties = (struct mam_source_properties){
		.name = "vmm (simulated)",
		.granularity = GRANULARITY,
		.alignment = GRANULARITY,
		.total_bytes = mam_round_down(attr->total_bytes ? attr->total_bytes : DEFAULT_TOTAL,
					      GRANULARITY),
		.device = -1,
		.survives_fork = true,
		.range_bytes = attr->range_bytes,
	};
	*source = &sim->vmm.source;
	return MAM_OK;
}
