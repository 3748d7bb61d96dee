/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The handshake of a control channel: two IAs that agree, and each reason to refuse a peer, with
 * what the log says about it.
 */
#include "t_channel.h"
#include "progress/work.h"
#include "unit.h"

#include "../../../prov/ofi/auth/crypto.h"
#include "../../../prov/ofi/base/addr.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/cm/channel_dial.h"
#include "../../../prov/ofi/cm/cm.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/connect.h"
#include "../../../prov/ofi/cm/stranger.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/progress/engine_fds.h"
#include "../../../prov/ofi/progress/timer.h"

#include <errno.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { DIALS, ACCEPTS, SIDES };

static const struct dofi_trans_ops msg = {.name = "msg", .id = DOFI_TRANS_MSG},
				   rdm = {.name = "rdm", .id = DOFI_TRANS_RDM};
static char tcp[] = "tcp", verbs[] = "verbs";
static struct fi_fabric_attr fabric_attr[SIDES] = {{.prov_name = tcp}, {.prov_name = tcp}};
static struct fi_info info[SIDES] = {{.fabric_attr = &fabric_attr[DIALS]},
				     {.fabric_attr = &fabric_attr[ACCEPTS]}};
static struct dofi_ia ias[SIDES];
static struct dofi_chan *chans[SIDES];
static struct dofi_conn conn;
static int listener, said;
static uint16_t port;
static int ups, asks;
static bool asked_before_up;

/* --- what the channels call --- */

void __wrap_dofi_wait_kick(struct dofi_ia *of);
void __wrap_dofi_conn_ask(struct dofi_conn *of);
void __wrap_dofi_conn_chan_up(struct dofi_conn *of);
int __wrap_dofi_random(void *bytes, size_t size);
int __real_dofi_random(void *bytes, size_t size);

bool __wrap_dofi_session_start(struct dofi_session *session, const struct dofi_key *key,
			       enum dofi_role role, const struct dofi_handshake *shake);
bool __real_dofi_session_start(struct dofi_session *session, const struct dofi_key *key,
			       enum dofi_role role, const struct dofi_handshake *shake);

static bool no_random, no_session;

bool __wrap_dofi_session_start(struct dofi_session *session, const struct dofi_key *key,
			       enum dofi_role role, const struct dofi_handshake *shake)
{
	return !no_session && __real_dofi_session_start(session, key, role, shake);
}

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	(void)of;
}

void __wrap_dofi_conn_ask(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	asks++;
	asked_before_up = !ups;
	of->asked = true;
}

void __wrap_dofi_conn_chan_up(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	ups++;
}

int __wrap_dofi_random(void *bytes, size_t size)
{
	return no_random ? -EPERM : __real_dofi_random(bytes, size);
}

/* --- */

static void be_ia(int side)
{
	struct dofi_ia *ia = &ias[side];

	snprintf(ia->name, sizeof(ia->name), side == DIALS ? "active" : "passive");
	ia->params.handshake_ms = 60000;
	ia->trans = &msg;
	ia->info = &info[side];
	dofi_lock_init(&ia->engine.lock);
	dofi_work_init(&ia->engine);
	ia->engine.sock_epfd = epoll_create1(0);
	ck_assert_int_ge(ia->engine.sock_epfd, 0);
	ia->obj.ia = ia;
	ck_assert_int_eq(dofi_cm_init(ia), 0);
	ck_assert(dofi_addr_parse("127.0.0.1", &ia->addr));
	ia->ctxtab.key = 100 + (uint64_t)side;
	ia->ctxtab.address = 200 + (uint64_t)side;
	ia->ctxtab.entries = 300 + (uint32_t)side;
	ia->sink.key = 400 + (uint64_t)side;
	ia->sink.address = 500 + (uint64_t)side;
	ia->fabric_name_size = 3;
	memcpy(ia->fabric_name, side == DIALS ? "one" : "two", 3);
	ia->key.source = DOFI_KEY_FILE;
	memset(ia->key.bytes, 7, sizeof(ia->key.bytes));
	memset(ia->key.id, 0xab, sizeof(ia->key.id));
}

