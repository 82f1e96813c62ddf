#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# symbols.sh - functions, files and lines of calls in programs that are compiled here: C and C++,
# without and with optimization, inlined and static functions; with all symbols, without some, and
# with a separate debug file in each place where one may be.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

sources=$MAM_SRCDIR/tests/tools/symbols
ask=$MAM_BUILDDIR/tests/tools/symbols/symbols_ask
with=${HAVE_LIBDW:-no}
: "${CXX:=c++}"
unset DEBUGINFOD_CACHE_PATH XDG_CACHE_HOME SYMBOLS_ROOT
HOME=$scratch/home
SYMBOLS_ROOT=$scratch/root
export HOME SYMBOLS_ROOT
mkdir "$HOME" "$SYMBOLS_ROOT"

[ -x "$ask" ] || skip_all "symbols" "tests/tools/symbols/symbols_ask was not built"
for tool in objcopy strip readelf; do
	command -v $tool > /dev/null || skip_all "symbols" "$tool is not installed (package binutils)"
done

# The programs stay where they are built: mam finds them by their path.
build() # PROGRAM COMPILER FLAG... - in the scratch folder
{
	build_program=$1
	build_compiler=$2
	shift 2
	# shellcheck disable=SC2086 # a compiler may be several words
	$build_compiler "$@" -o "$scratch/$build_program" > "$scratch/log" 2>&1 || {
		not_ok "$build_program builds" "$(lib_tail "$scratch/log")"
		finish
	}
}

marks() # PROGRAM - sets the file $scratch/marks
{
	"$scratch/$1" > "$scratch/marks" || not_ok "$1 runs" "status $?"
}

offset_of() # MARK
{
	awk -v mark="$1" '$1 == mark { print $3; exit }' "$scratch/marks"
}

id_of() # FILE
{
	readelf -n "$scratch/$1" 2> /dev/null | sed -n 's/.*Build ID: //p' | head -n 1
}

line_of() # SOURCE MARK
{
	grep -nE "(/\*|//) at $2( |\$)" "$sources/$1" | cut -d : -f 1
}

at() # FUNCTION SOURCE MARK - a frame as symbols_ask prints it
{
	echo "$1@$2:$(line_of "$2" "$3")"
}

found() # FILE BUILD-ID MARK - what is found at the offset of the mark
{
	"$ask" "$scratch/$1" "$2" "$(offset_of "$3")" 2> "$scratch/err"
}

# The frames with lines, or without DWARF only the function, for which there is a symbol.
wanted() # FUNCTION FRAMES
{
	if [ "$with" = yes ]; then
		echo "$2"
	else
		echo "$1@:0"
	fi
}

c=symbols_c.c
cxx=symbols_cxx.cpp
record=$scratch/record.o
build record.o "$CC" -O1 -fPIC -c "$sources/symbols_record.c"

right_c() # NAME FILE BUILD-ID
{
	same "$1: static function" "$(wanted hidden "$(at hidden $c static)")" "$(found "$2" "$3" static)"
	same "$1: inlined function" "$(wanted hidden "$(at inlined $c inlined) < $(at hidden $c call)")" \
		"$(found "$2" "$3" inlined)"
	same "$1: after it" "$(wanted hidden "$(at hidden $c after)")" "$(found "$2" "$3" after)"
	same "$1: main" "$(wanted main "$(at main $c main)")" "$(found "$2" "$3" main)"
}

for flags in "-O0 -g -fPIE -pie" "-O2 -g -fPIE -pie" "-O2 -g -fno-pie -no-pie" "-O2 -gdwarf-4" "-O2 -gdwarf-5 -gz" \
	"-O2 -g -Wl,--build-id=none" "-O2 -g -ffunction-sections -Wl,--gc-sections"; do
	# shellcheck disable=SC2086 # flags are words
	build program "$CC" $flags "$sources/$c" "$record"
	marks program
	id=$(id_of program)
	right_c "C $flags" program "${id:--}"
	same "C $flags: no message" "" "$(cat "$scratch/err")"
done
if clang -g -O2 "$sources/$c" "$record" -o "$scratch/program" 2> /dev/null; then
	marks program
	right_c "C by clang" program null
else
	skip "C by clang" "clang is not installed"
fi
if $CC -g -gsplit-dwarf -O2 -c "$sources/$c" -o "$scratch/split.o" 2> /dev/null; then
	build program "$CC" "$scratch/split.o" "$record"
	marks program
	right_c "C with split DWARF" program "$(id_of program)"
else
	skip "C with split DWARF" "the compiler has no -gsplit-dwarf"
fi

