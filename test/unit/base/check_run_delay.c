/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether this process has waited for a processor. The linker redirects the calls named here. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/base/run_delay.c"

#include <stdarg.h>
#include <string.h>

#define S SECOND_NS

static uint64_t now_ns = 100 * S;
static const char *statistics; /* of the first thread; NULL: the kernel keeps none */

uint64_t __wrap_dofi_now(void);
int __real_open(const char *path, int flags, ...);
T_STAND_IN int __wrap_open(const char *path, int flags, ...);

uint64_t __wrap_dofi_now(void)
{
	return now_ns;
}

/* --- many threads; the linker redirects these calls --- */

static int ntasks = -1; /* -1: those of this process */
static int nfolders;    /* that are open */
static bool no_folder;

DIR *__real_opendir(const char *path);
T_STAND_IN DIR *__wrap_opendir(const char *path);
struct dirent *__real_readdir(DIR *folder);
T_STAND_IN struct dirent *__wrap_readdir(DIR *folder);
int __real_closedir(DIR *folder);
T_STAND_IN int __wrap_closedir(DIR *folder);

DIR *__wrap_opendir(const char *path)
{
	nfolders += !no_folder;
	return no_folder ? NULL : __real_opendir(path);
}

/* "." and ".." come among the others. */
struct dirent *__wrap_readdir(DIR *folder)
{
	static struct dirent entry;
	static int next;

	if (ntasks < 0)
		return __real_readdir(folder);
	if (next == ntasks) {
		next = 0;
		return NULL;
	}
	if (next++ < 2)
		strcpy(entry.d_name, next == 1 ? "." : "..");
	else
		snprintf(entry.d_name, sizeof(entry.d_name), "%d", 1000 + next);
	return &entry;
}

int __wrap_closedir(DIR *folder)
{
	nfolders--;
	return __real_closedir(folder);
}

int __wrap_open(const char *path, int flags, ...)
{
	char first[64];
	int fds[2];
	ssize_t size;

	if (strncmp(path, TASKS, strlen(TASKS)))
		return __real_open(path, flags);
	/* ThreadSanitizer has a thread of its own. */
	snprintf(first, sizeof(first), TASKS "/%d/schedstat", (int)getpid());
	if (!statistics || (ntasks < 0 && strcmp(path, first) != 0))
		return -1;
	ck_assert(flags & O_CLOEXEC);
	size = (ssize_t)strlen(statistics);
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(write(fds[1], statistics, (size_t)size), size);
	close(fds[1]);
	return fds[0];
}

START_TEST(the_second_number_counts)
{
	struct dofi_run_delay latest = {0}, sample;

	statistics = "7000 5000 3\n";
	sample = dofi_run_delay_recent(&latest);
	ck_assert_uint_eq(sample.waited, 5000);
	ck_assert_uint_eq(sample.at, now_ns);
}
END_TEST

START_TEST(a_sample_is_used_for_a_second)
{
	struct dofi_run_delay latest = {0};

	statistics = "1 10 1\n";
	dofi_run_delay_recent(&latest);
	statistics = "1 20 1\n";
	now_ns += S;
	ck_assert_uint_eq(dofi_run_delay_recent(&latest).waited, 10);
	now_ns++;
	ck_assert_uint_eq(dofi_run_delay_recent(&latest).waited, 20);
}
END_TEST

START_TEST(a_quarter_of_the_time_is_much)
{
	const struct dofi_run_delay since = {.at = now_ns, .waited = 1000};

	now_ns += 4000;
	statistics = "0 1999 1\n";
	ck_assert(!dofi_run_delay_is_high(&since));
	statistics = "0 2000 1\n";
	ck_assert(dofi_run_delay_is_high(&since));
}
END_TEST

START_TEST(what_is_not_known_is_not_much)
{
	static const char *const texts[] = {NULL, "", "words\n", "12\n"};
	const struct dofi_run_delay since = {.at = now_ns};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		statistics = texts[i];
		ck_assert(!dofi_run_delay_is_high(&since));
	}
}
END_TEST

/* A thread that has ended takes its time along. */
START_TEST(a_smaller_sum_is_not_much)
{
	const struct dofi_run_delay since = {.at = now_ns, .waited = 1000};

	statistics = "0 999 1\n";
	ck_assert(!dofi_run_delay_is_high(&since));
}
END_TEST

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* The times of all threads count, up to 64 of them. */
START_TEST(the_times_of_threads_are_added)
{
	static const struct {
		int tasks; /* with "." and ".." */
		uint64_t waited;
	} cases[] = {{2, 0}, {3, 10}, {12, 100}, {66, 640}, {67, 640}};
	struct dofi_run_delay latest = {0};
	int files = open_files();

	statistics = "1 10 1\n";
	ntasks = cases[_i].tasks;
	ck_assert_uint_eq(dofi_run_delay_recent(&latest).waited, cases[_i].waited);
	ck_assert_int_eq(nfolders, 0);
	ck_assert_int_eq(open_files(), files);
}
END_TEST

START_TEST(without_the_folder_nothing_is_known)
{
	struct dofi_run_delay latest = {0};

	no_folder = true;
	statistics = "1 10 1\n";
	ck_assert_uint_eq(dofi_run_delay_recent(&latest).waited, 0);
	ck_assert_uint_eq(latest.at, now_ns);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("run_delay");
	TCase *tcase = tcase_create("run_delay");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, the_second_number_counts);
	tcase_add_test(tcase, a_sample_is_used_for_a_second);
	tcase_add_test(tcase, a_quarter_of_the_time_is_much);
	tcase_add_test(tcase, what_is_not_known_is_not_much);
	tcase_add_test(tcase, a_smaller_sum_is_not_much);
	tcase_add_loop_test(tcase, the_times_of_threads_are_added, 0, 5);
	tcase_add_test(tcase, without_the_folder_nothing_is_known);
	return t_run(suite);
}