static void setup(void)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(here);

	ck_assert_int_eq(dofi_crypto_start(), 0);
	be_ia(DIALS);
	be_ia(ACCEPTS);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&here, size), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&here, &size), 0);
	port = ntohs(here.sin_port);
	dofi_log_set_level("info");
	said = t_capture(STDERR_FILENO);
	conn.ia = &ias[DIALS];
	conn.state = DOFI_CONN_DIALLING;
	dofi_list_init(&conn.link);
}

static void be_without_key(int side)
{
	memset(&ias[side].key, 0, sizeof(ias[side].key));
}

static void dial(void)
{
	dofi_lock(&ias[DIALS].engine.lock);
	ck_assert_int_eq(dofi_chan_dial(&conn, (const struct sockaddr *)&ias[ACCEPTS].addr, port),
			 0);
	chans[DIALS] = conn.chan;
	dofi_unlock(&ias[DIALS].engine.lock);
}

static void adopt(int fd)
{
	struct dofi_cm *cm = &ias[ACCEPTS].cm;

	ck_assert_int_ge(fd, 0);
	dofi_lock(&ias[ACCEPTS].engine.lock);
	ck_assert(dofi_stranger_adopt(&ias[ACCEPTS], fd));
	chans[ACCEPTS] =
		DOFI_CONTAINER(dofi_list_empty(&cm->strangers) ? cm->dead.next : cm->strangers.next,
			       struct dofi_chan, link);
	dofi_unlock(&ias[ACCEPTS].engine.lock);
}

static bool is_done(int side)
{
	return !chans[side] || chans[side]->state == DOFI_CHAN_UP ||
	       chans[side]->state == DOFI_CHAN_DEAD;
}

static void hear(int side)
{
	dofi_lock(&ias[side].engine.lock);
	if (chans[side] && chans[side]->state != DOFI_CHAN_DEAD)
		dofi_engine_hear(&ias[side]);
	dofi_unlock(&ias[side].engine.lock);
}

/* Lets both sides work until each has agreed or refused. */
static void run(void)
{
	uint64_t limit = dofi_now() + UINT64_C(10000000000);

	while (!(is_done(DIALS) && is_done(ACCEPTS))) {
		ck_assert_msg(dofi_now() < limit, "the handshake does not end");
		hear(DIALS);
		hear(ACCEPTS);
	}
}

static void meet(void)
{
	dial();
	adopt(accept4(listener, NULL, NULL, SOCK_NONBLOCK));
	run();
}

static void expect_states(enum dofi_chan_state dials, enum dofi_chan_state accepts)
{
	ck_assert_int_eq(chans[DIALS]->state, dials);
	ck_assert_int_eq(chans[ACCEPTS]->state, accepts);
}

static void assert_said(const char *words)
{
	ck_assert_msg(strstr(t_captured(said), words), "\"%s\" is not in: %s", words,
		      t_captured(said));
}

static uint64_t refused_keys(int side)
{
	return atomic_load(&ias[side].counters[DOFI_CNT_IA_CM_REFUSED_KEY]);
}

/* --- two IAs that agree --- */

static void expect_details(int side)
{
	const struct dofi_details *peer = &chans[side]->peer;
	uint32_t other = side == DIALS ? ACCEPTS : DIALS;

	ck_assert_mem_eq(peer->uuid, ias[other].cm.uuid, sizeof(peer->uuid));
	ck_assert_str_eq(peer->provider, "tcp");
	ck_assert_uint_eq(peer->transport, DOFI_TRANS_MSG);
	ck_assert(dofi_addr_equal(&peer->addr, &ias[other].addr));
	ck_assert_uint_eq(peer->ctxtab_key, 100 + other);
	ck_assert_uint_eq(peer->ctxtab_address, 200 + other);
	ck_assert_uint_eq(peer->ctxtab_entries, 300 + other);
	ck_assert_uint_eq(peer->sink_key, 400 + other);
	ck_assert_uint_eq(peer->sink_address, 500 + other);
	ck_assert_uint_eq(peer->fabric_name_size, 3);
	ck_assert_mem_eq(peer->fabric_name, ias[other].fabric_name, 3);
}

