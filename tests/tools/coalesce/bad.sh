#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bad.sh - what `mam coalesce` cannot read, write or understand is told in one sentence, with exit status 2,
# and no file appears; what is no mistake is none; and a mam without libclang says how to get it.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

tool=${MAM_BUILDDIR:-.}/mam-coalesce
manual=$MAM_SRCDIR/tools/mam-coalesce.1
COALESCE_INCLUDE=$(cd "$MAM_SRCDIR/tools/coalesce/headers" && pwd)
export COALESCE_INCLUDE
unset CUDA_HOME

# The command alone, as a build without libclang leaves it.
mkdir "$scratch/alone"
cp "$MAM" "$scratch/alone/mam"
"$scratch/alone/mam" coalesce --help > "$scratch/out" 2> "$scratch/err"
status=$?
if [ $status -eq 0 ]; then
	skip "without libclang" "another mam is installed where this one would be"
else
	same "without libclang: exit status" 2 $status
	try "without libclang: one sentence" grep -qx "mam coalesce: .*install libclang-dev .*configure.*build mam again)*" \
		"$scratch/err"
	same "without libclang: and no more" 1 "$(cat "$scratch/out" "$scratch/err" | wc -l | tr -d ' ')"
fi

[ -x "$tool" ] || skip_all 'bad input' 'this mam was built without libclang'
tool=$(cd "$(dirname "$tool")" && pwd)/mam-coalesce

cd "$scratch" || exit 99
printf '__global__ void k(int **p, int n)\n{\n\tp[threadIdx.x] = (int *)malloc(n);\n}\n' > good.cu
cp good.cu other.cu

run()
{
	timeout 60 "$tool" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null
}

refused() # NAME TEXT ARGUMENT...
{
	refused_name_here=$1
	refused_text_here=$2
	shift 2
	refused_by run "$refused_name_here" 2 "$refused_text_here" "$@"
}

# ---- the command line ----
refused "no file named" 'no file was named; see mam coalesce --help'
refused "an unknown option" "nonsense" --nonsense good.cu
refused "an unknown letter" "'-z'\|-z" -z good.cu
refused "-o without a file" "output\|-o" good.cu -o
refused "--library without names" "library" good.cu --library
refused "an empty --library" "invalid function name ''" --library '' good.cu
refused "a --library with a gap" "invalid function name ''" --library 'a,,b' good.cu
refused "a --library of no names" "invalid function name '2b'" --library 'a,2b' good.cu
refused "-o with two files" "but 2 were named" -o new.cu good.cu other.cu
refused "--tree with -o" "rewrites nothing" --tree -o new.cu good.cu
same "nothing was written" "good.cu other.cu" "$(echo *.cu)"

# ---- what is read ----
refused "no such file" '^mam coalesce: error: none.cu: .*No such file' none.cu
mkdir folder
refused "a folder" 'folder: .*not a regular file' folder
refused "a device without an end" '/dev/zero: .*not a regular file' /dev/zero
: > locked.cu
chmod 0 locked.cu
if [ -r locked.cu ]; then
	skip "a file that may not be read" "root may read everything"
else
	refused "a file that may not be read" 'locked.cu: .*denied' locked.cu
fi
rm -f locked.cu
printf '__global__ void k(int n)\n{\n\tn = not_there;\n}\n' > bad.cu
refused "a syntax error" "bad.cu:3: .*'not_there'" bad.cu -- --cuda-path=/nowhere
printf '\n#include <not/there.h>\n__global__ void k() {}\n' > bad.cu
refused "an unknown header" "bad.cu:2: .*not/there.h.*-I" bad.cu
refused "an unknown header of a flag" "good.cu: .*not_there.h" good.cu -- -include not_there.h
refused "a program in place of a source" "" "$tool"
head -c 4096 "$MAM" | tail -c 3000 > bad.cu
printf '\377\376 \001\002\033[31m }{ \n' >> bad.cu
refused "bytes that are no text" "bad.cu:" bad.cu
same "what a terminal would obey is not shown" 0 "$(tr -d '\11\12\40-\176\200-\377' < err | wc -c | tr -d ' ')"
refused "the second of two files" 'bad.cu:' -p good.cu bad.cu
refused "a source that is bad, with -o" 'bad.cu:' -o new.cu bad.cu
try "and nothing was written" test ! -e new.cu
kept=$COALESCE_INCLUDE
COALESCE_INCLUDE=$scratch/folder
refused "headers that are not there" 'folder: .*COALESCE_INCLUDE' good.cu
COALESCE_INCLUDE=$kept

