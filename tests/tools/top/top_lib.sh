# shellcheck shell=sh disable=SC2154 # scratch is that of lib.sh
# SPDX-License-Identifier: Apache-2.0
#
# top_lib.sh - processes with stand-in statistics pages, for the tests of mam top. No other process
# has pages in the folder.

XDG_RUNTIME_DIR=$scratch/run
export XDG_RUNTIME_DIR
mkdir -p "$XDG_RUNTIME_DIR/mam"
chmod 700 "$XDG_RUNTIME_DIR/mam"
pages_pid=

build_pages()
{
	# shellcheck disable=SC2086 # flags are words
	$CC ${CFLAGS:-} -D_GNU_SOURCE -I"$MAM_SRCDIR/include" -I"$MAM_SRCDIR/tests" \
		"$MAM_SRCDIR/tests/tools/top/stand_in_pages.c" "$MAM_SRCDIR/tests/tools/page/stand_in.c" \
		"$MAM_SRCDIR/src/base/statpage.c" "$MAM_SRCDIR/src/base/statpage_read.c" "$MAM_SRCDIR/src/base/statpage_sites.c" \
		"$MAM_SRCDIR/src/base/filename.c" -pthread -o "$scratch/stand_in_pages"
}

# COUNT - commands for the pages are written to descriptor 8
start_pages()
{
	rm -f "$scratch/commands" "$XDG_RUNTIME_DIR"/mam/*
	mkfifo "$scratch/commands"
	"$scratch/stand_in_pages" "$1" < "$scratch/commands" > "$scratch/pages.out" &
	pages_pid=$!
	exec 8> "$scratch/commands"
	wait_for "stand-in pages" grep -q ready "$scratch/pages.out"
}

stop_pages()
{
	exec 8>&-
	wait "$pages_pid"
}

# WHAT COMMAND... - up to 20 seconds; a timeout is a failed test
wait_for()
{
	wait_what=$1
	shift
	wait_tries=0
	until "$@"; do
		wait_tries=$((wait_tries + 1))
		if [ $wait_tries -gt 200 ]; then
			not_ok "$wait_what" "it did not happen within 20 seconds"
			return 1
		fi
		sleep 0.1
	done
}
