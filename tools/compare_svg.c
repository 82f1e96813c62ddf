/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"
bool compare_svg(FILE *file, const struct compare_table *table){(void)table; return fputs("x",file)>=0;}
