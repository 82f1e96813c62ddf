#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# outputs.sh - `mam coalesce` on whole builds (-p), in place (--fix), and for editors (--format).

. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/tools/coalesce/coalesce.sh"

begin_coalesce 'builds, --fix and formats'

refused() # NAME TEXT ARGUMENT...
{
	refused_name_here=$1
	refused_text_here=$2
	shift 2
	refused_by run "$refused_name_here" 2 "$refused_text_here" "$@"
}

# ---- -p ----
mkdir build src include
printf '#define WORDS 4\n' > include/words.h
cat > src/one.cu << 'END'
#include "words.h"
__global__ void one(int **p) { p[threadIdx.x] = (int *)malloc(WORDS * EACH); }
END
cat > src/two.cu << 'END'
__global__ void two(int **p, int n)
{
	if (threadIdx.x < 3)
		p[0] = (int *)malloc(n);
	p[1] = (int *)malloc(n); /* ä */ p[2] = (int *)malloc(2 * n);
}
END
printf 'int main(void) { return 0; }\n' > src/host.c
cat > build/compile_commands.json << END
[
{
  "directory": "$scratch/build",
  "command": "nvcc -I../include -O2 \\"-DEACH=(2 + 2)\\" -x cu -c ../src/one.cu -o one.o",
  "file": "../src/one.cu"
},
{ "output": {"a": [1, -2.5e3, true, null, "\\u00e4\\n"]}, "directory": "$scratch/build",
  "arguments": ["nvcc", "-c", "$scratch/src/two.cu"], "file": "$scratch/src/two.cu" },
{ "directory": "$scratch/build", "arguments": ["cc", "-c", "../src/host.c"], "file": "../src/host.c" }
]
END
try "-p: all CUDA files of a build" run -p build --plain
same "-p: their allocations" "src/one.cu 2 block
src/two.cu 4 none
src/two.cu 5 block
src/two.cu 5 block" "$(cut -f 1,2,4 out | tr '\t' ' ')"
try "-p with a file" run -p build --plain src/one.cu
same "-p with a file: only that one" src/one.cu "$(cut -f 1 out)"
refused "without -p" "one.cu:1: .*words.h" src/one.cu
cp src/two.cu other.cu
run -p build --plain other.cu
same "-p: a file that the build does not have: exit status" 0 $?
try "-p: a file that the build does not have: a warning" grep -q "warning: build/compile_commands.json does not compile 'other.cu'" err
refused "-p without a database" "cannot read 'src/compile_commands.json': No such file" -p src
mkdir bad
for text in '' '{' '[{]' '[{"file": "a.cu"}]' '[{"directory": ".", "file": "a.cu", "command": 3}]' '[] x' '["a"]' '[{"file'; do
	printf '%s' "$text" > bad/compile_commands.json
	refused "invalid database: $text" "'bad/compile_commands.json' is not a list of compile commands: see line 1" -p bad
done
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "[" }' > bad/compile_commands.json
refused "deeply nested database" "is not a list of compile commands" -p bad
printf '[]' > bad/compile_commands.json
refused "empty database" "bad/compile_commands.json compiles no CUDA file" -p bad

# As CMake calls nvcc: the folders are in a file of their own.
mkdir 'in folder' cmake
mv include/words.h 'in folder'
printf -- '-I"%s/in folder"\n-DEACH=16\n' "$scratch" > cmake/includes.rsp
for option in '--options-file includes.rsp' --options-file=includes.rsp '-optf includes.rsp'; do
	printf '[{"directory": "%s/cmake", "file": "../src/one.cu", "command": "nvcc %s -x cu -c ../src/one.cu"}]' \
		"$scratch" "$option" > cmake/compile_commands.json
	try "$option" run -p cmake --plain
	same "$option: the flags of the file are used" "src/one.cu 2 block" "$(cut -f 1,2,4 out | tr '\t' ' ')"
done
rm cmake/includes.rsp
run -p cmake
same "options file that is missing: exit status" 2 $?
try "options file that is missing: its name" \
	grep -q "warning: cannot read '.*cmake/includes.rsp', which has flags of the build: No such file" err
mv 'in folder/words.h' include

