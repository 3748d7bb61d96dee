/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attributes that are computed from those of the fabric. */
#include "unit.h"

#include "../../../prov/ofi/api/attr.c"

/* MTUs of InfiniBand are powers of two from 256 to 4096. The link has an MTU of its own. */
START_TEST(the_mtu_is_the_largest_that_the_link_carries)
{
	static const struct {
		size_t link;
		unsigned int mtu;
	} cases[] = {{0, 4096},    {9000, 4096}, {4097, 4096}, {4096, 4096}, {4095, 2048},
		     {2048, 2048}, {1500, 1024}, {1024, 1024}, {1023, 512},  {300, 256},
		     {256, 256},   {255, 256},   {1, 256}};
	struct fi_link_attr link = {.mtu = cases[_i].link};
	struct fid_nic nic = {.link_attr = &link};
	struct fi_info info = {.nic = &nic};

	ck_assert_uint_eq(ib_mtu(&info), cases[_i].mtu);
}
END_TEST

START_TEST(the_mtu_without_a_link_is_the_largest)
{
	struct fid_nic nic = {.link_attr = NULL};
	struct fi_info info = {.nic = NULL};

	ck_assert_uint_eq(ib_mtu(&info), 4096);
	info.nic = &nic;
	ck_assert_uint_eq(ib_mtu(&info), 4096);
}
END_TEST

/* --- an IA of a fabric that has a few attributes --- */

static struct fi_domain_attr domain = {.mr_cnt = 0, .name = (char *)"a domain"};
static struct fi_ep_attr ep = {.max_msg_size = 1u << 20};
static struct fi_tx_attr tx = {.iov_limit = 50};
static struct fi_rx_attr rx = {.iov_limit = 40};
static struct fi_fabric_attr fabric = {.prov_name = (char *)"a provider",
				       .name = (char *)"a fabric"};

static struct dofi_ia *new_ia(struct fi_info *info)
{
	static const struct dofi_trans_ops trans = {.id = DOFI_TRANS_RDM, .name = "rdm"};
	struct dofi_ia *ia = calloc(1, sizeof(*ia));

	ck_assert_ptr_nonnull(ia);
	*info = (struct fi_info){.domain_attr = &domain,
				 .ep_attr = &ep,
				 .tx_attr = &tx,
				 .rx_attr = &rx,
				 .fabric_attr = &fabric};
	ia->trans = &trans;
	ia->info = info;
	return ia;
}

/* The guard of a receive is a segment of the fabric, which the consumer cannot have as well. */
START_TEST(the_guard_of_receives_takes_a_segment_of_the_fabric)
{
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	init_limits(ia);
	ck_assert_uint_eq(dofi_guard_segments(ia), 0);
	ck_assert_uint_eq(ia->limits.fabric_iov, 40);
	ia->quirks = DOFI_QUIRK_CUTS;
	init_limits(ia);
	ck_assert_uint_eq(dofi_guard_segments(ia), 1);
	ck_assert_uint_eq(ia->limits.fabric_iov, 39);
	ck_assert_uint_eq(ia->limits.plain, 0);
	free(ia);
}
END_TEST

START_TEST(the_user_limits_the_segments)
{
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	ia->params.max_segments = 36;
	init_limits(ia);
	ck_assert_uint_eq(ia->limits.fabric_iov, 36);
	ck_assert_uint_eq(ia->limits.max_iov, 36);
	ia->params.max_segments = 1; /* the library joins segments beyond it */
	init_limits(ia);
	ck_assert_uint_eq(ia->limits.fabric_iov, 1);
	ck_assert_uint_eq(ia->limits.max_iov, DOFI_LEAST_IOV);
	free(ia);
}
END_TEST

/* A write whose last byte is an operation of its own is plain if it has one byte. */
START_TEST(writes_that_are_split_are_not_plain)
{
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	init_limits(ia);
	ck_assert_uint_eq(ia->limits.plain_write, ia->limits.plain);
	ia->splits_writes = true;
	init_limits(ia);
	ck_assert_uint_eq(ia->limits.plain_write, 1);
	free(ia);
}
END_TEST

