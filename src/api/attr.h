/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.h - struct mam_pool_attr as callers pass it, old or new, completed and checked.
 *
 * The struct contains its own size. A caller built against an older mam passes a shorter struct,
 * and the missing fields get their defaults. A caller built against a newer mam passes a longer
 * one. It is accepted only if every byte unknown to this version is zero, the default. A size that
 * ends inside a field, or that no version could have, is rejected.
 */
#ifndef MAM_API_ATTR_H
#define MAM_API_ATTR_H

#include <mam/mam.h>

#include "pool/pool.h"

/*
 * mam_attr_read - convert `given` (NULL: all defaults) to this version's struct, and check every
 * field. INVALID_VALUE.
 */
enum mam_status mam_attr_read(const struct mam_pool_attr *given, struct mam_pool_attr *attr);

/* mam_attr_environment - the attributes of default pools, from the environment's options. */
void mam_attr_environment(struct mam_pool_attr *attr);

/*
 * mam_attr_select_source - select the source of default pools, in place of MAM_SOURCE. NULL: vmm on
 * devices that can map memory and cudamalloc on others, unless a source was selected or MAM_SOURCE
 * is set. INVALID_VALUE: no value of MAM_SOURCE. One thread at a time.
 */
enum mam_status mam_attr_select_source(const char *source);

/* mam_attr_source - the source of the default pool of a device. The text is never freed. */
const char *mam_attr_source(int device);

/* mam_attr_source_is_host - whether that is the source "host", on any device. */
bool mam_attr_source_is_host(void);

/* mam_attr_config - the part of a complete attr that the pool itself needs. */
void mam_attr_config(const struct mam_pool_attr *attr, struct mam_pool_config *config);

#endif
