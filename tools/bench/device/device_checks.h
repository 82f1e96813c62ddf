/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_checks.h - the kernels of `mam bench device` that check an allocator's objects. They do
 * not call any allocator.
 *
 * 1. span: the lowest and the highest address, if the heap's address range is unknown.
 * 2. mark: every object sets, in a map with a bit for each 16 bytes of the heap, the bits of the
 *    units whose first byte it covers: a bit that was already set belongs to two objects. Objects
 *    outside the heap are counted and set no bits; misaligned objects and failed requests are
 *    counted, too.
 * 3. write: the owner fills its object with numbers derived from its own number; `read` finds words
 *    that another owner has written since.
 *
 * Objects that overlap by less than a unit contain a word or a byte of the other's: mark misses
 * these, read finds them.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_CHECKS_H
#define MAM_TOOLS_BENCH_DEVICE_CHECKS_H

#include "bench/device/device_kit.h"

/* The bytes of an asker's object. */
MAM_KFN uint32_t device_checked_bytes(const struct device_job *job, uint32_t asker)
{
	return job->sizes != NULL ? job->sizes[asker] : device_bytes_of(job, asker);
}

MAM_KFN bool device_is_inside(const struct device_job *job, uint64_t object, uint64_t bytes)
{
	return object >= job->low && object < job->high && bytes <= job->high - object;
}

MAM_KFN void device_span(const struct device_job *job)
{
	uint64_t low = 0, high = 0;
	uint32_t asker;

	for (asker = device_thread(); asker < job->askers; asker += device_threads()) {
		const uint64_t object = job->got[asker];

		if (object == 0)
			continue;
		low = ~object > low ? ~object : low;
		if (object + device_checked_bytes(job, asker) > high)
			high = object + device_checked_bytes(job, asker);
	}
	device_report_max(&job->found->low, low);
	device_report_max(&job->found->high, high);
}

/* Sets bits first to end - 1 of the map; returns true if one of them was set. */
MAM_KFN bool device_claim(uint64_t *map, uint64_t first, uint64_t end)
{
	bool taken = false;

	while (first < end) {
		const uint64_t word = first / 64, behind = (word + 1) * 64;
		const uint64_t stop = end < behind ? end : behind, count = stop - first;
		const uint64_t bits = (count == 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1)
				      << first % 64;

		taken |=
			(mam_atomic_or64(&map[word], bits, MAM_RELAXED, MAM_AT_DEVICE) & bits) != 0;
		first = stop;
	}
	return taken;
}

MAM_KFN void device_mark(const struct device_job *job)
{
	uint64_t none = 0, objects = 0, bytes = 0, twice = 0, beyond = 0, crooked = 0;
	uint32_t asker;

	for (asker = device_thread(); asker < job->askers; asker += device_threads()) {
		const uint64_t object = job->got[asker], at = object - job->low;
		const uint64_t asked = device_checked_bytes(job, asker);

		if (object == 0) {
			none++;
			continue;
		}
		objects++;
		bytes += asked;
		if (!device_is_inside(job, object, asked)) {
			beyond++;
			continue;
		}
		crooked += object % (asked < DEVICE_GRAIN ? 8 : DEVICE_GRAIN) != 0;
		twice += device_claim(job->map, (at + DEVICE_GRAIN - 1) / DEVICE_GRAIN,
				      (at + asked + DEVICE_GRAIN - 1) / DEVICE_GRAIN);
	}
	device_report(&job->found->none, none);
	device_report(&job->found->objects, objects);
	device_report(&job->found->bytes, bytes);
	device_report(&job->found->twice, twice);
	device_report(&job->found->beyond, beyond);
	device_report(&job->found->crooked, crooked);
}

MAM_KFN uint32_t device_word(uint32_t asker, uint64_t k)
{
	return (asker + 1) * 0x9e3779b1u ^ (uint32_t)k;
}

/*
 * One asker's object, of which a thread processes every `width`th word starting at `k`: writes or
 * reads it. Returns true if a word is not the owner's. After the last whole word it processes
 * single bytes, and only bytes at a misaligned address.
 */
MAM_KFN bool device_word_by_word(const struct device_job *job, uint32_t asker, uint32_t k,
				 uint32_t width, bool write)
{
	const uint64_t object = job->got[asker], bytes = device_checked_bytes(job, asker);
	const uint64_t words = object % 4 == 0 ? bytes / 4 : 0;
	uint64_t i;
	bool other = false;

	if (object == 0 || !device_is_inside(job, object, bytes))
		return false;
	for (i = k; i < words; i += width) {
		uint32_t *word = (uint32_t *)(uintptr_t)object + i;

		if (write)
			*word = device_word(asker, i);
		else
			other |= *word != device_word(asker, i);
	}
	for (i = words * 4 + k; i < bytes; i += width) {
		unsigned char *byte = (unsigned char *)(uintptr_t)object + i;

		if (write)
			*byte = (unsigned char)device_word(asker, i);
		else
			other |= *byte != (unsigned char)device_word(asker, i);
	}
	return other;
}

/* job->flags threads, from 1 to DEVICE_WARP, process an object together. */
MAM_KFN void device_write(const struct device_job *job)
{
	const uint32_t width = job->flags, k = device_thread() % width;
	uint64_t asker;

	for (asker = device_thread() / width; asker < job->askers;
	     asker += device_threads() / width)
		(void)device_word_by_word(job, (uint32_t)asker, k, width, true);
}

MAM_KFN void device_read(const struct device_job *job)
{
	const uint32_t width = job->flags, k = device_thread() % width;
	uint64_t asker, corrupt = 0;

	for (asker = device_thread() / width; asker < job->askers;
	     asker += device_threads() / width)
		corrupt += device_word_by_word(job, (uint32_t)asker, k, width, false);
	device_report(&job->found->corrupt, corrupt);
}

/* Measures the cost of a launch. */
MAM_KFN void device_nothing(const struct device_job *job)
{
	uint32_t asker;

	if (job->got == NULL && device_asks(job, &asker)) /* never true: uses the job */
		job->numbers[asker] = asker;
}

#endif