/* --- limits --- */

/* Over sockets, the number of endpoints of a domain is a proposal. */
START_TEST(a_device_limits_its_endpoints)
{
	static const struct {
		uint64_t quirks;
		size_t theirs;
		uint32_t most;
	} cases[] = {{0, 8192, MAX_EPS},
		     {DOFI_QUIRK_QUEUE_PAIRS, 8192, 8192},
		     {DOFI_QUIRK_QUEUE_PAIRS, MAX_EPS + 1, MAX_EPS},
		     {DOFI_QUIRK_QUEUE_PAIRS, 0, MAX_EPS}};
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	ia->quirks = cases[_i].quirks;
	domain.ep_cnt = cases[_i].theirs;
	init_limits(ia);
	ck_assert_uint_eq(ia->limits.max_eps, cases[_i].most);
	free(ia);
}
END_TEST

/* Freed entries of the context table rest, so not all of them count. */
START_TEST(regions_are_limited_by_the_table_and_the_fabric)
{
	static const struct {
		size_t theirs;
		uint32_t most;
	} cases[] = {{0, 65536 - 64}, {65536, 65536 - 64}, {65536 - 65, 65536 - 65}, {1, 1}};
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	domain.mr_cnt = cases[_i].theirs;
	init_limits(ia);
	ck_assert_uint_eq(ia->limits.max_lmrs, cases[_i].most);
	ck_assert_uint_eq(ia->limits.max_rmrs, cases[_i].most);
	free(ia);
}
END_TEST

/* A message may be as long as an int tells. */
START_TEST(messages_are_limited_by_the_fabric)
{
	static const struct {
		size_t theirs;
		uint64_t most, plain;
	} cases[] = {{0, 0x7fffffff, 16383},
		     {SIZE_MAX, 0x7fffffff, 16383},
		     {1u << 20, 1u << 20, 16383},
		     {1000, 1000, 1000}};
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	ep.max_msg_size = cases[_i].theirs;
	init_limits(ia);
	ck_assert_uint_eq(ia->limits.max_message, cases[_i].most);
	ck_assert_uint_eq(ia->limits.max_rdma, cases[_i].most);
	ck_assert_uint_eq(ia->limits.plain, cases[_i].plain);
	free(ia);
}
END_TEST

START_TEST(the_fabric_limits_the_segments)
{
	static const struct {
		size_t send, receive;
		uint64_t quirks;
		uint32_t most;
	} cases[] = {{50, 40, 0, 40},
		     {39, 40, 0, 39},
		     {0, 7, 0, 7},
		     {0, 0, 0, UINT16_MAX},
		     {12, 9, DOFI_QUIRK_READ_SEGMENTS, 1}};
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	tx.iov_limit = cases[_i].send;
	rx.iov_limit = cases[_i].receive;
	ia->quirks = cases[_i].quirks;
	init_limits(ia);
	ck_assert_uint_eq(ia->limits.fabric_iov, cases[_i].most);
	ck_assert_uint_eq(ia->limits.max_iov, cases[_i].most > 32 ? cases[_i].most : 32);
	free(ia);
}
END_TEST

/* Over connected endpoints a message of an SRQ names its connection in the completion data. */
START_TEST(srqs_need_to_know_the_connection_of_a_message)
{
	static const struct dofi_trans_ops msg = {.id = DOFI_TRANS_MSG, .name = "msg"};
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	init_limits(ia);
	ck_assert_uint_eq(ia->limits.max_srqs, MAX_EPS);
	ia->trans = &msg;
	init_limits(ia);
	ck_assert_uint_eq(ia->limits.max_srqs, 0);
	ia->has_data = true;
	init_limits(ia);
	ck_assert_uint_eq(ia->limits.max_srqs, MAX_EPS);
	free(ia);
}
END_TEST

