/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shared endpoint of an IA: the steps that open and close it, in order, what a failed step
 * leaves, and what each round of the engine does. The linker redirects the steps to this file.
 */
#include "t_blocks.h"

#include "cm/channel.h"
#include "cm/drain.h"
#include "dto/orphan.h"
#include "dto/srq_receive.h"
#include "dto/ud_pool.h"
#include "dto/ud_window.h"
#include "fabric/quirks.h"
#include "fabric/same_process.h"
#include "object/mr.h"
#include "object/transport.h"
#include "transport/control_receives.h"
#include "transport/greeting.h"
#include "transport/rdm.h"
#include "transport/shm_cleanup.h"
#include "transport/shm_name.h"
#include "transport/shm_repair.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>

#define ROOM 64u

static struct dofi_ia ia;
static struct fi_rx_attr rx_attr = {.size = 100};
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr, .rx_attr = &rx_attr};
static struct fid_cq cq;
static struct fid_av av;
static struct fid_mr mr;
static uint8_t name[ROOM];
static size_t name_size = ROOM;

/* --- steps --- */

static const char *steps[64], *failing;
static unsigned int nsteps;

static int step(const char *what)
{
	ck_assert_uint_lt(nsteps, sizeof(steps) / sizeof(steps[0]));
	steps[nsteps++] = what;
	return failing && !strcmp(what, failing) ? -FI_EIO : 0;
}

/* The steps since the last call, separated by spaces. */
static void expect(const char *wanted)
{
	char text[1024] = "";

	for (unsigned int i = 0; i < nsteps; i++) {
		strcat(text, i ? " " : "");
		strcat(text, steps[i]);
	}
	ck_assert_str_eq(text, wanted);
	nsteps = 0;
}

/* --- the fabric --- */

static int close_endpoint(fid_t fid)
{
	ck_assert_ptr_eq(fid, &ia.shared_ep->fid);
	return step("close");
}

static int bind_endpoint(fid_t fid, fid_t other, uint64_t flags)
{
	ck_assert_ptr_eq(fid, &ia.shared_ep->fid);
	if (other == &cq.fid) {
		ck_assert_uint_eq(flags, FI_TRANSMIT | FI_RECV);
		return step("bind-cq");
	}
	ck_assert_ptr_eq(other, &av.fid);
	ck_assert_uint_eq(flags, 0);
	return step("bind-av");
}

static int control(fid_t fid, int command, void *arg)
{
	(void)fid, (void)arg;
	ck_assert_int_eq(command, FI_ENABLE);
	return step("enable");
}

static int name_of(fid_t fid, void *to, size_t *size_p)
{
	(void)fid;
	ck_assert_ptr_eq(to, name);
	ck_assert_uint_eq(*size_p, ROOM);
	strcpy(to, "me");
	*size_p = 3;
	return step("name");
}

static struct fi_ops fid_ops = {.size = sizeof(fid_ops),
				.close = close_endpoint,
				.bind = bind_endpoint,
				.control = control};
static struct fi_ops_cm cm_ops = {.size = sizeof(cm_ops), .getname = name_of};
static struct fid_ep endpoint = {.fid.ops = &fid_ops, .cm = &cm_ops};

static int open_endpoint(struct fid_domain *domain, struct fi_info *of, struct fid_ep **ep_p,
			 void *context)
{
	(void)domain;
	ck_assert_ptr_eq(of, &info);
	ck_assert_ptr_null(context);
	if (step("endpoint"))
		return -FI_EIO;
	*ep_p = &endpoint;
	return 0;
}

static struct fi_ops_domain domain_ops = {.size = sizeof(domain_ops), .endpoint = open_endpoint};
static struct fid_domain domain = {.ops = &domain_ops};

/* --- the parts of the transport --- */

#define PART(function, what)                        \
	void __wrap_##function(struct dofi_ia *of); \
	void __wrap_##function(struct dofi_ia *of)  \
	{                                           \
		ck_assert_ptr_eq(of, &ia);          \
		step(what);                         \
	}

PART(dofi_ctrl_recvs_post_missing, "receives-again")
PART(dofi_shm_repair_close, "repair-close")
PART(dofi_shm_cleanup_fini, "cleanup-fini")
PART(dofi_ud_pool_close, "pool-close")
PART(dofi_ud_pool_retry, "pool-again")
PART(dofi_ud_answers_retry, "answers-again")
PART(dofi_orphans_free_all, "orphans")
PART(dofi_drain_free_all, "drains")
PART(dofi_drain_retry, "drains-again")

