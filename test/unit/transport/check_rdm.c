/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receives for credit updates: without them no peer can send, so each is posted again, however
 * it completes.
 */
#include "unit.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/op.h"
#include "../../../prov/ofi/object/mr.h"
#include "../../../prov/ofi/transport/control_receives.h"
#include "../../../prov/ofi/transport/rdm.h"
#include "../../../prov/ofi/transport/rdm_post.h"
#include "../../../prov/ofi/transport/rdm_tag.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <string.h>
#include <unistd.h>

static struct dofi_ia ia;
static struct fi_domain_attr domain_attr;
static struct fi_ep_attr ep_attr;
static char provider[] = "none";
static struct fi_fabric_attr fabric_attr = {.prov_name = provider};
static struct fi_rx_attr rx_attr = {.size = 64};
static struct fi_info info = {.domain_attr = &domain_attr,
			      .ep_attr = &ep_attr,
			      .fabric_attr = &fabric_attr,
			      .rx_attr = &rx_attr};
static struct fid_cq cq;

/* --- the fabric --- */

#define MOST 8

static struct {
	struct dofi_wr *posted[MOST];
	void *buffers[MOST]; /* of these receives */
	int nposted;
	const void *desc;
	ssize_t answer;
	int left; /* so many receives are taken, whatever the answer */
	int av_answer, endpoint_answer, enable_answer, name_answer;
	int bind_answer, nbinds; /* the last of so many bindings fails */
} fabric;

static ssize_t receive(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src,
		       uint64_t tag, uint64_t ignore, void *context)
{
	(void)ep, (void)src, (void)tag;
	ck_assert_ptr_nonnull(buf);
	ck_assert_ptr_eq(desc, fabric.desc);
	ck_assert_uint_gt(len, 0);
	ck_assert_uint_eq(ignore, 0);
	if (fabric.answer && !(fabric.left && fabric.left--))
		return fabric.answer;
	ck_assert_int_lt(fabric.nposted, MOST);
	fabric.buffers[fabric.nposted] = buf;
	fabric.posted[fabric.nposted++] = context;
	return 0;
}

static struct fid_mr region = {.mem_desc = &region};
static struct {
	int answer, opened, closed;
	const void *buf;
	size_t length;
} registration;

int __wrap_dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS rights,
			    struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);
int __wrap_dofi_mr_close(struct dofi_ia *of, struct fid_mr *mr);

int __wrap_dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS rights,
			    struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_int_eq(rights, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	registration.buf = buf;
	registration.length = length;
	if (registration.answer)
		return registration.answer;
	registration.opened++;
	*mr_p = &region;
	*key_p = *address_p = 0;
	return 0;
}

int __wrap_dofi_mr_close(struct dofi_ia *of, struct fid_mr *mr)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(mr, &region);
	registration.closed++;
	return 0;
}

static int nothing(struct fid *fid)
{
	(void)fid;
	return 0;
}

static int bind_it(struct fid *fid, struct fid *other, uint64_t flags)
{
	(void)fid, (void)other, (void)flags;
	return fabric.nbinds && !--fabric.nbinds ? fabric.bind_answer : 0;
}

static int control(struct fid *fid, int command, void *arg)
{
	(void)fid, (void)command, (void)arg;
	return fabric.enable_answer;
}

static int name_of(fid_t fid, void *addr, size_t *size_p)
{
	(void)fid;
	memset(addr, 1, 4);
	*size_p = 4;
	return fabric.name_answer;
}

static struct fi_ops fid_ops = {.size = sizeof(fid_ops),
				.close = nothing,
				.bind = bind_it,
				.control = control};
static struct fi_ops_cm cm_ops = {.size = sizeof(cm_ops), .getname = name_of};
static struct fi_ops_tagged tagged_ops = {.size = sizeof(tagged_ops), .recv = receive};
static struct fid_ep endpoint = {.fid.ops = &fid_ops, .cm = &cm_ops, .tagged = &tagged_ops};
static struct fid_av av = {.fid.ops = &fid_ops};

static int open_endpoint(struct fid_domain *domain, struct fi_info *of, struct fid_ep **ep_p,
			 void *context)
{
	(void)domain, (void)of;
	if (fabric.endpoint_answer)
		return fabric.endpoint_answer;
	/*
	 * The failure of an injected message may have this context. The library treats a context
	 * other than NULL as a request.
	 */
	ck_assert_ptr_null(context);
	*ep_p = &endpoint;
	return 0;
}

static int open_av(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av_p,
		   void *context)
{
	(void)domain, (void)attr, (void)context;
	*av_p = &av;
	return fabric.av_answer;
}

