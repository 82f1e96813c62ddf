/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrong_lock.h - mam_lock_wait() that takes the lock with 1, and mam_lock_wait_once() that wakes no
 * thread: the real code, in which macros replace 2 and the system call.
 */
#ifndef TESTS_BASE_WRONG_LOCK_H
#define TESTS_BASE_WRONG_LOCK_H

#include "base/lock.h"

void wrong_lock_wait(struct mam_lock *lock);
bool wrong_lock_wait_once(struct mam_lock *lock);
void wrong_lock_wake(struct mam_lock *lock);

#endif
