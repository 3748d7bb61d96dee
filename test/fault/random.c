/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Several threads make random calls on two IAs of this process: they connect, accept, reject, hand
 * off, disconnect, reset, modify and free, and they post. Other threads wait on the EVDs meanwhile,
 * and the agent of a CNO makes such calls, too. The library may refuse most calls. But each call
 * returns, each connect or accept that succeeds ends by one event, and the threads that wait return
 * when their IA is closed. Run it under sanitizers, too. A case has the name of its seed, and
 * T_SEED is the first one. The threads meet differently in each run of a seed.
 */
#include "places.h"

#define ROUNDS     3 /* of a case; each opens both IAs */
#define CALLERS    3
#define STEPS      3000 /* of each caller and round; most of them are one call */
#define QUALS      6u
#define TAKERS     6 /* of an IA */
#define MOST_SEEDS 100u

static struct service {
	_Atomic bool busy;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
} services[QUALS];

static _Atomic bool stop;   /* callers begin nothing new */
static _Atomic bool closed; /* no calls at all; changes under the lock */
static pthread_rwlock_t closing = PTHREAD_RWLOCK_INITIALIZER;

/* --- calls on an EP --- */

static void post(const struct place *place)
{
	const struct side *side = place->side;
	size_t length = below(3000);
	struct t_end end = {.ep = place->ep, .buf = side->buf};
	DAT_COMPLETION_FLAGS flags =
		below(3) ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG;
	DAT_RMR_TRIPLET remote = t_remote_seg(&any_side()->buf, 8192, length);
	DAT_LMR_TRIPLET segment = t_seg(&side->buf, below(1000), 3000);

	switch (below(6)) {
	case 0:
		if (side->srq)
			call(dat_srq_post_recv(side->srq, 1, &segment,
					       (DAT_DTO_COOKIE){.as_64 = 1}));
		break;
	case 1:
	case 2:
		call(t_recv(&end, below(1000), length, 1, DAT_COMPLETION_DEFAULT_FLAG));
		break;
	case 3:
		call(t_send(&end, 0, length / 4, 1, flags));
		break;
	case 4:
		call(t_write(&end, 0, length, 1, remote, flags));
		break;
	default:
		call(t_read(&end, 0, length, 1, remote, flags));
	}
}

static DAT_CONN_QUAL qual_of(unsigned int i)
{
	return (DAT_CONN_QUAL)getpid() << 32 | i << 3; /* unique among parallel runs */
}

static void connect_ep(struct place *place)
{
	static const DAT_TIMEOUT timeouts[] = {1, 2000, 30000, DAT_TIMEOUT_INFINITE};
	static const unsigned char data[256];
	const struct t_ia *to = &any_side()->ia;
	DAT_CONN_QUAL qual = qual_of(below(QUALS));
	size_t size = below(sizeof(data) + 1);

	place->begun++;
	if (!ok(t_connect_data(place->ep, to, qual, timeouts[below(4)], data, size)))
		place->begun--;
}

