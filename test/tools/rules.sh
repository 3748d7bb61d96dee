#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The list of rules agrees with their texts, and the report prints the text of a rule.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

export PYTHONDONTWRITEBYTECODE=1

t_run 'rules.tsv has the rules of test/conform/rules' python3 \
	"$top_srcdir/test/conform/catalogue.py" --check

# When a test of a rule fails, the report prints the text of the rule.
tells_the_text() {
	printf 'START_TEST(DTO_148_made_up)\n{\n}\nEND_TEST\n' >"$t_dir/made_up.c"
	printf '1..1\nnot ok 1 - made_up.c:dto:DTO_148_made_up: failed\n' >"$t_dir/tap"
	python3 "$top_srcdir/test/conform/report.py" --api20 "$t_dir/tap" "$t_dir/made_up.c" \
		>"$t_dir/out" && return 1
	text=$(sed -n 's/^[-|] \*\*DTO-148\*\* *//p' "$top_srcdir/test/conform/rules/dto.md")
	[ -n "$text" ] && grep -qF "DTO-148: $text" "$t_dir/out"
}
t_run 'the report prints the text of a rule that failed' tells_the_text

# The report counts a rule whose test was skipped as not run.
skip_is_no_test() {
	printf '1..1\nok 1 - made_up.c:dto:DTO_148_made_up # SKIP no fabric\n' >"$t_dir/tap"
	python3 "$top_srcdir/test/conform/report.py" --api20 "$t_dir/tap" "$t_dir/made_up.c" \
		>"$t_dir/out" && return 1
	grep -q '^DTO  *[0-9]* *1 *0 *0 *0 *0 ' "$t_dir/out"
}
t_run 'a skipped test counts as no test' skip_is_no_test

notices_a_short_run() {
	for tap in '1..2\nok 1 - a' 'ok 1 - a' '1..1\nok 1 - a\n1..1\nok 1 - a'; do
		printf '%b\n' "$tap" >"$t_dir/tap"
		if python3 "$top_srcdir/test/conform/report.py" --api20 "$t_dir/tap" \
			"$t_dir/made_up.c" >"$t_dir/out" 2>&1; then
			return 1
		fi
		grep -q 'the run was cut short' "$t_dir/out" || return
	done
}
t_run 'a run that was cut short fails' notices_a_short_run

t_run 'where a rule demands a subtype, a test compares it' python3 \
	"$top_srcdir/test/conform/subtypes.py" "$top_srcdir/test/conform"

# A test has to compare the subtype of the right handle; comparing the type alone is not enough.
notices_a_missing_subtype() {
	rule=$(sed -n 's/^- \*\*\(EP-[0-9]*\)\*\* MUST.*-> INVALID_HANDLE\/EP {.*/\1/p' \
		"$top_srcdir/test/conform/rules/ep.md" | head -n 1)
	[ -n "$rule" ] || return
	for call in 't_bad_handle(f())' 't_bad_handle_of(f(), IA)' 't_bad_handle_of(f(), EP)'; do
		printf 'START_TEST(made_up)\n{\n\t/* %s */\n\t%s;\n}\nEND_TEST\n' "$rule" "$call" \
			>"$t_dir/made_up.c"
		python3 "$top_srcdir/test/conform/subtypes.py" "$t_dir/made_up.c" >"$t_dir/out"
		grep -c "^$rule: no test compares INVALID_HANDLE/EP" "$t_dir/out"
	done >"$t_dir/counts"
	[ "$(tr -d '\n' <"$t_dir/counts")" = 110 ]
}
t_run 'a subtype that no test compares is noticed' notices_a_missing_subtype
t_done
