# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A software EFA device to preload, for libfabric's own efa provider; see README.md.

EXTRA_DIST += %D%/README.md %D%/run

if HAVE_VERBS_H
check_LTLIBRARIES += %D%/libsoftefa.la
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
%C%_libsoftefa_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
%C%_libsoftefa_la_LDFLAGS = $(t_module_ldflags) -pthread -export-symbols-regex '^(ibv|efadv|softefa)_'