static void modify_ep(const struct place *place)
{
	DAT_EP_PARAM param = {.connect_evd_handle = any_connect_evd(place->side)};
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	call(dat_ep_modify(place->ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	must(dat_ep_get_status(place->ep, &state, &recv_idle, &request_idle));
}

static void call_with(struct place *place)
{
	switch (below(15)) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		connect_ep(place);
		break;
	case 5:
		call(dat_ep_disconnect(place->ep, DAT_CLOSE_ABRUPT_FLAG));
		break;
	case 6:
		call(dat_ep_disconnect(place->ep, DAT_CLOSE_GRACEFUL_FLAG));
		break;
	case 7:
	case 8:
		call(dat_ep_reset(place->ep));
		break;
	case 9:
		modify_ep(place);
		break;
	default:
		post(place);
	}
}

static void call_with_any_ep(struct side *side)
{
	struct place *place = any_place(side);

	if (!place->ep || !below(150))
		make_or_free(place);
	if (!use(place))
		return;
	if (place->ep && !place->freed)
		call_with(place);
	place->users--;
}

/* --- connection requests --- */

static bool accept_with(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, struct place *place)
{
	static unsigned char data[256];
	DAT_COUNT size = (DAT_COUNT)below(sizeof(data) + 1);

	place->begun++;
	if (ok(dat_cr_accept(cr, ep, size, data)))
		return true;
	place->begun--;
	return false;
}

static bool accept_with_any_ep(DAT_CR_HANDLE cr, struct side *side)
{
	bool accepted = false;

	for (int i = 0; i < 20 && !accepted; i++) {
		struct place *place = any_place(side);

		if (!use(place))
			continue;
		if (place->ep && !place->freed)
			accepted = accept_with(cr, place->ep, place);
		place->users--;
	}
	return accepted;
}

/* The EP of the request, which the provider has made, takes an empty place. */
static bool accept_with_new_ep(DAT_CR_HANDLE cr, struct side *side, DAT_EP_HANDLE ep)
{
	struct place *place = &side->places[OWN_EPS + below(EPS - OWN_EPS)];
	DAT_EP_PARAM param = {.pz_handle = side->ia.pz,
			      .recv_evd_handle = side->dto_evd[0],
			      .request_evd_handle = side->dto_evd[1],
			      .connect_evd_handle = any_connect_evd(side)};
	bool accepted = false;

	if (!use_alone(place))
		return false;
	if (!place->ep) {
		must(dat_ep_modify(ep,
				   DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
					   DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					   DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				   &param));
		place->ep = ep;
		accepted = accept_with(cr, DAT_HANDLE_NULL, place);
		if (!accepted)
			place->ep = DAT_HANDLE_NULL;
	}
	place->users = 0;
	return accepted;
}

static bool accept_cr(DAT_CR_HANDLE cr, struct side *side)
{
	struct place *reserved;
	DAT_CR_PARAM param;

	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	if (!param.local_ep_handle)
		return accept_with_any_ep(cr, side);
	reserved = place_of(param.local_ep_handle); /* the EP of an RSP */
	if (reserved)
		return accept_with(cr, DAT_HANDLE_NULL, reserved);
	return accept_with_new_ep(cr, side, param.local_ep_handle);
}

static void decide(DAT_CR_HANDLE cr, struct side *side)
{
	static const unsigned char data[256];
	unsigned int how = stop ? 9 : below(10);

	if (how < 2 && ok(dat_cr_handoff(cr, qual_of(below(QUALS)))))
		return;
	if (how < 7 && accept_cr(cr, side))
		return;
	must(t_cr_reject_data(cr, data, below(sizeof(data) + 1)));
}

/* Decides a request that was kept, and keeps this one instead; null: none. */
static void keep(DAT_CR_HANDLE cr, struct side *side, unsigned int i)
{
	DAT_CR_HANDLE old = atomic_exchange(&side->kept[i], cr);

	if (old)
		decide(old, side);
}

/* --- events --- */

static void post_some(struct place *place)
{
	if (!place || !use(place))
		return;
	for (int i = 0; i < 8 && !place->freed; i++)
		post(place);
	place->users--;
}

static void take(const DAT_EVENT *event, struct side *side)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;
	struct place *place = place_of(event->event_data.connect_event_data.ep_handle);

	switch ((unsigned int)event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		if (!stop && !below(4))
			keep(cr, side, below(KEPT));
		else
			decide(cr, side);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		post_some(place);
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
	case DAT_CONNECTION_EVENT_TIMED_OUT:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		if (place)
			place->ended++;
		else
			tell_failure(t_event_name(event->event_number), "comes for an unknown EP");
		break;
	case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
	case DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR:
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
		tell_failure(t_event_name(event->event_number), "comes");
		break;
	default:
		break;
	}
}

static void take_all(DAT_EVD_HANDLE evd, struct side *side)
{
	DAT_EVENT event;

	while (ok(dat_evd_dequeue(evd, &event)))
		take(&event, side);
}

/* False if the IAs are closed. Otherwise they stay open until end_use(). */
static bool begin_use(void)
{
	pthread_rwlock_rdlock(&closing);
	if (closed)
		pthread_rwlock_unlock(&closing);
	return !closed;
}

static void end_use(void)
{
	pthread_rwlock_unlock(&closing);
}

struct taker {
	unsigned int number;
	struct side *side;
	DAT_EVD_HANDLE evd;
};

static DAT_RETURN wait_once(DAT_EVD_HANDLE evd, DAT_EVENT *event_p)
{
	static const DAT_TIMEOUT timeouts[] = {0, 100, 3000, 30000};
	DAT_COUNT more;

	if (below(2)) /* returns when the IA is closed */
		return dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, event_p, &more);
	return call(dat_evd_wait(evd, timeouts[below(4)], 1 + (DAT_COUNT)below(3), event_p, &more));
}

static void *take_events(void *arg)
{
	const struct taker *taker = arg;
	DAT_EVENT event;

	random_state = seed + 131 * taker->number;
	while (!closed) {
		DAT_RETURN ret = wait_once(taker->evd, &event);

		if (!begin_use())
			break;
		if (ret == DAT_SUCCESS)
			take(&event, taker->side);
		else
			take_all(taker->evd, taker->side); /* fewer than the threshold */
		end_use();
	}
	return NULL;
}