static int no_eq(struct fid_fabric *of, struct fi_eq_attr *attr, struct fid_eq **eq_p,
		 void *context)
{
	(void)of, (void)attr, (void)eq_p, (void)context;
	return -FI_ENOSYS;
}

static struct fi_ops_fabric fabric_ops = {.size = sizeof(fabric_ops), .eq_open = no_eq};
static struct fid_fabric the_fabric = {.ops = &fabric_ops};
static struct fi_ops_domain domain_ops = {.size = sizeof(domain_ops),
					  .endpoint = open_endpoint,
					  .av_open = open_av};
static struct fid_domain domain = {.ops = &domain_ops};

/* --- */

static int credits;

static int open_it(void)
{
	char name[DOFI_FABRIC_NAME_MAX];
	size_t size = sizeof(name);

	return ia.trans->open(&ia, name, &size);
}

static void set_up_ia(void)
{
	ia.info = &info;
	ia.fabric = &the_fabric;
	ia.domain = &domain;
	ia.cq = &cq;
	ia.trans = &dofi_trans_rdm;
	dofi_lock_init(&ia.engine.lock);
	dofi_list_init(&ia.orphans);
	dofi_list_init(&ia.drains);
}

static void setup(void)
{
	set_up_ia();
	dofi_lock(&ia.engine.lock);
	ck_assert_int_eq(open_it(), 0);
	credits = fabric.nposted;
	ck_assert_int_gt(credits, 0);
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
	ia.trans->close(&ia);
}

static struct dofi_wr *take(void)
{
	ck_assert_int_gt(fabric.nposted, 0);
	return fabric.posted[--fabric.nposted];
}

static void fail_one(struct dofi_wr *wr)
{
	struct fi_cq_err_entry err = {.op_context = wr, .err = FI_EIO};

	ia.trans->failed(&ia, &err);
}

/* The fabric returns a receive whose stream ended in the middle of a message. */
START_TEST(a_failed_control_receive_is_posted_again)
{
	struct dofi_wr *wr = take();

	fail_one(wr);
	ck_assert_int_eq(fabric.nposted, credits);
	ck_assert_ptr_eq(fabric.posted[credits - 1], wr);
	ck_assert_uint_eq(ia.engine.restless, 0);
}
END_TEST

START_TEST(all_control_receives_fail_at_once)
{
	struct dofi_wr *wrs[MOST];

	for (int i = 0; i < credits; i++)
		wrs[i] = take();
	for (int i = 0; i < credits; i++)
		fail_one(wrs[i]);
	ck_assert_int_eq(fabric.nposted, credits);
}
END_TEST

/* The receive waits for room, and the driver does not sleep meanwhile. */
START_TEST(a_failed_control_receive_waits_for_room)
{
	fabric.answer = -FI_EAGAIN;
	fail_one(take());
	ia.trans->poll_events(&ia);
	ck_assert_int_eq(fabric.nposted, credits - 1);
	ck_assert_uint_eq(ia.engine.restless, 1);
	fabric.answer = 0;
	ia.trans->poll_events(&ia);
	ck_assert_int_eq(fabric.nposted, credits);
	ck_assert_uint_eq(ia.engine.restless, 0);
}
END_TEST

/* The last of several receives that wait: only then the driver may sleep. */
START_TEST(several_control_receives_wait_for_room)
{
	fabric.answer = -FI_EAGAIN;
	fail_one(take());
	fail_one(take());
	ck_assert_uint_eq(ia.engine.restless, 1);
	fabric.answer = 0;
	ia.trans->poll_events(&ia);
	ck_assert_int_eq(fabric.nposted, credits);
	ck_assert_uint_eq(ia.engine.restless, 0);
}
END_TEST

START_TEST(a_control_receive_that_is_refused_is_reported)
{
	int fd = t_capture(STDERR_FILENO);

	fabric.answer = -FI_EIO;
	fail_one(take());
	ck_assert_int_eq(fabric.nposted, credits - 1);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "peers may stop sending"));
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	fabric.answer = -FI_EAGAIN; /* no failure: it waits for room */
	ia.trans->poll_events(&ia);
	fabric.answer = 0;
	ia.trans->poll_events(&ia);
	ck_assert_int_eq(fabric.nposted, credits);
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

static void complete_one(struct dofi_wr *wr, size_t length)
{
	const struct fi_cq_tagged_entry entry = {.op_context = wr,
						 .flags = FI_RECV | FI_TAGGED,
						 .len = length,
						 .tag = DOFI_TAG_CTRL};

	ia.trans->completed(&ia, &entry, 1);
}