START_TEST(some_limits_are_always_the_same)
{
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	init_limits(ia);
	ck_assert_uint_eq(ia->limits.max_dtos, MAX_DTOS);
	ck_assert_uint_eq(ia->limits.max_evds, MAX_EVDS);
	ck_assert_uint_eq(ia->limits.max_evd_qlen, MAX_EVD_QLEN);
	ck_assert_uint_eq(ia->limits.max_pzs, MAX_PZS);
	ck_assert_uint_eq(ia->limits.max_reads, MAX_READS);
	ck_assert_uint_eq(ia->limits.max_lmr, INT64_MAX);
	free(ia);
}
END_TEST

/* --- named attributes --- */

static const char *named_value(const struct dofi_named *named, const char *name)
{
	for (DAT_COUNT i = 0; i < (DAT_COUNT)named->count; i++)
		if (!strcmp(named->list[i].name, name))
			return named->list[i].value;
	return NULL;
}

START_TEST(what_the_fabric_does_not_name_has_no_attribute)
{
	struct dofi_named named = {.count = 0};

	name_attr(&named, "one", "1");
	name_attr(&named, "none", NULL);
	ck_assert_str_eq(named_value(&named, "one"), "1");
	ck_assert_ptr_null(named_value(&named, "none"));
	ck_assert_uint_eq(named.count, 1);
}
END_TEST

START_TEST(the_list_of_named_attributes_is_limited)
{
	struct dofi_named named = {.count = 0};
	const size_t room = sizeof(named.list) / sizeof(named.list[0]);

	for (size_t i = 0; i < room + 2; i++)
		name_attr(&named, "one", "1");
	ck_assert_uint_eq(named.count, room);
}
END_TEST

START_TEST(what_an_ia_is_has_a_name)
{
	static const struct {
		const char *name, *value;
	} all[] = {
		{DAT_OFI_ATTR_PROVIDER, "a provider"},
		{DAT_OFI_ATTR_TRANSPORT, "rdm"},
		{DAT_OFI_ATTR_DOMAIN, "a domain"},
		{DAT_OFI_ATTR_FABRIC, "a fabric"},
		{DAT_OFI_ATTR_VERSION, PACKAGE_VERSION},
		{DAT_OFI_ATTR_KEY, "a key"},
		{DAT_OFI_ATTR_PCI, "0000:3b:00.0"},
		{DAT_OFI_ATTR_NUMA_NODE, "1"},
		{DAT_OFI_ATTR_CHOICE, "the only one"},
		{DAT_OFI_ATTR_MR_CACHE, "FALSE"},
		{DAT_OFI_ATTR_LINK, "unknown"}, /* the first of the facts */
		{DAT_OFI_ATTR_ORDER, "HOLD"},
		{"DAT_IB_PROVIDER_NAME", "OFI"},
		{"DAT_IB_DEVICE_NAME", "a name"},
		{"DAT_IB_CONNECTIVITY_MODE", "DIRECT"},
		{"DAT_IB_RDMA_READ", "TRUE"},
		{"DAT_IB_TRANSPORT_MTU", "4096"},
		{"DAT_IB_PORT_STATUS", "ACTIVE"},
		{"DAT_IB_PORT_NUMBER", "UNKNOWN"},
		{"DAT_EXTENSION_INTERFACE", "TRUE"},
		{"DAT_COUNTERS", "TRUE"},
	};
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);
	const char *value;

	strcpy(ia->name, "a name");
	strcpy(ia->named.key, "a key");
	strcpy(ia->nic.pci_text, "0000:3b:00.0");
	strcpy(ia->nic.node_text, "1");
	strcpy(ia->nic.why, "the only one");
	ia->order = DOFI_HOLD;
	for (int round = 0; round < 2; round++) { /* the second one begins anew */
		dofi_attr_init(ia);
		for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
			value = named_value(&ia->named, all[i].name);
			ck_assert_msg(value && !strcmp(value, all[i].value), "%s is %s",
				      all[i].name, value);
		}
		for (uint32_t i = 0; i < ia->named.facts.count; i++)
			ck_assert_str_eq(named_value(&ia->named, ia->named.facts.list[i].name),
					 ia->named.facts.list[i].value);
		ck_assert_uint_eq(ia->named.count, 23 + ia->named.facts.count);
	}
	free(ia);
}
END_TEST

