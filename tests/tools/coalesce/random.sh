#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# random.sh - random programs (random/random.py): the CPU runs each of them with 64 threads. No
# verdict of `mam coalesce` claims more than the threads do, and the rewritten program computes the
# same: its collective calls are made by all threads of the block or warp.
#
# COALESCE_RANDOM=N: that many programs; default 40. COALESCE_SEED=N: the first seed; default 1. A
# failure names its seed.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

here=$MAM_SRCDIR/tests/tools/coalesce/random
tool=${MAM_BUILDDIR:-.}/mam-coalesce
[ -x "$tool" ] || skip_all 'random programs' 'this mam was built without libclang'
tool=$(cd "$(dirname "$tool")" && pwd)/mam-coalesce
command -v python3 > /dev/null || skip_all 'random programs' 'there is no python3'
# shellcheck disable=SC2086 # words on purpose
printf 'int main() {}\n' > "$scratch/t.cc" && ${CXX:-c++} -o "$scratch/t" "$scratch/t.cc" 2> /dev/null ||
	skip_all 'random programs' 'there is no C++ compiler'
COALESCE_INCLUDE=$(cd "$MAM_SRCDIR/tools/coalesce/headers" && pwd)
export COALESCE_INCLUDE
here=$(cd "$here" && pwd)
cd "$scratch" || exit 99
each=20
wanted=${COALESCE_RANDOM:-40}
seed=${COALESCE_SEED:-1}
programs=0
claims=0
collective=0

build() # SOURCE PROGRAM
{
	# shellcheck disable=SC2086
	${CXX:-c++} -std=c++17 -O0 -w -fwrapv -x c++ -DRANDOM_MAIN -include "$here/run.h" -I "$here" -I . \
		-o "$2" "$1" > err 2>&1
}

while [ "$programs" -lt "$wanted" ]; do
	python3 "$here/random.py" "$seed" $each > random.cu
	try "seed $seed: judged" eval "'$tool' --plain -o rewritten.cu random.cu > plain 2> left"
	cut -f 2,4,5 plain | tr '\t' ' ' > verdicts
	claims=$((claims + $(grep -c 'block\|warp' verdicts)))
	collective=$((collective + $(grep -c 'mam_cmalloc(.*COLLECTIVE_[BW]' rewritten.cu)))
	try "seed $seed: compiled" build random.cu plain.run
	try "seed $seed: compiled, rewritten" build rewritten.cu rewritten.run
	try "seed $seed: no verdict is wrong" eval "timeout 100 ./plain.run verdicts > before"
	grep -h '^wrong' before | sed 's/^/# /'
	sed 's/ .*/ block uniform/' verdicts > bold
	try "seed $seed: false verdicts would be found" eval "! timeout 100 ./plain.run bold > found && grep -q '^wrong' found"
	try "seed $seed: all collective calls are made by all" eval "timeout 100 ./rewritten.run > after"
	grep -h '^wrong' after | sed 's/^/# /'
	try "seed $seed: the rewritten programs compute the same" cmp before after
	programs=$((programs + each))
	seed=$((seed + 1))
done
try "$programs programs, $claims claims, $collective collective calls" test "$claims" -gt 0 -a "$collective" -gt 0
finish
