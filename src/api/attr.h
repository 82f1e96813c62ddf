/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.h - struct mam_pool_attr as callers pass it, old or new, made whole and checked.
 *
 * The struct carries its own size. A caller built against an older mam passes a shorter one: what
 * it lacks takes its default. A caller built against a newer mam passes a longer one: it is taken
 * only if every byte this version does not know is zero, that is, asks for nothing. A size that
 * ends inside a field, or that no version could have, is refused.
 */
#ifndef MAM_API_ATTR_H
#define MAM_API_ATTR_H

#include <mam/mam.h>

#include "pool/pool.h"

/*
 * mam_attr_read - `given` (NULL: all defaults) as this version's struct, every field checked.
 * INVALID_VALUE.
 */
enum mam_status mam_attr_read(const struct mam_pool_attr *given, struct mam_pool_attr *attr);

/* mam_attr_environment - what the options of the environment ask of pools that nobody described. */
void mam_attr_environment(struct mam_pool_attr *attr);

/* mam_attr_config - the part of a whole attr that the pool itself needs. */
void mam_attr_config(const struct mam_pool_attr *attr, struct mam_pool_config *config);

#endif
