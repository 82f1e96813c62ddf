# SPDX-License-Identifier: Apache-2.0
#
# score.awk - scores `mam coalesce` on files whose allocations are labeled with the truth.
#
#	mam coalesce --plain FILE... > VERDICTS; awk [-v least=80] -f score.awk VERDICTS FILE...
#
# A verdict is a line of VERDICTS: file, line, function, scope (block, warp, none), size (uniform,
# varying, -), reason, and, if present, the scope without callers that cannot pass it; separated by
# tabs. A label ends the line of its allocation:
#
#	// want: block|warp uniform|varying	or	// want: none -
#	... want-best: block|warp		after that, in helpers with callers of both kinds
#
# 1. Verdicts are stored by file and line; a template's instances are several on one line.
# 2. For each label all verdicts of its line are compared. One whose scope is wider than the
#    label's, or that claims `uniform` where the label does not, is unsafe: the rewritten program
#    would be wrong.
# 3. A call labeled block or warp is found if there are verdicts and each of them equals the label.
#    Lines without a label are ignored: calls of helpers, frees, the code of main.
#
# Exit status: 0; 1 if there is an unsafe verdict, or if fewer than `least` of 100 safe calls are found;
# 2 for invalid input: a label or a verdict that cannot be parsed, or no label at all.

function wrong(why)
{
	print "score.awk: " why > "/dev/stderr"
	broken = 1
	exit 2
}

function say(kind, text)
{
	print kind ": " FILENAME ":" FNR ": " text
}

# The wider, the smaller; 0: not a scope.
function rank(scope)
{
	return scope == "block" ? 3 : scope == "warp" ? 2 : scope == "none" ? 1 : 0
}

function is_claim(scope, size)
{
	return scope == "none" ? size == "-" : rank(scope) && (size == "uniform" || size == "varying")
}

BEGIN {
	FS = "\t"
	if (ARGC < 3)
		wrong("name the verdicts and a file with labels")
}

FILENAME == ARGV[1] {
	if (NF < 6 || !is_claim($4, $5) || (NF > 6 && !rank($7)))
		wrong(FILENAME ":" FNR ": invalid verdict")
	at = $1 SUBSEP $2
	n = ++verdicts[at]
	scope[at, n] = $4
	size[at, n] = $5
	best[at, n] = NF > 6 ? $7 : ""
	next
}

/\/\/ want: / {
	text = $0
	sub(/^.*\/\/ want: /, "", text)
	words = split(text, word, /[ \t]+/)
	if (words > 0 && word[words] == "")
		words--
	if (!is_claim(word[1], word[2]) ||
	    !(words == 2 || (words == 4 && word[3] == "want-best:" && rank(word[4]) > 1)))
		wrong(FILENAME ":" FNR ": invalid label: " text)
	labels++
	safe = word[1] != "none"
	total += safe
	at = FILENAME SUBSEP FNR
	same = verdicts[at] > 0
	seen = ""
	for (i = 1; i <= verdicts[at]; i++) {
		said = scope[at, i] " " size[at, i]
		if (rank(scope[at, i]) > rank(word[1]) ||
		    (size[at, i] == "uniform" && word[2] != "uniform")) {
			say("unsafe", "said " said ", is " word[1] " " word[2])
			unsafe++
		}
		if (best[at, i] != "" && rank(best[at, i]) > rank(words == 4 ? word[4] : word[1])) {
			say("unsafe", "said at best " best[at, i] ", is " (words == 4 ? word[4] : word[1]))
			unsafe++
		}
		if (said != word[1] " " word[2]) {
			same = 0
			seen = said
		}
	}
	if (safe && same)
		found++
	else if (safe)
		say("missed", (seen == "" ? "nothing said" : "said " seen) ", is " word[1] " " word[2])
}

END {
	if (broken)
		exit 2
	if (labels == 0) {
		print "score.awk: no label was found" > "/dev/stderr"
		exit 2
	}
	share = total > 0 ? found * 100 / total : 100
	printf "safe calls labeled: %d\nfound: %d\nmissed: %d\n", total, found, total - found
	printf "score: %d of %d safe calls found (%d%%), %d unsafe verdicts\n", found, total, share, unsafe
	exit unsafe > 0 || share < (least ? least : 80)
}
