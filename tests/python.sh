#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# python.sh - the wheel of the Python package is small, works in an empty virtual environment, and passes its tests.
#
# 1. pip makes the wheel from this build and installs it, without a network and without other packages.
# 2. The command, and a C program that is compiled against the package, run.
# 3. tests/python/ runs on the stand-in driver (tests/fake): the adapters get stand-ins of their frameworks.
# 4. tests/python/pytorch/ does so with the PyTorch of $PYTHON, if it has one. A fill takes 10 s of the driver's own clock,
#    which no test waits for.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

unset MAKEFLAGS MFLAGS MAKELEVEL PYTHONPATH
PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1
export PYTHONDONTWRITEBYTECODE PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_INDEX
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' > /dev/null 2>&1 ||
	skip_all "Python package" "Python 3.9 or later is not installed"
[ -e "$MAM_BUILDDIR/.libs/libmam.so" ] || skip_all "Python package" "libmam.so was not built"
"$python" -m venv "$scratch/venv" > "$scratch/out" 2>&1 ||
	skip_all "Python package" "Python cannot make a virtual environment (package python3-venv)"
"$scratch/venv/bin/pip" wheel --help | grep -q -e --config-settings ||
	skip_all "Python package" "pip is older than 22.1"

try "pip makes the wheel" "$scratch/venv/bin/pip" wheel -q --no-deps --no-build-isolation \
	--config-settings build="$MAM_BUILDDIR" -w "$scratch" "$MAM_SRCDIR"
wheel=$(find "$scratch" -maxdepth 1 -name 'mam_gpu-*-py3-none-*.whl')
[ -n "$wheel" ] || { not_ok "wheel exists" "there is none"; finish; }
size=$(wc -c < "$wheel")
if [ "$HAVE_BENCH_KERNELS" = yes ]; then
	skip "wheel is at most 8 MiB" "this build has the benchmarks' kernels, which pip leaves out"
elif [ "$size" -le 8388608 ]; then
	ok "wheel is at most 8 MiB"
else
	not_ok "wheel is at most 8 MiB" "it has $size bytes"
fi

# From here on nothing may come from the source tree or the build.
venv=$scratch/venv/bin
try "pip installs the wheel" "$venv/pip" install -q "$wheel"
cd "$scratch" || exit 1
version=$("$MAM" version)
same "script of the package is the command" "$version" "$(env -u MAM "$venv/mam" version 2>&1)"

cat > use.c << 'END'
#include <mam/mam.h>
#include <stdio.h>

int main(void)
{
	return printf("mam %s\n", mam_version()) < 0;
}
END
prefix=$(env -u MAM "$venv/python" -c 'import mam; print(mam.PREFIX)')
# shellcheck disable=SC2046,SC2086 # words on purpose
try "C program compiles against the package" $CC ${CFLAGS:-} use.c -o use \
	$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig ${PKG_CONFIG:-pkg-config} --cflags --libs mam)
same "C program runs" "$version" "$(LD_LIBRARY_PATH=$prefix/lib ./use)"

# run_tests FOLDER COMMAND... - the command starts Python
run_tests() {
	folder=$1
	shift
	: > results
	env -u MAM -u MAM_SRCDIR -u MAM_BUILDDIR LD_LIBRARY_PATH="$MAM_BUILDDIR/tests/fake/lib" \
		"$@" "$MAM_SRCDIR/tests/python/run.py" results "$folder" > run.out 2>&1
	status=$?
	while read -r verdict name why; do
		case $verdict in
		ok) ok "$name" ;;
		skip) skip "$name" "$why" ;;
		*) not_ok "$name" "$why" ;;
		esac
	done < results
	same "tests/python/$folder ran to its end" 0 "$status"
	[ "$status" -eq 0 ] || cat run.out
}

run_tests . "$venv/python"
package=$(dirname "$(dirname "$prefix")")
run_tests pytorch env PYTHONPATH="$package" TORCH_EXTENSIONS_DIR="$scratch/extensions" FAKE_CUDA_CLOCK_NS=1000 \
	FAKE_CUDA_LAG_US=10000000 LD_PRELOAD="$MAM_BUILDDIR/tests/fake/lib/libfakecudart.so" "$python"

try "pip removes the package" "$venv/pip" uninstall -q -y mam-gpu
same "nothing of the package remains" "" "$(find "$scratch/venv" -name 'mam*' | tr '\n' ' ')"
finish
