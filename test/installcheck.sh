#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Run by "make installcheck": builds a program by pkg-config against the installed tree, runs it,
# and checks the symbols of the libraries. usage: installcheck.sh DESTDIR BINDIR LIBDIR CC

set -eu
destdir=$1 bindir=$1$2 libdir=$1$3 cc=$4

dir=$(mktemp -d "${TMPDIR:-/tmp}/dat-ofi-installcheck.XXXXXX")
trap 'rm -rf "$dir"' EXIT
export PKG_CONFIG_PATH="$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$destdir"
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 # a prefix of /usr
export LD_LIBRARY_PATH="$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

fail() {
	echo "installcheck: $*" >&2
	exit 1
}

# program PACKAGE: builds a program of that generation of DAT, which lists our default name
program() {
	cat >"$dir/$1.c" <<-EOF
	#include <$1/udat.h>
	#include <stdio.h>
	#include <string.h>

	int main(void)
	{
		static DAT_PROVIDER_INFO info[256];
		DAT_PROVIDER_INFO *list[256];
		DAT_COUNT count = 0;

		for (int i = 0; i < 256; i++)
			list[i] = &info[i];
		if (dat_registry_list_providers(256, &count, list) != DAT_SUCCESS)
			return 1;
		for (int i = 0; i < count; i++)
			if (!strcmp(info[i].ia_name, "ofi"))
				return 0;
		puts("the name ofi is not listed");
		return 1;
	}
	EOF
	# shellcheck disable=SC2046 # pkg-config answers in words
	$cc "$dir/$1.c" $(pkg-config --cflags --libs "$1") -o "$dir/$1" ||
		fail "a program for $1 does not compile by pkg-config"
	"$dir/$1" || fail "a program for $1 does not run"
}

# exports LIBRARY SYMBOL@VERSION...
exports() {
	library=$1
	shift
	nm -D --defined-only "$libdir/$library" |
		awk '$2 != "A" { sub("@@", "@", $3); print $3 }' >"$dir/symbols"
	echo "$library: $(wc -l <"$dir/symbols") symbols"
	for symbol; do
		grep -q -x "$symbol" "$dir/symbols" || fail "$library does not export $symbol"
	done
}

# run_path FILE: is true if the file has a run path. Leaves FILE's dynamic section in $dir/dynamic
run_path() {
	readelf -dW "$1" >"$dir/dynamic"
	grep -q -E 'R(UN)?PATH' "$dir/dynamic"
}

# dynamic FILE: checks that the file has no run path of ours and that a provider does not need a
# registry
dynamic() {
	! run_path "$1" || [ "$compiler_adds" ] || fail "$1 has a run path"
	! grep -q -E 'NEEDED.*libdat2?\.so' "$dir/dynamic" || case $1 in
	*/libdat*) fail "$1 needs a registry library" ;;
	esac
}

exports libdat.so.1 dat_ia_openv@DAT_1.2 dats_get_ia_handle@DAT_1.2
exports libdat2.so.2 dat_ia_openv@DAT_2.0 dat_extension_op@DAT_2.0 dat_csp_create@DAT_OFI_1.0
for provider in libdatofi.so.1 libdatofi.so.2; do
	exports $provider
	sed 's/@.*//' "$dir/symbols" | sort >"$dir/names"
	printf '%s\n' dapl_extensions dat_provider_fini dat_provider_init | cmp -s - "$dir/names" ||
		fail "$provider exports other symbols than its three entry points"
done
# Spack's compiler writes a run path into every program.
echo 'int main(void) { return 0; }' >"$dir/empty.c"
$cc "$dir/empty.c" -o "$dir/empty"
compiler_adds=
! run_path "$dir/empty" || compiler_adds=yes
for file in "$libdir"/libdat*.so.[12] "$bindir"/dat_conf "$bindir"/dat_info "$bindir"/dat_perf; do
	dynamic "$file"
done
program dat
program dat2
for tool in dat_conf dat_info dat_perf; do
	"$bindir/$tool" --version >"$dir/version" || fail "$tool does not run"
	grep -q dat-ofi "$dir/version" || fail "$tool --version does not name dat-ofi"
done
echo "installcheck: $libdir is good"