static ssize_t ctrl_msg(struct dofi_ep *of, const void *text, size_t size)
{
	(void)of, (void)text;
	return (ssize_t)size;
}

static ssize_t ud_send(struct dofi_ep *of, struct dofi_wr *wr, struct dofi_ud_ah *ah)
{
	(void)of, (void)wr, (void)ah;
	return 0;
}

/* The library emulates atomic operations and immediate data if peers can exchange records. */
START_TEST(the_fabric_decides_which_extensions_there_are)
{
	static const struct {
		bool records, immediates, datagrams;
		const char *atomic, *immediate, *ud;
	} cases[] = {{false, false, false, "FALSE", "FALSE", "FALSE"},
		     {true, false, false, "TRUE", "TRUE", "FALSE"},
		     {false, true, false, "FALSE", "TRUE", "FALSE"},
		     {false, false, true, "FALSE", "FALSE", "TRUE"}};
	const struct dofi_trans_ops trans = {.id = DOFI_TRANS_RDM,
					     .name = "rdm",
					     .ctrl_msg = cases[_i].records ? ctrl_msg : NULL,
					     .ud_send = cases[_i].datagrams ? ud_send : NULL};
	struct fi_link_attr link = {.mtu = 1500};
	struct fid_nic nic = {.link_attr = &link};
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	tx.inject_size = 4096;
	info.nic = &nic;
	ia->trans = &trans;
	ia->has_data = cases[_i].records || cases[_i].datagrams;
	ia->has_immediates = cases[_i].immediates;
	dofi_attr_init(ia);
	ck_assert_str_eq(named_value(&ia->named, "DAT_IB_FETCH_AND_ADD"), cases[_i].atomic);
	ck_assert_str_eq(named_value(&ia->named, "DAT_IB_CMP_AND_SWAP"), cases[_i].atomic);
	ck_assert_str_eq(named_value(&ia->named, "DAT_IB_IMMED_DATA"), cases[_i].immediate);
	ck_assert_str_eq(named_value(&ia->named, "DAT_IB_UD"), cases[_i].ud);
	ck_assert_uint_eq(ia->limits.max_datagram, cases[_i].datagrams ? 1024 : 0);
	free(ia);
}
END_TEST

static const struct {
	const char *vendor, *device, *firmware; /* of the device */
	const char *vendor_name;                /* what a consumer sees */
	unsigned int major, minor, firmware_major, firmware_minor;
} devices[] = {
	{"0x15b3", "4.19", "20.31.1014", "0x15b3", 4, 19, 20, 31},
	{"0x15b3", "5", "unknown", "0x15b3", 5, 0, 0, 0},
	{NULL, NULL, NULL, "", 0, 0, 0, 0},
};

START_TEST(the_identity_is_that_of_the_device)
{
	struct fi_device_attr device = {.vendor_id = (char *)(uintptr_t)devices[_i].vendor,
					.device_version = (char *)(uintptr_t)devices[_i].device,
					.firmware = (char *)(uintptr_t)devices[_i].firmware};
	struct fid_nic nic = {.device_attr = &device};
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);
	DAT_IA_ATTR attr;

	info.nic = &nic;
	memset(&attr, 0x5a, sizeof(attr));
	put_identity(ia, &attr);
	ck_assert_str_eq(attr.vendor_name, devices[_i].vendor_name);
	ck_assert_uint_eq(attr.hardware_version_major, devices[_i].major);
	ck_assert_uint_eq(attr.hardware_version_minor, devices[_i].minor);
	ck_assert_uint_eq(attr.firmware_version_major, devices[_i].firmware_major);
	ck_assert_uint_eq(attr.firmware_version_minor, devices[_i].firmware_minor);
	free(ia);
}
END_TEST

/* --- dat_ia_query --- */

