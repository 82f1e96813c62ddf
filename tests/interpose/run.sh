#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh - mam run as a command: exit statuses, usage errors, the environment that it passes on,
# statistics.
# shellcheck disable=SC2012,SC2016,SC2086 # programs under test expand them; commands are words
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

preload=$(realpath "$MAM_BUILDDIR/.libs/libmam-preload.so")
client=$clients/client_dlsym

# reports NAME STATUS WORDS COMMAND... - one line on stderr that contains WORDS, and the exit status
reports()
{
	reports_name=$1
	reports_status=$2
	reports_words=$3
	shift 3
	"$@" > "$scratch/out" 2> "$scratch/err"
	same "$reports_name: exit status" "$reports_status" $?
	if [ "$(wc -l < "$scratch/err")" -eq 1 ] && grep -q "^mam run: [a-z]*: .*$reports_words" "$scratch/err" &&
		! grep -q '\.$' "$scratch/err"; then
		ok "$reports_name: one line"
	else
		not_ok "$reports_name: one line" "$(lib_tail "$scratch/err")"
	fi
}

"$MAM" run true
same "exit status 0 is passed on" 0 $?
"$MAM" run -- "$client" --rounds 1 --exit 3 > /dev/null 2>&1
same "exit status 3 is passed on" 3 $?
"$MAM" run sh -c 'kill -TERM $$' > "$scratch/out" 2>&1
same "a signal is passed on" 143 $?
same "stdin and arguments reach the program" "a b c" "$(echo 'a b' | "$MAM" run sh -c 'read -r x; echo "$x $1"' - c)"
same "an option after the program belongs to the program" "--stats" "$("$MAM" run echo --stats)"

reports "program not on the PATH" 127 "cannot find program 'no-such-program'" "$MAM" run no-such-program
reports "missing program file" 127 "cannot find program '/no/such'" "$MAM" run -- /no/such
printf '#!/no/interpreter\n' > "$scratch/script"
chmod +x "$scratch/script"
reports "script with a missing interpreter" 127 "interpreter" "$MAM" run "$scratch/script"
echo data > "$scratch/data"
reports "file that is not executable" 126 "cannot start" "$MAM" run "$scratch/data"
reports "folder as program" 126 "cannot start" "$MAM" run "$scratch"
reports "missing program" 2 "no program given" "$MAM" run --disable
reports "unknown option" 2 "unknown option" "$MAM" run --no-such-option true
reports "invalid size" 2 "size" "$MAM" run --chunk many true
reports "negative size" 2 "size" "$MAM" run --limit -1 true
reports "invalid policy" 2 "must be one of default|strict|stream|deferred" "$MAM" run --free never true
reports "invalid --capture" 2 "must be one of strict|allow" "$MAM" run --capture=never true
reports "invalid --ipc" 2 "must be share, dedicated, or dedicated:SIZE" "$MAM" run --ipc=all true
reports "--ipc with an invalid size" 2 "must be share, dedicated, or dedicated:SIZE" "$MAM" run --ipc=dedicated:x true
reports "--ipc with size 0" 2 "must be share, dedicated, or dedicated:SIZE" \
	"$MAM" run --ipc=dedicated:0 true
reports "--ipc with an empty size" 2 "must be share, dedicated, or dedicated:SIZE" "$MAM" run --ipc=dedicated: true
reports "invalid --pass-above" 2 "size" "$MAM" run --pass-above much true
reports "invalid --children" 2 "must be yes or no" "$MAM" run --children=some true
reports "invalid --route" 2 "must be auto, preload or audit" "$MAM" run --route=scenic true
reports "invalid --nvtx" 2 "must be one of auto|no" "$MAM" run --nvtx=yes true
reports "invalid log level" 2 "must be one of error|warn|info|debug" "$MAM" run --log loud true
# A variable that no option replaces is checked like the option: the program must not start without
# its limit.
for row in "MAM_LIMIT=banana|a size" "MAM_LIMIT=-1|a size" "MAM_CHUNK=x|a size .* or largest" "MAM_GROWTH=x|or none" \
	"MAM_PASS_ABOVE=much|a size" "MAM_GRANULE=3|a power of two" "MAM_FOOTPRINT=x|a whole number" "MAM_FREE=banana|one of default|strict" \
	"MAM_CAPTURE=x|one of strict|allow" "MAM_IPC=banana|dedicated:SIZE" "MAM_IPC=dedicated:0|dedicated:SIZE" \
	"MAM_NVTX=x|one of auto|no" "MAM_STATS=banana|yes or no" "MAM_LEAKS=2|yes or no" "MAM_DISABLE=x|yes or no" \
	"MAM_TRACE_WHO=x|yes or no" "MAM_CHILDREN=some|yes or no" "MAM_CACHE=x|one of on|off" \
	"MAM_SOURCE=disk|one of vmm" "MAM_LOG=loud|one of error"; do
	reports "${row%%|*}" 2 "${row%%=*} is .*${row#*|}" env "${row%%|*}" "$MAM" run sh -c "echo > '$scratch/started'"
