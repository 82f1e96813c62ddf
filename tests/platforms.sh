#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# platforms.sh - packaging/platforms reports what passed and failed, and skips what it cannot run.
#
# Commands that need root privileges are replaced: debootstrap makes an empty folder, and unshare runs nothing in it.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

git -C "$MAM_SRCDIR" rev-parse HEAD > /dev/null 2>&1 || skip_all "clean systems" "this is not a git checkout"
mkdir "$scratch/bin"
put() # NAME TEXT - a command
{
	printf '#!/bin/sh\n%s\n' "$2" > "$scratch/bin/$1"
	chmod +x "$scratch/bin/$1"
}
# shellcheck disable=SC2016 # the commands expand
put debootstrap 'mkdir -p "$4/root"'
put unshare 'echo "0 warnings"'
put id 'echo 0'

run() # SYSTEM... - prints the lines without paths, and the status
{
	PATH="$scratch/bin:$PATH" bash "$MAM_SRCDIR/packaging/platforms" "$scratch/systems" "$@" > "$scratch/out" 2>&1
	echo "status $?" >> "$scratch/out"
	sed "s|$scratch||g" "$scratch/out" | paste -s -d ';'
}

same "unknown system is an error" "packaging/platforms: error: unknown system 'debian-1';status 2" "$(run debian-1)"
same "compiler that passes is ok" "ok - aarch64, aarch64-linux-gnu-gcc: 0 warnings;status 0" "$(run aarch64)"
same "last commit is unpacked in the system" yes "$([ -e "$scratch/systems/aarch64/root/mam/configure.ac" ] && echo yes)"
put unshare 'echo "make failed"; exit 1'
same "compiler that fails is not ok" \
	"not ok - aarch64, aarch64-linux-gnu-gcc: make failed; see '/systems/aarch64-aarch64-linux-gnu-gcc.log';status 1" "$(run aarch64)"
put debootstrap 'exit 1'
same "system that is unpacked is used again" 1 "$(run aarch64 | grep -c 'make failed')"
same "system that cannot be unpacked is skipped" \
	"skip - debian-12: debootstrap failed: see '/systems/debian-12.log';status 77" "$(run debian-12)"
put python3 'exit 1'
same "headers of CUDA need pip" "skip - cuda-headers: pip is not installed;status 77" "$(run cuda-headers)"
put python3 'exit 0'
same "headers of CUDA that pip does not bring are not ok" 6 "$(run cuda-headers | grep -o 'not ok - [^;]*: cuda.h is missing' | wc -l)"
put id 'echo 1000'
same "without root privileges, each is skipped" \
	"skip - debian-12: takes root privileges;skip - aarch64: takes root privileges;status 77" "$(run debian-12 aarch64)"
finish
