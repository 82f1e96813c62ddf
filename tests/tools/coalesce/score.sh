#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# score.sh - score.awk counts the tool's verdicts correctly, on made-up input with each kind of
# error; and the labeled files are suitable for it: each allocation in them has a label.
#
# 1. Files with a few labels are made, with verdicts that are right, too timid, and too bold.
# 2. For each of them every line of the output and the exit status are compared.
# 3. In the corpus, lines with an allocation and lines with a label must be the same ones.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

here=$MAM_SRCDIR/tests/tools/coalesce
cd "$scratch" || exit 99

verdict() # LINE SCOPE SIZE [BEST] - of the file a.cu
{
	printf 'a.cu\t%s\tf<int>\t%s\t%s\ta reason' "$1" "$2" "$3"
	[ $# -lt 4 ] || printf '\t%s' "$4"
	printf '\n'
}

score() # NAME STATUS OUTPUT - of `verdicts` over a.cu
{
	awk -f "$here/score.awk" verdicts a.cu > out 2> err
	same "$1: exit status" "$2" $?
	same "$1" "$3" "$(cat out)"
}

refused() # NAME TEXT
{
	awk -f "$here/score.awk" verdicts a.cu > out 2> err
	same "$1: exit status" 2 $?
	try "$1: message" grep -q "$2" err
	same "$1: no score" "" "$(cat out)"
}

sum() # LABELED FOUND PERCENT UNSAFE
{
	printf 'safe calls labeled: %s\nfound: %s\nmissed: %s\n' "$1" "$2" $(($1 - $2))
	printf 'score: %s of %s safe calls found (%s%%), %s unsafe verdicts' "$2" "$1" "$3" "$4"
}

cat > a.cu << 'END'
	a = malloc(8); // want: block uniform
	b = malloc(n);      // want: block varying
	c = malloc(8); // want: warp uniform
	d = malloc(n); // want: warp varying
	e = malloc(8); // want: none -
	f = malloc(8); // want: none - want-best: block
	free(a);
END

right()
{
	verdict 1 block uniform
	verdict 2 block varying
	verdict 3 warp uniform
	verdict 4 warp varying
	verdict 5 none -
	verdict 6 none -
}

right > verdicts
score "all verdicts right" 0 "$(sum 4 4 100 0)"

right | sed '2d' > verdicts
score "one verdict missing" 1 "missed: a.cu:2: nothing said, is block varying
$(sum 4 3 75 0)"

(right; verdict 7 block uniform; printf 'b.cu\t5\tf\tblock\tuniform\tof another file\n') > verdicts
score "lines without a label do not count" 0 "$(sum 4 4 100 0)"

for change in 1,warp,uniform,block,uniform 1,block,varying,block,uniform 3,none,-,warp,uniform \
	4,none,-,warp,varying; do
	old_ifs=$IFS
	IFS=,
	# shellcheck disable=SC2086
	set -- $change
	IFS=$old_ifs
	(right | awk -F '\t' -v line="$1" '$2 != line'; verdict "$1" "$2" "$3") > verdicts
	score "too timid: $4 $5 as $2 $3" 1 "missed: a.cu:$1: said $2 $3, is $4 $5
$(sum 4 3 75 0)"
done

for change in 2,block,uniform,block,varying 4,warp,uniform,warp,varying \
	2,warp,uniform,block,varying 3,block,uniform,warp,uniform 4,block,varying,warp,varying; do
	old_ifs=$IFS
	IFS=,
	# shellcheck disable=SC2086
	set -- $change
	IFS=$old_ifs
	(right | awk -F '\t' -v line="$1" '$2 != line'; verdict "$1" "$2" "$3") > verdicts
	score "too bold: $4 $5 as $2 $3" 1 "unsafe: a.cu:$1: said $2 $3, is $4 $5
missed: a.cu:$1: said $2 $3, is $4 $5
$(sum 4 3 75 1)"
done

for claim in block,uniform block,varying warp,uniform warp,varying; do
	(right | sed '5d'; verdict 5 "${claim%,*}" "${claim#*,}") > verdicts
	score "too bold: none as $claim" 1 "unsafe: a.cu:5: said ${claim%,*} ${claim#*,}, is none -
$(sum 4 4 100 1)"
done

# A template: one line with one verdict per instance.
(right; verdict 1 block uniform) > verdicts
score "two instances, both right" 0 "$(sum 4 4 100 0)"
(right; verdict 1 none -) > verdicts
score "two instances, one timid" 1 "missed: a.cu:1: said none -, is block uniform
$(sum 4 3 75 0)"
(verdict 5 block uniform; right) > verdicts
score "two instances, one bold" 1 "unsafe: a.cu:5: said block uniform, is none -
$(sum 4 4 100 1)"

# The scope without divergent callers, if present.
(right | sed '6d'; verdict 6 none - block) > verdicts
score "best scope, right" 0 "$(sum 4 4 100 0)"
(right | sed '5d'; verdict 5 none - warp) > verdicts
score "best scope, too bold" 1 "unsafe: a.cu:5: said at best warp, is none
$(sum 4 4 100 1)"

# Two files: lines of one are not those of the other.
right > verdicts
echo 'p = malloc(8); // want: block uniform' > b.cu
awk -f "$here/score.awk" verdicts a.cu b.cu > out
same "two files" "missed: b.cu:1: nothing said, is block uniform
$(sum 5 4 80 0)" "$(cat out)"

# 80 of 100 is enough, 79 is not.
awk 'BEGIN { for (i = 0; i < 100; i++) print "p = malloc(8); // want: block uniform" }' > a.cu
for found in 80 79; do
	i=0
	while [ $((i += 1)) -le $found ]; do
		verdict $i block uniform
	done > verdicts
	awk -f "$here/score.awk" verdicts a.cu > out
	same "$found of 100: exit status" $((found < 80)) $?
	same "$found of 100" "score: $found of 100 safe calls found ($found%), 0 unsafe verdicts" \
		"$(tail -n 1 out)"
done
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do
	echo 'p = malloc(8); // want: warp varying'
done >> a.cu
i=0
while [ $((i += 1)) -le 90 ]; do
	verdict $i block uniform
done > verdicts
awk -f "$here/score.awk" verdicts a.cu > out
same "79.6 of 100 is not 80: exit status" 1 $?
same "79.6 of 100 is not 80" "score: 90 of 113 safe calls found (79%), 0 unsafe verdicts" \
	"$(tail -n 1 out)"
: > verdicts
awk -f "$here/score.awk" verdicts a.cu > out
same "no verdict at all: exit status" 1 $?
same "no verdict at all" "score: 0 of 113 safe calls found (0%), 0 unsafe verdicts" \
	"$(tail -n 1 out)"

# Input that cannot be parsed has no score instead of a bad one.
verdict 1 block uniform > verdicts
for label in 'block' 'block often' 'grid uniform' 'none uniform' 'block uniform today' \
	'none - want-best: none' 'none - want-best:'; do
	echo "p = malloc(8); // want: $label" > a.cu
	refused "the label '$label'" "a.cu:1: invalid label"
done
echo 'p = malloc(8);' > a.cu
refused "no label" "no label was found"
echo 'p = malloc(8); // want: block uniform' > a.cu
for line in 'a.cu 1 f block uniform' 'a.cu	1	f	grid	uniform	why' 'a.cu	1	f	none	uniform	why' \
	'a.cu	1	f	block	-	why' \
	'a.cu	1	f	block	uniform	why	all'; do
	echo "$line" > verdicts
	refused "the verdict '$line'" "verdicts:1: invalid verdict"
done

# Lines with an allocation have a label, and lines with a label have an allocation. The files' main
# functions, which run on the host, are ignored.
unlabeled() # FILE...
{
	awk '
		FNR == 1 { main = comment = 0 }
		/^#ifdef CORPUS_MAIN/ { main = 1 }
		/^#endif/ { main = 0 }
		main || /^[ \t]*#/ { next }
		{
			code = $0
			label = sub(/\/\/ want: .*/, "", code)
			if (comment && !sub(/^.*\*\//, "", code))
				next
			comment = 0
			gsub(/\/\*.*\*\//, "", code)
			comment = sub(/\/\*.*/, "", code)
			calls = code ~ /(^|[^A-Za-z0-9_])(malloc|mam_kmalloc|NEW_ARRAY|MAKE) *\(/ ||
				code ~ /(^|[^A-Za-z0-9_])new +[A-Za-z]/
			if (calls != label)
				print FILENAME ":" FNR
		}' "$@"
}

printf '%s\n' '/* new memory */' 'p = malloc(8);' 'q = new int; // want: none -' \
	'r = 1; // want: none -' > a.cu
same "a line without a label, and a label without a call, are detected" "a.cu:2
a.cu:4" "$(unlabeled a.cu)"
for corpus in corpus corpus_kept; do
	same "$corpus: each allocation has its label" "" "$(unlabeled "$here/$corpus"/*.cu)"
	: > verdicts
	awk -f "$here/score.awk" verdicts "$here/$corpus"/*.cu > out 2> err
	same "$corpus: the labels can be parsed" "1 0" "$? $(wc -l < err | tr -d ' ')"
done
same "files of both folders have different names" "" \
	"$(find "$here"/corpus* -name '*.cu' | sed 's|.*/||' | LC_ALL=C sort | uniq -d)"

at_least() # WHAT WANTED GOT
{
	try "$1: $3, at least $2" test "$3" -ge "$2"
}

kernels() # FOLDER
{
	cat "$here/$1"/*.cu | grep -v '^template __global__' | grep -c '__global__ void'
}

at_least "kernels" 70 "$(kernels corpus)"
at_least "kernels kept back" 30 "$(kernels corpus_kept)"
finish
