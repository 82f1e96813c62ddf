/* SPDX-License-Identifier: Apache-2.0 */
/* object.c - see object.h. */
#define _GNU_SOURCE /* dladdr */
#include "base/object.h"

#include <dlfcn.h>
#include <stddef.h>

static const char here; /* in every copy */

bool mam_object_has(const void *address)
{
	Dl_info there, own;

	return dladdr(address, &there) != 0 && dladdr(&here, &own) != 0 &&
	       there.dli_fbase == own.dli_fbase;
}

const char *mam_object_path(void)
{
	Dl_info own;

	return dladdr(&here, &own) != 0 ? own.dli_fname : NULL;
}
