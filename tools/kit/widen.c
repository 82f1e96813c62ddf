/* SPDX-License-Identifier: Apache-2.0 */
/* widen.c - see widen.h. */
#include "kit/widen.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 256

bool widen(void *array, size_t count, size_t *room, size_t each)
{
	size_t more = *room ? 2 * *room : ROOM_FIRST;
	void *old, *wider;

	if (count < *room)
		return true;
	if (*room > SIZE_MAX / 2 / each)
		return false;
	memcpy(&old, array, sizeof(old)); /* a pointer of another type */
	wider = realloc(old, more * each);
	if (!wider)
		return false;
	memcpy(array, &wider, sizeof(wider));
	*room = more;
	return true;
}

bool widen_32(void *array, uint32_t count, uint32_t *room, size_t each)
{
	size_t wide = *room;
	bool good = count < UINT32_MAX / 2 && widen(array, count, &wide, each);

	*room = (uint32_t)wide;
	return good;
}
