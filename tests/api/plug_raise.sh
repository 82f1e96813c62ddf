#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# plug_raise.sh - on out of memory, mam_torch_alloc() calls the function with which PyTorch raises
# its errors, if PyTorch is loaded: a C++ exception passes through mam, and mam works afterwards.
# Without PyTorch, and in mam_torch_pool_alloc() always, the call returns NULL.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

unset MAM_LOG MAM_LOG_FILE
library=$MAM_BUILDDIR/.libs/libmam.so
[ -e "$library" ] || { skip "exceptions of PyTorch" "libmam.so was not built"; finish; }

cat > "$scratch/c10.cc" << 'END'
#include <cstdint>
#include <stdexcept>
#include <string>
namespace c10 { namespace detail {
[[noreturn]] void torchCheckFail(const char *function, const char *file, uint32_t line,
				 const char *message);
void torchCheckFail(const char *function, const char *, uint32_t, const char *message)
{
	throw std::runtime_error(std::string(function) + "|" + message);
}
} }
END
cat > "$scratch/main.cc" << 'END'
#include <cstdio>
#include <dlfcn.h>
#include <stdexcept>
#include <mam/plug.h>

int main(int count, char **arguments)
{
	auto alloc = mam_torch_alloc, pooled = mam_torch_pool_alloc;
	void *c10 = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : nullptr;

	if (count > 1 && !c10)
		return std::puts(dlerror()), 2;
	for (int i = 0; i < 2; i++) {
		try {
			std::printf("%s\n", alloc((ssize_t)1 << 50, 0, nullptr) ? "block" : "null");
		} catch (const std::runtime_error &error) {
			std::printf("%s\n", error.what());
		}
	}
	std::printf("%s\n", pooled((ssize_t)1 << 50, 0, nullptr) ? "block" : "null");
	void *block = alloc(1 << 20, 0, nullptr);
	std::printf("%s\n", block ? "block" : "null");
	mam_torch_free(block, 1 << 20, 0, nullptr);
	return 0;
}
END

# shellcheck disable=SC2086 # CFLAGS are words
if ! $CC ${CFLAGS:-} -x c++ -std=c++17 -fPIC -shared -Wl,-soname,libc10.so "$scratch/c10.cc" \
	-x none -o "$scratch/libc10.so" -lstdc++ > "$scratch/cxx.log" 2>&1; then
	skip "exceptions of PyTorch" "$CC has no C++ here"
	finish
fi
# shellcheck disable=SC2086
try "program with mam as plug-in compiles" $CC ${CFLAGS:-} -x c++ -std=c++17 -Wall -Wextra \
	-I "$MAM_SRCDIR/include" "$scratch/main.cc" -x none -o "$scratch/main" "$library" -lstdc++ -ldl

plugged() # ARGUMENTS...
{
	MAM_SOURCE=host LD_LIBRARY_PATH="$MAM_BUILDDIR/.libs" "$scratch/main" "$@" 2> "$scratch/err"
}

said='mam_torch_alloc|CUDA out of memory. Tried to allocate 1125899906842624 bytes on device 0 from mam: '
plugged "$scratch/libc10.so" > "$scratch/out"
same "program succeeds" 0 $?
same "mam_torch_alloc throws, twice" 2 "$(grep -cF "$said" "$scratch/out")"
same "mam_torch_pool_alloc returns NULL, then a block is allocated" "null block" \
	"$(sed -n 3,4p "$scratch/out" | tr '\n' ' ' | sed 's/ $//')"
same "one line per failure in the log" 3 \
	"$(grep -c '^mam: mam_torch_.*1125899906842624' "$scratch/err")"
plugged > "$scratch/out"
same "mam_torch_alloc returns NULL without PyTorch" "null null null block" \
	"$(tr '\n' ' ' < "$scratch/out" | sed 's/ $//')"
finish
