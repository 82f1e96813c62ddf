#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh - MAM_DEBUG=redzone under mam run: programs that do not know mam.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

program=$MAM_BUILDDIR/tests/redzone/program
MAM_DEBUG=redzone
export MAM_DEBUG

run() # ACTION...
{
	"$MAM" run -- "$program" "$@" > "$scratch/out" 2> "$scratch/errors"
	echo $?
}

found() # TEXT
{
	grep -c -F "$1" "$scratch/errors"
}

same "a correct program ends as usual" 7 "$(run many alloc write 999 sync free alloc exit 7)"
same "and prints nothing" "" "$(cat "$scratch/errors")"

same "a write past the end aborts" 134 "$(run alloc sync write 1000 free)"
same "and is reported" 1 "$(found 'out-of-bounds write to byte 1000 of a 1000-byte block')"
same "so is a write before the start" 134 "$(run alloc sync write -1 free)"
same "and its place" 1 "$(found 'out-of-bounds write to byte -1 of a 1000-byte block')"
same "a write after the free aborts" 134 "$(run alloc free write 20)"
same "and is reported as one" 1 "$(found 'use after free: write to byte 20 of a 1000-byte block')"
same "a write past the end of a block that is never freed aborts" 134 "$(run alloc sync write 1003)"
same "and is reported as one of a live block" 1 "$(found 'detected while it was live')"
same "many frees report before the end" 134 "$(run alloc sync write 1000 free many many exit 0)"

# Here the work of filling red zones takes a minute, as if a kernel did not end.
same "a program with work that does not end exits" 7 \
	"$(export FAKE_CUDA_LAG_US=60000000 && timeout 50 "$MAM" run -- "$program" alloc exit 7 2> "$scratch/errors"; echo $?)"
same "and the unchecked pool is reported" 1 "$(found 'the red zones are not checked at exit: work still runs')"

MAM_FREE=deferred
export MAM_FREE
same "frees are strict whatever MAM_FREE is" 134 "$(run alloc free write 20)"
unset MAM_FREE

same "the program sees its own size" 0 "$(run alloc range)"
same "and the start of its block" "base 0 bytes 1000 aligned 1" "$(cat "$scratch/out")"

MAM_DEBUG=redzones
same "a wrong value is an error" 2 "$(run many)"
same "in one sentence" "1 1" "$(found "MAM_DEBUG is 'redzones', but must be one of off|redzone") $(wc -l < "$scratch/errors")"

MAM_DEBUG=off
same "off: nothing is checked" 0 "$(run alloc write 1000 free)"
finish
