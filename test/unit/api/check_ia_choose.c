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

/* --- the steps of the choice; the linker redirects these calls --- */

enum { PARAMS, CACHE, ENV, SELECT, ADDRESS, STEPS };

static int failing = STEPS, failure; /* the step that fails, and how */
static int steps;
static bool placed, described;

int __wrap_dofi_params_load(struct dofi_params *p, const char *name, const char *text);
int __wrap_dofi_mr_cache_choose(const char *name, const struct dofi_params *p);
int __wrap_dofi_fabric_env_prepare(const char *name, const struct dofi_params *p);
int __wrap_dofi_select(const char *name, const struct dofi_params *p, struct fi_info **info_p,
		       struct dofi_nic *nic_p);
int __wrap_dofi_select_addr(const char *name, const struct dofi_params *p, const struct fi_info *of,
			    struct sockaddr_storage *addr_p);
void __wrap_dofi_nic_place_thread(const struct dofi_params *p, struct dofi_nic *nic);
void __wrap_dofi_attr_init(struct dofi_ia *of);

static int step(int number, const struct dofi_params *p)
{
	ck_assert_int_eq(steps++, number);
	ck_assert_ptr_eq(p, &ia.params);
	return number == failing ? failure : 0;
}

int __wrap_dofi_params_load(struct dofi_params *p, const char *name, const char *text)
{
	ck_assert_ptr_eq(name, ia.name);
	ck_assert_str_eq(text, "words");
	strcpy(p->srq_ep_broken, "yes");
	return step(PARAMS, p);
}

int __wrap_dofi_mr_cache_choose(const char *name, const struct dofi_params *p)
{
	ck_assert_ptr_eq(name, ia.name);
	return step(CACHE, p);
}

int __wrap_dofi_fabric_env_prepare(const char *name, const struct dofi_params *p)
{
	ck_assert_ptr_eq(name, ia.name);
	return step(ENV, p);
}

int __wrap_dofi_select(const char *name, const struct dofi_params *p, struct fi_info **info_p,
		       struct dofi_nic *nic_p)
{
	ck_assert_ptr_eq(name, ia.name);
	ck_assert_ptr_eq(nic_p, &ia.nic);
	*info_p = &info;
	return step(SELECT, p);
}

int __wrap_dofi_select_addr(const char *name, const struct dofi_params *p, const struct fi_info *of,
			    struct sockaddr_storage *addr_p)
{
	ck_assert_ptr_eq(name, ia.name);
	ck_assert_ptr_eq(of, &info);
	ck_assert_ptr_eq(addr_p, &ia.addr);
	return step(ADDRESS, p);
}

void __wrap_dofi_nic_place_thread(const struct dofi_params *p, struct dofi_nic *nic)
{
	ck_assert_ptr_eq(p, &ia.params);
	ck_assert_ptr_eq(nic, &ia.nic);
	placed = true;
}

void __wrap_dofi_attr_init(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	described = true;
}

static DAT_RETURN choose(void)
{
	fabric_attr.prov_name = (char *)(uintptr_t) "shm";
	ep_attr.type = FI_EP_RDM;
	ep_attr.protocol = FI_PROTO_SHM;
	info.caps = FI_MSG;
	strcpy(ia.name, "test");
	return dofi_ia_choose(&ia, "words");
}

/* The environment is set before libfabric reads it, and the transport is known at the end. */
START_TEST(the_steps_of_the_choice_follow_each_other)
{
	ck_assert_uint_eq(choose(), DAT_SUCCESS);
	ck_assert_int_eq(steps, STEPS);
	ck_assert_str_eq(ia.trans->name, "rdm");
	ck_assert(ia.tells_last_receive);
	ck_assert(placed && described);
}
END_TEST

START_TEST(a_step_that_fails_is_the_last_one)
{
	failing = _i;
	failure = -FI_EINVAL;
	ck_assert_uint_eq(choose(), DOFI_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	ck_assert_int_eq(steps, _i + 1);
	ck_assert(!placed && !described);
	ck_assert(!ia.trans == (_i <= SELECT));
}
END_TEST

START_TEST(a_word_that_is_not_known_ends_the_choice)
{
	t_capture(STDERR_FILENO);
	strcpy(ia.params.last_byte, "nobody");
	ck_assert_uint_eq(choose(), DOFI_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	ck_assert_int_eq(steps, ADDRESS);
	/* a later word is not looked at */
	ck_assert(!ia.tells_last_receive);
}
END_TEST

START_TEST(what_is_missing_is_told)
{
	static const struct {
		int failure;
		DAT_RETURN ret;
		const char *advice;
	} cases[] = {
		{-FI_ENOMEM, DOFI_NO_MEMORY, ""},
		{-EMFILE, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE), "ulimit -n"},
		{-ENFILE, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE), "fs.file-max"},
	};
	int said = t_capture(STDERR_FILENO);

	failing = SELECT;
	failure = cases[_i].failure;
	ck_assert_uint_eq(choose(), cases[_i].ret);
	ck_assert_ptr_nonnull(strstr(t_captured(said), cases[_i].advice));
	ck_assert(!*cases[_i].advice == !*t_captured(said));
}
END_TEST

