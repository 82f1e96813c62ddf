#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The command as users see it: every NAME.transcript next to this file is run, one test per command.
# In a transcript
#
#	$ COMMAND      is run by the shell, in an empty folder of the transcript's own
#	TEXT           below it is its output on stdout and stderr
#	[2]            below that is its exit status, if it is not 0
#	# TEXT         is a comment
#
# Numbers that depend on a clock are compared as N. To write the transcripts again from the
# command's current output (then inspect the difference): MAM_TRANSCRIPTS=write
# tests/tools/transcripts.sh

. "${MAM_SRCDIR:-.}/tests/lib.sh"

mam()
{
	"$MAM" "$@"
}

# A build of a commit after a release has a longer version. pre: `version` and `header` are set.
released()
{
	sed "s/$version/$header/g"
}

# Replaces what varies from run to run.
mask()
{
	released | sed -e 's/  *[0-9][0-9]* ns/ N ns/g' -e 's/^\(ns_per_event[a-z_]*	\).*/\1N/' \
		-e 's/^\(driver_ms	\).*/\1N/' -e 's/^\(host_bytes	\).*/\1N/' -e 's/^\(pool.s metadata\).*/\1 N/' \
		-e "s|$MAM_SRCDIR|SRC|g"
}

# Runs $command; its transcript goes to the file "now".
play()
{
	(
		cd "$folder" || exit 99
		eval "$command"
	) > "$scratch/out" 2>&1 < /dev/null
	status=$?
	mask < "$scratch/out" > "$scratch/now"
	[ "$status" -eq 0 ] || echo "[$status]" >> "$scratch/now"
}

# The command before this line is complete, and "wanted" holds its expected output.
settle()
{
	[ -n "$command" ] || return 0
	play
	printf '$ %s\n' "$command" >> "$scratch/written"
	cat "$scratch/now" >> "$scratch/written"
	# echo of some shells would interpret backslashes in the command.
	title="$name: $(printf '%s' "$command" | tr '\\' '/')"
	if cmp -s "$scratch/wanted" "$scratch/now"; then
		ok "$title"
	else
		not_ok "$title" "$(diff "$scratch/wanted" "$scratch/now" |
			sed -n 's/^[<>]/&/p' | head -n 4 | tr '\n\\' ' /' | cut -c 1-400)"
	fi
	command=
}

if [ "$(mam --version 2>&1 | cut -c 1-4)" != "mam " ]; then
	not_ok "mam is built" "$MAM does not run"
	finish
fi
version=$(mam --version | cut -c 5- | sed 's/[.]/[.]/g')
header=$(sed -n 's/^#define MAM_VERSION "\(.*\)"$/\1/p' "$MAM_SRCDIR/include/mam/mam.h")

for transcript in "$MAM_SRCDIR"/tests/tools/*.transcript "$MAM_SRCDIR"/tests/tools/*/*.transcript; do
	name=$(basename "$transcript" .transcript)
	folder=$scratch/$name
	mkdir "$folder"
	: > "$scratch/written"
	command=
	while IFS= read -r line <&3; do
		case $line in
		'$ '*)
			settle
			command=${line#'$ '}
			: > "$scratch/wanted"
			;;
		'#'*)
			settle
			printf '%s\n' "$line" >> "$scratch/written"
			;;
		*)
			printf '%s\n' "$line" >> "$scratch/wanted"
			;;
		esac
	done 3< "$transcript"
	settle
	if [ "${MAM_TRANSCRIPTS:-}" = write ]; then
		cp "$scratch/written" "$transcript"
	fi
done

finish
