/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer that sends false messages. The peer is the provider, linked into this process, with some
 * of its functions replaced. The victim is a process of its own that uses DAT as programs do. The
 * victim must survive each false message, and an honest message must still reach it.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dat2/dat_ib_extensions.h>

#include "inside.h"
#include "base/addr.h"
#include "cm/conn.h"
#include "dto/control.h"
#include "fabric/quirks.h"
#include "fabric/same_process.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/mem.h"
#include "object/transport.h"

#include <rdma/fi_rma.h>

#define SMALL 64u

static struct t_peer victim;
static struct t_ia ia;
static struct t_end end;

static struct dofi_ep *ep_of(const struct t_end *of)
{
	return (struct dofi_ep *)of->ep;
}

static struct dofi_ia *ia_of(const struct t_ia *of)
{
	return ((struct dofi_pz *)of->pz)->obj.ia;
}

static void established(const struct t_end *of)
{
	t_wait_conn(of->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, of->ep);
}

/* --- replaced functions of the provider, in the lying process --- */

static uint32_t extra;
static bool says_nothing;

uint32_t __real_dofi_conn_sent(const struct dofi_conn *conn);
uint32_t __wrap_dofi_conn_sent(const struct dofi_conn *conn);
bool __real_dofi_conn_uses_forgotten(const struct dofi_chan *chan);
bool __wrap_dofi_conn_uses_forgotten(const struct dofi_chan *chan);

/* The count in BYE. */
uint32_t __wrap_dofi_conn_sent(const struct dofi_conn *conn)
{
	return __real_dofi_conn_sent(conn) + extra;
}

/* While this returns true, INVALIDATE is not answered. */
bool __wrap_dofi_conn_uses_forgotten(const struct dofi_chan *chan)
{
	return says_nothing || __real_dofi_conn_uses_forgotten(chan);
}

/* --- a record for an endpoint that is not connected --- */

