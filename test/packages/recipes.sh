#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Recipes of contrib: they have this version, use only options of configure, and their tools can
# read them. Module files are executed.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

contrib=$top_srcdir/contrib
spack=$contrib/spack/spack_repo/dat_ofi/packages/dat_ofi/package.py
version=$(sed -n 's/^version=//p' "$top_srcdir/VERSION")
easyconfig=$(echo "$contrib"/easybuild/dat-ofi-*.eb)
modules=${top_builddir:?}/contrib/modulefiles

# A version with a suffix would be a different string in each recipe, so there is none.
versions() {
	grep -q "^dat-ofi ($version-[0-9]*) " "$contrib/debian/changelog" &&
		grep -q -x "Version: *$version" "$contrib/rpm/dat-ofi.spec" &&
		grep -q "version(\"$version\"" "$spack" &&
		grep -q "dat-ofi-$version.tar.xz" "$spack" &&
		grep -q -x "version = '$version'" "$easyconfig" &&
		case $easyconfig in */dat-ofi-"$version"-*) ;; *) false ;; esac
}

# configure has every --option of a recipe.
options() {
	"$top_srcdir/configure" --help >"$t_dir/help" || return
	cat "$spack" "$easyconfig" "$contrib/debian/rules" "$contrib/rpm/dat-ofi.spec" |
		grep -o -E -e '--(with|without|enable|disable)-[a-z]+' | sort -u |
		grep -v -e '--disable-silent' >"$t_dir/options"
	[ -s "$t_dir/options" ] || return
	while read -r option; do
		grep -q -e "--[a-z]*-${option#--*-}" "$t_dir/help" ||
			{ echo "configure knows no $option"; return 1; }
	done <"$t_dir/options"
}

# pc DIR PACKAGE VERSION: pkg-config finds PACKAGE below DIR
pc() {
	mkdir -p "$t_dir/$1/lib/pkgconfig"
	printf 'Name: %s\nDescription: of a test\nVersion: %s\n' "$2" "$3" \
		>"$t_dir/$1/lib/pkgconfig/$2.pc"
}

# --with-libfabric=/usr, where Spack may have found it, does not hide Spack's OpenSSL.
other_packages() {
	pc fabric libfabric 2.0.0 && pc fabric libcrypto 3.0.0 && pc other libcrypto 3.9.9 &&
		mkdir "$t_dir/configure" && cd "$t_dir/configure" || return
	cat >configure.ac <<-'EOF'
	AC_INIT([packages], [1])
	PKG_PROG_PKG_CONFIG
	DAT_CHECK_PKG_LIBFABRIC
	DAT_CHECK_PKG_CRYPTO
	AC_MSG_NOTICE([$dat_libfabric_summary, $dat_crypto_summary])
	AC_OUTPUT
	EOF
	aclocal -I "$top_srcdir/m4" && autoconf &&
		PKG_CONFIG_PATH=$t_dir/other/lib/pkgconfig \
			./configure --with-libfabric="$t_dir/fabric" >summary &&
		cat summary && grep -q ' 2.0.0 in .*, libcrypto 3.9.9$' summary
}

# Spack's recipe takes the releases of libraries that configure takes.
releases() {
	for name in libfabric:libfabric hwloc:hwloc openssl:libcrypto; do
		oldest=$(grep -h -o "\[${name#*:} >= [0-9.]*" "$top_srcdir"/m4/*.m4 |
			sed 's/.* //' | sort -V | head -n 1)
		grep -q "depends_on(\"${name%:*}@$oldest:\"" "$spack" ||
			{ echo "configure takes ${name%:*} $oldest"; return 1; }
	done
}

# Names without a version are where programs only run, for MPI libraries load the registries by
# them.
names() {
	grep -q '/libdat.so$' "$contrib/debian/libdat1.install" &&
		grep -q '/libdat2.so$' "$contrib/debian/libdat2-2.install" &&
		sed -n '/^%files libs/,/^%files devel/p' "$contrib/rpm/dat-ofi.spec" \
			>"$t_dir/libs" &&
		grep -q '/libdat.so$' "$t_dir/libs" && grep -q '/libdat2.so$' "$t_dir/libs" &&
		grep -q '"libdat2.so"' "$spack" && grep -q "'lib/libdat2.%s'" "$easyconfig"
}

python_reads() {
	PYTHONDONTWRITEBYTECODE=1 python3 -c 'import ast, sys
for name in sys.argv[1:]:
    ast.parse(open(name).read(), name)' "$spack" "$easyconfig"
}

python_style() {
	flake8 --max-line-length=99 --ignore=F403,F405 "$spack" &&
		flake8 --max-line-length=120 --ignore=F821 "$easyconfig"
}

# tcl: prints the effects of the module as shell commands
tcl() {
	modulecmd_tcl=$(find /usr/lib /usr/libexec /usr/share/Modules -name modulecmd.tcl \
		2>/dev/null | head -n 1)
	[ -n "$modulecmd_tcl" ] || { echo 'Modules are not where they used to be'; return 1; }
	MODULEPATH=$t_dir/modules LOADEDMODULES='' "$modulecmd_tcl" sh load "dat-ofi/$version" \
		>"$t_dir/sh" 2>&1
	cat "$t_dir/sh"
	load_says "$t_dir/sh"
}

# The functions of Lmod that the file calls; they print their arguments
in_lua() {
	cat >"$t_dir/lmod.lua" <<-'EOF'
	for _, name in ipairs{"help", "whatis", "conflict"} do _G[name] = function() end end
	function prepend_path(name, value) print(name .. "=" .. value .. ":") end
	function append_path(name, value) end
	dofile(arg[1])
	EOF
	"$1" "$t_dir/lmod.lua" "$t_dir/modules/dat-ofi/$version.lua" >"$t_dir/lua" &&
		cat "$t_dir/lua" && load_says "$t_dir/lua"
}

# load_says FILE: loading the module sets the variables that programs need
load_says() {
	for name in PATH LD_LIBRARY_PATH PKG_CONFIG_PATH MANPATH; do
		grep -q "$name=/" "$1" || { echo "no $name"; return 1; }
	done
	! grep '@' "$1"
}

scripts() {
	bash -n "$contrib/slurm/dat_perf.sbatch" && bash -n "$contrib/pals/dat_perf.pbs" &&
		sh -n "$contrib/package" && "$contrib/package" --help |
		grep -q 'contrib/package rpm'
}

mkdir -p "$t_dir/modules"
ln -s "$modules" "$t_dir/modules/dat-ofi"
t_run 'every recipe names this version' versions
t_run 'configure knows every option of a recipe' options
t_run "and takes the same releases of libraries as Spack's recipe" releases
t_try 'configure looks for libfabric alone in its directory' aclocal other_packages
t_run 'registries can be loaded by their names without a version' names
t_run 'Python reads the recipes of Spack and EasyBuild' python_reads
t_try 'and finds their style good' flake8 python_style
if [ -e "$modules/$version" ]; then
	t_try 'the Tcl module loads' modulecmd tcl
	for program in lua lua5.4 lua5.3; do
		! command -v $program >/dev/null || break
	done
	t_try 'the Lua module loads' "$program" in_lua "$program"
else
	t_skip 'the modules load' 'with the prefix /usr there are none'
fi
t_try 'scripts are what a shell can read' bash scripts
t_done
