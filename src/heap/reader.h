/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - the host's half of the reports of a heap that is debugged (reports.h), and of its
 * guards (guard.h).
 */
#ifndef MAM_HEAP_READER_H
#define MAM_HEAP_READER_H

#include "heap/growth.h"
#include "heap/guard.h"
#include "heap/reach.h"

struct mam_reader;

/*
 * mam_reader_create - makes the ring, in memory that kernels reach too. OUT_OF_MEMORY,
 * OUT_OF_HOST_MEMORY, DRIVER, NO_DEVICE: nothing is made.
 */
enum mam_status mam_reader_create(const struct mam_reach *reach, struct mam_reader **reader);

/* mam_reader_tell - into `growth`, for kernels: where the ring is, and the heap's number. */
void mam_reader_tell(const struct mam_reader *reader, struct mam_growth *growth);

/* mam_reader_destroy - no kernel uses the heap any more. NULL: nothing done. */
void mam_reader_destroy(struct mam_reader *reader);

/* mam_reader_visit - mam_heap_reports(). */
void mam_reader_visit(struct mam_reader *reader,
		      bool (*visit)(void *argument, const struct mam_heap_report *report),
		      void *argument);

/* mam_reader_log - what nobody has read, to the log; while the context may be dead. */
void mam_reader_log(struct mam_reader *reader);

/*
 * mam_reader_object - what an object of the heap at `base` says of itself, of which the guard was
 * read: its address, bytes and holder, as a report of a leak. False: it says nothing.
 */
bool mam_reader_object(const struct mam_reader *reader, const struct mam_guard *guard,
		       uintptr_t base, struct mam_heap_report *report);

#endif