int __wrap_dofi_peers_open(struct dofi_ia *of, struct dofi_peers *peers,
			   void (*again)(struct dofi_conn *conn));
void __wrap_dofi_peers_withdraw(struct dofi_peers *peers);
void __wrap_dofi_peers_close(struct dofi_peers *peers);
int __wrap_dofi_async_errors_open(struct dofi_ia *of, struct dofi_async_errors *events);
int __wrap_dofi_async_errors_begin(struct dofi_ia *of, struct dofi_async_errors *events);
void __wrap_dofi_async_errors_close(struct dofi_ia *of, struct dofi_async_errors *events);
int __wrap_dofi_async_errors_poll(struct dofi_ia *of, struct dofi_async_errors *events);
int __wrap_dofi_shm_cleanup_probe(void);
int __wrap_dofi_shm_name_set(struct fid_ep *ep);
void __wrap_dofi_shm_cleanup_init(struct dofi_ia *of, const uint8_t *own);
void __wrap_dofi_shm_repair_open(struct dofi_ia *of, const uint8_t *own);
int __wrap_dofi_same_process_hide(uint64_t quirks, uint8_t *own, size_t *size_p, size_t room);
int __wrap_dofi_greetings_poll(struct dofi_ia *of);
int __wrap_dofi_ctrl_recvs_post(struct dofi_ia *of);
void __wrap_dofi_rx_slots_try_more(struct dofi_ia *of, struct dofi_rx_slots *slots);
int __wrap_dofi_mr_close(struct dofi_ia *of, struct fid_mr *what);

int __wrap_dofi_peers_open(struct dofi_ia *of, struct dofi_peers *peers,
			   void (*again)(struct dofi_conn *conn))
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(peers, &ia.rdm->peers);
	ck_assert_ptr_eq((void *)again, (void *)dofi_greeting_again);
	peers->av = &av;
	return step("peers");
}

void __wrap_dofi_peers_withdraw(struct dofi_peers *peers)
{
	ck_assert_ptr_eq(peers->av, &av);
	step("withdraw");
}

void __wrap_dofi_peers_close(struct dofi_peers *peers)
{
	ck_assert_ptr_eq(peers->av, &av);
	step("peers-close");
}

int __wrap_dofi_async_errors_open(struct dofi_ia *of, struct dofi_async_errors *events)
{
	ck_assert_ptr_eq(of->shared_ep, &endpoint);
	ck_assert_ptr_eq(events, &ia.rdm->events);
	return step("errors");
}

int __wrap_dofi_async_errors_begin(struct dofi_ia *of, struct dofi_async_errors *events)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(events, &ia.rdm->events);
	return step("errors-begin");
}

void __wrap_dofi_async_errors_close(struct dofi_ia *of, struct dofi_async_errors *events)
{
	ck_assert_ptr_null(of->shared_ep); /* what is given back is not posted again */
	ck_assert_ptr_eq(events, &ia.rdm->events);
	step("errors-close");
}

int __wrap_dofi_async_errors_poll(struct dofi_ia *of, struct dofi_async_errors *events)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(events, &ia.rdm->events);
	step("errors-poll");
	return 3;
}

int __wrap_dofi_shm_cleanup_probe(void)
{
	return step("probe");
}

int __wrap_dofi_shm_name_set(struct fid_ep *ep)
{
	ck_assert_ptr_eq(ep, &endpoint);
	return step("set-name");
}

void __wrap_dofi_shm_cleanup_init(struct dofi_ia *of, const uint8_t *own)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(own, name);
	step("cleanup");
}

void __wrap_dofi_shm_repair_open(struct dofi_ia *of, const uint8_t *own)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(own, name);
	step("repair");
}

int __wrap_dofi_same_process_hide(uint64_t quirks, uint8_t *own, size_t *size_p, size_t room)
{
	ck_assert_uint_eq(quirks, ia.quirks);
	ck_assert_ptr_eq(own, name);
	ck_assert_uint_eq(*size_p, 3);
	ck_assert_uint_eq(room, ROOM);
	return step("hide");
}

int __wrap_dofi_greetings_poll(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	step("greetings");
	return 4;
}

int __wrap_dofi_ctrl_recvs_post(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	return step("receives");
}

