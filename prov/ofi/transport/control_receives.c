/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/control_receives.h"

#include "base/log.h"
#include "dto/op_context.h"
#include "fabric/error.h"
#include "object/ia.h"
#include "object/mr.h"
#include "transport/rdm_tag.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

static unsigned int index_of(const struct dofi_rdm *rdm, const struct dofi_wr *wr)
{
	return (unsigned int)(DOFI_CONTAINER(wr, const struct dofi_own_wr, wr) - rdm->credits);
}

union dofi_ctrl_buffer *dofi_ctrl_recv_buffer(struct dofi_rdm *rdm, const struct dofi_wr *wr,
					      bool former)
{
	unsigned int i = index_of(rdm, wr);

	return &rdm->ctrl_buffers[2 * i + (rdm->second[i] != former)];
}

/*
 * A receive that the fabric does not take now is posted again by rdm_poll_events; the others
 * suffice meanwhile.
 */
static ssize_t post_ctrl_recv(struct dofi_ia *ia, struct dofi_wr *wr)
{
	struct dofi_rdm *rdm = ia->rdm;
	union dofi_ctrl_buffer *buffer = dofi_ctrl_recv_buffer(rdm, wr, false);
	void *desc = rdm->ctrl_mr ? fi_mr_desc(rdm->ctrl_mr) : NULL;
	ssize_t ret = dofi_error_no_room(fi_trecv(ia->shared_ep, buffer, sizeof(*buffer), desc,
						  FI_ADDR_UNSPEC, DOFI_TAG_CTRL, 0,
						  dofi_context_of(ia, wr)));

	wr->state = ret ? DOFI_WR_QUEUED : DOFI_WR_ISSUED;
	if (ret == -FI_EAGAIN)
		dofi_rx_slots_full(&rdm->slots);
	return ret;
}

/* False when the fabric takes no more for now. */
static bool post_again(struct dofi_ia *ia, struct dofi_wr *wr)
{
	ssize_t ret = post_ctrl_recv(ia, wr);

	if (ret && ret != -FI_EAGAIN)
		DOFI_LOG_E("%s: a receive for credits can't be posted again, peers may stop "
			   "sending: %s",
			   ia->name, fi_strerror((int)-ret));
	return !ret;
}

void dofi_ctrl_recvs_post_missing(struct dofi_ia *ia)
{
	struct dofi_rdm *rdm = ia->rdm;

	dofi_assert_held(&ia->engine.lock);
	for (int i = 0; i < DOFI_CTRL_RECVS; i++) {
		if (rdm->credits[i].wr.state != DOFI_WR_QUEUED)
			continue;
		if (!post_again(ia, &rdm->credits[i].wr))
			return;
		if (!--rdm->unposted)
			atomic_fetch_sub(&ia->engine.restless, 1);
	}
}

void dofi_ctrl_recv_post_again(struct dofi_ia *ia, struct dofi_wr *wr)
{
	dofi_assert_held(&ia->engine.lock);
	/* Nothing else shows when the fabric has room, so the driver tries at short intervals. */
	if (!post_again(ia, wr) && !ia->rdm->unposted++)
		atomic_fetch_add(&ia->engine.restless, 1);
}

static int register_ctrl(struct dofi_ia *ia)
{
	uint64_t key, address;

	if (!(ia->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return 0;
	return dofi_mr_register(ia, ia->rdm->ctrl_buffers, sizeof(ia->rdm->ctrl_buffers),
				DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &ia->rdm->ctrl_mr, &key, &address);
}

int dofi_ctrl_recvs_post(struct dofi_ia *ia)
{
	int err = register_ctrl(ia);

	if (err)
		return err;
	for (int i = 0; i < DOFI_CTRL_RECVS; i++) {
		struct dofi_wr *wr = &ia->rdm->credits[i].wr;
		ssize_t ret;

		wr->op = DOFI_OP_CTRL_RECV;
		ret = post_ctrl_recv(ia, wr);
		if (ret && ret != -FI_EAGAIN)
			return (int)ret;
		if (ret && !ia->rdm->unposted++)
			atomic_fetch_add(&ia->engine.restless, 1);
	}
	return 0;
}

void dofi_ctrl_recv_taken(struct dofi_ia *ia, struct dofi_wr *wr)
{
	struct dofi_rdm *rdm = ia->rdm;

	rdm->second[index_of(rdm, wr)] ^= true;
	dofi_ctrl_recv_post_again(ia, wr);
}
