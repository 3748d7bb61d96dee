/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "place.h"

#include <sys/mman.h>
#include <unistd.h>

DAT_EP_STATE place_dat_state(enum place_state state)
{
	static const DAT_EP_STATE states[PLACE_STATES] = {
		[UNC] = DAT_EP_STATE_UNCONNECTED,
		[RES] = DAT_EP_STATE_RESERVED,
		[PAS] = DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
		[TEN] = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
		[ACT] = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		[CMP] = DAT_EP_STATE_COMPLETION_PENDING,
		[CON] = DAT_EP_STATE_CONNECTED,
		[DPD] = DAT_EP_STATE_DISCONNECT_PENDING,
		[DIS] = DAT_EP_STATE_DISCONNECTED,
	};

	return states[state];
}

/* --- the other process --- */

static void far_part(struct t_ia *ia, struct t_end *end, enum peer_end how)
{
	switch (how) {
	case PEER_END_DISCONNECT:
		t_ok(dat_ep_disconnect(end->ep, DAT_CLOSE_ABRUPT_FLAG));
		break;
	case PEER_END_GRACEFUL:
		t_ok(dat_ep_disconnect(end->ep, DAT_CLOSE_GRACEFUL_FLAG));
		break;
	case PEER_END_FREE:
		t_ok(dat_ep_free(end->ep));
		break;
	case PEER_END_CLOSE:
		t_ia_close(ia);
		break;
	case PEER_END_EXIT:
		break;
	}
}

static void far_role(struct t_peer *self)
{
	struct t_listener listener;
	DAT_CONN_QUAL qual;
	enum peer_end how;
	struct t_end end;
	struct t_ia ia;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	qual = t_peer_hear(self);
	if (qual) {
		t_ok(t_connect_data(end.ep, &ia, qual, DAT_TIMEOUT_INFINITE, NULL, 0));
	} else {
		t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
		t_peer_tell(self, listener.qual);
		t_next_cr(&listener);
		t_peer_tell(self, 1);
	}
	how = (enum peer_end)t_peer_hear(self);
	far_part(&ia, &end, how);
	if (how == PEER_END_EXIT)
		return;
	t_peer_hear(self); /* waits until it is killed */
}

void place_end_peer(struct place *place, enum peer_end how)
{
	t_peer_tell(&place->proc, how);
	if (how != PEER_END_EXIT)
		return;
	t_peer_join(&place->proc);
	place->has_proc = false;
}

void place_kill_peer(struct place *place)
{
	t_peer_kill(&place->proc);
	place->has_proc = false;
}

/* --- steps that lead to the states --- */

/* The other end, in this or another process, asks for a connection to our service point `qual`. */
static void connect_to_us(struct place *place, DAT_CONN_QUAL qual)
{
	if (place->has_proc)
		t_peer_tell(&place->proc, qual);
	else
		t_ok(t_connect_data(place->peer.ep, &place->ia[0], qual, DAT_TIMEOUT_INFINITE, NULL,
				    0));
}

void place_rsp(struct place *place)
{
	static DAT_CONN_QUAL next = 5000000000u;
	DAT_RETURN ret;

	place->rsp_evd = t_evd(&place->ia[0], 4, DAT_EVD_CR_FLAG);
	next += (DAT_CONN_QUAL)getpid() << 16;
	do
		ret = dat_rsp_create(place->ia[0].ia, ++next, place->me.ep, place->rsp_evd,
				     &place->rsp);
	while (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE);
	t_ok(ret);
	place->rsp_qual = next;
}

static DAT_CR_HANDLE wait_cr(DAT_EVD_HANDLE evd)
{
	return t_wait_for(evd, DAT_CONNECTION_REQUEST_EVENT)
		.event_data.cr_arrival_event_data.cr_handle;
}

static void make_passive(struct place *place)
{
	place_rsp(place);
	connect_to_us(place, place->rsp_qual);
	place->cr = wait_cr(place->rsp_evd);
}

/* The EP of an RSP, whose request was rejected. */
static void reserve_once(struct place *place)
{
	make_passive(place);
	t_ok(t_cr_reject(place->cr));
	t_wait_conn(place->peer.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED, place->peer.ep);
	t_ok(dat_ep_reset(place->peer.ep));
}

/* The EP of the CR replaces ours and gets the PZ and EVDs of ours. */
static void adopt_provider_ep(struct place *place)
{
	DAT_EP_PARAM param = {
		.pz_handle = place->ia[0].pz,
		.recv_evd_handle = place->me.recv_evd,
		.request_evd_handle = place->me.request_evd,
		.connect_evd_handle = place->me.connect_evd,
	};
	DAT_CR_PARAM cr;

	t_ok(dat_cr_query(place->cr, DAT_CR_FIELD_ALL, &cr));
	ck_assert_ptr_nonnull(cr.local_ep_handle);
	t_ok(dat_ep_free(place->me.ep));
	place->me.ep = cr.local_ep_handle;
	t_ok(dat_ep_modify(place->me.ep,
			   DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
				   DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				   DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			   &param));
}

static void make_tentative(struct place *place)
{
	t_listen(&place->provider, &place->ia[0], DAT_PSP_PROVIDER_FLAG);
	connect_to_us(place, place->provider.qual);
	place->cr = t_next_cr(&place->provider);
	adopt_provider_ep(place);
}

