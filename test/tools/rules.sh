#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The list of rules agrees with their texts.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

t_run 'rules.tsv has the rules of test/conform/rules' python3 \
	"$top_srcdir/test/conform/catalogue.py" --check
t_done
