/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_text.h - the parts of the comparison's page, generated from compare/ at build time
 * (map/text.awk).
 */
#ifndef TOOLS_COMPARE_TEXT_H
#define TOOLS_COMPARE_TEXT_H

extern const char compare_page_html[]; /* has @MARKS@ that compare_html.c replaces */
extern const char compare_page_css[];
extern const char compare_data_js[]; /* the scripts, in order; they follow map/words.js */
extern const char compare_view_js[];
extern const char compare_table_js[];
extern const char compare_chart_js[];
extern const char compare_maps_js[];
extern const char compare_hands_js[];

#endif
