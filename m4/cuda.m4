# SPDX-License-Identifier: Apache-2.0
#
# MAM_CHECK_CUDA - find the CUDA toolkit, 11.8 or later.
#
# Only kernels and tests of mam/cuda.h need it: libmam finds the driver at run time
# and never links to CUDA. --with-cuda=check (the default) guesses, and a guess that
# fails warns; yes and DIR are requests, and a request that fails is an error.
#
# Sets have_cuda, cuda_version, HAVE_CUDA (conditional) and substitutes NVCC, NVCCFLAGS,
# CUDA_CPPFLAGS, CUDA_DEFS and CUDA_GENCODE: code for each architecture in CUDA_ARCH, and
# PTX of the last; CUDA_GENCODE_FEW is less to compile. CUDA_ARCH defaults to all the toolkit has from 70 (Volta) up.

AC_DEFUN([MAM_CHECK_CUDA], [
AC_ARG_WITH([cuda],
  [AS_HELP_STRING([--with-cuda=yes|no|check|DIR], [build kernels with the CUDA toolkit (in DIR) @<:@check@:>@])],
  [], [with_cuda=check])
AC_ARG_VAR([NVCC], [CUDA compiler])
AC_ARG_VAR([NVCCFLAGS], [flags of the CUDA compiler])
AC_ARG_VAR([CUDA_ARCH], [architectures to build kernels for, as in "80 90" (default: all from 70 up)])

have_cuda=no
cuda_version=
cuda_trouble=
AS_CASE([$with_cuda],
  [no], [],
  [yes|check],
    [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH$PATH_SEPARATOR/usr/local/cuda/bin$PATH_SEPARATOR/opt/cuda/bin])
     AS_IF([test "x$NVCC" = x], [cuda_trouble="no nvcc in PATH or /usr/local/cuda/bin"])],
  [AS_IF([test "x$NVCC" = x], [NVCC=$with_cuda/bin/nvcc])
   AS_IF([test -x "$NVCC"], [], [cuda_trouble="$NVCC is not there"])])

AS_IF([test "x$with_cuda" != xno && test "x$cuda_trouble" = x],
  [AC_MSG_CHECKING([whether $NVCC compiles a kernel])
   cat > conftest.cu <<_MAM_EOF
extern "C" __global__ void kernel(int *where) { *where = 1; }
_MAM_EOF
   AS_IF([$NVCC $NVCCFLAGS -fatbin -o conftest.fatbin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1],
     [AC_MSG_RESULT([yes])],
     [AC_MSG_RESULT([no])
      cuda_trouble="$NVCC does not compile a kernel (config.log has its words)"])
   rm -f conftest.cu conftest.fatbin])

AS_IF([test "x$with_cuda" != xno && test "x$cuda_trouble" = x],
  [cuda_version=`$NVCC --version | $SED -n 's/.*release \([[0-9.]]*\).*/\1/p'`
   AS_VERSION_COMPARE([$cuda_version], [11.8], [cuda_trouble="CUDA $cuda_version is older than 11.8"])])

# Real code for every architecture, so that no machine waits for a translation at its
# first launch, and PTX for machines to come.
AS_IF([test "x$with_cuda" != xno && test "x$cuda_trouble" = x],
  [AS_IF([test "x$CUDA_ARCH" = x],
     [CUDA_ARCH=`$NVCC --list-gpu-code | $SED -n 's/^sm_\([[0-9]]*\)$/\1/p' | sort -n |
        $AWK '$[]1 >= 70 { printf "%s%s", sep, $[]1; sep = " " }'`])
   CUDA_GENCODE=
   CUDA_GENCODE_FEW=
   for cuda_arch in $CUDA_ARCH; do
     CUDA_GENCODE="$CUDA_GENCODE -gencode arch=compute_$cuda_arch,code=sm_$cuda_arch"
     cuda_last=$cuda_arch
     # Kernels of tools: code for what servers have, PTX of the first for all others.
     AS_IF([test "x$CUDA_GENCODE_FEW" = x],
       [CUDA_GENCODE_FEW=" -gencode arch=compute_$cuda_arch,code=compute_$cuda_arch"])
     AS_CASE([$cuda_arch], [80|90],
       [CUDA_GENCODE_FEW="$CUDA_GENCODE_FEW -gencode arch=compute_$cuda_arch,code=sm_$cuda_arch"])
   done
   CUDA_GENCODE="$CUDA_GENCODE -gencode arch=compute_$cuda_last,code=compute_$cuda_last"
   cuda_bin=`AS_DIRNAME(["$NVCC"])`
   CUDA_CPPFLAGS=
   AS_IF([test -f "$cuda_bin/../include/cuda_runtime_api.h" && test "$cuda_bin" != /usr/bin],
     [CUDA_CPPFLAGS=-I`cd "$cuda_bin/../include" && pwd`])
   CUDA_DEFS=-DMAM_HAVE_KERNELS=1
   have_cuda=yes])

AS_IF([test "x$cuda_trouble" != x],
  [AS_IF([test "x$with_cuda" = xcheck],
     [AC_MSG_WARN([building without CUDA kernels: $cuda_trouble])
      NVCC=],
     [AC_MSG_ERROR([--with-cuda=$with_cuda was asked for, but $cuda_trouble])])])

AC_SUBST([have_cuda])
AC_SUBST([CUDA_CPPFLAGS])
AC_SUBST([CUDA_DEFS])
AC_SUBST([CUDA_GENCODE])
AC_SUBST([CUDA_GENCODE_FEW])
AM_CONDITIONAL([HAVE_CUDA], [test "x$have_cuda" = xyes])

# The kernels of mam bench are 75 device binaries, which take most of the time of a build.
AC_ARG_ENABLE([bench-kernels],
  [AS_HELP_STRING([--disable-bench-kernels], [leave out the kernels of mam bench, which take minutes to compile])],
  [], [enable_bench_kernels=yes])
have_bench_kernels=no
BENCH_DEFS=
AS_IF([test "x$have_cuda" = xyes && test "x$enable_bench_kernels" != xno],
  [have_bench_kernels=yes
   BENCH_DEFS=-DMAM_HAVE_BENCH_KERNELS=1])
AC_SUBST([have_bench_kernels])
AC_SUBST([BENCH_DEFS])
AM_CONDITIONAL([HAVE_BENCH_KERNELS], [test "x$have_bench_kernels" = xyes])
])
