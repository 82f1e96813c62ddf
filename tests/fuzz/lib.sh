# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# lib.sh - the fuzz targets and how they are built; shared by fuzz.sh and hour.sh.
#
# A target is a row here and a file fuzz_NAME.c; corpus/NAME.tar.gz has its inputs, dict/NAME.dict its
# dictionary, if any. All code under test is compiled once into an archive, from which each target
# links what it calls, so no row lists files.
#
# Set before: MAM_SRCDIR, MAM_BUILDDIR, CC.

fuzz_here=$MAM_SRCDIR/tests/fuzz

# name, maximum length of an input in bytes, minimum number of inputs in the archive
fuzz_table()
{
	cat << 'EOF'
args 400 60
builds 3000 65
control 3000 24
elf 20000 7
http 9000 57
input 6000 66
ipc 600 60
option 1500 60
page 3000 49
pickle 3000 62
pool 600 39
pools 400 60
profile 3000 66
read 3000 61
replay 400 50
rows 3000 64
size 40 38
stats 4000 87
symbols 9000 58
table 4000 60
trace 20000 10
EOF
}

fuzz_names()
{
	fuzz_table | cut -d ' ' -f 1
}

fuzz_longest() # NAME
{
	fuzz_table | awk -v name="$1" '$1 == name { print $2 }'
}

fuzz_min_inputs() # NAME
{
	fuzz_table | awk -v name="$1" '$1 == name { print $3 }'
}

fuzz_archive() # NAME
{
	echo "$fuzz_here/corpus/$1.tar.gz"
}

# The names of the inputs in an archive, one per line.
fuzz_list() # NAME
{
	gzip -dc "$(fuzz_archive "$1")" | tar -tf -
}

# Unpacks an archive: each input becomes a file in FOLDER.
fuzz_unpack() # NAME FOLDER
{
	mkdir -p "$2" && gzip -dc "$(fuzz_archive "$1")" | tar -xof - -C "$2"
}

# The arguments of a fuzzer besides its folders, one word per line.
fuzz_words() # NAME
{
	echo "-max_len=$(fuzz_longest "$1")"
	echo -timeout=20
	echo -rss_limit_mb=2048
	echo -malloc_limit_mb=64
	echo -print_final_stats=1
	[ ! -f "$fuzz_here/dict/$1.dict" ] || echo "-dict=$fuzz_here/dict/$1.dict"
}

# The code under test. Of the interposer only the part that needs no driver; no target is about OpenCL,
# whose headers may be missing.
fuzz_sources()
{
	for layer in $(sed -n 's,^include src/\([a-z]*\)/Makefile.inc,\1,p' "$MAM_SRCDIR/Makefile.am"); do
		[ "$layer" = interpose ] || [ "$layer" = opencl ] || find "$MAM_SRCDIR/src/$layer" -name "*.c"
	done
	ls "$MAM_SRCDIR"/src/interpose/share/*.c "$MAM_SRCDIR"/src/interpose/control/request.c "$MAM_SRCDIR"/tools/*.c "$MAM_SRCDIR"/tools/[!bc]*/*.c "$MAM_SRCDIR"/tools/compare/*.c "$MAM_SRCDIR"/tools/coalesce/builds.c "$MAM_SRCDIR"/tools/ctl/*.c "$MAM_SRCDIR"/tools/bench/harness/results*.c |
		grep -v -e '/mam\.c' -e '/bench\.c'
	ls "$MAM_BUILDDIR"/tools/*/*_text.c
}

# Selects the compiler: clang with libFuzzer; without it, a main() that plays inputs (without.h),
# with sanitizers where they work.
fuzz_choose() # FOLDER - sets fuzz_kind, fuzz_compiler, fuzz_flags
{
	echo 'int LLVMFuzzerTestOneInput(const char *a, unsigned long b) { return !(a || b); }' > "$1/probe.c"
	echo 'int main(void) { return 0; }' > "$1/plain.c"
	fuzz_checks="-fsanitize=address,undefined -fno-sanitize-recover=all"
	# shellcheck disable=SC2086 # flags are words
	if clang -fsanitize=fuzzer $fuzz_checks "$1/probe.c" -o "$1/probe" 2> /dev/null; then
		fuzz_kind=fuzzer
		fuzz_compiler=clang
		fuzz_flags="-fsanitize=fuzzer-no-link $fuzz_checks"
		fuzz_link=-fsanitize=fuzzer
	elif $CC $fuzz_checks "$1/plain.c" -o "$1/probe" 2> /dev/null && "$1/probe"; then
		fuzz_kind=replay
		fuzz_compiler=$CC
		fuzz_flags="-DFUZZ_REPLAY $fuzz_checks"
		fuzz_link=
	else
		fuzz_kind=replay
		fuzz_compiler=$CC
		fuzz_flags=-DFUZZ_REPLAY
		fuzz_link=
	fi
}

# A makefile for everything: FOLDER/NAME is the program of a target.
fuzz_rules() # FOLDER
{
	echo "flags = -std=gnu11 -g1 -O1 -MMD -MP $fuzz_flags -D_GNU_SOURCE= -DMAM_DEBUG=1 \\"
	echo "  -DMAM_BINDIR='\"/usr/bin\"' -DMAM_PRELOADDIR='\"/usr/lib/mam\"' \\"
	echo "  -I$MAM_SRCDIR/include -I$MAM_SRCDIR/src -I$MAM_SRCDIR/tools -I$MAM_SRCDIR"
	echo "link = $fuzz_flags $fuzz_link"
	printf 'all:'
	fuzz_names | sed "s,^, $1/," | tr '\n' ' '
	fuzz_sources | while read -r source; do
		object=$1/$(echo "${source#"$MAM_SRCDIR"/}" | tr '/' '_').o
		printf '\n%s: %s\n\t%s $(flags) -c %s -o $@\n' "$object" "$source" "$fuzz_compiler" "$source"
		printf '%s/code.a: %s\n' "$1" "$object"
	done
	printf '%s/code.a:\n\trm -f $@ && ar rcs $@ $^\n' "$1"
	fuzz_names | while read -r name; do
		printf '%s/%s: %s/fuzz_%s.c %s/fuzz.h %s/without.h %s/code.a\n' \
			"$1" "$name" "$fuzz_here" "$name" "$fuzz_here" "$fuzz_here" "$1"
		printf '\t%s $(flags) -Wall -Wextra -Werror $(link) $< %s/code.a -o $@ -lz -lm -lpthread -ldl\n' "$fuzz_compiler" "$1"
	done
	echo "-include $1/*.d"
}

# Builds all targets as programs FOLDER/NAME. The compiler's output goes to FOLDER/log; a target
# that cannot be built has no program.
fuzz_build() # FOLDER
{
	fuzz_choose "$1"
	fuzz_rules "$1" > "$1/Makefile"
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -k -j2 -f "$1/Makefile" > "$1/log" 2>&1 < /dev/null
}
