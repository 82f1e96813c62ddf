#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check.sh - mam info --check: the interfaces to CUDA that it finds in programs of each kind; mam
# run must agree.
# shellcheck disable=SC2015,SC2086 # skip_all ends; options are words
. "${MAM_SRCDIR:-.}/tests/lib.sh"

fakes=$MAM_BUILDDIR/tests/fake/lib
clients=$MAM_BUILDDIR/tests/clients
[ -f "$fakes/libcudart.so.13" ] && [ -f "$clients/client_dlsym" ] || skip_all "check" "this build has no clients"
LD_LIBRARY_PATH=$fakes${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

check() # PROGRAM - its lines go to the file "lines", the exit status to $status
{
	"$MAM" info -p --check "$1" > "$scratch/lines" 2> "$scratch/err"
	status=$?
}

line() # KEY
{
	sed -n "s/^$1	//p" "$scratch/lines"
}

# reports NAME STATUS BAR ANSWER PROGRAM
reports()
{
	check "$5"
	same "$1" "$2 $3 $4" "$status $(line bar) $(line answer)"
}

printf 'int main(void) { return 0; }\n' > "$scratch/empty.c"
reports "program with a shared runtime" 0 none yes "$clients/client_shared"
same "shared runtime: route is the runtime's symbols" "client_shared" "$(line route.runtime)"
same "shared runtime: no other route" "" "$(line route.driver)$(line route.lookup)$(line route.plugins)"
reports "program with the driver" 0 none yes "$clients/client_driver"
same "driver: route is the driver's symbols" "client_driver" "$(line route.driver)"
reports "program that looks up the driver" 0 none yes "$clients/client_dlsym"
same "dlopen: routes are lookups and plugins" "client_dlsym client_dlsym" "$(line route.lookup) $(line route.plugins)"
reports "program without CUDA" 0 none unused "$(command -v true)"

# Through libraries: RUNPATH with $ORIGIN, RPATH, LD_LIBRARY_PATH, and a missing one.
mkdir "$scratch/beside" "$scratch/listed"
printf 'int cudaMalloc(void **, unsigned long);\nint inner(void) { return cudaMalloc(0, 0); }\n' > "$scratch/inner.c"
printf 'int inner(void);\nint outer(void) { return inner(); }\n' > "$scratch/outer.c"
printf 'int outer(void);\nint main(void) { return outer(); }\n' > "$scratch/user.c"
$CC -shared -fPIC -o "$scratch/listed/libinner.so" "$scratch/inner.c" "$fakes/libcudart.so.13"
$CC -shared -fPIC -o "$scratch/beside/libouter.so" "$scratch/outer.c" -L"$scratch/listed" -linner
# shellcheck disable=SC2016 # the linker expands it
for tags in enable disable; do
	$CC -o "$scratch/user-$tags" "$scratch/user.c" -L"$scratch/beside" -louter -L"$scratch/listed" \
		-Wl,-rpath-link,"$scratch/listed:$fakes" -Wl,--$tags-new-dtags,-rpath,'$ORIGIN/beside'
	LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$scratch/listed
	reports "--$tags-new-dtags: CUDA used through two libraries" 0 none yes "$scratch/user-$tags"
	same "--$tags-new-dtags: the library that uses CUDA is named" libinner.so "$(line route.runtime)"
	LD_LIBRARY_PATH=$fakes
	reports "--$tags-new-dtags: second library not found" 0 none unused "$scratch/user-$tags"
	same "--$tags-new-dtags: the missing library is named" "libinner.so	libouter.so" "$(line missing)"
done
"$MAM" info --check "$scratch/user-enable" > "$scratch/out" 2>&1
try "the printed form matches" grep -q '^not found  *libinner.so, needed by libouter.so$' "$scratch/out"

# The constants are found without section headers as well.
cp "$clients/client_dlsym" "$scratch/bare"
[ -f "$clients/.libs/client_dlsym" ] && cp "$clients/.libs/client_dlsym" "$scratch/bare"
strip "$scratch/bare"
dd if=/dev/zero of="$scratch/bare" bs=1 seek=40 count=8 conv=notrunc 2> /dev/null
dd if=/dev/zero of="$scratch/bare" bs=1 seek=58 count=6 conv=notrunc 2> /dev/null
reports "program without section headers" 0 none yes "$scratch/bare"
same "without section headers: route is lookups" bare "$(line route.lookup)"

# Scripts.
printf '#!%s --option\n' "$clients/client_shared" > "$scratch/script"
printf '#!/usr/bin/env -S -i A=b python3 -u\n' > "$scratch/python"
printf '#! %s\n' "$scratch/script" > "$scratch/nested"
printf '#!%s\n' "$scratch/endless" > "$scratch/endless"
printf '#!/no/interpreter\n' > "$scratch/orphan"
printf '#!\n' > "$scratch/nothing"
printf '#!/bin/sh\n' > "$scratch/shell"
chmod +x "$scratch/script" "$scratch/python" "$scratch/nested" "$scratch/endless" "$scratch/orphan" \
	"$scratch/nothing" "$scratch/shell"
reports "script" 0 none yes "$scratch/script"
same "the script's interpreter is inspected" "$clients/client_shared" "$(line interpreter)"
reports "script whose interpreter is a script" 0 none yes "$scratch/nested"
reports "shell script" 0 none depends "$scratch/shell"
if command -v python3 > /dev/null; then
	check "$scratch/python"
	same "script with env" "0 depends" "$status $(line answer)"
fi
for broken in endless orphan nothing; do
	check "$scratch/$broken"
	same "script with an invalid interpreter ($broken)" "2 " "$status $(cat "$scratch/lines")"
	same "one error line ($broken)" 1 "$(grep -c '^mam info: error: cannot inspect .*[^.]$' "$scratch/err")"
done

# Programs that mam cannot be loaded into.
if $CC -static -o "$scratch/static" "$scratch/empty.c" 2> /dev/null; then
	reports "static program" 1 static no "$scratch/static"
	"$MAM" info --check "$scratch/static" > "$scratch/out" 2>&1
	try "the printed form matches" grep -q '^answer  *mam run cannot intercept its calls: it is linked without' "$scratch/out"
	$CC -static-pie -fPIE -o "$scratch/static-pie" "$scratch/empty.c" 2> /dev/null &&
		reports "static PIE program" 1 static no "$scratch/static-pie"
else
	skip "static program" "no static C library is installed"
fi
$CC -o "$scratch/other-c" "$scratch/empty.c" -Wl,--dynamic-linker=/lib/ld-musl-test.so.1
reports "program with another C library" 1 other-c-library no "$scratch/other-c"
$CC -o "$scratch/other" "$scratch/empty.c"
printf '\003\000' | dd of="$scratch/other" bs=1 seek=18 conv=notrunc 2> /dev/null
reports "program of another architecture" 1 other-machine no "$scratch/other"
printf 'text\n' > "$scratch/text"
head -c 60 "$scratch/other-c" > "$scratch/short"
: > "$scratch/empty"
chmod +x "$scratch/text" "$scratch/short" "$scratch/empty"
reports "text file" 1 not-elf no "$scratch/text"
reports "empty file" 1 not-elf no "$scratch/empty"
reports "truncated program" 1 broken no "$scratch/short"
if [ "$(id -u)" -eq 0 ] && ! findmnt -n -o OPTIONS -T "$scratch" 2> /dev/null | grep -q nosuid; then
	cp "$scratch/bare" "$scratch/set-group"
	chgrp 65534 "$scratch/set-group" && chmod g+s "$scratch/set-group"
	reports "set-group-id program" 1 set-user-id no "$scratch/set-group"
else
	skip "set-group-id program" "only root can create a file of another group"
fi

# Programs as nvcc links them.
if [ "$HAVE_CUDA" = yes ] && [ -n "$NVCC" ]; then
	printf 'int main() { void *p; return cudaMalloc(&p, 1); }\n' > "$scratch/real.cu"
	try "nvcc, static runtime" "$NVCC" -arch=sm_90 -o "$scratch/real-static" "$scratch/real.cu"
	reports "nvcc, static runtime: seen" 0 none yes "$scratch/real-static"
	same "nvcc, static runtime: route is lookups" real-static "$(line route.lookup)"
	try "nvcc, shared runtime" "$NVCC" -arch=sm_90 -cudart shared -o "$scratch/real-shared" "$scratch/real.cu"
	reports "nvcc, shared runtime: seen" 0 none yes "$scratch/real-shared"
	same "nvcc, shared runtime: route is its symbols" real-shared "$(line route.runtime)"
else
	skip "programs as nvcc links them" "there is no nvcc"
fi
finish