void __wrap_dofi_rx_slots_try_more(struct dofi_ia *of, struct dofi_rx_slots *slots)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(slots, &ia.rdm->slots);
	step("more-slots");
}

int __wrap_dofi_mr_close(struct dofi_ia *of, struct fid_mr *what)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(what, &mr);
	return step("mr-close");
}

/* --- peers and SRQs --- */

static struct dofi_peer peer;
static struct dofi_chan chan;
static bool known;
static const struct sockaddr_storage *closed_from;

struct dofi_peer *__wrap_dofi_peer_of(struct dofi_peers *peers, const struct dofi_details *details);
struct dofi_peer *__wrap_dofi_peer_find(struct dofi_peers *peers, const uint8_t *uuid);
void __wrap_dofi_peer_closed(struct dofi_peer *of, const struct sockaddr_storage *from);
void __wrap_dofi_srq_cancel(struct dofi_srq *srq, struct fid *of);
uint32_t __wrap_dofi_srq_abandon(struct dofi_srq *srq);
int __wrap_dofi_engine_drain_cq(struct dofi_ia *of);

struct dofi_peer *__wrap_dofi_peer_of(struct dofi_peers *peers, const struct dofi_details *details)
{
	ck_assert_ptr_eq(peers, &ia.rdm->peers);
	ck_assert_ptr_eq(details, &chan.peer);
	return known ? &peer : NULL;
}

struct dofi_peer *__wrap_dofi_peer_find(struct dofi_peers *peers, const uint8_t *uuid)
{
	ck_assert_ptr_eq(peers, &ia.rdm->peers);
	ck_assert_ptr_eq(uuid, chan.peer.uuid);
	return known ? &peer : NULL;
}

void __wrap_dofi_peer_closed(struct dofi_peer *of, const struct sockaddr_storage *from)
{
	ck_assert_ptr_eq(of, &peer);
	closed_from = from;
}

static struct dofi_srq srq = {.obj.ia = &ia};
static uint32_t stay; /* receives that the fabric does not return */
static bool slow;     /* it returns one for each reading of the queue */

void __wrap_dofi_srq_cancel(struct dofi_srq *of, struct fid *fid)
{
	ck_assert_ptr_eq(of, &srq);
	ck_assert_ptr_eq(fid, &endpoint.fid);
	step("cancel");
}

uint32_t __wrap_dofi_srq_abandon(struct dofi_srq *of)
{
	ck_assert_ptr_eq(of, &srq);
	step("abandon");
	return of->available;
}

int __wrap_dofi_engine_drain_cq(struct dofi_ia *of)
{
	uint32_t n = srq.available - stay;

	ck_assert_ptr_eq(of, &ia);
	step("drain");
	n = slow && n ? 1 : n;
	srq.available -= n;
	dofi_rx_slots_release(&ia.rdm->slots, n);
	return (int)n;
}

/* --- */

static void setup(void)
{
	dofi_lock_init_level(&ia.engine.lock, DOFI_LEVEL_ENGINE);
	ia.info = &info;
	ia.domain = &domain;
	ia.cq = &cq;
	ia.trans = &dofi_trans_rdm;
	dofi_list_init(&ia.orphans);
	dofi_list_init(&ia.drains);
}

static void set_up_open(void)
{
	setup();
	ck_assert_int_eq(ia.trans->open(&ia, name, &name_size), 0);
	nsteps = 0;
	dofi_lock(&ia.engine.lock);
}

static void tear_down_open(void)
{
	dofi_unlock(&ia.engine.lock);
	ia.trans->close(&ia);
}

#define OPEN                                                                                    \
	"peers endpoint bind-cq bind-av errors enable name hide receives errors-begin cleanup " \
	"repair"
#define BOUND   "peers endpoint bind-cq bind-av errors "
#define ENABLED BOUND "probe set-name enable "
#define CLOSE   "repair-close close errors-close pool-close orphans drains peers-close cleanup-fini"

START_TEST(the_steps_of_open_and_close)
{
	unsigned int before = t_nblocks;

	ck_assert_int_eq(ia.trans->open(&ia, name, &name_size), 0);
	ck_assert_uint_eq(name_size, 3);
	expect(OPEN);
	ck_assert_ptr_eq(ia.shared_ep, &endpoint);
	ck_assert_ptr_nonnull(ia.rdm);
	ck_assert(dofi_list_empty(&ia.rdm->greetings));
	ia.trans->close(&ia);
	expect(CLOSE);
	ck_assert_ptr_null(ia.shared_ep);
	ck_assert_ptr_null(ia.rdm);
	ck_assert_uint_eq(t_nblocks, before);
}
END_TEST

