#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The mutation tool breaks a made-up tree, and its one test notices what it should.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

tree=$t_dir/tree
work=$t_dir/work
export PYTHONDONTWRITEBYTECODE=1 MUTANTS_LIMIT=5

for needed in python3 make cc; do
	command -v $needed >/dev/null || t_skip_all "there is no $needed"
done

# write FILE: what comes from standard input, into the made-up tree
write() {
	mkdir -p "$tree/${1%/*}"
	cat >"$tree/$1"
}

# A function, its test, and a configure of some lines.
make_tree() {
	write ./configure <<'END'
#!/bin/sh
mkdir -p test/unit/registry
echo 'exec "$@"' >test/run-env
sed "s|@top@|${0%/*}|" "${0%/*}/Makefile.in" >Makefile
: >config.status
END
	chmod +x "$tree/configure"
	write ./Makefile.in <<'END'
all: limit.o
limit.o: @top@/src/limit.c
	cc -O2 -Wall -Werror -c @top@/src/limit.c -o $@
test/unit/registry/check_limit: @top@/test/unit/registry/check_limit.c limit.o
	cc $^ -o $@
END
	write src/limit.c <<'END'
/* length == limit in a comment */
const char *text = "length == limit in a string";
#define DIRECTIVE (length == limit)

int fits(int length, int limit)
{
	int calls;

	calls = 12345;
	if (!text)
		return calls;
	if (length < 0)
		return 0;
#ifdef NEVER
	length++;
#endif
	while (length == 12345)
		length = 1;
	return length <= limit;
}
END
	write test/unit/registry/check_limit.c <<'END'
#include <stdio.h>

int fits(int length, int limit);

int main(void)
{
	int good = fits(3, 3) && !fits(4, 3) && !fits(-1, 3) && fits(1, 3);

	printf("1..1\n%sok 1 - limit\n", good ? "" : "not ");
	return 0;
}
END
	cp "$tree/src/limit.c" "$t_dir/kept"
}

mutants() {
	timeout "$t_limit" python3 "$top_srcdir/test/mutants/mutants.py" --source "$tree" "$@"
}

# run_mutants [OPTION...]: those of the tree, over its one test
run_mutants() {
	mutants --work "$work" --configure '' --unit test/unit/registry/check_limit --depth unit \
		--equivalent "$t_dir/equivalent" --seed 5 "$@" >"$t_dir/log" 2>&1
	status=$?
	cat "$t_dir/log"
	return "$status"
}

# name_of KIND LINE: of the mutant of that kind in that line
name_of() {
	for name in $(mutants --list --only ":$1:"); do
		mutants --show "$name" >"$t_dir/diff" && grep -q -e "^-	*$2" "$t_dir/diff" &&
			echo "$name"
	done
}

# result_of NAME: what the table says, and by what
result_of() {
	awk -F '\t' -v name="$1" '$1 == name { print $2, $3 }' "$work/table.tsv"
}

names_are_good() {
	mutants --list >"$t_dir/all" && [ "$(wc -l <"$t_dir/all")" -gt 9 ] &&
		[ -z "$(sort "$t_dir/all" | uniq -d)" ] &&
		! grep -v '^src/limit.c:fits:[a-z-]*:[0-9]*:[0-9a-f]*$' "$t_dir/all"
}

# Neither an edit above the function nor one within it changes the name of another line.
names_are_stable() {
	mutants --list | sort >"$t_dir/before"
	sed 's/^int fits/int unused;\n\n&/; s/^	while/	unused = 7;\n&/' "$t_dir/kept" \
		>"$tree/src/limit.c"
	mutants --list | sort >"$t_dir/after"
	cp "$t_dir/kept" "$tree/src/limit.c"
	comm -23 "$t_dir/before" "$t_dir/after" >"$t_dir/lost"
	cat "$t_dir/lost"
	! [ -s "$t_dir/lost" ] && ! cmp -s "$t_dir/before" "$t_dir/after"
}

shows_one_line() {
	mutants --show "$killed" >"$t_dir/diff" || return
	grep -q '^-	return length <= limit;' "$t_dir/diff" &&
		grep -q '^+	return length < limit;' "$t_dir/diff" &&
		[ "$(grep -c '^[-+]	' "$t_dir/diff")" = 2 ]
}

kills() {
	run_mutants --only "^$killed\$" &&
		result_of "$killed" | grep -x 'killed test/unit/registry/check_limit limit'
}

lets_survive() {
	run_mutants --only "^$survivor\$" && result_of "$survivor" | grep -x 'survived unit'
}

