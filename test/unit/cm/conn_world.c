/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/channel_send.h"
#include "cm/linger.h"
#include "cm/service_point.h"
#include "dto/issue.h"
#include "dto/ud_window.h"
#include "object/srq_count.h"
#include "object/ud_ah.h"
#include "progress/work.h"
#include "conn_world.h"

#include <errno.h>

struct dofi_ia ia = {
	.name = "test",
	.params = {.handshake_ms = 10000,
		   .linger_ms = 1000,
		   .listen_grace_ms = 250,
		   .max_peer_requests = 4096,
		   .max_drains = 256},
};
struct dofi_chan chan = {.ia = &ia, .state = DOFI_CHAN_UP, .peer.addr.ss_family = AF_INET};
static struct dofi_pz pz;
struct dofi_evd evd;
static struct dofi_ctx cache[DOFI_RCACHE_SIZE];
struct dofi_ud ud;
struct dofi_ep ep;
struct dofi_conn *conn;
uint32_t id;
uint64_t now = 1000 * MS;

char trace[512];
char sent_private[DOFI_MAX_PRIVATE];
uint16_t sent_flags;
uint32_t sent_data;
struct dofi_msg last_msg;
uint16_t disconnect_flags;
static int nqueued; /* messages that have not left yet */
struct dofi_event last_event;
uint16_t dialled_port;
int released_status = -1;
int nkicks, nlinger_waits, nsettled, nsilent;
bool takes_posts;

static int dial_result;
static bool fabric_is_busy; /* has operations of a connection that has ended */
int connect_fails;
bool expect_fails, expects_later, makes_path = true;
enum dofi_reason offer_result = DOFI_REASON_NONE;
bool overloaded, sync_fails, mark_finds_no_room;
uint64_t heard_qual = 1u << 20;
void (*while_draining)(void), (*while_waiting)(void);
void (*while_hearing)(void);
void (*while_reading)(void);
void (*while_unlinking)(void);

bool (*met)[DOFI_CONN_EVENTS];
bool expects_impossible;

void note(const char *fmt, ...)
{
	size_t length = strlen(trace);
	va_list args;

	if (length)
		trace[length++] = ' ';
	va_start(args, fmt);
	vsnprintf(trace + length, sizeof(trace) - length, fmt, args);
	va_end(args);
}

/* --- stand-ins; the linker redirects the calls to them --- */

uint64_t __wrap_dofi_now(void);
enum dofi_reason __wrap_dofi_sp_offer(struct dofi_conn *of, const struct sockaddr *from);
void __wrap_dofi_wait_kick(struct dofi_ia *of);
bool __wrap_dofi_run_delay_is_high(const struct dofi_run_delay *since);
int __wrap_dofi_chan_dial(struct dofi_conn *of, const struct sockaddr *remote, uint16_t port);
void __wrap_dofi_chan_send(struct dofi_chan *to, const struct dofi_msg *msg);
void __wrap_dofi_chan_flush(struct dofi_chan *of);
int __wrap_dofi_evd_push(struct dofi_evd *to, const struct dofi_event *event, bool notify);
bool __wrap_dofi_ep_sync(struct dofi_ep *of);
int __wrap_dofi_engine_drain_cq(struct dofi_ia *of);
void __wrap_dofi_linger_wait(struct dofi_ia *of);
void __wrap_dofi_chan_read(struct dofi_chan *of);
void __wrap_dofi_wakeup_read(struct dofi_ia *of);
const struct dofi_conn_step *__wrap_dofi_conn_step(enum dofi_conn_state state,
						   enum dofi_conn_event event);
void __wrap_dofi_ud_forget(struct dofi_ia *of, const struct dofi_ud_ah *ah);
void __real_dofi_release_flushed(struct dofi_ep *of, uint8_t status);
void __wrap_dofi_release_flushed(struct dofi_ep *of, uint8_t status);
void __wrap_dofi_evd_async(struct dofi_ia *of, DAT_EVENT_NUMBER number, void *handle,
			   uint32_t reason);
void __wrap_dofi_truncated_settle(struct dofi_srq *srq);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

enum dofi_reason __wrap_dofi_sp_offer(struct dofi_conn *of, const struct sockaddr *from)
{
	(void)from;
	conn = of;
	return offer_result;
}

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	nkicks++;
}

