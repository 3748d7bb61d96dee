/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes are killed during RDMA reads, RDMA writes or messages, at random instants and with
 * small and large transfers. The survivor gets the event of each connection and the completion of
 * each request, and continues to exchange messages with a living neighbour. If processes share
 * memory, a killed one may leave a lock held or an entry of a queue incomplete. T_DEATHS is the
 * number of deaths of each kind, T_SEED chooses the instants.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "shm.h"
#include "victim.h"

#define MAX_BATCH 100u /* processes that die one after the other beside one survivor */
#define DEPTH     8u
#define TO_DEAD   4u /* requests of the survivor to a process that dies */
#define LARGE     T_BUF_SIZE
#define WORK_US   8000u
#define START     1u
#define STOP      2u
#define PING_TAG  7u

enum { READER, WRITER, SENDER, KINDS };

static unsigned int batch;
static struct t_peer victims[MAX_BATCH], neighbour;
static pid_t pids[MAX_BATCH]; /* of the killed processes */
static struct t_ia ia;
static struct t_end end, near_end; /* the survivor's ends: to the victim, to the neighbour */
static uint32_t instant;
static int kind;

/* Sizes that shm sends inside the command, in a buffer, and by a copy of the other side. */
static DAT_VLEN size_of(uint64_t i)
{
	static const DAT_VLEN sizes[] = {8, 64, 1024, 4096, 16384, LARGE};

	return sizes[fault_random_of(i, sizeof(sizes) / sizeof(sizes[0]))];
}

/* --- the other processes --- */

/*
 * Connects with the survivor and returns the survivor's memory, when the survivor has the event of
 * the connection, too. kill_at.c has deaths before that.
 */
