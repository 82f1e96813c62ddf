/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_layout.h - where CPython keeps the fields that describe its frames.
 *
 * Versions 3.9 to 3.12 have constant offsets: their structures do not change between patch
 * releases. Since 3.13, the runtime starts with a table of these offsets for debuggers, which also
 * describes free-threaded builds; the order of that table is known up to 3.15.
 *
 * Source: the headers of CPython 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0, 3.14.10 and 3.15.2.
 */
#ifndef MAM_INTERPOSE_PYTHON_LAYOUT_H
#define MAM_INTERPOSE_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/profile/python_line.h"

#define MAM_PYTHON_ABSENT UINT32_MAX

/* Offsets in bytes. MAM_PYTHON_ABSENT: the version has no such field. */
struct mam_python_layout {
	enum mam_python_lines lines;
	/* in the runtime */
	uint32_t finalizing;   /* the thread state that shuts the interpreter down */
	uint32_t interpreters; /* the newest one; the pointer to the main one follows */
	/* in a thread's state */
	uint32_t thread_frame; /* the innermost frame, or a pointer to a record with it */
	uint32_t record_frame; /* the innermost frame in that record */
	uint32_t thread_id;    /* pthread_self() of the thread */
	/* in a frame */
	uint32_t previous;
	uint32_t code;
	uint32_t instruction; /* index before 3.11, pointer later */
	uint32_t owner;
	uint32_t copy; /* index of the thread's copy of the code */
	/* in a code object */
	uint32_t file;
	uint32_t function;
	uint32_t first_line;
	uint32_t line_table;
	uint32_t code_bytes;
	uint32_t code_copies; /* array of copies */
	/* in other objects */
	uint32_t type;
	uint32_t bytes_size;
	uint32_t bytes_data;
	uint32_t text_length;
	uint32_t text_state;
	uint32_t text_ascii; /* the characters, if all are ASCII */
	uint32_t text_wide;  /* otherwise */
	uint32_t kind_shift; /* of the field `kind` in the state */
};

/*
 * mam_python_layout - set `layout` for the interpreter of that version (PY_VERSION_HEX) whose
 * _PyRuntime is at `runtime`. Returns false if the version is unknown, or its table is not plausible.
 */
bool mam_python_layout(uint32_t version, const void *runtime, struct mam_python_layout *layout);

#endif