/* What counts is the load since the present wait began. */
bool __wrap_dofi_run_delay_is_high(const struct dofi_run_delay *since)
{
	ck_assert_ptr_eq(since, &conn->delay);
	return overloaded;
}

int __wrap_dofi_chan_dial(struct dofi_conn *of, const struct sockaddr *remote, uint16_t port)
{
	ck_assert_ptr_eq(remote, (const struct sockaddr *)&of->remote);
	ck_assert_ptr_null(of->chan); /* it has left the former one */
	dialled_port = port;
	if (dial_result)
		return dial_result;
	note("dial");
	of->chan = &chan;
	dofi_list_add_tail(&chan.waiting, &of->link);
	return 0;
}

static const char *name_of(const struct dofi_msg *msg)
{
	static const char *const names[DOFI_MSG_TYPES] = {
		[DOFI_MSG_REQUEST] = "REQUEST", [DOFI_MSG_ACCEPT] = "ACCEPT",
		[DOFI_MSG_REJECT] = "REJECT",   [DOFI_MSG_READY] = "READY",
		[DOFI_MSG_CANCEL] = "CANCEL",   [DOFI_MSG_DISCONNECT] = "DISCONNECT",
		[DOFI_MSG_BYE] = "BYE",         [DOFI_MSG_COUNT] = "COUNT",
		[DOFI_MSG_COUNTED] = "COUNTED",
	};

	return names[msg->type];
}

static const char *reason_of(const struct dofi_msg *msg)
{
	switch (msg->reason) {
	case DOFI_REASON_CONSUMER:
		return "-consumer";
	case DOFI_REASON_DISCONNECT:
		return "-orderly";
	case DOFI_REASON_ERROR:
		return "-error";
	default:
		return "";
	}
}

void __wrap_dofi_chan_send(struct dofi_chan *to, const struct dofi_msg *msg)
{
	(void)to;
	if (msg->private_size)
		memcpy(sent_private, msg->private_data, msg->private_size);
	if (msg->type == DOFI_MSG_DISCONNECT)
		disconnect_flags = msg->flags;
	last_msg = *msg;
	sent_data = msg->data;
	sent_flags = msg->flags;
	nqueued++;
	note("%s%s", name_of(msg), reason_of(msg));
}

void __wrap_dofi_chan_flush(struct dofi_chan *of)
{
	ck_assert_ptr_eq(of, &chan);
	nqueued = 0;
}

static const char *event_name(uint32_t number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return "established";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "peer-rejected";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "non-peer-rejected";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "accept-completion-error";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "disconnected";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "broken";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "timed-out";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "unreachable";
	case DOFI_UD_EVENT_ESTABLISHED:
		return "ud-established";
	case DOFI_UD_EVENT_REJECTED:
		return "ud-rejected";
	case DOFI_UD_EVENT_ERROR:
		return "ud-error";
	default:
		return "another-event";
	}
}

int __wrap_dofi_evd_push(struct dofi_evd *to, const struct dofi_event *event, bool notify)
{
	ck_assert_ptr_eq(to, &evd);
	ck_assert(notify);
	last_event = *event;
	note("%s", event_name(event->number));
	return 0;
}

/* The test decides when the peer's answer comes. */
bool __wrap_dofi_ep_sync(struct dofi_ep *of)
{
	if (sync_fails)
		return false;
	note("sync");
	of->peeking = true;
	return true;
}

int __wrap_dofi_engine_drain_cq(struct dofi_ia *of)
{
	(void)of;
	if (while_draining)
		while_draining();
	return 0;
}

void __wrap_dofi_chan_read(struct dofi_chan *of)
{
	(void)of;
	if (while_hearing)
		while_hearing();
}

void __wrap_dofi_wakeup_read(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	if (while_reading)
		while_reading();
}

void __wrap_dofi_linger_wait(struct dofi_ia *of)
{
	(void)of;
	nlinger_waits++;
	now += 100 * MS;
	if (while_waiting)
		while_waiting();
}

void __wrap_dofi_ud_forget(struct dofi_ia *of, const struct dofi_ud_ah *ah)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert(atomic_load(&ah->gone)); /* first, because posts go on meanwhile */
	takes_posts = !atomic_load(&ah->ah_freed);
	nsilent++;
}