/* The endpoint that wrote into the memory is closed before its registration. */
START_TEST(the_registration_of_the_control_buffers_is_closed)
{
	ck_assert_int_eq(ia.trans->open(&ia, name, &name_size), 0);
	ia.rdm->ctrl_mr = &mr;
	nsteps = 0;
	ia.trans->close(&ia);
	expect("repair-close close errors-close pool-close mr-close orphans drains peers-close "
	       "cleanup-fini");
}
END_TEST

/* The fabric frees it with the address of its sender, and crashes if it is closed before. */
START_TEST(the_sender_of_a_half_received_message_goes_first)
{
	struct dofi_list one;

	ia.quirks = _i & 1 ? DOFI_QUIRK_HALF_RECEIVED : ~DOFI_QUIRK_HALF_RECEIVED;
	ck_assert_int_eq(ia.trans->open(&ia, name, &name_size), 0);
	if (_i & 2)
		dofi_list_add_tail(&ia.orphans, &one);
	if (_i & 4)
		dofi_list_add_tail(&ia.drains, &one);
	nsteps = 0;
	ia.trans->close(&ia);
	if (_i == 3 || _i == 5)
		expect("repair-close withdraw close errors-close pool-close orphans drains "
		       "peers-close cleanup-fini");
	else
		expect(CLOSE);
}
END_TEST

/*
 * The region is probed before the endpoint maps memory of others. Only shm has names of ours: efa
 * of libfabric 1.17 crashes when the name of an endpoint that is not enabled is read.
 */
START_TEST(only_regions_are_probed_and_named)
{
	ia.quirks = DOFI_QUIRK_UNCHECKED_REGION;
	ia.host_only = true;
	ck_assert_int_eq(ia.trans->open(&ia, name, &name_size), 0);
	expect("peers endpoint bind-cq bind-av errors probe set-name enable name hide receives "
	       "errors-begin cleanup repair");
	ia.trans->close(&ia);
}
END_TEST

/* Each step undoes those before it. */
START_TEST(a_step_of_the_opening_fails)
{
	static const struct {
		const char *step, *steps;
	} failures[] = {
		{"peers", "peers"},
		{"endpoint", "peers endpoint peers-close"},
		{"bind-cq", "peers endpoint bind-cq close errors-close peers-close"},
		{"bind-av", "peers endpoint bind-cq bind-av close errors-close peers-close"},
		{"errors", "peers endpoint bind-cq bind-av errors close errors-close peers-close"},
		{"probe", BOUND "probe close errors-close peers-close"},
		{"set-name", BOUND "probe set-name close errors-close peers-close"},
		{"enable", ENABLED "close errors-close peers-close"},
		{"name", ENABLED "name " CLOSE},
		{"hide", ENABLED "name hide " CLOSE},
		{"receives", ENABLED "name hide receives " CLOSE},
		{"errors-begin", ENABLED "name hide receives errors-begin " CLOSE},
	};
	unsigned int before = t_nblocks;

	ia.quirks = DOFI_QUIRK_UNCHECKED_REGION;
	ia.host_only = true;
	failing = failures[_i].step;
	ck_assert_int_eq(ia.trans->open(&ia, name, &name_size), -FI_EIO);
	expect(failures[_i].steps);
	ck_assert_ptr_null(ia.rdm);
	ck_assert_ptr_null(ia.shared_ep);
	ck_assert_uint_eq(t_nblocks, before);
}
END_TEST

START_TEST(an_opening_without_memory)
{
	t_blocks_left = 0;
	ck_assert_int_eq(ia.trans->open(&ia, name, &name_size), -FI_ENOMEM);
	expect("");
	ck_assert_ptr_null(ia.rdm);
}
END_TEST

/* The receives of the library, and those of drains, have slots of their own. */
START_TEST(receives_of_eps_leave_slots_for_the_library)
{
	ia.quirks = _i ? DOFI_QUIRK_FATAL_OVERFLOW : 0;
	ck_assert_int_eq(ia.trans->open(&ia, name, &name_size), 0);
	ck_assert_uint_eq(ia.rdm->slots.sure, 100 - 2 * DOFI_CTRL_RECVS);
	/* more than the fabric reports are safe to try, unless it ends the process */
	ck_assert_int_eq(ia.rdm->slots.tried, _i);
	ia.trans->close(&ia);
}
END_TEST

