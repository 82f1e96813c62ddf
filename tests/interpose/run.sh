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
	if [ "$(wc -l < "$scratch/err")" -eq 1 ] && grep -q "^mam run: [a-z]*: .*$says_words" "$scratch/err" &&
		! grep -q '\.$' "$scratch/err"; then
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

says "no such program on the PATH" 127 "cannot find program 'no-such-program'" "$MAM" run no-such-program
says "no such file" 127 "cannot find program '/no/such'" "$MAM" run -- /no/such
printf '#!/no/interpreter\n' > "$scratch/script"
chmod +x "$scratch/script"
says "a script without its interpreter" 127 "interpreter" "$MAM" run "$scratch/script"
echo data > "$scratch/data"
says "a file that is not executable" 126 "cannot start" "$MAM" run "$scratch/data"
says "a folder" 126 "cannot start" "$MAM" run "$scratch"
says "no program" 2 "no program given" "$MAM" run --disable
says "an unknown option" 2 "unknown option" "$MAM" run --no-such-option true
says "a bad size" 2 "size" "$MAM" run --chunk many true
says "a negative size" 2 "size" "$MAM" run --limit -1 true
says "a bad policy" 2 "must be one of default|strict|stream|deferred" "$MAM" run --free never true
says "a bad answer to captures" 2 "must be one of strict|allow" "$MAM" run --capture=never true
says "a bad way to share" 2 "must be share, dedicated, or dedicated:SIZE" "$MAM" run --ipc=all true
says "a bad size to share from" 2 "must be share, dedicated, or dedicated:SIZE" "$MAM" run --ipc=dedicated:x true
says "a size of nothing to share from" 2 "must be share, dedicated, or dedicated:SIZE" \
	"$MAM" run --ipc=dedicated:0 true
says "no size to share from" 2 "must be share, dedicated, or dedicated:SIZE" "$MAM" run --ipc=dedicated: true
says "a bad threshold" 2 "size" "$MAM" run --pass-above much true
says "a bad word about children" 2 "must be yes or no" "$MAM" run --children=some true
says "a bad route" 2 "must be auto, preload or audit" "$MAM" run --route=scenic true
says "a bad word about NVTX" 2 "must be one of auto|no" "$MAM" run --nvtx=yes true
says "a bad level" 2 "must be one of error|warn|info|debug" "$MAM" run --log loud true
# A variable that no option replaces is checked as the option is: the program must not start without its limit.
for row in "MAM_LIMIT=banana|a size" "MAM_LIMIT=-1|a size" "MAM_CHUNK=x|a size .* or largest" "MAM_GROWTH=x|or none" \
	"MAM_PASS_ABOVE=much|a size" "MAM_GRANULE=3|a power of two" "MAM_FREE=banana|one of default|strict" \
	"MAM_CAPTURE=x|one of strict|allow" "MAM_IPC=banana|dedicated:SIZE" "MAM_IPC=dedicated:0|dedicated:SIZE" \
	"MAM_NVTX=x|one of auto|no" "MAM_STATS=banana|yes or no" "MAM_LEAKS=2|yes or no" "MAM_DISABLE=x|yes or no" \
	"MAM_TRACE_WHO=x|yes or no" "MAM_CHILDREN=some|yes or no" "MAM_CACHE=x|one of on|off" \
	"MAM_SOURCE=disk|one of vmm" "MAM_LOG=loud|one of error"; do
	says "${row%%|*}" 2 "${row%%=*} is .*${row#*|}" env "${row%%|*}" "$MAM" run sh -c "echo > '$scratch/started'"
done
try "a refused variable: the program is not started" test ! -e "$scratch/started"
same "an option replaces a refused variable" "1024 yes" \
	"$(MAM_LIMIT=banana MAM_STATS=banana "$MAM" run --limit 1K --stats=/dev/null sh -c 'echo $MAM_LIMIT yes')"
same "MAM_SOURCE has no effect: one line, and the program runs" "3 1 1" \
	"$(MAM_SOURCE=vmm "$MAM" run sh -c 'exit 3' 2> "$scratch/err"
	echo $? "$(wc -l < "$scratch/err")" "$(grep -c '^mam run: warning: MAM_SOURCE=vmm has no effect' "$scratch/err")")"
