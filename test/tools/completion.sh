#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Completion for bash offers what the programs take.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

command -v bash >/dev/null || t_skip_all 'there is no bash'
printf '%s\n' 'mine u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "" ""' >"$t_dir/dat.conf"
export DAT_OVERRIDE="$t_dir/dat.conf"

# shellcheck disable=SC2317 # t_run calls them
{
# offer PROGRAM CURRENT PREVIOUS: prints the words that completion offers, one a line
offer() {
	bash -c '. "$0/contrib/completion/dat_info" && _dat_ofi "$@" &&
		printf "%s\n" "${COMPREPLY[@]}"' "$top_srcdir" "$@" | sort >"$t_dir/words"
	cat "$t_dir/words"
}

# Completion offers exactly the options that have a long form.
options() {
	"$1" --help | grep -o -e '^  .\{4\}--[a-z-]*' | sed 's/.* --/--/; s/.*--/--/' |
		sort >"$t_dir/options"
	offer "$1" -- "$1" && cmp "$t_dir/options" "$t_dir/words" &&
		[ "$(wc -l <"$t_dir/words")" -gt 4 ]
}

commands() {
	offer dat_conf '' dat_conf &&
		printf '%s\n' add check convert generate list remove | cmp - "$t_dir/words"
}

names() {
	offer dat_info m -a && echo mine | cmp - "$t_dir/words" &&
		offer dat_conf m remove && echo mine | cmp - "$t_dir/words"
}

versions() {
	offer dat_conf '' --dat && printf '%s\n' 1.2 2.0 | cmp - "$t_dir/words"
}
}

for program in dat_conf dat_info dat_perf; do
	t_run "options of $program" options $program
done
t_run 'commands of dat_conf' commands
t_run 'names' names
t_run 'versions of DAT' versions
t_done
