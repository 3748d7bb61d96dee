/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The EP state machine: every call in every state. Each rule is a row of nine cells, with the codes
 * of the state table:
 *
 *   ok   succeeds, the state stays       >DIS  succeeds, that state comes next
 *   IS   INVALID_STATE                   IP    INVALID_PARAMETER
 *   IH   INVALID_HANDLE                  IR    INSUFFICIENT_RESOURCES
 *   MNS  MODEL_NOT_SUPPORTED             gone  succeeds, the handle is invalid afterwards
 *   +D   one DISCONNECTED event          FR    a receive that is outstanding is flushed
 *   FQ   so is a request                 F     both
 *   NULL cannot happen
 *
 * "IP|IS" allows both. After an error nothing has changed. conform_eps_events.c tests events of the
 * network.
 */
#include "conform_eps.h"
#include "place.h"

#if T_DAT_MAJOR == 2
#include <dat2/dat_ib_extensions.h>
#endif

typedef const char *const cells[PLACE_STATES]; /* UNC RES PAS TEN ACT CMP CON DPD DIS */

static struct place place;

/* --- the meaning of a cell --- */

static DAT_RETURN_TYPE error_of(const char *word)
{
	static const struct {
		const char *word;
		DAT_RETURN_TYPE type;
	} errors[] = {
		{"IS", DAT_INVALID_STATE},        {"IP", DAT_INVALID_PARAMETER},
		{"IH", DAT_INVALID_HANDLE},       {"IR", DAT_INSUFFICIENT_RESOURCES},
		{"MNS", DAT_MODEL_NOT_SUPPORTED},
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (!strncmp(word, errors[i].word, strlen(errors[i].word)))
			return errors[i].type;
	}
	return DAT_SUCCESS;
}

static enum place_state state_of(const char *word)
{
	static const char names[PLACE_STATES][4] = {"UNC", "RES", "PAS", "TEN", "ACT",
						    "CMP", "CON", "DPD", "DIS"};
	int i = 0;

	while (strncmp(word, names[i], 3))
		ck_assert_int_lt(++i, PLACE_STATES);
	return (enum place_state)i;
}

static bool asks(const char *cell, const char *word)
{
	const char *at = strstr(cell, word);

	return at && (at == cell || at[-1] == ' ') &&
	       (at[strlen(word)] == '\0' || at[strlen(word)] == ' ');
}

static bool flushes_receive(const char *cell)
{
	return asks(cell, "FR") || asks(cell, "F");
}

static bool flushes_request(const char *cell)
{
	return asks(cell, "FQ") || asks(cell, "F");
}

/* Posts what the cell wants flushed. In DPD the big message is outstanding in any case. */
static void before(const char *cell)
{
	if (place.state == DIS)
		return;
	if (flushes_receive(cell))
		t_ok(place_post_recv(&place));
	if (flushes_request(cell) && place.state == CON)
		t_ok(place_post_big(&place));
}

static void expect_state(enum place_state wanted)
{
	DAT_EP_STATE state = t_ep_state(place.me.ep);

	/* The handshake may have finished meanwhile. */
	if (wanted == CMP && state == DAT_EP_STATE_CONNECTED)
		return;
	ck_assert_int_eq(state, place_dat_state(wanted));
}

static void expect_refusal(const char *cell, DAT_RETURN ret)
{
	const char *other = strchr(cell, '|');
	DAT_RETURN_TYPE type = error_of(cell);

	t_error2(ret, type, other ? error_of(other + 1) : type);
	expect_state(place.state);
	t_no_event(place.me.connect_evd);
	t_no_event(place.me.recv_evd);
}

static void expect_events(const char *cell)
{
	const struct t_end *me = &place.me;

	if (asks(cell, "+D"))
		t_wait_conn(me->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, me->ep);
	if (flushes_receive(cell))
		t_wait_dto(me->recv_evd, me->ep, PLACE_RECV, DAT_DTO_ERR_FLUSHED, 0);
	if (flushes_request(cell))
		t_wait_dto(me->request_evd, me->ep, PLACE_BIG, DAT_DTO_ERR_FLUSHED, 0);
}

static void expect(const char *cell, DAT_RETURN ret)
{
	const char *next = strchr(cell, '>');
	DAT_EP_STATE state;

	if (error_of(cell) != DAT_SUCCESS) {
		expect_refusal(cell, ret);
		return;
	}
	t_ok(ret);
	if (asks(cell, "gone")) {
		t_bad_handle(dat_ep_get_status(place.me.ep, &state, NULL, NULL));
		return;
	}
	expect_events(cell);
	expect_state(next ? state_of(next + 1) : place.state);
	if (!next)
		t_no_event(place.me.connect_evd);
}

