/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - messages to the user about failed and invalid requests.
 *
 * The status names the error; these messages add the place and advice. An invalid call is a
 * warning, since it is a bug in the program. A lack of memory is reported at level info only
 * (MAM_LOG=info), since many programs request more than there is to find out the available amount.
 */
#ifndef MAM_API_REPORT_H
#define MAM_API_REPORT_H

#include <stddef.h>

#include <mam/mam.h>

/* mam_report_free - mam_free() of `block` returned `status`. Foreign addresses are not reported. */
void mam_report_free(enum mam_status status, const void *block);

/* mam_report_no_memory - the pool had no block of `bytes` bytes. */
void mam_report_no_memory(struct mam_pool *handle, size_t bytes);

#endif