same "the default source needs no word" "" "$(MAM_SOURCE=cudamalloc "$MAM" run true 2>&1)"
# The same where the object is preloaded by hand: reported, whatever MAM_LOG says, and the default is used.
for row in "MAM_LIMIT=banana|using the default '0'" "MAM_FREE=banana|using the default 'default'" \
	"MAM_STATS=banana|using the default 'no'" "MAM_IPC=banana|blocks are shared"; do
	env "${row%%|*}" MAM_LOG=error LD_PRELOAD="$preload" "$client" --rounds 1 > "$scratch/out" 2> "$scratch/err"
	same "${row%%|*}, preloaded by hand" "0 1" "$? $(grep -c "^mam: .*${row#*|}" "$scratch/err")"
done
MAM_SOURCE=vmm LD_PRELOAD=$preload "$client" --rounds 1 > "$scratch/out" 2> "$scratch/err"
same "MAM_SOURCE, preloaded by hand" "0 1" "$? $(grep -c '^mam: warning: MAM_SOURCE=vmm has no effect' "$scratch/err")"
# An option whose value was forgotten does not take what follows.
for option in trace free limit log ipc; do
	says "--$option without a value, at the end of the options" 2 "'--$option' requires a value, but '--' follows" \
		"$MAM" run "--$option" -- true
done
says "--trace without a value, before another option" 2 "'--trace' requires a value, but '--stats' follows" \
	"$MAM" run --trace --stats true
same "--trace=-- is a name" "--" "$(cd "$scratch" && "$MAM" run --trace=-- sh -c 'basename -- "$MAM_TRACE"')"
for option in stats trace leaks; do
	says "--$option in no folder" 2 "cannot write to" "$MAM" run "--$option=/no/such/folder/file" true
	says "--$option in place of a folder" 2 "it is a folder" "$MAM" run "--$option=$scratch" true
	says "--$option named as a folder" 2 "name of a folder" "$MAM" run "--$option=$scratch/x/" true
	ln -sf "$scratch/target" "$scratch/link"
	says "--$option behind a symbolic link" 2 "symbolic link" "$MAM" run "--$option=$scratch/link" true
done
says "a trace without a name" 2 "the name is empty" "$MAM" run --trace= true
says "a name that is too long" 2 "cannot write to" \
	"$MAM" run --stats="$scratch/$(printf '%05000d' 0)" true
says "a folder of another host" 2 "cannot write to" "$MAM" run --trace="$scratch/%h/trace" true
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
same "words reach the program" "allow dedicated:2097152 no no 4096 deferred" \
	"$("$MAM" run --capture allow --ipc dedicated:2M --children no --nvtx no --pass-above 4K --free deferred sh -c \
		'echo $MAM_CAPTURE $MAM_IPC $MAM_CHILDREN $MAM_NVTX $MAM_PASS_ABOVE $MAM_FREE')"
same "and the other ones" "strict share yes auto strict" \
	"$("$MAM" run --capture=strict --ipc=share --children=yes --nvtx=auto --free=strict sh -c \
		'echo $MAM_CAPTURE $MAM_IPC $MAM_CHILDREN $MAM_NVTX $MAM_FREE')"
same "--ipc=dedicated needs no size" "dedicated" "$("$MAM" run --ipc=dedicated sh -c 'echo $MAM_IPC')"
same "--leaks is a switch, and a file" "1 , 1 $scratch/leaks" \
	"$("$MAM" run --leaks sh -c 'echo $MAM_LEAKS $MAM_LEAKS_FILE,') \
$("$MAM" run --leaks="$scratch/leaks" sh -c 'echo $MAM_LEAKS $MAM_LEAKS_FILE')"
same "the program's number is known to what it starts" "same" \
	"$("$MAM" run sh -c 'if [ $$ = $MAM_RUN_PID ]; then echo same; fi')"

# Names of files: absolute, and what stands for the process and the host left to each process.
mkdir "$scratch/percent%p"
names() # FILE - as the program sees it
{
	(cd "$scratch/percent%p" && "$MAM" run --trace="$1" sh -c 'echo "$MAM_TRACE"')
}
same "a relative name" "$scratch/percent%%p/t" "$(names t)"
same "a name with words in it" "$scratch/percent%%p/t.%p.%h" "$(names t.%p.%h)"
same "an absolute name" "/tmp/t%p" "$(names /tmp/t%p)"
same "another folder" "$scratch/t" "$(names ../t)"
mkdir "$scratch/host-$(uname -n)"
same "a folder with a word in it" "$scratch/host-%h/t" "$(names "$scratch/host-%h/t")"
same "a relative folder with a word in it" "$scratch/percent%%p/../host-%h/t" "$(names "../host-%h/t")"
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
cp "$MAM_BUILDDIR/.libs/libmam-audit.so" "$scratch/with:colon"
says "a path with a colon, audit" 2 "space or a colon" "$scratch/with:colon/mam" run --route=audit true
cp "$MAM" "$scratch/moved/lib/mam"
says "the command without its auditor" 2 "cannot find libmam-audit.so" \
	"$scratch/moved/bin/mam" run --route=audit true
mkdir "$scratch/alone"
cp "$MAM" "$scratch/alone"
says "the command without its object" 2 "cannot find libmam-preload.so" "$scratch/alone/mam" run true

# Statistics.
"$MAM" run --stats -- "$client" --rounds 1 > "$scratch/out" 2> "$scratch/err"
try "--stats: a table on standard error" grep -q 'cuGetProcAddress  *96  *96  *0  *0$' "$scratch/err"
"$client" --rounds 1 > "$scratch/plain" 2> /dev/null
try "--stats: standard output is the program's" cmp "$scratch/plain" "$scratch/out"
"$MAM" run -- "$client" --rounds 1 2>&1 > /dev/null | grep -v ms_per_round > "$scratch/err"
same "without --stats nothing is said" "" "$(cat "$scratch/err")"
"$MAM" run --stats true 2> "$scratch/err"
try "--stats: nothing caught, in one line" grep -q '^mam: intercepted no CUDA memory calls of true .*never loaded CUDA' "$scratch/err"
same "--stats: that line is all" 1 "$(wc -l < "$scratch/err")"
"$MAM" run --stats --disable -- "$client" --rounds 1 2>&1 > /dev/null | grep -v ms_per_round > "$scratch/err"
try "--stats: switched off, in one line" grep -q ': mam is disabled by MAM_DISABLE' "$scratch/err"
(cd "$scratch" && "$MAM" run --stats=stats -- sh -c "cd / && exec '$client' --rounds 1" > /dev/null 2>&1)
same "--stats=FILE: every block of one round" "96 48 48 0" \
	"$(stat_of calls_caught) $(stat_of allocs) $(stat_of frees) $(stat_of live_blocks)"
same "--stats=FILE: lines of key and value" "" "$(grep -v -E '^[a-zA-Z0-9_.]+	[0-9.]+$' "$scratch/stats")"
rm -f "$scratch"/stats*
"$MAM" run --stats="$scratch/stats" -- sh -c "'$client' --rounds 1; '$client' --rounds 1; :" > /dev/null 2>&1
same "--stats=FILE: processes that the program starts have files of their own" 2 "$(ls "$scratch"/stats.* | wc -l)"
mkfifo "$scratch/pipe"
grep calls_caught "$scratch/pipe" > "$scratch/read" &
exec 3> "$scratch/pipe" # waits until grep has opened it
"$MAM" run --stats="$scratch/pipe" -- "$client" --rounds 1 > "$scratch/out" 2>&1
exec 3>&-
wait
same "--stats=PIPE is read at its other end" "calls_caught	96" "$(cat "$scratch/read")"
try "--stats=PIPE leaves the pipe what it was" test -p "$scratch/pipe"
# A pipe that no process reads. The time is only there to end a test that hangs.
for option in stats leaks trace; do
	timeout 60 "$MAM" run --$option="$scratch/pipe" -- "$client" --rounds 1 > "$scratch/out" 2> "$scratch/err"
	same "--$option=PIPE without a reader: the program ends, in one sentence" "0 1" \
		"$? $(grep -c "^mam: error: .*/pipe': no process reads this pipe" "$scratch/err")"
done
MAM_LOG_FILE=$scratch/pipe timeout 60 "$MAM" run --log info -- "$client" --rounds 1 > "$scratch/out" 2> "$scratch/err"
same "MAM_LOG_FILE=PIPE without a reader: the program ends" 0 $?

rm -f "$scratch"/stats*
"$MAM" run --stats="$scratch/stats.%h.%p" -- timeout 60 "$client" --rounds 1 > /dev/null 2>&1
same "--stats=FILE with %p and %h: one for the process that used no CUDA, one for the client" 2 \
	"$(ls "$scratch/stats.$(uname -n)".[0-9]* | wc -l)"

# Children.
rm -f "$scratch"/stats* "$scratch/log"
FAKE_CUDA_LOG=$scratch/log "$MAM" run --children=no --stats="$scratch/stats" -- timeout 60 "$client" --rounds 1 \
	> /dev/null 2>&1
same "--children=no: a child's allocations are the driver's" 48 "$(grep -c '^cuMemAlloc ' "$scratch/log")"
same "--children=no: only the started process writes" "$scratch/stats" "$(ls "$scratch"/stats*)"
rm -f "$scratch"/stats* "$scratch/log"
"$MAM" run --children=no --stats="$scratch/stats" -- sh -c "exec '$client' --rounds 1" > /dev/null 2>&1
same "--children=no: the started process is served" 48 "$(stat_of allocs)"
rm -f "$scratch"/stats*
"$MAM" run --children=yes --stats="$scratch/stats" -- timeout 60 "$client" --rounds 1 > /dev/null 2>&1
same "--children=yes: a child is served" "calls_caught	96" "$(cat "$scratch"/stats.* | grep calls_caught)"

# Programs that mam cannot be in: one sentence, and they run; or do not, where a route was asked for.
cat > "$scratch/three.c" << 'EOF'
int main(void)
{
	return 3;
}
EOF
bars() # NAME WORDS PROGRAM
{
	says "$1 is warned of" 3 "$2" "$MAM" run "$3"
	says "$1 is refused where a route was asked for" 2 "$2" "$MAM" run --route=preload "$3"
}
if $CC -static -o "$scratch/static" "$scratch/three.c" 2> /dev/null; then
	bars "a static program" "without a shared C library" "$scratch/static"
	printf '#!%s\n' "$scratch/static" > "$scratch/static-script"
	chmod +x "$scratch/static-script"
	bars "a script of a static program" "without a shared C library" "$scratch/static-script"
else
	skip "a static program" "there is no static C library"
fi
$CC -o "$scratch/plain-three" "$scratch/three.c"
"$MAM" run --route=preload "$scratch/plain-three" > "$scratch/out" 2>&1
same "a program as usual: exit status" 3 $?
same "a program as usual: no word" "" "$(cat "$scratch/out")"
$CC -o "$scratch/set-user" "$scratch/three.c"
if [ "$(id -u)" -eq 0 ] && chmod 755 "$scratch" && chown 65534 "$scratch/set-user" && chmod u+s "$scratch/set-user" &&
	! findmnt -n -o OPTIONS -T "$scratch" 2> /dev/null | grep -q nosuid; then
	bars "a set-user-id program" "is set-user-id or set-group-id" "$scratch/set-user"
else
	skip "a set-user-id program" "only root can make one of another user"
fi
cp "$scratch/plain-three" "$scratch/other"
printf '\003\000' | dd of="$scratch/other" bs=1 seek=18 conv=notrunc 2> /dev/null
says "a program of another machine" 126 "another type of machine" sh -c "'$MAM' run '$scratch/other' 2>&1 |
	head -n 1 >&2; exit 126"
$CC -o "$scratch/other-c" "$scratch/three.c" -Wl,--dynamic-linker=/lib/ld-musl-test.so.1
says "a program on another C library" 127 "C library is not glibc" sh -c "'$MAM' run '$scratch/other-c' 2>&1 |
	head -n 1 >&2; exit 127"

# Processes that have nothing to do with CUDA.
for program in true "sh -c true" "${python3:-true} --version"; do
	LD_DEBUG=files LD_DEBUG_OUTPUT=$scratch/debug "$MAM" run $program > /dev/null 2>&1
done
same "a program without CUDA loads none of it" "" "$(cat "$scratch"/debug.* | grep -E 'libcuda|libcudart' | head -n 1)"
MAM_CHUNK=nonsense LD_PRELOAD=$preload true 2> "$scratch/err"
same "and hears nothing of mam's options" "" "$(cat "$scratch/err")"
try "the object needs no library of CUDA's nor libmam" \
	sh -c "readelf -d '$preload' | grep NEEDED > '$scratch/needed' && ! grep -E 'cuda|libmam' '$scratch/needed'"
same "it shows nothing but what it stands in for" "" \
	"$(nm -D --defined-only "$preload" | awk '{ print $3 }' | grep -v -E '^(cu[A-Z]|cuda[A-Z]|dlsym|dlvsym|_exit|_Exit|mam_interpose_original$)')"
finish
