#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The sources keep the rules of the house, and house.py finds those that do not.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

house=$top_srcdir/test/tools/house.py
tree=$t_dir/tree
export PYTHONDONTWRITEBYTECODE=1

for needed in python3 nm cc; do
	command -v $needed >/dev/null || t_skip_all "there is no $needed"
done

# write FILE: copies standard input to FILE of the made-up tree
write() {
	mkdir -p "$tree/${1%/*}"
	cat >"$tree/$1"
}

# compile FILE [OPTION...]: makes the object file of one generation
compile() {
	source=$1
	object=$t_dir/build/${1%/*}/v1-${1##*/}
	shift
	mkdir -p "${object%/*}"
	cc -I"$tree/prov/ofi" "$@" -c "$tree/$source" -o "${object%.c}.o"
}

# lines N TEXT: prints TEXT N times
lines() {
	yes "$2" | head -n "$1"
}

# Files with one fault of each kind, and files at the limit of what is allowed
make_tree() {
	wide=$(lines 101 = | tr -d '\n')
	write prov/ofi/base/low.h <<'END'
#pragma once
/* int high(void); in a comment is no declaration */
#include "base/other.h"
#include "api/high.h"
#include "base/absent.h"
int low(void);
int high(void);
__attribute__((const)) int nowhere(void);
static inline int inside(void)
{
	return low();
}
END
	touch "$tree/prov/ofi/base/absent.h" # until others are compiled
	write prov/ofi/base/low.c <<'END'
#include "base/low.h"

int low(void)
{
	return other() + high() + number + careless() + careful() + early();
}

int lonely(void)
{
	return 0;
}
END
	write prov/ofi/base/other.h <<'END'
/* other->lock may be held */
int other(void);
extern int number;
/* number.lock and other->lock held. */
int careless(void);
int careful(void);
/* other->lock held, or no other thread knows it. */
int early(void);
END
	write prov/ofi/base/other.c <<'END'
#include "base/low.h"

int number;

int other(void)
{
	return inside();
}

int careless(void)
{
	return 0;
}

int careful(void)
{
	dofi_assert_held(&number);
	return 0;
}

int early(void)
{
	return 0;
}
END
	write prov/ofi/base/debug.h <<'END'
int debug(void);
int forgotten(void);
END
	write prov/ofi/base/debug.c <<'END'
#ifndef NDEBUG
#include "base/debug.h"

int debug(void)
{
	return 0;
}
#endif
END
	echo '#include "base/low.h"' | write prov/ofi/api/high.h
	write prov/ofi/api/high.c <<'END'
#include "api/high.h"

int high(void)
{
	return low();
}
END
	echo 'int never_compiled;' | write prov/ofi/api/absent.c
	: | write prov/ofi/attic/old.h
	{
		printf 'static void sixty(void)\n{\n'
		lines 58 '	abort();'
		printf '}\n\nstatic void sixty_one(void)\n{\n'
		lines 59 '	abort();'
		printf '}\n\nint main(void)\n{\n\tsixty();\n\tsixty_one();\n}\n'
	} | write src/long.c
	printf '%s\n' "$(lines 100 = | tr -d '\n')" "$wide" |
		write util/info/wide.def
	printf '#!/bin/sh\n\t%s\n' "$(lines 93 : | tr -d '\n')" | write contrib/script
	{
		lines 101 p | tr -d '\n'
		printf '\n- **IA-001** %s\n| %s |\n[link](%s)\n' "$wide" "$wide" "$wide"
		# shellcheck disable=SC2016 # a fence of a page
		printf '```\n%s\n```\n\n    %s\n\n- %s\n' "$wide" "$wide" "$wide"
	} | write docs/page.md
	cp "$tree/docs/page.md" "$tree/PAGE.md" || return
	printf 'int main( void )\n{\n}\n' | write util/common/loose.c
	write src/locale.h <<'END'
/* toupper(c) in a comment is no call */
#define SAME(a, b) (!strcasecmp(a, b))
END
	printf '#define BIG(c) toupper(c)\n' | write util/common/locale.h
	{
		echo '# file	function	line	reason'
		printf '%s\trace\n' 'src/long.c	sixty	abort();' 'src/long.c	-	sixty();' \
			'src/long.c	sixty	sixty();' 'src/long.c	seventy	abort();' \
			'src/gone.c	sixty	abort();'
	} | write test/tools/untaken.tsv
	cp "$top_srcdir/.clang-format" "$tree" || return
	for file in base/low base/other api/high; do
		compile "prov/ofi/$file.c" '-Ddofi_assert_held(lock)=' || return
	done
	compile prov/ofi/base/debug.c -DNDEBUG || return
	compile src/long.c -include stdlib.h && compile util/common/loose.c &&
		rm "$tree/prov/ofi/base/absent.h"
}

# All findings of the made-up tree
expected() {
	cat <<END
table prov/ofi/attic/old.h:1
edges prov/ofi/base/low.h:4
edges prov/ofi/base/low.h:5
symbols prov/ofi/api/absent.c:1
symbols prov/ofi/base/low.c:5
unused prov/ofi/base/low.c:8
functions src/long.c:64
columns contrib/script:2
columns docs/page.md:1
columns docs/page.md:11
columns util/info/wide.def:2
columns PAGE.md:1
columns PAGE.md:11
format util/common/loose.c:1
headers prov/ofi/base/debug.h:2
headers prov/ofi/base/low.h:7
headers prov/ofi/base/low.h:8
locale src/locale.h:2
locks prov/ofi/base/other.h:5
untaken test/tools/untaken.tsv:4
untaken test/tools/untaken.tsv:5
untaken test/tools/untaken.tsv:6
END
}

# finds KIND: true when house.py reports exactly the faults of this kind, each with file and line
finds() {
	expected | sed -n "s/^$1 //p" >"$t_dir/expected"
	python3 "$house" --list "$1" "$tree" "$t_dir/build" >"$t_dir/found"
	status=$?
	cat "$t_dir/found"
	[ "$status" = 1 ] && ! grep -v '^[^:]*:[0-9]*: [^:]*: .' "$t_dir/found" &&
		cut -d: -f1,2 "$t_dir/found" | diff "$t_dir/expected" -
}

finds_circle() {
	python3 - "${house%/*}" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import house
assert not any(map(house.circle, house.EDGES))
house.EDGES[house.BASE].append(house.API)
assert house.circle(house.BASE) == [house.BASE, house.API, house.BASE]
END
}

t_run 'a tree with faults compiles' make_tree
t_run 'a circle of rooms is found' finds_circle
python3 "$house" --kinds >"$t_dir/kinds"
while read -r kind rule; do
	python3 "$house" --list "$kind" "$top_srcdir" "${top_builddir:?}" >"$t_dir/findings" 2>&1
	case $? in
	0) t_pass "$rule" ;;
	77)
		t_skip "$rule" "$(cat "$t_dir/findings")"
		continue
		;;
	*) t_fail "$rule" "$t_dir/findings" ;;
	esac
	t_run "faults are found: $kind" finds "$kind"
done <"$t_dir/kinds"
t_run 'the bugs of test/sim/bugs.py can be put back' \
	python3 "$top_srcdir/test/sim/bugs.py" --source "$top_srcdir" --check
t_done
