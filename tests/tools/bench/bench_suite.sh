# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_suite.sh - functions for the tests of `mam bench $suite`, a suite of kernels; sourced after
# lib.sh, with $suite set. The output of the last run is in $scratch/out and $scratch/err.
# shellcheck disable=SC2034,SC2154 # shared with those

suite() # ARGUMENT...
{
	"$MAM" bench "$suite" "$@" >"$scratch/out" 2>"$scratch/err"
}

refused() # NAME STATUS TEXT ARGUMENT...
{
	refused_by suite "$@"
}

# Without a driver, or with a mam without kernels. With a driver it would measure.
refused_without_driver()
{
	if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
		skip "no driver" "there is one here"
	elif [ "$HAVE_BENCH_KERNELS" != yes ]; then
		refused "no kernels" 77 "was built without kernels"
	else
		refused "no driver" 77 "cannot measure on this machine"
	fi
}

help_has() # TEXT... - also, the manual explains each option
{
	manual=$MAM_SRCDIR/tools/mam-bench-$suite.1
	suite --help
	same "--help: exit status" 0 $?
	for text in "$@"; do
		try "--help prints: $text" grep -qF -e "$text" "$scratch/out"
	done
	explained_in "$manual"
}

listed() # KIND - the names of that kind that --list prints, on one line
{
	awk -F '\t' -v kind="$1" '$1 == kind { print $2 }' "$scratch/out" | tr '\n' ' ' | sed 's/ $//'
}

# The manual names each workload and each allocator that --list prints.
named_in_manual()
{
	for name in $(listed workload) $(listed allocator); do
		try "the manual names $name" \
			grep -qE "^\.(B|BR|RB) (\( )?$(echo "$name" | sed 's/-/\\\\-/g')( [,.)].*)?\$" "$manual"
	done
}

line() # TITLE CELL - of the table whose header starts with TITLE: its columns, with single blanks between them
{
	awk -v title="$1" -v cell="$2" 'index($0, title) == 1 { on = 1 } /^$/ { on = 0 }
	on && index($0, cell " ") == 1 { $0 = substr($0, length(cell) + 1); $1 = $1; print }' "$scratch/out"
}

key() # KEY - its value in the output of -p
{
	awk -F '\t' -v key="$1" '$1 == key { print $2 }' "$scratch/out"
}

# The manual explains each key that -p prints.
keys_in_manual()
{
	sed -n '/^\.SH PLAIN OUTPUT/,/^\.SH EXIT/p' "$manual" >"$scratch/keys"
	for name in $(cut -f 1 "$scratch/out" | sed 's/\.[a-z]*$//' | sort -u); do
		try "the manual explains $name" grep -q "^$name\( \|\$\)" "$scratch/keys"
	done
}

pictures_are() # FILE NAMES - the plots of a CSV file; has() searches them
{
	can_plot || { no_matplotlib; return; }
	mkdir "$scratch/pictures"
	"$MAM" bench plot -o "$scratch/pictures" "$1" >"$scratch/out" 2>"$scratch/err"
	same "plots: exit status" 0 $?
	same "plots: their names" "$2" "$(sed 's|.*/||' "$scratch/out" | tr '\n' ' ' | sed 's/ $//')"
}

has() # PLOT TEXT
{
	[ ! -d "$scratch/pictures" ] || try "$1 has $2" grep -qF -- "$2" "$scratch/pictures/$1.svg"
}

# A driver with an idle device. Returns false if it cannot be used here, which is reported.
idle_driver()
{
	if [ "$HAVE_BENCH_KERNELS" != yes ]; then
		skip "an idle device" "this mam has no kernels"
	elif ! ${CC:-cc} -shared -fPIC -I"$MAM_SRCDIR/src" -I"$MAM_SRCDIR/tools" -I"$MAM_SRCDIR/tests" \
		-o "$scratch/libcuda.so.1" "$MAM_SRCDIR/tests/tools/bench/device_driver.c" >"$scratch/cc" 2>&1; then
		not_ok "an idle device" "$(lib_tail "$scratch/cc")"
	else
		return 0
	fi
	return 1
}

idle() # ARGUMENT... - the whole command on it: results in $scratch/idle.csv, its kernels in $scratch/launched
{
	rm -f "$scratch/launched"
	LD_LIBRARY_PATH=$scratch BENCH_GRACE=1 LAUNCHED=$scratch/launched timeout 100 "$MAM" bench "$suite" \
		--csv "$scratch/idle.csv" "$@" >"$scratch/out" 2>"$scratch/err"
}

rows() # PATTERN - number of matching rows in its CSV file
{
	grep -c "$1" "$scratch/idle.csv"
}
