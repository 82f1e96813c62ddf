#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# add.sh - adds inputs to the archive of a fuzz target.
#
#	usage: add.sh NAME [FILE...]
#
# Each FILE is stored in corpus/NAME.tar.gz as found-HASH, where HASH is the first eight digits of
# its SHA-1. The archive depends only on its inputs: sorted names, fixed times, owners and modes.
# Without a FILE it is packed again. Needs GNU tar. Exit status: 0; 2 after an error.

: "${MAM_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$MAM_SRCDIR/tests/fuzz/lib.sh"

stop() # MESSAGE
{
	echo "add.sh: error: $1" >&2
	exit 2
}

[ $# -gt 0 ] || stop "missing target; usage: add.sh NAME [FILE...]"
name=$1
shift
fuzz_names | grep -qx -e "$name" || stop "unknown target '$name'; lib.sh has the table"

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir "$work/inputs"
archive=$(fuzz_archive "$name")
if [ -e "$archive" ]; then
	fuzz_unpack "$name" "$work/inputs" || stop "cannot unpack '$archive'"
fi
for file; do
	[ -r "$file" ] || stop "cannot read '$file'"
	hash=$(sha1sum < "$file" | cut -c 1-8)
	cp "$file" "$work/inputs/found-$hash" || stop "cannot copy '$file'"
done

(cd "$work/inputs" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort) > "$work/names"
tar -C "$work/inputs" --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 \
	-T "$work/names" -cf "$work/tar" || stop "cannot pack '$archive'"
gzip -9n < "$work/tar" > "$work/gz" || stop "cannot compress '$archive'"
cat "$work/gz" > "$archive" || stop "cannot write '$archive'"
echo "$name: $(wc -l < "$work/names") inputs"
