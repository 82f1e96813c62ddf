#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# ranks.sh - %r in a file name is the rank of the process, whichever launcher sets it. Processes of
# one rank that made no CUDA memory calls replace no file.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

unset RANK OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID
probe=$probes/probe_watched

# Starts the command once per rank, as a launcher does.
launch() # RANKS COMMAND...
{
	launch_ranks=$1
	shift
	for launch_rank in $launch_ranks; do
		RANK=$launch_rank "$@" || return
	done
}

files() # - the names of all files, without the folder
{
	(cd "$scratch/files" && echo *)
}

value_of() # KEY FILE
{
	# shellcheck disable=SC2086 # a pattern
	sed -n "s/^$1	//p" "$scratch/files/"$2
}

fresh()
{
	rm -rf "$scratch/files"
	mkdir "$scratch/files"
}

for variable in RANK OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID; do
	fresh
	env "$variable=5" "$MAM" run --stats="$scratch/files/s.%r" -- "$probe" tidy > /dev/null 2>&1
	same "$variable: name and key are the rank" "s.5 5 100" "$(files) $(value_of rank s.5) $(value_of allocs s.5)"
done
fresh
"$MAM" run --stats="$scratch/files/s.%r" -- "$probe" tidy > /dev/null 2>&1
same "no rank: the name is that of the process" "s.pid$(value_of pid 's.pid*') " "$(files) $(value_of rank 's.pid*')"
fresh
RANK=../../x "$MAM" run --stats="$scratch/files/s.%r" -- "$probe" tidy > /dev/null 2>&1
same "a variable that is not a number is not in the name" 1 "$(files | grep -c '^s\.pid[0-9]*$')"
RANK=5 "$MAM" run --stats -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
try "table: the title has the rank" grep -q '^mam: CUDA memory calls of probe_watched (rank 5, process [0-9]*)$' "$scratch/err"

reports() # TEXT - the number of lines on stderr with it
{
	grep -c "$1" "$scratch/err"
}

# The launcher starts mam run.
fresh
launch '0 1 2' "$MAM" run --stats="$scratch/files/s.%r" --trace="$scratch/files/t.%r" --leaks="$scratch/files/l.%r" -- \
	"$probe" leak > "$scratch/out" 2> "$scratch/err"
same "mam run per rank: one file of each kind per rank" "l.0 l.1 l.2 s.0 s.1 s.2 t.0 t.1 t.2" "$(files)"
same "mam run per rank: each file is of its rank" "0 1 2" "$(cat "$scratch"/files/s.? | sed -n 's/^rank	//p' | paste -sd ' ')"
same "mam run per rank: each trace replays" "105 105 105" \
	"$(for rank in 0 1 2; do "$MAM" replay -p "$scratch/files/t.$rank"; done 2> /dev/null | sed -n 's/^allocs	//p' | paste -sd ' ')"
"$MAM" info --stats "$scratch"/files/s.* > "$scratch/out" 2> "$scratch/err"
same "mam info --stats: a row per rank, all equal" "0 0 1 2 5" "$? $(awk 'NF == 0 { exit } NR > 1 { print $1 }' "$scratch/out" |
	paste -sd ' ') $(grep -c ' 1\.00  all equal$' "$scratch/out")"

# One rank uses two devices.
RANK=3 FAKE_CUDA_DEVICES=2 "$MAM" run --stats="$scratch/files/s.%r" -- "$probes/probe_pass" limit-devices > /dev/null 2>&1
"$MAM" info --plain --stats "$scratch"/files/s.* > "$scratch/out" 2> "$scratch/err"
same "mam info --stats: a row per device" "0 5 3 0 3 1" "$? $(sed -n 's/^rows	//p; s/^row\.[34]\.rank	//p; s/^row\.[34]\.device	//p' \
	"$scratch/out" | paste -sd ' ')"
same "mam info --stats: the numbers are those of the files" "$(value_of device.1.peak_together_bytes s.3)" \
	"$(sed -n 's/^row\.4\.peak_together_bytes	//p' "$scratch/out")"
same "mam info --stats: the maximum is on a device of rank 3" $((3 + ${PROBE_DEVICE:-0})) "$(sed -n 's/^max_row\.peak_live_bytes	//p' "$scratch/out")"

# mam run starts the launcher, which has no rank. timeout(1) stands for it, as it ends by exit().
fresh
export probe
# shellcheck disable=SC2016 # the inner shell expands
"$MAM" run --stats="$scratch/files/s.%r" --leaks="$scratch/files/l.%r" -- timeout 60 sh -c '
	for RANK in 0 1; do
		export RANK
		"$probe" leak
	done' > "$scratch/out" 2> "$scratch/err"
same "mam run of a launcher: one file of each kind per rank" "l.0 l.1 s.0 s.1" "$(files)"
fresh
"$MAM" run --stats="$scratch/files/s.%r" -- true > "$scratch/out" 2> "$scratch/err"
same "a program without CUDA is reported on stderr" "* 1" "$(files) $(reports '^mam: intercepted no CUDA memory calls of true ')"

# A program between, which has the rank of the program that it starts, and ends after it.
fresh
launch '3' "$MAM" run --stats="$scratch/files/s.%r" --leaks="$scratch/files/l.%r" -- timeout 60 "$probe" leak \
	> "$scratch/out" 2> "$scratch/err"
