# SPDX-License-Identifier: Apache-2.0
#
# MAM_CHECK_OPENCL - find OpenCL's headers and the library that knows its drivers (an ICD loader), for
# libmam-opencl. No driver is asked for: that is what programs find when they run.
#
# Sets have_opencl, the conditional HAVE_OPENCL, and substitutes OPENCL_LIBS.

AC_DEFUN([MAM_CHECK_OPENCL], [
AC_ARG_WITH([opencl],
  [AS_HELP_STRING([--with-opencl=yes|no|check],
    [libmam-opencl, heaps for OpenCL kernels; default: check, where its headers and library are])],
  [], [with_opencl=check])
have_opencl=no
OPENCL_LIBS=
AS_CASE([$with_opencl], [yes|no|check], [],
  [AC_MSG_ERROR([--with-opencl=$with_opencl: say yes, no or check; CPPFLAGS and LDFLAGS say where OpenCL is])])
AS_IF([test "x$with_opencl" != xno],
  [AC_MSG_CHECKING([for OpenCL])
   opencl_saved_LIBS=$LIBS
   LIBS="-lOpenCL $LIBS"
   AC_LINK_IFELSE([AC_LANG_PROGRAM([[#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>]],
       [[return clGetPlatformIDs(0, 0, 0) == 0 && clEnqueueBarrierWithWaitList(0, 0, 0, 0) == 0;]])],
     [have_opencl=yes
      OPENCL_LIBS=-lOpenCL])
   LIBS=$opencl_saved_LIBS
   AC_MSG_RESULT([$have_opencl])])
AS_IF([test "x$have_opencl" = xno && test "x$with_opencl" = xyes],
  [AC_MSG_ERROR([OpenCL was asked for but not found: install its headers and loader (opencl-headers and ocl-icd-opencl-dev, ocl-icd-devel)])])
AM_CONDITIONAL([HAVE_OPENCL], [test "x$have_opencl" = xyes])
AC_SUBST([OPENCL_LIBS])
AC_SUBST([have_opencl])
])
