#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bad.sh - input that `mam coalesce` cannot read, write or understand is reported in one line, with
# exit status 2, and no file is written. Valid input is accepted. A mam without libclang prints how
# to get it.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

tool=${MAM_BUILDDIR:-.}/mam-coalesce
manual=$MAM_SRCDIR/tools/mam-coalesce.1
COALESCE_INCLUDE=$(cd "$MAM_SRCDIR/tools/coalesce/headers" && pwd)
export COALESCE_INCLUDE
unset CUDA_HOME

# The command alone, as built without libclang.
mkdir "$scratch/alone"
cp "$MAM" "$scratch/alone/mam"
"$scratch/alone/mam" coalesce --help > "$scratch/out" 2> "$scratch/err"
status=$?
if [ $status -eq 0 ]; then
	skip "without libclang" "another mam is installed where this one would be"
else
	same "without libclang: exit status" 2 $status
	try "without libclang: one line" grep -qx "mam coalesce: .*install libclang-dev .*configure.*build mam again)*" \
		"$scratch/err"
	same "without libclang: nothing else is printed" 1 "$(cat "$scratch/out" "$scratch/err" | wc -l | tr -d ' ')"
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
refused "no file given" 'no file was named; see mam coalesce --help'
refused "unknown option" "nonsense" --nonsense good.cu
refused "unknown short option" "'-z'\|-z" -z good.cu
refused "-o without a file" "output\|-o" good.cu -o
refused "--library without names" "library" good.cu --library
refused "--library with an empty value" "invalid function name ''" --library '' good.cu
refused "--library with an empty name" "invalid function name ''" --library 'a,,b' good.cu
refused "--library with only commas" "invalid function name '2b'" --library 'a,2b' good.cu
refused "-o with two files" "but 2 were named" -o new.cu good.cu other.cu
refused "--tree with -o" "rewrites nothing" --tree -o new.cu good.cu
same "command line errors write no file" "good.cu other.cu" "$(echo *.cu)"

# ---- input ----
refused "missing file" '^mam coalesce: error: none.cu: .*No such file' none.cu
mkdir folder
refused "folder as input" 'folder: .*not a regular file' folder
refused "endless device as input" '/dev/zero: .*not a regular file' /dev/zero
: > locked.cu
chmod 0 locked.cu
if [ -r locked.cu ]; then
	skip "unreadable file" "root may read everything"
else
	refused "unreadable file" 'locked.cu: .*denied' locked.cu
fi
rm -f locked.cu
printf '__global__ void k(int n)\n{\n\tn = not_there;\n}\n' > bad.cu
refused "syntax error" "bad.cu:3: .*'not_there'" bad.cu -- --cuda-path=/nowhere
printf '\n#include <not/there.h>\n__global__ void k() {}\n' > bad.cu
refused "unknown header" "bad.cu:2: .*not/there.h.*-I" bad.cu
refused "unknown header in a flag" "good.cu: .*not_there.h" good.cu -- -include not_there.h
refused "executable as input" "" "$tool"
head -c 4096 "$MAM" | tail -c 3000 > bad.cu
printf '\377\376 \001\002\033[31m }{ \n' >> bad.cu
refused "invalid UTF-8" "bad.cu:" bad.cu
same "control characters are not printed" 0 "$(tr -d '\11\12\40-\176\200-\377' < err | wc -c | tr -d ' ')"
refused "second of two files is invalid" 'bad.cu:' --plain good.cu bad.cu
refused "invalid source with -o" 'bad.cu:' -o new.cu bad.cu
try "invalid source with -o: no file is written" test ! -e new.cu
kept=$COALESCE_INCLUDE
COALESCE_INCLUDE=$scratch/folder
refused "missing headers" 'folder: .*COALESCE_INCLUDE' good.cu
COALESCE_INCLUDE=$kept

