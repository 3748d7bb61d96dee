/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer cannot use a context that has ended: not through DAT, whether its cache has the context or
 * not, or an operation is under way, and not by giving the old key to the fabric directly.
 */

#include "object/ia.h"
#include "inside.h"
#include "object/mem.h"

#include "../fabric/fault.h"
#include "cm/channel.h"
#include "cm/conn.h"
#include "object/ctxtab.h"
#include "object/ep.h"

#include <rdma/fi_rma.h>

#define SIZE       32768u
#define TARGET     1u /* seed of the target's memory */
#define OWN        2u /* seed of the initiator's memory */
#define ROUNDTRIPS 30
#define STREAM     16u  /* requests under way */
#define BEFORE     100u /* completed requests until the target ends the context */

enum end { LMR_FREE, RMR_FREE, REBIND, UNBIND, ENDS };
enum kind { READ, WRITE, KINDS };

static const char *const end_names[] = {"dat_lmr_free", "dat_rmr_free", "a bind elsewhere",
					"a bind to nothing"};

/* Both processes see the memory; only the target registers it. */
static unsigned char *memory;
static enum end end_of_context;
/*
 * The target frees an LMR as over InfiniBand, without a word to others than subscribers. All
 * operations have arrived by then.
 */
static bool tells_subscribers;

/* --- the target --- */

static struct target {
	struct t_ia ia;
	struct t_listener listener;
	struct t_end end;
	struct t_buf buf;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;
} target;

static void register_memory(void)
{
	DAT_MEM_PRIV_FLAGS rights = DAT_MEM_PRIV_ALL_FLAG;
	DAT_REGION_DESCRIPTION region = {.for_va = memory};

	target.buf.mem = memory;
	target.buf.size = SIZE;
	t_ok(t_lmr_create(target.ia.ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, target.ia.pz, rights,
			  &target.buf.lmr, &target.buf.lmr_context, &target.buf.rmr_context, NULL,
			  NULL));
	target.context = target.buf.rmr_context;
}

static void bind_part(size_t offset, size_t length, uint64_t cookie)
{
	t_ok(t_rmr_bind(target.rmr, &target.buf, t_seg(&target.buf, offset, length),
			DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			target.end.ep, cookie, DAT_COMPLETION_DEFAULT_FLAG, &target.context));
	t_wait_bind(target.end.request_evd, target.rmr, cookie, DAT_DTO_SUCCESS);
}

static void make_context(void)
{
	register_memory();
	if (end_of_context == LMR_FREE)
		return;
	t_ok(dat_rmr_create(target.ia.pz, &target.rmr));
	bind_part(0, SIZE, 1);
}

static void end_context(void)
{
	switch (end_of_context) {
	case LMR_FREE:
		t_ok(dat_lmr_free(target.buf.lmr));
		break;
	case RMR_FREE:
		t_ok(dat_rmr_free(target.rmr));
		break;
	case REBIND: /* the new window has only the second half */
		bind_part(SIZE / 2, SIZE / 2, 2);
		break;
	default:
		bind_part(0, 0, 2);
	}
}

static void target_role(struct t_peer *self)
{
	t_ia_open(&target.ia);
	if (tells_subscribers)
		((struct dofi_pz *)target.ia.pz)->obj.ia->ends_keys = true;
	t_end_new(&target.end, &target.ia, NULL);
	t_listen(&target.listener, &target.ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, target.listener.qual);
	t_ok(t_cr_accept(t_next_cr(&target.listener), target.end.ep));
	t_wait_conn(target.end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, target.end.ep);
	make_context();
	t_peer_tell(self, target.context);
	t_peer_tell(self, target.end.buf.rmr_context);
	t_peer_tell(self, (uintptr_t)target.end.buf.mem);
	t_peer_hear(self);
	end_context();
	t_fill(memory, SIZE, TARGET); /* no peer may change it from now on */
	t_peer_tell(self, 1);
	t_peer_hear(self);
	t_ia_close(&target.ia);
}

/* --- the initiator --- */

static struct t_peer peer;
static struct t_ia ia;
static struct t_end end;
static DAT_RMR_TRIPLET there, elsewhere; /* the context that ends, one that remains */

