/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_read_text.h - programs (tools/coalesce/program.h) from S-expressions, for tests without
 * libclang.
 *
 *   (shared n) (constant n) (global n)         variables outside of functions
 *   (kernel k (n p* r& v! a^) STATEMENT...)    p*: a pointer; r&: a reference; v!: volatile;
 *   (device f () STATEMENT...)                 a^: its address is taken
 *   (virtual f () ...) (included f () ...)     any caller is possible; it is not in the file
 *   (again f)                                  the same text as another instance of a template
 *
 * Statements and expressions are the kinds of program.h by name, (if E S S), (loop S E E S) and
 * (loop1 ...) whose body comes first, (declare n E) and (share n), which declare, (end) for the end
 * of a thread, (default S...), (member x E), (call f E...), (malloc E), (new E), (new[] E). A
 * number is a value; a name a variable; tid, bid are threadIdx.x, blockIdx.x. = += are assignments,
 * && || LAZY, ? CHOICE, & ADDRESS, @ LOAD; other operators are MIX: null, which tests whether a
 * pointer is null, and cast, which changes the type of a pointer, are marked as such. `_` is
 * nothing. Nodes and lines are positioned as in the text.
 */
#ifndef TESTS_COALESCE_TOOL_PROGRAM_READ_TEXT_H
#define TESTS_COALESCE_TOOL_PROGRAM_READ_TEXT_H

#include "coalesce/program.h"

/* NULL: an error in the text, which is printed, or no memory. */
struct co_program *program_read_text(const char *text);

#endif