same "a wrapper of the rank does not replace the program's files" "l.3 s.3 105" "$(files) $(value_of allocs s.3)"
try "a wrapper of the rank: the leak report is the program's" grep -q '5 blocks' "$scratch/files/l.3"
launch '3' "$MAM" run --stats="$scratch/files/s.%r" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
same "another run replaces the file of the rank" "100" "$(value_of allocs s.3)"

# docs/gpus.md: its commands with stand-ins for the launchers, which set the variables that the real ones
# set; its script; its table, whose process IDs differ; and its messages.
page=$MAM_SRCDIR/docs/gpus.md
mkdir "$scratch/bin"
cat > "$scratch/bin/mpirun" << 'END'
#!/bin/sh
# mpirun|srun|torchrun -n|--nproc-per-node RANKS [--no-python] COMMAND...
name=$(basename "$0")
case $name:$1 in
mpirun:-n | srun:-n | torchrun:--nproc-per-node) ;;
*) exit 64 ;;
esac
ranks=$2 rank=0
shift 2
case $name:$1 in
torchrun:--no-python) shift ;;
torchrun:*.py) set -- python3 "$@" ;;
esac
while [ "$rank" -lt "$ranks" ]; do
	case $name in
	mpirun) OMPI_COMM_WORLD_RANK=$rank "$@" & ;;
	srun) SLURM_PROCID=$rank "$@" & ;;
	torchrun) RANK=$rank "$@" & ;;
	esac
	rank=$((rank + 1))
done
wait
END
# shellcheck disable=SC2016 # the stand-in expands
printf '#!/bin/sh\n[ "$1" = train.py ] && exec ./app\n' > "$scratch/bin/python3"
chmod +x "$scratch"/bin/*
ln -s mpirun "$scratch/bin/srun"
ln -s mpirun "$scratch/bin/torchrun"
printf '#!/bin/sh\nexec "%s" --rounds 1\n' "$clients/client_driver" > "$scratch/bin/app"
chmod +x "$scratch/bin/app"
awk '/^## / { inside = $0 == "## Start the ranks under mam" } inside && sub(/^    /, "")' "$page" > "$scratch/commands"
same "docs/gpus.md: launchers" "mpirun srun torchrun mam" "$(awk '{ print $1 }' "$scratch/commands" | paste -sd ' ')"
while read -r command; do
	fresh
	ln -s "$scratch/bin/app" "$scratch/files/app"
	(cd "$scratch/files" && PATH=$scratch/bin:$(dirname "$MAM"):$PATH sh -c "$command") > "$scratch/out" 2> "$scratch/err"
	rm "$scratch/files/app"
	same "docs/gpus.md: $command" "stats.0 stats.1 stats.2 stats.3 0 1 2 3" \
		"$(files) $(cat "$scratch"/files/stats.? | sed -n 's/^rank	//p' | paste -sd ' ')"
done < "$scratch/commands"
# shellcheck disable=SC2016 # Markdown
sed -n 's/^| `mam: warning: \([^`]*\)`.*/\1/p' "$page" > "$scratch/messages"
try "docs/gpus.md: messages" test "$(wc -l < "$scratch/messages")" -ge 5
while read -r message; do
	for part in "${message%% ...*}" "${message##*... }"; do
		try "docs/gpus.md: $part" grep -qaF "$part" "$MAM_BUILDDIR/.libs/libmam-preload.so"
	done
done < "$scratch/messages"
awk '/^```/ { inside = $0 == "```sh"; next } inside' "$page" > "$scratch/each"
ln -s "$clients/client_driver" "$scratch/app"
(cd "$scratch" && PATH=$(dirname "$MAM"):$PATH sh each 4 ./app --rounds 1) > "$scratch/out" 2> "$scratch/err"
same "docs/gpus.md: the script starts the ranks and prints a table" "0 0 96 1 96 2 96 3 96" \
	"$? $(awk '/^$/ { exit } rows && NF > 4 { print $1, $3 } $1 == "rank" { rows = 1 }' "$scratch/out" | paste -sd ' ')"
fresh
for rank in 0 1 2 3; do
	bytes=4M
	[ $rank -ne 2 ] || bytes=16M
	launch $rank "$MAM" run --chunk 2M --growth 2M --stats="$scratch/files/stats.%r" -- "$clients/client_driver" \
		--rounds 3 --bytes $((${bytes%M} * 1048576)) > /dev/null 2>&1
done
unnumbered() # - the words of each line, the second one of a row replaced
{
	awk '{ $1 = $1 } NF > 5 && $1 + 0 == $1 { $2 = "-" } { print }'
}
same "docs/gpus.md: the table is that of a run" "$(awk '/^    [$] mam info --stats/ { inside = 1; next } inside && /^[^ ]/ { exit }
	inside' "$page" | unnumbered)" "$("$MAM" info --stats "$scratch"/files/stats.* | unnumbered)"

# Names that cannot be written are reported before the program starts.
launch '4' "$MAM" run --stats="$scratch/none/s.%r" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
same "a folder that does not exist: refused" "2 1" "$? $(reports '^mam run: error: --stats: cannot write to ')"
mkdir "$scratch/files/d.4"
launch '4' "$MAM" run --stats="$scratch/files/d.%r" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
same "the name of this rank is checked" "2 1" "$? $(reports 'it is a folder')"
finish
