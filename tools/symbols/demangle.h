/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.h - readable names of C++ functions.
 */
#ifndef TOOLS_DEMANGLE_H
#define TOOLS_DEMANGLE_H

/*
 * demangle - a copy of the name, readable if it is a mangled C++ name. Without a symbol version
 * ("@@GLIBC_2.14"), and in C++ without the mark of a clone (".constprop.0"). The caller frees it.
 * NULL: out of memory.
 */
char *demangle(const char *name);

#endif