static void make_active(struct place *place)
{
	DAT_CONN_QUAL qual = place->at_peer.qual;

	if (place->has_proc) {
		t_peer_tell(&place->proc, 0);
		qual = t_peer_hear(&place->proc);
	}
	t_ok(t_connect_data(place->me.ep, &place->ia[0], qual, DAT_TIMEOUT_INFINITE, NULL, 0));
	if (place->has_proc)
		t_peer_hear(&place->proc);
	else
		place->cr = t_next_cr(&place->at_peer);
}

/* Accepts the request of the other end, with the EP of the RSP or with ours. */
static void accept_ours(struct place *place, bool by_rsp, bool freeze)
{
	if (by_rsp) {
		make_passive(place);
	} else {
		connect_to_us(place, place->at_me.qual);
		place->cr = t_next_cr(&place->at_me);
	}
	if (freeze)
		t_peer_freeze(&place->proc);
	t_ok(t_cr_accept(place->cr, by_rsp ? DAT_HANDLE_NULL : place->me.ep));
}

static void make_connected(struct place *place, bool by_rsp)
{
	if (place->has_proc || by_rsp) {
		accept_ours(place, by_rsp, false);
	} else {
		make_active(place);
		t_ok(t_cr_accept(place->cr, place->peer.ep));
	}
	t_wait_conn(place->me.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, place->me.ep);
	if (!place->has_proc)
		t_wait_conn(place->peer.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED,
			    place->peer.ep);
}

static void make_disconnect_pending(struct place *place, bool by_rsp)
{
	make_connected(place, by_rsp);
	t_ok(place_post_big(place));
	t_ok(dat_ep_disconnect(place->me.ep, DAT_CLOSE_GRACEFUL_FLAG));
}

static void make_disconnected(struct place *place, bool by_rsp)
{
	make_connected(place, by_rsp);
	t_ok(dat_ep_disconnect(place->me.ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(place->me.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, place->me.ep);
	if (!place->has_proc)
		t_wait_conn(place->peer.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED,
			    place->peer.ep);
}

static void reach(struct place *place, enum place_state state, bool by_rsp)
{
	if (by_rsp && (state == UNC || state == ACT))
		reserve_once(place);
	switch (state) {
	case RES:
		place_rsp(place);
		break;
	case PAS:
		make_passive(place);
		break;
	case TEN:
		make_tentative(place);
		break;
	case ACT:
		make_active(place);
		break;
	case CMP:
		accept_ours(place, by_rsp, true);
		break;
	case CON:
		make_connected(place, by_rsp);
		break;
	case DPD:
		make_disconnect_pending(place, by_rsp);
		break;
	case DIS:
		make_disconnected(place, by_rsp);
		break;
	default:
		break;
	}
}

static void make(struct place *place, enum place_state state, bool by_rsp, bool far)
{
	memset(place, 0, sizeof(*place));
	place->state = state;
	place->has_proc = far || state == CMP;
	if (place->has_proc)
		t_peer_start(&place->proc, far_role);
	for (int i = 0; i < 2; i++)
		t_ia_open(&place->ia[i]);
	t_end_new(&place->me, &place->ia[0], NULL);
	t_end_new(&place->peer, &place->ia[1], NULL);
	t_listen(&place->at_me, &place->ia[0], DAT_PSP_CONSUMER_FLAG);
	t_listen(&place->at_peer, &place->ia[1], DAT_PSP_CONSUMER_FLAG);
	reach(place, state, by_rsp);
	ck_assert_int_eq(t_ep_state(place->me.ep), place_dat_state(state));
	t_no_event(place->me.connect_evd);
}

void place_make(struct place *place, enum place_state state)
{
	make(place, state, false, false);
}

void place_make_by_rsp(struct place *place, enum place_state state)
{
	make(place, state, true, false);
}

void place_make_far(struct place *place, enum place_state state)
{
	make(place, state, false, true);
}

/* Unmaps a buffer whose LMR was freed with its IA. */
static void unmap(const struct t_buf *buf)
{
	if (buf->mem)
		munmap(buf->mem, buf->size);
}

void place_leave(struct place *place)
{
	if (place->has_proc)
		place_kill_peer(place);
	for (int i = 0; i < 2; i++) {
		if (place->ia[i].ia)
			t_ia_close(&place->ia[i]);
		unmap(&place->big[i]);
	}
	unmap(&place->me.buf);
	unmap(&place->peer.buf);
}

/* --- posts --- */

DAT_RETURN place_post_recv(struct place *place)
{
	return t_recv(&place->me, 0, 64, PLACE_RECV, DAT_COMPLETION_DEFAULT_FLAG);
}

void place_new_big(struct place *place)
{
	t_buf_new(&place->big[0], place->ia[0].ia, place->ia[0].pz, t_much(&place->ia[0]),
		  DAT_MEM_PRIV_ALL_FLAG);
}

DAT_RETURN place_post_big(struct place *place)
{
	struct t_buf *big = &place->big[0];
	DAT_LMR_TRIPLET segment;

	if (!big->mem)
		place_new_big(place);
	segment = t_seg(big, 0, big->size);
	return dat_ep_post_send(place->me.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = PLACE_BIG},
				DAT_COMPLETION_DEFAULT_FLAG);
}

void place_take_big(struct place *place)
{
	struct t_buf *big = &place->big[1];
	DAT_LMR_TRIPLET segment;

	t_buf_new(big, place->ia[1].ia, place->ia[1].pz, t_much(&place->ia[1]),
		  DAT_MEM_PRIV_ALL_FLAG);
	segment = t_seg(big, 0, big->size);
	t_ok(dat_ep_post_recv(place->peer.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = PLACE_BIG},
			      DAT_COMPLETION_DEFAULT_FLAG));
}
