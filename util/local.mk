# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The tools, written against DAT 2.0.
bin_PROGRAMS += dat_conf dat_info dat_perf

util_sources = %D%/common/common.c %D%/common/common.h
util_cppflags = $(product_cppflags) -I$(srcdir)/%D% $(LIBFABRIC_CFLAGS)
util_libs = src/libdat2.la $(LIBFABRIC_LIBS) -lm

dat_perf_SOURCES = $(util_sources) %D%/perf/dat_perf.c %D%/perf/perf.h %D%/perf/cfg.c %D%/perf/check.c %D%/perf/conn.c %D%/perf/conn.h \
	%D%/perf/cost.c %D%/perf/crew.c %D%/perf/csv.c %D%/perf/cycle.c %D%/perf/dat.c %D%/perf/dat.h %D%/perf/dat_link.c \
	%D%/perf/dat_post.c %D%/perf/data.c %D%/perf/json.c %D%/perf/live.c %D%/perf/loop.c \
	%D%/perf/pattern.c %D%/perf/pin.c %D%/perf/plot.c %D%/perf/raw.c %D%/perf/raw.h %D%/perf/raw_link.c %D%/perf/raw_link.h %D%/perf/raw_post.c %D%/perf/raw_post.h \
	%D%/perf/report.c \
	%D%/perf/session.c %D%/perf/session.h %D%/perf/stats.c %D%/perf/sync.c %D%/perf/text.c \
	%D%/perf/traits.c
dat_perf_CPPFLAGS = $(util_cppflags)
dat_perf_LDFLAGS = $(AM_LDFLAGS)
dat_perf_LDADD = $(util_libs)

child_sources = $(util_sources) %D%/common/child.c %D%/common/child.h %D%/common/fabrics.c %D%/common/fabrics.h
# dat_conf uses the parser of the registry, so both read a line in the same way.
conf_sources = %D%/conf/conf.h %D%/conf/file.c %D%/conf/try.c src/conf.c
conf_cppflags = $(util_cppflags) -DDATR_DAT_MAJOR=2 -DDAT_CONF_DIR='"$(sysconfdir)"'

dat_info_SOURCES = $(child_sources) $(conf_sources) %D%/info/check.c %D%/info/check.h \
	%D%/info/check_consumer.c %D%/info/check_device.c %D%/info/check_host.c %D%/info/check_key.c %D%/info/check_setup.c %D%/info/dat_info.c %D%/info/info.h %D%/info/attr.c \
	%D%/info/env.c %D%/info/facts.c %D%/info/fingerprint.c %D%/info/names.c %D%/info/show.c \
	%D%/info/process.c %D%/info/process.h
dat_info_CPPFLAGS = $(conf_cppflags)
dat_info_LDFLAGS = $(AM_LDFLAGS)
dat_info_LDADD = $(util_libs)

dat_conf_SOURCES = $(child_sources) $(conf_sources) %D%/conf/make.c %D%/conf/dat_conf.c
dat_conf_CPPFLAGS = $(conf_cppflags)
dat_conf_LDFLAGS = $(AM_LDFLAGS)
dat_conf_LDADD = $(util_libs)