/* Sends the address of its memory, and connects to the qualifier that it receives. */
static void dialling_victim(struct t_peer *self)
{
	struct t_listener listener;
	struct sockaddr_in to;
	struct t_end other;
	struct t_buf counter;
	uint16_t port;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_end_new(&other, &ia, NULL);
	t_buf_new(&counter, ia.ia, ia.pz, SMALL,
		  (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_ALL_FLAG |
				       (unsigned int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC));
	t_ok(t_recv(&end, 0, SMALL, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	established(&end);
	t_peer_tell(self, counter.rmr_context);
	t_peer_tell(self, (uintptr_t)counter.mem);
	memcpy(&to, ia.attr.ia_address_ptr, sizeof(to));
	port = (uint16_t)t_peer_hear(self);
	t_ok(dat_ep_connect(other.ep, (DAT_IA_ADDRESS_PTR)&to, port, DAT_TIMEOUT_INFINITE, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	t_wait_dto(end.recv_evd, end.ep, 1, DAT_DTO_SUCCESS, SMALL);
	t_peer_tell(self, 1);
	t_peer_hear(self);
	t_ia_close(&ia);
}

static void meet(void (*role)(struct t_peer *))
{
	t_peer_start(&victim, role);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(&victim), T_LIMIT_US, NULL, 0));
	established(&end);
}

static void part(void)
{
	t_peer_tell(&victim, 1);
	t_peer_join(&victim);
	t_ia_close(&ia);
}

static void exchange(void)
{
	t_ok(t_send(&end, 0, SMALL, 7, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end.request_evd, end.ep, 7, DAT_DTO_SUCCESS, SMALL);
	t_peer_hear(&victim);
}

/* The first atomic operation reads the address of the victim's control slots. */
static void find_slots(void)
{
	DAT_LMR_TRIPLET old = t_seg(&end.buf, 0, sizeof(uint64_t));
	DAT_RMR_TRIPLET target = {0};

	target.rmr_context = (DAT_RMR_CONTEXT)t_peer_hear(&victim);
	target.virtual_address = t_peer_hear(&victim);
	target.segment_length = sizeof(uint64_t);
	t_ok(dat_ib_post_fetch_and_add(end.ep, 1, &old, (DAT_DTO_COOKIE){.as_64 = 3}, &target,
				       DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_for(end.request_evd, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	ck_assert(ep_of(&end)->peer.ctrl_known);
}

/* A socket that listens on the IA's address and never sends anything. */
static int listen_mutely(struct sockaddr_in *name)
{
	socklen_t size = sizeof(*name);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(name, ia.attr.ia_address_ptr, sizeof(*name));
	name->sin_port = 0;
	ck_assert(!bind(fd, (struct sockaddr *)name, size) && !listen(fd, 1));
	ck_assert(!getsockname(fd, (struct sockaddr *)name, &size));
	return fd;
}

/* The victim's second connection waits for a data path that never comes. Returns its number. */
static uint32_t hold_in_the_middle(struct t_ia *mute, struct t_end *passive, int *fd_p)
{
	struct t_listener listener;
	struct sockaddr_in name;

	t_ia_open(mute);
	t_end_new(passive, mute, NULL);
	*fd_p = listen_mutely(&name);
	memcpy(ia_of(mute)->fabric_name, &name, sizeof(name));
	t_listen(&listener, mute, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(&victim, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), passive->ep));
	ck_assert_int_ge(accept(*fd_p, NULL, NULL), 0);
	return ep_of(passive)->conn->peer_id;
}

/* Sends a control record to the EP that the completion data name, by another connection. */
static void forge(uint32_t number, enum dofi_ctrl_kind kind, uint32_t value)
{
	const struct dofi_atomic_request request = {.op = DOFI_OP_FETCH_ADD};
	struct dofi_ep *ep = ep_of(&end);
	uint32_t own;

	dofi_lock(&ep->lock);
	own = ep->peer.number;
	ep->peer.number = number;
	ck_assert_int_eq(ep->obj.ia->trans->write_ctrl(ep, &request, sizeof(request),
						       ep->peer.ctrl_address, ep->peer.ctrl_key,
						       dofi_ctrl_data(ep, kind, value)),
			 0);
	ep->peer.number = own;
	dofi_unlock(&ep->lock);
}

START_TEST(a_record_for_an_endpoint_that_is_not_connected)
{
	struct t_end passive;
	struct t_ia mute;
	uint32_t number;
	int fd;

	meet(dialling_victim);
	if (ia_of(&ia)->trans->id != DOFI_TRANS_MSG || !dofi_ctrl_slots_possible(ia_of(&ia))) {
		t_peer_kill(&victim);
		t_skip("no control slots beside endpoints of their own");
	}
	find_slots();
	number = hold_in_the_middle(&mute, &passive, &fd);
	forge(number, DOFI_CTRL_ATOMIC, 0);
	forge(number, DOFI_CTRL_CREDIT, 1u << 20);
	exchange();
	close(fd);
	part();
	t_ia_close(&mute);
}
END_TEST

/* --- shared memory of another user --- */

#define NOBODY 65534u

/* Accepts two connections: one that may fail, and one that must not. */
static void serving_victim(struct t_peer *self)
{
	struct t_listener listener;
	struct t_end good;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_end_new(&good, &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_peer_tell(self, t_wait(end.connect_evd).event_number);
	t_ok(t_recv(&good, 0, SMALL, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_cr_accept(t_next_cr(&listener), good.ep));
	established(&good);
	t_wait_dto(good.recv_evd, good.ep, 1, DAT_DTO_SUCCESS, SMALL);
	t_peer_tell(self, 1);
	t_peer_hear(self);
	t_ia_close(&ia);
}

/* A region that every user may write to, shorter than its header says. */
static void make_region(char *path, size_t size, struct dofi_ia *liar)
{
	char name[48], page[65536];
	int fd;

	snprintf(name, sizeof(name), "99999999:%u:%d", NOBODY, (int)getpid());
	snprintf(path, size, "/dev/shm/%s", name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_msg(fd >= 0, "%s: %m", path);
	memset(page, 0x41, sizeof(page));
	ck_assert_int_eq(write(fd, page, sizeof(page)), (ssize_t)sizeof(page));
	ck_assert(!fchown(fd, NOBODY, NOBODY) && !fchmod(fd, 0666));
	close(fd);
	liar->fabric_name_size =
		(size_t)snprintf((char *)liar->fabric_name, sizeof(liar->fabric_name), "%s%s",
				 DOFI_SHM_PREFIX, name) +
		1;
}

START_TEST(a_region_of_another_user)
{
	DAT_CONN_QUAL qual;
	struct t_end bad;
	struct t_ia liar;
	char path[64];

	if (!fault_fabric_is_shm())
		t_skip("it is for shm");
	if (geteuid())
		t_skip("only root can give files away");
	t_peer_start(&victim, serving_victim);
	t_ia_open(&liar);
	t_end_new(&bad, &liar, NULL);
	make_region(path, sizeof(path), ia_of(&liar));
	qual = t_peer_hear(&victim);
	t_ok(t_connect_data(bad.ep, &liar, qual, T_LIMIT_US, NULL, 0));
	ck_assert_uint_eq(t_peer_hear(&victim), DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	unlink(path);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	established(&end);
	exchange();
	part();
	t_ia_close(&liar);
}
END_TEST

/* --- an address of another host --- */

static struct sockaddr_in address_of(DAT_IA_ADDRESS_PTR ptr)
{
	struct sockaddr_in address;

	memcpy(&address, ptr, sizeof(address));
	return address;
}

/* Both are of one host, so the peer's address is that of the victim. */
static void curious_victim(struct t_peer *self)
{
	struct t_listener listener;
	DAT_CR_PARAM request;
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr;
	in_addr_t own;

	t_ia_open(&ia);
	own = address_of(ia.attr.ia_address_ptr).sin_addr.s_addr;
	t_end_new(&end, &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	cr = t_next_cr(&listener);
	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request));
	ck_assert_uint_eq(address_of(request.remote_ia_address_ptr).sin_addr.s_addr, own);
	t_ok(t_cr_accept(cr, end.ep));
	established(&end);
	t_ok(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, &param));
	ck_assert_uint_eq(address_of(param.remote_ia_address_ptr).sin_addr.s_addr, own);
	t_peer_hear(self);
	t_ia_close(&ia);
}

/* Programs decide by the address whom they serve. */
START_TEST(an_address_of_another_host)
{
	struct sockaddr_in to;

	t_peer_start(&victim, curious_victim);
	t_ia_open(&ia);
	to = address_of(ia.attr.ia_address_ptr);
	if (to.sin_family != AF_INET) {
		t_peer_kill(&victim);
		t_ia_close(&ia);
		t_skip("for IPv4");
	}
	ck_assert(dofi_addr_parse("192.0.2.1", &ia_of(&ia)->addr));
	t_end_new(&end, &ia, NULL);
	t_ok(dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&to, t_peer_hear(&victim), T_LIMIT_US, 0,
			    NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	established(&end);
	part();
}
END_TEST

/* --- messages that were never sent --- */

static uint32_t drains_of(const struct t_ia *of)
{
	uint32_t n;

	dofi_lock(&ia_of(of)->engine.lock);
	n = ia_of(of)->ndrains;
	dofi_unlock(&ia_of(of)->engine.lock);
	return n;
}

/* The victim's only receive remains free: it keeps nothing for messages that were never sent. */
static void counting_victim(struct t_peer *self)
{
	struct t_listener listener;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_ok(t_recv(&end, 0, SMALL, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	established(&end);
	t_wait_for(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	t_until(!drains_of(&ia));
	t_peer_hear(self);
	t_ia_close(&ia);
}

START_TEST(messages_that_were_never_sent)
{
	meet(counting_victim);
	extra = 1000000;
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_for(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	part();
}
END_TEST

/* --- a peer that does not answer --- */

#define FREES      8
/*
 * for all frees together; each would take a second if the library waited for this peer every time
 */
#define LONGEST_US 4000000u

static void freeing_victim(struct t_peer *self)
{
	struct t_listener listener;
	struct t_buf bufs[FREES];
	uint64_t began;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_ok(t_recv(&end, 0, SMALL, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	for (int i = 0; i < FREES; i++)
		t_buf_new(&bufs[i], ia.ia, ia.pz, SMALL, DAT_MEM_PRIV_ALL_FLAG);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	established(&end);
	for (int i = 0; i < FREES; i++) /* as a peer that has used it often */
		ck_assert(dofi_ctxtab_subscribe(&ia_of(&ia)->ctxtab, bufs[i].rmr_context));
	began = t_now_us();
	for (int i = 0; i < FREES; i++)
		t_ok(dat_lmr_free(bufs[i].lmr));
	ck_assert_uint_lt(t_now_us() - began, LONGEST_US);
	ck_assert_uint_eq(atomic_load(&ia_of(&ia)->counters[DOFI_CNT_IA_CM_MUTE]), 1);
	t_wait_dto(end.recv_evd, end.ep, 1, DAT_DTO_SUCCESS, SMALL);
	t_peer_tell(self, 1);
	t_peer_hear(self);
	t_ia_close(&ia);
}

START_TEST(peer_that_never_answers)
{
	says_nothing = true; /* the victim gets no answer */
	meet(freeing_victim);
	exchange();
	part();
}
END_TEST

/* --- memory without the right to write --- */

#define PATTERN 3u

/* Both buffers are registered and told of; peers may write to the second. */
static void cautious_victim(struct t_peer *self)
{
	unsigned int privileges[] = {DAT_MEM_PRIV_ALL_FLAG & ~DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
				     DAT_MEM_PRIV_ALL_FLAG};
	struct t_listener listener;
	struct t_buf bufs[2];

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	for (int i = 0; i < 2; i++) {
		t_buf_new(&bufs[i], ia.ia, ia.pz, SMALL, (DAT_MEM_PRIV_FLAGS)privileges[i]);
		t_fill(bufs[i].mem, SMALL, PATTERN);
		t_peer_tell(self, ((struct dofi_lmr *)bufs[i].lmr)->mr.key);
		t_peer_tell(self, ((struct dofi_lmr *)bufs[i].lmr)->mr.address);
	}
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	established(&end);
	t_until(!t_is_filled(bufs[1].mem, SMALL, PATTERN));
	t_peer_tell(self, 1);
	t_wait(end.connect_evd); /* the end of the connection */
	t_peer_tell(self, t_is_filled(bufs[0].mem, SMALL, PATTERN));
	t_peer_hear(self);
	t_ia_close(&ia);
}

struct place {
	uint64_t key, address;
};

static struct place hear_place(void)
{
	struct place place;

	place.key = t_peer_hear(&victim);
	place.address = t_peer_hear(&victim);
	return place;
}

/* Writes without the initiator's checks. */
static void write_word(struct place to)
{
	static const uint64_t word = 0x5a5a5a5a5a5a5a5a;
	const struct dofi_ep *ep = ep_of(&end);

	ck_assert_int_eq(fi_inject_write(ep->fep, &word, sizeof(word), ep->dest, to.address,
					 to.key),
			 0);
}

START_TEST(a_write_to_memory_that_may_be_read)
{
	struct place readable, writable;
	DAT_CONN_QUAL qual;

	if (fault_fabric_is_shm())
		t_skip("shm does not ask for rights where one process may write the other's "
		       "memory");
	t_peer_start(&victim, cautious_victim);
	t_ia_open(&ia);
	if (ia_of(&ia)->quirks & DOFI_QUIRK_WIDE_RIGHTS) {
		t_peer_kill(&victim);
		t_ia_close(&ia);
		t_skip("this libfabric lets peers write to each registration");
	}
	t_end_new(&end, &ia, NULL);
	qual = t_peer_hear(&victim);
	readable = hear_place();
	writable = hear_place();
	t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	established(&end);
	write_word(writable);
	t_peer_hear(&victim);
	write_word(readable);
	(void)dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG); /* a read goes behind the write */
	ck_assert(t_peer_hear(&victim));
	part();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lies");
	TCase *tcase = tcase_create("lies");

	fault_use_linked_provider();
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, a_record_for_an_endpoint_that_is_not_connected);
	tcase_add_test(tcase, messages_that_were_never_sent);
	tcase_add_test(tcase, peer_that_never_answers);
	tcase_add_test(tcase, a_region_of_another_user);
	tcase_add_test(tcase, an_address_of_another_host);
	tcase_add_test(tcase, a_write_to_memory_that_may_be_read);
	return t_run(suite);
}
