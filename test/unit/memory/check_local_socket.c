/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Local sockets: who sent a datagram, and what comes along. */
#include "t_hooks.h"
#include "unit.h"

#include "memory/local_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#define NOBODY 65534u

static uint8_t here[DOFI_LOCAL_NAME], there[DOFI_LOCAL_NAME];
static int a, b;

static bool no_option;

T_STAND_IN int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t size);

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	errno = ENOBUFS;
	return no_option ? -1 : __real_setsockopt(fd, level, name, value, size);
}

static int next_fd(void)
{
	int fd = dup(a);

	close(fd);
	return fd;
}

/* Names are those of the network namespace. */
static void setup(void)
{
	snprintf((char *)here, sizeof(here), "here %d", getpid());
	snprintf((char *)there, sizeof(there), "there %d", getpid());
	a = dofi_local_socket_open(here);
	b = dofi_local_socket_open(there);
	ck_assert_int_ge(a, 0);
	ck_assert_int_ge(b, 0);
}

static void teardown(void)
{
	close(a);
	close(b);
}

START_TEST(a_datagram_and_its_sender)
{
	struct dofi_local_sender sender;
	char text[8];

	ck_assert_int_eq(dofi_local_socket_receive(b, text, sizeof(text), &sender), -EAGAIN);
	ck_assert_int_eq(dofi_local_socket_send(a, there, "hello", 6, -1), 0);
	ck_assert_int_eq(dofi_local_socket_receive(b, text, sizeof(text), &sender), 6);
	ck_assert_str_eq(text, "hello");
	ck_assert_int_eq(sender.pid, getpid());
	ck_assert(sender.is_user);
	ck_assert_int_eq(sender.passed, -1);
}
END_TEST

START_TEST(sockets_that_cannot_be_opened)
{
	static const uint8_t another[DOFI_LOCAL_NAME] = "another";
	int next = next_fd();

	ck_assert_int_eq(dofi_local_socket_open(there), -EADDRINUSE);
	ck_assert_int_eq(next_fd(), next);
	no_option = true;
	ck_assert_int_eq(dofi_local_socket_open(another), -ENOBUFS);
	ck_assert_int_eq(next_fd(), next);
}
END_TEST

/* Programs that this one starts don't get it, and no call waits for it. */
START_TEST(an_open_socket)
{
	static const uint8_t another[DOFI_LOCAL_NAME] = "another";
	struct sockaddr_un address;
	socklen_t size = sizeof(address);
	int fd;

	close(STDIN_FILENO); /* the first descriptor is one, too */
	fd = dofi_local_socket_open(another);
	ck_assert_int_eq(fd, STDIN_FILENO);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	ck_assert_uint_eq(size, offsetof(struct sockaddr_un, sun_path) + 9 + sizeof(another));
	ck_assert_mem_eq(address.sun_path, "\0dat-ofi-", 9); /* as other releases have it */
	ck_assert_mem_eq(address.sun_path + 9, another, sizeof(another));
	ck_assert_int_eq(dofi_local_socket_send(a, another, "hello", 6, -1), 0);
}
END_TEST

START_TEST(the_first_descriptor_goes_along)
{
	struct dofi_local_sender sender;
	char text[8];

	ck_assert_int_eq(dup2(a, STDIN_FILENO), STDIN_FILENO);
	ck_assert_int_eq(dofi_local_socket_send(a, there, "take", 5, STDIN_FILENO), 0);
	close(STDIN_FILENO);
	ck_assert_int_eq(dofi_local_socket_receive(b, text, sizeof(text), &sender), 5);
	ck_assert_int_eq(sender.passed, STDIN_FILENO);
	/* one that comes with a datagram that is dropped is closed */
	ck_assert_int_eq(dofi_local_socket_send(a, there, "take", 5, STDIN_FILENO), 0);
	close(STDIN_FILENO);
	ck_assert_int_eq(dofi_local_socket_receive(b, text, 4, &sender), 0);
	ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
}
END_TEST

START_TEST(a_descriptor_goes_along)
{
	struct dofi_local_sender sender;
	int pair[2];
	char text[8];

	ck_assert_int_eq(pipe(pair), 0);
	ck_assert_int_eq(dofi_local_socket_send(a, there, "take", 5, pair[0]), 0);
	ck_assert_int_eq(dofi_local_socket_receive(b, text, sizeof(text), &sender), 5);
	ck_assert_int_ge(sender.passed, 0);
	ck_assert_int_ne(fcntl(sender.passed, F_GETFD) & FD_CLOEXEC, 0);
	ck_assert_int_eq(write(pair[1], "x", 1), 1);
	ck_assert_int_eq(read(sender.passed, text, sizeof(text)), 1);
	close(sender.passed);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

START_TEST(nobody_is_there)
{
	static const uint8_t absent[DOFI_LOCAL_NAME] = "absent";

	ck_assert_int_eq(dofi_local_socket_send(a, absent, "hello", 6, -1), -ECONNREFUSED);
	ck_assert_int_eq(dofi_local_socket_open(there), -EADDRINUSE);
}
END_TEST

/* Whoever does not read does not stop who sends. */
START_TEST(a_full_socket)
{
	int n = 0, ret;

	do
		ret = dofi_local_socket_send(a, there, "hello", 6, -1);
	while (!ret && ++n < 1000000);
	ck_assert_int_eq(ret, -EAGAIN);
}
END_TEST

/* A datagram that is longer than what the receiver expects is dropped, with its descriptor. */
START_TEST(a_long_datagram)
{
	struct dofi_local_sender sender;
	char text[4];
	int before = dup(a);

	close(before);
	ck_assert_int_eq(dofi_local_socket_send(a, there, "hello", 6, a), 0);
	ck_assert_int_eq(dofi_local_socket_receive(b, text, sizeof(text), &sender), 0);
	ck_assert_int_eq(sender.passed, -1);
	ck_assert_int_eq(dup(a), before);
	close(before);
}
END_TEST

/* It needs no descriptor along to be dropped. */
START_TEST(a_long_datagram_by_itself)
{
	struct dofi_local_sender sender;
	char text[4];

	ck_assert_int_eq(dofi_local_socket_send(a, there, "hello", 6, -1), 0);
	ck_assert_int_eq(dofi_local_socket_receive(b, text, sizeof(text), &sender), 0);
	ck_assert_int_eq(sender.passed, -1);
}
END_TEST

/* Nobody of ours sends one. Its descriptor is not left to a caller that sees no datagram. */
START_TEST(an_empty_datagram)
{
	struct dofi_local_sender sender;
	int before = dup(a);
	char text[4];

	close(before);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(dofi_local_socket_send(a, there, "", 0, i ? a : -1), 0);
		ck_assert_int_eq(dofi_local_socket_receive(b, text, sizeof(text), &sender), 0);
		ck_assert_int_eq(sender.passed, -1);
		ck_assert_int_eq(dup(a), before);
		close(before);
	}
}
END_TEST

