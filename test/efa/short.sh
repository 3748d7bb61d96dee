#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# For "make check": runs the RDMA cases of conform20 over libfabric's efa provider on the software
# device of class 0xefa2, shuffled. "make check-efa" runs all cases.
CK_RUN_CASE=${EFA_CASE-rdma} exec sh "${top_srcdir:?run me by test/run-env}/test/over.sh" efa-s1 20
