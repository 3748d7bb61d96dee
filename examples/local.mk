# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Built with everything else, so that it cannot go stale; not installed.
noinst_PROGRAMS += %D%/rdma_copy
%C%_rdma_copy_SOURCES = %D%/rdma_copy.c
%C%_rdma_copy_LDADD = src/libdat2.la
