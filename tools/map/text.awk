# SPDX-License-Identifier: Apache-2.0
#
# text.awk - embed text files as C strings: a/b/page.html becomes `const char map_page_html[]`.
# Usage: awk -v noun=map -f text.awk FILE... > OUT.c
# The noun is the prefix of the names, and the folder of the header.

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
