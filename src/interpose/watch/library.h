/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h - traces contain the blocks of libmam.so in the program, too (mam/recorder.h).
 * They do not contain its chunks. Bound: 48 bytes per chunk, for the traces that begin later.
 */
#ifndef MAM_INTERPOSE_LIBRARY_H
#define MAM_INTERPOSE_LIBRARY_H

#include <stdbool.h>

/* thread; it allocates or frees a chunk of libmam.so */
extern __thread bool mam_library_hides
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A trace begins or has ended: notifies the copies of libmam.so that joined. */
void mam_library_listen(bool on);

bool mam_library_is_chunk(const void *block);

/* Called in the child of a fork. */
void mam_library_restart(void);

#endif
