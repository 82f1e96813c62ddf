/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_text.h - the parts of the comparison's page, generated at build time (kit/text.awk) from
 * compare/ and from map/common.*.
 */
#ifndef TOOLS_COMPARE_TEXT_H
#define TOOLS_COMPARE_TEXT_H

extern const char compare_page_html[]; /* has @MARKS@ that compare_html.c replaces */
extern const char compare_page_css[];
extern const char compare_page_js[];

#endif
