#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dat_conf: what it prints about lines, what it writes, and which lines it does not change.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

conf=$t_dir/dat.conf
export DAT_OVERRIDE="$conf"
unset FI_PROVIDER DAT_OFI_PROVIDER DAT_OFI_LOG

# shellcheck disable=SC2317,SC2016,SC1003 # t_run calls the functions, sh -c takes words
{
# ends STATUS ARGUMENT...: true when dat_conf exits with STATUS; prints its output
ends() {
	want=$1
	shift
	t_ends "$want" dat_conf "$@"
}

# to_full WORD...: true if the program reports that nothing can be written
to_full() {
	dat_conf "$@" >/dev/full 2>"$t_dir/e"
	[ $? = 1 ] && grep 'dat_conf: cannot write to standard output: No' "$t_dir/e" || return
	dat_conf "$@" >&- 2>"$t_dir/e"
	[ $? = 1 ] && grep 'dat_conf: cannot write to standard output: Bad file' "$t_dir/e"
}

full_output() {
	sample
	for words in --help list 'check good' '-j list' generate '-n remove x' --version; do
		[ "$words" != '-n remove x' ] || ends 0 add x -p domain=lo || return
		# shellcheck disable=SC2086 # a command and its words
		to_full $words || return
	done
	cp "$conf" "$t_dir/before"
	dat_conf add new -p domain=lo >&- && diff "$conf" "$t_dir/before" >"$t_dir/o"
	[ "$(grep -c '^[<>]' "$t_dir/o")" = 1 ]
}

# A file with lines of other programs, and with a mode that must not change.
sample() {
	cat >"$conf" <<-EOF
	# written by hand
	good u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "provider=tcp domain=lo" ""
	old  u1.2 nonthreadsafe default libdatofi.so.1 ofi.1.2 "provider=tcp domain=lo" ""
	ofa-v2-ib0 u2.0 nonthreadsafe default libdaplnone.so.2 dapl.2.0 "ib0 0" ""
	ib0 u1.2 nonthreadsafe default libdaplnone.so.1 dapl.1.2 "ib0 0" ""
	lost u2.0 nonthreadsafe default libnowhere.so.2 x.2.0 "" ""
	wish u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "provider=tcp domain=nosuch" ""
	good u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "provider=tcp domain=lo" ""
	off u2.0 nonthreadsafe nondefault libnowhere.so.2 x.2.0 "" ""
	bad u9 nonthreadsafe default lib x.2.0 "" ""
	EOF
	chmod 640 "$conf"
}

options() {
	ends 0 --help && ends 0 --version && ends 2 && ends 2 --nonsense && ends 2 list --file &&
		ends 2 frobnicate && ends 2 add && ends 2 add a b && ends 2 generate x &&
		ends 2 --dat 3.0 list
}

# The message names the option that is wrong, also if others stand in front of it.
wrong_options() {
	ends 2 --write -Zx generate && t_says ' -Z is not an option;' &&
		ends 2 --write -wZ generate && t_says ' -Z is not an option;' &&
		ends 2 --write -nf && t_says ' -f needs an argument;' &&
		ends 2 -n --file && t_says ' --file needs an argument;' &&
		ends 2 -n --nonsense && t_says ' --nonsense is not an option in this form;' &&
		ends 2 -n --write=3 generate && t_says ' --write=3 is not an option in this' &&
		ends 2 -w --fi=x --da=1.3 generate && t_says '--dat 1.3: must be one of 2.0, 1.2'
}

# An option that a command does not take is an error, and nothing is written.
foreign_options() {
	sample
	cp "$conf" "$t_dir/before"
	for words in 'n generate' 'n convert' 'n list' 'w add x' 'w remove good' 'F check' \
		'F generate' 'j generate' 't list' 'd1.2 convert' 'px check' 'lx remove good' \
		'nw generate' 'nw convert' 'tw convert'; do
		# shellcheck disable=SC2086 # an option and a command with its name
		ends 2 -$words && t_says 'does not apply to' || return
	done
	ends 2 -n -w generate && t_says '--dry-run does not apply to generate' &&
		ends 2 add new --json && t_says '--json does not apply to add' &&
		cmp "$conf" "$t_dir/before"
}

# A name without a line is reported, and the others are not removed then.
missing_names() {
	sample
	cp "$conf" "$t_dir/before"
	ends 1 check good nosuch off && t_says "$conf:2: good opens" \
		'no line that registries would use for nosuch, off' &&
		ends 1 check wish nosuch && t_says '1 of 1 lines' 'for nosuch' &&
		ends 1 list good nosuch && t_says 'active good' 'no line for nosuch' &&
		ends 0 list off && ends 1 -F remove good nosuch && t_says 'no line for nosuch' &&
		ends 1 -d 1.2 list good && t_says 'of that version of DAT for good' &&
		cmp "$conf" "$t_dir/before"
}

versions() {
	sample
	echo 'good u1.2 nonthreadsafe default libdatofi.so.1 ofi.1.2 "domain=lo" ""' >>"$conf"
	ends 0 -d 1.2 list && t_says 'old' 'ib0' 'DAT 1.2' && ! grep 'DAT 2' "$t_dir/o" &&
		ends 0 -F -d 1.2 remove good && [ "$(grep -c '^good u2.0' "$conf")" = 2 ] &&
		! grep '^good u1.2' "$conf" && ends 0 -d 1.2 check old
}

# Force adds no line that registries would ignore.
unparsable() {
	sample
	cp "$conf" "$t_dir/before"
	ends 1 -F add '' && t_says 'field 1, IA name, is ""' &&
		ends 1 -F add "$(printf '%300s' x)" && t_says 'expected 1 to 255 characters' &&
		ends 1 -F add name -l '' && t_says 'field 5, library' &&
		cmp "$conf" "$t_dir/before"
}

no_file() {
	rm -f "$conf"
	ends 1 list && t_says 'there is no' 'generate --write' && ends 1 check && ends 1 remove x &&
		mkdir "$t_dir/folder" && ends 1 -f "$t_dir/folder" list && t_says 'cannot read'
}

list() {
	sample
	ends 0 list && t_says 'shadowed good' 'nondefault off' \
		'10 wrong field 2, API version, is "u9"' \
		'DAT 1.2, libdatofi.so.1 "provider=tcp domain=lo"'
}

json() {
	sample
	ends 0 -j list && jq -e '(.lines | length == 9) and .lines[0].name == "good" and
		.lines[8].state == "wrong" and .lines[1].dat == "1.2"' "$t_dir/o" &&
		ends 1 -j check && jq -e '.lines[0].opens and (.lines[4].remedy | length > 0)' \
			"$t_dir/o"
}

# What to do about a line depends on what its provider says.
remedies() {
	provider=libdatofi.so.2
	printf '%s u2.0 nonthreadsafe default %s ofi.2.0 "%s" ""\n' \
		other libdatofi.so.1 'provider=tcp' >"$conf"
	ends 1 check && t_says 'this library serves DAT 1.2' \
		'to do: correct the version or the library' || return
	for words in 'addr=192.0.2.99 domain=lo' 'provider=tcp spin_us=x' 'provider = tcp'; do
		printf '%s u2.0 nonthreadsafe default %s ofi.2.0 "%s" ""\n' \
			wrong "$provider" "$words" >"$conf"
		ends 1 check && t_says 'to do: correct what the message names' || return
	done
}

check() {
	sample
	ends 1 check && t_says "$conf:2: good opens" "$conf:3: old opens" \
		"$conf:4: ofa-v2-ib0 does not open" \
		'dat_conf convert makes' "$conf:6: lost does not open" \
		'cannot load its provider library' \
		'install the library' "$conf:7: wish does not open" 'no fabric can be used' \
		'correct the parameters' 'only when line 2 does not open' \
		"$conf:10: this is wrong:" \
		'write it as in' '5 of 8 lines' || return
	! grep -q ':9:' "$t_dir/o" && ends 0 check good && ends 0 check old && ends 1 check wish
}

# Marks and mode are right, and the lines of other programs are unchanged.
generate() {
	sample
	cp "$conf" "$t_dir/before"
	ends 0 generate && t_says 'ofa-v2-lo u2.0' && cmp "$conf" "$t_dir/before" &&
		ends 0 generate --write && ends 0 -d 1.2 generate --write &&
		[ "$(stat -c %a "$conf")" = 640 ] &&
		head -n 10 "$conf" | cmp - "$t_dir/before" && ends 0 check ofa-v2-lo lo &&
		cp "$conf" "$t_dir/once" && ends 0 generate --write && sort "$conf" >"$t_dir/a" &&
		sort "$t_dir/once" | cmp - "$t_dir/a" && [ "$(grep -c '^# dat_conf' "$conf")" = 1 ]
}

# A line that opens, though the provider ignores a part of it. Its other messages are no warnings.
warnings() {
	echo 'typo u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "provider=tcp domian=lo" ""' \
		>"$conf"
	ends 3 check && t_says "$conf:1: typo opens, with warnings:" \
		'domian=lo is ignored, no such parameter; is domain meant?' \
		'1 of 1 lines' 'open with warnings' && ends 0 -n add new -p 'domian=lo' &&
		t_says 'domian=lo is ignored' || return
	sample
	DAT_OFI_LOG=debug ends 0 check good && DAT_OFI_LGO=2 ends 3 check good &&
		t_says 'DAT_OFI_LGO has no meaning' && DAT_OFI_LOG=off ends 1 check wish &&
		! grep 'no fabric can be used' "$t_dir/o"
}

warnings_json() {
	warnings || return
	echo 'typo u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "domian=lo" ""' >>"$conf"
	ends 3 -j check typo good && jq -e '(.lines[0].warnings | length == 0) and
		(.lines[2].warnings | length == 1) and (.lines[2].warnings[0] |
		contains("is domain meant?"))' "$t_dir/o"
}

# UTF-8 passes, and each byte of anything else is the character of its number: a lone byte, an
# overlong slash, a surrogate, a number that is too large, a sequence that is cut, a control
# character.
utf8() {
	name=$(printf 'G\303\274n\342\202\254\360\237\230\200')
	odd=$(printf '\377,\300\257,\355\240\200,\364\220\200\200,\342\202,\302\233')
	rm -f "$conf"
	ends 0 -F add "$name" -p "$odd" && ends 0 -j list && jq -e --arg name "$name" \
		'.lines[0].name == $name and (.lines[0].parameters | explode) == ([255, 44, 192,
		175, 44, 237, 160, 128, 44, 244, 144, 128, 128, 44, 226, 130, 44, 194, 155])' \
		"$t_dir/o" && grep -q "$name" "$t_dir/o"
}