/* An IA whose limits all differ. */
static struct dofi_ia *limited_ia(struct fi_info *info)
{
	struct dofi_ia *ia = new_ia(info);

	dofi_attr_init(ia);
	ia->obj.ia = ia;
	atomic_store(&ia->obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_IA);
	strcpy(ia->name, "a name");
	ia->limits = (struct dofi_limits){.max_eps = 11,
					  .max_dtos = 12,
					  .max_evds = 13,
					  .max_evd_qlen = 14,
					  .max_iov = 15,
					  .max_lmrs = 16,
					  .max_rmrs = 17,
					  .max_pzs = 18,
					  .max_srqs = 19,
					  .max_reads = 20,
					  .max_message = 21,
					  .max_rdma = 22,
					  .max_lmr = 23};
	return ia;
}

START_TEST(a_limit_above_32_bits_is_told_as_the_highest_number)
{
	struct fi_info info;
	struct dofi_ia *ia = limited_ia(&info);
	DAT_IA_ATTR attr;

	ia->limits.max_lmr = (uint64_t)UINT32_MAX + 24;
	ck_assert_uint_eq(dofi_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), DAT_SUCCESS);
	ck_assert_uint_eq(attr.max_lmr_block_size, UINT32_MAX);
	free(ia);
}
END_TEST

START_TEST(a_query_tells_the_limits)
{
	struct fi_info info;
	struct dofi_ia *ia = limited_ia(&info);
	DAT_IA_ATTR attr;

	memset(&attr, 0x5a, sizeof(attr));
	ck_assert_uint_eq(dofi_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), DAT_SUCCESS);
	ck_assert_str_eq(attr.adapter_name, "a name");
	ck_assert_ptr_eq((void *)attr.ia_address_ptr, (void *)&ia->addr);
	ck_assert_int_eq(attr.max_eps, 11);
	ck_assert_int_eq(attr.max_dto_per_ep, 12);
	ck_assert_int_eq(attr.max_rdma_read_per_ep_in, 20);
	ck_assert_int_eq(attr.max_rdma_read_per_ep_out, 20);
	ck_assert_int_eq(attr.max_evds, 13);
	ck_assert_int_eq(attr.max_evd_qlen, 14);
	ck_assert_int_eq(attr.max_iov_segments_per_dto, 15);
	ck_assert_int_eq(attr.max_lmrs, 16);
	ck_assert_uint_eq(attr.max_lmr_block_size, 23);
	ck_assert_uint_eq(attr.max_lmr_virtual_address, UINTPTR_MAX);
	ck_assert_int_eq(attr.max_pzs, 18);
	ck_assert_uint_eq(attr.max_message_size, 21);
	ck_assert_uint_eq(attr.max_rdma_size, 22);
	ck_assert_int_eq(attr.max_rmrs, 17);
	ck_assert_uint_eq(attr.max_rmr_target_address, UINTPTR_MAX);
	ck_assert_int_eq(attr.max_srqs, 19);
	ck_assert_int_eq(attr.max_ep_per_srq, 11);
	ck_assert_int_eq(attr.max_recv_per_srq, 12);
	ck_assert_int_eq(attr.max_iov_segments_per_rdma_read, 15);
	ck_assert_int_eq(attr.max_iov_segments_per_rdma_write, 15);
	ck_assert_int_eq(attr.max_rdma_read_in, 220);
	ck_assert_int_eq(attr.max_rdma_read_out, 220);
	ck_assert_int_eq(attr.max_rdma_read_per_ep_in_guaranteed, DAT_TRUE);
	ck_assert_int_eq(attr.max_rdma_read_per_ep_out_guaranteed, DAT_TRUE);
	ck_assert_int_eq(attr.zb_supported, DAT_TRUE); /* of this generation */
	ck_assert_int_eq(attr.num_transport_attr, 0);
	ck_assert_ptr_null(attr.transport_attr);
	ck_assert_int_eq(attr.num_vendor_attr, 0);
	ck_assert_ptr_null(attr.vendor_attr);
	ia->limits.max_srqs = 0;
	ck_assert_uint_eq(dofi_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), DAT_SUCCESS);
	ck_assert_int_eq(attr.max_srqs, 0);
	ck_assert_int_eq(attr.max_ep_per_srq, 0);
	ck_assert_int_eq(attr.max_recv_per_srq, 0);
	free(ia);
}
END_TEST