build libpart.so "$CC" -O2 -g -fPIC -shared -DLIBRARY "$sources/$c" -Wl,--unresolved-symbols=ignore-all
build program "$CC" -O2 -g -rdynamic -DWITH_LIBRARY "$sources/$c" "$record" "$scratch/libpart.so" -Wl,-rpath,"$scratch"
marks program
right_c "program of a library" program "$(id_of program)"
id=$(id_of libpart.so)
same "library: static function" "$(wanted in_library "$(at in_library $c library)")" "$(found libpart.so "$id" library)"
same "library: exported function" "$(wanted from_library "$(at from_library $c exported)")" \
	"$(found libpart.so "$id" exported)"
strip "$scratch/libpart.so"
same "stripped library: exported function" "from_library@:0" "$(found libpart.so "$id" exported)"
same "stripped library: static function" "unknown" "$(found libpart.so "$id" library)"
same "stripped library: no message" "" "$(cat "$scratch/err")"

right_cxx() # NAME
{
	id=$(id_of program)
	outer='(anonymous namespace)::hidden(long)'
	frames="$(at 'long deep::leaf<long>(long)' $cxx leaf) < $(at 'deep::box<long, 2>::twice(long)' $cxx twice)"
	same "$1: two levels of inlining" "$(wanted "$outer" "$frames < $(at "$outer" $cxx hidden)")" \
		"$(found program "$id" leaf)"
	same "$1: after them" "$(wanted "$outer" "$(at "$outer" $cxx back)")" "$(found program "$id" back)"
	same "$1: member" "$(wanted 'shape::area() const' "$(at 'shape::area() const' $cxx area)")" \
		"$(found program "$id" area)"
	lambda='main::{lambda(int)#1}::operator()(int) const'
	same "$1: lambda" "$(wanted "$lambda" "$(at "$lambda" $cxx lambda)")" "$(found program "$id" lambda)"
	same "$1: main" "$(wanted main "$(at main $cxx main)")" "$(found program "$id" main)"
}

if command -v "${CXX%% *}" > /dev/null; then
	for flags in "-O0" "-O2" "-O2 -gdwarf-4"; do
		# shellcheck disable=SC2086 # flags are words
		build program "$CXX" -g $flags "$sources/$cxx" "$record"
		marks program
		right_cxx "C++ $flags"
	done
else
	skip "C++" "there is no C++ compiler"
fi

# A program without debug information, and each place of its debug file.
build whole "$CC" -O2 -g "$sources/$c" "$record"
id=$(id_of whole)
rest=$(echo "$id" | cut -c 3-)
first=$(echo "$id" | cut -c 1-2)
cp "$scratch/whole" "$scratch/program"
marks program
objcopy --only-keep-debug "$scratch/whole" "$scratch/program.debug"

strip -g "$scratch/program"
same "without DWARF: static function" "hidden@:0" "$(found program "$id" static)"
strip "$scratch/program"
same "stripped: static function" "unknown" "$(found program "$id" static)"
same "stripped: no message" "" "$(cat "$scratch/err")"

put_debug() # PATH
{
	mkdir -p "$(dirname "$1")"
	cp "$scratch/program.debug" "$1"
}

in_place() # NAME PATH - the debug file is found there, and not after it was removed
{
	put_debug "$2"
	right_c "debug file $1" program "$id"
	rm "$2"
	same "debug file $1: removed" "unknown" "$(found program "$id" static)"
}

cp "$scratch/whole" "$scratch/plain"
strip -g "$scratch/plain"
mkdir -p "$SYMBOLS_ROOT/.build-id/$first"
objcopy --only-keep-debug "$scratch/plain" "$SYMBOLS_ROOT/.build-id/$first/$rest.debug"
same "debug file without DWARF: static function" "hidden@:0" "$(found program "$id" static)"
in_place "of the build ID" "$SYMBOLS_ROOT/.build-id/$first/$rest.debug"
in_place "in debuginfod's cache" "$HOME/.cache/debuginfod_client/$id/debuginfo"
in_place "in debuginfod's old cache" "$HOME/.debuginfod_client_cache/$id/debuginfo"
XDG_CACHE_HOME=$scratch/xdg
export XDG_CACHE_HOME
in_place "in XDG_CACHE_HOME" "$XDG_CACHE_HOME/debuginfod_client/$id/debuginfo"
DEBUGINFOD_CACHE_PATH=$scratch/cache
export DEBUGINFOD_CACHE_PATH
in_place "in DEBUGINFOD_CACHE_PATH" "$DEBUGINFOD_CACHE_PATH/$id/debuginfo"
unset XDG_CACHE_HOME DEBUGINFOD_CACHE_PATH

