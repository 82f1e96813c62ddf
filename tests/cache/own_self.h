/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_self.h - under the simulator, the address of a thread-local variable identifies no thread
 * (simt/host.h). Included before each file of src/cache, after it.
 */
#ifndef TESTS_CACHE_OWN_SELF_H
#define TESTS_CACHE_OWN_SELF_H

#include "cache/tcache.h"

const void *own_self(void);
#define mam_tcache_self() own_self()

#endif