/* --- the attributes of a fabric; the linker redirects these calls --- */

static struct {
	bool set;
	uint64_t quirks, inject_max;
	enum dofi_order order;
	bool writes_overtake, reads_overtake, has_data, has_immediates, in_order;
} made_up;

#define TRAIT(type, name, args, member, ...)                                           \
	type __real_dofi_##name args;                                                  \
	type __wrap_dofi_##name args;                                                  \
	type __wrap_dofi_##name args                                                   \
	{                                                                              \
		return made_up.set ? made_up.member : __real_dofi_##name(__VA_ARGS__); \
	}

TRAIT(uint64_t, quirks_of, (const struct fi_info *of), quirks, of)
TRAIT(enum dofi_order, order_of, (const struct fi_info *of), order, of)
TRAIT(bool, writes_overtake, (const struct fi_info *of), writes_overtake, of)
TRAIT(bool, reads_overtake, (const struct fi_info *of), reads_overtake, of)
TRAIT(bool, has_data, (const struct fi_info *of, uint64_t quirks), has_data, of, quirks)
TRAIT(bool, has_immediates, (const struct fi_info *of, uint64_t quirks), has_immediates, of, quirks)
TRAIT(uint64_t, inject_max, (const struct fi_info *of, uint64_t quirks), inject_max, of, quirks)
TRAIT(bool, stores_targets_in_order, (const struct fi_info *of, uint64_t quirks), in_order, of,
      quirks)

/* --- what an IA knows --- */

static void know(uint64_t quirks)
{
	made_up.set = true;
	made_up.quirks = quirks;
	be("made up", FI_EP_MSG, FI_PROTO_UNSPEC, FI_MSG);
}

START_TEST(an_ia_knows_its_fabric)
{
	know(0);
	ck_assert_int_eq(ia.order, DOFI_ORDERED);
	ck_assert(!ia.writes_overtake && !ia.reads_overtake && !ia.has_data && !ia.has_immediates);
	ck_assert_uint_eq(ia.inject_max, 0);
	ck_assert_uint_eq(ia.context_gap, 0);
	made_up.order = DOFI_HOLD;
	made_up.inject_max = 77;
	made_up.has_data = true;
	info.mode = FI_CONTEXT;
	know(0);
	ck_assert_int_eq(ia.order, DOFI_HOLD);
	ck_assert_uint_eq(ia.inject_max, 77);
	ck_assert_uint_eq(ia.context_gap, DOFI_CONTEXT_GAP);
	ck_assert(ia.has_data && !ia.has_immediates);
	made_up.has_immediates = true;
	know(0);
	ck_assert(ia.has_immediates);
}
END_TEST

/* What overtakes writes overtakes the last part of a write, too. */
START_TEST(reads_overtake_if_writes_do)
{
	made_up.writes_overtake = _i & 1;
	made_up.reads_overtake = _i & 2;
	know(0);
	ck_assert_int_eq(ia.writes_overtake, _i & 1);
	ck_assert_int_eq(ia.reads_overtake, _i != 0);
}
END_TEST

START_TEST(an_ia_follows_the_quirks_of_its_fabric)
{
	know(0);
	ck_assert_uint_eq(ia.quirks, 0);
	ck_assert(ia.completed == ia.trans->completed);
	ck_assert(!ia.host_only && !ia.cq_mutes && !ia.fences_reads && !ia.moves_alone);
	ck_assert_int_eq(ia.credits, DOFI_CREDITS_CARRIED);
	know(DOFI_QUIRK_UNMARKED_DATA);
	ck_assert_uint_eq(ia.quirks, DOFI_QUIRK_UNMARKED_DATA);
	ck_assert(ia.completed == dofi_data_flag_completed);
	know(DOFI_QUIRK_READER_MUTES);
	ck_assert(ia.cq_mutes);
	know(DOFI_QUIRK_FENCES_READS);
	ck_assert(ia.fences_reads);
	/* With credits, somebody has to answer messages. */
	know(DOFI_QUIRK_QUEUE_PAIRS);
	ck_assert_int_eq(ia.credits, DOFI_CREDITS_NONE);
	ck_assert(ia.moves_alone);
	know(DOFI_QUIRK_QUEUE_PAIRS | DOFI_QUIRK_NO_RETRY);
	ck_assert_int_eq(ia.credits, DOFI_CREDITS_WRITTEN);
	ck_assert(!ia.moves_alone);
}
END_TEST

