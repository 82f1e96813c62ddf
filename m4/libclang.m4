# SPDX-License-Identifier: Apache-2.0
#
# MAM_CHECK_LIBCLANG - find libclang's C interface, which `mam coalesce` reads CUDA sources with.
#
# Sets have_libclang, the conditional HAVE_LIBCLANG, and substitutes LIBCLANG_CPPFLAGS and LIBCLANG_LIBS.
# Distributions put its headers where only llvm-config says; the newest that has them is taken.

AC_DEFUN([MAM_CHECK_LIBCLANG], [
AC_ARG_WITH([libclang],
  [AS_HELP_STRING([--with-libclang=yes|no|check|LLVM-CONFIG],
    [libclang for `mam coalesce'; default: check])],
  [], [with_libclang=check])
have_libclang=no
LIBCLANG_CPPFLAGS=
LIBCLANG_LIBS=
AS_IF([test "x$with_libclang" != xno],
  [AC_MSG_CHECKING([for libclang])
   AS_CASE([$with_libclang],
     [yes|check], [libclang_configs="llvm-config llvm-config-22 llvm-config-21 llvm-config-20 llvm-config-19 llvm-config-18 llvm-config-17 llvm-config-16 llvm-config-15 llvm-config-14"],
     [libclang_configs=$with_libclang])
   libclang_saved_CPPFLAGS=$CPPFLAGS
   libclang_saved_LIBS=$LIBS
   for libclang_config in $libclang_configs; do
     test "x$have_libclang" = xno || break
     libclang_version=`$libclang_config --version 2> /dev/null` || continue
     libclang_major=`echo "$libclang_version" | sed 's/\..*//'`
     libclang_dir=`$libclang_config --libdir`
     for libclang_name in clang "clang-$libclang_major"; do
       CPPFLAGS="$libclang_saved_CPPFLAGS -isystem `$libclang_config --includedir`"
       LIBS="-L$libclang_dir -l$libclang_name $libclang_saved_LIBS"
       AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <clang-c/Index.h>]],
           [[return clang_createIndex(0, 0) == 0;]])],
         [have_libclang="yes ($libclang_version)"
          LIBCLANG_CPPFLAGS="-isystem `$libclang_config --includedir`"
          LIBCLANG_LIBS="-L$libclang_dir -l$libclang_name"
          break])
     done
   done
   CPPFLAGS=$libclang_saved_CPPFLAGS
   LIBS=$libclang_saved_LIBS
   AC_MSG_RESULT([$have_libclang])])
AS_IF([test "x$have_libclang" = xno && test "x$with_libclang" != xno && test "x$with_libclang" != xcheck],
  [AC_MSG_ERROR([libclang was asked for but not found: install its development package (libclang-dev, clang-devel)])])
AM_CONDITIONAL([HAVE_LIBCLANG], [test "x$have_libclang" != xno])
AC_SUBST([LIBCLANG_CPPFLAGS])
AC_SUBST([LIBCLANG_LIBS])
])
