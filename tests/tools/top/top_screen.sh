#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# top_screen.sh - the screen of mam top in tmux: two sizes and a change between them, keys, the mouse,
# 100 processes, and what it costs. The figures are those of stand_in_pages.c.
# shellcheck disable=SC2317 # called through wait_for and refused_by

. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/tools/top/top_lib.sh"

command -v tmux > /dev/null || skip_all "mam top" "tmux is not installed"
[ "${HAVE_NCURSES:-yes}" = yes ] || skip_all "mam top" "mam was built without ncurses"
try "stand-in pages are built" build_pages
LC_ALL=C.UTF-8
export LC_ALL
unset TMUX

mux_number=0
mux() # a server that ends takes its time: each start has its own
{
	tmux -f /dev/null -S "$scratch/tmux.$mux_number" "$@"
}
screen() # OPTION... - what is shown
{
	mux capture-pane -p "$@"
}
shows() # TEXT
{
	screen | grep -qF -e "$1"
}
awaits() # NAME TEXT - ok when the screen shows it
{
	wait_for "$1" shows "$2" && ok "$1"
}
lacks()
{
	! shows "$1"
}
keys()
{
	mux send-keys "$@"
}
start() # COLUMNS ROWS COMMAND...
{
	start_size="-x $1 -y $2"
	mux_number=$((mux_number + 1))
	shift 2
	# shellcheck disable=SC2086 # words
	mux new-session -d $start_size "$*; echo ended with \$?; sleep 1000"
}
stop()
{
	mux kill-server 2> /dev/null
}
trap 'ended=$?; stop; (exit "$ended"); lib_exit' EXIT
row_of() # TEXT - its row on the screen, from 1
{
	screen | grep -nF -e "$1" | sed 's/:.*//; q'
}

# ---- 80x24 ----
start_pages 9
# On a busy machine, the parts of a click may arrive one by one.
start 80 24 ESCDELAY=2000 "$MAM" top -d 0.2
wait_for "the first screen" shows "F10Quit"
same "80x24" 'mam top  9 processes, 4 GPUs, 12 pools  live 7.70G  reserved 15.4G
GPU 0  [|||||||||||||||||||:::::..-----------] 7.22G / 14.4G
GPU 1  [|:.-                                 ]   144M / 288M
GPU 2  [|:.-                                 ]   160M / 320M
GPU 3  [|:.-                                 ]   192M / 384M
 PROGRAM     GPU  LIVE CACHED RETIRED RESERVED  PEAK ALLOC/S  FAIL DRIVER
 train         0 7.00G  1.75G    896M    14.0G 7.88G       R     0  1.79s
 worker-8      0  144M  36.0M   18.0M     288M  162M       R     0 36.0ms
 worker-7      3  128M  32.0M   16.0M     256M  144M       R     0 32.0ms
 worker-6      2  112M  28.0M   14.0M     224M  126M       R     0 28.0ms
 worker-5      1 96.0M  24.0M   12.0M     192M  108M       R     0 24.0ms
 worker-4      0 80.0M  20.0M   10.0M     160M 90.0M       R     0 20.0ms
 worker-3      3 64.0M  16.0M   8.00M     128M 72.0M       R     0 16.0ms
 worker-2      2 48.0M  12.0M   6.00M    96.0M 54.0M       R     0 12.0ms
 worker-1      1 32.0M  8.00M   4.00M    64.0M 36.0M       R     0 8.00ms
 train         1 16.0M  4.00M   2.00M    32.0M 18.0M       R     0 4.00ms







F1Help F3Search F5Pools F6Sort IInvert SpacePause EnterProcess F10Quit' \
	"$(screen | sed 's/ *█*$//; s/ [0-]     0 \( *[0-9.]*m*s\)$/ R     0 \1/; 6,16s/^ *[0-9PID]* / /')"
echo "grow 1 1073741824" >&8
awaits "live bytes that grow are shown" "1.03G"
same "history has two heights" yes "$(screen | grep '^GPU 1' | grep -q '▁.*█\|▂.*█' && echo yes)"