# ---- formats ----
try "--format clang" run --format clang src/two.cu
same "--format clang: all lines" "src/two.cu:4:17: note: malloc in 'two': each thread needs a request of its own: not all threads pass the condition at line 3, because of threadIdx.x [mam-coalesce-none]
src/two.cu:3:1: note: the reason is here
src/two.cu:5:16: warning: malloc in 'two': one request can serve the whole block: all threads of the block reach it, with the same n [mam-coalesce-block]
src/two.cu:5:50: warning: malloc in 'two': one request can serve the whole block: all threads of the block reach it, with the same n [mam-coalesce-block]" \
	"$(cat out)"
try "--format sarif" run --format sarif -p build
if command -v python3 > /dev/null; then
	same "--format sarif: the results" "4 src/one.cu 2 55 src/two.cu 5 49 62 2.1.0" "$(python3 -c '
import json
log = json.load(open("out"))
results = log["runs"][0]["results"]
place = [r["locations"][0]["physicalLocation"] for r in results]
first, last = place[0], place[-1]
print(len(results), first["artifactLocation"]["uri"], first["region"]["startLine"], first["region"]["startColumn"] - 1,
      last["artifactLocation"]["uri"], last["region"]["startLine"], last["region"]["startColumn"],
      last["region"]["endColumn"], log["version"])')"
else
	skip "--format sarif: the results" "there is no python3"
fi
refused "--format with --plain" "exclude each other" --format clang --plain src/two.cu
refused "unknown format" "nonsense" --format nonsense src/two.cu

# ---- --fix ----
refused "--fix with -o" "leave out --diff and -o" --fix -o new.cu other.cu
refused "--fix with --tree" "leave out --diff, --fix and -o" --fix --tree other.cu
cp src/two.cu kept.cu
chmod 640 src/two.cu
printf '__global__ void k(int n) { n = not_there; }\n' > broken.cu
run --fix src/two.cu broken.cu
same "--fix with a broken file: exit status" 2 $?
try "--fix with a broken file: none is changed" cmp src/two.cu kept.cu
try "--fix with a broken file: no backup" test ! -e src/two.cu.orig
try "--fix with a broken file: says so" grep -q 'error: --fix has changed no file' err
try "--fix of a build" run -p build --fix
try "--fix: the backup is the old file" cmp src/two.cu.orig kept.cu
same "--fix: the mode is kept" 640 "$(stat -c %a src/two.cu)"
same "--fix: collective calls" 3 "$(cat src/one.cu src/two.cu | grep -o 'mam_cmalloc([^;]*COLLECTIVE_BLOCK)' | wc -l | tr -d ' ')"
try "--fix: names both" grep -qx 'src/one.cu: rewritten; the old one is src/one.cu.orig' err
cp src/two.cu rewritten.cu
cp kept.cu src/two.cu
rm src/one.cu.orig
run --fix src/two.cu
same "--fix with a backup there: exit status" 2 $?
try "--fix with a backup there: message" grep -q "the backup '.*src/two.cu.orig' exists: move it to another name first" err
try "--fix with a backup there: unchanged" cmp src/two.cu kept.cu
rm src/two.cu.orig
cp kept.cu last.cu
: > last.cu.orig
run --fix src/two.cu last.cu
same "--fix: the second backup exists: exit status" 2 $?
try "--fix: the second backup exists: the first file is unchanged" cmp src/two.cu kept.cu
try "--fix: the second backup exists: no other backup remains" test ! -e src/two.cu.orig
rm -f last.cu.orig
cp last.cu twice.cu
try "--fix of a file that is named twice" run --fix twice.cu ./twice.cu
try "--fix of a file that is named twice: the backup is the old file" cmp twice.cu.orig last.cu
try "--fix through a link" eval 'ln -s src/two.cu link.cu && "$tool" --fix link.cu > out 2> err'
try "--fix through a link: it is still one" test -h link.cu
try "--fix through a link: its file is rewritten" cmp src/two.cu rewritten.cu
printf 'int main(void)\n{\n\treturn 0;\n}\n' > host.cu
try "--fix of a file without allocations" run --fix host.cu
try "--fix of a file without allocations: no backup" test ! -e host.cu.orig
finish
