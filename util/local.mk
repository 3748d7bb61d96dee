# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The tools, written against DAT 2.0.
bin_PROGRAMS += dat_perf dat_info

util_sources = %D%/common.c %D%/common.h

dat_perf_SOURCES = $(util_sources) %D%/dat_perf.c %D%/perf.h %D%/perf_dat.c %D%/perf_loop.c \
	%D%/perf_raw.c %D%/perf_report.c %D%/perf_sync.c
dat_perf_CPPFLAGS = $(product_cppflags) $(LIBFABRIC_CFLAGS)
dat_perf_LDADD = src/libdat2.la $(LIBFABRIC_LIBS) -lm

dat_info_SOURCES = $(util_sources) %D%/dat_info.c %D%/process.c %D%/process.h
dat_info_CPPFLAGS = $(product_cppflags) $(LIBFABRIC_CFLAGS)
dat_info_LDADD = src/libdat2.la $(LIBFABRIC_LIBS) -lm
