#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# make fuzz-coverage: builds the fuzz targets with coverage in test/fuzz/covered of the build
# directory, replays the corpora, and prints for each target the coverage of each file that it
# tests.
#
# coverage.sh [TARGET...]

set -u
: "${top_srcdir:?}" "${top_builddir:?}"
tree=$top_builddir/test/fuzz/covered
: "${FUZZ_CC=clang}" "${LIBFABRIC=}"
rooms=prov/ofi

# subjects TARGET: prints patterns for the files that a target tests
subjects() {
	case $1 in
	conf*) echo src/conf.c ;;
	params) echo $rooms/base/param.c ;;
	wire) echo $rooms/cm/wire.c ;;
	cookie) echo $rooms/base/cookie.c ;;
	key) echo $rooms/auth/key.c $rooms/auth/key_file.c ;;
	control) echo $rooms/dto/control.c $rooms/dto/control_message.c ;;
	channel)
		for name in accept channel conn conn_end conn_event conn_message conn_state \
			connect cr crowd disconnect drain handshake invalidation listener \
			path redial service_point truncated \
			ud_ah wire; do
			echo $rooms/cm/$name.c
		done
		;;
	esac
}

build() {
	mkdir -p "$tree" && cd "$tree" || return 1
	[ -f Makefile ] ||
		"$top_srcdir/configure" --enable-debug --disable-probes \
			${LIBFABRIC:+--with-libfabric="$LIBFABRIC"} CC="$FUZZ_CC" \
			CFLAGS='-O1 -g1 -fprofile-instr-generate -fcoverage-mapping' \
			>configure.log 2>&1 || return 1
	make -s Makefile >make.log 2>&1 || return 1 # so that nothing but the list is printed
	all=$(make -s fuzz-list)
	# shellcheck disable=SC2086
	make -s -j"$(nproc)" $all >make.log 2>&1
}

# report TARGET
report() {
	program=$tree/test/fuzz/fuzz_$1
	files=
	for file in $(subjects "$1"); do
		files="$files $top_srcdir/$file"
	done
	rm -f "$tree/$1".profraw
	LLVM_PROFILE_FILE=$tree/$1.profraw "$tree/test/run-env" "$program" >"$tree/$1.tap" 2>&1 ||
		return 1
	llvm-profdata merge -o "$tree/$1.profdata" "$tree/$1.profraw" || return 1
	# shellcheck disable=SC2086
	llvm-cov report "$program" -instr-profile="$tree/$1.profdata" $files >"$tree/$1.txt" ||
		return 1
	awk -v target="$1" '
		/^TOTAL/ { printf "%-8s %5d lines, %s executed; %d branches, %s taken\n", target,
			$8, $10, $11, $13 }' "$tree/$1.txt"
}

build || {
	echo "fuzz-coverage: the targets cannot be built; see $tree/configure.log and make.log" >&2
	exit 1
}
[ $# != 0 ] || set -- channel conf2 control cookie key params wire
for target; do
	report "$target" || {
		echo "fuzz-coverage: $target cannot be replayed; see $tree/$target.tap" >&2
		exit 1
	}
done
