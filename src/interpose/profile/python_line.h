/* SPDX-License-Identifier: Apache-2.0 */
/* python_line.h - the line of an instruction, from the line table of a code object. */
#ifndef MAM_INTERPOSE_PYTHON_LINE_H
#define MAM_INTERPOSE_PYTHON_LINE_H

#include <stddef.h>
#include <stdint.h>

/* The formats, named after the first version that has it; 3.9 stands for all older ones, too. */
enum mam_python_lines { MAM_PYTHON_LINES_3_9, MAM_PYTHON_LINES_3_10, MAM_PYTHON_LINES_3_11 };

/*
 * mam_python_line - return the line of the instruction at that offset (bytes), or 0 if it has none.
 * `first` is the first line of the code object.
 */
uint32_t mam_python_line(enum mam_python_lines format, const uint8_t *table, size_t bytes,
			 uint32_t first, uint32_t instruction);

#endif