static void meet(enum end how)
{
	DAT_RMR_CONTEXT context;

	end_of_context = how;
	memory = fault_share(SIZE);
	t_fill(memory, SIZE, TARGET);
	t_peer_start(&peer, target_role);
	fault_use_linked_provider();
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(&peer), T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	context = (DAT_RMR_CONTEXT)t_peer_hear(&peer);
	there = t_remote(context, (uintptr_t)memory, SIZE / 4);
	context = (DAT_RMR_CONTEXT)t_peer_hear(&peer);
	elsewhere = t_remote(context, (uintptr_t)t_peer_hear(&peer), SIZE / 4);
	t_fill(end.buf.mem, SIZE, OWN);
}

static void end_it(void)
{
	t_peer_tell(&peer, 1);
	t_peer_hear(&peer);
}

static void part(void)
{
	t_peer_tell(&peer, 1);
	t_peer_join(&peer);
	t_ia_close(&ia);
}

static DAT_RETURN post(enum kind kind, size_t at, uint64_t cookie, DAT_RMR_TRIPLET remote)
{
	return kind == READ
		       ? t_read(&end, at, SIZE / 4, cookie, remote, DAT_COMPLETION_DEFAULT_FLAG)
		       : t_write(&end, at, SIZE / 4, cookie, remote, DAT_COMPLETION_DEFAULT_FLAG);
}

/* Reads and writes by the context while it is valid. */
static void use_it(void)
{
	t_fill(memory, SIZE, TARGET + OWN);
	t_fill(end.buf.mem, SIZE, TARGET);
	t_ok(post(WRITE, 0, 1, there));
	t_wait_dto(end.request_evd, end.ep, 1, DAT_DTO_SUCCESS, SIZE / 4);
	t_ok(post(READ, SIZE, 2, there)); /* a completed write may not have arrived yet */
	t_wait_dto(end.request_evd, end.ep, 2, DAT_DTO_SUCCESS, SIZE / 4);
	ck_assert(t_is_filled(end.buf.mem + SIZE, SIZE / 4, TARGET));
	ck_assert(t_is_filled(memory, SIZE / 4, TARGET));
	t_fill(memory, SIZE, TARGET);
	t_fill(end.buf.mem, SIZE, OWN);
}

static bool is_kept(void)
{
	struct dofi_ep *ep = (struct dofi_ep *)end.ep;
	bool kept;

	dofi_lock(&ep->lock);
	kept = ep->rcache[there.rmr_context % DOFI_RCACHE_SIZE].context == there.rmr_context;
	dofi_unlock(&ep->lock);
	return kept;
}

/* Uses it so often that the cache keeps the entry. */
static void keep_it(void)
{
	t_until((use_it(), is_kept()));
}

static void expect_untouched(void)
{
	ck_assert_msg(t_is_filled(memory, SIZE, TARGET), "the target's memory has changed after %s",
		      end_names[end_of_context]);
	ck_assert_msg(t_is_filled(end.buf.mem, SIZE, OWN), "something was read after %s",
		      end_names[end_of_context]);
}

static void refused(enum end how, enum kind kind, bool cached)
{
	meet(how);
	if (cached)
		use_it();
	end_it();
	t_ok(post(kind, 0, 3, there));
	t_wait_dto(end.request_evd, end.ep, 3, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_BROKEN, end.ep);
	expect_untouched();
	part();
}

/* Each way to end a context comes in the first round, each combination in the four rounds. */
START_TEST(dat_refuses_the_ended_context)
{
	int round = _i / ENDS;

	refused((enum end)(_i % ENDS), (enum kind)((_i + round) % KINDS), (_i + round) / 2 % 2);
}
END_TEST

/* The peer was not asked to forget it, and looks again. */
START_TEST(dat_refuses_the_context_that_ended_unannounced)
{
	tells_subscribers = true;
	refused(LMR_FREE, (enum kind)(_i % KINDS), _i / KINDS);
}
END_TEST

/* --- during a stream --- */

/*
 * The target waits until no operation with the context is under way (efa). On other fabrics a write
 * that the fabric has accepted may arrive later, and tcp breaks the connection for a write with the
 * key of a freed LMR.
 */
static bool is_awaited(void)
{
	const char *params = getenv("T_PARAMS");

	return params && !strncmp(params, "provider=efa", strlen("provider=efa"));
}

