/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_site.h - the place in the source that an access is at: of atomics a text, of plain accesses
 * a program counter, which is made a text once.
 *
 * A program counter's text is "program+0xOFFSET" (the load address taken off, so the same in each
 * run) until someone wants to read it; then addr2line makes it "file.c:123", if there is an
 * addr2line.
 */
#ifndef MAM_TESTS_SIMT_RACE_SITE_H
#define MAM_TESTS_SIMT_RACE_SITE_H

/*
 * A site for the call that returns to `pc`; lives as long as the program, the same for the same
 * `pc`.
 */
const char *race_site_of(const void *pc);
/* A site for people: folders are left off but the last. Lives as long as `site`. */
const char *race_site_text(const char *site);

#endif
