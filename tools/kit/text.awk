# SPDX-License-Identifier: Apache-2.0
#
# text.awk - embed the parts of a page as C strings. All adjacent files of one suffix become one
# string: page.html becomes `const char map_page_html[]`, all scripts `const char map_page_js[]`.
# Usage: awk -v noun=map -f text.awk FILE... > OUT.c
# The noun is the prefix of the names, and the folder of the header.

BEGIN {
	print "/* SPDX-License-Identifier: Apache-2.0 */\n" \
		"/* Made by text.awk. */\n#include \"" noun "/" noun "_text.h\"\n"
}

FNR == 1 {
	suffix = FILENAME
	sub(/.*\./, "", suffix)
	if (suffix != last)
		print (last ? "\t;\n" : "") "const char " noun "_page_" suffix "[] ="
	last = suffix
}

{
	gsub(/\\/, "&&")
	gsub(/"/, "\\\"")
	gsub(/\t/, "\\t")
	gsub(/\?\?/, "?\\?")
	print "\t\"" $0 "\\n\""
}

END {
	print "\t;"
}