const struct dofi_conn_step *__wrap_dofi_conn_step(enum dofi_conn_state state,
						   enum dofi_conn_event event)
{
	const struct dofi_conn_step *step = __real_dofi_conn_step(state, event);

	ck_assert_msg(step->action != DOFI_DO_FAIL || expects_impossible,
		      "%s in %s was met and cannot happen", dofi_conn_event_name(event),
		      dofi_conn_state_name(state));
	if (met)
		met[state][event] = true;
	return step;
}

/* No completion of before the end, and no operation, touches the EP any more. */
void __wrap_dofi_release_flushed(struct dofi_ep *of, uint8_t status)
{
	released_status = status;
	ck_assert_int_eq(of->state, DAT_EP_STATE_DISCONNECTED);
	ck_assert(!of->conn && !of->fep);
	ck_assert(!of->path_up && !of->binding && !of->peeking && !of->faulty && !of->refused);
	__real_dofi_release_flushed(of, status);
}

void __wrap_dofi_evd_async(struct dofi_ia *of, DAT_EVENT_NUMBER number, void *handle,
			   uint32_t reason)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_int_eq((int)number, DAT_ASYNC_ERROR_EP_BROKEN);
	ck_assert_ptr_eq(handle, &ep);
	ck_assert_uint_eq(reason, 0);
	note("async");
}

void __wrap_dofi_truncated_settle(struct dofi_srq *srq)
{
	ck_assert_ptr_eq(srq, ep.srq);
	nsettled++;
}

/* --- the transport --- */

static void prepare(struct dofi_conn *of)
{
	(void)of;
	note("prepare");
}

static int make_path(struct dofi_conn *of)
{
	if (of->ud)
		of->path_made = true;
	else if (makes_path)
		dofi_conn_path_made(of);
	return 0;
}

static int transport_connect(struct dofi_conn *of)
{
	note("connect");
	return connect_fails ? connect_fails : make_path(of);
}

static int expect(struct dofi_conn *of)
{
	note("expect");
	if (expects_later)
		return DOFI_LATER;
	return expect_fails ? -ENOMEM : make_path(of);
}

static bool cancel(struct dofi_conn *of)
{
	(void)of;
	return fabric_is_busy;
}

static void disconnect(struct dofi_conn *of)
{
	/* A peer that finds the path closed waits for the reason. */
	if (of->chan && of->state == DOFI_CONN_ENDED && !of->ud)
		ck_assert_int_eq(nqueued, 0);
	note("unlink");
	if (while_unlinking) /* in place of reading the transport's queues */
		while_unlinking();
}

static ssize_t ud_mark(struct dofi_ud_ah *ah, uint32_t update, bool answer)
{
	(void)ah;
	if (mark_finds_no_room)
		return -EAGAIN;
	note("%s-%u", answer ? "answer" : "mark", update);
	return 0;
}

const struct dofi_trans_ops trans = {
	.prepare = prepare,
	.connect = transport_connect,
	.expect = expect,
	.cancel = cancel,
	.disconnect = disconnect,
	.ud_mark = ud_mark,
};

void run_work(void)
{
	struct dofi_list *node;

	while ((node = dofi_list_pop(&ia.engine.work))) {
		struct dofi_work *work = DOFI_CONTAINER(node, struct dofi_work, link);

		work->run(work);
	}
}

bool is_gone(void)
{
	return dofi_conn_by_id(&ia, id) != conn;
}

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock(&ia.engine.lock);
	dofi_work_init(&ia.engine);
	dofi_list_init(&chan.waiting);
	dofi_list_init(&chan.conns);
	dofi_list_init(&chan.link);
	dofi_list_init(&ud.conns);
	dofi_list_init(&ud.ahs);
	dofi_list_init(&ud.rejections);
	dofi_list_init(&ia.ud_answers);
	dofi_list_init(&ia.agents);
	dofi_list_init(&ia.agent_calls);
	dofi_lock_init(&ep.lock);
	dofi_list_init(&ep.bind_link);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		dofi_list_init(&ia.objects[i]);
	ia.trans = ep.trans = &trans;
	ia.obj.ia = &ia;
	ep.obj.ia = &ia;
	ep.pz = &pz;
	ep.conn_evd = &evd;
	ep.rcache = cache;
	ep.state = DAT_EP_STATE_UNCONNECTED;
	ep.soft_mark = ep.hard_mark = UINT32_MAX;
}