mv "$scratch/program.debug" "$scratch/kept"
cp "$scratch/kept" "$scratch/program.debug"
objcopy --add-gnu-debuglink="$scratch/program.debug" "$scratch/program"
cp "$scratch/program.debug" "$scratch/copy"
rm "$scratch/program.debug"
same "debug link: the file is missing" "unknown" "$(found program "$id" static)"
cp "$scratch/copy" "$scratch/program.debug"
right_c "debug link beside the program" program "$id"
printf 'x' >> "$scratch/program.debug"
same "debug link: the build ID decides, not the checksum" "$(wanted hidden "$(at hidden $c static)")" \
	"$(found program "$id" static)"
rm "$scratch/program.debug"
for place in "$scratch/.debug" "$SYMBOLS_ROOT$scratch"; do
	mkdir -p "$place"
	cp "$scratch/copy" "$place/program.debug"
	right_c "debug link in ${place#"$scratch"}" program "$id"
	rm "$place/program.debug"
done
build other "$CC" -O1 -g -DUNUSED "$sources/$c" "$record"
objcopy --only-keep-debug "$scratch/other" "$scratch/program.debug"
same "debug link to a file of another build ID" "unknown" "$(found program "$id" static)"
rm "$scratch/program.debug"

# Without a build ID, the checksum of the link decides.
build bare "$CC" -O2 -g -Wl,--build-id=none "$sources/$c" "$record"
marks bare
objcopy --only-keep-debug "$scratch/bare" "$scratch/bare.debug"
strip "$scratch/bare"
objcopy --add-gnu-debuglink="$scratch/bare.debug" "$scratch/bare"
right_c "debug link by checksum" bare -
printf 'x' >> "$scratch/bare.debug"
same "debug link: wrong checksum" "unknown" "$(found bare - static)"

# A file that was rebuilt since.
marks program
build changed "$CC" -O1 -g "$sources/$c" "$record"
cp "$scratch/changed" "$scratch/moved"
marks changed
"$ask" "$scratch/moved" "$id" "$(offset_of static)" "$scratch/moved" "$id" "$(offset_of main)" \
	> "$scratch/out" 2> "$scratch/err"
same "changed file: unknown" "unknown unknown" "$(paste -sd ' ' "$scratch/out")"
same "changed file: one warning" \
	"mam: warning: '$scratch/moved' changed after the recording; its functions are unknown" "$(cat "$scratch/err")"
same "file without the recorded build ID" "unknown" "$(found bare "$id" static)"
same "file with a build ID where none was recorded" "unknown" "$(found moved - static)"
marks whole
mkdir -p "$HOME/.cache/debuginfod_client/$id"
cp "$scratch/kept" "$HOME/.cache/debuginfod_client/$id/debuginfo"
right_c "changed file, debug file of the recorded one" moved "$id"
same "changed file, debug file of the recorded one: no message" "" "$(cat "$scratch/err")"
right_c "missing file, debug file of the recorded one" missing "$id"
rm -r "$HOME/.cache"
same "missing file" "unknown" "$(found missing "$id" static)"
same "missing file: no message" "" "$(cat "$scratch/err")"
same "no file outside of the folders of debug files" "unknown" "$(found missing ../../x static)"

# JIT code.
map=$scratch/perf-1.map
printf '1000 20 first\nnonsense\n1020 10 py::f:/a b.py\n1020 8 second\n2000 0 empty\n' > "$map"
same "perf map" "first@:0 first@:0 second@:0 unknown unknown unknown" \
	"$("$ask" "$map" null 1000 "$map" null 101f "$map" null 1027 "$map" null 1028 "$map" null fff "$map" null 2000 |
		paste -sd ' ')"
same "missing perf map" "unknown" "$("$ask" "$scratch/perf-2.map" null 1000 2> /dev/null)"

# Damaged files: whatever is found, the command ends well.
damaged=0
size=$(wc -c < "$scratch/whole")
marks whole
while [ "$damaged" -lt 12 ]; do
	head -c $((size * damaged / 12)) "$scratch/whole" > "$scratch/cut"
	found cut null static > "$scratch/out" || break
	damaged=$((damaged + 1))
done
same "truncated files end no command" 12 "$damaged"

if [ -x "$MAM" ]; then
	same "mam calls nothing that contacts a server" "" \
		"$(readelf --dyn-syms -W "$MAM" | grep -oE 'dwfl_[a-z_]*|debuginfod_[a-z_]*' | tr '\n' ' ')"
fi
finish
