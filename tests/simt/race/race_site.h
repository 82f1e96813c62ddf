/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_site.h - the source location of an access: for atomics a text, for plain accesses a program
 * counter, which is converted to a text once.
 *
 * A program counter's text is "program+0xOFFSET" (without the load address, so the same in each
 * run) until it is needed for a report; then addr2line converts it to "file.c:123", if addr2line is
 * installed.
 */
#ifndef MAM_TESTS_SIMT_RACE_SITE_H
#define MAM_TESTS_SIMT_RACE_SITE_H

/*
 * A site for the call that returns to `pc`; lives as long as the program, and is the same for the
 * same `pc`.
 */
const char *race_site_of(const void *pc);
/* A site for human readers: without all folders except the last. Lives as long as `site`. */
const char *race_site_text(const char *site);

#endif
