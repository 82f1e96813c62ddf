/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stub.c - see stub.h.
 */
#include "stub.h"

#include <stdlib.h>
#include <string.h>

static enum mam_status stub_grow(struct mam_source *source, size_t bytes, void **base)
{
	struct stub *stub = (struct stub *)source;

	atomic_fetch_add(&stub->grows, 1);
	if (stub->grow_status != MAM_OK)
		return stub->grow_status;
	return stub->host->ops->grow(stub->host, bytes, base);
}

static enum mam_status stub_shrink(struct mam_source *source, void *base, size_t bytes)
{
	struct stub *stub = (struct stub *)source;

	atomic_fetch_add(&stub->shrinks, 1);
	return stub->host->ops->shrink(stub->host, base, bytes);
}

static enum mam_status stub_quiesce(struct mam_source *source)
{
	struct stub *stub = (struct stub *)source;

	atomic_fetch_add(&stub->waits, 1);
	return stub->wait_status;
}

void stub_init(struct stub *stub)
{
	static const struct mam_source_ops ops = { .size = sizeof(ops),
						   .grow = stub_grow,
						   .shrink = stub_shrink,
						   .quiesce = stub_quiesce };

	memset(stub, 0, sizeof(*stub));
	if (mam_source_host(0, false, &stub->host) != MAM_OK)
		abort();
	stub->source.size = sizeof(stub->source);
	stub->source.ops = &ops;
	stub->source.properties = stub->host->properties;
	stub->source.properties.name = "stub";
	stub->source.properties.device = 0;
	stub->source.properties.survives_fork = false;
}
