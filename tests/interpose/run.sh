#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh - mam run as a command: exit statuses, bad usage, the environment it hands on, statistics.
# shellcheck disable=SC2012,SC2016,SC2086 # programs under test expand them; commands are words
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

preload=$(realpath "$MAM_BUILDDIR/.libs/libmam-preload.so")
client=$clients/client_dlsym

# says NAME STATUS WORDS COMMAND... - one sentence on standard error with these words in it, and the exit status
says()
{
	says_name=$1
	says_status=$2
	says_words=$3
	shift 3
	"$@" > "$scratch/out" 2> "$scratch/err"
	same "$says_name: exit status" "$says_status" $?
	if [ "$(wc -l < "$scratch/err")" -eq 1 ] && grep -q "^mam run: .*$says_words.*\.\$" "$scratch/err"; then
		ok "$says_name: one sentence"
	else
		not_ok "$says_name: one sentence" "$(lib_tail "$scratch/err")"
	fi
}

"$MAM" run true
same "success is kept" 0 $?
"$MAM" run -- "$client" --rounds 1 --exit 3 > /dev/null 2>&1
same "exit status 3 is kept" 3 $?
"$MAM" run sh -c 'kill -TERM $$' > "$scratch/out" 2>&1
same "a signal is kept" 143 $?
same "standard input and arguments are the program's" "a b c" "$(echo 'a b' | "$MAM" run sh -c 'read -r x; echo "$x $1"' - c)"
same "an option behind the program is the program's" "--stats" "$("$MAM" run echo --stats)"

says "no such program on the PATH" 127 "no program 'no-such-program'" "$MAM" run no-such-program
says "no such file" 127 "no program '/no/such'" "$MAM" run -- /no/such
printf '#!/no/interpreter\n' > "$scratch/script"
chmod +x "$scratch/script"
says "a script without its interpreter" 127 "interpreter" "$MAM" run "$scratch/script"
echo data > "$scratch/data"
says "a file that is not executable" 126 "cannot be started" "$MAM" run "$scratch/data"
says "a folder" 126 "cannot be started" "$MAM" run "$scratch"
says "no program" 2 "no program was named" "$MAM" run --disable
says "an unknown option" 2 "unknown option" "$MAM" run --no-such-option true
says "a bad size" 2 "size" "$MAM" run --chunk many true
says "a negative size" 2 "size" "$MAM" run --limit -1 true
says "a bad policy" 2 "must be one of default|strict|stream|deferred" "$MAM" run --free never true
says "a bad level" 2 "must be one of error|warn|info|debug" "$MAM" run --log loud true
says "statistics in no folder" 2 "cannot be written to" "$MAM" run --stats=/no/such/folder/file true
says "statistics in place of a folder" 2 "it is a folder" "$MAM" run --stats="$scratch" true
"$MAM" run --help > "$scratch/out" 2>&1
same "--help: exit status" 0 $?
try "--help names the examples" grep -q 'mam run --stats python3 train.py' "$scratch/out"

# The environment.
same "the object is first in LD_PRELOAD" "$preload" "$("$MAM" run sh -c 'echo $LD_PRELOAD')"
echo 'int mam_test_other;' > "$scratch/other.c"
$CC -shared -fPIC -o "$scratch/other.so" "$scratch/other.c"
same "what was in LD_PRELOAD stays" "$preload:$scratch/other.so" \
	"$(LD_PRELOAD=$scratch/other.so "$MAM" run sh -c 'echo $LD_PRELOAD')"
same "sizes reach the program" "1048576 none 2147483648 stream debug 1" \
	"$("$MAM" run --chunk 1M --growth none --limit 2GiB --free stream --log debug --disable sh -c \
		'echo $MAM_CHUNK $MAM_GROWTH $MAM_LIMIT $MAM_FREE $MAM_LOG $MAM_DISABLE')"
same "what is not asked for is left alone" "5M" "$(MAM_CHUNK=5M "$MAM" run sh -c 'echo $MAM_CHUNK $MAM_LIMIT')"