/* A device stores in order whatever the processor does. */
#define IN_ORDER (DOFI_QUIRK_STORES_IN_ORDER | DOFI_QUIRK_QUEUE_PAIRS)

/* If the fabric stores several targets in order, the last bytes are one of them. */
START_TEST(the_log_tells_how_the_last_bytes_travel)
{
	static const struct {
		const char *word;
		uint64_t quirks;
		bool in_order, names;
		const char *text;
	} cases[] = {
		{"", 0, false, false, "an operation of their own\n"},
		{"", 0, true, false, "an operation of their own\n"},
		{"", IN_ORDER, true, true, "a target of their own\n"},
		{"", IN_ORDER, false, false, "left to the fabric\n"},
#if defined(__x86_64__)
		{"", DOFI_QUIRK_STORES_IN_ORDER, true, true, "a target of their own\n"},
#else
		{"", DOFI_QUIRK_STORES_IN_ORDER, true, false, "an operation of their own\n"},
#endif
		{"fabric", 0, true, false, "left to the fabric\n"},
		{"library", IN_ORDER, true, false, "an operation of their own\n"},
	};
	int said = t_capture(STDERR_FILENO);

	dofi_log_set_level("info");
	made_up.in_order = cases[_i].in_order;
	know(cases[_i].quirks);
	strcpy(ia.params.last_byte, cases[_i].word);
	ck_assert_int_eq(choose_last_byte(&ia), 0);
	ck_assert_int_eq(ia.names_flags, cases[_i].names);
	ck_assert_ptr_nonnull(strstr(t_captured(said), cases[_i].text));
}
END_TEST

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

START_TEST(words_for_other_rooms_are_known)
{
	static const struct {
		const char *wait, *credits, *said;
	} cases[] = {
		{"", "", NULL},
		{"list", "write", NULL},
		{"fd", "", NULL},
		{"epoll", "", "cq_wait=epoll is not known; there are list and fd"},
		{"list", "writes", "credits=writes is not known; there is write"},
	};
	int said = t_capture(STDERR_FILENO);

	strcpy(ia.params.cq_wait, cases[_i].wait);
	strcpy(ia.params.credits, cases[_i].credits);
	ck_assert_int_eq(check_words(&ia), cases[_i].said ? -FI_EINVAL : 0);
	if (cases[_i].said)
		ck_assert_ptr_nonnull(strstr(t_captured(said), cases[_i].said));
	else
		ck_assert_str_eq(t_captured(said), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ia_choose");
	TCase *tcase = tcase_create("ia_choose");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, words_for_other_rooms_are_known, 0, 5);
	tcase_add_loop_test(tcase, only_efa_is_opened_without_peers_of_its_host, 0, 4);
	tcase_add_test(tcase, the_transport_follows_the_endpoint);
	tcase_add_test(tcase, completion_queues_of_devices_begin_small);
	tcase_add_test(tcase, an_ia_knows_its_fabric);
	tcase_add_loop_test(tcase, reads_overtake_if_writes_do, 0, 4);
	tcase_add_test(tcase, an_ia_follows_the_quirks_of_its_fabric);
	tcase_add_loop_test(tcase, the_log_tells_how_the_last_bytes_travel, 0, 7);
	tcase_add_loop_test(tcase, the_last_byte_is_an_operation_if_it_must_be_or_shall_be, 0, 6);
	tcase_add_test(tcase, unknown_words_are_refused_with_the_known_ones);
	tcase_add_test(tcase, the_steps_of_the_choice_follow_each_other);
	tcase_add_loop_test(tcase, a_step_that_fails_is_the_last_one, 0, STEPS);
	tcase_add_test(tcase, a_word_that_is_not_known_ends_the_choice);
	tcase_add_loop_test(tcase, what_is_missing_is_told, 0, 3);
	return t_run(suite);
}