# made_library NAME STATEMENT: makes a library whose loading executes the C statement
made_library() {
	mkdir -p "$t_dir/made"
	printf '#include <%s.h>\n' stdio stdlib unistd >"$t_dir/made.c"
	printf '%s\n' \
		"__attribute__((constructor)) static void made(void) { $2; }" >>"$t_dir/made.c"
	cc -shared -fPIC -o "$t_dir/made/$1" "$t_dir/made.c"
}

# If libfabric offers nothing at this moment, or a provider of it crashes or hangs, the lines stay.
generate_without_fabrics() {
	sample
	ends 0 generate --write && cp "$conf" "$t_dir/before" &&
		FI_PROVIDER=vrebs ends 1 generate && t_says 'FI_PROVIDER=vrebs' &&
		[ ! -s "$t_dir/o" ] && FI_PROVIDER=vrebs ends 1 generate --write &&
		t_says 'nothing was changed' && cmp "$conf" "$t_dir/before"
}

generate_with_bad_provider() {
	sample
	ends 0 generate --write && cp "$conf" "$t_dir/before" && made_library bad-fi.so "$2" &&
		FI_PROVIDER_PATH="$t_dir/made" ends 1 generate --write && t_says "$1" \
		'cannot list its fabrics' 'nothing was changed' && cmp "$conf" "$t_dir/before"
	got=$?
	rm -f "$t_dir/made/bad-fi.so"
	return "$got"
}

