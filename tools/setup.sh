# shellcheck shell=bash disable=SC2154 # me, root and log are the caller's
# SPDX-License-Identifier: Apache-2.0
#
# setup.sh - functions that tools/quickstart and tools/check share: from a bare machine to a
# configured tree.
#
#   setup_packages   install missing packages with the system's package manager
#   setup_configure  generate ./configure if this is a checkout, and configure a build folder
#   setup_left_out   name the command that a build lacks because of a missing package, and how to add it
#   step             run one command quietly: its output goes to the log; a line shows what runs, on a
#                    terminal once it has run for two seconds, with the log's last line; on failure
#                    the log's last lines are shown
#
# The caller sets: me (its name in messages), root (the source tree), log (a file).

say()
{
	printf '%s: %s\n' "$me" "$*"
}

complain()
{
	printf '%s: %s\n' "$me" "$*" >&2
}

die() # STATUS MESSAGE
{
	complain "$2"
	exit "$1"
}

# configure refuses such a path, after the packages were installed.
case ${root:-} in *[[:space:]]*) die 1 "the path '$root' contains a blank, which make does not support: move the tree" ;; esac

# Replace the terminal's last line. A longer one would wrap, and could not be replaced.
redraw() # LINE
{
	local height width
	read -r height width < <(stty size <&2 2> /dev/null)
	[ "${width:-0}" -gt "${height:-0}" ] || width=80
	printf '\r%.*s\033[K' $((width - 1)) "$1" >&2
}

# step WHAT COMMAND...
step()
{
	local what=$1 pid status=0 started=$SECONDS shown=0 now
	shift
	printf '\n== %s\n== %s\n' "$what" "$*" >> "$log"
	if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; then
		# A command in the background ignores Ctrl-C, and would go on without this script.
		(trap - INT QUIT && "$@") >> "$log" 2>&1 < /dev/null &
		pid=$!
		while kill -0 "$pid" 2> /dev/null; do
			now=$((SECONDS - started))
			if [ $now -ge 2 ] && [ $now -gt $shown ]; then
				redraw "$me: $what ($now s) $(tail -n 1 "$log" | tr -s '[:cntrl:] ' ' ')"
				shown=$now
			fi
			sleep 0.2
		done
		wait "$pid" || status=$?
		[ $shown -eq 0 ] || { redraw "$me: $what ($((SECONDS - started)) s)"; echo >&2; }
	else
		say "$what"
		"$@" >> "$log" 2>&1 < /dev/null || status=$?
	fi
	if [ $status -ne 0 ]; then
		complain "$what failed (status $status). The last lines of $log:"
		tail -n 20 "$log" >&2
	fi
	return $status
}

# How to check for a dependency; its importance (must: the build fails without it; tool: a command
# is left out, `mam coalesce` without libclang, which is a 50 MB download; want: some tests are
# skipped, `mam top` has no screen without ncurses, `mam profile` no source lines without libdw,
# `mam run --profile` is slow without libunwind, and `mam bench plot` draws nothing without
# matplotlib; PoCL, an OpenCL driver for the CPU, brings a 150 MB LLVM; full: tests of packages are
# skipped, which only tools/check --all runs); and its package for apt-get, dnf, pacman, zypper and apk.
needs_table()
{
	cat << 'EOF'
must|cc|gcc libc6-dev|gcc glibc-devel|gcc|gcc glibc-devel|gcc musl-dev
must|make|make|make|make|make|make
must|pkg-config|pkg-config|pkgconf-pkg-config|pkgconf|pkg-config|pkgconf
must|zlib.pc|zlib1g-dev|zlib-devel|zlib|zlib-devel|zlib-dev
must|autoreconf|autoconf|autoconf|autoconf|autoconf|autoconf
must|automake|automake|automake|automake|automake|automake
must|libtoolize|libtool|libtool|libtool|libtool|libtool
must|awk|mawk|gawk|gawk|gawk|gawk
must|cmp|diffutils|diffutils|diffutils|diffutils|diffutils
must|find|findutils|findutils|findutils|findutils|findutils
want|check.pc|check|check-devel|check|check-devel|check-dev
want|ncursesw.pc|libncurses-dev|ncurses-devel|ncurses|ncurses-devel|ncurses-dev
want|libdw.pc|libdw-dev|elfutils-devel|elfutils|libdw-devel|elfutils-dev
want|libunwind|libunwind8|libunwind|libunwind|libunwind8|libunwind
want|c++|g++|gcc-c++|gcc|gcc-c++|g++
want|codespell|codespell|codespell|codespell|codespell|codespell
want|clang-format|clang-format|clang-tools-extra|clang|clang|clang-extra-tools
want|matplotlib|python3-matplotlib|python3-matplotlib|python-matplotlib|python3-matplotlib|py3-matplotlib
want|venv|python3-venv|python3 python3-pip|python|python3|python3 py3-pip
want|cmake|cmake|cmake|cmake|cmake|cmake
tool|libclang|libclang-dev|clang-devel|clang|clang-devel|clang-dev
want|opencl|opencl-headers ocl-icd-opencl-dev|opencl-headers ocl-icd-devel|opencl-headers ocl-icd|opencl-headers ocl-icd-devel|opencl-headers opencl-icd-loader-dev
want|pocl|pocl-opencl-icd|pocl|pocl|pocl|pocl
full|dh|debhelper||||
full|dh_python3|dh-python||||
full|lintian|lintian||||
full|rpmspec|rpm||||
full|abidiff|abigail-tools||||
EOF
}

