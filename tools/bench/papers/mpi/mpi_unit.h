/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_unit.h - the unit workloads of "Coalescing Memory Allocations for GPU MPI", as a kernel.
 *
 * 1. Each thread allocates n floats,
 * 2. writes 0 to n - 1 into them,
 * 3. works on them: Linear adds them, Quadratic adds the products of all pairs; the result goes to
 *    the first one,
 * 4. and frees them.
 * The clock is read around 1, 3 and 4. The work MPI_CHECK checks the memory in place of 3: each
 * thread writes its own pattern, all synchronize, and each pattern must be intact.
 *
 * The compiler must not forward the values written in 2 to 3, nor eliminate the stores of 3: the
 * memory is made opaque to it in between. A float's additions are in program order, so the result
 * has one value.
 */
#ifndef MAM_TOOLS_BENCH_MPI_UNIT_H
#define MAM_TOOLS_BENCH_MPI_UNIT_H

#include "bench/papers/mpi/mpi_calls.h"

/*
 * From here on the compiler knows neither the value of `pointer` nor the memory that it points to.
 */
#ifdef __CUDACC__
#define MPI_OPAQUE(pointer) asm volatile("" : "+l"(pointer) : : "memory")
#else
#define MPI_OPAQUE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")
#endif

MAM_KFN uint32_t mpi_bits(float number)
{
	union {
		float number;
		uint32_t bits;
	} both;

	both.number = number;
	return both.bits;
}

MAM_KFN float mpi_linear(const float *data, uint32_t n)
{
	float sum = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		sum += data[i];
	return sum;
}

MAM_KFN float mpi_quadratic(const float *data, uint32_t n)
{
	float sum = 0;
	uint32_t i, j;

	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			sum += data[i] * data[j];
	return sum;
}

/* Word i of a thread's pattern. */
MAM_KFN uint32_t mpi_pattern(uint32_t thread, uint32_t i)
{
	return bench_mix(thread * 0x9e3779b9u + i);
}

/* All threads of the block call it; `data` is NULL in a thread without memory. */
MAM_KFN void mpi_check(const struct device_job *job, uint32_t *data)
{
	const uint32_t me = device_thread(), n = data != NULL ? job->rounds : 0;
	uint32_t wrong = 0, i;

	MAM_ROLLED
	for (i = 0; i < n; i++)
		data[i] = mpi_pattern(me, i);
	mam_syncthreads();
	MAM_ROLLED
	for (i = 0; i < n; i++)
		wrong += data[i] != mpi_pattern(me, i);
	device_report(&job->found->corrupt, wrong);
	device_report(&job->found->crooked, (uintptr_t)data % sizeof(float) != 0);
	device_report(&job->found->objects, n > 0 && wrong == 0);
}

MAM_KFN void mpi_unit(unsigned int kind, struct mam_kbase base, const struct device_job *job)
{
	const struct mam_kcoalescer c = mpi_coalescer(base, job);
	const uint32_t me = device_thread(), n = job->rounds, work = job->flags & MPI_WORK;
	const uint64_t timer = mam_timer(), begin = mam_clock();
	float *data = (float *)mpi_alloc(kind, c, n * sizeof(float));
	const uint64_t taken = mam_clock();
	uint64_t ready = 0, done = 0, last;
	uint32_t i;
	float sum;

	job->got[me] = (uintptr_t)data;
	if (work == MPI_CHECK) {
		mpi_check(job, (uint32_t *)data);
	} else if (data != NULL) {
		for (i = 0; i < n; i++)
			data[i] = (float)i;
	}
	if (job->flags & MPI_TOGETHER)
		mam_syncthreads();
	if (work != MPI_CHECK && data != NULL) {
		MPI_OPAQUE(data);
		ready = mam_clock();
		sum = work == MPI_LINEAR ? mpi_linear(data, n) : mpi_quadratic(data, n);
		data[0] = sum;
		MPI_OPAQUE(data);
		done = mam_clock();
		device_report(&job->found->corrupt, mpi_bits(data[0]) != job->own[0]);
	}
	device_report(&job->found->none, data == NULL);
	last = mam_clock();
	if (data != NULL && !mpi_free(kind, c, data))
		device_report(&job->found->refused, 1);
	job->more[me * MPI_TIMES + 2] = mam_clock() - last;
	job->more[me * MPI_TIMES + 1] = done - ready;
	job->more[me * MPI_TIMES] = taken - begin;
	mpi_pace(job, begin, timer);
}

#endif