# No domain opens, because the key is missing. Later one of them opens, and the line of a domain
# that is gone goes, as the lines of no other command do.
generate_removes() {
	sample
	ends 0 add mine -p 'provider=tcp domain=lo' &&
		ends 0 convert --write && ends 0 -F add ofa-v2-gone -p 'domain=gone' &&
		ends 0 -F add -t ofa-v2-safe -p 'domain=safe' && cp "$conf" "$t_dir/before" &&
		DAT_OFI_KEY_FILE="$t_dir/nokey" ends 1 generate --write &&
		t_says 'ofa-v2-lo is left out, it does not open' 'there is no key' &&
		cmp "$conf" "$t_dir/before" && ends 0 generate --write &&
		t_says 'generate made before: ofa-v2-gone u2.0' &&
		! grep -q '^ofa-v2-gone' "$conf" && grep -q '^ofa-v2-lo' "$conf" &&
		grep -v '^ofa-v2-gone' "$t_dir/before" >"$t_dir/wanted" &&
		! grep -v -x -F -f "$conf" "$t_dir/wanted" &&
		[ "$(grep -c '^# dat_conf' "$conf")" = 1 ]
}

# lives PROCESS: true unless it has ended, even if nobody has asked for its status
lives() {
	grep -q '^State:[^Z]*$' "/proc/$1/status" 2>/dev/null
}