/* A peer may send what it likes. */
START_TEST(a_record_that_is_too_short_is_ignored)
{
	complete_one(take(), 4);
	ck_assert_int_eq(fabric.nposted, credits);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_DATA_STRAY]), 1);
}
END_TEST

/* Each completion shows that there is room. */
START_TEST(a_completion_posts_the_receives_that_wait)
{
	fabric.answer = -FI_EAGAIN;
	fail_one(take());
	fabric.answer = 0;
	complete_one(take(), 4);
	ck_assert_int_eq(fabric.nposted, credits);
	ck_assert_uint_eq(ia.engine.restless, 0);
}
END_TEST

static union dofi_ctrl_buffer *buffer(unsigned int n)
{
	return &ia.rdm->ctrl_buffers[n];
}

/* While the library reads the message in one buffer, the fabric fills the other. */
START_TEST(a_control_receive_has_two_buffers_in_turn)
{
	struct dofi_wr *wr = fabric.posted[credits - 1];
	const unsigned int last = DOFI_CTRL_BUFFERS - 2;

	for (int i = 0; i < credits; i++)
		ck_assert_ptr_eq(fabric.buffers[i], buffer(2 * (unsigned int)i));
	for (unsigned int round = 0; round < 4; round++) {
		ck_assert_ptr_eq(fabric.buffers[credits - 1], buffer(last + round % 2));
		ck_assert_ptr_eq(dofi_ctrl_recv_buffer(ia.rdm, wr, false),
				 buffer(last + round % 2));
		ck_assert_ptr_eq(dofi_ctrl_recv_buffer(ia.rdm, wr, true),
				 buffer(last + !(round % 2)));
		ck_assert_ptr_eq(take(), wr);
		complete_one(wr, 4);
	}
	ck_assert_ptr_eq(take(), wr); /* nothing has come into it */
	fail_one(wr);
	ck_assert_ptr_eq(fabric.buffers[credits - 1], buffer(last));
}
END_TEST

/* The first time, it shows that the fabric takes no more than it reports. */
START_TEST(a_control_receive_that_finds_the_fabric_full)
{
	const uint32_t sure = ia.rdm->slots.sure;

	atomic_store(&ia.rdm->slots.most, UINT32_MAX);
	atomic_store(&ia.rdm->slots.taken, sure);
	fabric.answer = -FI_EIO;
	fail_one(take());
	ck_assert(!dofi_rx_slots_asked(&ia.rdm->slots));
	fabric.answer = -FI_ENOMEM; /* as shm of libfabric 1.17 says it */
	fail_one(take());
	ck_assert(dofi_rx_slots_asked(&ia.rdm->slots));
	ck_assert_uint_eq(atomic_load(&ia.rdm->slots.most), sure);
	ck_assert_uint_eq(ia.rdm->unposted, 2);
	atomic_store(&ia.rdm->slots.taken, 0);
	atomic_store(&ia.rdm->slots.asked, false);
	fabric.answer = 0;
	ia.trans->poll_events(&ia);
	ck_assert_uint_eq(ia.rdm->unposted, 0);
	ck_assert_int_eq(fabric.nposted, credits);
}
END_TEST

/* One is posted, and the others wait on. */
START_TEST(room_for_one_control_receive)
{
	struct dofi_wr *second = fabric.posted[2];

	fabric.answer = -FI_EAGAIN;
	fail_one(take());
	fail_one(take());
	fabric.left = 1;
	ia.trans->poll_events(&ia);
	ck_assert_ptr_eq(fabric.posted[fabric.nposted - 1], second);
	ck_assert_int_eq(fabric.nposted, credits - 1);
	ck_assert_uint_eq(ia.rdm->unposted, 1);
	ck_assert_uint_eq(ia.engine.restless, 1);
	fabric.left = 1;
	ia.trans->poll_events(&ia);
	ck_assert_uint_eq(ia.rdm->unposted, 0);
	ck_assert_uint_eq(ia.engine.restless, 0);
}
END_TEST

