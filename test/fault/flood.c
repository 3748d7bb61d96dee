/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many peers send to a process that posts no receives. Memory does not grow on either side, another
 * connection continues, and when the receives come all messages arrive. The last case turns the
 * credits off and checks that this test would notice that.
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dto/credit.h"
#include "object/ia.h"
#include "inside.h"
#include "memory.h"

#define EPS           50u /* in total, at most */
/* of two senders: a device that finds no receive repeats the message all the time */
#define EPS_OF_DEVICE 4u
#define MAX_SENDERS   50u
#define MESSAGES      24u /* of each EP */
/* Fewer EPs send larger messages, so that the fixed memory of a process does not matter. */
#define MESSAGE_SIZE  ((size_t)(neps == EPS ? 32768 : 262144))
#define ALL_MESSAGES  (neps * MESSAGES * MESSAGE_SIZE)
#define ALLOWED       (ALL_MESSAGES / 8)
#define PING_PONGS    100u

static struct t_peer senders[MAX_SENDERS], friend;
static unsigned int nsenders, neps;
static bool careless;

enum dofi_credit_mode __real_dofi_credit_choose(const struct dofi_ia *ia);
enum dofi_credit_mode __wrap_dofi_credit_choose(const struct dofi_ia *ia);

enum dofi_credit_mode __wrap_dofi_credit_choose(const struct dofi_ia *ia)
{
	return careless ? DOFI_CREDITS_NONE : __real_dofi_credit_choose(ia);
}

static DAT_EP_ATTR deep(const struct t_ia *ia)
{
	DAT_EP_ATTR attr = t_default_attr(ia);

	attr.max_request_dtos = attr.max_recv_dtos = MESSAGES + 8;
	return attr;
}

/* --- the senders --- */

static void fill(const struct t_buf *buf, unsigned int sender)
{
	for (unsigned int i = 0; i < MESSAGES; i++)
		t_fill(buf->mem + i * MESSAGE_SIZE, MESSAGE_SIZE, sender * 100 + i);
}

/* InfiniBand repeats messages by itself. Soft-RoCE uses the whole processor for that. */
static void count_eps(void)
{
	bool by_itself = getenv("T_VERBS");

	neps = by_itself ? EPS_OF_DEVICE : EPS;
	nsenders = by_itself ? 2 : fault_amount(2, MAX_SENDERS);
}

/* Each EP of the process posts all its messages. The process waits until they are received. */
static void sender_role(struct t_peer *self)
{
	unsigned int number = neps / nsenders, which;
	struct t_end ends[EPS];
	DAT_CONN_QUAL qual;
	struct t_buf buf;
	DAT_EP_ATTR attr;
	struct t_ia ia;

	t_ia_open(&ia);
	attr = deep(&ia);
	qual = t_peer_hear(self);
	which = (unsigned int)t_peer_hear(self);
	t_buf_new(&buf, ia.ia, ia.pz, MESSAGES * MESSAGE_SIZE, DAT_MEM_PRIV_ALL_FLAG);
	fill(&buf, which);
	for (unsigned int i = 0; i < number; i++) {
		t_end_new(&ends[i], &ia, &attr);
		t_ok(t_connect_data(ends[i].ep, &ia, qual, DAT_TIMEOUT_INFINITE, &which,
				    sizeof(which)));
		t_wait_conn(ends[i].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, ends[i].ep);
	}
	t_peer_tell(self, 1);
	t_peer_hear(self);
	for (unsigned int i = 0; i < number; i++)
		for (unsigned int m = 0; m < MESSAGES; m++) {
			DAT_LMR_TRIPLET segment = t_seg(&buf, m * MESSAGE_SIZE, MESSAGE_SIZE);

			t_ok(dat_ep_post_send(ends[i].ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = m},
					      DAT_COMPLETION_DEFAULT_FLAG));
		}
	t_peer_tell(self, 2);
	t_peer_hear(self);
	for (unsigned int i = 0; i < number; i++)
		for (unsigned int m = 0; m < MESSAGES; m++)
			t_wait_dto(ends[i].request_evd, ends[i].ep, m, DAT_DTO_SUCCESS,
				   MESSAGE_SIZE);
	t_peer_tell(self, 3);
	t_peer_hear(self);
	t_ia_close(&ia);
}