# The same search as in m4/libclang.m4: most systems have no llvm-config.
libclang_is_there()
{
	local header
	for header in /usr/lib/llvm*/include/clang-c/Index.h /usr/lib64/llvm*/include/clang-c/Index.h \
		"$(llvm-config --includedir 2> /dev/null)"/clang-c/Index.h; do
		[ -e "$header" ] && return
	done
	printf '#include <clang-c/Index.h>\n' | "${CC:-cc}" -E -o /dev/null -
}

# The same search as in m4/opencl.m4: headers, and a loader for drivers.
opencl_is_there()
{
	printf '#include <CL/cl.h>\nint main(void) { return clGetPlatformIDs(0, 0, 0) == 0; }\n' |
		"${CC:-cc}" -DCL_TARGET_OPENCL_VERSION=120 -x c -o /dev/null - -lOpenCL
}

# Any driver will do.
opencl_driver_is_there()
{
	local folder
	for folder in ${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}; do
		[ -f "$folder" ] && return
		set -- "$folder"/*.icd
		[ -e "$1" ] && return
	done
	return 1
}

is_there() # WHAT
{
	case $1 in
	cc) command -v "${CC:-cc}" && printf '#include <stdlib.h>\n' | "${CC:-cc}" -E -o /dev/null - ;;
	*.pc) pkg-config --exists "${1%.pc}" ;;
	venv) python3 -c 'import ensurepip, venv' ;;
	libclang) libclang_is_there ;;
	libunwind) "${CC:-cc}" -shared -o /dev/null -l:libunwind.so.8 ;;
	opencl) opencl_is_there ;;
	pocl) opencl_driver_is_there ;;
	matplotlib) python3 -c 'import matplotlib' || /usr/bin/python3 -c 'import matplotlib' ;;
	*) command -v "$1" ;;
	esac > /dev/null 2>&1
}

package_manager()
{
	local name
	for name in apt-get dnf pacman zypper apk; do
		command -v $name > /dev/null && { echo $name; return; }
	done
}

install_command() # MANAGER
{
	case $1 in
	pacman) echo 'pacman -S' ;;
	apk) echo 'apk add' ;;
	apt-get) echo 'apt-get update && apt-get install' ;;
	*) echo "$1 install" ;;
	esac
}

# Print the missing packages of the rows whose first word matches KIND.
missing_packages() # KIND MANAGER
{
	local kind what apt dnf pacman zypper apk
	while IFS='|' read -r kind what apt dnf pacman zypper apk; do
		# shellcheck disable=SC2053 # a pattern on purpose
		[[ $kind == $1 ]] || continue
		case $what in
		autoreconf | automake | libtoolize) [ -e "$root/configure" ] && [ ! -e "$root/.git" ] && continue ;;
		esac
		is_there "$what" && continue
		case $2 in
		apt-get) echo "$apt" ;;
		dnf) echo "$dnf" ;;
		pacman) echo "$pacman" ;;
		zypper) echo "$zypper" ;;
		apk) echo "$apk" ;;
		*) echo "$what" ;;
		esac
	done < <(needs_table) | grep . | paste -s -d ' '
}

install_packages() # MANAGER SUDO PACKAGES...
{
	local manager=$1 sudo=$2 what='installing the packages'
	shift 2
	[ $# -gt 1 ] || what="installing $1"
	# shellcheck disable=SC2086 # $sudo is a word or nothing
	case $manager in
	apt-get)
		step "reading the package lists" $sudo apt-get -q update &&
			step "$what" $sudo env DEBIAN_FRONTEND=noninteractive \
				apt-get -q -y --no-install-recommends install "$@"
		;;
	dnf) step "$what" $sudo dnf -q -y install "$@" ;;
	pacman) step "$what" $sudo pacman -Sy --noconfirm --needed "$@" ;;
	zypper) step "$what" $sudo zypper --non-interactive install "$@" ;;
	apk) step "$what" $sudo apk add "$@" ;;
	esac
}

# setup_packages KINDS - a pattern: 'must', '@(must|tool)', '!(full)' or '*'
setup_packages()
{
	local manager missing must sudo='' left_out='so parts of mam or of its tests are left out'
	manager=$(package_manager)
	missing=$(missing_packages "$1" "$manager")
	[ -n "$missing" ] || return 0
	must=$(missing_packages must "$manager")
	if [ -z "$manager" ]; then
		[ -n "$must" ] || { say "not found, $left_out: $missing"; return 0; }
		complain "no known package manager found; missing: $missing"
		exit 77
	fi
	if [ "$(id -u)" != 0 ]; then
		# Without a terminal, sudo cannot ask for a password.
		if command -v sudo > /dev/null && { [ -t 0 ] || sudo -n true 2> /dev/null; }; then
			sudo=sudo
		elif [ -n "$must" ]; then
			complain "packages are missing, which only root can install; run as root, then run tools/$me again:"
			echo "$(install_command "$manager") $missing" >&2
			exit 77
		else
			say "not installed (requires root), $left_out: $missing"
			return 0
		fi
	fi
	say "installing with ${sudo:+sudo }$manager: $missing"
	if [ -n "$sudo" ] && ! sudo true; then
		[ -z "$must" ] || die 77 "sudo failed; run as root: $(install_command "$manager") $missing"
		say "sudo failed, $left_out: $missing"
		return 0
	fi
	# shellcheck disable=SC2086 # words on purpose
	install_packages "$manager" "$sudo" $missing || {
		# A package that this system does not have must not prevent the others.
		complain "not all packages could be installed; trying one at a time"
		for missing in $missing; do
			install_packages "$manager" "$sudo" "$missing" || complain "cannot install $missing"
		done
	}
	must=$(missing_packages must "$manager")
	[ -z "$must" ] || die 1 "still missing: $must"
}

# A checkout has no ./configure, or one older than its sources.
setup_autoreconf()
{
	local input
	if [ -e "$root/configure" ] && [ -e "$root/Makefile.in" ]; then
		[ -e "$root/.git" ] || return 0
		input=$(cd "$root" && find configure.ac Makefile.am m4/cuda.m4 src tools tests -name '*.inc' -newer Makefile.in \
			-o -name '*.a[cm]' -newer Makefile.in -o -name 'cuda.m4' -newer Makefile.in)
		[ -n "$input" ] || return 0
	fi
	(cd "$root" && step "making ./configure" autoreconf -fi)
}

# setup_configure FOLDER ARGUMENTS... - configure out of tree; again only if something
# changed
setup_configure()
{
	local folder=$1 wanted
	shift
	# A package that was installed since then changes the build.
	wanted=$(printf '%s\n' "${CC:-}" "${CFLAGS:-}" "$@" "without $(missing_packages '*' '')")
	mkdir -p "$folder"
	if [ -e "$folder/Makefile" ] && [ ! "$root/configure" -nt "$folder/config.status" ] &&
	   [ "$(cat "$folder/setup.arguments" 2> /dev/null)" = "$wanted" ]; then
		return 0
	fi
	if [ -e "$root/config.status" ]; then
		complain "the source tree itself was configured; run 'make distclean' there first"
		return 1
	fi
	# Objects built with other flags must not be linked with new ones.
	if [ -e "$folder/Makefile" ]; then
		make -C "$folder" clean >> "$log" 2>&1 || true
	fi
	rm -f "$folder/setup.arguments"
	(cd "$folder" && step "configuring $folder" "$root/configure" "$@") || return 1
	printf '%s\n' "$wanted" > "$folder/setup.arguments"
}

# setup_left_out FOLDER CONFIGURE-ARGUMENT...
setup_left_out()
{
	local folder=$1 manager package
	shift
	case " $* " in
	*' --without-libclang '* | *' --with-libclang=no '*) return 0 ;;
	esac
	[ ! -x "$folder/mam-coalesce" ] || return 0
	manager=$(package_manager)
	package=$(missing_packages tool "$manager")
	if [ -z "$package" ]; then
		say "mam coalesce is not built, as configure found no libclang 13 or later; see $folder/config.log"
	elif [ -z "$manager" ]; then
		say "mam coalesce is not built: install libclang 13 or later, then run tools/$me again"
	else
		say "mam coalesce is not built: as root, '$(install_command "$manager") $package', then run tools/$me again"
	fi
}

setup_jobs()
{
	nproc 2> /dev/null || echo 2
}