/* The error belongs to no operation of ours. */
START_TEST(an_error_of_no_operation)
{
	static struct dofi_wr stranger;
	struct fi_cq_err_entry errs[] = {
		{.err = FI_EIO},
		{.err = FI_ECONNABORTED,
		 .flags = FI_TAGGED | FI_RECV | FI_REMOTE_CQ_DATA,
		 .tag = UINT64_MAX,
		 .data = UINT64_MAX},
		{.err = FI_EIO, .flags = FI_RMA | FI_REMOTE_WRITE, .op_context = &stranger},
		{.err = FI_EACCES, .flags = FI_RMA | FI_REMOTE_READ, .op_context = &stranger},
	};
	struct dofi_wr untouched = stranger;

	for (size_t i = 0; i < sizeof(errs) / sizeof(errs[0]); i++)
		ia.trans->failed(&ia, &errs[i]);
	ck_assert_mem_eq(&stranger, &untouched, sizeof(stranger));
	ck_assert_int_eq(fabric.nposted, credits);
}
END_TEST

/* The endpoint is closed. */
START_TEST(receives_given_back_at_close_are_not_posted_again)
{
	struct fid_ep *ep = ia.shared_ep;

	ia.shared_ep = NULL;
	fail_one(take());
	ck_assert_int_eq(fabric.nposted, credits - 1);
	ia.shared_ep = ep;
}
END_TEST

/* As many receives of EPs as there are slots, and as many again when these have completed. */
START_TEST(a_completed_receive_gives_its_slot_back)
{
	static struct dofi_ep ep = {.obj.ia = &ia, .state = DAT_EP_STATE_CONNECTED};
	static struct dofi_wr wr = {.op = DOFI_OP_RECV, .ep = &ep, .state = DOFI_WR_ISSUED};
	struct fi_cq_tagged_entry entry = {.op_context = &wr,
					   .flags = FI_RECV | FI_TAGGED,
					   .tag = DOFI_TAG_EP};
	unsigned int slots = 0;

	dofi_lock_init(&ep.lock);
	/* Not in the ring any more, so no event is due. */
	ep.recv = (struct dofi_ring){.base = (char *)&wr, .stride = sizeof(wr)};
	while (dofi_rx_slots_acquire(&ia.rdm->slots))
		slots++;
	ck_assert_uint_gt(slots, 1);
	for (int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < slots; i++)
			ia.trans->completed(&ia, &entry, 1);
		for (unsigned int i = 0; i < slots; i++)
			ck_assert(dofi_rx_slots_acquire(&ia.rdm->slots));
		ck_assert(!dofi_rx_slots_acquire(&ia.rdm->slots));
	}
}
END_TEST

static const struct {
	ssize_t answer, returned;
} refusals[] = {
	{-FI_EAGAIN, -FI_EAGAIN},
	{-FI_ENOMEM, -FI_EAGAIN}, /* shm of libfabric 1.17 */
	{-FI_EIO, -FI_EIO},
};

/* As many receives as the fabric takes are posted. */
START_TEST(a_receive_without_a_slot)
{
	static struct dofi_wr wr = {.op = DOFI_OP_UD_RECV};

	while (dofi_rx_slots_acquire(&ia.rdm->slots))
		;
	ck_assert_int_eq(dofi_rdm_ud_recv(&ia, &wr, &wr, 1, NULL), -FI_EAGAIN);
	ck_assert_int_eq(fabric.nposted, credits);
	dofi_rx_slots_release(&ia.rdm->slots, 1);
	ck_assert_int_eq(dofi_rdm_ud_recv(&ia, &wr, &wr, 1, NULL), 0);
	ck_assert_int_eq(fabric.nposted, credits + 1);
	fabric.nposted--;
}
END_TEST

/* It keeps no slot, so that the next one is tried. */
START_TEST(a_receive_that_the_fabric_refuses)
{
	static struct dofi_ep ep = {.obj.ia = &ia};
	static struct dofi_wr wr = {.op = DOFI_OP_RECV, .ep = &ep};

	dofi_lock_init(&ep.lock);
	ep.recv = (struct dofi_ring){.base = (char *)&wr, .stride = sizeof(wr)};
	fabric.answer = refusals[_i].answer;
	dofi_lock(&ep.lock);
	ck_assert_int_eq(dofi_rdm_recv(&ep, &wr), refusals[_i].returned);
	dofi_unlock(&ep.lock);
	ck_assert_int_eq(dofi_rdm_ud_recv(&ia, &wr, &ep, 1, NULL), refusals[_i].returned);
	fabric.answer = 0;
	ck_assert_int_eq(fabric.nposted, credits);
}
END_TEST

/* --- */

/* The fabric has room for receives later. */
START_TEST(an_open_without_room_for_receives)
{
	fabric.answer = -FI_EAGAIN;
	ck_assert_int_eq(open_it(), 0);
	ck_assert_int_eq(fabric.nposted, 0);
	ck_assert_uint_eq(ia.engine.restless, 1);
	fabric.answer = 0;
	dofi_lock(&ia.engine.lock);
	ia.trans->poll_events(&ia);
	dofi_unlock(&ia.engine.lock);
	ck_assert_int_gt(fabric.nposted, 0);
	ck_assert_uint_eq(ia.engine.restless, 0);
}
END_TEST

