#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# quirks.c is the one place that asks which provider, protocol or version of libfabric it is, and
# docs/libfabric-quirks.md has a row for each of its names.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

quirks=$top_srcdir/prov/ofi/fabric/quirks.c page=$top_srcdir/docs/libfabric-quirks.md

# shellcheck disable=SC2016 # names are in backticks
same_names() {
	sed -n 's/.*{QUIRK(\([A-Z_]*\)).*/\1/p' "$quirks" | sort -u >"$t_dir/table"
	sed -n 's/^| `\([A-Z_]*\)` |.*/\1/p' "$page" | sort >"$t_dir/page"
	test -s "$t_dir/table" && diff "$t_dir/table" "$t_dir/page"
}

# The names in quirks.h, in the rows of quirks.c and on the page are the same.
same_bits() {
	sed -n 's/^#define DOFI_QUIRK_\([A-Z_]*\) *DOFI_QUIRK_BIT.*/\1/p' "${quirks%.c}.h" |
		sort >"$t_dir/bits"
	diff "$t_dir/bits" "$t_dir/table"
}

# Exceptions: FILE PATTERN REASON.
exceptions='absent.c fi_version tells people
absent.c prov_name tells people
attr.c prov_name tells programs
counters.c prov_name tells people
env.c prov_name asks for the device below rxm
facts.c fi_version tells programs
handshake.c prov_name compares both ends of a connection
info.c prov_name passes on what a user asks for
select.c fi_version agrees on the interface with libfabric
select.c prov_name tells people
wish.c fi_version agrees on the interface with libfabric'

nobody_else_asks() {
	for word in prov_name FI_PROTO_ fi_version; do
		grep -rl --include='*.[ch]' "\<$word" "$top_srcdir/prov/ofi" | sed 's|.*/||' |
			grep -v '^quirks\.[ch]$' |
			sed "s/\$/ $word/"
	done | sort >"$t_dir/asking"
	echo "$exceptions" | cut -d ' ' -f 1,2 | sort | diff - "$t_dir/asking"
}

t_run 'docs/libfabric-quirks.md has the names of quirks.c' same_names
t_run 'each bit of quirks.h has a row' same_bits
t_run 'no other file asks for provider, protocol or version' nobody_else_asks
t_done
