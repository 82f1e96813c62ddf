# SPDX-License-Identifier: Apache-2.0
#
# MAM_CHECK_LIBCLANG - find libclang's C interface, which `mam coalesce' reads CUDA sources with.
#
# 1. Distributions put it beside others of its kind: every llvm-config there is says where, and of
#    those that were installed without one the folders are looked for: /usr/lib/llvm-19 (Debian,
#    Ubuntu), /usr/lib/llvm19 (Alpine). The newest first; last where compilers look by themselves
#    (Fedora, SUSE, Arch).
# 2. The first whose library can be linked to, and whose headers are there, is taken.
# 3. Where its own headers (stddef.h) are is kept: libclang looks for them from where it lies itself,
#    which distributions have moved it away from.
#
# Sets have_libclang, the conditional HAVE_LIBCLANG, and substitutes LIBCLANG_CPPFLAGS, LIBCLANG_LIBS
# and LIBCLANG_RESOURCE_DIR.

AC_DEFUN([MAM_CHECK_LIBCLANG], [
AC_ARG_WITH([libclang],
  [AS_HELP_STRING([--with-libclang=yes|no|check|LLVM-CONFIG|DIR],
    [libclang 13 or later for `mam coalesce'; default: check, the newest])],
  [], [with_libclang=check])
have_libclang=no
LIBCLANG_CPPFLAGS=
LIBCLANG_LIBS=
LIBCLANG_RESOURCE_DIR=
AS_IF([test "x$with_libclang" != xno],
  [AC_MSG_CHECKING([for libclang])
   libclang_found=`
     case $with_libclang in
     yes | check)
       libclang_asked="llvm-config /usr/lib/llvm-*/bin/llvm-config /usr/lib/llvm[[0-9]]*/bin/llvm-config"
       libclang_asked="$libclang_asked /usr/lib64/llvm[[0-9]]*/bin/llvm-config"
       for libclang_major in 13 14 15 16 17 18 19 20 21 22 23 24 25 26; do
         libclang_asked="$libclang_asked llvm-config-$libclang_major llvm-config$libclang_major"
       done
       libclang_folders=\`echo /usr/lib/llvm-* /usr/lib/llvm[[0-9]]* /usr/lib64/llvm[[0-9]]*\` ;;
     *)
       libclang_asked=$with_libclang
       libclang_folders=$with_libclang ;;
     esac
     for libclang_config in $libclang_asked; do
       test ! -d "$libclang_config" || continue
       libclang_version=\`$libclang_config --version 2> /dev/null\` || continue
       echo "$libclang_version:\`$libclang_config --includedir\`:\`$libclang_config --libdir\`"
     done | sort -t . -k 1,1nr -k 2,2nr -k 3,3nr > conftest.libclang
     for libclang_folder in $libclang_folders; do
       test -e "$libclang_folder/include/clang-c/Index.h" || continue
       libclang_major=\`echo "$libclang_folder" | sed 's|.*[[^0-9]]||'\`
       echo "${libclang_major:-99}:$libclang_folder/include:$libclang_folder/lib"
     done >> conftest.libclang
     sort -s -t . -k 1,1nr conftest.libclang
     rm -f conftest.libclang`
   libclang_saved_CPPFLAGS=$CPPFLAGS
   libclang_saved_LIBS=$LIBS
   # No folder: where the compiler looks.
   AS_CASE([$with_libclang], [yes|check], [libclang_found="$libclang_found ::"])
   for libclang_one in $libclang_found; do
     test "x$have_libclang" = xno || break
     libclang_version=`echo "$libclang_one" | cut -d : -f 1`
     libclang_include=`echo "$libclang_one" | cut -d : -f 2`
     libclang_dir=`echo "$libclang_one" | cut -d : -f 3`
     libclang_major=`echo "$libclang_version" | sed 's/[[^0-9]].*//'`
     libclang_short=`echo "$libclang_version" | sed 's/[[^0-9.]].*//'`
     AS_IF([test "x$libclang_dir" = x],
       [libclang_cppflags= libclang_place= libclang_version="where compilers look"],
       [test "$libclang_major" -ge 13 2> /dev/null || continue
        libclang_cppflags="-isystem $libclang_include" libclang_place="-L$libclang_dir"])
     for libclang_name in clang "clang-$libclang_major"; do
       CPPFLAGS="$libclang_saved_CPPFLAGS $libclang_cppflags"
       LIBS="$libclang_place -l$libclang_name $libclang_saved_LIBS"
       AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <clang-c/Index.h>]],
           [[return clang_createIndex(0, 0) == 0;]])],
         [have_libclang="yes ($libclang_version)"
          LIBCLANG_CPPFLAGS=$libclang_cppflags
          LIBCLANG_LIBS="$libclang_place -l$libclang_name"
          for libclang_own in "$libclang_dir/clang/$libclang_major" "$libclang_dir/clang/$libclang_short" \
              "$libclang_dir/clang/$libclang_major".* \
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
