/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame_text.h - the parts of the page, generated from flame/ at build time (kit/text.awk).
 */
#ifndef TOOLS_FLAME_TEXT_H
#define TOOLS_FLAME_TEXT_H

extern const char flame_page_html[]; /* has @MARKS@ that flame_html.c replaces */
extern const char flame_page_css[];
extern const char flame_page_js[];

#endif