# ---- keys ----
keys t
awaits "t: pools" "  optimizer   0 4.00G"
keys t
wait_for "t: no pools" lacks optimizer
keys Down
keys Enter
awaits "Enter: a process" "worker-1  process"
awaits "Enter: figures of its pool" "pool default, source cudamalloc, GPU 1"
keys Escape
awaits "Esc: the list" "F1Help"
keys /
keys worker-3
keys Enter
keys Enter
awaits "search: the process found" "worker-3  process"
keys q
awaits "q: back to the list" "F1Help"
keys F1
awaits "F1: help" "Keys and columns of mam top"
keys Escape
wait_for "the list" shows F1Help
keys N
is_sorted_by_pid()
{
	screen | sed -n '7,16s/^ *\([0-9]*\) .*/\1/p' > "$scratch/pids"
	sort -n "$scratch/pids" | cmp -s - "$scratch/pids" && [ -s "$scratch/pids" ]
}
wait_for "N: sorted by process" is_sorted_by_pid && ok "N: sorted by process"
keys M
keys I
smallest_first()
{
	[ "$(row_of 'train         1 16.0M')" = 7 ]
}
wait_for "I: inverted" smallest_first && ok "I: inverted"
keys I
keys ' '
awaits "space: paused" paused
keys ' '
wait_for "space: continues" lacks paused && ok "space: continues"

# ---- another size ----
mux resize-window -x 120 -y 40
awaits "120x40: curves" " HISTORY"
is_last()
{
	[ "$(screen | wc -l)" -eq 40 ] && screen | tail -n 1 | grep -q F10Quit
}
wait_for "120x40: the last row" is_last && ok "120x40: the last row"
mux resize-window -x 60 -y 10
small()
{
	[ "$(screen | wc -l)" -eq 10 ] && screen | tail -n 1 | grep -q F1Help && shows "more GPUs"
}
wait_for "60x10" small && ok "60x10"
mux resize-window -x 80 -y 24
whole()
{
	[ "$(screen | wc -l)" -eq 24 ] && screen | tail -n 1 | grep -q F10Quit
}
wait_for "80x24 again" whole && ok "80x24 again"