static DAT_RETURN post_half(enum kind kind, uint64_t cookie)
{
	DAT_RMR_TRIPLET half = there;

	half.segment_length = SIZE / 2;
	return kind == READ ? t_read(&end, 0, SIZE / 2, cookie, half, DAT_COMPLETION_DEFAULT_FLAG)
			    : t_write(&end, 0, SIZE / 2, cookie, half, DAT_COMPLETION_DEFAULT_FLAG);
}

/*
 * Posts requests in turn, until the target ends the context. Returns the first one that fails.
 */
static uint64_t stream_until_failure(enum kind kind, uint64_t *posted)
{
	uint64_t limit = t_now_us() + 2 * (uint64_t)T_LIMIT_US, done = 0;

	for (*posted = 0;; done++) {
		const DAT_DTO_COMPLETION_EVENT_DATA *dto;
		DAT_EVENT event;

		ck_assert_msg(t_now_us() < limit, "nothing is refused");
		for (; *posted < done + STREAM; ++*posted)
			t_ok(post_half(kind, *posted));
		event = t_wait_for(end.request_evd, DAT_DTO_COMPLETION_EVENT);
		dto = &event.event_data.dto_completion_event_data;
		ck_assert_uint_eq(dto->user_cookie.as_64, done);
		if (dto->status != DAT_DTO_SUCCESS) {
			if (is_awaited())
				ck_assert_str_eq(t_status_name(dto->status),
						 t_status_name(DAT_DTO_ERR_REMOTE_ACCESS));
			return done;
		}
		if (done == BEFORE)
			t_peer_tell(&peer, 1);
	}
}

/*
 * A request posted before the end arrives before it, or is refused as the later ones. The target
 * continues.
 */
START_TEST(context_ends_during_a_stream)
{
	enum kind kind = (enum kind)(_i / ENDS % KINDS);
	uint64_t first, posted;

	meet((enum end)(_i % ENDS));
	first = stream_until_failure(kind, &posted);
	while (++first < posted)
		t_wait_dto(end.request_evd, end.ep, first, DAT_DTO_ERR_FLUSHED, 0);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_BROKEN, end.ep);
	t_peer_hear(&peer);
	if (is_awaited())
		ck_assert_msg(t_is_filled(memory, SIZE, TARGET),
			      "the target's memory has changed after %s", end_names[_i % ENDS]);
	part();
}
END_TEST

/* --- without DAT --- */

struct key {
	uint64_t key, address;
};

static struct key old_key(void)
{
	struct dofi_ep *ep = (struct dofi_ep *)end.ep;
	const struct dofi_ctx *ctx = &ep->rcache[there.rmr_context % DOFI_RCACHE_SIZE];
	struct key key;

	dofi_lock(&ep->lock);
	ck_assert_uint_eq(ctx->context, there.rmr_context);
	key = (struct key){ctx->key, ctx->address};
	dofi_unlock(&ep->lock);
	return key;
}

/* The completion names no work request, so the provider ignores it. */
static void attack(enum kind kind, struct key key)
{
	struct dofi_ep *ep = (struct dofi_ep *)end.ep;
	void *desc = dofi_ctxtab_lmr(&ep->obj.ia->ctxtab, end.buf.lmr_context)->desc;
	uint64_t limit = t_now_us() + T_LIMIT_US;
	ssize_t ret;

	do {
		dofi_lock(&ep->lock);
		ret = kind == READ ? fi_read(ep->fep, end.buf.mem, SIZE / 4, desc, ep->dest,
					     key.address, key.key, NULL)
				   : fi_write(ep->fep, end.buf.mem, SIZE / 4, desc, ep->dest,
					      key.address, key.key, NULL);
		dofi_unlock(&ep->lock);
		ck_assert_uint_lt(t_now_us(), limit);
	} while (ret == -FI_EAGAIN);
	ck_assert_int_eq(ret, 0);
}

/*
 * Waits until the operation has had its effect or the fabric has ended the connection. tcp below
 * rxm and net does not report the end to the attacker, so the wait has a limit.
 */
