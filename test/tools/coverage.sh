#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# coverage.py --missed lists what no test reached, without what the list explains, and the rows of
# the list that explain nothing.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

export PYTHONDONTWRITEBYTECODE=1
for program in gcc gcov; do
	command -v $program >/dev/null || t_skip_all "there is no $program"
done

mkdir -p "$t_dir/tree/prov/ofi/base" "$t_dir/tree/test/tools" "$t_dir/build"
cat >"$t_dir/tree/prov/ofi/base/sample.c" <<'EOF'
static int never(void)
{
	return 1;
}

int main(int argc, char *argv[])
{
	if (argc > 1)
		return argv[1] != 0;
	if (argc > 2)
		return never();
	return 0;
}
EOF

# missed TEXT...: writes the list and compares what coverage.py prints before its table
missed() {
	printf '%s\n' "$1" >"$t_dir/tree/test/tools/untaken.tsv"
	python3 "$top_srcdir/test/tools/coverage.py" --missed "$t_dir/tree" "$t_dir/build" \
		>"$t_dir/missed" || return
	shift
	printf '%s\n' "$@" >"$t_dir/wanted"
	sed '/^ .*branches/,$d' "$t_dir/missed" | diff - "$t_dir/wanted"
}

row() {
	printf 'prov/ofi/base/sample.c\t%s\t%s\t%s' "$@"
}

sample=prov/ofi/base/sample.c
never="$sample:1: never: ##### static int never(void)"
one="$sample:8: main: 1/2   if (argc > 1)"
two="$sample:10: main: 1/2   if (argc > 2)"
rows=test/tools/untaken.tsv

if ! (cd "$t_dir/build" && gcc --coverage -O0 -o sample "$t_dir/tree/$sample" && ./sample); then
	t_skip_all "gcc can't compile with --coverage"
fi
t_run 'lines that did not take each branch, and functions that never ran' \
	missed '# nothing' "$never" "$one" "$two"
t_run 'the list explains a line' \
	missed "$(row main 'if (argc > 1)' 'no arguments')" "$never" "$two"
t_run 'a row of another function explains nothing' \
	missed "$(row never 'if (argc > 1)' 'no arguments')" "$never" "$one" "$two" \
	"$rows: $sample: never: is taken: if (argc > 1)"
t_run 'a row whose line is gone' missed "$(row main 'if (argc > 9)' 'race: with nobody')" \
	"$never" "$one" "$two" "$rows: $sample: main: is gone: if (argc > 9)"
t_run 'a branch that is taken by chance may be taken' \
	missed "$(row main 'return 0;' 'race: with nobody')" "$never" "$one" "$two"
t_done