/* The first descriptor behind this one that is free. */
static int fd_behind(int first)
{
	int fd = fcntl(a, F_DUPFD, first + 1);

	close(fd);
	return fd;
}

/* We never send two descriptors. What a stranger sends must not fill the table of this process. */
static void several_descriptors(unsigned int n)
{
	const int fds[5] = {a, b, a, b, a};
	struct iovec iov = {(void *)(uintptr_t) "hello", 6};
	struct dofi_local_sender sender;
	struct sockaddr_un to;
	socklen_t size = sizeof(to);
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(fds))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(fds)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct msghdr msg = {.msg_name = &to,
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	int before = next_fd(), behind = fd_behind(before);
	char text[8];

	control.header.cmsg_len = CMSG_LEN(n * sizeof(int));
	ck_assert_int_eq(getsockname(b, (struct sockaddr *)&to, &size), 0);
	msg.msg_namelen = size;
	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	ck_assert_int_eq(sendmsg(a, &msg, 0), 6);
	/* there is room for two; a datagram with more is dropped */
	ck_assert_int_eq(dofi_local_socket_receive(b, text, sizeof(text), &sender), n > 2 ? 0 : 6);
	ck_assert_int_eq(sender.passed, -1);
	ck_assert_int_eq(next_fd(), before);
	ck_assert_int_eq(fd_behind(before), behind);
	if (n <= 2)
		ck_assert_int_eq(sender.pid, getpid());
}

START_TEST(several_descriptors_are_closed)
{
	several_descriptors((unsigned int)_i);
}
END_TEST

START_TEST(without_descriptors_there_is_no_socket)
{
	static const uint8_t another[DOFI_LOCAL_NAME] = "another";
	struct rlimit files;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert_int_eq(dofi_local_socket_open(another), -EMFILE);
	files.rlim_cur = files.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
}
END_TEST

START_TEST(a_datagram_of_another_user)
{
	struct dofi_local_sender sender;
	int status;
	char text[8];
	pid_t pid;

	if (geteuid())
		t_skip("only root can act as another user");
	pid = fork();
	if (!pid) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(EXIT_FAILURE);
		_exit(dofi_local_socket_send(a, there, "hello", 6, a) ? EXIT_FAILURE
								      : EXIT_SUCCESS);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(dofi_local_socket_receive(b, text, sizeof(text), &sender), 6);
	ck_assert(!sender.is_user);
	ck_assert_int_eq(sender.pid, pid);
	close(sender.passed);
}
END_TEST

static void send_as(uid_t user)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(setuid(user) || dofi_local_socket_send(a, there, "hello", 6, -1));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* A user's datagrams are those of the same user and of root. */
START_TEST(datagrams_to_a_user)
{
	static const struct {
		uid_t user;
		bool is_user;
	} from[] = {{0, true}, {NOBODY, true}, {NOBODY - 1, false}};
	struct dofi_local_sender sender;
	char text[8];

	if (geteuid())
		t_skip("only root can act as another user");
	for (size_t i = 0; i < 3; i++) {
		send_as(from[i].user);
		ck_assert_int_eq(seteuid(NOBODY), 0);
		ck_assert_int_eq(dofi_local_socket_receive(b, text, sizeof(text), &sender), 6);
		ck_assert_int_eq(seteuid(0), 0);
		ck_assert_int_eq(sender.is_user, from[i].is_user);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("local_socket");
	TCase *tcase = tcase_create("local_socket");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_datagram_and_its_sender);
	tcase_add_test(tcase, a_descriptor_goes_along);
	tcase_add_test(tcase, nobody_is_there);
	tcase_add_test(tcase, a_full_socket);
	tcase_add_test(tcase, a_long_datagram);
	tcase_add_test(tcase, a_long_datagram_by_itself);
	tcase_add_test(tcase, an_empty_datagram);
	tcase_add_loop_test(tcase, several_descriptors_are_closed, 2, 6);
	tcase_add_test(tcase, sockets_that_cannot_be_opened);
	tcase_add_test(tcase, an_open_socket);
	tcase_add_test(tcase, the_first_descriptor_goes_along);
	tcase_add_test(tcase, datagrams_to_a_user);
	tcase_add_test(tcase, without_descriptors_there_is_no_socket);
	tcase_add_test(tcase, a_datagram_of_another_user);
	return t_run(suite);
}
