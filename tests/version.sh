#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# version.sh - the version comes from the tag, the archive or the header, in this order, and the
# command, configure and an archive have the same one.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

unset MAKEFLAGS MFLAGS MAKELEVEL
header=$(sed -n 's/^#define MAM_VERSION "\(.*\)"$/\1/p' "$MAM_SRCDIR/include/mam/mam.h")
version=$(sed -n 's/^VERSION = //p' "$MAM_BUILDDIR/Makefile")

same "mam version" "mam $version" "$("$MAM" version)"
case $version in
*-*) skip "a release has the version of mam.h" "this is a commit after a release" ;;
*) same "a release has the version of mam.h" "$header" "$version" ;;
esac

# Prints FILE for each file whose line with a version, found by SED-SCRIPT, has another one than mam.h.
other_versions() # TREE
{
	while read -r file script; do
		[ "$(sed -n "$script" "$1/$file" | head -n 1)" = "$header" ] || echo "$file"
	done << 'END'
CITATION.cff s/^version: //p
ChangeLog s/^mam \([0-9].*\)/\1/p
packaging/debian/changelog s/^mam (\(.*\)) .*/\1/p
packaging/rpm/mam.spec s/^Version: *//p
packaging/conda/recipe.yaml s/^  version: "\(.*\)"$/\1/p
packaging/spack/package.py s/^    version("\(.*\)")$/\1/p
packaging/spack/package.py s/.*mam-\(.*\)\.tar\.gz.*/\1/p
END
}
same "other files have the version of mam.h" "" "$(other_versions "$MAM_SRCDIR" | tr '\n' ' ')"
for file in CITATION.cff ChangeLog packaging/debian/changelog packaging/rpm/mam.spec packaging/conda/recipe.yaml packaging/spack/package.py; do
	mkdir -p "$scratch/other/$(dirname "$file")"
	sed "s/$header/99.9.9/" "$MAM_SRCDIR/$file" > "$scratch/other/$file"
done
same "another version is found in each" 7 "$(other_versions "$scratch/other" | wc -l)"

# A separate tree, with only the files that the script reads.
tree=$scratch/tree
mkdir -p "$tree/build-aux" "$tree/include/mam"
cp "$MAM_SRCDIR/build-aux/mam-version" "$tree/build-aux"
cp "$MAM_SRCDIR/include/mam/mam.h" "$tree/include/mam"
printed() # - the output of the script, called from another folder
{
	(cd / && sh "$tree/build-aux/mam-version" 2>&1)
}

same "without tag and file, the version is that of mam.h" "$header" "$(printed)"
echo 3.2.1 > "$tree/.tarball-version"
same "an archive has the version of its file" 3.2.1 "$(printed)"

repository() # FOLDER ARGUMENT... - git, independent of the user's settings
{
	HOME=$scratch GIT_CONFIG_NOSYSTEM=1 git -C "$@" > "$scratch/git.out" 2>&1
}

commit() # FOLDER NAME
{
	repository "$1" -c user.name=mam -c user.email=mam@example.org commit -q --allow-empty -m "$2"
}

if command -v git > /dev/null; then
	repository "$scratch" init -q && commit "$scratch" one && repository "$scratch" tag v7.0.0
	same "tag of a repository around an archive is ignored" 3.2.1 "$(printed)"
	rm -rf "$scratch/.git"
	repository "$tree" init -q && commit "$tree" one
	rm "$tree/.tarball-version"
	same "checkout without a tag has the version of mam.h" "$header" "$(printed)"
	repository "$tree" tag v9.8.7
	same "checkout at a tag has the version of the tag" 9.8.7 "$(printed)"
	commit "$tree" two
	repository "$tree" tag other
	same "commit after a tag adds count and hash" "9.8.7-1-g$(git -C "$tree" rev-parse HEAD | cut -c 1-7)" \
		"$(printed | cut -c 1-16)"
	echo 3.2.1 > "$tree/.tarball-version"
	same "in a checkout, the tag takes precedence" 9.8.7 "$(printed | cut -c 1-5)"
else
	skip "versions of a checkout" "git is not installed"
fi

# `configure --version` prints the version without running the checks.
archive=$scratch/mam-archive
if "${MAKE:-make}" -C "$MAM_BUILDDIR" distdir distdir="$archive" > "$scratch/dist.out" 2>&1; then
	same ".tarball-version in the archive" "$version" "$(cat "$archive/.tarball-version")"
	same "build-aux/mam-version in the archive" "$version" \
		"$(sh "$archive/build-aux/mam-version")"
	same "configure in the archive" "mam configure $version" \
		"$("$archive/configure" --version | head -n 1)"
else
	not_ok "make distdir" "$(lib_tail "$scratch/dist.out")"
fi
finish
