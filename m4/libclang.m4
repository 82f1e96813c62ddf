# SPDX-License-Identifier: Apache-2.0
#
# MAM_CHECK_LIBCLANG - find libclang's C interface, which `mam coalesce' reads CUDA sources with.
#
# 1. Distributions put it where only llvm-config says: those of PATH with a version in the name, of
#    /usr/lib/llvm-* and the plain one are asked, the newest first.
# 2. The first whose library can be linked to, and whose headers are there, is taken.
# 3. Where its own headers (stddef.h) are is kept: libclang looks for them from where it lies itself,
#    which distributions have moved it away from.
#
# Sets have_libclang, the conditional HAVE_LIBCLANG, and substitutes LIBCLANG_CPPFLAGS, LIBCLANG_LIBS
# and LIBCLANG_RESOURCE_DIR.

AC_DEFUN([MAM_CHECK_LIBCLANG], [
AC_ARG_WITH([libclang],
  [AS_HELP_STRING([--with-libclang=yes|no|check|LLVM-CONFIG],
    [libclang 13 or later for `mam coalesce'; default: check, the newest])],
  [], [with_libclang=check])
have_libclang=no
LIBCLANG_CPPFLAGS=
LIBCLANG_LIBS=
LIBCLANG_RESOURCE_DIR=
AS_IF([test "x$with_libclang" != xno],
  [AC_MSG_CHECKING([for libclang])
   AS_CASE([$with_libclang],
     [yes|check], [libclang_configs=`
        for libclang_config in llvm-config /usr/lib/llvm-*/bin/llvm-config /usr/lib/llvm/*/bin/llvm-config \
            /usr/lib*/llvm[[0-9]]*/bin/llvm-config \
            llvm-config-13 llvm-config-14 llvm-config-15 llvm-config-16 llvm-config-17 llvm-config-18 \
            llvm-config-19 llvm-config-20 llvm-config-21 llvm-config-22 llvm-config-23 llvm-config-24; do
          libclang_version=\`$libclang_config --version 2> /dev/null\` || continue
          echo "$libclang_version $libclang_config"
        done | sort -t . -k 1,1nr -k 2,2nr -k 3,3nr | sed 's/^[[^ ]]* //'`],
     [libclang_configs=$with_libclang])
   libclang_saved_CPPFLAGS=$CPPFLAGS
   libclang_saved_LIBS=$LIBS
   for libclang_config in $libclang_configs; do
     test "x$have_libclang" = xno || break
     libclang_version=`$libclang_config --version 2> /dev/null` || continue
     libclang_major=`echo "$libclang_version" | sed 's/\..*//'`
     libclang_short=`echo "$libclang_version" | sed 's/[[^0-9.]].*//'`
     libclang_dir=`$libclang_config --libdir`
     test "$libclang_major" -ge 13 2> /dev/null || continue
     for libclang_name in clang "clang-$libclang_major"; do
       CPPFLAGS="$libclang_saved_CPPFLAGS -isystem `$libclang_config --includedir`"
       LIBS="-L$libclang_dir -l$libclang_name $libclang_saved_LIBS"
       AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <clang-c/Index.h>]],
           [[return clang_createIndex(0, 0) == 0;]])],
         [have_libclang="yes ($libclang_version)"
          LIBCLANG_CPPFLAGS="-isystem `$libclang_config --includedir`"
          LIBCLANG_LIBS="-L$libclang_dir -l$libclang_name"
          for libclang_own in "$libclang_dir/clang/$libclang_major" "$libclang_dir/clang/$libclang_short" \
              "/usr/lib/clang/$libclang_major" "/usr/lib/clang/$libclang_short"; do
            AS_IF([test -e "$libclang_own/include/stddef.h"],
              [LIBCLANG_RESOURCE_DIR=$libclang_own
               break])
          done
          break])
     done
   done
   CPPFLAGS=$libclang_saved_CPPFLAGS
   LIBS=$libclang_saved_LIBS
   AC_MSG_RESULT([$have_libclang])])
AS_IF([test "x$have_libclang" = xno && test "x$with_libclang" != xno && test "x$with_libclang" != xcheck],
  [AC_MSG_ERROR([libclang 13 or later was asked for but not found: install its development package (libclang-dev, clang-devel)])])
AM_CONDITIONAL([HAVE_LIBCLANG], [test "x$have_libclang" != xno])
AC_SUBST([LIBCLANG_CPPFLAGS])
AC_SUBST([LIBCLANG_LIBS])
AC_SUBST([LIBCLANG_RESOURCE_DIR])
])
