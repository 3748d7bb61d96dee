#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# make install, installcheck, uninstall and dist, into directories of the test's own.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by make check-packages}/test/lib/tap.sh"

stage=$t_dir/stage
files=$t_dir/files

in_tree() {
	make -s -C "${top_builddir:?}" "$@" 2>&1
}

# All files are installed below the prefix
staged() {
	in_tree install "DESTDIR=$stage" || return
	(cd "$stage" && find . ! -type d | sort) >"$files"
	prefix=$(sed -n 's/^prefix = //p' "$top_builddir/Makefile")
	! grep -v "^\.$prefix/" "$files" && grep -q 'libdatofi\.so\.2$' "$files"
}

# dat_conf can write the first dat.conf into the folder where the registry looks for it, and
# uninstall leaves that file alone.
conf_folder() {
	prefix=$(sed -n 's/^prefix = //p' "$top_builddir/Makefile")
	folder=$stage$(sed -n 's/^sysconfdir = //p' "$top_builddir/Makefile" |
		sed "s,\${prefix},$prefix,")
	[ -d "$folder" ] && in_tree install "DESTDIR=$t_dir/other" &&
		folder=$t_dir/other${folder#"$stage"} && echo '# site' >"$folder/dat.conf" &&
		in_tree uninstall "DESTDIR=$t_dir/other" && cat "$folder/dat.conf" &&
		[ "$(find "$t_dir/other" ! -type d)" = "$folder/dat.conf" ]
}

# A second installation over the first one works.
again() {
	in_tree install "DESTDIR=$stage" || return
	(cd "$stage" && find . ! -type d | sort) | diff "$files" -
}

removed() {
	in_tree uninstall "DESTDIR=$stage" || return
	! find "$stage" ! -type d | grep .
}

# No installed file contains the path of the staging directory or of the tree.
no_traces() {
	! grep -r -l -F -e "$stage" --include=*.pc --include=*.la --include=dat_* --include=0* \
		"$stage" || return
	for library in "$stage"/*/*/lib*/*.so.* "$stage"/*/lib*/*.so.*; do
		[ ! -f "$library" ] || ! readelf -dW "$library" | grep -E 'R(UN)?PATH' || return
	done
}

# A run path is an error, unless the compiler writes one into every program.
run_paths() {
	in_tree install "DESTDIR=$t_dir/spack" || return
	cc=$(sed -n 's/^CC = //p' "$top_builddir/Makefile")
	find "$t_dir/spack" -name 'libdat2.so.2.*' -exec patchelf --set-rpath /elsewhere '{}' + &&
		in_tree installcheck "DESTDIR=$t_dir/spack" "CC=$cc -Wl,-rpath,/elsewhere" &&
		! in_tree installcheck "DESTDIR=$t_dir/spack"
}

# The archive has all files of the repository, except those for git and the forge.
complete() {
	in_tree dist || return
	tar -tf "$top_builddir"/dat-ofi-*.tar.xz | sed -n 's,^[^/]*/\(.*[^/]\)$,\1,p' |
		sort >"$t_dir/archive"
	git -C "$top_srcdir" ls-files | grep -v -x -e '\.gitignore' -e '\.git-blame-ignore-revs' |
		sort |
		comm -23 - "$t_dir/archive" >"$t_dir/missing"
	! grep . "$t_dir/missing"
}

t_run 'make install DESTDIR' staged
t_run 'the folder of dat.conf' conf_folder
t_run 'once more' again
t_run 'nothing names the staging directory' no_traces
t_run 'make installcheck DESTDIR' in_tree installcheck "DESTDIR=$stage"
t_try 'of run paths' patchelf run_paths
t_run 'make uninstall DESTDIR' removed
if git -C "$top_srcdir" rev-parse --show-toplevel 2>/dev/null |
	grep -q -x "$(cd "$top_srcdir" && pwd -P)"; then
	t_run 'make dist has every file' complete
else
	t_skip 'make dist has every file' 'this is no repository'
fi
t_done