static void expect_srqs(const DAT_PROVIDER_ATTR *attr, bool supported)
{
	ck_assert_int_eq(attr->srq_supported, supported);
	ck_assert_int_eq(attr->srq_watermarks_supported, supported);
	ck_assert_int_eq(attr->srq_ep_pz_difference_supported, supported);
	ck_assert_int_eq(attr->srq_info_supported, supported);
}

START_TEST(a_query_tells_what_the_provider_does)
{
	DAT_UINT32 major = 77, minor = 77;
	struct fi_info info;
	struct dofi_ia *ia = limited_ia(&info);
	DAT_PROVIDER_ATTR attr;

	ck_assert_int_eq(sscanf(PACKAGE_VERSION, "%u.%u", &major, &minor), 2);
	memset(&attr, 0x5a, sizeof(attr));
	ck_assert_uint_eq(dofi_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr),
			  DAT_SUCCESS);
	ck_assert_str_eq(attr.provider_name, "dat-ofi");
	ck_assert_uint_eq(attr.provider_version_major, major);
	ck_assert_uint_eq(attr.provider_version_minor, minor);
	ck_assert_uint_eq(attr.dapl_version_major, 2);
	ck_assert_uint_eq(attr.dapl_version_minor, 0);
	ck_assert_int_eq(attr.lmr_mem_types_supported,
			 DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL);
	ck_assert_int_eq(attr.iov_ownership_on_return, DAT_IOV_CONSUMER);
	ck_assert_int_eq(attr.dat_qos_supported, DAT_QOS_BEST_EFFORT);
	ck_assert_int_eq(attr.completion_flags_supported,
			 DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
				 DAT_COMPLETION_UNSIGNALLED_FLAG |
				 DAT_COMPLETION_BARRIER_FENCE_FLAG);
	ck_assert_int_eq(attr.is_thread_safe, DAT_FALSE);
	ck_assert_int_eq(attr.max_private_data_size, 256);
	ck_assert_int_eq(attr.supports_multipath, DAT_FALSE);
	ck_assert_int_eq(attr.ep_creator, DAT_PSP_CREATES_EP_IFASKED);
	ck_assert_int_eq(attr.pz_support, DAT_PZ_UNIQUE);
	ck_assert_uint_eq(attr.optimal_buffer_alignment, 64);
	for (int i = 0; i < 36; i++)
		ck_assert_int_eq(attr.evd_stream_merging_supported[i / 6][i % 6], DAT_TRUE);
	expect_srqs(&attr, true);
	ck_assert_int_eq(attr.ep_recv_info_supported, DOFI_EP_RECV_INFO);
	ck_assert_int_eq(attr.lmr_sync_req, DAT_FALSE);
	ck_assert_int_eq(attr.dto_async_return_guaranteed, DAT_TRUE);
	ck_assert_int_eq(attr.rdma_write_for_rdma_read_req, DAT_FALSE);
	ck_assert_int_eq(attr.is_signal_safe, DAT_FALSE); /* of this generation */
	ck_assert_int_eq(attr.num_provider_specific_attr, (DAT_COUNT)ia->named.count);
	ck_assert_ptr_eq(attr.provider_specific_attr, ia->named.list);
	ia->limits.max_srqs = 0;
	ia->thread_safe_asked = DAT_TRUE;
	ck_assert_uint_eq(dofi_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr),
			  DAT_SUCCESS);
	expect_srqs(&attr, false);
	ck_assert_int_eq(attr.is_thread_safe, DAT_TRUE);
	free(ia);
}
END_TEST

