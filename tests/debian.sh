#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# debian.sh - the Debian packages contain all of mam, work where they are installed, and can be purged.
#
# 1. The lists in packaging/debian name every file that `make install` installs.
# 2. In the complete check, `make deb` builds the packages, and lintian examines them.
# 3. They are installed, used and purged in a copy of this system: an overlay, which takes root to mount.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS NVCC
make=${MAKE:-make}
lists=$MAM_SRCDIR/packaging/debian
version=$("$MAM" version)

grep -h '^usr/' "$lists"/*.install "$lists/not-installed" > "$scratch/patterns"
unnamed() # < PATHS - those that no list names
{
	while read -r path; do
		while read -r pattern; do
			# shellcheck disable=SC2254 # a pattern on purpose
			case $path in
			$pattern | $pattern/*) continue 2 ;;
			esac
		done < "$scratch/patterns"
		echo "$path"
	done
}

prefix=$(sed -n 's/^prefix = //p' "$MAM_BUILDDIR/Makefile")
try "make install" "$make" -C "$MAM_BUILDDIR" install DESTDIR="$scratch/stage"
(cd "$scratch/stage$prefix" && find . -type f -o -type l) | sed 's|^\./lib[^/]*/|usr/lib/any/|; s|^\./|usr/|' > "$scratch/installed"
same "lists name $(wc -l < "$scratch/installed") installed files" "" "$(unnamed < "$scratch/installed" | tr '\n' ' ')"
same "a file that no list names is found" usr/bin/planted "$(echo usr/bin/planted | unnamed)"

# The rest builds mam once more.
[ "${TEST_SHARE:-1}" -eq 1 ] || finish

unmet() # - the packages that are missing for a build
{
	dpkg-checkbuilddeps "$lists/control" 2>&1 | sed 's/^dpkg-checkbuilddeps: error: //'
}

command -v dpkg-checkbuilddeps > /dev/null || skip_all "Debian packages" "dpkg-dev is not installed"
packages='libmam-dev libmam0 mam mam-doc python3-mam'
if [ -n "$(unmet)" ]; then
	skip "package mam-doc" "$(unmet)"
	packages='libmam-dev libmam0 mam python3-mam'
	DEB_BUILD_PROFILES=nodoc
	export DEB_BUILD_PROFILES
	[ -z "$(unmet)" ] || skip_all "Debian packages" "$(unmet)"
fi
if ! "$make" -C "$MAM_BUILDDIR" deb debdir="$scratch/deb" > "$scratch/out" 2>&1; then
	not_ok "make deb" "$(lib_tail "$scratch/out")"
	finish
fi
rm -f "$scratch"/deb/*-dbgsym_*.deb
same "make deb builds the packages" "$packages" \
	"$(for file in "$scratch"/deb/*.deb; do dpkg-deb -f "$file" Package; done | LC_ALL=C sort | paste -s -d ' ')"
if command -v lintian > /dev/null; then
	try "lintian finds no errors" env TMPDIR="$scratch" lintian --allow-root --fail-on error --display-level '>=error' "$scratch"/deb/*.deb
else
	skip "lintian finds no errors" "lintian is not installed"
fi

in_root() # COMMAND - run it in a copy of this system, which keeps its files in $scratch/upper and sees $scratch as /mnt
{
	# shellcheck disable=SC2016 # the inner shell expands
	env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive unshare -m sh -c '
		mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" &&
		mount --rbind /dev "$1/root/dev" && mount --rbind /proc "$1/root/proc" && mount --bind "$1" "$1/root/mnt" &&
		exec chroot "$1/root" sh -c "cd /tmp && $2"' sh "$scratch" "$1" 2>&1
}

mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
if [ "$(id -u)" -ne 0 ] || ! in_root true > /dev/null; then
	skip_all "packages work" "an overlay cannot be mounted here"
elif dpkg -s libmam0 > /dev/null 2>&1; then
	skip_all "packages work" "mam is installed as a package here"
fi
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
cat > "$scratch/use.c" << 'END'
#include <mam/mam.h>
#include <stdio.h>

int main(void)
{
	void *block;

	if (mam_malloc(NULL, 1 << 20, &block) != MAM_OK || mam_free(NULL, block) != MAM_OK)
		return 1;
	return printf("mam %s\n", mam_version()) < 0;
}
END
try "packages install" in_root 'dpkg -i /mnt/deb/*.deb'
same "command runs" "$version" "$(in_root 'mam --version')"
same "mam run finds its object" "/usr/lib/$triplet/mam/libmam-preload.so" "$(in_root 'mam run -- printenv LD_PRELOAD')"
same "manual pages are in the package of the command" "mam: /usr/share/man/man1/mam-run.1.gz" \
	"$(in_root 'dpkg -S /usr/share/man/man1/mam-run.1.gz')"
# shellcheck disable=SC2016 # the shell in the root expands
same "C program compiles and runs" "$version" \
	"$(in_root 'cc /mnt/use.c -o use $(pkg-config --cflags --libs mam) && MAM_SOURCE=host ./use')"
same "Python package is the one of the system" "None ${version#mam } mam-gpu" "$(in_root '/usr/bin/python3 -c "
import importlib.metadata
import mam
print(mam.PREFIX, mam.__version__, importlib.metadata.metadata(\"mam-gpu\")[\"Name\"])"')"
try "packages purge" in_root "dpkg --purge $packages"
same "nothing remains" "" "$(cd "$scratch/upper" && {
	find . -path ./tmp -prune -o -path '*mam*' -print
	grep '^Package: .*mam' var/lib/dpkg/status
} | tr '\n' ' ')"
finish