static DAT_RMR_TRIPLET meet(const struct t_peer *self)
{
	DAT_CONN_QUAL qual = fault_hear_at_last(self);
	DAT_RMR_CONTEXT context = (DAT_RMR_CONTEXT)fault_hear_at_last(self);
	DAT_RMR_TRIPLET remote = t_remote(context, (uintptr_t)fault_hear_at_last(self), LARGE);

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	for (uint64_t i = 0; i < DEPTH; i++)
		t_ok(t_recv(&end, 0, LARGE, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_connect_data(end.ep, &ia, qual, 2 * T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	ck_assert_uint_eq(fault_hear_at_last(self), START);
	return remote;
}

static DAT_RETURN post(int what, uint64_t i, DAT_RMR_TRIPLET remote)
{
	DAT_VLEN length = size_of(i);

	remote.segment_length = length;
	switch (what) {
	case READER:
		return t_read(&end, 0, length, i, remote, DAT_COMPLETION_DEFAULT_FLAG);
	case WRITER:
		return t_write(&end, 0, length, i, remote, DAT_COMPLETION_DEFAULT_FLAG);
	default:
		return t_send(&end, 0, length, i, DAT_COMPLETION_DEFAULT_FLAG);
	}
}

/* Transfers until it is killed. */
static void victim(struct t_peer *self)
{
	DAT_RMR_TRIPLET remote = meet(self);
	DAT_EVENT event;

	fault_die_after(instant);
	for (uint64_t i = 0;; i++) {
		if (i >= DEPTH)
			t_wait(end.request_evd);
		while (dat_evd_dequeue(end.recv_evd, &event) == DAT_SUCCESS)
			t_ok(t_recv(&end, 0, LARGE, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(post(kind, i, remote));
	}
}

static bool is_told_to_stop(const struct t_peer *self)
{
	uint64_t word;

	return recv(self->sock, &word, sizeof(word), MSG_DONTWAIT) == (ssize_t)sizeof(word);
}

/* The neighbour: answers messages, and reads and writes meanwhile. */
static void be_well(struct t_peer *self)
{
	DAT_RMR_TRIPLET remote = meet(self);
	uint64_t i = 0;
	DAT_EVENT event;

	while (!is_told_to_stop(self)) {
		t_ok(post(i % 2 ? READER : WRITER, i, remote));
		t_wait_dto(end.request_evd, end.ep, i, DAT_DTO_SUCCESS, size_of(i));
		i++;
		if (dat_evd_dequeue(end.recv_evd, &event) != DAT_SUCCESS) {
			t_pause();
			continue;
		}
		t_ok(t_recv(&end, 0, LARGE, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&end, 0, LARGE, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(end.request_evd, end.ep, i, DAT_DTO_SUCCESS, LARGE);
	}
	t_ia_close(&ia);
}

/* --- the survivor --- */

static void invite(const struct t_peer *other, struct t_end *own)
{
	struct t_listener listener;

	t_end_new(own, &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(other, listener.qual);
	t_peer_tell(other, own->buf.rmr_context);
	t_peer_tell(other, (uintptr_t)own->buf.mem);
	t_ok(t_cr_accept(t_next_cr(&listener), own->ep));
	t_wait_conn(own->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, own->ep);
	t_peer_tell(other, START);
	t_listener_free(&listener);
}

/* Posted and not completed. */
static unsigned int receives, requests;

static unsigned int take(DAT_EVD_HANDLE evd, unsigned int *posted)
{
	DAT_EVENT event;
	unsigned int n = 0;

	for (; dat_evd_dequeue(evd, &event) == DAT_SUCCESS; n++) {
		ck_assert_int_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
		ck_assert_uint_gt(*posted, 0);
		--*posted;
	}
	return n;
}

static void keep_busy(uint64_t *i)
{
	unsigned int n = take(end.recv_evd, &receives) + take(end.request_evd, &requests);

	for (; receives < DEPTH; receives++)
		t_ok(t_recv(&end, 0, LARGE, 0, DAT_COMPLETION_DEFAULT_FLAG));
	for (; requests < TO_DEAD; requests++)
		t_ok(t_send(&end, 0, size_of(++*i), 0, DAT_COMPLETION_DEFAULT_FLAG));
	if (!n)
		t_pause();
}

static void ping(size_t size)
{
	t_ok(t_recv(&near_end, 0, LARGE, PING_TAG, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(&near_end, 0, size, PING_TAG, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(near_end.request_evd, near_end.ep, PING_TAG, DAT_DTO_SUCCESS, size);
	t_wait_dto(near_end.recv_evd, near_end.ep, PING_TAG, DAT_DTO_SUCCESS, LARGE);
}

static void outlive(unsigned int number)
{
	uint64_t limit = t_now_us() + 2 * (uint64_t)T_LIMIT_US, i = number;
	struct t_peer *dying = &victims[number];
	DAT_EVENT event;
	int status;

	receives = requests = 0;
	invite(dying, &end);
	while (dat_evd_dequeue(end.connect_evd, &event) != DAT_SUCCESS) {
		ck_assert_msg(t_now_us() < limit, "the connection is not over");
		keep_busy(&i);
	}
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
	t_until((take(end.recv_evd, &receives), !receives) &&
		(take(end.request_evd, &requests), !requests));
	ck_assert_int_eq(waitpid(dying->pid, &status, 0), dying->pid);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		      "the victim ended by itself, wait status 0x%x", (unsigned int)status);
	pids[number] = dying->pid;
	close(dying->sock);
	t_end_free(&end);
	ping(64);
	ping(LARGE);
}

/* The names of shm's regions begin with the process id. */
static bool has_left_something(void)
{
	DIR *dir = opendir("/dev/shm");
	bool has = false;
	struct dirent *entry;

	ck_assert_ptr_nonnull(dir);
	while (!has && (entry = readdir(dir)))
		for (unsigned int i = 0; i < batch; i++) {
			char *rest;

			has |= strtol(entry->d_name, &rest, 10) == pids[i] && *rest == ':';
		}
	closedir(dir);
	return has;
}

START_TEST(neighbour_continues_when_processes_die)
{
	if (fault_dead_keep_locks())
		t_skip("this shm has a lock that dies with its holder");
	kind = _i % KINDS;
	t_peer_start(&neighbour, be_well);
	for (unsigned int i = 0; i < batch; i++) {
		const char *seed = getenv("T_SEED");
		uint64_t state = (uint64_t)_i << 40 | i << 20;

		instant =
			1 + fault_random_of(state | (seed ? strtoul(seed, NULL, 10) : 1), WORK_US);
		t_peer_start(&victims[i], victim);
	}
	t_ia_open(&ia);
	invite(&neighbour, &near_end);
	for (unsigned int i = 0; i < batch; i++)
		outlive(i);
	t_until(!has_left_something());
	t_peer_tell(&neighbour, STOP);
	t_peer_join(&neighbour);
	t_ia_close(&ia);
}
END_TEST

int main(void)
{
	const char *deaths = getenv("T_DEATHS");
	unsigned int number =
		deaths ? (unsigned int)strtoul(deaths, NULL, 10) : fault_amount(6, 500);
	Suite *suite = suite_create("outlive");
	TCase *tcase = tcase_create("outlive");

	batch = number < MAX_BATCH ? number : MAX_BATCH;
	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 60 + 10 * batch);
	tcase_add_loop_test(tcase, neighbour_continues_when_processes_die, 0,
			    KINDS * (int)((number + batch - 1) / batch));
	return t_run(suite);
}