/* No call keeps the EP's lock. */
static void teardown(void)
{
	ck_assert(dofi_trylock(&ep.lock));
	dofi_unlock(&ep.lock);
	dofi_unlock(&ia.engine.lock);
}

TCase *add_case(Suite *suite, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, setup, teardown);
	suite_add_tcase(suite, tc);
	return tc;
}

/* --- events --- */

void hear(enum dofi_msg_type type, enum dofi_reason reason, uint32_t count)
{
	const struct dofi_msg msg = {.type = (uint8_t)type,
				     .reason = (uint8_t)reason,
				     .conn_qual = heard_qual,
				     .src = 77,
				     .dst = type == DOFI_MSG_REQUEST ? 0 : id,
				     .flags = ep.ud ? DOFI_MSG_F_UD : 0,
				     .data = count};

	dofi_conn_message(&chan, &msg);
}

bool is_armed(const struct dofi_timer *timer)
{
	return timer->place;
}

void fire(struct dofi_timer *timer)
{
	ck_assert(is_armed(timer));
	if (timer->deadline > now)
		now = timer->deadline;
	dofi_timer_cancel(&ia, timer);
	timer->fire(timer);
}

static void lose_chan(bool orderly)
{
	dofi_list_del(&conn->link);
	conn->chan = NULL;
	dofi_conn_chan_lost(conn, orderly);
}

void fail_dial(int err)
{
	dofi_list_del(&conn->link);
	conn->chan = NULL;
	dofi_conn_dial_failed(conn, err);
}

static void first_message(void)
{
	dofi_lock(&ep.lock);
	dofi_conn_established(&ep);
	dofi_unlock(&ep.lock);
}

static void drained(void)
{
	dofi_lock(&ep.lock);
	ep.peeking = ep.dirty = false;
	dofi_conn_drained(&ep);
	dofi_unlock(&ep.lock);
}

void hear_bye(enum dofi_reason reason, uint32_t missing)
{
	ep.recv.tail = ep.recv.head + missing;
	hear(DOFI_MSG_BYE, reason, ep.nreceived + missing);
	ep.recv.tail = ep.recv.head;
}

static void begin_disconnect(void)
{
	ep.dirty = true;
	dofi_conn_disconnect(conn);
}

static void answer_cr(bool accept)
{
	if (accept)
		dofi_conn_accept(conn, &ep, NULL, 0);
	else
		dofi_conn_reject(conn, DOFI_REASON_CONSUMER, NULL, 0);
}

static void channel_happens(enum happening what)
{
	switch (what) {
	case CHAN_UP:
		dofi_list_del(&conn->link);
		dofi_list_add_tail(&chan.conns, &conn->link);
		dofi_conn_chan_up(conn);
		break;
	case PORT_REFUSED:
		fail_dial(-ECONNREFUSED);
		break;
	case UNREACHABLE:
		fail_dial(-EHOSTUNREACH);
		break;
	case DIAL_FAILED:
		fail_dial(-EMFILE);
		break;
	case REDIAL:
		fire(&conn->redial.timer);
		break;
	case TIMER:
		fire(&conn->timer);
		break;
	case OVERDUE:
		dofi_conn_handle(conn, DOFI_ON_OVERDUE, NULL);
		break;
	default:
		lose_chan(what == CHAN_CLOSED);
	}
}

static void peer_happens(enum happening what)
{
	switch (what) {
	case MSG_ACCEPT:
		hear(DOFI_MSG_ACCEPT, 0, 0);
		break;
	case MSG_NOT_MINE:
		hear(DOFI_MSG_REJECT, DOFI_REASON_NOT_MINE, 0);
		break;
	case MSG_REJECT_CONSUMER:
		hear(DOFI_MSG_REJECT, DOFI_REASON_CONSUMER, 0);
		break;
	case MSG_REJECT:
		hear(DOFI_MSG_REJECT, DOFI_REASON_RESOURCES, 0);
		break;
	case MSG_READY:
		hear(DOFI_MSG_READY, 0, 0);
		break;
	case MSG_DISCONNECT:
		hear(DOFI_MSG_DISCONNECT, 0, 0);
		break;
	case MSG_CANCEL:
		hear(DOFI_MSG_CANCEL, DOFI_REASON_DISCONNECT, 0);
		break;
	default:
		hear_bye(what == MSG_BYE_ERROR ? DOFI_REASON_ERROR : DOFI_REASON_DISCONNECT,
			 what == MSG_BYE_EARLY);
	}
}

