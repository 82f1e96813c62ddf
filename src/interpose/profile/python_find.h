/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_find.h - CPython among the files that are loaded into the process.
 *
 * The symbol tables in memory are searched (DT_GNU_HASH) rather than dlsym() called: it takes the
 * dynamic linker's lock, which another thread may hold while it waits for a lock of our caller's,
 * and does not find a library that was loaded with RTLD_LOCAL. Files are searched again only after
 * mam_python_check().
 *
 * Bound: three loads per use, after the first one.
 */
#ifndef MAM_INTERPOSE_PYTHON_FIND_H
#define MAM_INTERPOSE_PYTHON_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/profile/python_layout.h"

struct mam_python {
	uintptr_t begin, end;   /* the loaded file */
	uintptr_t runtime;      /* _PyRuntime */
	void *(*state)(void);   /* of the calling thread; survives a release of the lock */
	void *(*current)(void); /* of the thread that has the lock; since 3.12: this thread's */
	bool current_is_own;    /* 3.12 and later */
	bool supported;         /* the layout is known */
	uintptr_t code_type, text_type, bytes_type; /* type objects */
	char version[16];
	struct mam_python_layout layout;
};

/* Returns NULL if there is no interpreter. */
const struct mam_python *mam_python_find(void);

/*
 * Called after files were loaded or unloaded, before other functions of this part: there may be an
 * interpreter now, and that which was found may be gone.
 */
void mam_python_check(void);

#endif