static void enter(cells row, int state)
{
	place_make(&place, (enum place_state)state);
	before(row[state]);
}

/* Runs a test: one call in one state. */
static void cell_of(cells row, int state, DAT_RETURN (*call)(void))
{
	enter(row, state);
	expect(row[state], call());
}

/* A test for each state in which the call can happen. */
#define add_row(tcase, row, test)                                                       \
	do {                                                                            \
		for (int t_state = 0; t_state < PLACE_STATES; t_state++) {              \
			if ((row)[t_state])                                             \
				tcase_add_loop_test(tcase, test, t_state, t_state + 1); \
		}                                                                       \
	} while (0)

/* --- connecting --- */

static DAT_RETURN connect_to(DAT_IA_ADDRESS_PTR address, DAT_TIMEOUT timeout, DAT_COUNT size,
			     const void *data)
{
	return dat_ep_connect(place.me.ep, address, place.at_peer.qual, timeout, size,
			      (DAT_PVOID)(uintptr_t)data, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN connect_peer(void)
{
	return t_connect(place.me.ep, &place.at_peer);
}

static cells row_001 = {">ACT", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS"};

START_TEST(EPS_001_connect)
{
	/* EP-077 */
	cell_of(row_001, _i, connect_peer);
}
END_TEST

static cells row_002 = {"IP",    "IP|IS", "IP|IS", "IP|IS", "IP|IS",
			"IP|IS", "IP|IS", "IP|IS", "IP|IS"};

/* The same. The subtype of DAT_INVALID_PARAMETER must name the argument. */
static void expect_arg(const char *cell, DAT_RETURN ret, DAT_RETURN_SUBTYPE arg)
{
	expect(cell, ret);
	if (DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER)
		t_error_sub(ret, DAT_INVALID_PARAMETER, arg);
}

START_TEST(EPS_002_connect_with_a_bad_argument)
{
	/* EP-085 EP-087 EP-089 */
	DAT_IA_ADDRESS_PTR address;
	DAT_COUNT max;

	enter(row_002, _i);
	address = place.ia[1].attr.ia_address_ptr;
	max = place.ia[0].provider.max_private_data_size;
	expect_arg(row_002[_i], connect_to(address, 0, 0, NULL), DAT_INVALID_ARG4);
	expect_arg(row_002[_i], connect_to(NULL, T_LIMIT_US, 0, NULL), DAT_INVALID_ARG2);
	expect_arg(row_002[_i], connect_to(address, T_LIMIT_US, -1, place.me.buf.mem),
		   DAT_INVALID_ARG5);
	expect_arg(row_002[_i], connect_to(address, T_LIMIT_US, max + 1, place.me.buf.mem),
		   DAT_INVALID_ARG5);
	expect_arg(row_002[_i], connect_to(address, T_LIMIT_US, 1, NULL), DAT_INVALID_ARG6);
}
END_TEST

static DAT_RETURN modify(DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	return dat_ep_modify(place.me.ep, mask, param);
}

static cells row_003 = {"IS|IH", "IS|IH", "IS|IH", "IS|IH", "IS", "IS", "IS", "IS", "IS"};

static void expect_not_ready(const char *cell, DAT_RETURN ret)
{
	expect(cell, ret);
	if (DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE)
		t_bad_handle_of(ret, EVD_CONN);
	else if (place.state == UNC)
		t_bad_state_of(ret, EP_NOTREADY);
}

START_TEST(EPS_003_connect_without_pz_or_connect_evd)
{
	/* EP-092 */
	const DAT_EP_PARAM none = {.pz_handle = DAT_HANDLE_NULL};

	enter(row_003, _i);
	if (_i == UNC || _i == TEN) {
		DAT_EP_PARAM pz = {.pz_handle = place.ia[0].pz};

		t_ok(modify(DAT_EP_FIELD_PZ_HANDLE, &none));
		expect_not_ready(row_003[_i], connect_peer());
		t_ok(modify(DAT_EP_FIELD_PZ_HANDLE, &pz));
	}
	if (_i <= TEN)
		t_ok(modify(DAT_EP_FIELD_CONNECT_EVD_HANDLE, &none));
	expect_not_ready(row_003[_i], connect_peer());
}
END_TEST

static DAT_RETURN dup_connect(DAT_EP_HANDLE dup)
{
	return dat_ep_dup_connect(place.me.ep, dup, T_LIMIT_US, 0, NULL, DAT_QOS_BEST_EFFORT);
}

static cells row_004 = {">ACT", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS"};

START_TEST(EPS_004_dup_connect)
{
	/* EP-107 */
	struct t_end model[2];

	enter(row_004, _i);
	for (int i = 0; i < 2; i++)
		t_end_new(&model[i], &place.ia[i], NULL);
	t_establish(&place.at_peer, &model[0], &model[1]);
	expect(row_004[_i], dup_connect(model[0].ep));
}
END_TEST

static cells row_005 = {"IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS"};

START_TEST(EPS_005_dup_connect_of_an_unconnected_ep)
{
	/* EP-106 */
	struct t_end model;

	enter(row_005, _i);
	t_end_new(&model, &place.ia[0], NULL);
	expect(row_005[_i], dup_connect(model.ep));
}
END_TEST

#if T_DAT_MAJOR == 2
static cells row_006 = {"MNS", "MNS", "MNS", "MNS", "MNS", "MNS", "MNS", "MNS", "MNS"};

static DAT_RETURN common_connect(void)
{
	return dat_ep_common_connect(place.me.ep, place.ia[1].attr.ia_address_ptr, T_LIMIT_US, 0,
				     NULL);
}

START_TEST(EPS_006_common_connect)
{
	/* EP-114 */
	cell_of(row_006, _i, common_connect);
}
END_TEST
#endif

/* --- service points and connection requests --- */

static DAT_RETURN rsp_create(void)
{
	DAT_EVD_HANDLE evd = t_evd(&place.ia[0], 4, DAT_EVD_CR_FLAG);
	DAT_RSP_HANDLE rsp;

	return dat_rsp_create(place.ia[0].ia,
			      UINT64_C(0x7253500000000001) + (DAT_CONN_QUAL)place.at_me.qual,
			      place.me.ep, evd, &rsp);
}

static cells row_007 = {">RES", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS"};

START_TEST(EPS_007_rsp_create)
{
	cell_of(row_007, _i, rsp_create);
}
END_TEST

static cells row_008 = {"ok", ">UNC", "ok", NULL, "ok", "ok", "ok", "ok", "ok"};

START_TEST(EPS_008_rsp_free)
{
	place_make_by_rsp(&place, (enum place_state)_i);
	expect(row_008[_i], dat_rsp_free(place.rsp));
}
END_TEST

/* Returns the CR of another connector at our consumer PSP. */
static DAT_CR_HANDLE foreign_cr(void)
{
	struct t_end other;

	t_end_new(&other, &place.ia[1], NULL);
	t_ok(t_connect(other.ep, &place.at_me));
	return t_next_cr(&place.at_me);
}

static cells row_009 = {">CMP", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS"};

START_TEST(EPS_009_accept_with_this_ep)
{
	DAT_CR_HANDLE cr;

	enter(row_009, _i);
	cr = foreign_cr();
	expect(row_009[_i], t_cr_accept(cr, place.me.ep));
	if (_i != UNC)
		t_ok(t_cr_reject(cr)); /* the failure has not consumed it */
}
END_TEST

static DAT_RETURN accept_own(void)
{
	return t_cr_accept(place.cr, DAT_HANDLE_NULL);
}

static cells row_010 = {NULL, NULL, ">CMP", ">CMP", NULL, NULL, NULL, NULL, NULL};

START_TEST(EPS_010_accept_of_the_cr_that_owns_the_ep)
{
	cell_of(row_010, _i, accept_own);
}
END_TEST

static DAT_RETURN accept_own_naming_it(void)
{
	return t_cr_accept(place.cr, place.me.ep);
}

static cells row_011 = {NULL, NULL, "IH", "IH", NULL, NULL, NULL, NULL, NULL};

START_TEST(EPS_011_accept_that_names_the_ep_it_owns)
{
	cell_of(row_011, _i, accept_own_naming_it);
}
END_TEST

static cells row_012 = {"IP|IR", NULL, "IP|IR", "IP|IR", NULL, NULL, NULL, NULL, NULL};

START_TEST(EPS_012_accept_with_too_much_private_data)
{
	DAT_CR_HANDLE cr;

	enter(row_012, _i);
	cr = _i == UNC ? foreign_cr() : place.cr;
	expect(row_012[_i],
	       dat_cr_accept(cr, _i == UNC ? place.me.ep : DAT_HANDLE_NULL,
			     place.ia[0].provider.max_private_data_size + 1, place.me.buf.mem));
	t_ok(t_cr_reject(cr));
}
END_TEST

static DAT_RETURN reject_own(void)
{
	return t_cr_reject(place.cr);
}

static cells row_013 = {NULL, NULL, ">UNC", "gone", NULL, NULL, NULL, NULL, NULL};

START_TEST(EPS_013_reject_of_the_cr_that_owns_the_ep)
{
	cell_of(row_013, _i, reject_own);
}
END_TEST

static DAT_RETURN hand_off(void)
{
	return dat_cr_handoff(place.cr, place.at_me.qual);
}

static cells row_014 = {NULL, NULL, ">UNC", "gone", NULL, NULL, NULL, NULL, NULL};

START_TEST(EPS_014_handoff_of_the_cr_that_owns_the_ep)
{
	cell_of(row_014, _i, hand_off);
	t_ok(t_cr_reject(t_next_cr(&place.at_me)));
}
END_TEST

/* --- the end of a connection, and of the EP --- */

static DAT_RETURN disconnect_abruptly(void)
{
	return dat_ep_disconnect(place.me.ep, DAT_CLOSE_ABRUPT_FLAG);
}

static cells row_015 = {"IS",         "IS",        "IS",        "IS", ">DIS +D FR",
			">DIS +D FR", ">DIS +D F", ">DIS +D F", "ok"};

START_TEST(EPS_015_disconnect_abrupt)
{
	/* EP-116 EP-123 EP-124 EP-125 EP-126 EP-127 EPS-080 */
	cell_of(row_015, _i, disconnect_abruptly);
}
END_TEST

static DAT_RETURN disconnect_gracefully(void)
{
	return dat_ep_disconnect(place.me.ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static cells row_016 = {"IS", "IS", "IS", "IS", ">DIS +D FR", ">DIS +D FR", ">DPD", "ok", "ok"};

START_TEST(EPS_016_disconnect_graceful)
{
	/* EP-117 EP-122 EP-130 */
	enter(row_016, _i);
	if (_i == CON)
		t_ok(place_post_big(&place));
	expect(row_016[_i], disconnect_gracefully());
}
END_TEST

static cells row_017 = {"IP", "IP", "IP", "IP", "IP", "IP", "IP", "IP", "IP"};

START_TEST(EPS_017_disconnect_with_an_undefined_flag)
{
	/* EP-128 */
	enter(row_017, _i);
	for (unsigned int flag = 2; flag; flag <<= 1)
		expect_arg(row_017[_i], dat_ep_disconnect(place.me.ep, (DAT_CLOSE_FLAGS)flag),
			   DAT_INVALID_ARG2);
}
END_TEST

static DAT_RETURN reset(void)
{
	return dat_ep_reset(place.me.ep);
}

static cells row_018 = {"ok", "IS", "IS", "IS", "IS", "IS", "IS", "IS", ">UNC"};

START_TEST(EPS_018_reset)
{
	/* EP-149 EP-150 EP-151 */
	cell_of(row_018, _i, reset);
}
END_TEST

static DAT_RETURN free_ep(void)
{
	return dat_ep_free(place.me.ep);
}

static cells row_019 = {"gone", "IS", "IS", "IS", "gone", "gone", "gone", "gone", "gone"};

START_TEST(EPS_019_free)
{
	/* EP-140 EP-141 EP-143 EPS-116 */
	enter(row_019, _i);
	t_ok(place_post_recv(&place));
	if (_i == DIS)
		t_drain(place.me.recv_evd);
	expect(row_019[_i], free_ep());
	t_no_event(place.me.connect_evd);
}
END_TEST

/* --- queries --- */

static cells row_ok = {"ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok"};

START_TEST(EPS_020_query_and_get_status)
{
	/* EP-046 EP-047 EP-049 EP-158 EP-164 */
	DAT_BOOLEAN recv_idle = 7, request_idle = 7;
	DAT_EP_STATE state;
	DAT_EP_PARAM param;

	enter(row_ok, _i);
	expect(row_ok[_i], dat_ep_query(place.me.ep, DAT_EP_FIELD_ALL, &param));
	ck_assert_int_eq(param.ep_state, place_dat_state((enum place_state)_i));
	ck_assert_ptr_eq(param.pz_handle, place.ia[0].pz);
	ck_assert_ptr_eq(param.recv_evd_handle, place.me.recv_evd);
	ck_assert_ptr_eq(param.request_evd_handle, place.me.request_evd);
	ck_assert_ptr_eq(param.connect_evd_handle, place.me.connect_evd);
	ck_assert_ptr_null(param.srq_handle);
	ck_assert_ptr_nonnull(param.local_ia_address_ptr);
	if (_i >= PAS && _i <= DPD) {
		ck_assert_ptr_nonnull(param.remote_ia_address_ptr);
		ck_assert_int_eq(param.remote_ia_address_ptr->sa_family,
				 place.ia[1].attr.ia_address_ptr->sa_family);
	}
	expect(row_ok[_i], dat_ep_get_status(place.me.ep, &state, &recv_idle, &request_idle));
	ck_assert_int_eq(state, param.ep_state);
	ck_assert_int_eq(recv_idle, DAT_TRUE);
	ck_assert_int_eq(request_idle, _i == DPD ? DAT_FALSE : DAT_TRUE);
}
END_TEST

START_TEST(EPS_021_recv_query)
{
	/* EP-175 EP-182 */
	DAT_COUNT allocated = 77, span = 77;

	enter(row_ok, _i);
	expect(row_ok[_i], dat_ep_recv_query(place.me.ep, &allocated, &span));
	ck_assert_int_eq(allocated, 0);
	ck_assert_int_eq(span, 0);
}
END_TEST

START_TEST(EPS_022_set_watermark)
{
	/*
	 * EP-194 EP-196; the attribute is about SRQs only: EPs have watermarks on fabrics without
	 * SRQs, too
	 */
	enter(row_ok, _i);
	expect(row_ok[_i],
	       dat_ep_set_watermark(place.me.ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE));
}
END_TEST

/* --- dat_ep_modify() --- */

static cells row_023 = {"ok", "IS", "IS", "ok", "IS", "IS", "IS", "IS", "IS"};

START_TEST(EPS_023_modify_pz)
{
	/* EP-058 EP-073 */
	DAT_EP_PARAM param;
	DAT_PZ_HANDLE pz;

	enter(row_023, _i);
	t_ok(dat_pz_create(place.ia[0].ia, &pz));
	param.pz_handle = pz;
	expect(row_023[_i], modify(DAT_EP_FIELD_PZ_HANDLE, &param));
	t_ok(dat_ep_query(place.me.ep, DAT_EP_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.pz_handle, *row_023[_i] == 'o' ? pz : place.ia[0].pz);
}
END_TEST

static cells row_024 = {"ok", "ok", "ok", "ok", "IS", "IS", "IS", "IS", "IS"};

START_TEST(EPS_024_modify_evd)
{
	/* EP-060 EP-073 */
	DAT_EP_PARAM param, after;

	enter(row_024, _i);
	param.recv_evd_handle = t_evd(&place.ia[0], 300, DAT_EVD_DTO_FLAG);
	param.request_evd_handle =
		t_evd(&place.ia[0], 300, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	param.connect_evd_handle = t_evd(&place.ia[0], 4, DAT_EVD_CONNECTION_FLAG);
	expect(row_024[_i], modify(DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	expect(row_024[_i], modify(DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
	expect(row_024[_i], modify(DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	t_ok(dat_ep_query(place.me.ep, DAT_EP_FIELD_ALL, &after));
	ck_assert_int_eq(after.recv_evd_handle == param.recv_evd_handle, *row_024[_i] == 'o');
	ck_assert_int_eq(after.request_evd_handle == param.request_evd_handle, *row_024[_i] == 'o');
	ck_assert_int_eq(after.connect_evd_handle == param.connect_evd_handle, *row_024[_i] == 'o');
}
END_TEST

static cells row_025 = {"ok", "ok", "ok", "ok", "IS", "IS", "IS", "IS", "IS"};

START_TEST(EPS_025_modify_common_attributes)
{
	/* EP-061 EP-073 */
	static const DAT_EP_PARAM_MASK fields[] = {
		DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE,
		DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE,
		DAT_EP_FIELD_EP_ATTR_QOS,
		DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS,
		DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
		DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
		DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV,
		DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV,
	};
	DAT_EP_PARAM param;

	enter(row_025, _i);
	t_ok(dat_ep_query(place.me.ep, DAT_EP_FIELD_ALL, &param));
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		expect(row_025[_i], modify(fields[i], &param));
}
END_TEST

static DAT_RETURN modify_recv_flags(void)
{
	DAT_EP_PARAM param = {.ep_attr = t_ep_attr(place.me.ep)};

	return modify(DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param);
}

static cells row_026 = {"ok", "ok", "ok", "ok", "IS", "IS", "IS", "IS", "IS"};

START_TEST(EPS_026_modify_recv_completion_flags)
{
	cell_of(row_026, _i, modify_recv_flags);
}
END_TEST

static cells row_027 = {"IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS"};

START_TEST(EPS_027_modify_recv_completion_flags_with_a_receive_posted)
{
	/* EP-062 */
	enter(row_027, _i);
	t_ok(place_post_recv(&place));
	t_drain(place.me.recv_evd);
	expect(row_027[_i], modify_recv_flags());
}
END_TEST

static cells row_028 = {"ok", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS"};

START_TEST(EPS_028_modify_specific_attributes)
{
	/* EP-063 */
	DAT_EP_PARAM param;

	enter(row_028, _i);
	memset(&param, 0, sizeof(param));
	expect(row_028[_i], modify(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR |
					   DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR,
				   &param));
	expect(row_028[_i], modify(DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
					   DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR,
				   &param));
}
END_TEST

static cells row_029 = {"IP", "IP", "IP", "IP", "IP", "IP", "IP", "IP", "IP"};

START_TEST(EPS_029_modify_fixed_attributes)
{
	/* EP-056 EP-057 */
	static const DAT_EP_PARAM_MASK fields[] = {
		DAT_EP_FIELD_IA_HANDLE,
		DAT_EP_FIELD_EP_STATE,
		DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR,
		DAT_EP_FIELD_LOCAL_PORT_QUAL,
		DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR,
		DAT_EP_FIELD_REMOTE_PORT_QUAL,
		DAT_EP_FIELD_SRQ_HANDLE,
#if T_DAT_MAJOR == 2
		DAT_EP_FIELD_COMM,
#endif
	};
	DAT_EP_PARAM param;

	enter(row_029, _i);
	t_ok(dat_ep_query(place.me.ep, DAT_EP_FIELD_ALL, &param));
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		expect_arg(row_029[_i], modify(fields[i], &param), DAT_INVALID_ARG2);
		expect_arg(row_029[_i], modify(fields[i] | DAT_EP_FIELD_PZ_HANDLE, &param),
			   DAT_INVALID_ARG2);
	}
}
END_TEST

/* --- posts --- */

static DAT_RETURN post_recv(void)
{
	return place_post_recv(&place);
}

static cells row_030 = {"ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok FR"};

START_TEST(EPS_030_post_recv)
{
	/* DTO-070 DTO-072 EP-104 EP-121 EP-139 */
	cell_of(row_030, _i, post_recv);
}
END_TEST

static cells row_033 = {"IS", "IS", "IS", "IS", "IS", "IS", "ok", "IS", "ok FQ"};

/* Memory of the peer. In CMP the peer is another process, and no operation reaches it. */
static DAT_RMR_TRIPLET remote(size_t length)
{
	return t_remote_seg(&place.peer.buf, 0, length);
}

START_TEST(EPS_033_post_send)
{
	/* DTO-039 DTO-040 DTO-041 EP-139 */
	enter(row_033, _i);
	if (_i == CON)
		t_ok(t_recv(&place.peer, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect(row_033[_i], t_send(&place.me, 0, 64, PLACE_BIG, DAT_COMPLETION_DEFAULT_FLAG));
}
END_TEST

START_TEST(EPS_033_post_rdma_read)
{
	/* DTO-103 EP-139 */
	enter(row_033, _i);
	expect(row_033[_i],
	       t_read(&place.me, 0, 64, PLACE_BIG, remote(64), DAT_COMPLETION_DEFAULT_FLAG));
}
END_TEST

START_TEST(EPS_033_post_rdma_write)
{
	enter(row_033, _i);
	expect(row_033[_i],
	       t_write(&place.me, 0, 64, PLACE_BIG, remote(64), DAT_COMPLETION_DEFAULT_FLAG));
}
END_TEST

START_TEST(EPS_034_bind)
{
	/* DTO-171 DTO-172 */
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_RETURN ret;

	enter(row_033, _i);
	t_ok(dat_rmr_create(place.ia[0].pz, &rmr));
	ret = t_rmr_bind(rmr, &place.me.buf, t_seg(&place.me.buf, 0, 64),
			 DAT_MEM_PRIV_REMOTE_READ_FLAG, place.me.ep, 9, DAT_COMPLETION_DEFAULT_FLAG,
			 &context);
	if (_i == DIS) {
		t_ok(ret);
		t_wait_bind(place.me.request_evd, rmr, 9, DAT_DTO_ERR_FLUSHED);
		expect_state(DIS);
	} else {
		expect(row_033[_i], ret);
	}
}
END_TEST

#if T_DAT_MAJOR == 2
/* If the fabric lacks what these calls need, they return MNS in every state. */
static bool is_named(const char *name, const char *value)
{
	return !strcmp(t_named(&place.ia[0].provider, name), value);
}

static const char *cell_if(const char *offer, int state)
{
	return is_named(offer, "TRUE") ? row_033[state] : row_006[state];
}

static DAT_DTO_COOKIE big_cookie(void)
{
	return (DAT_DTO_COOKIE){.as_64 = PLACE_BIG};
}

START_TEST(EPS_035_post_send_with_invalidate)
{
	/* DTO-069; an accepted Send waits for a receive of the peer */
	DAT_LMR_TRIPLET local;

	enter(row_033, _i);
	local = t_seg(&place.me.buf, 0, 8);
	/* Invalidations and emulated atomic operations use the same control records. */
	expect(is_named("DAT_OFI_PROVIDER", "verbs") ? row_006[_i]
						     : cell_if(DAT_IB_ATTR_CMP_AND_SWAP, _i),
	       dat_ep_post_send_with_invalidate(place.me.ep, 1, &local, big_cookie(),
						DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE,
						remote(8).rmr_context));
}
END_TEST

START_TEST(EPS_035_post_rdma_read_to_rmr)
{
	/* DTO-119 */
	DAT_RMR_TRIPLET local, from;

	enter(row_033, _i);
	local = t_remote_seg(&place.me.buf, 64, 8);
	from = remote(8);
	expect(row_033[_i], dat_ep_post_rdma_read_to_rmr(place.me.ep, &local, big_cookie(), &from,
							 DAT_COMPLETION_DEFAULT_FLAG));
}
END_TEST

/* An extended operation is flushed with an event of its own. */
static void expect_extended(const char *cell, DAT_RETURN ret)
{
	DAT_EVENT event;

	if (error_of(cell) != DAT_SUCCESS) {
		expect_refusal(cell, ret);
		return;
	}
	t_ok(ret);
	if (flushes_request(cell)) {
		event = t_wait_for(place.me.request_evd, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
		ck_assert_int_eq(event.event_data.dto_completion_event_data.status,
				 DAT_DTO_ERR_FLUSHED);
	}
	expect_state(place.state);
}

START_TEST(EPS_033_post_write_with_immediate_data)
{
	/* HND-023 */
	DAT_LMR_TRIPLET local;
	DAT_RMR_TRIPLET to;

	enter(row_033, _i);
	local = t_seg(&place.me.buf, 0, 8);
	to = remote(8);
	expect_extended(cell_if(DAT_IB_ATTR_IMMED_DATA, _i),
			dat_ib_post_rdma_write_immed(place.me.ep, 1, &local, big_cookie(), &to, 1,
						     DAT_COMPLETION_DEFAULT_FLAG));
}
END_TEST

/* Memory of the peer that atomic operations may change. */
static DAT_RMR_TRIPLET remote_word(void)
{
	static struct t_buf word;

	t_buf_new(&word, place.ia[1].ia, place.ia[1].pz, 64,
		  (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_ALL_FLAG |
				       (unsigned int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC));
	return t_remote_seg(&word, 0, 8);
}

START_TEST(EPS_033_post_compare_and_swap)
{
	/* HND-023; a region without the privilege would end the connection later */
	DAT_LMR_TRIPLET local;
	DAT_RMR_TRIPLET to;

	enter(row_033, _i);
	local = t_seg(&place.me.buf, 0, 8);
	to = _i == CON ? remote_word() : remote(8);
	expect_extended(cell_if(DAT_IB_ATTR_CMP_AND_SWAP, _i),
			dat_ib_post_cmp_and_swap(place.me.ep, 1, 2, &local, big_cookie(), &to,
						 DAT_COMPLETION_DEFAULT_FLAG));
}
END_TEST
#endif

/* --- calls that do not depend on the state --- */

START_TEST(EPS_036_consumer_context)
{
	DAT_CONTEXT set = {.as_64 = 0x123456789abcdef0u}, got = {.as_64 = 0};

	enter(row_ok, _i);
	expect(row_ok[_i], dat_set_consumer_context(place.me.ep, set));
	expect(row_ok[_i], dat_get_consumer_context(place.me.ep, &got));
	ck_assert_uint_eq(got.as_64, set.as_64);
}
END_TEST

static cells row_037 = {"IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS"};

START_TEST(EPS_037_free_objects_that_the_ep_uses)
{
	/* EP-022 */
	enter(row_037, _i);
	expect(row_037[_i], dat_evd_free(place.me.recv_evd));
	expect(row_037[_i], dat_evd_free(place.me.request_evd));
	expect(row_037[_i], dat_evd_free(place.me.connect_evd));
	expect(row_037[_i], dat_pz_free(place.ia[0].pz));
}
END_TEST

START_TEST(EPS_038_graceful_close_of_the_ia)
{
	enter(row_037, _i);
	expect(row_037[_i], dat_ia_close(place.ia[0].ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

static DAT_RETURN close_ia(void)
{
	DAT_RETURN ret = dat_ia_close(place.ia[0].ia, DAT_CLOSE_ABRUPT_FLAG);

	place.ia[0].ia = DAT_HANDLE_NULL;
	return ret;
}

static cells row_039 = {"gone", "gone", "gone", "gone", "gone", "gone", "gone", "gone", "gone"};

START_TEST(EPS_039_abrupt_close_of_the_ia)
{
	cell_of(row_039, _i, close_ia);
}
END_TEST

/* --- suite --- */

static void leave(void)
{
	place_leave(&place);
}

static TCase *calls_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, NULL, leave);
	suite_add_tcase(suite, tcase);
	return tcase;
}

static void add_connecting(Suite *suite)
{
	TCase *tcase = calls_case(suite, "eps-connect");

	add_row(tcase, row_001, EPS_001_connect);
	add_row(tcase, row_002, EPS_002_connect_with_a_bad_argument);
	add_row(tcase, row_003, EPS_003_connect_without_pz_or_connect_evd);
	add_row(tcase, row_004, EPS_004_dup_connect);
	add_row(tcase, row_005, EPS_005_dup_connect_of_an_unconnected_ep);
#if T_DAT_MAJOR == 2
	add_row(tcase, row_006, EPS_006_common_connect);
#endif
	add_row(tcase, row_007, EPS_007_rsp_create);
	add_row(tcase, row_008, EPS_008_rsp_free);
	add_row(tcase, row_009, EPS_009_accept_with_this_ep);
	add_row(tcase, row_010, EPS_010_accept_of_the_cr_that_owns_the_ep);
	add_row(tcase, row_011, EPS_011_accept_that_names_the_ep_it_owns);
	add_row(tcase, row_012, EPS_012_accept_with_too_much_private_data);
	add_row(tcase, row_013, EPS_013_reject_of_the_cr_that_owns_the_ep);
	add_row(tcase, row_014, EPS_014_handoff_of_the_cr_that_owns_the_ep);
}

static void add_rest(Suite *suite)
{
	TCase *tcase = calls_case(suite, "eps-calls");

	add_row(tcase, row_015, EPS_015_disconnect_abrupt);
	add_row(tcase, row_016, EPS_016_disconnect_graceful);
	add_row(tcase, row_017, EPS_017_disconnect_with_an_undefined_flag);
	add_row(tcase, row_018, EPS_018_reset);
	add_row(tcase, row_019, EPS_019_free);
	add_row(tcase, row_ok, EPS_020_query_and_get_status);
	add_row(tcase, row_ok, EPS_021_recv_query);
	add_row(tcase, row_ok, EPS_022_set_watermark);
	add_row(tcase, row_023, EPS_023_modify_pz);
	add_row(tcase, row_024, EPS_024_modify_evd);
	add_row(tcase, row_025, EPS_025_modify_common_attributes);
	add_row(tcase, row_026, EPS_026_modify_recv_completion_flags);
	add_row(tcase, row_027, EPS_027_modify_recv_completion_flags_with_a_receive_posted);
	add_row(tcase, row_028, EPS_028_modify_specific_attributes);
	add_row(tcase, row_029, EPS_029_modify_fixed_attributes);
	add_row(tcase, row_030, EPS_030_post_recv);
	add_row(tcase, row_033, EPS_033_post_send);
	add_row(tcase, row_033, EPS_033_post_rdma_read);
	add_row(tcase, row_033, EPS_033_post_rdma_write);
	add_row(tcase, row_033, EPS_034_bind);
#if T_DAT_MAJOR == 2
	add_row(tcase, row_033, EPS_035_post_send_with_invalidate);
	add_row(tcase, row_033, EPS_035_post_rdma_read_to_rmr);
	add_row(tcase, row_033, EPS_033_post_write_with_immediate_data);
	add_row(tcase, row_033, EPS_033_post_compare_and_swap);
#endif
	add_row(tcase, row_ok, EPS_036_consumer_context);
	add_row(tcase, row_037, EPS_037_free_objects_that_the_ep_uses);
	add_row(tcase, row_037, EPS_038_graceful_close_of_the_ia);
	add_row(tcase, row_039, EPS_039_abrupt_close_of_the_ia);
}

Suite *conform_eps(void)
{
	Suite *suite = suite_create("eps");

	add_connecting(suite);
	add_rest(suite);
	conform_eps_events(suite);
	conform_eps_rules(suite);
	return suite;
}