static void local_happens(enum happening what)
{
	switch (what) {
	case PATH_UP:
		if (!conn->path_made)
			dofi_conn_path_made(conn);
		dofi_conn_path_up(conn);
		break;
	case PATH_DOWN:
		dofi_conn_path_down(conn, 0);
		break;
	case FIRST_MESSAGE:
		first_message();
		break;
	case LAST_MESSAGE:
		dofi_conn_last_message(conn);
		break;
	case CR_ACCEPT:
	case CR_REJECT:
		answer_cr(what == CR_ACCEPT);
		break;
	case DISCONNECT:
		begin_disconnect();
		break;
	case DRAINED:
		drained();
		break;
	case ABRUPT:
	case FREE:
		dofi_conn_end_now(conn,
				  what == FREE ? 0u : (uint32_t)DAT_CONNECTION_EVENT_DISCONNECTED,
				  DOFI_REASON_DISCONNECT);
		break;
	case FAIL:
		dofi_conn_end(conn, DAT_CONNECTION_EVENT_BROKEN, DOFI_REASON_ERROR);
		break;
	case TAKEN:
		ep.peeking = false;
		break;
	case RELEASED:
		fabric_is_busy = false;
		break;
	case LIMIT:
		now += 1000 * MS;
		break;
	case AH_FREE:
		dofi_conn_handle(conn, DOFI_ON_AH_FREED, NULL);
		break;
	default:
		break;
	}
}

void happens(enum happening what)
{
	if (what <= CHAN_LOST)
		channel_happens(what);
	else if (what <= MSG_BYE_EARLY)
		peer_happens(what);
	else
		local_happens(what);
}

/* --- the states, reached as real connections reach them --- */

void start(void)
{
	const struct sockaddr_in remote = {.sin_family = AF_INET};

	ck_assert_int_eq(dofi_conn_start(&ep, (const struct sockaddr *)&remote, 1u << 20,
					 now + 5000 * MS, NULL, 0),
			 0);
	if (ep.ud)
		conn = DOFI_CONTAINER(ud.conns.next, struct dofi_conn, ud_link);
	else
		conn = ep.conn;
	id = conn->id;
}

static void start_with_nobody(void)
{
	dial_result = -ECONNREFUSED;
	start();
	dial_result = 0;
}

void be_asked(void)
{
	hear(DOFI_MSG_REQUEST, 0, 0);
	ck_assert_ptr_nonnull(conn);
	id = conn->id;
}

#define STEPS 6

struct way {
	void (*begin)(void);
	bool ud, no_path, busy, dirty;
	enum happening steps[STEPS]; /* HAPPENINGS: the end */
};

#define END HAPPENINGS