# A child that hangs dies with its parent, and has an alarm in case the parent is stopped.
orphan() {
	made_library hang.so "FILE *out = fopen(getenv(\"T_CHILD\"), \"w\");
		fprintf(out, \"%d %u\\n\", getpid(), alarm(100)); fclose(out); for (;;) pause()" ||
		return
	echo "hang u2.0 nonthreadsafe default $t_dir/made/hang.so x.2.0 \"\" \"\"" >"$conf"
	export T_CHILD="$t_dir/child"
	: >"$T_CHILD"
	# Not t_start, whose stdbuf does not work with ASan.
	dat_conf check >"$t_dir/tool" 2>&1 &
	t_pid=$!
	t_pids="$t_pids $t_pid"
	until [ -s "$T_CHILD" ]; do
		lives "$t_pid" || return
		sleep 0.05
	done
	read -r child alarm <"$T_CHILD"
	tool=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$child/status")
	echo "child $child of $tool, alarm in $alarm s"
	[ "$alarm" -gt 20 ] && [ "$alarm" -lt 60 ] && kill -9 "$tool" || return
	patience=100
	while lives "$child" && [ "$patience" -gt 0 ]; do
		patience=$((patience - 1))
		sleep 0.05
	done
	! lives "$child" || { kill -9 "$child" && return 1; }
}

from_nothing() {
	rm -f "$conf"
	ends 0 generate --write && ends 0 check && [ "$(stat -c %a "$conf")" = 644 ]
}

convert() {
	sample
	ends 0 convert && t_says \
		'ofa-v2-ib0 u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "ib0 0" ""' \
		'ib0 u1.2 nonthreadsafe default libdatofi.so.1 ofi.1.2 "ib0 0" ""' libdaplnone &&
		ends 0 convert --write && cp "$conf" "$t_dir/once" && ends 0 convert --write &&
		cmp "$conf" "$t_dir/once" && sample && ends 0 convert --write --force &&
		! grep -q libdapl "$conf" && [ "$(wc -l <"$conf")" = 10 ]
}

# dat_conf reads the same entries back that it has written.
add() {
	sample
	ends 1 add good && t_says "$conf:2: good is there already" &&
		ends 1 add new -p domain=nosuch &&
		t_says 'no fabric can be used' '--force adds it' &&
		ends 0 add new -p 'provider=tcp domain=lo' &&
		ends 0 check new && ends 0 add -d 1.2 new -p domain=lo &&
		ends 0 add -t new2 -p domain=lo &&
		ends 0 check new2 && ends 0 -F add 'odd "name\' -p 'a "b\' -l 'lib #1' &&
		ends 0 -j list &&
		jq -e '.lines[-1] | .name == "odd \"name\\" and .parameters == "a \"b\\" and
			.library == "lib #1" and .ours' "$t_dir/o" && ends 1 add 'two
lines'
}

remove() {
	sample
	cp "$conf" "$t_dir/before"
	ends 1 remove good && t_says 'did not make' && cmp "$conf" "$t_dir/before" &&
		ends 1 remove nobody &&
		ends 0 add new -p domain=lo && ends 0 -n remove new && grep -q '^new' "$conf" &&
		ends 0 remove new && cmp "$conf" "$t_dir/before" && ends 0 --force remove good &&
		! grep -q '^good' "$conf" && [ "$(wc -l <"$conf")" = 8 ]
}

# A symbolic link remains a link, a file that can't be replaced is unchanged, and no temporary file
# remains.
atomic() {
	sample
	mkdir "$t_dir/real"
	mv "$conf" "$t_dir/real/file"
	ln -s real/file "$conf"
	ends 0 -F remove good && [ -L "$conf" ] && ! grep -q ^good "$t_dir/real/file" &&
		[ "$(ls "$t_dir/real")" = file ] && rm "$conf" &&
		ends 1 -f /dev/null generate --write && t_says 'no regular file' &&
		ends 1 -f "$t_dir/nowhere/dat.conf" generate --write && t_says 'cannot write'
}

owner() {
	sample
	chown 12345:12346 "$conf"
	ends 0 -F remove good && [ "$(stat -c %u:%g:%a "$conf")" = 12345:12346:640 ]
}
}