# ---- the mouse: a click, and a second one ----
click() # ROW COLUMN - both from 1
{
	click_place="\\$(printf %03o $((32 + $2)))\\$(printf %03o $((32 + $1)))"
	# shellcheck disable=SC2059 # the format consists of escapes
	keys -l "$(printf "\\033[M $click_place\\033[M#$click_place")"
}
click_row=$(row_of worker-6)
if mux display-message -p '#{mouse_any_flag}' | grep -q 1; then
	click "$click_row" 20
	sleep 0.5
	click "$click_row" 20
	awaits "mouse: the process" "worker-6  process"
	keys Escape
	wait_for "the list" shows F1Help
else
	skip "mouse" "this terminal type has no mouse"
fi
keys F10
awaits "F10 quits" "ended with 0"
stop

# ---- -n, Ctrl-C, colors ----
start 80 24 "$MAM" top -n 2 -d 0.1
awaits "-n 2 ends" "ended with 0"
stop
start 80 24 "$MAM" top -d 0.2
wait_for "the screen" shows F10Quit
same "colors" yes "$(screen -e | grep -q "$(printf '\033\\[[0-9;]*32')" && echo yes)"
same "no background color" no "$(screen -e | grep -q "$(printf '\033\\[[0-9;]*4[0-7]')" && echo yes || echo no)"
keys C-c
awaits "Ctrl-C ends it" "ended with 0"
stop
start 80 24 NO_COLOR=1 "$MAM" top -d 0.2
wait_for "the screen" shows F10Quit
same "NO_COLOR" no "$(screen -e | grep -q "$(printf '\033\\[[0-9;]*3[0-7]')" && echo yes || echo no)"
stop
start 80 24 LC_ALL=C "$MAM" top -d 0.2
wait_for "the screen" shows F10Quit
same "ASCII in the C locale" 0 "$(screen | LC_ALL=C grep -c '[^ -~]')"
stop
start 120 24 TERM=unknown-type "$MAM" top
awaits "unknown terminal: one sentence" "cannot use a terminal of type 'unknown-type'; see 'mam top --plain'"
stop
stop_pages

# ---- the heap of a program that runs under mam run ----
fakes=$MAM_BUILDDIR/tests/fake/lib
probe=$MAM_BUILDDIR/tests/interpose/programs/probe_control
case ${CFLAGS:-} in
*-fsanitize*) skip "the heap" "a sanitizer in the preload object needs one in the program" ;;
*)
	if [ -x "$probe" ] && [ -f "$MAM_BUILDDIR/.libs/libmam-preload.so" ]; then
		: > "$scratch/probe.out"
		mkfifo "$scratch/probe.in"
		LD_LIBRARY_PATH=$fakes FAKE_CUDA_MEMORY=1G "$MAM" run --leaks="$scratch/leaks" --chunk 64M -- "$probe" < "$scratch/probe.in" \
			> "$scratch/probe.out" &
		probe_pid=$!
		exec 7> "$scratch/probe.in"
		echo "alloc 32 1048576" >&7
		allocated() { [ "$(wc -l < "$scratch/probe.out")" -ge 2 ]; }
		wait_for "the program allocates" allocated
		start 73 24 "$MAM" top -d 0.2
		wait_for "the program is listed" shows "1 process"
		keys Enter
		awaits "the heap: its scale" "by address, 341K per character; 1 chunk; largest free 32.0M"
		same "the heap: half of it is used" "96 0" \
			"$(screen | sed -n '/^heap/,/by address/p' | grep -o '█' | wc -l) $(screen | grep -c '^heap *$')"
		awaits "the heap: its call sites" "held by  32.0M  in 32 blocks, probe_control"
		echo free >&7
		awaits "the heap follows the program" "1 chunk; largest free 64.0M"
		same "without blocks there are no call sites" 0 "$(screen | grep -c '^held by')"
		kill -STOP "$probe_pid"
		keys Escape
		awaits "a stopped program does not stop the screen" "F1Help"
		keys q
		awaits "mam top ends" "ended with 0"
		stop
		kill -CONT "$probe_pid"
		exec 7>&-
		wait "$probe_pid"
		# ---- its call sites, which it samples while it is shown ----
		: > "$scratch/probe.out"
		LD_LIBRARY_PATH=$fakes FAKE_CUDA_MEMORY=1G "$MAM" run --chunk 64M -- "$probe" < "$scratch/probe.in" > "$scratch/probe.out" &
		probe_pid=$!
		exec 7> "$scratch/probe.in"
		echo "alloc 20 1048576" >&7
		wait_for "the program allocates" allocated
		start 80 24 "$MAM" top -d 0.2
		wait_for "the program is listed" shows "1 process"
		keys Enter
		awaits "sites: blocks from before" "sites    20.0M  allocated before sampling began at "
		echo "alloc 3 67108864" >&7
		awaits "sites: a sampled one" "sites    192M   ±0     in 3 blocks, probe_control+0x"
		mux resize-window -x 60 -y 24
		awaits "60 columns: the name is cut" "sites    192M   ±0     in 3 blocks, probe_control+0x"
		mux resize-window -x 200 -y 60
		shows_sites() { "$MAM" top -n 1 --plain | grep -q '^ *192M  *0  *3  probe_control+0x'; }
		wait_for "--plain has them" shows_sites && ok "--plain has them"
		echo free >&7
		wait_for "sites: no live block" lacks "sites   " && ok "sites: no live block"
		stop
		exec 7>&-
		wait "$probe_pid"
	else
		skip "the heap" "this build has no libmam-preload.so"
	fi
	;;
esac

# ---- 100 processes, at the default interval: at most 2% of a core and 20 MB ----
start_pages 100
start 120 40 "$MAM" top
awaits "100 processes" "100 processes, 4 GPUs, 103 pools"
keys End
awaits "End: the last row" "train                       1 16.0M"
top_pid=$(mux display-message -p '#{pane_pid}')
top_pid=$(ps -o pid= --ppid "$top_pid" | head -n 1 | tr -d ' ')
ticks() # user and system time in ticks
{
	sed 's/^.*) //' "/proc/$top_pid/stat" | awk '{ print $12 + $13 }'
}
first=$(ticks)
sleep 5
used=$(($(ticks) - first))
if [ "$used" -le $((5 * $(getconf CLK_TCK) * 2 / 100)) ]; then
	ok "100 processes: at most 2% of a core ($used ticks in 5 s)"
else
	not_ok "100 processes: at most 2% of a core" "$used ticks in 5 s"
fi
kib=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$top_pid/status")
case ${CFLAGS:-} in
*-fsanitize*) skip "100 processes: at most 20 MB" "a sanitizer needs memory of its own" ;;
*)
	if [ "${kib:-0}" -gt 0 ] && [ "$kib" -le 20000 ]; then
		ok "100 processes: at most 20 MB ($kib KiB)"
	else
		not_ok "100 processes: at most 20 MB" "$kib KiB"
	fi
	;;
esac
stop
stop_pages
finish
