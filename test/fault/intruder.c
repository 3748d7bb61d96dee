/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that has no key and reaches the endpoint of an IA on the fabric. It uses libfabric
 * alone. The victim tells it what an intruder might also guess: the address of the endpoint,
 * addresses of memory, and number and tags of a connection that was made just before the one that
 * the intruder wants to harm.
 */
#include "inside.h"
#include "cm/conn.h"
#include "dto/credit.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/mem.h"
#include "object/transport.h"
#include "transport/rdm.h"
#include "transport/rdm_tag.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define SMALL  64u
#define HONEST 7u /* seeds of what the memory contains */
#define FORGED 9u

static struct t_peer victim;
static struct t_ia ia;
static struct t_end first, second;

static struct dofi_ia *ia_of(const struct t_ia *of)
{
	return ((struct dofi_pz *)of->pz)->obj.ia;
}

static struct dofi_ep *ep_of(const struct t_end *end)
{
	return (struct dofi_ep *)end->ep;
}

static void established(const struct t_end *end)
{
	t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end->ep);
}

static uint64_t strays(const struct t_ia *of)
{
	return atomic_load(&ia_of(of)->counters[DOFI_CNT_IA_DATA_STRAY]);
}

/* --- the intruder --- */

static struct {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_mr *mr;
	fi_addr_t victim;
	_Alignas(8) char memory[SMALL];
	uint32_t ndone, nfailed;
} intruder;

