/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.c - cuGetProcAddress and cudaGetDriverEntryPoint: the interface through which every
 * libcudart finds the driver.
 *
 * The real lookup is called first, so that versions, flags, status and errors come from the driver.
 * Then a function of table.h replaces the result. cuGetProcAddress is in the table too: libcudart
 * looks it up through this interface and passes it to callers of cudaGetDriverEntryPoint. The flags
 * select among the rows of a function that has a variant for per-thread default streams. The
 * runtime uses the driver's flags; its _ptsz variants select those streams if the caller's flags
 * select none.
 *
 * There is no guard here: a libcudart that is initialized inside one of our calls must be
 * intercepted.
 */
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/table.h"

#define PER_THREAD 2u /* the flag for per-thread default streams */

static void swap(const char *name, void **found, int version, uint64_t flags)
{
	enum mam_table_id id;

	if (name == NULL || found == NULL || *found == NULL || mam_init_is_off())
		return;
	id = mam_table_by_base(name, version, flags);
	*found = id != MAM_TABLE_NONE ? mam_table_swap(id, *found, true)
				      : mam_gate_swap(name, *found);
}

int cuGetProcAddress(const char *name, void **found, int version, uint64_t flags)
{
	__typeof__(&cuGetProcAddress) real = MAM_TABLE_ORIGINAL(cuGetProcAddress);
	int answer = real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(name, found, version, flags);

	if (answer == MAM_CUDA_SUCCESS)
		swap(name, found, version, flags);
	return answer;
}

int cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *status)
{
	__typeof__(&cuGetProcAddress_v2) real = MAM_TABLE_ORIGINAL(cuGetProcAddress_v2);
	int answer =
		real == NULL ? MAM_CUDA_NOT_INITIALIZED : real(name, found, version, flags, status);

	if (answer == MAM_CUDA_SUCCESS)
		swap(name, found, version, flags);
	return answer;
}

/*
 * The variant that this function returns depends on the version that the runtime was built for, and
 * variants differ in their arguments. So only a function that is already known is recognized, by
 * its address.
 */
static int entry_point(__typeof__(&cudaGetDriverEntryPoint) real, const char *name, void **found,
		       unsigned long long flags, int *status)
{
	int answer = real == NULL ? MAM_CUDA_INSUFFICIENT_DRIVER : real(name, found, flags, status);
	enum mam_table_id id;

	if (answer != MAM_CUDA_SUCCESS || found == NULL || *found == NULL || mam_init_is_off())
		return answer;
	id = mam_table_by_original(*found);
	*found = id != MAM_TABLE_NONE ? mam_table_swap(id, *found, true)
				      : mam_gate_swap(name, *found);
	return answer;
}

int cudaGetDriverEntryPoint(const char *name, void **found, unsigned long long flags, int *status)
{
	return entry_point(MAM_TABLE_ORIGINAL(cudaGetDriverEntryPoint), name, found, flags, status);
}

int cudaGetDriverEntryPoint_ptsz(const char *name, void **found, unsigned long long flags,
				 int *status)
{
	return entry_point(MAM_TABLE_ORIGINAL(cudaGetDriverEntryPoint_ptsz), name, found, flags,
			   status);
}

/* `kind`: the flags, plus those that the caller's variant of the function adds. */
static int entry_point_of(__typeof__(&cudaGetDriverEntryPointByVersion) real, const char *name,
			  void **found, unsigned int version, unsigned long long flags,
			  uint64_t kind, int *status)
{
	int answer = real == NULL ? MAM_CUDA_INSUFFICIENT_DRIVER
				  : real(name, found, version, flags, status);

	if (answer == MAM_CUDA_SUCCESS)
		swap(name, found, (int)version, kind);
	return answer;
}

int cudaGetDriverEntryPointByVersion(const char *name, void **found, unsigned int version,
				     unsigned long long flags, int *status)
{
	return entry_point_of(MAM_TABLE_ORIGINAL(cudaGetDriverEntryPointByVersion), name, found,
			      version, flags, flags, status);
}

int cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **found, unsigned int version,
					  unsigned long long flags, int *status)
{
	return entry_point_of(MAM_TABLE_ORIGINAL(cudaGetDriverEntryPointByVersion_ptsz), name,
			      found, version, flags, flags == 0 ? PER_THREAD : flags, status);
}