START_TEST(two_ias_with_one_key_agree)
{
	if (_i) {
		be_without_key(DIALS);
		be_without_key(ACCEPTS);
	}
	meet();
	expect_states(DOFI_CHAN_UP, DOFI_CHAN_UP);
	ck_assert_int_eq(ups, 1);
	expect_details(DIALS);
	expect_details(ACCEPTS);
	ck_assert_int_eq(chans[DIALS]->session.sealed, !_i);
	ck_assert_int_eq(chans[ACCEPTS]->session.sealed, !_i);
	ck_assert_uint_eq(ias[ACCEPTS].cm.nstrangers, 0);
	ck_assert_str_eq(t_captured(said), "");
}
END_TEST

/* Requests need no round trip of their own. */
START_TEST(requests_follow_the_proof_at_once)
{
	meet();
	ck_assert_int_eq(asks, 1);
	ck_assert(asked_before_up);
	/* The time of the latest answer of a peer; see goes_on() of channel.c. */
	ck_assert_uint_gt(ias[DIALS].cm.last_answer, 0);
	ck_assert_uint_eq(ias[ACCEPTS].cm.last_answer, 0);
}
END_TEST

/* Each channel has numbers of its own, so what was heard on one is of no use on another. */
START_TEST(no_two_channels_have_one_session)
{
	struct dofi_session first;

	meet();
	first = chans[DIALS]->session;
	ck_assert_mem_eq(first.proofs, chans[ACCEPTS]->session.proofs, sizeof(first.proofs));
	conn.redialled = true;
	meet();
	ck_assert_mem_ne(first.proofs, chans[DIALS]->session.proofs, sizeof(first.proofs));
}
END_TEST

/* --- keys that differ --- */

enum { OTHER_KEYS, ONLY_DIALS, ONLY_ACCEPTS };

START_TEST(two_ias_without_a_common_key_refuse_each_other)
{
	static const char *const words[][2] = {
		{"active: no control channel to 127.0.0.1", "it has another key (cdcdcdcd)"},
		{"it has auth=none and this side wants the key abababab",
		 "it wants a key (abababab) and this side has auth=none"},
		{"it has auth=none and this side wants the key abababab",
		 "it wants a key (abababab) and this side has auth=none"},
	};

	if (_i == OTHER_KEYS)
		memset(ias[ACCEPTS].key.id, 0xcd, sizeof(ias[ACCEPTS].key.id));
	else
		be_without_key(_i == ONLY_DIALS ? ACCEPTS : DIALS);
	meet();
	expect_states(DOFI_CHAN_DEAD, DOFI_CHAN_DEAD);
	ck_assert_int_eq(asks, 0);
	for (int side = 0; side < SIDES; side++) {
		ck_assert_int_eq(chans[side]->err, -EPROTO);
		ck_assert_uint_eq(refused_keys(side), 1);
	}
	assert_said(words[_i][0]);
	assert_said(words[_i][1]);
	assert_said("passive: no control channel from 127.0.0.1");
}
END_TEST

/* Who may not connect should learn of it without a debug log. Anybody may come to a port. */
START_TEST(a_refused_key_is_a_warning)
{
	dofi_log_set_level("warn");
	if (_i)
		be_without_key(ACCEPTS);
	else
		memset(ias[ACCEPTS].key.id, 0xcd, sizeof(ias[ACCEPTS].key.id));
	meet();
	assert_said("active: no control channel to 127.0.0.1");
	assert_said("passive: no control channel from 127.0.0.1");
}
END_TEST