t_run 'options and exit status' options
t_run 'options that are wrong' wrong_options
t_run 'options that do not apply' foreign_options
t_run 'output that cannot be written' full_output
t_run 'names without a line' missing_names
t_run 'lines of one version of DAT' versions
t_run 'lines that registries would ignore' unparsable
t_run 'a file that is not there' no_file
t_run 'list' list
t_try 'JSON' jq json
t_try 'JSON and UTF-8' jq utf8
t_run 'check opens each line, names the place and the repair' check
t_run 'check tells what to do about a line' remedies
t_run 'check shows warnings' warnings
t_try 'check shows warnings as JSON' jq warnings_json
t_run 'generate' generate
t_run 'generate makes the file' from_nothing
t_run 'generate fails without fabrics' generate_without_fabrics
t_try 'generate fails if a provider crashes' cc generate_with_bad_provider 'signal 6' 'abort()'
t_try 'generate fails if a provider ends it' cc generate_with_bad_provider \
	'without a word' '_exit(3)'
t_try 'generate fails if a provider hangs' cc generate_with_bad_provider \
	'no answer within' 'for (;;) pause()'
t_try 'no child outlives dat_conf' cc orphan
t_run 'generate removes its own lines only, and says so' generate_removes
t_run 'convert' convert
t_run 'add' add
t_run 'remove' remove
t_run 'files are replaced whole' atomic
if [ "$(id -u)" = 0 ]; then
	t_run 'the owner stays' owner
else
	t_skip 'the owner stays' 'only root can give files away'
fi
t_done
