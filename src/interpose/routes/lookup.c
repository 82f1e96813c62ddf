/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c - decides about every call of dlsym() and dlvsym() in the process.
 *
 * 1. The name is not exactly one of table.h's, and does not begin like those of gate_names.h: jump
 *    to the C library's function. The first two letters decide nearly always.
 * 2. RTLD_NEXT, RTLD_DEFAULT: the same. The program requests the next definition after its own, or
 *    the first one, and the linker finds ours if that is the right one. If CUDA is not in the
 *    process, our function has no original. A program that only checks whether CUDA is present must
 *    then get NULL (absent()).
 * 3. A handle: call the real lookup first. Only if it finds the name, replace its result by our
 *    function, or by a stub if libcuda has it.
 *
 * The decision does not depend on the thread or the guard: a libcudart that is initialized inside
 * one of our own calls must be intercepted as well.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "interpose/routes/lookup.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "interpose/routes/gate.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"

/* Returns NULL, with the linker's own error message, for a name that only this object defines. */
static void *absent(void *handle, const char *name)
{
	(void)handle;
	return mam_real_next(name);
}

static void *absent_version(void *handle, const char *name, const char *version)
{
	(void)version;
	return absent(handle, name);
}

static void *original(enum mam_table_id id, const char *name)
{
	return id != MAM_TABLE_NONE ? mam_table_original(id) : mam_gate_original(name);
}

/* A program may have functions of its own whose names begin like those of gate_names.h. */
static void *swap_gated(void *found, const char *name)
{
	return mam_init_is_off() || !mam_gate_exists() || !mam_real_contains("libcuda.so", found)
		       ? found
		       : mam_gate_swap(name, found);
}

static void *answer(void *found, const char *name)
{
	enum mam_table_id id = mam_table_by_name(name);
	void *ours = found;

	if (id == MAM_TABLE_NONE)
		ours = swap_gated(found, name);
	else if (!mam_init_is_off())
		ours = mam_table_swap(id, found, false);
	/* dlopen(NULL) leads to our exported functions even if they have no originals. */
	if (ours != NULL && (id != MAM_TABLE_NONE || mam_gate_is_stub(found)) &&
	    original(id, name) == NULL)
		return absent(NULL, name);
	return ours;
}

static void *swap(void *handle, const char *name)
{
	return answer(mam_real_linker()->dlsym(handle, name), name);
}

static void *swap_version(void *handle, const char *name, const char *version)
{
	return answer(mam_real_linker()->dlvsym(handle, name, version), name);
}

enum decision { DECIDED_REAL, DECIDED_SWAP, DECIDED_ABSENT };

static enum decision decide(void *handle, const char *name)
{
	enum mam_table_id id;

	if (name == NULL || name[0] != 'c' || name[1] != 'u')
		return DECIDED_REAL;
	id = mam_table_by_name(name);
	if (id == MAM_TABLE_NONE && !mam_gate_has(name))
		return DECIDED_REAL;
	if (handle != RTLD_DEFAULT && handle != RTLD_NEXT)
		return DECIDED_SWAP;
	if (id == MAM_TABLE_NONE && !mam_gate_exports(name))
		return DECIDED_REAL;
	return original(id, name) == NULL ? DECIDED_ABSENT : DECIDED_REAL;
}

void *(*mam_lookup_dlsym(void *handle, const char *name))(void *, const char *)
{
	switch (decide(handle, name)) {
	case DECIDED_SWAP: return swap;
	case DECIDED_ABSENT: return absent;
	default: return mam_real_linker()->dlsym;
	}
}

void *(*mam_lookup_dlvsym(void *handle, const char *name,
			  const char *version))(void *, const char *, const char *)
{
	(void)version;
	switch (decide(handle, name)) {
	case DECIDED_SWAP: return swap_version;
	case DECIDED_ABSENT: return absent_version;
	default: return mam_real_linker()->dlvsym;
	}
}

void *mam_interpose_original(const char *name)
{
	enum mam_table_id id = mam_table_by_name(name);

	return id == MAM_TABLE_NONE ? NULL : mam_table_original(id);
}