/* Both name the same key, and one of them does not have it. */
START_TEST(the_name_of_a_key_is_not_enough)
{
	memset(ias[ACCEPTS].key.bytes, 8, sizeof(ias[ACCEPTS].key.bytes));
	meet();
	ck_assert_int_eq(chans[DIALS]->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chans[ACCEPTS]->state, DOFI_CHAN_DEAD);
	ck_assert_uint_eq(refused_keys(DIALS), 1);
	ck_assert_int_eq(asks, 0);
	assert_said("it names our key and cannot prove that it has it");
}
END_TEST

/* --- fabrics that differ --- */

START_TEST(two_ias_of_different_fabrics_refuse_each_other)
{
	if (_i)
		ias[ACCEPTS].trans = &rdm;
	else
		fabric_attr[ACCEPTS].prov_name = verbs;
	meet();
	expect_states(DOFI_CHAN_DEAD, DOFI_CHAN_DEAD);
	ck_assert_int_eq(ups, 0);
	ck_assert_uint_eq(refused_keys(DIALS) + refused_keys(ACCEPTS), 0);
	/* Both say why: each sends its details before it refuses those of the other. */
	if (_i) {
		assert_said("it uses another transport than ours, msg");
		assert_said("it uses another transport than ours, rdm");
	} else {
		assert_said("it uses the libfabric provider verbs, we use tcp");
		assert_said("it uses the libfabric provider tcp, we use verbs");
	}
}
END_TEST

/* A release of the provider that does not understand later ones meets one of these, or its like. */
START_TEST(releases_that_do_not_understand_each_other)
{
	static char rxm[] = "tcp;ofi_rxm";

	fabric_attr[DIALS].prov_name = fabric_attr[ACCEPTS].prov_name = rxm;
	ias[DIALS].quirks = _i & 1 ? DOFI_QUIRK_OLD_MESSAGES : 0;
	ias[ACCEPTS].quirks = _i & 2 ? DOFI_QUIRK_OLD_MESSAGES : 0;
	meet();
	if (_i == 0 || _i == 3) {
		expect_states(DOFI_CHAN_UP, DOFI_CHAN_UP);
		return;
	}
	expect_states(DOFI_CHAN_DEAD, DOFI_CHAN_DEAD);
	assert_said("it uses the libfabric provider tcp;ofi_rxm@1.17, we use tcp;ofi_rxm; both "
		    "hosts need libfabric 1.18 or later, or another provider");
	assert_said("it uses the libfabric provider tcp;ofi_rxm, we use tcp;ofi_rxm@1.17; both "
		    "hosts need libfabric 1.18 or later, or another provider");
}
END_TEST

/* A newer libfabric would not help here. */
START_TEST(an_old_provider_and_another_one)
{
	static char rxm[] = "tcp;ofi_rxm";

	fabric_attr[DIALS].prov_name = rxm;
	fabric_attr[ACCEPTS].prov_name = _i ? verbs : tcp; /* tcp is how the other name begins */
	ias[DIALS].quirks = DOFI_QUIRK_OLD_MESSAGES;
	meet();
	expect_states(DOFI_CHAN_DEAD, DOFI_CHAN_DEAD);
	assert_said("we use tcp;ofi_rxm@1.17; choose one for both with DAT_OFI_PROVIDER");
	assert_said("the libfabric provider tcp;ofi_rxm@1.17, we use ");
}
END_TEST

