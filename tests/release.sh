#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# release.sh - `make release-check` builds the commit, not the working tree, and reports what failed.
#
# 1. A tree of a few lines stands in for mam; each fault is planted in it.
# 2. In the complete check, a real run: the release before this commit had a function more.

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

# The rest builds mam and its packages once more.
[ "${TEST_SHARE:-1}" -eq 1 ] || finish
[ -e "$MAM_SRCDIR/.git" ] || skip_all "release of mam" "this is not a git checkout"
tree=$scratch/mam
rm "$scratch/bin/abidiff"
try "clone" git clone -q "$MAM_SRCDIR" "$tree"
head=$(git -C "$tree" rev-parse HEAD)
echo 'function mam_planted' >> "$tree/tests/abi.dump"
commit "$tree" planted
git -C "$tree" tag -f "v$(sed -n 's/^#define MAM_VERSION "\(.*\)"$/\1/p' "$tree/include/mam/mam.h")" > /dev/null
git -C "$tree" checkout -q "$head" tests/abi.dump
commit "$tree" removed
MAKEFLAGS=-j$(nproc)
export MAKEFLAGS
same "missing function is the only failure" "1,ABI FAILED" "$(check | sed 's/,[A-Za-z ]* skipped//g')"
try "the function is named" grep -q 'function mam_planted is missing' "$scratch/table"
cat "$scratch/table"
finish