# A copy of the two files, as another folder or an installed tree has them.
copy() # FOLDER OBJECT-FOLDER
{
	mkdir -p "$1" "$2" && cp "$MAM" "$1/mam" && cp "$preload" "$2"
}
copy "$scratch/moved/bin" "$scratch/moved/lib/mam"
same "a tree that was moved" "$scratch/moved/lib/mam/libmam-preload.so" \
	"$("$scratch/moved/bin/mam" run sh -c 'echo $LD_PRELOAD')"
copy "$scratch/with space" "$scratch/with space"
says "a path with a space" 2 "space or a colon" "$scratch/with space/mam" run true
copy "$scratch/with:colon" "$scratch/with:colon"
says "a path with a colon" 2 "space or a colon" "$scratch/with:colon/mam" run true
mkdir "$scratch/alone"
cp "$MAM" "$scratch/alone"
says "the command without its object" 2 "libmam-preload.so was not found" "$scratch/alone/mam" run true

# Statistics.
"$MAM" run --stats -- "$client" --rounds 1 > "$scratch/out" 2> "$scratch/err"
try "--stats: a table on standard error" grep -q 'cuGetProcAddress  *96  *96  *0  *0$' "$scratch/err"
"$client" --rounds 1 > "$scratch/plain" 2> /dev/null
try "--stats: standard output is the program's" cmp "$scratch/plain" "$scratch/out"
"$MAM" run -- "$client" --rounds 1 2>&1 > /dev/null | grep -v ms_per_round > "$scratch/err"
same "without --stats nothing is said" "" "$(cat "$scratch/err")"
"$MAM" run --stats true 2> "$scratch/err"
try "--stats: nothing caught, in one line" grep -q '^mam: no CUDA memory call of true .*never loaded CUDA' "$scratch/err"
same "--stats: that line is all" 1 "$(wc -l < "$scratch/err")"
"$MAM" run --stats --disable -- "$client" --rounds 1 2>&1 > /dev/null | grep -v ms_per_round > "$scratch/err"
try "--stats: switched off, in one line" grep -q 'caught: mam was switched off' "$scratch/err"
(cd "$scratch" && "$MAM" run --stats=stats -- sh -c "cd / && exec '$client' --rounds 1" > /dev/null 2>&1)
same "--stats=FILE: every block of one round" "96 48 48 0" \
	"$(stat_of calls_caught) $(stat_of allocs) $(stat_of frees) $(stat_of live_blocks)"
same "--stats=FILE: lines of key and value" "" "$(grep -v -E '^[a-zA-Z0-9_.]+	[0-9.]+$' "$scratch/stats")"
rm -f "$scratch"/stats*
"$MAM" run --stats="$scratch/stats" -- sh -c "'$client' --rounds 1; '$client' --rounds 1; :" > /dev/null 2>&1
same "--stats=FILE: processes that the program starts have files of their own" 2 "$(ls "$scratch"/stats.* | wc -l)"
mkfifo "$scratch/pipe"
grep calls_caught "$scratch/pipe" > "$scratch/read" &
"$MAM" run --stats="$scratch/pipe" -- "$client" --rounds 1 > "$scratch/out" 2>&1
wait
same "--stats=PIPE is read at its other end" "calls_caught	96" "$(cat "$scratch/read")"
try "--stats=PIPE leaves the pipe what it was" test -p "$scratch/pipe"

# Processes that have nothing to do with CUDA.
for program in true "sh -c true" "${python3:-true} --version"; do
	LD_DEBUG=files LD_DEBUG_OUTPUT=$scratch/debug "$MAM" run $program > /dev/null 2>&1
done
same "a program without CUDA loads none of it" "" "$(cat "$scratch"/debug.* | grep -E 'libcuda|libcudart' | head -n 1)"
MAM_CHUNK=nonsense "$MAM" run true 2> "$scratch/err"
same "and hears nothing of mam's options" "" "$(cat "$scratch/err")"
try "the object needs no library of CUDA's nor libmam" \
	sh -c "readelf -d '$preload' | grep NEEDED > '$scratch/needed' && ! grep -E 'cuda|libmam' '$scratch/needed'"
same "it shows nothing but what it stands in for" "" \
	"$(nm -D --defined-only "$preload" | awk '{ print $3 }' | grep -v -E '^(cu[A-Z]|cuda[A-Z]|dlsym|dlvsym)')"
finish
