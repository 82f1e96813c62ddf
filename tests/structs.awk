# SPDX-License-Identifier: Apache-2.0
#
# structs.awk - print "STRUCT MEMBER" for each member of each struct or union that headers define: the member is its
# declaration in one line, without comments.
{
	line = $0
	while (match(line, /\/\*([^*]|\*[^\/])*\*\//))
		line = substr(line, 1, RSTART - 1) " " substr(line, RSTART + RLENGTH)
	if (inside && match(line, /\*\//)) {
		line = substr(line, RSTART + 2)
		inside = 0
	}
	if (inside)
		next
	if (match(line, /\/\*/)) {
		line = substr(line, 1, RSTART - 1)
		inside = 1
	}
	sub(/^[ \t]+/, "", line)
	sub(/[ \t]+$/, "", line)
	if (line == "")
		next
	if (name != "" && line ~ /^\}/) {
		name = ""
	} else if (name != "") {
		member = member (member == "" ? "" : " ") line
		if (member ~ /;$/) {
			print name, member
			member = ""
		}
	} else if (line ~ /^(typedef )?(struct|union) [a-z_0-9]+ \{$/) {
		name = line
		sub(/^typedef /, "", name)
		sub(/^(struct|union) /, "", name)
		sub(/ \{$/, "", name)
	}
}
