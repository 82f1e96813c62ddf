/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.c - libmam-audit.so: for callers that find CUDA past libmam-preload.so.
 *
 * A plugin opened with RTLD_DEEPBIND, and what it loads, bind their references among themselves
 * first, and never see the preload object. The dynamic linker asks auditors (LD_AUDIT) about each
 * binding and each dlsym(), also about those. This one answers:
 *
 *   1. a "cu..." function of a libcuda or libcudart, asked for by anybody but the preload object
 *      itself: the preload object's function of that name, if it has one;
 *   2. anything else: as it was.
 *
 * It decides nothing and keeps nothing but where the preload object is: an auditor lives in a
 * namespace of its own, with a C library of its own. Only the main namespace is served; another one
 * has a CUDA of its own, to which the preload object does not lead.
 *
 * The linker asks about a binding only if both ends carry a flag, so other libraries' calls of one
 * another cost nothing. The preload object's own lookups carry none: it must find the originals.
 */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "interpose/symbols.h"

#define AUDIT_HOOK __attribute__((visibility("default")))

AUDIT_HOOK unsigned int la_version(unsigned int version);
AUDIT_HOOK unsigned int la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie);
AUDIT_HOOK uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *from,
				  uintptr_t *to, unsigned int *flags, const char *name);

/* What a cookie says of its object. */
enum object { OBJECT_OTHER, OBJECT_PRELOAD, OBJECT_CUDA };

/* lock: none, set when the program's objects are loaded, before any code of theirs runs */
static const struct link_map *preload;

static bool is_called(const struct link_map *map, const char *prefix)
{
	const char *file = strrchr(map->l_name, '/');

	file = file == NULL ? map->l_name : file + 1;
	return strncmp(file, prefix, strlen(prefix)) == 0;
}

unsigned int la_version(unsigned int version)
{
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned int la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
	*cookie = OBJECT_OTHER;
	if (namespace != LM_ID_BASE)
		return 0;
	if (is_called(map, "libmam-preload.so")) {
		*cookie = OBJECT_PRELOAD;
		preload = map;
		return 0;
	}
	if (is_called(map, "libcuda.so") || is_called(map, "libcudart.so")) {
		*cookie = OBJECT_CUDA;
		return LA_FLG_BINDTO | LA_FLG_BINDFROM;
	}
	return LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *from, uintptr_t *to,
		       unsigned int *flags, const char *name)
{
	void *ours;

	(void)index;
	*flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
	if (preload == NULL || *from == OBJECT_PRELOAD || *to != OBJECT_CUDA || name[0] != 'c' ||
	    name[1] != 'u')
		return symbol->st_value;
	ours = mam_symbols_find(preload->l_addr, preload->l_ld, name);
	return ours == NULL ? symbol->st_value : (uintptr_t)ours;
}
