# SPDX-License-Identifier: Apache-2.0
#
# text.awk - text files as strings of C: a/b/page.html becomes `const char map_page_html[]`.
# Usage: awk -v noun=map -f text.awk FILE... > OUT.c; the noun begins the names, and is the folder of the header.

FNR == 1 {
	if (NR > 1)
		print "\t;"
	else
		print "/* SPDX-License-Identifier: Apache-2.0 */\n" \
			"/* Made by text.awk. */\n#include \"" noun "/" noun "_text.h\"\n"
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\./, "_", name)
	print "const char " noun "_" name "[] ="
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
