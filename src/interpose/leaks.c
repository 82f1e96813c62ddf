/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks.c - see leaks.h.
 */
#include "interpose/leaks.h"

void mam_leaks_start(void)
{
}

void mam_leaks_alloc(const struct mam_watch_call *call)
{
	(void)call;
}

void mam_leaks_free(const struct mam_watch_call *call)
{
	(void)call;
}

void mam_leaks_context_gone(void *context)
{
	(void)context;
}

void mam_leaks_finish(void)
{
}

void mam_leaks_restart(void)
{
}