/* A mask of 0 asks for nothing, so the structure may be absent and is not written. */
START_TEST(a_query_checks_its_arguments)
{
	struct fi_info info;
	struct dofi_ia *ia = limited_ia(&info);
	static struct dofi_evd evd;
	DAT_PROVIDER_ATTR attr = {.dapl_version_major = 77};
	DAT_IA_ATTR ia_attr = {.max_eps = 77};
	DAT_EVD_HANDLE async = &attr;

#define QUERY(ia_mask, ia_attr_p, mask, attr_p) \
	dofi_ia_query(ia, &async, ia_mask, ia_attr_p, mask, attr_p)
	ck_assert_uint_eq(dofi_ia_query(&evd, &async, 0, NULL, 0, NULL), DOFI_BAD_HANDLE(IA));
	ck_assert_uint_eq(QUERY(DAT_IA_FIELD_ALL + 1, &ia_attr, 0, NULL), DOFI_BAD_ARG(3));
	ck_assert_uint_eq(QUERY(1, NULL, 0, NULL), DOFI_BAD_ARG(4));
	ck_assert_uint_eq(QUERY(0, NULL, 1, NULL), DOFI_BAD_ARG(6));
	ck_assert_ptr_eq(async, &attr); /* a refused call stores nothing */
	ck_assert_uint_eq(QUERY(0, &ia_attr, 0, &attr), DAT_SUCCESS);
	ck_assert_int_eq(ia_attr.max_eps, 77);
	ck_assert_uint_eq(attr.dapl_version_major, 77);
	ck_assert_ptr_eq(async, DAT_EVD_OUT_OF_SCOPE);
	atomic_store(&ia->async_evd, &evd);
	ck_assert_uint_eq(QUERY(0, NULL, 0, NULL), DAT_SUCCESS);
	ck_assert_ptr_eq(async, &evd);
	ck_assert_uint_eq(dofi_ia_query(ia, NULL, 0, NULL, 0, NULL), DAT_SUCCESS);
	ck_assert_uint_eq(QUERY(0, NULL, DAT_PROVIDER_FIELD_ALL + 1, &attr), DAT_SUCCESS);
	ck_assert_uint_eq(attr.dapl_version_major, DAT_VERSION_MAJOR);
#undef QUERY
	free(ia);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("attr");
	TCase *tcase = tcase_create("attr");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, the_mtu_is_the_largest_that_the_link_carries, 0, 13);
	tcase_add_test(tcase, the_mtu_without_a_link_is_the_largest);
	tcase_add_test(tcase, the_guard_of_receives_takes_a_segment_of_the_fabric);
	tcase_add_test(tcase, the_user_limits_the_segments);
	tcase_add_test(tcase, writes_that_are_split_are_not_plain);
	tcase_add_loop_test(tcase, a_device_limits_its_endpoints, 0, 4);
	tcase_add_loop_test(tcase, regions_are_limited_by_the_table_and_the_fabric, 0, 4);
	tcase_add_loop_test(tcase, messages_are_limited_by_the_fabric, 0, 4);
	tcase_add_loop_test(tcase, the_fabric_limits_the_segments, 0, 5);
	tcase_add_test(tcase, srqs_need_to_know_the_connection_of_a_message);
	tcase_add_test(tcase, some_limits_are_always_the_same);
	tcase_add_test(tcase, what_an_ia_is_has_a_name);
	tcase_add_loop_test(tcase, the_fabric_decides_which_extensions_there_are, 0, 4);
	tcase_add_test(tcase, a_query_tells_the_limits);
	tcase_add_test(tcase, a_limit_above_32_bits_is_told_as_the_highest_number);
	tcase_add_test(tcase, a_query_tells_what_the_provider_does);
	tcase_add_test(tcase, a_query_checks_its_arguments);
	tcase_add_test(tcase, what_the_fabric_does_not_name_has_no_attribute);
	tcase_add_test(tcase, the_list_of_named_attributes_is_limited);
	tcase_add_loop_test(tcase, the_identity_is_that_of_the_device, 0,
			    (int)(sizeof(devices) / sizeof(devices[0])));
	return t_run(suite);
}
