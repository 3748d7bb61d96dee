#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The list of rules agrees with their texts, and the report tells a rule by its text.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

t_run 'rules.tsv has the rules of test/conform/rules' python3 \
	"$top_srcdir/test/conform/catalogue.py" --check

# A program fails a test of a rule: the report has the words of the rule.
tells_the_text() {
	printf 'START_TEST(DTO_148_made_up)\n{\n}\nEND_TEST\n' >"$t_dir/made_up.c"
	echo 'not ok 1 - made_up.c:dto:DTO_148_made_up: failed' >"$t_dir/tap"
	python3 "$top_srcdir/test/conform/report.py" --api20 "$t_dir/tap" "$t_dir/made_up.c" \
		>"$t_dir/out" && return 1
	text=$(sed -n 's/^[-|] \*\*DTO-148\*\* *//p' "$top_srcdir/test/conform/rules/dto.md")
	[ -n "$text" ] && grep -qF "DTO-148: $text" "$t_dir/out"
}
t_run 'the report prints the text of a rule that failed' tells_the_text
t_done
