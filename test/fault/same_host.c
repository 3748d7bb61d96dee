/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections between two processes by shared memory (same_host): which ones use it, what dat_info
 * says about it, RDMA to a process that is stopped, kernels that forbid copies, long messages that
 * wait together, and writes of a peer to memory that is freed while the connection ends.
 */
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS 100u
#define NOBODY 65534u
#define LENGTH 3000u

static struct t_ia ia;
static struct t_end end;
static struct t_peer peer;
static const char *their_word;
static bool they_are_nobody, we_are_nobody, they_receive;
static bool (*forbid_them)(void); /* NULL: copies are allowed */
static char answer[65536];

/* NULL: nothing. */
static void say(const char *word)
{
	if (word)
		setenv("DAT_OFI_SAME_HOST", word, 1);
	else
		unsetenv("DAT_OFI_SAME_HOST");
}

/* --- the other process --- */

static bool is_nobody;

__attribute__((visibility("default"))) int __lsan_is_turned_off(void);

/* LeakSanitizer asks at the end of the process. Another user may not be able to read its files. */
int __lsan_is_turned_off(void)
{
	return is_nobody;
}

/* Another user from here on; whoever has that key may be anybody. */
static void become_nobody(void)
{
	ck_assert_int_eq(setgid(NOBODY), 0);
	ck_assert_int_eq(setuid(NOBODY), 0);
	is_nobody = true;
}