static void await_effect(void)
{
	for (uint64_t i = 0; i < ROUNDTRIPS; i++) {
		DAT_COUNT more;
		DAT_EVENT event;

		if (post(READ, SIZE, 10 + i, elsewhere) != DAT_SUCCESS ||
		    dat_evd_wait(end.request_evd, 5 * T_QUIET_US, 1, &event, &more) !=
			    DAT_SUCCESS ||
		    event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			return;
	}
}

static bool was_touched(void)
{
	return !t_is_filled(memory, SIZE, TARGET) || !t_is_filled(end.buf.mem, SIZE, OWN);
}

/* The attacks use the endpoint of the connection. */
static void needs_endpoint(void)
{
	const struct dofi_ep *ep = (struct dofi_ep *)end.ep;

	if (ep->trans == ep->obj.ia->trans)
		return;
	end_it();
	part();
	t_skip("the connection does not use the fabric");
}

/* An RMR is a window of the LMR's registration. The key is valid as long as the registration. */
START_TEST(the_fabric_refuses_the_old_key)
{
	struct key key;

	meet(LMR_FREE);
	keep_it();
	needs_endpoint();
	key = old_key();
	end_it();
	attack((enum kind)_i, key);
	await_effect();
	/* shm copies between processes without checking the key */
	if (fault_fabric_is_shm())
		printf("# %s: the fabric %s the old key\n", t_ia_name(),
		       was_touched() ? "takes" : "refuses");
	else
		expect_untouched();
	part();
}
END_TEST

/* Whether the target asked this process to forget a context. Its call waits for the answer. */
static bool was_asked(void)
{
	const struct dofi_ep *ep = (struct dofi_ep *)end.ep;
	struct dofi_engine *e = &ep->obj.ia->engine;
	bool asked;

	dofi_lock(&e->lock);
	asked = ep->conn->chan->answer_number;
	dofi_unlock(&e->lock);
	return asked;
}

/* Memory that is registered for one message is freed without a word to the peers. */
START_TEST(only_a_subscriber_is_asked)
{
	tells_subscribers = true;
	meet(LMR_FREE);
	if (_i)
		keep_it();
	else
		use_it();
	needs_endpoint();
	end_it();
	ck_assert_int_eq(was_asked(), _i);
	part();
}
END_TEST

/* The same with a valid key succeeds, so the test above depends on the key only. */
START_TEST(the_fabric_takes_a_good_key)
{
	meet(LMR_FREE);
	keep_it();
	needs_endpoint();
	attack((enum kind)_i, old_key());
	t_until(was_touched());
	end_it();
	part();
}
END_TEST

/* --- refused by the target's card --- */

/* The switches of the test provider, if it reports refusals as a card does, or NULL. */
static struct sham_faults *find_switches(void)
{
	struct dofi_ia *of = ((struct dofi_ep *)end.ep)->obj.ia;
	void *ops;

	if (of->info->ep_attr->protocol != FI_PROTO_CXI ||
	    fi_open_ops(&of->domain->fid, SHAM_FAULTS, 0, &ops, NULL))
		return NULL;
	return ops;
}

/*
 * CXI has one error for all failures at the target. DAT distinguishes refused accesses. A refusal
 * breaks this connection only.
 */
START_TEST(refusal_by_the_card_is_a_remote_access_error)
{
	struct sham_faults *switches;

	meet(LMR_FREE);
	keep_it(); /* so that the card refuses no read of the table */
	switches = find_switches();
	if (switches) {
		switches->refuse = 100;
		t_ok(post((enum kind)_i, 0, 3, there));
		t_wait_dto(end.request_evd, end.ep, 3, DAT_DTO_ERR_REMOTE_ACCESS, 0);
		t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_BROKEN, end.ep);
		expect_untouched();
	} else {
		printf("# %s plays no card that tells of refusals\n", t_ia_name());
	}
	end_it();
	part();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("invalidate");
	TCase *tcase = tcase_create("invalidate");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, dat_refuses_the_ended_context, 0,
			    (int)fault_amount(ENDS, ENDS * KINDS * 2));
	tcase_add_loop_test(tcase, dat_refuses_the_context_that_ended_unannounced, 0, KINDS * 2);
	tcase_add_loop_test(tcase, context_ends_during_a_stream, 0,
			    (int)fault_amount(ENDS * KINDS, 100));
	tcase_add_loop_test(tcase, only_a_subscriber_is_asked, 0, 2);
	tcase_add_loop_test(tcase, the_fabric_refuses_the_old_key, 0, KINDS);
	tcase_add_loop_test(tcase, the_fabric_takes_a_good_key, 0, KINDS);
	tcase_add_loop_test(tcase, refusal_by_the_card_is_a_remote_access_error, 0, KINDS);
	return t_run(suite);
}
