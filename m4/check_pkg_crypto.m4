# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# DAT_CHECK_PKG_CRYPTO
# Finds the library that computes HMACs to authenticate peers: libcrypto of OpenSSL 3, else
# libsodium, else libcrypto of OpenSSL 1.1.1. OpenSSL 3 uses the processor's instructions for SHA-256
# and keeps the state of a key; of the others, libsodium does the second.
AC_DEFUN([DAT_CHECK_PKG_CRYPTO], [
	AC_ARG_WITH([crypto],
		[AS_HELP_STRING([--with-crypto=auto|sodium|openssl], [library that authenticates peers; auto prefers OpenSSL 3])],
		[], [with_crypto=auto])
	AS_CASE([$with_crypto], [auto|sodium|openssl], [],
		[AC_MSG_ERROR([--with-crypto=$with_crypto: choose auto, sodium or openssl])])
	dat_crypto_summary=
	AS_IF([test "x$with_crypto" != xsodium], [
		PKG_CHECK_MODULES([CRYPTO], [libcrypto >= 3.0.0],
			[dat_crypto_summary="libcrypto `$PKG_CONFIG --modversion libcrypto`"], [:])
	])
	AS_IF([test -z "$dat_crypto_summary" && test "x$with_crypto" != xopenssl], [
		PKG_CHECK_MODULES([CRYPTO], [libsodium >= 1.0.12], [
			dat_crypto_summary="libsodium `$PKG_CONFIG --modversion libsodium`"
			AC_DEFINE([HAVE_SODIUM], [1], [libsodium authenticates peers; else libcrypto])
		], [:])
	])
	AS_IF([test -z "$dat_crypto_summary" && test "x$with_crypto" != xsodium], [
		PKG_CHECK_MODULES([CRYPTO], [libcrypto >= 1.1.1],
			[dat_crypto_summary="libcrypto `$PKG_CONFIG --modversion libcrypto`"], [:])
	])
	AS_IF([test -z "$dat_crypto_summary"], [
		AC_MSG_ERROR([--with-crypto=$with_crypto found neither OpenSSL nor libsodium 1.0.12: install libssl-dev (Debian), openssl-devel (Fedora, SUSE), or the headers of libsodium])
	])
])