skips_equivalent() {
	printf '%s\tnobody passes such a length\n' "$survivor" >"$t_dir/equivalent"
	run_mutants --only "^$survivor\$" &&
		result_of "$survivor" | grep -x 'equivalent nobody passes such a length' &&
		grep '^# 0 mutants ran' "$t_dir/log"
}

# A change of what is not compiled
finds_the_same_code() {
	name=$(name_of arithmetic 'length++')
	run_mutants --only "^$name\$" &&
		result_of "$name" | grep -x 'equivalent the compiler makes the same code of it' &&
		grep '^# 0 mutants ran' "$t_dir/log"
}

# The compiler rejects a variable without a value.
does_not_count_what_does_not_compile() {
	name=$(name_of drop-set 'calls = 12345')
	run_mutants --only "^$name\$" && result_of "$name" | grep -x 'uncompiled ' &&
		grep '^# 0 mutants ran' "$t_dir/log"
}

# A loop that never ends for a length of 1
kills_by_time() {
	name=$(name_of compare 'while (length')
	run_mutants --only "^$name\$" &&
		result_of "$name" | grep -x 'killed .*check_limit hangs (15 s)'
}

leaves_sources_alone() {
	cmp "$t_dir/kept" "$tree/src/limit.c" &&
		cmp "$t_dir/kept" "$work/unmutated/tree/src/limit.c" &&
		cmp "$t_dir/kept" "$work/copy0/tree/src/limit.c"
}

# Only what survived runs again, and its last line in the table counts.
runs_again() {
	: >"$t_dir/equivalent"
	run_mutants --only "^($killed|$survivor)\$" || return
	run_mutants --only "^($killed|$survivor)\$" --resume &&
		! grep -E '^(killed|survived)' "$t_dir/log" || return
	run_mutants --only "^($killed|$survivor)\$" --resume --again &&
		[ "$(grep -cE '^(killed|survived)' "$t_dir/log")" = 1 ] &&
		grep '^# 2 mutants ran: 1 killed, 1 survived' "$t_dir/log"
}

# A test that fails on a busy machine fails without the mutant, too.
does_not_count_what_fails_anyway() {
	sed 's/int good = /&0 \&\& /' "$tree/test/unit/registry/check_limit.c" >"$t_dir/failing"
	cp "$t_dir/failing" "$tree/test/unit/registry/check_limit.c"
	run_mutants --only "^$killed\$" && result_of "$killed" | grep -x 'survived unit' &&
		grep '^# fails unmutated: test/unit/registry/check_limit limit' "$t_dir/log"
}

# Three of a sample, then two more: the three do not run again.
resumes() {
	kinds=':code:|:constant:|:compare-swap:|:check:'
	run_mutants --n 3 --only "$kinds" || return
	cp "$work/table.tsv" "$t_dir/three"
	run_mutants --n 5 --only "$kinds" --resume || return
	head -n "$(wc -l <"$t_dir/three")" "$work/table.tsv" | cmp "$t_dir/three" - &&
		[ "$(grep -cE '	(killed|survived)	' "$work/table.tsv")" = 5 ] &&
		[ "$(grep -cE '^(killed|survived)' "$t_dir/log")" = 2 ]
}

# The list names places that are there, each with its reason.
list_is_current() {
	python3 "$top_srcdir/test/mutants/mutants.py" --source "$top_srcdir" --list |
		sort >"$t_dir/all"
	grep -v '^#' "$top_srcdir/test/mutants/equivalent.tsv" >"$t_dir/list"
	cut -f1 "$t_dir/list" | sort | comm -23 - "$t_dir/all" >"$t_dir/old"
	cat "$t_dir/old"
	! [ -s "$t_dir/old" ] && ! grep -v '	.' "$t_dir/list"
}

t_run 'a tree is made up' make_tree
: >"$t_dir/equivalent"
t_run 'each mutant has a name of its own' names_are_good
t_run 'an edit of another line leaves a name as it is' names_are_stable
killed=$(name_of compare 'return length <= limit')
survivor=$(name_of check 'if (!text)')
t_run 'a mutant is shown as a diff' shows_one_line
t_run 'a mutant that a test notices is killed' kills
t_run 'one that no test notices survives' lets_survive
t_run 'an equivalent one is skipped' skips_equivalent
t_run 'one of which the compiler makes the same code is equivalent' finds_the_same_code
t_run 'one that does not compile does not count' does_not_count_what_does_not_compile
t_run 'one that hangs is killed by time' kills_by_time
t_run 'a run that was stopped goes on' resumes
t_run 'what survived runs again if asked' runs_again
t_run 'a test that fails without a mutant proves nothing' does_not_count_what_fails_anyway
t_run 'the sources are as before' leaves_sources_alone
t_run 'the list of equivalent mutants names places of the sources' list_is_current
t_done