# ---- diff(1) ----
# shellcheck disable=SC2317 # called through refused_by
without_diff()
{
	timeout 60 env PATH="$scratch/folder" "$tool" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null
}
refused_by without_diff "--diff without diff(1)" 2 "cannot run 'diff': No such file" --diff good.cu
refused_by without_diff "--diff and -o without diff(1)" 2 "cannot run 'diff': No such file" --diff -o new.cu good.cu
try "and nothing was written" test ! -e new.cu -a ! -s out
printf '#!/bin/sh\necho half\nkill -9 $$\n' > folder/diff
chmod 755 folder/diff
refused_by without_diff "diff(1) is killed" 2 "cannot run 'diff': Killed" --diff good.cu
try "and no half of a diff is shown" test ! -s out
rm folder/diff
cp good.cu "./--label=a 'b' \$(touch new.cu).cu"
run --diff "./--label=a 'b' \$(touch new.cu).cu"
same "a diff of an odd file name: exit status" 0 $?
try "it has the name" grep -qxF -e "--- ./--label=a 'b' \$(touch new.cu).cu$(printf '\t')" out
try "and no shell reads it" test ! -e new.cu
rm -f ./--label*

# ---- what is written ----
refused "-o into no folder" "cannot write 'none/new.cu'" -o none/new.cu good.cu
refused "-o onto a folder" "'folder': not a regular file" -o folder good.cu
refused "-o without a name" "cannot write ''" -o '' good.cu
mkfifo pipe # not a device: a broken command would put a file in its place
refused "-o onto a pipe" "'pipe': not a regular file" -o pipe good.cu
refused "-o onto the source" "is the file that is read" -o good.cu good.cu
refused "-o onto the source, by another way" "is the file that is read" -o folder/../good.cu good.cu
ln -s good.cu link.cu
refused "-o onto the source, by a link" "is the file that is read" -o link.cu good.cu
refused "-o onto the source, read by a link" "is the file that is read" -o good.cu link.cu
ln good.cu hard.cu
refused "-o onto the source, by a second name" "is the file that is read" -o hard.cu good.cu
rm link.cu hard.cu
mkdir shut
chmod 555 shut
if [ -w shut ]; then
	skip "-o into a folder that is read only" "root may write everywhere"
else
	refused "-o into a folder that is read only" "cannot write 'shut/new.cu'" -o shut/new.cu good.cu
fi
if [ -c /dev/full ]; then
	"$tool" -o new.cu good.cu > /dev/full 2> err
	same "a report that cannot be written: exit status" 2 $?
	same "a report that cannot be written: one sentence" "mam coalesce: error: standard output cannot be written" "$(cat err)"
	try "and no file appears" test ! -e new.cu
fi
awk 'BEGIN { for (i = 0; i < 9000; i++) print "// one line of many that say nothing" }' >> other.cu
(trap '' XFSZ; ulimit -f 8; "$tool" -o new.cu other.cu > /dev/null 2> err)
same "a file that has no room: exit status" 2 $?
try "a file that has no room: one sentence" grep -q "^mam coalesce: error: cannot write 'new.cu': " err
same "and nothing is left of it" "" "$(find . -name 'new.cu*')"
printf 'kept\n' > new.cu
(trap '' XFSZ; ulimit -f 8; "$tool" -o new.cu other.cu > /dev/null 2> err)
same "what was there before is kept" kept "$(cat new.cu)"

# ---- what is no mistake ----
printf 'int main(void)\n{\n\treturn 0;\n}\n' > host.cu
try "no code for the device" run host.cu
same "no code for the device: says so" "no device allocation in 1 file" "$(cat out)"
try "the same, rewritten" run -o new.cu host.cu
try "is the same" cmp new.cu host.cu
try "--help" run --help
for word in plain output diff library tree; do
	try "--help has --$word" grep -q -e "--$word" out
done
try "--help has examples" grep -q 'mam coalesce -o' out
explained_in "$manual"
cp good.cu 'with a space.cu'
try "a name with a space" run 'with a space.cu'
finish