/* An independent connection. */
static void friend_role(struct t_peer *self)
{
	struct t_end end;
	struct t_ia ia;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_ok(t_recv(&end, 0, 64, 0, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(self), DAT_TIMEOUT_INFINITE, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	for (;;) {
		DAT_EVENT event;
		DAT_COUNT more;

		t_ok(dat_evd_wait(end.recv_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			break;
		t_ok(t_recv(&end, 0, 64, 0, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&end, 64, 64, 0, DAT_COMPLETION_SUPPRESS_FLAG));
	}
	t_ia_close(&ia);
}

/* --- memory --- */

static size_t memory_of_all(void)
{
	size_t sum = fault_memory_of(getpid());

	for (unsigned int i = 0; i < nsenders; i++)
		sum += fault_memory_of(senders[i].pid);
	return sum;
}

/* --- the receiver --- */

static struct receiver {
	struct t_ia ia;
	struct t_listener listener;
	struct t_end ends[EPS], to_friend;
	unsigned int which[EPS]; /* the sender at the other end */
	struct t_buf buf;
} all;

static unsigned int accept_one(struct t_end *end, const DAT_EP_ATTR *attr)
{
	DAT_CR_HANDLE cr = t_next_cr(&all.listener);
	unsigned int which = 0;
	DAT_CR_PARAM param;

	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	if (param.private_data_size >= (DAT_COUNT)sizeof(which))
		memcpy(&which, param.private_data, sizeof(which));
	t_end_new(end, &all.ia, attr);
	t_ok(t_cr_accept(cr, end->ep));
	t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end->ep);
	return which;
}

static void ping_pong(unsigned int number)
{
	const struct t_end *end = &all.to_friend;

	for (unsigned int i = 0; i < number; i++) {
		t_ok(t_recv(end, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(end, 64, 64, i, DAT_COMPLETION_SUPPRESS_FLAG));
		t_wait_dto(end->recv_evd, end->ep, i, DAT_DTO_SUCCESS, 64);
	}
}

static void tell_senders(void)
{
	for (unsigned int i = 0; i < nsenders; i++)
		t_peer_tell(&senders[i], 1);
}

static void hear_senders(void)
{
	for (unsigned int i = 0; i < nsenders; i++)
		t_peer_hear(&senders[i]);
}

static void start(void)
{
	DAT_EP_ATTR attr;

	count_eps();
	for (unsigned int i = 0; i < nsenders; i++)
		t_peer_start(&senders[i], sender_role);
	t_peer_start(&friend, friend_role);
	fault_use_linked_provider();
	t_ia_open(&all.ia);
	attr = deep(&all.ia);
	t_listen(&all.listener, &all.ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(&friend, all.listener.qual);
	accept_one(&all.to_friend, NULL);
	for (unsigned int i = 0; i < nsenders; i++) {
		t_peer_tell(&senders[i], all.listener.qual);
		t_peer_tell(&senders[i], i);
		for (unsigned int n = 0; n < neps / nsenders; n++) {
			unsigned int at = i * (neps / nsenders) + n;

			all.which[at] = accept_one(&all.ends[at], &attr);
		}
	}
	hear_senders();
	t_buf_new(&all.buf, all.ia.ia, all.ia.pz, MESSAGES * MESSAGE_SIZE, DAT_MEM_PRIV_ALL_FLAG);
	memset(all.buf.mem, 1, all.buf.size);
}

/*
 * Sends until all buffers have been used once: rxm cycles through buffers that it allocated at the
 * start, which takes 50,000 messages. The short form stops before: what it sends later uses only a
 * few new buffers, much less than ALLOWED.
 */
static void warm_up(void)
{
	unsigned int rounds = 0;
	size_t was, now = memory_of_all();

	do {
		was = now;
		ping_pong(fault_amount(1, 500) * PING_PONGS);
		now = memory_of_all();
	} while (now > was && ++rounds < fault_amount(5, 1000000));
}

/* Measures the growth of memory after all posts, and again after more traffic. */
static void let_them_send(size_t *first_p, size_t *then_p)
{
	size_t before;

	warm_up();
	before = memory_of_all();
	tell_senders();
	hear_senders();
	ping_pong(PING_PONGS);
	*first_p = memory_of_all() - before;
	ping_pong(fault_amount(3, 500) * PING_PONGS);
	*then_p = memory_of_all() - before;
	printf("# %s: %u EPs of %u processes send %zu KiB to nobody: memory grows by %zd KiB, then "
	       "%zd KiB\n",
	       t_ia_name(), neps, nsenders, ALL_MESSAGES / 1024, (ssize_t)*first_p / 1024,
	       (ssize_t)*then_p / 1024);
}

static void receive_all_of(const struct t_end *end, unsigned int which)
{
	for (unsigned int m = 0; m < MESSAGES; m++) {
		DAT_LMR_TRIPLET segment = t_seg(&all.buf, m * MESSAGE_SIZE, MESSAGE_SIZE);

		t_ok(dat_ep_post_recv(end->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = m},
				      DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (unsigned int m = 0; m < MESSAGES; m++) {
		t_wait_dto(end->recv_evd, end->ep, m, DAT_DTO_SUCCESS, MESSAGE_SIZE);
		ck_assert(
			t_is_filled(all.buf.mem + m * MESSAGE_SIZE, MESSAGE_SIZE, which * 100 + m));
	}
}

static void finish(void)
{
	tell_senders();
	t_ok(dat_ep_disconnect(all.to_friend.ep, DAT_CLOSE_ABRUPT_FLAG));
	for (unsigned int i = 0; i < nsenders; i++)
		t_peer_join(&senders[i]);
	t_peer_join(&friend);
	t_ia_close(&all.ia);
}

START_TEST(memory_does_not_grow_for_a_peer_that_does_not_receive)
{
	size_t first, then;

	start();
	let_them_send(&first, &then);
	ck_assert_msg((ssize_t)first < (ssize_t)ALLOWED && (ssize_t)then < (ssize_t)ALLOWED,
		      "memory has grown by %zd, then by %zd bytes", (ssize_t)first, (ssize_t)then);
	tell_senders();
	for (unsigned int i = 0; i < neps; i++)
		receive_all_of(&all.ends[i], all.which[i]);
	hear_senders();
	ping_pong(PING_PONGS);
	finish();
}
END_TEST

/* Other fabrics have a limit of their own, or stop all peers. */
static bool fabric_keeps_everything(void)
{
	const char *params = getenv("T_PARAMS");

	return params && strstr(params, "ofi_rxm");
}

START_TEST(test_detects_a_provider_without_this_protection)
{
	size_t first, then;

	if (!fabric_keeps_everything())
		t_skip("this fabric does not keep all that comes");
	careless = true;
	start();
	let_them_send(&first, &then);
	ck_assert_int_gt((ssize_t)then, (ssize_t)ALLOWED);
	for (unsigned int i = 0; i < nsenders; i++)
		t_peer_kill(&senders[i]);
	t_peer_kill(&friend);
	t_ia_close(&all.ia);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("flood");
	TCase *tcase = tcase_create("flood");

	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, fault_amount(240, 3000));
	tcase_add_test(tcase, memory_does_not_grow_for_a_peer_that_does_not_receive);
	tcase_add_test(tcase, test_detects_a_provider_without_this_protection);
	return t_run(suite);
}