/* The message has room for 31 bytes of the name. */
START_TEST(providers_with_long_names_agree)
{
	static char one[] = "ofi_provider_with_a_long_name;A...tail",
		    same[] = "ofi_provider_with_a_long_name;A...end",
		    other[] = "ofi_provider_with_a_long_name;B...tail";

	fabric_attr[DIALS].prov_name = one;
	fabric_attr[ACCEPTS].prov_name = _i ? other : same;
	meet();
	if (_i)
		expect_states(DOFI_CHAN_DEAD, DOFI_CHAN_DEAD);
	else
		expect_states(DOFI_CHAN_UP, DOFI_CHAN_UP);
}
END_TEST

/* --- a peer that is made by hand --- */

static struct t_channel peer;

static void meet_by_hand(int side)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval limit = {.tv_sec = 10};
	int fd;

	if (side == DIALS) {
		dial();
		fd = accept(listener, NULL, NULL);
	} else {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
		adopt(accept4(listener, NULL, NULL, SOCK_NONBLOCK));
	}
	ck_assert_int_ge(fd, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	t_channel_init(&peer, fd, side == DIALS ? DOFI_ROLE_ACCEPTS : DOFI_ROLE_DIALS,
		       &ias[side].key, port);
}

/* The frame of a HELLO with a field changed. */
static size_t hello_with(uint8_t *frame, uint8_t role, uint32_t version)
{
	struct dofi_hello hello = {.role = role};
	size_t size;

	memcpy(hello.key_id, ias[DIALS].key.id, sizeof(hello.key_id));
	size = dofi_wire_put_hello(frame, &hello);
	version = htonl(version);
	memcpy(frame + DOFI_WIRE_LENGTH + 4, &version, sizeof(version));
	return size;
}

static void expect_refusal(int side, const char *words)
{
	run();
	ck_assert_int_eq(chans[side]->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chans[side]->err, -EPROTO);
	assert_said(words);
}

/* The answer tells it what ours is. */
START_TEST(another_version_is_refused_with_an_answer)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = hello_with(frame, _i == DIALS ? DOFI_ROLE_ACCEPTS : DOFI_ROLE_DIALS, 99);

	meet_by_hand(_i);
	ck_assert(t_channel_say(&peer, frame, size));
	expect_refusal(_i, "it speaks version 99 of the control protocol, we speak 5");
	ck_assert(t_channel_hear_hello(&peer));
}
END_TEST

START_TEST(who_does_not_speak_the_protocol_is_refused)
{
	static const char frame[] = "\0\0\0\x10GET / HTTP/1.1\n";

	dofi_log_set_level(_i == DIALS ? "warn" : "info"); /* anybody may come to a port */
	meet_by_hand(_i);
	ck_assert(t_channel_say(&peer, frame, 20));
	expect_refusal(_i, "it does not speak the control protocol of dat-ofi");
}
END_TEST

START_TEST(a_stranger_is_no_reason_for_a_warning)
{
	static const char frame[] = "\0\0\0\x10GET / HTTP/1.1\n";

	dofi_log_set_level("warn");
	meet_by_hand(ACCEPTS);
	ck_assert(t_channel_say(&peer, frame, 20));
	expect_refusal(ACCEPTS, "");
	ck_assert_str_eq(t_captured(said), "");
}
END_TEST

/* A side that hears itself. */
START_TEST(a_peer_of_the_same_role_is_refused)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = hello_with(frame, _i == DIALS ? DOFI_ROLE_DIALS : DOFI_ROLE_ACCEPTS,
				 DOFI_WIRE_VERSION);

	meet_by_hand(_i);
	ck_assert(t_channel_say(&peer, frame, size));
	expect_refusal(_i, "its HELLO is malformed");
}
END_TEST

/* A byte is missing, or is too much. */
START_TEST(a_hello_of_another_size_is_refused)
{
	const int side = _i % SIDES;
	uint8_t frame[DOFI_WIRE_MAX_FRAME] = {0};
	size_t size = hello_with(frame, side == DIALS ? DOFI_ROLE_ACCEPTS : DOFI_ROLE_DIALS,
				 DOFI_WIRE_VERSION);

	size = _i < SIDES ? size - 1 : size + 1;
	frame[3] = (uint8_t)(size - DOFI_WIRE_LENGTH);
	meet_by_hand(side);
	ck_assert(t_channel_say(&peer, frame, size));
	expect_refusal(side, "its HELLO is malformed");
	ck_assert_uint_eq(refused_keys(side), 0);
	ck_assert_uint_eq(chans[side]->shake.dials_size && chans[side]->shake.accepts_size, 0);
}
END_TEST

