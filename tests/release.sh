#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# release.sh - `make release-check` builds the commit, not the working tree, and reports what failed.
#
# A tree of a few lines stands in for mam, and each fault is planted in it. The tests that make release-check runs on mam
# itself are part of the suite.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

command -v git > /dev/null || skip_all "make release-check" "git is not installed"
unset MAKEFLAGS MFLAGS MAKELEVEL
script=$MAM_SRCDIR/packaging/release-check
tree=$scratch/tree

mkdir -p "$tree/tests" "$scratch/bin"
cat > "$tree/configure" << 'END'
#!/bin/sh
for argument; do
	case $argument in --prefix=*) prefix=${argument#*=} ;; esac
done
source=$(cd "$(dirname "$0")" && pwd)
cat > Makefile << EOF
dist:
	mkdir mam-1 && cp -R $source/configure $source/tests $source/content mam-1 && tar -czf mam-1.tar.gz mam-1
all:
	grep -q good $source/content
libmam.la:
install:
	mkdir -p $prefix/bin && printf '#!/bin/sh\necho mam 1\n' > $prefix/bin/mam && chmod +x $prefix/bin/mam
EOF
END
chmod +x "$tree/configure"
echo good > "$tree/content"
for test in version abi install cmake python recipes debian; do
	echo 'echo "ok - one"' > "$tree/tests/$test.sh"
done
echo 'soname libmam.so.0' > "$tree/tests/abi.dump"

commit() # FOLDER NAME
{
	git -C "$1" add . && git -C "$1" -c user.name=mam -c user.email=mam@example.org commit -q -m "$2"
}

check() # leaves the table in $scratch/table, and prints the status and the rows that are not ok
{
	MAM_SRCDIR=$tree MAKE=${MAKE:-make} sh "$script" "$scratch/release" > "$scratch/table" 2> "$scratch/err"
	check_status=$?
	sed -n 's/^  \([A-Za-z][^.]*[A-Za-z]\)  *\(FAILED\|skipped\) .*/\1 \2/p' "$scratch/table" | tr -s ' ' |
		{ echo "$check_status"; cat; } | paste -s -d ,
}

same "tree without git is refused" 1 "$(check)"
git -C "$tree" init -q && commit "$tree" one && git -C "$tree" tag v1.0.0
same "commit without faults passes" "0,abidiff skipped" "$(check)"
same "table has a row for each part" 12 "$(grep -c '^  [A-Za-z]' "$scratch/table")"

# From here on abidiff always finds a difference, if there is an earlier release.
printf '#!/bin/sh\nexit 4\n' > "$scratch/bin/abidiff"
chmod +x "$scratch/bin/abidiff"
PATH=$scratch/bin:$PATH
echo 'echo "skip - one: it is absent"; exit 77' > "$tree/tests/debian.sh"
same "file that is not committed is found, and is not built" "1,tree FAILED,abidiff skipped" "$(check)"
commit "$tree" two
same "difference from the last release is a failed row" "1,abidiff FAILED,Debian packages skipped" "$(check)"
try "row shows the reason of a skipped test" grep -qx '      skip: one: it is absent' "$scratch/table"
echo 'soname libmam.so.1' > "$tree/tests/abi.dump"
echo 'echo "not ok - one: it is wrong"; exit 1' > "$tree/tests/cmake.sh"
commit "$tree" three
same "test that fails is a failed row, a difference with another soname is not" "1,CMake FAILED,Debian packages skipped" \
	"$(check)"
try "row shows the reason of a failed test" grep -qx '      not ok: one: it is wrong' "$scratch/table"
echo bad > "$tree/content"
commit "$tree" four
same "build that fails is the last row" "1,build from archive FAILED" "$(check)"
same "no row follows it" 3 "$(grep -c '^  [A-Za-z]' "$scratch/table")"
finish