done
try "invalid variable: the program does not start" test ! -e "$scratch/started"
same "an option replaces an invalid variable" "1024 yes" \
	"$(MAM_LIMIT=banana MAM_STATS=banana "$MAM" run --limit 1K --stats=/dev/null sh -c 'echo $MAM_LIMIT yes')"
same "MAM_SOURCE has no effect: one warning, and the program runs" "3 1 1" \
	"$(MAM_SOURCE=pinned "$MAM" run sh -c 'exit 3' 2> "$scratch/err"
	echo $? "$(wc -l < "$scratch/err")" "$(grep -c '^mam run: warning: MAM_SOURCE=pinned has no effect' "$scratch/err")")"
for source in cudamalloc vmm; do
	same "a source of pools prints no warning: $source" "" "$(MAM_SOURCE=$source "$MAM" run true 2>&1)"
	same "--source=$source sets the variable" $source "$("$MAM" run --source $source sh -c 'echo $MAM_SOURCE' 2>&1)"
done
reports "invalid --source" 2 "must be vmm or cudamalloc" "$MAM" run --source=pinned true
# The same where the object is preloaded by hand: reported at any MAM_LOG level, and the default is
# used.
for row in "MAM_LIMIT=banana|using the default '0'" "MAM_FREE=banana|using the default 'default'" \
	"MAM_STATS=banana|using the default 'no'" "MAM_IPC=banana|blocks are shared"; do
	env "${row%%|*}" MAM_LOG=error LD_PRELOAD="$preload" "$client" --rounds 1 > "$scratch/out" 2> "$scratch/err"
	same "${row%%|*}, preloaded by hand" "0 1" "$? $(grep -c "^mam: .*${row#*|}" "$scratch/err")"
done
MAM_SOURCE=pinned LD_PRELOAD=$preload "$client" --rounds 1 > "$scratch/out" 2> "$scratch/err"
same "MAM_SOURCE, preloaded by hand" "0 1" "$? $(grep -c '^mam: warning: MAM_SOURCE=pinned has no effect' "$scratch/err")"
# An option whose value is missing does not consume the next argument.
for option in trace source free limit log ipc; do
	reports "--$option without a value, last option" 2 "'--$option' requires a value, but '--' follows" \
		"$MAM" run "--$option" -- true
done
reports "--trace without a value, before another option" 2 "'--trace' requires a value, but '--stats' follows" \
	"$MAM" run --trace --stats true
same "--trace=-- is a file name" "--" "$(cd "$scratch" && "$MAM" run --trace=-- sh -c 'basename -- "$MAM_TRACE"')"
for option in stats trace leaks; do
	reports "--$option in a missing folder" 2 "cannot write to" "$MAM" run "--$option=/no/such/folder/file" true
	reports "--$option is a folder" 2 "it is a folder" "$MAM" run "--$option=$scratch" true
	reports "--$option with a trailing slash" 2 "name of a folder" "$MAM" run "--$option=$scratch/x/" true
	ln -sf "$scratch/target" "$scratch/link"
	reports "--$option is a symbolic link" 2 "symbolic link" "$MAM" run "--$option=$scratch/link" true
done
reports "--trace with an empty name" 2 "the name is empty" "$MAM" run --trace= true
reports "file name too long" 2 "cannot write to" \
	"$MAM" run --stats="$scratch/$(printf '%05000d' 0)" true
reports "missing folder of another host" 2 "cannot write to" "$MAM" run --trace="$scratch/%h/trace" true
"$MAM" run --help > "$scratch/out" 2>&1
same "--help: exit status" 0 $?
try "--help prints the examples" grep -q 'mam run --stats python3 train.py' "$scratch/out"

# The environment.
same "the object is first in LD_PRELOAD" "$preload" "$("$MAM" run sh -c 'echo $LD_PRELOAD')"
echo 'int mam_test_other;' > "$scratch/other.c"
$CC -shared -fPIC -o "$scratch/other.so" "$scratch/other.c"
same "the previous value of LD_PRELOAD stays" "$preload:$scratch/other.so" \
	"$(LD_PRELOAD=$scratch/other.so "$MAM" run sh -c 'echo $LD_PRELOAD')"
same "sizes reach the program" "1048576 none 2147483648 stream debug 1" \
	"$("$MAM" run --chunk 1M --growth none --limit 2GiB --free stream --log debug --disable sh -c \
		'echo $MAM_CHUNK $MAM_GROWTH $MAM_LIMIT $MAM_FREE $MAM_LOG $MAM_DISABLE')"
same "keywords reach the program" "allow dedicated:2097152 no no 4096 deferred" \
	"$("$MAM" run --capture allow --ipc dedicated:2M --children no --nvtx no --pass-above 4K --free deferred sh -c \
		'echo $MAM_CAPTURE $MAM_IPC $MAM_CHILDREN $MAM_NVTX $MAM_PASS_ABOVE $MAM_FREE')"
same "other options reach the program" "strict share yes auto strict" \
	"$("$MAM" run --capture=strict --ipc=share --children=yes --nvtx=auto --free=strict sh -c \
		'echo $MAM_CAPTURE $MAM_IPC $MAM_CHILDREN $MAM_NVTX $MAM_FREE')"
same "--ipc=dedicated needs no size" "dedicated" "$("$MAM" run --ipc=dedicated sh -c 'echo $MAM_IPC')"
same "--leaks takes an optional file" "1 , 1 $scratch/leaks" \
	"$("$MAM" run --leaks sh -c 'echo $MAM_LEAKS $MAM_LEAKS_FILE,') \
$("$MAM" run --leaks="$scratch/leaks" sh -c 'echo $MAM_LEAKS $MAM_LEAKS_FILE')"
same "child processes can read the program's process ID" "same" \
	"$("$MAM" run sh -c 'if [ $$ = $MAM_RUN_PID ]; then echo same; fi')"

# File names are made absolute. The patterns for the process and the host are left for each process
# to expand.
mkdir "$scratch/percent%p"
names() # FILE - the name that the program sees
{
	(cd "$scratch/percent%p" && "$MAM" run --trace="$1" sh -c 'echo "$MAM_TRACE"')
}
same "relative name" "$scratch/percent%%p/t" "$(names t)"
same "name with patterns" "$scratch/percent%%p/t.%p.%h" "$(names t.%p.%h)"
same "absolute name" "/tmp/t%p" "$(names /tmp/t%p)"
same "folder of another process" "$scratch/t" "$(names ../t)"
mkdir "$scratch/host-$(uname -n)"
same "folder with a pattern" "$scratch/host-%h/t" "$(names "$scratch/host-%h/t")"
same "relative folder with a pattern" "$scratch/percent%%p/../host-%h/t" "$(names "../host-%h/t")"
same "variables without an option are left alone" "5M" "$(MAM_CHUNK=5M "$MAM" run sh -c 'echo $MAM_CHUNK $MAM_LIMIT')"

# A copy of the two files, laid out like another folder or an installed tree.
copy() # FOLDER OBJECT-FOLDER
{
	mkdir -p "$1" "$2" && cp "$MAM" "$1/mam" && cp "$preload" "$2"
}
copy "$scratch/moved/bin" "$scratch/moved/lib/mam"
same "a moved tree works" "$scratch/moved/lib/mam/libmam-preload.so" \
	"$("$scratch/moved/bin/mam" run sh -c 'echo $LD_PRELOAD')"
copy "$scratch/with space" "$scratch/with space"
reports "install path with a space" 2 "space or a colon" "$scratch/with space/mam" run true
copy "$scratch/with:colon" "$scratch/with:colon"
reports "install path with a colon" 2 "space or a colon" "$scratch/with:colon/mam" run true
cp "$MAM_BUILDDIR/.libs/libmam-audit.so" "$scratch/with:colon"
reports "install path with a colon, audit" 2 "space or a colon" "$scratch/with:colon/mam" run --route=audit true
cp "$MAM" "$scratch/moved/lib/mam"
reports "missing libmam-audit.so" 2 "cannot find libmam-audit.so" \
	"$scratch/moved/bin/mam" run --route=audit true
mkdir "$scratch/alone"
cp "$MAM" "$scratch/alone"
reports "missing libmam-preload.so" 2 "cannot find libmam-preload.so" "$scratch/alone/mam" run true

# Statistics.
"$MAM" run --stats -- "$client" --rounds 1 > "$scratch/out" 2> "$scratch/err"
try "--stats: a table on stderr" grep -q 'cuGetProcAddress  *96  *96  *0  *0$' "$scratch/err"
"$client" --rounds 1 > "$scratch/plain" 2> /dev/null
try "--stats: stdout belongs to the program" cmp "$scratch/plain" "$scratch/out"
"$MAM" run -- "$client" --rounds 1 2>&1 > /dev/null | grep -v ms_per_round > "$scratch/err"
same "without --stats nothing is printed" "" "$(cat "$scratch/err")"
"$MAM" run --stats true 2> "$scratch/err"
try "--stats: no call intercepted, one line" grep -q '^mam: intercepted no CUDA memory calls of true .*never loaded CUDA' "$scratch/err"
same "--stats: nothing else is printed" 1 "$(wc -l < "$scratch/err")"
"$MAM" run --stats --disable -- "$client" --rounds 1 2>&1 > /dev/null | grep -v ms_per_round > "$scratch/err"
try "--stats: disabled, one line" grep -q ': mam is disabled by MAM_DISABLE' "$scratch/err"
(cd "$scratch" && "$MAM" run --stats=stats -- sh -c "cd / && exec '$client' --rounds 1" > /dev/null 2>&1)
same "--stats=FILE: every block of one round is counted" "96 48 48 0" \
	"$(stat_of calls_caught) $(stat_of allocs) $(stat_of frees) $(stat_of live_blocks)"
same "--stats=FILE: lines have a key and a value" "" "$(grep -v -E '^[a-zA-Z0-9_.]+	[0-9.]+$' "$scratch/stats")"
rm -f "$scratch"/stats*
"$MAM" run --stats="$scratch/stats" -- sh -c "'$client' --rounds 1; '$client' --rounds 1; :" > /dev/null 2>&1
same "--stats=FILE: child processes write their own files" 2 "$(ls "$scratch"/stats.* | wc -l)"
mkfifo "$scratch/pipe"
grep calls_caught "$scratch/pipe" > "$scratch/read" &
exec 3> "$scratch/pipe" # waits until grep has opened it
"$MAM" run --stats="$scratch/pipe" -- "$client" --rounds 1 > "$scratch/out" 2>&1
exec 3>&-
wait
same "--stats=PIPE can be read from the pipe" "calls_caught	96" "$(cat "$scratch/read")"
try "--stats=PIPE leaves the pipe a pipe" test -p "$scratch/pipe"
# A pipe that no process reads. The timeout only ends a test that hangs.
for option in stats leaks trace; do
	timeout 60 "$MAM" run --$option="$scratch/pipe" -- "$client" --rounds 1 > "$scratch/out" 2> "$scratch/err"
	same "--$option=PIPE without a reader: the program ends, one line" "0 1" \
		"$? $(grep -c "^mam: error: .*/pipe': no process reads this pipe" "$scratch/err")"
done
MAM_LOG_FILE=$scratch/pipe timeout 60 "$MAM" run --log info -- "$client" --rounds 1 > "$scratch/out" 2> "$scratch/err"
same "MAM_LOG_FILE=PIPE without a reader: the program ends" 0 $?

rm -f "$scratch"/stats*
"$MAM" run --stats="$scratch/stats.%h.%p" -- timeout 60 "$client" --rounds 1 > /dev/null 2>&1
same "--stats=FILE with %p and %h: one file without CUDA, one for the client" 2 \
	"$(ls "$scratch/stats.$(uname -n)".[0-9]* | wc -l)"

# Children.
rm -f "$scratch"/stats* "$scratch/log"
FAKE_CUDA_LOG=$scratch/log "$MAM" run --children=no --stats="$scratch/stats" -- timeout 60 "$client" --rounds 1 \
	> /dev/null 2>&1
same "--children=no: the driver serves a child's allocations" 48 "$(grep -c '^cuMemAlloc ' "$scratch/log")"
same "--children=no: only the started process writes" "$scratch/stats" "$(ls "$scratch"/stats*)"
rm -f "$scratch"/stats* "$scratch/log"
"$MAM" run --children=no --stats="$scratch/stats" -- sh -c "exec '$client' --rounds 1" > /dev/null 2>&1
same "--children=no: the started process is served" 48 "$(stat_of allocs)"
rm -f "$scratch"/stats*
"$MAM" run --children=yes --stats="$scratch/stats" -- timeout 60 "$client" --rounds 1 > /dev/null 2>&1
same "--children=yes: a child is served" "calls_caught	96" "$(cat "$scratch"/stats.* | grep calls_caught)"

# Programs that mam cannot be loaded into: one line, and they run. With an explicit route they do
# not run.
cat > "$scratch/three.c" << 'EOF'
int main(void)
{
	return 3;
}
EOF
bars() # NAME WORDS PROGRAM
{
	reports "$1: warning" 3 "$2" "$MAM" run "$3"
	reports "$1: refused with an explicit route" 2 "$2" "$MAM" run --route=preload "$3"
}
if $CC -static -o "$scratch/static" "$scratch/three.c" 2> /dev/null; then
	bars "static program" "without a shared C library" "$scratch/static"
	printf '#!%s\n' "$scratch/static" > "$scratch/static-script"
	chmod +x "$scratch/static-script"
	bars "script with a static interpreter" "without a shared C library" "$scratch/static-script"
else
	skip "static program" "no static C library is installed"
fi
$CC -o "$scratch/plain-three" "$scratch/three.c"
"$MAM" run --route=preload "$scratch/plain-three" > "$scratch/out" 2>&1
same "dynamic program: exit status" 3 $?
same "dynamic program: no message" "" "$(cat "$scratch/out")"
$CC -o "$scratch/set-user" "$scratch/three.c"
if [ "$(id -u)" -eq 0 ] && chmod 755 "$scratch" && chown 65534 "$scratch/set-user" && chmod u+s "$scratch/set-user" &&
	! findmnt -n -o OPTIONS -T "$scratch" 2> /dev/null | grep -q nosuid; then
	bars "set-user-id program" "is set-user-id or set-group-id" "$scratch/set-user"
else
	skip "set-user-id program" "only root can create a file of another user"
fi
cp "$scratch/plain-three" "$scratch/other"
printf '\003\000' | dd of="$scratch/other" bs=1 seek=18 conv=notrunc 2> /dev/null
reports "program of another architecture" 126 "another type of machine" sh -c "'$MAM' run '$scratch/other' 2>&1 |
	head -n 1 >&2; exit 126"
$CC -o "$scratch/other-c" "$scratch/three.c" -Wl,--dynamic-linker=/lib/ld-musl-test.so.1
reports "program with another C library" 127 "C library is not glibc" sh -c "'$MAM' run '$scratch/other-c' 2>&1 |
	head -n 1 >&2; exit 127"

# Processes that do not use CUDA.
for program in true "sh -c true" "${python3:-true} --version"; do
	LD_DEBUG=files LD_DEBUG_OUTPUT=$scratch/debug "$MAM" run $program > /dev/null 2>&1
done
same "a program without CUDA loads no CUDA library" "" "$(cat "$scratch"/debug.* | grep -E 'libcuda|libcudart' | head -n 1)"
MAM_CHUNK=nonsense LD_PRELOAD=$preload true 2> "$scratch/err"
same "it prints nothing about mam's options" "" "$(cat "$scratch/err")"
try "the object needs neither a CUDA library nor libmam" \
	sh -c "readelf -d '$preload' | grep NEEDED > '$scratch/needed' && ! grep -E 'cuda|libmam' '$scratch/needed'"
same "the object exports only functions that it replaces, and those for libmam" "" \
	"$(nm -D --defined-only "$preload" | awk '{ print $3 }' | grep -v -E '^(cu[A-Z]|cuda[A-Z]|dlsym|dlvsym|_exit|_Exit|__asan_default_options|mam_interpose_)')"
finish