/* The system calls of copies fail, as in many containers. */
static bool forbid_by_seccomp(void)
{
	struct sock_filter filter[] = {
		{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
		{BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_process_vm_readv},
		{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_process_vm_writev},
		{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
		{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* A user namespace, in which this user is the same one: a container without root. */
static bool forbid_by_namespace(void)
{
	char users[64], groups[64];

	snprintf(users, sizeof(users), "%u %u 1", (unsigned int)geteuid(), (unsigned int)geteuid());
	snprintf(groups, sizeof(groups), "%u %u 1", (unsigned int)getegid(),
		 (unsigned int)getegid());
	return !unshare(CLONE_NEWUSER) && put("/proc/self/setgroups", "deny") &&
	       put("/proc/self/uid_map", users) && put("/proc/self/gid_map", groups);
}

/* One message that fills the buffer; the RDMA before it has left other bytes there. */
static void receive(const struct t_end *own)
{
	t_wait_dto(own->recv_evd, own->ep, 3, DAT_DTO_SUCCESS, T_BUF_SIZE);
	ck_assert(t_is_filled(own->buf.mem, T_BUF_SIZE, 3));
}

static void target_role(struct t_peer *self)
{
	struct t_listener listener;
	struct t_end own;

	if (forbid_them) {
		bool forbidden = forbid_them();

		t_peer_tell(self, forbidden);
		if (!forbidden)
			return;
	}
	say(their_word);
	t_ia_open(&ia);
	if (they_are_nobody)
		become_nobody();
	t_end_new(&own, &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	if (they_receive)
		t_ok(t_recv(&own, 0, T_BUF_SIZE, 3, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_cr_accept(t_next_cr(&listener), own.ep));
	t_wait_conn(own.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, own.ep);
	t_peer_tell(self, own.buf.rmr_context);
	t_peer_tell(self, (uintptr_t)own.buf.mem);
	if (they_receive)
		receive(&own);
	t_wait_conn(own.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, own.ep);
	t_ia_close(&ia);
}

/* --- this process --- */

static void ask(void)
{
	char command[64];
	FILE *out;
	size_t n;

	snprintf(command, sizeof(command), "dat_info -p %d 2>&1", (int)getpid());
	out = popen(command, "r");
	ck_assert_ptr_nonnull(out);
	n = fread(answer, 1, sizeof(answer) - 1, out);
	answer[n] = '\0';
	ck_assert_int_eq(pclose(out), 0);
}

static DAT_RMR_TRIPLET meet(const char *ours, const char *theirs)
{
	DAT_RMR_CONTEXT context;

	setenv("DAT_OFI_STATS", "socket", 1);
	their_word = theirs;
	t_peer_start(&peer, target_role);
	if (forbid_them && !t_peer_hear(&peer)) {
		t_peer_join(&peer);
		t_skip("this system does not let a process give up its right to copy");
	}
	say(ours);
	t_ia_open(&ia);
	if (we_are_nobody)
		become_nobody();
	t_end_new(&end, &ia, NULL);
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(&peer), T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	context = (DAT_RMR_CONTEXT)t_peer_hear(&peer);
	return t_remote(context, (uintptr_t)t_peer_hear(&peer), LENGTH);
}

static void part(void)
{
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	t_peer_join(&peer);
	t_ia_close(&ia);
}

static void transfer(DAT_RMR_TRIPLET remote, unsigned int round)
{
	t_fill(end.buf.mem, LENGTH, round);
	t_ok(t_write(&end, 0, LENGTH, 1, remote, DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(t_read(&end, LENGTH, LENGTH, 2, remote, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end.request_evd, end.ep, 2, DAT_DTO_SUCCESS, LENGTH);
	ck_assert(t_is_filled(end.buf.mem + LENGTH, LENGTH, round));
}

/* True if the run gives the parameter in ia_params, which the test cannot change. */
static bool is_given(void)
{
	const char *params = getenv("T_PARAMS");

	return params && strstr(params, "same_host");
}

/* Other fabrics and transports have no shared memory. */
static bool has_choice(void)
{
	return strstr(answer, "by memory") && !is_given();
}

static const struct {
	const char *ours, *theirs, *says;
} choices[] = {
	{NULL, NULL, " by memory"},
	{"memory", "auto", " by memory"},
	{"rings", "memory", " by memory, "},
	{"memory", "rings", " by memory, "},
	{"ptracer", "ptracer", " by memory"},
	{"memory", "fabric", " not by memory, for the peer does not offer it"},
};

START_TEST(both_processes_choose)
{
	DAT_RMR_TRIPLET remote = meet(choices[_i].ours, choices[_i].theirs);
	bool chooses, says;

	ask();
	chooses = has_choice();
	says = strstr(answer, choices[_i].says);
	transfer(remote, 1);
	part();
	if (!chooses)
		t_skip("the fabric has no choice");
	ck_assert_msg(says, "dat_info does not say%s: %s", choices[_i].says, answer);
}
END_TEST

/* The kernel copies: the target takes no part. The first round reads the target's table. */
START_TEST(rdma_to_a_stopped_process)
{
	DAT_RMR_TRIPLET remote = meet("memory", "memory");
	bool copies;

	ask();
	copies = strstr(answer, "by memory with copies");
	transfer(remote, 0);
	if (copies) {
		t_peer_freeze(&peer);
		for (unsigned int round = 1; round <= ROUNDS; round++)
			transfer(remote, round);
		t_peer_thaw(&peer);
	}
	part();
	if (!copies)
		t_skip("no copies between processes");
}
END_TEST

/* Two users that have one key: the kernel lets one of them copy, or none. */
START_TEST(two_users)
{
	DAT_RMR_TRIPLET remote;

	if (geteuid())
		t_skip("only root can act as another user");
	we_are_nobody = _i;
	they_are_nobody = !_i;
	remote = meet("memory", "memory");
	for (unsigned int round = 0; round < ROUNDS; round++)
		transfer(remote, round);
	if (they_are_nobody)
		ask();
	part();
	if (they_are_nobody && !is_given() && !strstr(answer, "by memory"))
		t_skip("the fabric has no choice");
}
END_TEST

static const struct {
	bool (*us)(void), (*them)(void), (*us_later)(void);
} forbidden[] = {
	{.us = forbid_by_seccomp},
	{.them = forbid_by_seccomp},
	{.us = forbid_by_seccomp, .them = forbid_by_seccomp},
	{.us_later = forbid_by_seccomp},
	{.them = forbid_by_namespace},
};

/* Where the kernel forbids copies in one or in both directions, the rings carry the data. */
START_TEST(forbidden_copies)
{
	DAT_RMR_TRIPLET remote;
	bool chooses, copies, copies_later;

	forbid_them = forbidden[_i].them;
	they_receive = true;
	if (forbidden[_i].us)
		ck_assert(forbidden[_i].us());
	remote = meet("memory", "memory");
	ask();
	chooses = has_choice();
	copies = strstr(answer, "by memory with copies");
	if (forbidden[_i].us_later)
		ck_assert(forbidden[_i].us_later());
	for (unsigned int round = 0; round < ROUNDS; round++)
		transfer(remote, round);
	ask();
	copies_later = strstr(answer, "by memory with copies");
	t_fill(end.buf.mem, T_BUF_SIZE, 3);
	t_ok(t_send(&end, 0, T_BUF_SIZE, 3, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end.request_evd, end.ep, 3, DAT_DTO_SUCCESS, T_BUF_SIZE);
	part();
	if (!chooses)
		t_skip("the fabric has no choice");
	ck_assert(copies == !forbidden[_i].us);
	ck_assert(copies_later == (copies && !forbidden[_i].us_later));
}
END_TEST

/* --- long messages --- */

#define MESSAGES 11u
#define SLOT     ((size_t)301 << 10)

/* One is longer than what the receiver copies together with others. */
static size_t length_of(unsigned int message)
{
	return message == 5 ? SLOT - 1024 : T_BUF_SIZE + 8 * (size_t)message;
}

static void grow_buffer(struct t_end *own)
{
	t_buf_free(&own->buf);
	t_buf_new(&own->buf, ia.ia, ia.pz, MESSAGES * SLOT, DAT_MEM_PRIV_ALL_FLAG);
}

static void collector_role(struct t_peer *self)
{
	struct t_listener listener;
	struct t_end own;

	say("memory");
	t_ia_open(&ia);
	t_end_new(&own, &ia, NULL);
	grow_buffer(&own);
	for (unsigned int i = 0; i < MESSAGES; i++)
		t_ok(t_recv(&own, i * SLOT, SLOT, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), own.ep));
	t_wait_conn(own.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, own.ep);
	t_peer_tell(self, 0);
	for (unsigned int i = 0; i < MESSAGES; i++) {
		t_wait_dto(own.recv_evd, own.ep, i, DAT_DTO_SUCCESS, length_of(i));
		ck_assert(t_is_filled(own.buf.mem + i * SLOT, length_of(i), i));
		ck_assert_uint_eq(own.buf.mem[i * SLOT + length_of(i)], 0);
	}
	t_wait_conn(own.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, own.ep);
	t_ia_close(&ia);
}

/* They wait for a receiver that is stopped, which then copies several at once. */
START_TEST(long_messages_that_wait)
{
	t_peer_start(&peer, collector_role);
	say("memory");
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	grow_buffer(&end);
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(&peer), T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_peer_hear(&peer);
	t_peer_freeze(&peer);
	for (unsigned int i = 0; i < MESSAGES; i++) {
		t_fill(end.buf.mem + i * SLOT, length_of(i), i);
		t_ok(t_send(&end, i * SLOT, length_of(i), i, DAT_COMPLETION_DEFAULT_FLAG));
	}
	t_peer_thaw(&peer);
	for (unsigned int i = 0; i < MESSAGES; i++)
		t_wait_dto(end.request_evd, end.ep, i, DAT_DTO_SUCCESS, length_of(i));
	part();
}
END_TEST

/* --- the end of memory --- */

#define WRITES         16u /* under way */
#define ROUNDS_OF_FREE 4

/* Writes until the connection ends, and takes the message of the other side. */
static void writer_role(struct t_peer *self)
{
	struct t_listener listener;
	DAT_RMR_CONTEXT context;
	DAT_RMR_TRIPLET remote;
	struct t_end own;

	say("memory");
	t_ia_open(&ia);
	t_end_new(&own, &ia, NULL);
	t_ok(t_recv(&own, T_BUF_SIZE / 2, 1, 0, DAT_COMPLETION_DEFAULT_FLAG));
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), own.ep));
	t_wait_conn(own.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, own.ep);
	context = (DAT_RMR_CONTEXT)t_peer_hear(self);
	remote = t_remote(context, (uintptr_t)t_peer_hear(self), T_BUF_SIZE / 2);
	t_fill(own.buf.mem, T_BUF_SIZE / 2, 1);
	for (uint64_t posted = 0, done = 0;; done++) {
		DAT_EVENT event;

		for (; posted < done + WRITES; posted++)
			if (t_write(&own, 0, T_BUF_SIZE / 2, posted, remote,
				    DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS)
				break;
		event = t_wait_for(own.request_evd, DAT_DTO_COMPLETION_EVENT);
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			break;
	}
	t_wait(own.connect_evd);
	t_ia_close(&ia);
}

/*
 * The end lingers, because the peer may not have the message yet. The peer learns of the end only
 * after that, and must not write to the memory meanwhile.
 */
START_TEST(memory_that_is_freed_while_the_end_lingers)
{
	volatile unsigned char *first;
	unsigned char before;
	bool untouched;

	setenv("DAT_OFI_STATS", "socket", 1);
	t_peer_start(&peer, writer_role);
	say("memory");
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	first = end.buf.mem;
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(&peer), T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	ask();
	t_fill(end.buf.mem, T_BUF_SIZE, 2);
	before = *first;
	t_peer_tell(&peer, end.buf.rmr_context);
	t_peer_tell(&peer, (uintptr_t)end.buf.mem);
	while (*first == before)
		sched_yield();
	t_ok(t_send(&end, T_BUF_SIZE / 2, 1, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end.request_evd, end.ep, 1, DAT_DTO_SUCCESS, 1);
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG));
	t_ok(dat_lmr_free(end.buf.lmr));
	t_fill(end.buf.mem, T_BUF_SIZE, 2);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	untouched = t_is_filled(end.buf.mem, T_BUF_SIZE, 2);
	t_peer_join(&peer);
	t_ia_close(&ia);
	if (!has_choice())
		t_skip("the fabric has no choice");
	ck_assert_msg(untouched, "the peer has written to memory after dat_lmr_free");
}
END_TEST

/* An IA of another fabric ignores the parameter, but not a word that nobody knows. */
START_TEST(a_word_that_nobody_knows)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE handle;

	setenv("DAT_OFI_SAME_HOST", "yes", 1);
	setenv("DAT_OFI_LOG", "off", 1);
	if (is_given())
		t_skip("ia_params say it");
	ck_assert_int_ne(dat_ia_open(t_ia_name(), 8, &async, &handle), DAT_SUCCESS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("same_host");
	TCase *tcase = tcase_create("same_host");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, both_processes_choose, 0,
			    (int)(sizeof(choices) / sizeof(choices[0])));
	tcase_add_test(tcase, rdma_to_a_stopped_process);
	tcase_add_loop_test(tcase, two_users, 0, 2);
	tcase_add_loop_test(tcase, forbidden_copies, 0,
			    (int)(sizeof(forbidden) / sizeof(forbidden[0])));
	tcase_add_test(tcase, long_messages_that_wait);
	tcase_add_loop_test(tcase, memory_that_is_freed_while_the_end_lingers, 0, ROUNDS_OF_FREE);
	tcase_add_test(tcase, a_word_that_nobody_knows);
	return t_run(suite);
}
