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

dnl PFL_WARNINGS: the warnings of this project; --enable-werror makes them errors, as CI does.
AC_DEFUN([PFL_WARNINGS], [
AC_ARG_ENABLE([werror],
	[AS_HELP_STRING([--enable-werror], [treat warnings as errors])],
	[], [enable_werror=no])
WARN_CFLAGS="-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wno-unused-parameter -Wno-missing-field-initializers"
AS_IF([test "$enable_werror" != no], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
AC_SUBST([WARN_CFLAGS])
])
