/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.c - see nvtx.h.
 */
#include "interpose/nvtx.h"

void mam_nvtx_start(void)
{
}

void mam_nvtx_alloc(const struct mam_watch_call *call)
{
	(void)call;
}

void mam_nvtx_free(const struct mam_watch_call *call)
{
	(void)call;
}

void mam_nvtx_chunk(void *base, size_t bytes, void *context, bool came)
{
	(void)base;
	(void)bytes;
	(void)context;
	(void)came;
}

const char *mam_nvtx_state(void)
{
	return "off";
}

bool mam_nvtx_wants_driver(void)
{
	return false;
}
