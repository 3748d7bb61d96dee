/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an IA knows of its fabric before it opens the fabric, and parameters that are words. */
#include "unit.h"

#include "../../../prov/ofi/api/ia_choose.c"

static struct dofi_ia ia;
static struct fi_fabric_attr fabric_attr;
static struct fi_domain_attr domain_attr = {.cq_data_size = 8};
static struct fi_ep_attr ep_attr;
static struct fi_tx_attr tx_attr;
static struct fi_rx_attr rx_attr;
static struct fi_info info = {.fabric_attr = &fabric_attr,
			      .domain_attr = &domain_attr,
			      .ep_attr = &ep_attr,
			      .tx_attr = &tx_attr,
			      .rx_attr = &rx_attr};

static void be(const char *provider, enum fi_ep_type type, uint32_t protocol, uint64_t caps)
{
	fabric_attr.prov_name = (char *)(uintptr_t)provider;
	ep_attr.type = type;
	ep_attr.protocol = protocol;
	info.caps = caps;
	strcpy(ia.name, "test");
	ia.info = &info;
	know_fabric(&ia);
}

/* Without FI_LOCAL_COMM efa uses the card within a host; other providers would refuse a peer. */
START_TEST(only_efa_is_opened_without_peers_of_its_host)
{
	static const struct {
		const char *provider;
		enum fi_ep_type type;
		uint32_t protocol;
		uint64_t caps, kept;
	} cases[] = {
		{"efa", FI_EP_RDM, FI_PROTO_EFA, FI_LOCAL_COMM | FI_REMOTE_COMM, FI_REMOTE_COMM},
		{"efa", FI_EP_RDM, FI_PROTO_EFA, FI_LOCAL_COMM, FI_LOCAL_COMM},
		{"tcp", FI_EP_MSG, FI_PROTO_SOCK_TCP, FI_LOCAL_COMM | FI_REMOTE_COMM,
		 FI_LOCAL_COMM | FI_REMOTE_COMM},
		{"shm", FI_EP_RDM, FI_PROTO_SHM, FI_LOCAL_COMM, FI_LOCAL_COMM},
	};

	be(cases[_i].provider, cases[_i].type, cases[_i].protocol, cases[_i].caps | FI_MSG);
	ck_assert_uint_eq(info.caps, cases[_i].kept | FI_MSG);
}
END_TEST

START_TEST(the_transport_follows_the_endpoint)
{
	be("tcp", FI_EP_MSG, FI_PROTO_SOCK_TCP, FI_MSG);
	ck_assert_str_eq(ia.trans->name, "msg");
	ck_assert(!ia.host_only);
	be("shm", FI_EP_RDM, FI_PROTO_SHM, FI_MSG);
	ck_assert_str_eq(ia.trans->name, "rdm");
	ck_assert(ia.host_only);
}
END_TEST

/* A device's queue has room for one completion at first; others keep a batch. */
START_TEST(completion_queues_of_devices_begin_small)
{
	be("verbs", FI_EP_MSG, FI_PROTO_RDMA_CM_IB_RC, FI_MSG);
	ck_assert_uint_eq(ia.cq_want, 1);
	ck_assert_uint_eq(ia.cq_few, 1);
	be("tcp", FI_EP_MSG, FI_PROTO_SOCK_TCP, FI_MSG);
	ck_assert_uint_eq(ia.cq_want, DOFI_CQ_BATCH);
	ck_assert_uint_eq(ia.cq_few, DOFI_CQ_BATCH);
	ck_assert(!ia.moves_alone);
}
END_TEST

START_TEST(the_last_byte_is_an_operation_if_it_must_be_or_shall_be)
{
	static const struct {
		const char *word, *provider;
		uint32_t protocol;
		bool splits;
	} cases[] = {{"", "shm", FI_PROTO_SHM, false},
		     {"", "efa", FI_PROTO_EFA, true},
		     {"library", "shm", FI_PROTO_SHM, true},
		     {"library", "efa", FI_PROTO_EFA, true},
		     {"fabric", "shm", FI_PROTO_SHM, false},
		     {"fabric", "efa", FI_PROTO_EFA, false}};

	be(cases[_i].provider, FI_EP_RDM, cases[_i].protocol, FI_MSG);
	strcpy(ia.params.last_byte, cases[_i].word);
	ck_assert_int_eq(choose_last_byte(&ia), 0);
	ck_assert(ia.splits_writes == cases[_i].splits);
	ck_assert(!*cases[_i].word || !ia.names_flags);
}
END_TEST

START_TEST(unknown_words_are_refused_with_the_known_ones)
{
	int said = t_capture(STDERR_FILENO);

	be("shm", FI_EP_RDM, FI_PROTO_SHM, FI_MSG);
	strcpy(ia.params.last_byte, "librar");
	ck_assert_int_eq(choose_last_byte(&ia), -FI_EINVAL);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "last_byte=librar"));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "library and fabric"));
	strcpy(ia.params.srq_ep_broken, "y");
	ck_assert_int_eq(choose_last_receive(&ia), -FI_EINVAL);
	ck_assert(!ia.tells_last_receive);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "srq_ep_broken=y "));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "yes and no"));
	strcpy(ia.params.srq_ep_broken, "yes");
	ck_assert_int_eq(choose_last_receive(&ia), 0);
	ck_assert(ia.tells_last_receive);
	strcpy(ia.params.srq_ep_broken, "no");
	ck_assert_int_eq(choose_last_receive(&ia), 0);
	ck_assert(!ia.tells_last_receive);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ia_choose");
	TCase *tcase = tcase_create("ia_choose");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, only_efa_is_opened_without_peers_of_its_host, 0, 4);
	tcase_add_test(tcase, the_transport_follows_the_endpoint);
	tcase_add_test(tcase, completion_queues_of_devices_begin_small);
	tcase_add_loop_test(tcase, the_last_byte_is_an_operation_if_it_must_be_or_shall_be, 0, 6);
	tcase_add_test(tcase, unknown_words_are_refused_with_the_known_ones);
	return t_run(suite);
}
