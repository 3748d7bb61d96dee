# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Files for packagers and sites. Module files and the completion are installed.

bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = %D%/completion/dat_info
completion_too = dat_conf dat_perf

# The directory for "module use". Users see the names of its files. Without a prefix of its own
# dat-ofi needs no module.
if MODULEFILES
modulefilesdir = $(pkgdatadir)/modulefiles/dat-ofi
modulefiles = %D%/modulefiles/$(PACKAGE_VERSION) %D%/modulefiles/$(PACKAGE_VERSION).lua
modulefiles_DATA = $(modulefiles)
modulefile_edit = mkdir -p %D%/modulefiles && $(SED) \
	-e 's,@VERSION\@,$(PACKAGE_VERSION),g' -e 's,@prefix\@,$(prefix),g' -e 's,@bindir\@,$(bindir),g' \
	-e 's,@libdir\@,$(libdir),g' \
	-e 's,@mandir\@,$(mandir),g'

%D%/modulefiles/$(PACKAGE_VERSION): %D%/modulefiles/dat-ofi.tcl.in Makefile
	$(AM_V_GEN)$(modulefile_edit) $(srcdir)/%D%/modulefiles/dat-ofi.tcl.in >$@

%D%/modulefiles/$(PACKAGE_VERSION).lua: %D%/modulefiles/dat-ofi.lua.in Makefile
	$(AM_V_GEN)$(modulefile_edit) $(srcdir)/%D%/modulefiles/dat-ofi.lua.in >$@

CLEANFILES += $(modulefiles)
endif

install-data-hook:
	for tool in $(completion_too); do \
		ln -sf dat_info '$(DESTDIR)$(bashcompletiondir)'/$$tool || exit; \
	done

uninstall-hook:
	for tool in $(completion_too); do rm -f '$(DESTDIR)$(bashcompletiondir)'/$$tool; done

EXTRA_DIST += \
	%D%/bench-same-host \
	%D%/bench-scale \
	%D%/check \
	%D%/debian \
	%D%/demo \
	%D%/easybuild \
	%D%/install-deps \
	%D%/lint \
	%D%/modulefiles/dat-ofi.lua.in \
	%D%/modulefiles/dat-ofi.tcl.in \
	%D%/package \
	%D%/pals \
	%D%/rpm \
	%D%/slurm \
	%D%/spack \
	%D%/suppressions
