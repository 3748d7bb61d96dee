/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Helpers that several suites use. */
#include "conform.h"

#include <dirent.h>

struct t_ia t_tia;

static void open_ia(void)
{
	t_ia_open(&t_tia);
}

static void close_ia(void)
{
	t_ia_close(&t_tia);
}

TCase *conform_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, open_ia, close_ia);
	suite_add_tcase(suite, tcase);
	return tcase;
}

int marks[64];

DAT_EVD_HANDLE soft_evd(DAT_COUNT qlen)
{
	return t_evd(&t_tia, qlen, DAT_EVD_SOFTWARE_FLAG);
}

void post_marks(DAT_EVD_HANDLE evd, int from, int to)
{
	for (int i = from; i < to; i++)
		t_ok(t_post_se(evd, &marks[i]));
}

int entries_of(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}
