/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_text.h - the parts of the heap map's page, generated from map/ at build time (text.awk).
 */
#ifndef TOOLS_MAP_TEXT_H
#define TOOLS_MAP_TEXT_H

extern const char map_page_html[]; /* has @MARKS@ that map_html.c replaces */
extern const char map_page_css[];
extern const char map_page_js[];

#endif