START_TEST(a_wrong_proof_is_refused)
{
	static const uint8_t proof[DOFI_PROOF_SIZE] = {1};
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_proof(frame, proof);

	meet_by_hand(_i);
	ck_assert(t_channel_say_hello(&peer));
	ck_assert(t_channel_say(&peer, frame, size));
	expect_refusal(_i, "it names our key and cannot prove that it has it");
	ck_assert_uint_eq(refused_keys(_i), 1);
	ck_assert_uint_eq(chans[_i]->tx_fill, 0);
	if (_i == DIALS)
		return; /* it keeps its own proof to itself */
	ck_assert(t_channel_hear_hello(&peer));
	ck_assert(t_channel_hear_proof(&peer));
}
END_TEST

/* Hears what the library says, while the library hears the peer. */
static void prove(void)
{
	uint64_t limit = dofi_now() + UINT64_C(10000000000);

	ck_assert(t_channel_say_hello(&peer));
	while (chans[ACCEPTS]->step == DOFI_STEP_HELLO && dofi_now() < limit)
		hear(ACCEPTS);
	ck_assert(t_channel_hear_hello(&peer));
	ck_assert(t_channel_hear_proof(&peer));
	ck_assert(t_channel_say_proof(&peer));
}

static const struct dofi_details details = {.provider = "tcp", .transport = DOFI_TRANS_MSG};

START_TEST(details_with_a_wrong_seal_are_refused)
{
	meet_by_hand(ACCEPTS);
	prove();
	peer.session.tx_number = (uint64_t)_i; /* 0 is right */
	ck_assert(t_channel_say_details(&peer, &details));
	if (_i) {
		expect_refusal(ACCEPTS, "the seal of its details is wrong");
		ck_assert_uint_eq(refused_keys(ACCEPTS), 1);
	} else {
		run();
		ck_assert_int_eq(chans[ACCEPTS]->state, DOFI_CHAN_UP);
	}
}
END_TEST

START_TEST(details_that_are_malformed_are_refused)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_details(frame, &details);

	meet_by_hand(ACCEPTS);
	prove();
	/* One byte is missing. */
	size--;
	frame[2] = (uint8_t)((size - DOFI_WIRE_LENGTH) >> 8);
	frame[3] = (uint8_t)(size - DOFI_WIRE_LENGTH);
	size = dofi_wire_seal(frame, size, &peer.session);
	ck_assert(t_channel_say(&peer, frame, size));
	expect_refusal(ACCEPTS, "its details are malformed");
}
END_TEST

