/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Processes that fork, load the other generation, or run for long. */
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paired.h"
#include "../lib/t_heap.h"

/* --- fork --- */

/* In the child every handle is invalid, and the calls do no harm to the parent. */
static bool child_is_refused(void)
{
	DAT_EP_STATE state;
	DAT_EVENT event;
	DAT_PZ_HANDLE pz;
	bool refused = true;

	refused &= DAT_GET_TYPE(dat_pz_create(paired.ia[0].ia, &pz)) == DAT_INVALID_HANDLE;
	refused &= DAT_GET_TYPE(dat_evd_dequeue(us->recv_evd, &event)) == DAT_INVALID_HANDLE;
	refused &=
		DAT_GET_TYPE(dat_ep_get_status(us->ep, &state, NULL, NULL)) == DAT_INVALID_HANDLE;
	refused &= DAT_GET_TYPE(t_send(us, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG)) ==
		   DAT_INVALID_HANDLE;
	refused &= DAT_GET_TYPE(dat_ia_close(paired.ia[0].ia, DAT_CLOSE_ABRUPT_FLAG)) ==
		   DAT_INVALID_HANDLE;
	return refused;
}

START_TEST(EVS_136_child_must_not_use_handles)
{
	int status;
	pid_t pid;

	paired_send(us, peer, 64);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid)
		_exit(child_is_refused() ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "status %d", status);
	paired_send(us, peer, 64);
	paired_send(peer, us, 64);
	t_no_event(us->connect_evd);
}
END_TEST

/* --- the other generation --- */

/* Functions with the same declaration in both generations. */
struct other_api {
	DAT_RETURN(*open)
	(const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *, DAT_UINT32, DAT_UINT32,
	 DAT_BOOLEAN);
	DAT_RETURN (*close)(DAT_IA_HANDLE, DAT_CLOSE_FLAGS);
	DAT_RETURN (*pz_create)(DAT_IA_HANDLE, DAT_PZ_HANDLE *);
	DAT_RETURN (*pz_free)(DAT_PZ_HANDLE);
};

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	ck_assert_msg(found, "%s is missing", name);
	return found;
}

static void load_other(struct other_api *api)
{
	void *library = dlopen(T_OTHER_MAJOR == 1 ? "libdat.so.1" : "libdat2.so.2", RTLD_NOW);

	ck_assert_msg(library, "%s", dlerror());
	api->open = (__typeof__(api->open))symbol(library, "dat_ia_openv");
	api->close = (__typeof__(api->close))symbol(library, "dat_ia_close");
	api->pz_create = (__typeof__(api->pz_create))symbol(library, "dat_pz_create");
	api->pz_free = (__typeof__(api->pz_free))symbol(library, "dat_pz_free");
}

START_TEST(TRN_066_both_generations_in_one_process)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct other_api other;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;

	load_other(&other);
	for (int round = 0; round < 3; round++) {
		t_ok(other.open(t_ia_name(), 8, &async, &ia, T_OTHER_MAJOR,
				T_OTHER_MAJOR == 1 ? 2 : 0, DAT_FALSE));
		t_ok(other.pz_create(ia, &pz));
		paired_send(us, peer, 1000);
		t_ok(other.pz_free(pz));
		t_ok(other.close(ia, DAT_CLOSE_GRACEFUL_FLAG));
		paired_send(peer, us, 1000);
		async = DAT_HANDLE_NULL;
	}
}
END_TEST

/* --- long-running processes --- */

START_TEST(TRN_013_messages_of_ended_connections_are_freed)
{
	/* Messages that were never received are freed with their connection. */
	size_t before = 0;

	for (int round = 0; round < 60; round++) {
		if (round == 10) /* all caches have their final size by then */
			before = t_heap();
		for (uint64_t i = 0; i < 4; i++)
			t_ok(t_send(us, 0, T_BUF_SIZE, i, DAT_COMPLETION_DEFAULT_FLAG));
		paired_again();
	}
	paired_send(us, peer, 64);
	ck_assert_uint_lt(t_heap(), before + (1 << 20));
}
END_TEST

START_TEST(TRN_016_requests_right_after_established)
{
	/* The fabric may not be ready yet. Posts succeed in any case. */
	for (int round = 0; round < 30; round++) {
		struct t_end *ends[] = {round & 1 ? peer : us, round & 1 ? us : peer};

		t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
		paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
		for (int i = 0; i < 2; i++)
			t_ok(dat_ep_reset(paired.end[i].ep));
		t_ok(t_recv(ends[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_connect(us->ep, &paired.listener));
		t_ok(t_cr_accept(t_next_cr(&paired.listener), peer->ep));
		t_wait_conn(ends[0]->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, ends[0]->ep);
		t_ok(t_write(ends[0], 0, 64, 2, t_remote_seg(&ends[1]->buf, 64, 64),
			     DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(ends[0], 0, 64, 3, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(ends[0]->request_evd, ends[0]->ep, 2, DAT_DTO_SUCCESS, 64);
		t_wait_dto(ends[0]->request_evd, ends[0]->ep, 3, DAT_DTO_SUCCESS, 64);
		t_wait_dto(ends[1]->recv_evd, ends[1]->ep, 1, DAT_DTO_SUCCESS, 64);
		t_wait_conn(ends[1]->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, ends[1]->ep);
	}
}
END_TEST

Suite *conform_process(void)
{
	Suite *suite = suite_create("process");
	TCase *tcase = paired_case(suite, "process");

	tcase_add_test(tcase, EVS_136_child_must_not_use_handles);
	tcase_add_test(tcase, TRN_066_both_generations_in_one_process);
	tcase_add_test(tcase, TRN_013_messages_of_ended_connections_are_freed);
	tcase_add_test(tcase, TRN_016_requests_right_after_established);
	return suite;
}
