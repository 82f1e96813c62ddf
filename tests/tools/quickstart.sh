#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# quickstart.sh - tools/quickstart in a tree with a stub build: it installs libclang if it may, so
# that mam coalesce is built; otherwise it continues and prints the command that installs it.
# Package managers, sudo and make are stubs, too.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

command -v bash > /dev/null || skip_all quickstart "there is no bash"
tree=$scratch/tree
bin=$scratch/bin
mkdir -p "$tree/tools" "$bin"
cp "$MAM_SRCDIR/tools/quickstart" "$tree/tools"
# Everything is installed except the words in the file "absent".
# shellcheck disable=SC2016 # the copy expands them
{
	cat "$MAM_SRCDIR/tools/setup.sh"
	echo 'is_there() { ! grep -qx "$1" "$TEST/absent"; }'
	echo 'package_manager() { cat "$TEST/manager"; }'
} > "$tree/tools/setup.sh"
: > "$tree/Makefile.in"
cat > "$tree/configure" << 'end'
#!/bin/sh
echo "configure $*" >> "$TEST/calls"
echo 'NVCC = ' > Makefile
: > config.status
rm -f mam-coalesce
case $* in *--without-libclang*) exit 0 ;; esac
grep -qx libclang "$TEST/absent" || { : > mam-coalesce; chmod +x mam-coalesce; }
end
cat > "$bin/make" << 'end'
#!/bin/sh
mkdir -p "$2/tests/clients"
printf '#!/bin/sh\n' > "$2/mam"
cp "$2/mam" "$2/tests/clients/client_dlsym"
chmod +x "$2/mam" "$2/tests/clients/client_dlsym"
end
for manager in apt-get dnf pacman zypper apk; do
	cat > "$bin/$manager" << 'end'
#!/bin/sh
case "$*" in *install*| *-Sy* | add*) ;; *) exit 0 ;; esac
echo "$(basename "$0") $*" >> "$TEST/calls"
[ -e "$TEST/offline" ] || : > "$TEST/absent"
[ ! -e "$TEST/offline" ]
end
done
cat > "$bin/id" << 'end'
#!/bin/sh
cat "$TEST/user"
end
cat > "$bin/sudo" << 'end'
#!/bin/sh
[ -e "$TEST/sudo" ] || exit 1
[ "$1" != -n ] || shift
exec "$@"
end
chmod +x "$tree/configure" "$bin"/*
TEST=$scratch
PATH=$bin:$PATH
export TEST PATH

begin() # MANAGER USER ABSENT...
{
	rm -rf "$tree/build" "$scratch/calls" "$scratch/sudo" "$scratch/offline"
	: > "$scratch/calls"
	echo "$1" > "$scratch/manager"
	echo "$2" > "$scratch/user"
	shift 2
	: > "$scratch/absent"
	[ $# -eq 0 ] || printf '%s\n' "$@" > "$scratch/absent"
}

run() # ARGUMENT...
{
	"$tree/tools/quickstart" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null
	status=$?
}

installs()
{
	grep -v '^configure' "$scratch/calls" | tr '\n' ' '
}

last_line()
{
	tail -n 1 "$scratch/out"
}

done_line="quickstart: done: build/mam is the command; see 'build/mam --help'"

begin apt-get 0
run
same "all installed: exit status" 0 $status
same "all installed: nothing is installed" "" "$(installs)"
same "all installed: the last line" "$done_line" "$(last_line)"

for row in 'apt-get:apt-get -q -y --no-install-recommends install libclang-dev' 'dnf:dnf -q -y install clang-devel' \
	'pacman:pacman -Sy --noconfirm --needed clang' 'zypper:zypper --non-interactive install clang-devel' \
	'apk:apk add clang-dev'; do
	begin "${row%%:*}" 0 libclang
	run
	same "${row%%:*}: exit status" 0 $status
	same "${row%%:*} installs libclang" "${row#*:} " "$(installs)"
	same "${row%%:*}: the last line" "$done_line" "$(last_line)"
	try "${row%%:*}: mam coalesce is built" test -x "$tree/build/mam-coalesce"
done

for row in 'apt-get:apt-get update && apt-get install libclang-dev' 'dnf:dnf install clang-devel' 'pacman:pacman -S clang' \
	'zypper:zypper install clang-devel' 'apk:apk add clang-dev'; do
	begin "${row%%:*}" 1000 libclang
	run
	same "${row%%:*}, not root: exit status" 0 $status
	same "${row%%:*}, not root: nothing is installed" "" "$(installs)"
	same "${row%%:*}, not root: the last line" \
		"quickstart: mam coalesce is not built: as root, '${row#*:}', then run tools/quickstart again" "$(last_line)"
done

# After following the advice, the same build folder is configured again.
: > "$scratch/absent"
run
same "installed later: exit status" 0 $status
same "installed later: the last line" "$done_line" "$(last_line)"
try "installed later: mam coalesce is built" test -x "$tree/build/mam-coalesce"
run
same "third run: not configured again" 2 "$(grep -c '^configure' "$scratch/calls")"

begin apt-get 1000 libclang
: > "$scratch/sudo"
run
same "sudo without a password: libclang is installed" "apt-get -q -y --no-install-recommends install libclang-dev " "$(installs)"
same "sudo without a password: the last line" "$done_line" "$(last_line)"

begin apt-get 0 libclang
: > "$scratch/offline"
run
same "no network: exit status" 0 $status
same "no network: the last line" \
	"quickstart: mam coalesce is not built: as root, 'apt-get update && apt-get install libclang-dev', then run tools/quickstart again" \
	"$(last_line)"

begin '' 1000 libclang
run
same "no package manager: exit status" 0 $status
same "no package manager: the last line" \
	"quickstart: mam coalesce is not built: install libclang 13 or later, then run tools/quickstart again" "$(last_line)"

begin apt-get 1000 libclang make
run
same "missing requirement: exit status" 77 $status
same "missing requirement: the command to run as root" 'apt-get update && apt-get install make libclang-dev' \
	"$(tail -n 1 "$scratch/err")"

for argument in --without-libclang --with-libclang=no; do
	begin apt-get 0 libclang
	run $argument
	same "$argument: exit status" 0 $status
	same "$argument: nothing is installed" "" "$(installs)"
	same "$argument: the last line" "$done_line" "$(last_line)"
done

# A version that is too old is installed, and configure does not use it.
begin apt-get 0
sed -i 's/^grep -qx libclang.*/exit 0/' "$tree/configure"
run
same "version too old: the last line" \
	"quickstart: mam coalesce is not built, as configure found no libclang 13 or later; see $tree/build/config.log" \
	"$(last_line)"

