/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with one pool, on source host, for exporter.sh: it keeps blocks until its input ends.
 *
 *	usage: exporter_hold POOL - prints "ready" when it has allocated
 */
#include <stdio.h>

#include <mam/pools.h>

int main(int argc, char **argv)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;
	void *blocks[10], *none;

	attr.source = "host";
	attr.name = argc > 1 ? argv[1] : "pool";
	attr.limit_bytes = 1 << 20;
	if (mam_pool_create(&attr, &pool) != MAM_OK)
		return 1;
	for (size_t i = 0; i < 10; i++)
		if (mam_malloc(pool, 1000 * (i + 1), &blocks[i]) != MAM_OK)
			return 1;
	if (mam_free(pool, blocks[0]) != MAM_OK || mam_free(pool, blocks[9]) != MAM_OK ||
	    mam_malloc(pool, 1 << 30, &none) == MAM_OK)
		return 1;
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