/* --- rounds of the engine --- */

START_TEST(a_round_without_waiting_work)
{
	ck_assert_int_eq(ia.trans->poll_events(&ia), 7);
	expect("greetings drains-again errors-poll");
}
END_TEST

START_TEST(a_round_tries_again_what_waits)
{
	atomic_store(&ia.rdm->slots.asked, _i & 1);
	ia.rdm->unposted = _i & 2;
	ia.ud_pool = _i & 4 ? (void *)&ia : NULL;
	ck_assert_int_eq(ia.trans->poll_events(&ia), 7);
	ck_assert_str_eq(steps[0], "greetings");
	ck_assert_uint_eq(nsteps, 3u + !!(_i & 1) + !!(_i & 2) + 2u * !!(_i & 4));
	if (_i == 7)
		expect("greetings more-slots drains-again receives-again pool-again answers-again "
		       "errors-poll");
	ia.rdm->unposted = 0;
	ia.ud_pool = NULL;
}
END_TEST

/* --- peers --- */

START_TEST(the_peer_of_a_channel_closes)
{
	known = _i;
	ia.trans->peer_closed(&ia, &chan);
	ck_assert_ptr_eq(closed_from, _i ? &chan.remote : NULL);
}
END_TEST

/* The IA is not open yet, or it failed to open. */
START_TEST(a_peer_closes_before_there_is_a_transport)
{
	known = true;
	dofi_lock(&ia.engine.lock);
	ia.trans->peer_closed(&ia, &chan);
	dofi_unlock(&ia.engine.lock);
	ck_assert_ptr_null(closed_from);
}
END_TEST

START_TEST(the_wakeup_of_a_peer)
{
	known = _i;
	ck_assert_ptr_eq(ia.trans->wakeup_of(&ia, chan.peer.uuid), _i ? &peer.wakeup : NULL);
}
END_TEST

/* --- SRQs --- */

static void close_srq(uint32_t receives)
{
	ck_assert_int_eq(ia.trans->srq_open(&srq), 0);
	expect("");
	for (srq.available = 0; srq.available < receives; srq.available++)
		ck_assert(dofi_rx_slots_acquire(&ia.rdm->slots));
	ia.trans->srq_close(&srq);
	ck_assert_uint_eq(dofi_rx_slots_used(&ia.rdm->slots), 0);
}

START_TEST(the_receives_of_an_srq_are_cancelled)
{
	close_srq(0);
	expect("cancel");
	close_srq(5);
	expect("cancel drain");
	slow = true;
	close_srq(2);
	expect("cancel drain drain");
}
END_TEST

/* The queue is read a limited number of times. */
START_TEST(receives_of_an_srq_that_do_not_come_back)
{
	stay = 2;
	close_srq(5);
	ck_assert_uint_eq(nsteps, 1 + DOFI_CANCEL_ROUNDS + 1);
	ck_assert_str_eq(steps[nsteps - 1], "abandon");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rdm_open");
	TCase *tc = tcase_create("open");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, the_steps_of_open_and_close);
	tcase_add_test(tc, the_registration_of_the_control_buffers_is_closed);
	tcase_add_loop_test(tc, the_sender_of_a_half_received_message_goes_first, 0, 6);
	tcase_add_test(tc, only_regions_are_probed_and_named);
	tcase_add_loop_test(tc, a_step_of_the_opening_fails, 0, 12);
	tcase_add_test(tc, an_opening_without_memory);
	tcase_add_loop_test(tc, receives_of_eps_leave_slots_for_the_library, 0, 2);
	tcase_add_test(tc, a_peer_closes_before_there_is_a_transport);
	suite_add_tcase(suite, tc);
	tc = tcase_create("use");
	tcase_add_checked_fixture(tc, set_up_open, tear_down_open);
	tcase_add_test(tc, a_round_without_waiting_work);
	tcase_add_loop_test(tc, a_round_tries_again_what_waits, 0, 8);
	tcase_add_loop_test(tc, the_peer_of_a_channel_closes, 0, 2);
	tcase_add_loop_test(tc, the_wakeup_of_a_peer, 0, 2);
	tcase_add_test(tc, the_receives_of_an_srq_are_cancelled);
	tcase_add_test(tc, receives_of_an_srq_that_do_not_come_back);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
