dnl PFL_SANITIZE: --enable-sanitize=address,undefined or =thread builds everything under those sanitizers.
AC_DEFUN([PFL_SANITIZE], [
AC_ARG_ENABLE([sanitize],
	[AS_HELP_STRING([--enable-sanitize=LIST], [address,undefined or thread])],
	[], [enable_sanitize=no])
SANITIZE_CFLAGS=
AS_IF([test "$enable_sanitize" != no], [
	SANITIZE_CFLAGS="-fsanitize=$enable_sanitize -fno-sanitize-recover=all -fno-omit-frame-pointer -O1"
	AC_DEFINE([PFL_SANITIZED], [1], [Built under a sanitizer, whose run time needs more system calls and address space.])
])
AC_SUBST([SANITIZE_CFLAGS])
AM_CONDITIONAL([SANITIZED], [test "$enable_sanitize" != no])
])

dnl PFL_FUZZ: --enable-fuzz builds everything for libFuzzer, under the address and undefined sanitizers; clang only.
AC_DEFUN([PFL_FUZZ], [
AC_ARG_ENABLE([fuzz],
	[AS_HELP_STRING([--enable-fuzz], [build the fuzz targets with libFuzzer (CC=clang)])],
	[], [enable_fuzz=no])
FUZZ_LIBS=
AS_IF([test "$enable_fuzz" != no], [
	AS_IF([test "$enable_sanitize" != no], [AC_MSG_ERROR([--enable-fuzz brings its own sanitizers: leave --enable-sanitize out])])
	SANITIZE_CFLAGS="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g"
	AC_MSG_CHECKING([whether $CC builds with libFuzzer])
	pfl_saved_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS $SANITIZE_CFLAGS"
	pfl_saved_LIBS=$LIBS
	LIBS="$LIBS -fsanitize=fuzzer"
	AC_LINK_IFELSE([AC_LANG_SOURCE([[
		#include <stddef.h>
		int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) { return data && size ? 0 : 0; }
	]])], [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])
		AC_MSG_ERROR([--enable-fuzz needs CC=clang and its run time (package libclang-rt-14-dev)])])
	CFLAGS=$pfl_saved_CFLAGS
	LIBS=$pfl_saved_LIBS
	FUZZ_LIBS=-fsanitize=fuzzer
	AC_DEFINE([PFL_FUZZING], [1], [The fuzz targets get their main() from libFuzzer.])
	AC_DEFINE([PFL_SANITIZED], [1])
])
AC_SUBST([FUZZ_LIBS])
])

dnl PFL_WARNINGS: the warnings of this project; --enable-werror makes them errors, as CI does.
AC_DEFUN([PFL_WARNINGS], [
AC_ARG_ENABLE([werror],
	[AS_HELP_STRING([--enable-werror], [treat warnings as errors])],
	[], [enable_werror=no])
WARN_CFLAGS="-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wno-unused-parameter -Wno-missing-field-initializers"
dnl What clang alone warns of: long literals in arrays, joined on purpose, and attributes that gcc alone has.
AC_MSG_CHECKING([whether $CC knows -Wstring-concatenation])
pfl_saved_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS -Werror -Wstring-concatenation"
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[int x;]])],
	[AC_MSG_RESULT([yes])
	WARN_CFLAGS="$WARN_CFLAGS -Wno-string-concatenation -Wno-unknown-attributes"],
	[AC_MSG_RESULT([no])])
CFLAGS=$pfl_saved_CFLAGS
AS_IF([test "$enable_werror" != no], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
AC_SUBST([WARN_CFLAGS])
])

dnl PFL_FIND_CURL: profilectl loads libcurl at its first request; PFL_LIBCURL is the name that a program linked with it asks for.
AC_DEFUN([PFL_FIND_CURL], [
PKG_CHECK_MODULES([CURL], [libcurl])
AC_CHECK_TOOL([READELF], [readelf], [:])
AC_MSG_CHECKING([for the name of libcurl])
pfl_saved_CFLAGS=$CFLAGS
pfl_saved_LIBS=$LIBS
CFLAGS="$CFLAGS $CURL_CFLAGS"
LIBS="$LIBS $CURL_LIBS"
pfl_libcurl=
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <curl/curl.h>]], [[return curl_easy_init() == 0;]])],
	[pfl_libcurl=`$READELF -d conftest$EXEEXT | $SED -n 's/.*NEEDED.*\@<:@\(libcurl@<:@^@:>@@:>@*\)\@:>@.*/\1/p'`])
CFLAGS=$pfl_saved_CFLAGS
LIBS=$pfl_saved_LIBS
AS_IF([test -n "$pfl_libcurl"], [AC_MSG_RESULT([$pfl_libcurl])],
	[AC_MSG_ERROR([no program can be linked with a shared libcurl, or there is no readelf: install libcurl4-openssl-dev and binutils])])
AC_DEFINE_UNQUOTED([PFL_LIBCURL], ["$pfl_libcurl"], [The shared library of libcurl, as programs are linked with it.])
])