static const struct way ways[SITUATIONS] = {
	[DIALLING] = {.begin = start, .steps = {END}},
	[REDIALLING] = {.begin = start_with_nobody, .steps = {END}},
	[REQUESTED] = {.begin = start, .steps = {CHAN_UP, END}},
	[CONNECTING] = {.begin = start, .steps = {CHAN_UP, MSG_ACCEPT, END}},
	[OFFERED] = {.begin = be_asked, .steps = {END}},
	[ABANDONED] = {.begin = be_asked, .steps = {CHAN_LOST, END}},
	[ACCEPTED] = {.begin = be_asked, .steps = {CR_ACCEPT, END}},
	[READY_PENDING] = {.begin = be_asked, .steps = {CR_ACCEPT, PATH_UP, END}},
	[PATH_PENDING] = {.begin = be_asked, .no_path = true, .steps = {CR_ACCEPT, MSG_READY, END}},
	[PATH_LOST] = {.begin = be_asked, .steps = {CR_ACCEPT, PATH_UP, PATH_DOWN, END}},
	[ESTABLISHED] = {.begin = be_asked, .steps = {CR_ACCEPT, MSG_READY, END}},
	[ACTIVE_ESTABLISHED] = {.begin = start, .steps = {CHAN_UP, MSG_ACCEPT, PATH_UP, END}},
	[DRAINING] = {.begin = be_asked, .steps = {CR_ACCEPT, MSG_READY, DISCONNECT, END}},
	[GOODBYE_PENDING] = {.begin = be_asked, .steps = {CR_ACCEPT, MSG_READY, PATH_DOWN, END}},
	[DATA_PENDING] = {.begin = be_asked, .steps = {CR_ACCEPT, MSG_READY, MSG_BYE_EARLY, END}},
	[UD_CONNECTING] = {.begin = start, .ud = true, .steps = {CHAN_UP, MSG_ACCEPT, END}},
	[UD_ACCEPTED] = {.begin = be_asked, .ud = true, .steps = {CR_ACCEPT, END}},
	[DATAGRAM] = {.begin = be_asked, .ud = true, .steps = {CR_ACCEPT, MSG_READY, END}},
	[SENDING_ONLY] = {.begin = be_asked,
			  .ud = true,
			  .steps = {CR_ACCEPT, MSG_READY, MSG_BYE, END}},
	[RECEIVING_ONLY] = {.begin = be_asked,
			    .ud = true,
			    .steps = {CR_ACCEPT, MSG_READY, AH_FREE, END}},
	[ACTIVE_DRAINING] = {.begin = start,
			     .steps = {CHAN_UP, MSG_ACCEPT, PATH_UP, DISCONNECT, END}},
	[ACTIVE_GOODBYE_PENDING] = {.begin = start,
				    .steps = {CHAN_UP, MSG_ACCEPT, PATH_UP, PATH_DOWN, END}},
	[ACTIVE_DATA_PENDING] = {.begin = start,
				 .steps = {CHAN_UP, MSG_ACCEPT, PATH_UP, MSG_BYE_EARLY, END}},
	[ACTIVE_DATAGRAM] = {.begin = start,
			     .ud = true,
			     .steps = {CHAN_UP, MSG_ACCEPT, PATH_UP, END}},
	[ACTIVE_SENDING_ONLY] = {.begin = start,
				 .ud = true,
				 .steps = {CHAN_UP, MSG_ACCEPT, PATH_UP, MSG_BYE, END}},
	[ACTIVE_RECEIVING_ONLY] = {.begin = start,
				   .ud = true,
				   .steps = {CHAN_UP, MSG_ACCEPT, PATH_UP, AH_FREE, END}},
	[LEAVING_GOODBYE_PENDING] = {.begin = be_asked,
				     .steps = {CR_ACCEPT, MSG_READY, DISCONNECT, PATH_DOWN, END}},
	[LEAVING_DATA_PENDING] = {.begin = be_asked,
				  .steps = {CR_ACCEPT, MSG_READY, DISCONNECT, MSG_BYE_EARLY, END}},
	[DIAL_ENDING] = {.begin = start, .steps = {FAIL, END}},
	[REDIAL_ENDING] = {.begin = start_with_nobody, .steps = {FAIL, END}},
	[UD_ENDING] = {.begin = start, .ud = true, .steps = {CHAN_UP, MSG_ACCEPT, FAIL, END}},
	[ENDING] = {.begin = be_asked, .steps = {CR_ACCEPT, MSG_READY, FAIL, END}},
	[LINGERING] = {.begin = be_asked,
		       .dirty = true,
		       .steps = {CR_ACCEPT, MSG_READY, ABRUPT, END}},
	[RELEASING] = {.begin = be_asked,
		       .busy = true,
		       .steps = {CR_ACCEPT, MSG_READY, ABRUPT, END}},
};

void reach(enum situation which)
{
	const struct way *way = &ways[which];

	ep.ud = way->ud ? &ud : NULL;
	makes_path = !way->no_path;
	fabric_is_busy = way->busy;
	way->begin();
	for (const enum happening *step = way->steps; *step != END; step++) {
		if (*step == ABRUPT)
			ep.dirty = way->dirty;
		happens(*step);
	}
	trace[0] = '\0';
}
