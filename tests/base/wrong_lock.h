/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_lock.h - mam_lock_wait() that takes the lock with 1: the real code, in which a macro replaces 2. */
#ifndef TESTS_BASE_WRONG_LOCK_H
#define TESTS_BASE_WRONG_LOCK_H

#include "base/lock.h"

void wrong_lock_wait(struct mam_lock *lock);

#endif
