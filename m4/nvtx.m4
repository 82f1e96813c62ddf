# SPDX-License-Identifier: Apache-2.0
#
# MAM_CHECK_NVTX - find the headers of NVTX 3 with its memory interface; they come with the
# CUDA toolkit. With them blocks are made known to compute-sanitizer under mam run.
#
# Sets have_nvtx and substitutes NVTX_CPPFLAGS.

AC_DEFUN([MAM_CHECK_NVTX], [
AC_REQUIRE([MAM_CHECK_CUDA])
AC_ARG_WITH([nvtx],
  [AS_HELP_STRING([--without-nvtx], [leave out what tells compute-sanitizer of blocks])],
  [], [with_nvtx=check])
have_nvtx=no
NVTX_CPPFLAGS=-DMAM_HAVE_NVTX=0
AS_IF([test "x$with_nvtx" != xno && test "x$have_cuda" = xyes],
  [nvtx_include=`AS_DIRNAME(["$NVCC"])`/../include
   AC_MSG_CHECKING([for the memory interface of NVTX])
   nvtx_saved_CPPFLAGS=$CPPFLAGS
   CPPFLAGS="$CPPFLAGS -isystem $nvtx_include"
   AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <nvtx3/nvToolsExtMem.h>]],
       [[return nvtxMemHeapRegister(0, 0) == 0;]])],
     [have_nvtx=yes
      NVTX_CPPFLAGS="-isystem $nvtx_include -DMAM_HAVE_NVTX=1"])
   CPPFLAGS=$nvtx_saved_CPPFLAGS
   AC_MSG_RESULT([$have_nvtx])])
AC_SUBST([NVTX_CPPFLAGS])
])
