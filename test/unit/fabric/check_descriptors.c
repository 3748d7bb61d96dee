/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The standard descriptors, how many others the process may still open, and which errors a lack of
 * them explains.
 */
#include "t_hooks.h"
#include "unit.h"

#include "fabric/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a process with few descriptors, from 0; the linker redirects these calls --- */

static int room, nopen, most, lack = EMFILE;
static bool open_files[256];

static bool asked;     /* the library calls, not Check */
static int taken = -1; /* the number that another thread opens before this one */

int __real_open(const char *path, int flags, ...);
T_STAND_IN int __wrap_open(const char *path, int flags, ...);
int __real_close(int fd);
T_STAND_IN int __wrap_close(int fd);

int __wrap_open(const char *path, int flags, ...)
{
	if (taken >= 0) {
		ck_assert_int_eq(__real_open("/dev/null", O_RDONLY), taken);
		taken = -1;
	}
	if (!asked)
		return __real_open(path, flags, 0600);
	ck_assert_str_eq(path, "/dev/null");
	ck_assert_int_eq(flags, O_RDONLY | O_CLOEXEC);
	if (nopen == room) {
		errno = lack;
		return -1;
	}
	open_files[nopen++] = true;
	most = nopen > most ? nopen : most;
	errno = EIO; /* of a call that succeeds, errno tells nothing */
	return nopen - 1;
}

int __wrap_close(int fd)
{
	if (!asked)
		return __real_close(fd);
	ck_assert(fd >= 0 && fd < 256 && open_files[fd]);
	open_files[fd] = false;
	nopen--;
	errno = EIO;
	return 0;
}

static int look(int wanted)
{
	int ret;

	asked = true;
	ret = dofi_descriptors_look(wanted);
	asked = false;
	ck_assert_int_eq(nopen, 0);
	return ret;
}

static int error(int ret)
{
	asked = true;
	ret = dofi_descriptors_error(ret);
	asked = false;
	ck_assert_int_eq(nopen, 0);
	return ret;
}

START_TEST(as_many_are_opened_as_are_wanted)
{
	for (room = 0; room < 5; room++) {
		most = 0;
		ck_assert_int_eq(look(3), room < 3 ? -EMFILE : 0);
		ck_assert_int_eq(most, room < 3 ? room : 3);
	}
	room = 0;
	ck_assert_int_eq(look(0), 0);
	room = DOFI_FDS_OF_AN_IA;
	ck_assert_int_eq(look(DOFI_FDS_OF_AN_IA), 0);
}
END_TEST

/* A fabric that needs more than 15 and reports anything has not got them. */
START_TEST(a_lack_of_descriptors_explains_other_errors)
{
	room = 15;
	ck_assert_int_eq(error(-FI_ENODATA), -EMFILE);
	ck_assert_int_eq(error(-FI_EIO), -EMFILE);
	ck_assert_int_eq(error(-FI_ENOMEM), -FI_ENOMEM);
	ck_assert_int_eq(error(0), 0);
	room = 16;
	ck_assert_int_eq(error(-FI_ENODATA), -FI_ENODATA);
}
END_TEST

/* Where /dev/null is missing or closed to the process, nothing is known about descriptors. */
START_TEST(other_errors_are_not_a_lack)
{
	static const int others[] = {ENOENT, EACCES};

	room = 0;
	lack = others[_i];
	ck_assert_int_eq(look(1), 0);
	ck_assert_int_eq(error(-FI_ENODATA), -FI_ENODATA);
	lack = ENFILE;
	ck_assert_int_eq(look(1), -ENFILE);
	ck_assert_int_eq(error(-FI_ENODATA), -ENFILE);
}
END_TEST

/* They are no descriptors that the process can use, and those that are open stay what they are. */
START_TEST(closed_standard_descriptors_are_occupied)
{
	int next = __real_open("/dev/null", O_RDONLY);
	struct stat before[3], after;
	char byte = 0;

	__real_close(next);
	for (int fd = 0; fd < 3; fd++)
		fstat(fd, &before[fd]);
	for (int fd = 0; fd < 3; fd++)
		if (_i & 1 << fd)
			__real_close(fd);
	errno = EBADF; /* of an earlier call */
	dofi_descriptors_occupy_standard();
	dofi_descriptors_occupy_standard();
	for (int fd = 0; fd < 3; fd++) {
		if (_i & 1 << fd) {
			ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
			ck_assert(read(fd, &byte, 1) < 0 && errno == EBADF);
			ck_assert(write(fd, &byte, 1) < 0 && errno == EBADF);
		} else {
			ck_assert_int_eq(fstat(fd, &after), 0);
			ck_assert_int_eq(after.st_ino, before[fd].st_ino);
		}
	}
	ck_assert_int_eq(__real_open("/dev/null", O_RDONLY), next);
}
END_TEST

/* The number that this one gets is not needed then. */
START_TEST(another_thread_takes_a_standard_descriptor)
{
	int next = __real_open("/dev/null", O_RDONLY);

	__real_close(next);
	taken = STDOUT_FILENO;
	__real_close(taken);
	dofi_descriptors_occupy_standard();
	ck_assert_int_eq(__real_open("/dev/null", O_RDONLY), next);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("descriptors");
	TCase *tcase = tcase_create("descriptors");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, as_many_are_opened_as_are_wanted);
	tcase_add_test(tcase, a_lack_of_descriptors_explains_other_errors);
	tcase_add_loop_test(tcase, other_errors_are_not_a_lack, 0, 2);
	tcase_add_loop_test(tcase, closed_standard_descriptors_are_occupied, 0, 8);
	tcase_add_test(tcase, another_thread_takes_a_standard_descriptor);
	return t_run(suite);
}