begin apt-get 0 libclang
mkdir "$scratch/a blank"
cp -R "$tree" "$scratch/a blank"
"$scratch/a blank/tree/tools/quickstart" > "$scratch/out" 2> "$scratch/err" < /dev/null
same "a blank in the path: exit status" 1 $?
same "a blank in the path: nothing is installed" "" "$(installs)"
same "a blank in the path: the message" \
	"quickstart: the path '$scratch/a blank/tree' contains a blank, which make does not support: move the tree" \
	"$(cat "$scratch/err")"

# Without a terminal a step is not in the background. Ctrl-C reaches all processes of the terminal.
if command -v script > /dev/null; then
	cat > "$scratch/interrupted" << end
log=$scratch/log
. '$MAM_SRCDIR/tools/setup.sh'
step 'a step' sh -c 'kill -INT 0; : > "$scratch/survived"'
: > "$scratch/survived"
end
	# The test may itself run where SIGINT is ignored, which no shell can undo.
	interruptible='env --default-signal=INT'
	$interruptible true 2> /dev/null || interruptible=env
	TERM=xterm $interruptible script -qec "bash '$scratch/interrupted'" /dev/null > /dev/null < /dev/null
	try "Ctrl-C ends the command of a step" test ! -e "$scratch/survived"
else
	skip "Ctrl-C ends the command of a step" "script is not installed"
fi

# A line that shows progress is replaced, so it must not wrap.
if command -v script > /dev/null; then
	cat > "$scratch/redraw" << end
stty cols 40 rows 20
. '$MAM_SRCDIR/tools/setup.sh'
redraw 'quickstart: compiling (12 s) CC src/pool/alloc.lo'
end
	same "progress fits in the terminal" 'quickstart: compiling (12 s) CC src/poo' \
		"$(script -qec "bash '$scratch/redraw'" /dev/null < /dev/null | tr -d '\r\033' | sed 's/\[K$//' | cut -c 1-80)"
else
	skip "progress fits in the terminal" "script is not installed"
fi
finish