/* The peer hangs up in the middle. */
START_TEST(a_handshake_after_another_dial_begins_anew)
{
	struct dofi_chan *chan;
	struct dofi_details theirs;
	uint64_t limit = dofi_now() + UINT64_C(10000000000);

	meet_by_hand(DIALS);
	chan = chans[DIALS];
	ck_assert(t_channel_say_hello(&peer));
	while ((chan->state == DOFI_CHAN_DIALING || chan->step == DOFI_STEP_HELLO) &&
	       dofi_now() < limit)
		hear(DIALS);
	ck_assert_int_eq(chan->step, DOFI_STEP_PROOF);
	close(peer.fd);
	while (chan->fd.fd >= 0 && dofi_now() < limit)
		hear(DIALS);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DIALING);
	dofi_lock(&ias[DIALS].engine.lock);
	dofi_timer_cancel(&ias[DIALS], &chan->timer);
	chan->timer.fire(&chan->timer);
	dofi_unlock(&ias[DIALS].engine.lock);
	t_channel_init(&peer, accept(listener, NULL, NULL), DOFI_ROLE_ACCEPTS, &ias[DIALS].key,
		       port);
	while ((chan->state == DOFI_CHAN_DIALING || chan->tx_fill) && dofi_now() < limit)
		hear(DIALS);
	ck_assert(t_channel_hear_hello(&peer));
	ck_assert(t_channel_say_hello(&peer));
	ck_assert(t_channel_say_proof(&peer));
	while (chan->step != DOFI_STEP_DETAILS && dofi_now() < limit)
		hear(DIALS);
	ck_assert(t_channel_hear_proof(&peer));
	ck_assert(t_channel_hear_details(&peer, &theirs));
	ck_assert(t_channel_say_details(&peer, &details));
	run();
	ck_assert_int_eq(chan->state, DOFI_CHAN_UP);
}
END_TEST

/* --- failures of this side --- */

START_TEST(without_a_session_there_is_no_handshake)
{
	meet_by_hand(_i);
	no_session = true;
	ck_assert(t_channel_say_hello(&peer));
	run();
	ck_assert_int_eq(chans[_i]->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chans[_i]->err, -EIO);
}
END_TEST

START_TEST(without_random_bytes_there_is_no_handshake)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = hello_with(frame, DOFI_ROLE_DIALS, DOFI_WIRE_VERSION);

	meet_by_hand(_i);
	no_random = true;
	if (_i == ACCEPTS)
		ck_assert(t_channel_say(&peer, frame, size));
	run();
	ck_assert_int_eq(chans[_i]->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chans[_i]->err, _i == DIALS ? -EIO : -EPROTO);
	ck_assert(!chans[_i]->orderly);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handshake");
	TCase *tcase = tcase_create("handshake");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_loop_test(tcase, two_ias_with_one_key_agree, 0, 2);
	tcase_add_test(tcase, requests_follow_the_proof_at_once);
	tcase_add_test(tcase, no_two_channels_have_one_session);
	tcase_add_loop_test(tcase, two_ias_without_a_common_key_refuse_each_other, 0, 3);
	tcase_add_loop_test(tcase, a_refused_key_is_a_warning, 0, 2);
	tcase_add_test(tcase, the_name_of_a_key_is_not_enough);
	tcase_add_loop_test(tcase, two_ias_of_different_fabrics_refuse_each_other, 0, 2);
	tcase_add_loop_test(tcase, another_version_is_refused_with_an_answer, 0, SIDES);
	tcase_add_loop_test(tcase, who_does_not_speak_the_protocol_is_refused, 0, SIDES);
	tcase_add_test(tcase, a_stranger_is_no_reason_for_a_warning);
	tcase_add_loop_test(tcase, a_peer_of_the_same_role_is_refused, 0, SIDES);
	tcase_add_loop_test(tcase, a_hello_of_another_size_is_refused, 0, 2 * SIDES);
	tcase_add_loop_test(tcase, a_wrong_proof_is_refused, 0, SIDES);
	tcase_add_loop_test(tcase, details_with_a_wrong_seal_are_refused, 0, 2);
	tcase_add_test(tcase, details_that_are_malformed_are_refused);
	tcase_add_loop_test(tcase, releases_that_do_not_understand_each_other, 0, 4);
	tcase_add_loop_test(tcase, an_old_provider_and_another_one, 0, 2);
	tcase_add_loop_test(tcase, providers_with_long_names_agree, 0, 2);
	tcase_add_test(tcase, a_handshake_after_another_dial_begins_anew);
	tcase_add_loop_test(tcase, without_a_session_there_is_no_handshake, 0, SIDES);
	tcase_add_loop_test(tcase, without_random_bytes_there_is_no_handshake, 0, SIDES);
	return t_run(suite);
}
