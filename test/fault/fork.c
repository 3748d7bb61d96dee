/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* In a forked child, calls on the parent's IA return errors and do not disturb the parent. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"

static struct t_pair pair;
static DAT_RMR_HANDLE rmr;
static DAT_CNO_HANDLE cno;

/* In the child: a call that succeeds ends it, with the line as its exit status. */
#define refused(call)                                         \
	do {                                                  \
		if (DAT_GET_TYPE(call) != DAT_INVALID_HANDLE) \
			_exit(__LINE__ % 200 + 50);           \
	} while (0)

static void try_ia_calls(void)
{
	struct t_ia *ia = &pair.ia[0];
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;

	refused(dat_ia_query(ia->ia, NULL, DAT_IA_FIELD_ALL, &ia->attr, 0, NULL));
	refused(dat_pz_create(ia->ia, &pz));
	refused(dat_evd_create(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd));
	refused(dat_cno_create(ia->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	refused(dat_ep_create(ia->ia, ia->pz, NULL, NULL, NULL, NULL, &ep));
	refused(dat_psp_create_any(ia->ia, &qual, pair.listener.evd, DAT_PSP_CONSUMER_FLAG, &psp));
	refused(t_lmr_of(ia->ia, pair.end[0].buf.mem, 64, ia->pz, DAT_MEM_PRIV_ALL_FLAG,
			 &(DAT_LMR_HANDLE){0}));
	refused(dat_rmr_create(ia->pz, &rmr));
}

static void try_transfers(void)
{
	const struct t_end *end = &pair.end[0];
	DAT_COUNT nmore;
	DAT_EVENT event;

	refused(t_send(end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	refused(t_recv(end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	refused(t_read(end, 0, 64, 1, t_remote_seg(&pair.end[1].buf, 0, 64),
		       DAT_COMPLETION_DEFAULT_FLAG));
	refused(t_write(end, 0, 64, 1, t_remote_seg(&pair.end[1].buf, 0, 64),
			DAT_COMPLETION_DEFAULT_FLAG));
	refused(dat_evd_wait(end->recv_evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	refused(dat_evd_dequeue(end->recv_evd, &event));
	refused(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &(DAT_EVD_HANDLE){0}));
	refused(t_connect(end->ep, &pair.listener));
	refused(dat_ep_disconnect(end->ep, DAT_CLOSE_ABRUPT_FLAG));
}

static void try_frees(void)
{
	refused(dat_ep_free(pair.end[0].ep));
	refused(dat_lmr_free(pair.end[0].buf.lmr));
	refused(dat_rmr_free(rmr));
	refused(dat_psp_free(pair.listener.psp));
	refused(dat_evd_free(pair.end[0].recv_evd));
	refused(dat_cno_free(cno));
	refused(dat_pz_free(pair.ia[0].pz));
	refused(dat_ia_close(pair.ia[0].ia, DAT_CLOSE_GRACEFUL_FLAG));
	refused(dat_ia_close(pair.ia[0].ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void try_all(void)
{
	try_ia_calls();
	try_transfers();
	try_frees();
}

/* Exits with all destructors, as programs do. */
static void do_nothing(void)
{
}

static void open_another(void)
{
#ifndef __SANITIZE_THREAD__ /* which does not support threads in a forked child */
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret = dat_ia_open(t_ia_name(), 8, &async, &ia);

	if (ret == DAT_SUCCESS && dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS)
		_exit(EXIT_FAILURE);
#endif
}

static void (*const children[])(void) = {
	try_all,
	do_nothing,
	open_another,
};

static void run_child(void (*child)(void))
{
	pid_t pid;
	int status = 0;

	fflush(NULL);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		child();
		exit(EXIT_SUCCESS);
	}
	t_until(waitpid(pid, &status, WNOHANG) == pid);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "the child ended with status 0x%x",
		      (unsigned int)status);
}

static void exchange(void)
{
	t_ok(t_recv(&pair.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(&pair.end[0], 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(pair.end[0].request_evd, pair.end[0].ep, 2, DAT_DTO_SUCCESS, 64);
	t_wait_dto(pair.end[1].recv_evd, pair.end[1].ep, 1, DAT_DTO_SUCCESS, 64);
}

START_TEST(child_of_an_open_ia)
{
	/* EVS-136 */
	t_pair_open(&pair, NULL);
	t_ok(dat_rmr_create(pair.ia[0].pz, &rmr));
	cno = t_cno(&pair.ia[0]);
	exchange();
	for (int i = 0; i < 3; i++) {
		run_child(children[_i]);
		exchange();
	}
	t_stays_quiet(pair.end[0].connect_evd);
	t_no_event(pair.end[1].connect_evd);
	t_ok(dat_rmr_free(rmr));
	t_ok(dat_cno_free(cno));
	t_pair_close(&pair);
}
END_TEST

static DAT_COUNT stop_forking;

static void *fork_all_the_time(void *arg)
{
	while (!__atomic_load_n(&stop_forking, __ATOMIC_ACQUIRE)) {
		pid_t pid = fork();

		if (!pid)
			_exit(EXIT_SUCCESS);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return arg;
	}
	return NULL;
}

/* Another thread transfers data during the forks. */
START_TEST(forks_beside_transfers)
{
	pthread_t thread;
	void *failed;

	t_pair_open(&pair, NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, fork_all_the_time, &pair), 0);
	for (int i = 0; i < 300; i++)
		exchange();
	__atomic_store_n(&stop_forking, 1, __ATOMIC_RELEASE);
	ck_assert_int_eq(pthread_join(thread, &failed), 0);
	ck_assert_ptr_null(failed);
	t_pair_close(&pair);
}
END_TEST

/* A child keeps no socket open: if the parent dies, the peer notices. */
static void parent_role(struct t_peer *self)
{
	struct t_end end;
	struct t_ia ia;
	pid_t child;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(self), T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	child = fork();
	if (!child) {
		for (;;)
			pause();
	}
	t_peer_tell(self, (uint64_t)child);
	t_peer_hear(self);
}

START_TEST(child_outlives_its_parent)
{
	struct t_listener listener;
	struct t_peer parent;
	struct t_end end;
	struct t_ia ia;
	pid_t child;

	t_peer_start(&parent, parent_role);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(&parent, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_ok(t_recv(&end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	child = (pid_t)t_peer_hear(&parent);
	t_peer_kill(&parent);
	t_wait_dto(end.recv_evd, end.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_BROKEN, end.ep);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	t_ia_close(&ia);
}
END_TEST

/* --- a process that exits without closing its IA --- */

#define EXITS 20

static void open_and_exit(struct t_peer *self)
{
	struct t_ia ia;

	(void)self;
	t_ia_open(&ia);
}

/* Threads that still run at exit must not use a fabric that was unloaded. */
START_TEST(exit_with_an_open_ia)
{
	for (int i = 0; i < EXITS; i++) {
		struct t_peer peer;

		t_peer_start(&peer, open_and_exit);
		t_peer_join(&peer);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fork");
	TCase *tcase = tcase_create("fork");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, child_of_an_open_ia, 0, sizeof(children) / sizeof(children[0]));
	tcase_add_test(tcase, forks_beside_transfers);
	tcase_add_test(tcase, child_outlives_its_parent);
	tcase_add_test(tcase, exit_with_an_open_ia);
	return t_run(suite);
}
