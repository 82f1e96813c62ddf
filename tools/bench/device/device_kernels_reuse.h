/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_kernels_reuse.h - kernels of `mam bench device` in which freed memory serves other sizes
 * and other lanes.
 *
 *   exhaust          all askers together make `count` requests; each stops at its first failure
 *   release          a share of the first `count` objects is freed, in groups of neighbors
 *   swap             half of the askers free their object and allocate another one
 *   exchange         each asker allocates objects, publishes them in slots, and frees those that it
 *                    finds there: other askers allocated them, mostly in the same kernel
 *   exchange_check   the same, but objects are written completely, and read before they are freed
 *   exchange_fill    fills the empty slots
 *   exchange_write   writes all objects in slots completely, as exchange_check expects them
 *
 * `numbers` has the bytes of each object, as the sizes differ from those of device_bytes_of().
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_KERNELS_REUSE_H
#define MAM_TOOLS_BENCH_DEVICE_KERNELS_REUSE_H

#include "bench/device/device_kernels_touch.h"

/* found->spare[0] counts the requests: the n-th one is stored in element n of the arrays. */
MAM_KFN void device_exhaust(const struct device_job *job)
{
	uint64_t objects = 0, number;
	uint32_t asker, bytes;
	void *object;

	if (!device_asks(job, &asker))
		return;
	for (;;) {
		number = mam_atomic_add64(&job->found->spare[0], 1, MAM_RELAXED, MAM_AT_DEVICE);
		if (number >= job->count)
			break;
		bytes = device_bytes_of(job, (uint32_t)number);
		object = bench_malloc(job->heap, bytes);
		job->got[number] = (uint64_t)(uintptr_t)object;
		job->numbers[number] = bytes;
		if (object == NULL) {
			device_report(&job->found->none, 1);
			break;
		}
		objects++;
	}
	device_report(&job->found->objects, objects);
}
DEVICE_KERNEL(exhaust, device_exhaust)

#ifndef BENCH_NO_FREE
/* `flags` per mille of the groups of `rounds` neighbors, chosen at random. */
MAM_KFN void device_release(const struct device_job *job)
{
	const uint32_t groups = (job->count + job->rounds - 1) / job->rounds;
	const uint32_t thread = device_thread();

	if (thread >= job->count || job->got[thread] == 0 ||
	    bench_place(thread / job->rounds, groups) >= (uint64_t)groups * job->flags / 1000)
		return;
	bench_free(job->heap, (void *)(uintptr_t)job->got[thread], job->numbers[thread]);
	job->got[thread] = 0;
}
DEVICE_KERNEL(release, device_release)

/* `seed` is the round; `more` receives the objects that stay. An asker without one allocates. */
MAM_KFN void device_swap(const struct device_job *job)
{
	uint32_t asker, bytes;
	uint64_t object;

	if (!device_asks(job, &asker))
		return;
	object = job->got[asker];
	if (object != 0 && bench_mix(asker ^ job->seed * 0x9e3779b9u) % 2) {
		job->more[asker] = object;
		return;
	}
	job->more[asker] = 0;
	if (object != 0)
		bench_free(job->heap, (void *)(uintptr_t)object, job->numbers[asker]);
	bytes = device_bytes_of(job, asker);
	object = (uint64_t)(uintptr_t)bench_malloc(job->heap, bytes);
	job->got[asker] = object;
	job->numbers[asker] = bytes;
	device_report(&job->found->none, object == 0);
}
DEVICE_KERNEL(swap, device_swap)

/*
 * The color of a published object has its bytes in the lower half. Its first word, or in a check
 * each word, is the color.
 */
MAM_KFN uint32_t device_exchange_color(uint32_t random, uint32_t bytes)
{
	return random << 16 | bytes;
}

/* Returns the bytes; the minimum if the color is not that of an object, which is counted. */
MAM_KFN uint32_t device_exchange_bytes(const struct device_job *job, uint32_t color,
				       uint64_t *corrupt)
{
	const uint32_t bytes = color & 0xffff;

	if (bytes >= job->min && bytes <= job->max)
		return bytes;
	++*corrupt;
	return job->min;
}

/* `more` has `count` slots. */
MAM_KFN void device_exchange_by(const struct device_job *job, bool whole)
{
	uint32_t asker, round, number, random, color, bytes;
	uint64_t none = 0, corrupt = 0;
	void *object;

	if (!device_asks(job, &asker))
		return;
	for (round = 0; round < job->rounds; round++) {
		number = asker * job->rounds + round;
		random = bench_mix(number + job->seed * 0x9e3779b9u);
		bytes = device_bytes_of(job, number);
		object = bench_malloc(job->heap, bytes);
		if (object == NULL) {
			none++;
			continue;
		}
		device_stain(object, whole ? bytes : 4, device_exchange_color(random, bytes));
		object = (void *)(uintptr_t)mam_atomic_xchg64(
			&job->more[bench_mix(random) % job->count], (uint64_t)(uintptr_t)object,
			MAM_ACQ_REL, MAM_AT_DEVICE);
		if (object == NULL)
			continue;
		color = mam_atomic_load32((uint32_t *)object, MAM_RELAXED, MAM_AT_DEVICE);
		bytes = device_exchange_bytes(job, color, &corrupt);
		corrupt += whole && !device_is_stained(object, bytes, color);
		bench_free(job->heap, object, bytes);
	}
	device_report(&job->found->none, none);
	device_report(&job->found->corrupt, corrupt);
}

MAM_KFN void device_exchange(const struct device_job *job)
{
	device_exchange_by(job, false);
}
DEVICE_KERNEL(exchange, device_exchange)

MAM_KFN void device_exchange_check(const struct device_job *job)
{
	device_exchange_by(job, true);
}
DEVICE_KERNEL(exchange_check, device_exchange_check)

/* An asker is a slot here. Then `numbers` has the bytes of all objects in slots. */
MAM_KFN void device_exchange_fill(const struct device_job *job)
{
	uint64_t object, corrupt = 0;
	uint32_t asker, bytes;

	if (!device_asks(job, &asker))
		return;
	object = job->more[asker];
	if (object == 0) {
		bytes = device_bytes_of(job, asker);
		object = (uint64_t)(uintptr_t)bench_malloc(job->heap, bytes);
		job->more[asker] = object;
		device_report(&job->found->none, object == 0);
	} else {
		bytes = device_exchange_bytes(job, *(const uint32_t *)(uintptr_t)object, &corrupt);
	}
	job->numbers[asker] = bytes;
	device_report(&job->found->corrupt, corrupt);
}
DEVICE_KERNEL(exchange_fill, device_exchange_fill)

MAM_KFN void device_exchange_write(const struct device_job *job)
{
	uint32_t asker, bytes;

	if (!device_asks(job, &asker) || job->more[asker] == 0)
		return;
	bytes = job->numbers[asker];
	device_stain((void *)(uintptr_t)job->more[asker], bytes,
		     device_exchange_color(bench_mix(asker), bytes));
}
DEVICE_KERNEL(exchange_write, device_exchange_write)
#endif

#endif
