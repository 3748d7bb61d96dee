# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The examples are compiled with everything else, so they match the API. Their sources are
# installed.
noinst_PROGRAMS += %D%/hello %D%/rdma_copy
%C%_hello_SOURCES = %D%/hello.c
%C%_hello_LDADD = src/.libs/libdat2.so
%C%_rdma_copy_SOURCES = %D%/rdma_copy.c
%C%_rdma_copy_LDADD = src/.libs/libdat2.so

examplesdir = $(docdir)/examples
dist_examples_DATA = %D%/hello.c %D%/rdma_copy.c
