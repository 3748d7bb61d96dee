# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A software EFA device to preload, for libfabric's own efa provider; see README.md.

EXTRA_DIST += %D%/README.md %D%/perf.sh %D%/run

if HAVE_CHECK
if SOFT_EFA
check_LTLIBRARIES += %D%/libsoftefa.la
endif
endif
%C%_libsoftefa_la_SOURCES = \
	%D%/abi.h \
	%D%/address.c \
	%D%/cq.c \
	%D%/device.c \
	%D%/engine.c \
	%D%/memory.c \
	%D%/move.c \
	%D%/notify.c \
	%D%/post.c \
	%D%/process.c \
	%D%/queue_pair.c \
	%D%/segment.c \
	%D%/segment.h \
	%D%/settings.c \
	%D%/softefa.h
%C%_libsoftefa_la_CPPFLAGS = $(AM_CPPFLAGS)
# Compiled without sanitizers, because the device is loaded before the sanitizer's library.
%C%_libsoftefa_la_CFLAGS = -pthread $(WARN_CFLAGS) -fvisibility=default
%C%_libsoftefa_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere -pthread -ldl -export-symbols-regex '^(ibv|efadv|softefa)_'

# Two processes on the device, without DAT. "make check" runs this and some cases of the conformance
# suite.
efa_tests = %D%/check_efa %D%/short.sh
%C%_check_efa_SOURCES = %D%/check_efa.c $(side) $(t_headers)
%C%_check_efa_CPPFLAGS = $(t_cppflags) $(LIBFABRIC_CFLAGS)
%C%_check_efa_LDADD = $(LIBFABRIC_LIBS) $(CHECK_LIBS) -ldl
EXTRA_DIST += %D%/short.sh
if HAVE_CHECK
if SOFT_EFA
check_PROGRAMS += %D%/check_efa
checked_efa_tests = $(efa_tests)
endif
endif

# Runs all suites over libfabric's efa provider, on both classes of card, in order and shuffled.
# EFA_SEEDS='1 2' and EFA_FABRICS=efa1 choose.
EFA_FABRICS = efa efa1
EFA_SEEDS = 1 2 3 4 5 6 7 8 9 10
EFA_PARTS = conform12 conform20 fault perf
check-efa: all $(conform_tests) $(fault_tests) %D%/libsoftefa.la
	failed=; over() { \
		T_DEATHS=300 T_PARTS="$$1" $(SHELL) %D%/../run-env $(SHELL) $(srcdir)/test/matrix.sh \
			$(abs_builddir)/%D%/logs '$(matrix_faults) $(efa_faults)' $$2 || failed=1; }; \
	over '$(EFA_PARTS)' '$(EFA_FABRICS)'; \
	shuffled=$$(for f in $(EFA_FABRICS); do for s in $(EFA_SEEDS); do echo $$f-s$$s; done; done); \
	test -z "$$shuffled" || over 'conform12 conform20' "$$shuffled"; \
	test -z "$$failed"
efa_faults = test/fault/quals1 test/fault/quals2

clean-local: clean-efa
clean-efa:
	-rm -rf %D%/logs
.PHONY: check-efa clean-efa
