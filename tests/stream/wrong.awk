# SPDX-License-Identifier: Apache-2.0
#
# wrong.awk - writes a source file with the faults that wrong.tab lists for it.
#
# Usage: awk -v file=PATH -f wrong.awk wrong.tab PATH
#
# The exit status is 1 if a line of the table is not in its function any more.

FNR == NR {
	if ($1 == "fault") {
		mine = $3 == file
		if (mine) {
			count++
			function_of[count] = $4
		}
	} else if (mine && /^- /) {
		old[count] = substr($0, 3)
	} else if (mine && /^\+ /) {
		new[count] = new[count] substr($0, 3) "\n"
	}
	next
}

/^[a-z].*\(/ && !/;$/ {
	name = $0
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
}

{
	text = $0
	sub(/^[ \t]+/, "", text)
	for (i = 1; i <= count; i++) {
		if (!done[i] && function_of[i] == name && old[i] == text) {
			done[i] = 1
			printf "%s", new[i]
			next
		}
	}
	print
}

END {
	for (i = 1; i <= count; i++) {
		if (!done[i]) {
			printf "%s: the line '%s' is not in %s()\n", file, old[i], function_of[i] > "/dev/stderr"
			exit 1
		}
	}
}