/* The agent has to be set again after each call. */
static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct side *side = data;
	DAT_OS_WAIT_PROXY_AGENT again = {data, agent};

	(void)evd;
	if (!begin_use())
		return;
	call(dat_cno_wait(side->agent_cno, 0, &evd));
	for (int i = 0; i < CONNECT_EVD; i++)
		take_all(side->connect_evd[i], side);
	if (!stop)
		call_with_any_ep(side);
	must(dat_cno_modify_agent(side->agent_cno, again));
	end_use();
}

/* --- calls on other objects --- */

static void make_service(struct service *service, DAT_CONN_QUAL qual)
{
	struct side *side = any_side();
	struct place *place = any_place(side);
	DAT_PSP_FLAGS flags = below(4) ? DAT_PSP_CONSUMER_FLAG : DAT_PSP_PROVIDER_FLAG;

	if (below(3)) {
		must(dat_psp_create(side->ia.ia, qual, side->cr_evd, flags, &service->psp));
		return;
	}
	if (!use(place))
		return;
	if (place->ep && !place->freed &&
	    !ok(dat_rsp_create(side->ia.ia, qual, place->ep, side->cr_evd, &service->rsp)))
		service->rsp = DAT_HANDLE_NULL;
	place->users--;
}

static void free_service(struct service *service)
{
	if (service->psp)
		must(dat_psp_free(service->psp));
	if (service->rsp)
		must(dat_rsp_free(service->rsp));
	service->psp = DAT_HANDLE_NULL;
	service->rsp = DAT_HANDLE_NULL;
}

static void change_any_service(void)
{
	unsigned int i = below(QUALS);
	struct service *service = &services[i];

	if (atomic_exchange(&service->busy, true))
		return;
	if (!service->psp && !service->rsp)
		make_service(service, qual_of(i));
	else if (service->rsp || !below(6))
		free_service(service);
	service->busy = false;
}

