/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_none.c - stands in for race.c: no access is ever out of order.
 */
#include <stdlib.h>

#include "simt/race.h"

struct race *race_create(unsigned int lanes)
{
	return malloc(lanes + 1);
}

void race_destroy(struct race *race)
{
	free(race);
}

void race_reset(struct race *race)
{
	(void)race;
}

void race_place(struct race *race, unsigned int lane, unsigned int block, bool host)
{
	(void)race, (void)lane, (void)block, (void)host;
}

const char *race_plain(struct race *race, unsigned int lane, const volatile void *where,
		       size_t bytes, bool write, const char *site)
{
	(void)race, (void)lane, (void)where, (void)bytes, (void)write, (void)site;
	return NULL;
}

const char *race_atomic(struct race *race, unsigned int lane, const volatile void *where,
			size_t bytes, enum simt_op op, bool wrote, enum simt_order order,
			enum simt_scope scope, const char *site)
{
	(void)race, (void)lane, (void)where, (void)bytes, (void)op, (void)wrote, (void)order;
	(void)scope, (void)site;
	return NULL;
}

void race_fence(struct race *race, unsigned int lane, enum simt_order order, enum simt_scope scope)
{
	(void)race, (void)lane, (void)order, (void)scope;
}

void race_order(struct race *race, unsigned int from, unsigned int to)
{
	(void)race, (void)from, (void)to;
}

void race_meet(struct race *race, const unsigned int *lanes, unsigned int count)
{
	(void)race, (void)lanes, (void)count;
}

void race_forget(struct race *race, const volatile void *where, size_t bytes)
{
	(void)race, (void)where, (void)bytes;
}