# ---- diff(1) ----
# shellcheck disable=SC2317 # called through refused_by
without_diff()
{
	timeout 60 env PATH="$scratch/folder" "$tool" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null
}
refused_by without_diff "--diff without diff(1)" 2 "cannot run 'diff': No such file" --diff good.cu
refused_by without_diff "--diff and -o without diff(1)" 2 "cannot run 'diff': No such file" --diff -o new.cu good.cu
try "invalid source with -o: no file is written" test ! -e new.cu -a ! -s out
printf '#!/bin/sh\necho half\nkill -9 $$\n' > folder/diff
chmod 755 folder/diff
refused_by without_diff "diff(1) is killed" 2 "cannot run 'diff': Killed" --diff good.cu
try "diff(1) is killed: no partial diff is printed" test ! -s out
rm folder/diff
cp good.cu "./--label=a 'b' \$(touch new.cu).cu"
run --diff "./--label=a 'b' \$(touch new.cu).cu"
same "diff of an odd file name: exit status" 0 $?
try "diff of an odd file name: has the name" grep -qxF -e "--- ./--label=a 'b' \$(touch new.cu).cu$(printf '\t')" out
try "diff of an odd file name: no shell expands it" test ! -e new.cu
rm -f ./--label*

# ---- output ----
refused "-o in a missing folder" "cannot write 'none/new.cu'" -o none/new.cu good.cu
refused "-o is a folder" "'folder': not a regular file" -o folder good.cu
refused "-o without a name" "cannot write ''" -o '' good.cu
mkfifo pipe # not a device: a broken command would replace it by a file
refused "-o is a pipe" "'pipe': not a regular file" -o pipe good.cu
refused "-o is the source" "is the file that is read" -o good.cu good.cu
refused "-o is the source, through another path" "is the file that is read" -o folder/../good.cu good.cu
ln -s good.cu link.cu
refused "-o is a link to the source" "is the file that is read" -o link.cu good.cu
refused "-o is the source, read through a link" "is the file that is read" -o good.cu link.cu
ln good.cu hard.cu
refused "-o is a hard link to the source" "is the file that is read" -o hard.cu good.cu
rm link.cu hard.cu
mkdir shut
chmod 555 shut
if [ -w shut ]; then
	skip "-o in a read-only folder" "root may write everywhere"
else
	refused "-o in a read-only folder" "cannot write 'shut/new.cu'" -o shut/new.cu good.cu
fi
if [ -c /dev/full ]; then
	"$tool" -o new.cu good.cu > /dev/full 2> err
	same "report cannot be written: exit status" 2 $?
	same "report cannot be written: one line" "mam coalesce: error: cannot write to standard output" "$(cat err)"
	try "report cannot be written: no file is written" test ! -e new.cu
fi
awk 'BEGIN { for (i = 0; i < 9000; i++) print "// one of many lines of filler text" }' >> other.cu
(trap '' XFSZ; ulimit -f 8; "$tool" -o new.cu other.cu > /dev/null 2> err)
same "no space for the file: exit status" 2 $?
try "no space for the file: one line" grep -q "^mam coalesce: error: cannot write 'new.cu': " err
same "no space for the file: no file remains" "" "$(find . -name 'new.cu*')"
printf 'kept\n' > new.cu
(trap '' XFSZ; ulimit -f 8; "$tool" -o new.cu other.cu > /dev/null 2> err)
same "no space for the file: the old file is kept" kept "$(cat new.cu)"

# ---- valid input ----
printf 'int main(void)\n{\n\treturn 0;\n}\n' > host.cu
try "no code for the device" run host.cu
same "no code for the device: message" "no device allocation in 1 file" "$(cat out)"
try "no code for the device: rewritten" run -o new.cu host.cu
try "no code for the device: unchanged" cmp new.cu host.cu
try "--help" run --help
for word in build format plain fix output diff library tree; do
	try "--help has --$word" grep -q -e "--$word" out
done
try "--help has examples" grep -q 'mam coalesce -o' out
explained_in "$manual"
cp good.cu 'with a space.cu'
try "file name with a space" run 'with a space.cu'
finish