/* Where the fabric needs it; the whole memory at once, with the last buffer. */
START_TEST(the_control_buffers_are_registered)
{
	domain_attr.mr_mode = FI_MR_LOCAL;
	fabric.desc = &region;
	ck_assert_int_eq(open_it(), 0);
	ck_assert_int_eq(registration.opened, 1);
	ck_assert_ptr_eq(registration.buf, ia.rdm->ctrl_buffers);
	ck_assert_uint_eq(registration.length,
			  (DOFI_CTRL_BUFFERS + 1) * sizeof(union dofi_ctrl_buffer));
	ck_assert_int_eq(fabric.nposted, DOFI_CTRL_RECVS);
	ia.trans->close(&ia);
	ck_assert_int_eq(registration.closed, 1);
}
END_TEST

START_TEST(control_buffers_that_cannot_be_registered)
{
	domain_attr.mr_mode = FI_MR_LOCAL;
	registration.answer = -FI_ENOMEM;
	ck_assert_int_eq(open_it(), -FI_ENOMEM);
	ck_assert_int_eq(fabric.nposted, 0);
	ck_assert_int_eq(registration.closed, 0);
	ck_assert_ptr_null(ia.rdm);
}
END_TEST

/* Some are posted, and the others later. */
START_TEST(an_open_with_room_for_some_receives)
{
	fabric.answer = -FI_EAGAIN;
	fabric.left = 2;
	ck_assert_int_eq(open_it(), 0);
	ck_assert_int_eq(fabric.nposted, 2);
	ck_assert_uint_eq(ia.rdm->unposted, DOFI_CTRL_RECVS - 2);
	ck_assert_uint_eq(ia.engine.restless, 1);
}
END_TEST

/* What it closes on the way out asks whether there is a transport. */
START_TEST(nothing_stays_of_an_open_that_fails)
{
	if (_i == 0)
		fabric.av_answer = -FI_ENOMEM;
	else if (_i == 1)
		fabric.endpoint_answer = -FI_ENOMEM;
	else if (_i == 2)
		fabric.answer = -FI_EINVAL;
	else if (_i == 3)
		fabric.enable_answer = -FI_EINVAL;
	else if (_i == 4)
		fabric.name_answer = -FI_EINVAL;
	else {
		fabric.bind_answer = -FI_EINVAL;
		fabric.nbinds = _i - 4;
	}
	ck_assert_int_lt(open_it(), 0);
	ck_assert_ptr_null(ia.rdm);
	ck_assert_ptr_null(ia.shared_ep);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trans_rdm");
	TCase *tc = tcase_create("grants");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_failed_control_receive_is_posted_again);
	tcase_add_test(tc, all_control_receives_fail_at_once);
	tcase_add_test(tc, a_failed_control_receive_waits_for_room);
	tcase_add_test(tc, several_control_receives_wait_for_room);
	tcase_add_test(tc, a_control_receive_that_is_refused_is_reported);
	tcase_add_test(tc, a_record_that_is_too_short_is_ignored);
	tcase_add_test(tc, a_completion_posts_the_receives_that_wait);
	tcase_add_test(tc, a_control_receive_has_two_buffers_in_turn);
	tcase_add_test(tc, a_control_receive_that_finds_the_fabric_full);
	tcase_add_test(tc, room_for_one_control_receive);
	tcase_add_test(tc, an_error_of_no_operation);
	tcase_add_test(tc, receives_given_back_at_close_are_not_posted_again);
	suite_add_tcase(suite, tc);
	tc = tcase_create("slots");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_completed_receive_gives_its_slot_back);
	tcase_add_loop_test(tc, a_receive_that_the_fabric_refuses, 0, 3);
	tcase_add_test(tc, a_receive_without_a_slot);
	suite_add_tcase(suite, tc);
	tc = tcase_create("open");
	tcase_add_checked_fixture(tc, set_up_ia, NULL);
	tcase_add_test(tc, an_open_without_room_for_receives);
	tcase_add_test(tc, an_open_with_room_for_some_receives);
	tcase_add_test(tc, the_control_buffers_are_registered);
	tcase_add_test(tc, control_buffers_that_cannot_be_registered);
	tcase_add_loop_test(tc, nothing_stays_of_an_open_that_fails, 0, 7);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
