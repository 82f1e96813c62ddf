/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - the host's half of the reports of a heap that is debugged (reports.h), and of its
 * guards (guard.h).
 */
#ifndef MAM_HEAP_HOST_READER_H
#define MAM_HEAP_HOST_READER_H

#include "heap/growth/growth.h"
#include "heap/debug/guard.h"
#include "heap/service/copy.h"

struct mam_reader;

/*
 * mam_reader_create - creates the ring, in memory that kernels can access, too. Returns
 * OUT_OF_MEMORY, OUT_OF_HOST_MEMORY, DRIVER or NO_DEVICE on failure; nothing is created then.
 */
enum mam_status mam_reader_create(const struct mam_copy *reach, struct mam_reader **reader);

/* mam_reader_report - stores the ring's address and the heap's number in `growth`, for kernels. */
void mam_reader_report(const struct mam_reader *reader, struct mam_growth *growth);

/* mam_reader_destroy - pre: no kernel uses the heap any more. NULL is a no-op. */
void mam_reader_destroy(struct mam_reader *reader);

/* mam_reader_visit - mam_heap_reports(). */
void mam_reader_visit(struct mam_reader *reader,
		      bool (*visit)(void *argument, const struct mam_heap_report *report),
		      void *argument);

/* mam_reader_log - logs the unread reports; also works if the context is dead. */
void mam_reader_log(struct mam_reader *reader);

/*
 * mam_reader_object - fills in `report` as a leak: address, bytes and holder, from the guard that
 * was read from the object at `base`. Returns false if the guard is invalid.
 */
bool mam_reader_object(const struct mam_reader *reader, const struct mam_guard *guard,
		       uintptr_t base, struct mam_heap_report *report);

#endif