static void change_any_evd(void)
{
	struct side *side = any_side();
	DAT_EVD_HANDLE evd = side->connect_evd[below(CONNECT_EVD)];

	switch (below(5)) {
	case 0:
		call(dat_evd_resize(evd, 1 + (DAT_COUNT)below(40)));
		break;
	case 1:
		call(dat_evd_set_unwaitable(evd));
		must(dat_evd_clear_unwaitable(evd));
		break;
	case 2:
		must(dat_evd_modify_cno(evd, below(2) ? side->cno : side->agent_cno));
		break;
	case 3:
		must(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
		must(dat_evd_disable(evd));
		must(dat_evd_enable(evd));
		break;
	default:
		take_all(evd, side);
	}
}

static void *make_calls(void *arg)
{
	random_state = seed + 7919 * (1 + (unsigned int)(uintptr_t)arg);
	for (int i = 0; i < STEPS && !failed; i++) {
		switch (below(12)) {
		case 0:
			change_any_service();
			break;
		case 1:
			keep(DAT_HANDLE_NULL, any_side(), below(KEPT));
			break;
		case 2:
			change_any_evd();
			break;
		default:
			call_with_any_ep(any_side());
		}
	}
	return NULL;
}

/* --- the end of a round --- */

/* Returns an EP with another number of ends than of successful calls, or NULL. */
static const struct place *odd_place(void)
{
	for (size_t i = 0; i < 2 * EPS; i++) {
		const struct place *place = place_at(i);

		if (place->freed ? place->ended > place->begun : place->ended != place->begun)
			return place;
	}
	return NULL;
}

static void take_last_events(void)
{
	for (int i = 0; i < 2 * CONNECT_EVD; i++)
		take_all(sides[i % 2].connect_evd[i / 2], &sides[i % 2]);
}

static void end_connections(void)
{
	uint64_t limit = t_now_us() + T_LIMIT_US;
	const struct place *odd;
	char how[64];

	for (unsigned int i = 0; i < 2 * KEPT; i++)
		keep(DAT_HANDLE_NULL, &sides[i % 2], i / 2);
	for (size_t i = 0; i < QUALS; i++)
		free_service(&services[i]);
	for (size_t i = 0; i < 2 * EPS; i++) {
		const struct place *place = place_at(i);

		if (place->ep && !place->freed)
			call(dat_ep_disconnect(place->ep, DAT_CLOSE_ABRUPT_FLAG));
	}
	while ((odd = odd_place()) && t_now_us() < limit) {
		take_last_events();
		t_pause();
	}
	if (!odd)
		return;
	snprintf(how, sizeof(how), "%d times, and %d end events came", odd->begun, odd->ended);
	tell_failure("an EP began to connect or to accept", how);
}

/* In one of four rounds the IAs are closed with all their connections and requests. */
static void *finish(void *arg)
{
	random_state = seed;
	if (below(4))
		end_connections();
	pthread_rwlock_wrlock(&closing);
	closed = true;
	pthread_rwlock_unlock(&closing);
	for (int i = 0; i < 2; i++)
		must(dat_ia_close(sides[i].ia.ia, DAT_CLOSE_ABRUPT_FLAG));
	return arg;
}

/* --- a round --- */

static void open_side(struct side *side)
{
	DAT_OS_WAIT_PROXY_AGENT with = {side, agent};
	DAT_SRQ_ATTR srq = {.max_recv_dtos = 64, .max_recv_iov = 1};

	memset(side, 0, sizeof(*side));
	for (size_t i = 0; i < EPS; i++)
		side->places[i].side = side;
	t_ia_open(&side->ia);
	t_ok(dat_evd_resize(side->ia.async_evd, 1000));
	side->attr = t_default_attr(&side->ia);
	side->cno = t_cno(&side->ia);
	t_ok(dat_cno_create(side->ia.ia, with, &side->agent_cno));
	for (int i = 0; i < CONNECT_EVD; i++)
		side->connect_evd[i] = t_evd(&side->ia, 1 + (DAT_COUNT)below(16),
					     DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG);
	t_ok(dat_evd_modify_cno(side->connect_evd[2], side->agent_cno));
	side->cr_evd = t_evd_of_cno(&side->ia, side->cno, DAT_EVD_CR_FLAG);
	for (int i = 0; i < 2; i++)
		side->dto_evd[i] = t_evd(&side->ia, 1000, DAT_EVD_DTO_FLAG);
	t_buf_new(&side->buf, side->ia.ia, side->ia.pz, T_BUF_SIZE, DAT_MEM_PRIV_ALL_FLAG);
	if (dat_srq_create(side->ia.ia, side->ia.pz, &srq, &side->srq) != DAT_SUCCESS)
		side->srq = DAT_HANDLE_NULL;
}

/* The last connect EVD has no taker but the agent. */
static void start_takers(pthread_t *threads, struct taker *takers)
{
	for (unsigned int i = 0; i < 2 * TAKERS; i++) {
		struct side *side = &sides[i / TAKERS];
		DAT_EVD_HANDLE evds[TAKERS] = {side->connect_evd[0], side->connect_evd[1],
					       side->cr_evd,         side->dto_evd[0],
					       side->dto_evd[1],     side->ia.async_evd};

		takers[i] = (struct taker){i + 1, side, evds[i % TAKERS]};
		threads[i] = start(take_events, &takers[i]);
	}
}

static void play_round(void)
{
	pthread_t callers[CALLERS], threads[2 * TAKERS];
	struct taker takers[2 * TAKERS];

	random_state = seed;
	memset(services, 0, sizeof(services));
	stop = closed = false;
	width = 1 + below(8);
	for (int i = 0; i < 2; i++)
		open_side(&sides[i]);
	start_takers(threads, takers);
	for (uintptr_t i = 0; i < CALLERS; i++)
		callers[i] = start(make_calls, (void *)i);
	for (int i = 0; i < CALLERS; i++)
		oversee(callers[i]);
	stop = true;
	oversee(start(finish, NULL));
	for (int i = 0; i < 2 * TAKERS; i++)
		t_join(threads[i]);
	for (int i = 0; i < 2; i++)
		munmap(sides[i].buf.mem, sides[i].buf.size);
}

/* In a network of its own a process has no ports in common with the tests that run beside it. */
static void leave_others(void)
{
	if (!fault_fabric_is_verbs() && !fault_fabric_is_psm3())
		t_own_network();
}

START_TEST(calls_of_several_threads)
{
	leave_others();
	for (unsigned int i = 0; i < ROUNDS; i++) {
		seed = (unsigned int)_i * 16 + i;
		play_round();
	}
}
END_TEST

int main(void)
{
	static char names[MOST_SEEDS][24];
	const char *first = getenv("T_SEED");
	unsigned int n = fault_amount(1, MOST_SEEDS);
	Suite *suite = suite_create("random");

	for (unsigned int i = 0; i < n; i++) {
		int number = (first ? atoi(first) : 1) + (int)i;
		TCase *tcase;

		snprintf(names[i], sizeof(names[i]), "seed %d", number);
		tcase = tcase_create(names[i]);
		suite_add_tcase(suite, tcase);
		tcase_add_loop_test(tcase, calls_of_several_threads, number, number + 1);
	}
	return t_run(suite);
}
