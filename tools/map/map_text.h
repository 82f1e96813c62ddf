/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_text.h - the parts of the heap map's page, generated from map/ at build time (text.awk).
 */
#ifndef TOOLS_MAP_TEXT_H
#define TOOLS_MAP_TEXT_H

extern const char map_page_html[]; /* has @MARKS@ that map_html.c replaces */
extern const char map_page_css[];
extern const char map_words_js[]; /* the scripts, in order; words.js depends on no other */
extern const char map_data_js[];
extern const char map_index_js[];
extern const char map_colors_js[];
extern const char map_legend_js[];
extern const char map_view_js[];
extern const char map_paint_js[];
extern const char map_curves_js[];
extern const char map_strip_js[];
extern const char map_tips_js[];
extern const char map_link_js[];
extern const char map_find_js[];
extern const char map_hands_js[];

#endif
