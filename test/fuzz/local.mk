# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Fuzz targets. With --enable-fuzzer libFuzzer runs them (run.sh), else each replays its corpus and
# writes TAP.
fuzz_tests = \
	%D%/fuzz_channel \
	%D%/fuzz_conf1 %D%/fuzz_conf2 \
	%D%/fuzz_control \
	%D%/fuzz_cookie \
	%D%/fuzz_key \
	%D%/fuzz_params \
	%D%/fuzz_wire

# The linker takes libFuzzer's main or ours.
fuzz_headers = %D%/fuzz.h
if FUZZER
fuzz_main = $(fuzz_headers)
fuzz_flags = -fsanitize=fuzzer
fuzz_unwatched = -fno-sanitize=fuzzer-no-link
else
fuzz_main = %D%/replay.c $(fuzz_headers)
fuzz_flags =
endif

%C%_fuzz_conf1_SOURCES = %D%/fuzz_conf.c src/conf.c src/log.c $(fuzz_main)
%C%_fuzz_conf1_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"conf"' -DDATR_DAT_MAJOR=1 -DDAT_CONF_DIR='"etc"'
%C%_fuzz_conf1_LINK = $(LINK) $(fuzz_flags) -Wl,--wrap=fopen
%C%_fuzz_conf2_SOURCES = $(%C%_fuzz_conf1_SOURCES)
%C%_fuzz_conf2_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"conf"' -DDATR_DAT_MAJOR=2 -DDAT_CONF_DIR='"etc"'
%C%_fuzz_conf2_LINK = $(LINK) $(fuzz_flags) -Wl,--wrap=fopen

fuzz_cppflags = $(product_cppflags) $(LIBFABRIC_CFLAGS) -I$(top_srcdir)/prov/ofi -DDOFI_DAT_MAJOR=2
fuzz_libs = $(dofi2_libs) src/libdatr2.a

# For the library and for libFuzzer, whose calls go on.
fuzz_wraps = $(kernel_wraps) -Wl,--wrap=dofi_hmac -Wl,--wrap=dofi_hmac_prepare -Wl,--wrap=dofi_hmac_by \
	-Wl,-u,__wrap_dofi_hmac_by
# libFuzzer is told nothing of what is executed in it.
%C%_libworld_a_SOURCES = $(sim_kernel) %D%/fabric.c %D%/fabric.h %D%/peer.c %D%/peer.h \
	%D%/quick_hmac.c %D%/world.c %D%/world.h %D%/fuzz.h
%C%_libworld_a_CPPFLAGS = $(fuzz_cppflags)
%C%_libworld_a_CFLAGS = $(AM_CFLAGS) $(fuzz_unwatched)
check_LIBRARIES += %D%/libworld.a

%C%_fuzz_channel_SOURCES = %D%/fuzz_channel.c $(fuzz_main)
%C%_fuzz_channel_CPPFLAGS = $(fuzz_cppflags) -DFUZZ_CORPUS='"channel"'
%C%_fuzz_channel_LINK = $(LINK) $(fuzz_flags) $(fuzz_wraps)
%C%_fuzz_channel_LDADD = %D%/libworld.a $(fuzz_libs)

%C%_fuzz_control_SOURCES = %D%/fuzz_control.c $(fuzz_main)
%C%_fuzz_control_CPPFLAGS = $(fuzz_cppflags) -DFUZZ_CORPUS='"control"'
%C%_fuzz_control_LINK = $(LINK) $(fuzz_flags) $(fuzz_wraps)
%C%_fuzz_control_LDADD = %D%/libworld.a $(fuzz_libs)

%C%_fuzz_cookie_SOURCES = %D%/fuzz_cookie.c $(fuzz_main)
%C%_fuzz_cookie_CPPFLAGS = $(fuzz_cppflags) -DFUZZ_CORPUS='"cookie"'
%C%_fuzz_cookie_LINK = $(LINK) $(fuzz_flags) -Wl,--wrap=open -Wl,--wrap=fcntl -Wl,--wrap=pread -Wl,--wrap=pwrite \
	$(t_fstat_wraps) -Wl,--wrap=close -Wl,--wrap=unlink -Wl,--wrap=fopen
%C%_fuzz_cookie_LDADD = $(fuzz_libs)

%C%_fuzz_key_SOURCES = %D%/fuzz_key.c $(fuzz_main)
%C%_fuzz_key_CPPFLAGS = $(fuzz_cppflags) -DFUZZ_CORPUS='"key"'
%C%_fuzz_key_LINK = $(LINK) $(fuzz_flags) -Wl,--wrap=openat $(t_fstat_wraps) -Wl,--wrap=read -Wl,--wrap=close \
	-Wl,--wrap=getenv
%C%_fuzz_key_LDADD = $(fuzz_libs)

%C%_fuzz_params_SOURCES = %D%/fuzz_params.c $(fuzz_main)
%C%_fuzz_params_CPPFLAGS = $(fuzz_cppflags) -DFUZZ_CORPUS='"params"'
%C%_fuzz_params_LINK = $(LINK) $(fuzz_flags) -Wl,--wrap=getenv -Wl,--wrap=write
%C%_fuzz_params_LDADD = $(fuzz_libs)

%C%_fuzz_wire_SOURCES = %D%/fuzz_wire.c $(fuzz_main)
%C%_fuzz_wire_CPPFLAGS = $(fuzz_cppflags) -DFUZZ_CORPUS='"wire"'
%C%_fuzz_wire_LINK = $(LINK) $(fuzz_flags)
%C%_fuzz_wire_LDADD = $(fuzz_libs)

EXTRA_DIST += %D%/README.md %D%/run.sh %D%/coverage.sh %D%/seeds.py %D%/corpus %D%/dict

# make fuzz [SECONDS=60] [TARGETS='channel wire']
fuzz:
	top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' \
		$(SHELL) $(srcdir)/%D%/run.sh '$(SECONDS)' $(TARGETS)
fuzz-coverage:
	top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' \
		$(SHELL) $(srcdir)/%D%/coverage.sh $(TARGETS)
.PHONY: fuzz fuzz-coverage

# For run.sh.
fuzz-list:
	@echo $(fuzz_tests)
.PHONY: fuzz-list