static void intruder_connect_objects(void)
{
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .size = 1024};
	struct fi_av_attr av = {.type = intruder.info->domain_attr->av_type};

	ck_assert_int_eq(fi_cq_open(intruder.domain, &cq, &intruder.cq, NULL), 0);
	ck_assert_int_eq(fi_av_open(intruder.domain, &av, &intruder.av, NULL), 0);
	ck_assert_int_eq(fi_endpoint(intruder.domain, intruder.info, &intruder.ep, NULL), 0);
	ck_assert_int_eq(fi_ep_bind(intruder.ep, &intruder.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	ck_assert_int_eq(fi_ep_bind(intruder.ep, &intruder.av->fid, 0), 0);
	ck_assert_int_eq(fi_enable(intruder.ep), 0);
	ck_assert_int_eq(fi_mr_reg(intruder.domain, intruder.memory, SMALL,
				   FI_SEND | FI_READ | FI_WRITE, 0, 1, 0, &intruder.mr, NULL),
			 0);
	if (intruder.info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		ck_assert_int_eq(fi_mr_bind(intruder.mr, &intruder.ep->fid, 0), 0);
		ck_assert_int_eq(fi_mr_enable(intruder.mr), 0);
	}
}

/* Uses the fabric of the IA. Of the IA it takes nothing else but the peer's address. */
static void intruder_start(void)
{
	const struct dofi_details *peer = &ep_of(&first)->conn->chan->peer;

	intruder.info = fi_dupinfo(ia_of(&ia)->info);
	if (fault_fabric_is_shm()) {
		free(intruder.info->src_addr); /* an endpoint of this name is open */
		intruder.info->src_addr = strdup("fi_shm://intruder");
		intruder.info->src_addrlen = sizeof("fi_shm://intruder");
	}
	ck_assert_int_eq(fi_fabric(intruder.info->fabric_attr, &intruder.fabric, NULL), 0);
	ck_assert_int_eq(fi_domain(intruder.fabric, intruder.info, &intruder.domain, NULL), 0);
	intruder_connect_objects();
	ck_assert_int_eq(fi_av_insert(intruder.av, peer->fabric_name, 1, &intruder.victim, 0, NULL),
			 1);
	t_fill(intruder.memory, SMALL, FORGED);
}

static void intruder_end(void)
{
	fi_close(&intruder.mr->fid);
	fi_close(&intruder.ep->fid);
	fi_close(&intruder.cq->fid);
	fi_close(&intruder.av->fid);
	fi_close(&intruder.domain->fid);
	fi_close(&intruder.fabric->fid);
	fi_freeinfo(intruder.info);
}

static void intruder_look(void)
{
	struct fi_cq_tagged_entry entries[16];
	struct fi_cq_err_entry err = {0};
	ssize_t n = fi_cq_read(intruder.cq, entries, 16);

	if (n > 0)
		intruder.ndone += (uint32_t)n;
	else if (n == -FI_EAVAIL && fi_cq_readerr(intruder.cq, &err, 0) == 1)
		intruder.nfailed++;
}

/*
 * Posts the operation until the fabric takes it, and waits for its end. True if the fabric reports
 * a success. Some fabrics refuse a key at once.
 */
#define INTRUDER_DO(post)                                                                          \
	({                                                                                         \
		uint32_t done_ = intruder.ndone, failed_ = intruder.nfailed;                       \
		ssize_t ret_;                                                                      \
                                                                                                   \
		t_until((intruder_look(), ret_ = (post)) != -FI_EAGAIN);                           \
		ck_assert(!ret_ || ret_ == -FI_EKEYREJECTED);                                      \
		t_until((intruder_look(), intruder.ndone + intruder.nfailed) != done_ + failed_ || \
			ret_);                                                                     \
		intruder.ndone != done_;                                                           \
	})

static void *desc(void)
{
	return fi_mr_desc(intruder.mr);
}

/* --- the victim --- */

/*
 * The victim has two connections of one peer. It reports each message that it receives, and on
 * which connection.
 */
static void serving_victim(struct t_peer *self)
{
	struct t_listener listener;
	struct t_end *ends[] = {&first, &second};
	uint64_t expected;

	t_ia_open(&ia);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	for (int i = 0; i < 2; i++) {
		t_end_new(ends[i], &ia, NULL);
		t_ok(t_recv(ends[i], 0, SMALL, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_cr_accept(t_next_cr(&listener), ends[i]->ep));
		established(ends[i]);
	}
	t_fill(second.buf.mem + SMALL, SMALL, HONEST);
	t_peer_tell(self, (uintptr_t)second.buf.mem + SMALL);
	for (int i = 0; i < 2; i++) {
		t_peer_hear(self); /* the attack may take longer than a wait for an event */
		t_wait_dto(ends[i]->recv_evd, ends[i]->ep, 1, DAT_DTO_SUCCESS, SMALL);
		t_peer_tell(self, t_is_filled(ends[i]->buf.mem, SMALL, HONEST));
	}
	t_peer_tell(self, t_is_filled(second.buf.mem + SMALL, SMALL, HONEST));
	expected = t_peer_hear(self);
	t_until(strays(&ia) >= expected);
	t_peer_tell(self, ep_of(&second)->credit_total);
	t_peer_hear(self);
	t_ia_close(&ia);
}

static void meet(void)
{
	DAT_CONN_QUAL qual;

	t_peer_start(&victim, serving_victim);
	t_ia_open(&ia);
	qual = t_peer_hear(&victim);
	t_end_new(&first, &ia, NULL);
	t_end_new(&second, &ia, NULL);
	t_ok(t_connect_data(first.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	established(&first);
	t_ok(t_connect_data(second.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	established(&second);
	t_fill(first.buf.mem, SMALL, HONEST);
	t_fill(second.buf.mem, SMALL, HONEST);
}

static void skip(const char *why)
{
	t_peer_kill(&victim);
	t_ia_close(&ia);
	t_skip(why);
}

static void meet_with_intruder(void)
{
	meet();
	if (ia_of(&ia)->trans->id != DOFI_TRANS_RDM)
		skip("connections have endpoints of their own, which nobody else reaches");
	intruder_start();
}

static void send_honestly(struct t_end *end)
{
	t_peer_tell(&victim, 0);
	t_ok(t_send(end, 0, SMALL, 3, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end->request_evd, end->ep, 3, DAT_DTO_SUCCESS, SMALL);
	ck_assert(t_peer_hear(&victim));
}

/* What the victim says of its memory, and of the credits of its second connection. */
struct damage {
	uint64_t whole, credits;
};

/*
 * Waits until the victim has refused this number of messages, and returns what they have changed.
 */
static struct damage part(uint64_t strays_expected)
{
	struct damage seen;

	seen.whole = t_peer_hear(&victim);
	t_peer_tell(&victim, strays_expected);
	seen.credits = t_peer_hear(&victim);
	t_peer_tell(&victim, 1);
	t_peer_join(&victim);
	if (intruder.ep)
		intruder_end();
	t_ia_close(&ia);
	return seen;
}

/* --- attacks --- */

#define GUESSES 16

/*
 * Numbers and tags of connections are random, so those of a connection that was made about the same
 * time do not help.
 */
START_TEST(a_message_into_the_connection_of_others)
{
	uint64_t tag;

	meet_with_intruder();
	t_peer_hear(&victim);
	tag = ep_of(&first)->send_tag;
	for (uint64_t i = 1; i <= GUESSES; i++)
		INTRUDER_DO(fi_tsend(intruder.ep, intruder.memory, SMALL, desc(), intruder.victim,
				     tag + i, NULL));
	send_honestly(&first);
	send_honestly(&second);
	ck_assert(part(0).whole);
}
END_TEST

/*
 * Guesses the first keys of a fabric: those of the library's own memory and of the program's. When
 * the read behind the write has ended, the write is over. A fabric may close the stream after a
 * wrong guess.
 */
START_TEST(memory_by_keys_that_are_guessed)
{
	uint64_t address;
	uint32_t opened = 0;

	if (fault_fabric_is_shm())
		t_skip("shm does not ask for keys where one process may read the other's memory");
	meet_with_intruder();
	address = t_peer_hear(&victim);
	if (!(intruder.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR))
		address = SMALL;
	for (uint64_t key = 0; key < GUESSES; key++) {
		INTRUDER_DO(fi_write(intruder.ep, intruder.memory, SMALL, desc(), intruder.victim,
				     address, key, NULL));
		opened += INTRUDER_DO(fi_read(intruder.ep, intruder.memory, SMALL, desc(),
					      intruder.victim, address, key, NULL));
		intruder_end();
		intruder_start();
	}
	send_honestly(&first);
	send_honestly(&second);
	ck_assert(part(0).whole);
	ck_assert_uint_eq(opened, 0);
}
END_TEST

#define MANY 5000u /* credits; more than there are */

/* The intruder knows the number of the connection, but not its secret. */
START_TEST(a_control_message_without_the_secret)
{
	struct dofi_ctrl_credit *credit = (struct dofi_ctrl_credit *)(void *)intruder.memory;

	meet_with_intruder();
	t_peer_hear(&victim);
	credit->number = ep_of(&second)->peer.number;
	credit->secret = ep_of(&second)->peer.secret ^ 1;
	credit->update = DOFI_UPDATE_CREDIT | MANY << DOFI_UPDATE_CREDIT_SHIFT;
	for (int i = 0; i < GUESSES; i++)
		INTRUDER_DO(fi_tsend(intruder.ep, credit, sizeof(*credit), desc(), intruder.victim,
				     DOFI_TAG_CTRL, NULL));
	send_honestly(&first);
	send_honestly(&second);
	ck_assert_uint_lt(part(GUESSES).credits, MANY);
}
END_TEST

/* --- the port of the fabric --- */

#define SOCKETS 32

/*
 * Some of these sockets send bytes that begin like a valid message; some then stay silent, some are
 * closed.
 */
static void send_garbage(const struct sockaddr_in *to, unsigned int seed)
{
	char bytes[4096];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	t_fill(bytes, sizeof(bytes), seed);
	if (seed % 3 == 0)
		memset(bytes, 0, sizeof(bytes));
	if (seed % 3 == 1)
		memset(bytes, 1, 64);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)to, sizeof(*to)), 0);
	/* The fabric may close the socket at once. */
	(void)!send(fd, bytes, 1u << seed % 13, MSG_NOSIGNAL);
	if (seed % 2)
		close(fd);
}

START_TEST(garbage_at_the_port_of_the_fabric)
{
	const struct dofi_details *peer;
	struct sockaddr_in to;

	if (fault_fabric_is_verbs())
		t_skip("its ports are not TCP's");
	meet();
	peer = &ep_of(&first)->conn->chan->peer;
	if (ia_of(&ia)->info->addr_format != FI_SOCKADDR_IN)
		skip("its addresses are no ports");
	t_peer_hear(&victim);
	memcpy(&to, peer->fabric_name, sizeof(to));
	for (unsigned int i = 0; i < SOCKETS; i++)
		send_garbage(&to, i);
	send_honestly(&first);
	send_honestly(&second);
	ck_assert(part(0).whole);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("intruder");
	TCase *tcase = tcase_create("intruder");

	fault_use_linked_provider();
	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 240); /* it opens an endpoint for each guess */
	tcase_add_test(tcase, a_message_into_the_connection_of_others);
	tcase_add_test(tcase, memory_by_keys_that_are_guessed);
	tcase_add_test(tcase, a_control_message_without_the_secret);
	tcase_add_test(tcase, garbage_at_the_port_of_the_fabric);
	return t_run(suite);
}
