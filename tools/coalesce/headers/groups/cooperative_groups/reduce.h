/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.h - see cooperative_groups.h.
 */
#include <cooperative_groups.h>
