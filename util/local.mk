# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The tools, written against DAT 2.0.
bin_PROGRAMS += dat_conf dat_info dat_perf

util_sources = %D%/common.c %D%/common.h
util_cppflags = $(product_cppflags) $(LIBFABRIC_CFLAGS)
util_libs = src/libdat2.la $(LIBFABRIC_LIBS) -lm

dat_perf_SOURCES = $(util_sources) %D%/dat_perf.c %D%/perf.h %D%/perf_cfg.c %D%/perf_check.c %D%/perf_conn.c %D%/perf_conn.h \
	%D%/perf_crew.c %D%/perf_csv.c %D%/perf_cycle.c %D%/perf_dat.c %D%/perf_dat.h %D%/perf_dat_link.c \
	%D%/perf_dat_post.c %D%/perf_data.c %D%/perf_json.c %D%/perf_live.c %D%/perf_loop.c \
	%D%/perf_pattern.c %D%/perf_pin.c %D%/perf_plot.c %D%/perf_raw.c %D%/perf_report.c \
	%D%/perf_session.c %D%/perf_session.h %D%/perf_stats.c %D%/perf_sync.c %D%/perf_text.c \
	%D%/perf_traits.c
dat_perf_CPPFLAGS = $(util_cppflags)
dat_perf_LDADD = $(util_libs)

child_sources = $(util_sources) %D%/child.c %D%/child.h %D%/fabrics.c %D%/fabrics.h
# With the registry's parser, that lines mean the same to both.
conf_sources = %D%/conf.h %D%/conf_file.c %D%/conf_try.c src/conf.c src/datr.h
conf_cppflags = $(util_cppflags) -DDATR_DAT_MAJOR=2 -DDAT_CONF_DIR='"$(sysconfdir)"'

dat_info_SOURCES = $(child_sources) $(conf_sources) %D%/check.c %D%/check.h \
	%D%/check_consumer.c %D%/check_device.c %D%/check_host.c %D%/check_setup.c %D%/dat_info.c %D%/info.h %D%/info_attr.c \
	%D%/info_env.c %D%/info_facts.c %D%/info_fingerprint.c %D%/info_names.c %D%/info_show.c \
	%D%/process.c %D%/process.h
dat_info_CPPFLAGS = $(conf_cppflags)
dat_info_LDADD = $(util_libs)

dat_conf_SOURCES = $(child_sources) $(conf_sources) %D%/conf_make.c %D%/dat_conf.c
dat_conf_CPPFLAGS = $(conf_cppflags)
dat_conf_LDADD = $(util_libs)
