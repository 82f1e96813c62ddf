/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - what people are told when a request fails or makes no sense.
 *
 * The status says what happened; these sentences say where and what to do about it. Misuse is a
 * warning: it is a bug in the program. A lack of memory is told at level info only (MAM_LOG=info),
 * since many programs ask for more than there is to learn how much there is.
 */
#ifndef MAM_API_REPORT_H
#define MAM_API_REPORT_H

#include <stddef.h>

#include <mam/mam.h>

/* mam_report_free - mam_free() of `block` answered `status`. Says nothing of foreign addresses. */
void mam_report_free(enum mam_status status, const void *block);

/* mam_report_no_memory - the pool had no block of `bytes` bytes. */
void mam_report_no_memory(struct mam_pool *handle, size_t bytes);

#endif
