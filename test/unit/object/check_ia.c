/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider's entry points, dat_ia_open, dat_ia_query and dat_ia_close, called through the
 * table that a registry gets. The test is the registry; the fabric is tcp on the loopback.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "progress/cno.h"
#include "object/ia.h"

#include "../../lib/t_hooks.h"
#include "../../lib/unit.h"

#define NAME "ofi-tcp-lo"

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *ia_params);
void dat_provider_fini(const DAT_PROVIDER_INFO *info);

/* --- the registry --- */

#define EXPORT __attribute__((visibility("default")))

static struct {
	const DAT_PROVIDER *provider;
	DAT_PROVIDER_INFO info;
} added[8];
static int nadded;
static DAT_RETURN add_answer = DAT_SUCCESS;

EXPORT DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
					    const DAT_PROVIDER_INFO *info)
{
	if (add_answer == DAT_SUCCESS) {
		added[nadded].provider = provider;
		added[nadded++].info = *info;
	}
	return add_answer;
}

EXPORT DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					       const DAT_PROVIDER_INFO *info)
{
	ck_assert_int_gt(nadded, 0);
	nadded--;
	ck_assert_ptr_eq(added[nadded].provider, provider);
	ck_assert_str_eq(added[nadded].info.ia_name, info->ia_name);
	return DAT_SUCCESS;
}

static DAT_PROVIDER_INFO info_of(const char *name, DAT_BOOLEAN thread_safe)
{
	DAT_PROVIDER_INFO info = {.dapl_version_major = DAT_VERSION_MAJOR,
				  .dapl_version_minor = DAT_VERSION_MINOR,
				  .is_thread_safe = thread_safe};

	strcpy(info.ia_name, name);
	return info;
}

static const DAT_PROVIDER *add(const char *name, DAT_BOOLEAN thread_safe, const char *ia_params)
{
	DAT_PROVIDER_INFO info = info_of(name, thread_safe);
	int before = nadded;

	dat_provider_init(&info, ia_params);
	return nadded == before + 1 ? added[before].provider : NULL;
}

static void remove_name(const char *name, DAT_BOOLEAN thread_safe)
{
	DAT_PROVIDER_INFO info = info_of(name, thread_safe);

	dat_provider_fini(&info);
}

/* --- helpers --- */

static const DAT_PROVIDER *table; /* of NAME */

static void setup(void)
{
	table = add(NAME, DAT_FALSE, "");
	ck_assert_ptr_nonnull(table);
}

static DAT_IA_HANDLE open_ia(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	ck_assert_uint_eq(table->ia_open_func(NAME, 8, &async, &ia), DAT_SUCCESS);
	return ia;
}

static void close_ia(DAT_IA_HANDLE ia)
{
	ck_assert_uint_eq(table->ia_close_func(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static void ck_error(DAT_RETURN ret, DAT_RETURN type, DAT_RETURN subtype)
{
	ck_assert_msg(ret == DOFI_ERR(type, subtype), "0x%x is not 0x%x", ret,
		      DOFI_ERR(type, subtype));
}

/* --- entry points --- */

/* REG-021, REG-024 */
START_TEST(test_init_registers_the_name)
{
	ck_assert_int_eq(nadded, 1);
	ck_assert_str_eq(added[0].info.ia_name, NAME);
	ck_assert_str_eq(table->device_name, NAME);
}
END_TEST

/* ERR-019: a registry may call any member of the table. */
START_TEST(test_no_slot_is_empty)
{
	const size_t first = offsetof(DAT_PROVIDER, ia_open_func);

	for (size_t at = first; at < sizeof(*table); at += sizeof(void *)) {
		void *slot;

		memcpy(&slot, (const char *)table + at, sizeof(slot));
		ck_assert_msg(slot != NULL, "slot %zu", (at - first) / sizeof(void *));
	}
}
END_TEST

/* REG-026 */
START_TEST(test_names_and_thread_safety_are_apart)
{
	const DAT_PROVIDER *other = add("any", DAT_FALSE, "provider=tcp domain=lo");
	const DAT_PROVIDER *safe = add(NAME, DAT_TRUE, NULL);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR attr;
	DAT_IA_HANDLE ia;

	ck_assert(other && safe && other != table && safe != table);
	ck_assert_str_eq(other->device_name, "any");
	ck_assert_uint_eq(safe->ia_open_func(NAME, 1, &async, &ia), DAT_SUCCESS);
	ck_assert_ptr_eq(*(const DAT_PROVIDER **)ia, safe);
	ck_assert_uint_eq(safe->ia_query_func(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr), 0);
	ck_assert_int_eq(attr.is_thread_safe, DAT_TRUE);
	close_ia(ia);
	async = DAT_HANDLE_NULL;
	ck_assert_uint_eq(other->ia_open_func("any", 1, &async, &ia), DAT_SUCCESS);
	close_ia(ia);
}
END_TEST

/* REG-027 */
START_TEST(test_other_versions_are_not_registered)
{
	DAT_PROVIDER_INFO info = info_of("other", DAT_FALSE);
	int fd = t_capture(STDERR_FILENO);

	info.dapl_version_major = 3 - DAT_VERSION_MAJOR;
	dat_provider_init(&info, "");
	info = info_of("other", DAT_FALSE);
	info.dapl_version_minor++;
	dat_provider_init(&info, "");
	dat_provider_init(NULL, "");
	ck_assert_int_eq(nadded, 1);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "dat.conf"));
}
END_TEST

/* REG-022, REG-023, REG-025 */
START_TEST(test_fini_and_init_again)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	remove_name(NAME, DAT_FALSE);
	ck_assert_int_eq(nadded, 0);
	remove_name(NAME, DAT_FALSE);
	ck_error(table->ia_open_func(NAME, 1, &async, &ia), DAT_PROVIDER_NOT_FOUND,
		 DAT_NAME_NOT_REGISTERED);
	ck_assert_ptr_eq(add(NAME, DAT_FALSE, ""), table);
	remove_name(NAME, DAT_FALSE);
	add_answer = DOFI_ERR(DAT_PROVIDER_ALREADY_REGISTERED, 0);
	ck_assert_ptr_null(add(NAME, DAT_FALSE, "domain=nosuch"));
	add_answer = DAT_SUCCESS;
	ck_assert_ptr_ne(add(NAME, DAT_FALSE, "domain=nosuch"), NULL);
	ck_error(table->ia_open_func(NAME, 1, &async, &ia), DAT_PROVIDER_NOT_FOUND,
		 DAT_NAME_NOT_REGISTERED);
}
END_TEST

/* A name that is registered stays so, whatever the registry answers the next time. */
START_TEST(test_a_name_that_is_refused_is_told)
{
	int fd = t_capture(STDERR_FILENO);

	ck_assert_ptr_nonnull(add("any", DAT_FALSE, ""));
	add_answer = DOFI_ERR(DAT_PROVIDER_ALREADY_REGISTERED, 0);
	ck_assert_ptr_null(add("any", DAT_FALSE, ""));
	ck_assert_str_eq(t_captured(fd), "");
	ck_assert_ptr_null(add("another", DAT_FALSE, ""));
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "IA another: the registry refuses"));
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "another provider serves that name"));
	fd = t_capture(STDERR_FILENO);
	add_answer = DOFI_ERR(DAT_INTERNAL_ERROR, 0);
	ck_assert_ptr_null(add("a third", DAT_FALSE, ""));
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "the registry refuses"));
	ck_assert_ptr_null(strstr(t_captured(fd), "another provider serves that name"));
}
END_TEST

/* --- dat_ia_open --- */

/* IA-006, IA-007, IA-010, IA-011, IA-013 */
START_TEST(test_open_checks_its_arguments)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, bad = (DAT_EVD_HANDLE)table;
	char endless[DAT_NAME_MAX_LENGTH];
	DAT_IA_HANDLE ia;

	memset(endless, 'x', sizeof(endless));
	ck_error(table->ia_open_func(NULL, 1, &async, &ia), DAT_INVALID_PARAMETER,
		 DAT_INVALID_ARG1);
	ck_error(table->ia_open_func(endless, 1, &async, &ia), DAT_INVALID_PARAMETER,
		 DAT_INVALID_ARG1);
	ck_error(table->ia_open_func(NAME, 0, &async, &ia), DAT_INVALID_PARAMETER,
		 DAT_INVALID_ARG2);
	ck_error(table->ia_open_func(NAME, 1, NULL, &ia), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ck_error(table->ia_open_func(NAME, 1, &async, NULL), DAT_INVALID_PARAMETER,
		 DAT_INVALID_ARG4);
	ck_error(table->ia_open_func(NAME, 0x7fffffff, &async, &ia), DAT_INSUFFICIENT_RESOURCES,
		 DAT_RESOURCE_TEVD);
	ck_assert_ptr_null(async);
	ck_error(table->ia_open_func(NAME, 1, &bad, &ia), DAT_INVALID_HANDLE,
		 DAT_INVALID_HANDLE_EVD_ASYNC);
	bad = DAT_EVD_OUT_OF_SCOPE;
	ck_error(table->ia_open_func(NAME, 1, &bad, &ia), DAT_INVALID_HANDLE,
		 DAT_INVALID_HANDLE_EVD_ASYNC);
}
END_TEST

/* IA-012, IA-014, IA-015, IA-027 */
START_TEST(test_async_evd_of_another_ia)
{
	DAT_EVD_HANDLE first = DAT_HANDLE_NULL, given, found;
	DAT_IA_HANDLE ia[3];

	ck_assert_uint_eq(table->ia_open_func(NAME, 4, &first, &ia[0]), DAT_SUCCESS);
	given = first;
	ck_assert_uint_eq(table->ia_open_func(NAME, 0, &given, &ia[1]), DAT_SUCCESS);
	ck_assert_ptr_eq(given, first);
	given = DAT_EVD_ASYNC_EXISTS;
	ck_assert_uint_eq(table->ia_open_func(NAME, 0, &given, &ia[2]), DAT_SUCCESS);
	ck_assert(ia[0] != ia[1] && ia[1] != ia[2]);

	ck_assert_uint_eq(table->ia_query_func(ia[1], &found, 0, NULL, 0, NULL), DAT_SUCCESS);
	ck_assert_ptr_eq(found, first);
	ck_assert_uint_eq(table->ia_query_func(ia[2], &found, 0, NULL, 0, NULL), DAT_SUCCESS);
	ck_assert_ptr_eq(found, DAT_EVD_OUT_OF_SCOPE);
	ck_error(table->evd_free_func(first), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);

	/* The owner is closed and the EVD freed: the other IA has no EVD for its errors. */
	close_ia(ia[0]);
	ck_assert_uint_eq(table->ia_query_func(ia[1], &found, 0, NULL, 0, NULL), DAT_SUCCESS);
	ck_assert_ptr_eq(found, DAT_EVD_OUT_OF_SCOPE);
	close_ia(ia[1]);
	close_ia(ia[2]);
}
END_TEST

/* IA-019 */
START_TEST(test_unusable_device_is_not_found)
{
	const DAT_PROVIDER *other = add("ofi-efa", DAT_FALSE, "");
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	int fd = t_capture(STDERR_FILENO);

	ck_error(other->ia_open_func("ofi-efa", 1, &async, &ia), DAT_PROVIDER_NOT_FOUND,
		 DAT_NAME_NOT_REGISTERED);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "provider=efa"));
	ck_assert_ptr_null(async);
}
END_TEST

/* --- dat_ia_query --- */

/* IA-040 to IA-045 */
START_TEST(test_query_checks_its_arguments)
{
	DAT_PROVIDER_ATTR prov_attr;
	DAT_IA_HANDLE ia = open_ia();
	DAT_IA_ATTR ia_attr;

	ck_error(table->ia_query_func(ia, NULL, (DAT_IA_ATTR_MASK)DAT_IA_FIELD_ALL + 1, &ia_attr, 0,
				      NULL),
		 DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ck_error(table->ia_query_func(ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL),
		 DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	ck_assert_uint_eq(table->ia_query_func(ia, NULL, 0, NULL,
					       (DAT_PROVIDER_ATTR_MASK)DAT_PROVIDER_FIELD_ALL + 1,
					       &prov_attr),
			  DAT_SUCCESS);
	ck_error(table->ia_query_func(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL),
		 DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	ck_assert_uint_eq(table->ia_query_func(ia, NULL, 0, NULL, 0, NULL), DAT_SUCCESS);
	ck_error(table->ia_query_func(NULL, NULL, 0, NULL, 0, NULL), DAT_INVALID_HANDLE,
		 DAT_INVALID_HANDLE_IA);
	close_ia(ia);
}
END_TEST

/* IA-046 to IA-051, IA-054 */
START_TEST(test_ia_attributes)
{
	DAT_IA_HANDLE ia = open_ia();
	struct sockaddr_in addr;
	DAT_IA_ATTR attr;

	memset(&attr, 0x5a, sizeof(attr));
	ck_assert_uint_eq(table->ia_query_func(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), 0);
	ck_assert_str_eq(attr.adapter_name, NAME);
	ck_assert_ptr_nonnull(memchr(attr.vendor_name, '\0', sizeof(attr.vendor_name)));
	memcpy(&addr, attr.ia_address_ptr, sizeof(addr));
	ck_assert_int_eq(addr.sin_family, AF_INET);
	ck_assert_uint_eq(ntohl(addr.sin_addr.s_addr), INADDR_LOOPBACK);
	ck_assert_int_ge(attr.max_eps, 1024);
	ck_assert_int_eq(attr.max_dto_per_ep, 65536);
	ck_assert_int_ge(attr.max_evds, attr.max_eps);
	ck_assert_int_eq(attr.max_evd_qlen, 1048576);
	ck_assert_int_ge(attr.max_iov_segments_per_dto, 4);
	ck_assert_int_ge(attr.max_iov_segments_per_rdma_read, 4);
	ck_assert_int_ge(attr.max_iov_segments_per_rdma_write, 4);
	ck_assert_int_ge(attr.max_lmrs, 65000);
	ck_assert_int_ge(attr.max_rmrs, 65000);
	ck_assert_int_gt(attr.max_pzs, 0);
	ck_assert_uint_eq(attr.max_message_size, 0x7fffffff);
	ck_assert_uint_eq(attr.max_rdma_size, 0x7fffffff);
	ck_assert_uint_ge(attr.max_lmr_block_size, 0xffffffff);
	ck_assert_int_eq(attr.max_rdma_read_per_ep_in, 128);
	ck_assert_int_gt(attr.max_rdma_read_in, 0);
	ck_assert_int_eq(attr.num_transport_attr, 0);
	ck_assert_int_eq(attr.num_vendor_attr, 0);
	close_ia(ia);
}
END_TEST

/* PRG-15 and attributes that the tools use */
static const char *named(const DAT_PROVIDER_ATTR *attr, const char *name)
{
	for (int i = 0; i < attr->num_provider_specific_attr; i++)
		if (!strcmp(attr->provider_specific_attr[i].name, name))
			return attr->provider_specific_attr[i].value;
	ck_abort_msg("no attribute %s", name);
}

/* IA-052 to IA-060 */
START_TEST(test_provider_attributes)
{
	const DAT_COUNT n = 6;
	DAT_IA_HANDLE ia = open_ia();
	DAT_PROVIDER_ATTR attr;

	memset((void *)&attr, 0x5a, sizeof(attr));
	ck_assert_uint_eq(table->ia_query_func(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr),
			  0);
	ck_assert_uint_eq(attr.dapl_version_major, DAT_VERSION_MAJOR);
	ck_assert_uint_eq(attr.dapl_version_minor, DAT_VERSION_MINOR);
	ck_assert_int_eq(attr.is_thread_safe, DAT_FALSE);
	ck_assert_int_eq(attr.max_private_data_size, 256);
	ck_assert_int_eq(attr.iov_ownership_on_return, DAT_IOV_CONSUMER);
	ck_assert_uint_eq(attr.completion_flags_supported, 0xf);
	ck_assert_int_eq(attr.ep_creator, DAT_PSP_CREATES_EP_IFASKED);
	ck_assert_int_eq(attr.pz_support, DAT_PZ_UNIQUE);
	ck_assert_uint_eq(DAT_OPTIMAL_ALIGNMENT % attr.optimal_buffer_alignment, 0);
	ck_assert_int_eq(attr.lmr_sync_req, DAT_FALSE);
	for (DAT_COUNT i = 0; i < n * n; i++)
		ck_assert_int_eq(attr.evd_stream_merging_supported[i / n][i % n], DAT_TRUE);
	ck_assert_str_eq(named(&attr, DAT_OFI_ATTR_PROVIDER), "tcp");
	ck_assert_str_eq(named(&attr, DAT_OFI_ATTR_TRANSPORT), "msg");
	ck_assert_str_eq(named(&attr, DAT_OFI_ATTR_DOMAIN), "lo");
	ck_assert_str_eq(named(&attr, DAT_OFI_ATTR_VERSION), PACKAGE_VERSION);
	ck_assert_str_eq(named(&attr, DAT_OFI_ATTR_ORDER), "ORDERED");
	ck_assert_str_eq(named(&attr, DAT_OFI_ATTR_TRUNCATED_MESSAGE), "CONNECTION");
	/* the kernel's state of lo */
	ck_assert_str_eq(named(&attr, DAT_OFI_ATTR_LINK), "unknown");
	ck_assert_str_eq(named(&attr, DAT_OFI_ATTR_MR_MODE), "none");
	ck_assert_ptr_nonnull(strstr(named(&attr, DAT_OFI_ATTR_LF_PATH), "/libfabric.so"));
	ck_assert_str_eq(named(&attr, "DAT_IB_DEVICE_NAME"), NAME);
	ck_assert_str_eq(named(&attr, "DAT_IB_RDMA_READ"), "TRUE");
	ck_assert_int_ge(atoi(named(&attr, "DAT_IB_TRANSPORT_MTU")), 256);
	for (int i = 0; i < attr.num_provider_specific_attr; i++)
		ck_assert_ptr_nonnull(attr.provider_specific_attr[i].value);
	close_ia(ia);
}
END_TEST

/* --- dat_ia_close --- */

/* IA-023 to IA-026, IA-033 */
START_TEST(test_graceful_close)
{
	DAT_IA_HANDLE ia = open_ia();
	DAT_PZ_HANDLE pz;

	ck_assert_uint_eq(table->pz_create_func(ia, &pz), DAT_SUCCESS);
	ck_error(table->ia_close_func(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		 DAT_INVALID_STATE_IA_IN_USE);
	ck_error(table->ia_close_func(ia, (DAT_CLOSE_FLAGS)2), DAT_INVALID_PARAMETER,
		 DAT_INVALID_ARG2);
	ck_assert_uint_eq(table->pz_free_func(pz), DAT_SUCCESS);
	ck_assert_uint_eq(table->ia_close_func(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	ck_error(table->ia_close_func(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_HANDLE,
		 DAT_INVALID_HANDLE_IA);
}
END_TEST

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* IA-022, IA-033, IA-034 */
START_TEST(test_abrupt_close_destroys_everything)
{
	const DAT_EVD_FLAGS flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG;
	int fds = 0;

	for (int i = 0; i < 20; i++) {
		DAT_IA_HANDLE ia = open_ia();
		DAT_CNO_HANDLE cno;
		DAT_EVD_HANDLE evd;
		DAT_PSP_HANDLE psp;
		DAT_CONN_QUAL qual;
		DAT_PZ_HANDLE pz;
		DAT_EP_HANDLE ep;

		ck_assert_uint_eq(table->pz_create_func(ia, &pz), DAT_SUCCESS);
		ck_assert_uint_eq(table->cno_create_func(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno),
				  0);
		ck_assert_uint_eq(table->evd_create_func(ia, 8, cno, flags, &evd), DAT_SUCCESS);
		ck_assert_uint_eq(table->ep_create_func(ia, pz, evd, evd, evd, NULL, &ep), 0);
		ck_assert_uint_eq(table->psp_create_any_func(ia, &qual, evd, DAT_PSP_CONSUMER_FLAG,
							     &psp),
				  DAT_SUCCESS);
		close_ia(ia);
		ck_error(table->pz_free_func(pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
		ck_error(table->ep_free_func(ep), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
		ck_error(table->cno_free_func(cno), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
		ck_error(table->psp_free_func(psp), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
		ck_assert_int_eq(DAT_GET_TYPE(table->evd_free_func(evd)), DAT_INVALID_HANDLE);
		/* libfabric keeps some descriptors after the first open. */
		if (i == 0)
			fds = count_fds();
	}
	ck_assert_int_eq(count_fds(), fds);
}
END_TEST

/* Objects are allocated in chunks; the linker redirects mmap to this function. */
static int nmaps;

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
T_STAND_IN void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	nmaps++;
	return __real_mmap(at, size, prot, flags, fd, offset);
}

/* The number of maps that an IA makes which has n objects of each type when it closes. */
static int maps_of_an_ia(int n)
{
	const DAT_EVD_FLAGS flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG;
	int before = nmaps;
	DAT_IA_HANDLE ia = open_ia();

	for (int i = 0; i < n; i++) {
		DAT_CONN_QUAL qual;
		DAT_CNO_HANDLE cno;
		DAT_EVD_HANDLE evd;
		DAT_PSP_HANDLE psp;
		DAT_RMR_HANDLE rmr;
		DAT_PZ_HANDLE pz;
		DAT_EP_HANDLE ep;

		ck_assert_uint_eq(table->pz_create_func(ia, &pz), DAT_SUCCESS);
		ck_assert_uint_eq(table->rmr_create_func(pz, &rmr), DAT_SUCCESS);
		ck_assert_uint_eq(table->cno_create_func(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno),
				  DAT_SUCCESS);
		ck_assert_uint_eq(table->evd_create_func(ia, 2, cno, flags, &evd), DAT_SUCCESS);
		ck_assert_uint_eq(table->ep_create_func(ia, pz, evd, evd, evd, NULL, &ep),
				  DAT_SUCCESS);
		ck_assert_uint_eq(table->psp_create_any_func(ia, &qual, evd, DAT_PSP_CONSUMER_FLAG,
							     &psp),
				  DAT_SUCCESS);
	}
	close_ia(ia);
	return nmaps - before;
}

#define OBJECTS 300 /* more than rest before their memory is used again */

START_TEST(test_the_memory_of_an_abrupt_close_is_used_again)
{
	maps_of_an_ia(OBJECTS);
	maps_of_an_ia(OBJECTS);
	ck_assert_int_eq(maps_of_an_ia(OBJECTS), maps_of_an_ia(0));
}
END_TEST

struct waiter {
	DAT_EVD_HANDLE evd, woken_by;
	DAT_CNO_HANDLE cno;
	DAT_RETURN evd_ret, cno_ret;
};

static void *wait_on_evd(void *arg)
{
	struct waiter *w = arg;
	DAT_EVENT event;
	DAT_COUNT more;

	w->evd_ret = table->evd_wait_func(w->evd, DAT_TIMEOUT_INFINITE, 1, &event, &more);
	return NULL;
}

static void *wait_on_cno(void *arg)
{
	struct waiter *w = arg;

	w->cno_ret = table->cno_wait_func(w->cno, DAT_TIMEOUT_INFINITE, &w->woken_by);
	return NULL;
}

static _Atomic int agent_calls;

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	ck_assert_ptr_null(evd);
	ck_assert_ptr_eq(data, &agent_calls);
	agent_calls++;
}

static bool evd_has_waiter(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return DAT_GET_TYPE(table->evd_dequeue_func(evd, &event)) == DAT_INVALID_STATE;
}

static bool cno_has_waiter(DAT_CNO_HANDLE handle)
{
	struct dofi_cno *cno = handle;
	bool waits;

	dofi_lock(&cno->lock);
	waits = cno->waiters > 0;
	dofi_unlock(&cno->lock);
	return waits;
}

static void wait_until(bool (*condition)(void *), void *handle)
{
	for (int i = 0; !condition(handle); i++) {
		ck_assert_int_lt(i, 10000);
		usleep(1000);
	}
}

/* IA-028, IA-029, IA-030 */
START_TEST(test_abrupt_close_releases_waiters)
{
	DAT_OS_WAIT_PROXY_AGENT proxy = {.instance_data = &agent_calls, .proxy_agent_func = agent};
	struct waiter w = {.woken_by = (DAT_EVD_HANDLE)&w};
	DAT_IA_HANDLE ia = open_ia();
	pthread_t threads[2];

	ck_assert_uint_eq(table->cno_create_func(ia, proxy, &w.cno), DAT_SUCCESS);
	ck_assert_uint_eq(table->evd_create_func(ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG,
						 &w.evd),
			  DAT_SUCCESS);
	pthread_create(&threads[0], NULL, wait_on_evd, &w);
	pthread_create(&threads[1], NULL, wait_on_cno, &w);
	wait_until(evd_has_waiter, w.evd);
	wait_until(cno_has_waiter, w.cno);
	close_ia(ia);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	ck_error(w.evd_ret, DAT_ABORT, 0);
	ck_assert_uint_eq(w.cno_ret, DAT_SUCCESS);
	ck_assert_ptr_null(w.woken_by);
	ck_assert_int_eq(agent_calls, 1);
}
END_TEST

/* Runs in the child. Returns its exit status. */
static int use_handles_of_the_parent(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
	if (DAT_GET_TYPE(table->pz_free_func(pz)) != DAT_INVALID_HANDLE)
		return 1;
	return DAT_GET_TYPE(table->ia_close_func(ia, 0)) != DAT_INVALID_HANDLE ? 2 : 0;
}

static int use_own_ia(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	/* Sanitizers do not support a fork beside other threads: ASan's heap may stay locked. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 0;
#endif
	if (table->ia_open_func(NAME, 1, &async, &ia) != DAT_SUCCESS)
		return 3;
	return table->ia_close_func(ia, 0) != DAT_SUCCESS ? 4 : 0;
}

/* PRG-14: calls of a child on the parent's handles return errors. It can open its own IAs. */
START_TEST(test_handles_are_dead_in_a_forked_child)
{
	DAT_IA_HANDLE ia = open_ia();
	DAT_PZ_HANDLE pz;
	int status;
	pid_t pid;

	ck_assert_uint_eq(table->pz_create_func(ia, &pz), DAT_SUCCESS);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		int failed = use_handles_of_the_parent(ia, pz);

		_exit(failed ? failed : use_own_ia());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(table->pz_free_func(pz), DAT_SUCCESS);
	close_ia(ia);
}
END_TEST

#if DOFI_DAT_MAJOR == 2
/* HND-022, HND-023, CSP-001, CSP-003, DTO-068, DTO-118, EP-114, RMR-007 */
static DAT_RETURN extended(DAT_HANDLE handle, int op, ...)
{
	DAT_RETURN ret;
	va_list args;

	va_start(args, op);
	ret = table->handle_extendedop_func(handle, op, args);
	va_end(args);
	return ret;
}

START_TEST(test_calls_that_are_not_offered)
{
	const DAT_RETURN no = DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	DAT_IA_HANDLE ia = open_ia();
	DAT_BOOLEAN related = DAT_TRUE;
	DAT_CSP_HANDLE csp;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	ck_assert_uint_eq(table->pz_create_func(ia, &pz), DAT_SUCCESS);
	ck_assert_uint_eq(table->ep_create_func(ia, pz, NULL, NULL, NULL, NULL, &ep), DAT_SUCCESS);
	ck_assert_uint_eq(table->ia_ha_related_func(ia, NAME, &related), DAT_SUCCESS);
	ck_assert_int_eq(related, DAT_FALSE);
	ck_error(table->ia_ha_related_func(ia, NULL, &related), DAT_INVALID_PARAMETER,
		 DAT_INVALID_ARG2);
	ck_error(table->ia_ha_related_func(ia, NAME, NULL), DAT_INVALID_PARAMETER,
		 DAT_INVALID_ARG3);
	ck_assert_uint_eq(table->csp_create_func(ia, NULL, NULL, NULL, &csp), no);
	ck_error(table->csp_free_func(ia), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP);
	ck_assert_uint_eq(table->ep_common_connect_func(ep, NULL, 0, 0, NULL), no);
	ck_error(table->ep_common_connect_func(NULL, NULL, 0, 0, NULL), DAT_INVALID_HANDLE,
		 DAT_INVALID_HANDLE_EP);
	ck_assert_uint_eq(extended(ep, 25), no); /* a collective operation */
	ck_error(extended(ep, 0xfff), DAT_NOT_IMPLEMENTED, 0);
	/* no EP for datagrams */
	ck_error(extended(ep, 3), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ck_error(extended((DAT_HANDLE)table, 25), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	close_ia(ia);
}
END_TEST
#endif

/*
 * The registry checks handles before it uses their table. But another thread may close the IA
 * meanwhile, so the provider checks them as well.
 */
START_TEST(test_calls_check_the_ia)
{
	DAT_HANDLE none = (DAT_HANDLE)table, handle;
	DAT_CONN_QUAL qual = 0;

	ck_error(table->pz_create_func(none, &handle), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ck_error(table->ep_create_func(none, NULL, NULL, NULL, NULL, NULL, &handle),
		 DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ck_error(table->ep_create_with_srq_func(none, NULL, NULL, NULL, NULL, NULL, NULL, &handle),
		 DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ck_error(table->srq_create_func(none, NULL, NULL, &handle), DAT_INVALID_HANDLE,
		 DAT_INVALID_HANDLE_IA);
	ck_error(table->psp_create_func(none, 5, NULL, DAT_PSP_CONSUMER_FLAG, &handle),
		 DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ck_error(table->psp_create_any_func(none, &qual, NULL, DAT_PSP_CONSUMER_FLAG, &handle),
		 DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ck_error(table->rsp_create_func(none, 5, NULL, NULL, &handle), DAT_INVALID_HANDLE,
		 DAT_INVALID_HANDLE_IA);
#if DOFI_DAT_MAJOR == 2
	DAT_BOOLEAN related;
	DAT_FD fd;

	ck_error(table->cno_fd_create_func(none, &fd, &handle), DAT_INVALID_HANDLE,
		 DAT_INVALID_HANDLE_IA);
	ck_error(table->csp_create_func(none, NULL, NULL, NULL, &handle), DAT_INVALID_HANDLE,
		 DAT_INVALID_HANDLE_IA);
	ck_error(table->csp_query_func(none, 0, NULL), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP);
	ck_error(table->ia_ha_related_func(none, NAME, &related), DAT_INVALID_HANDLE,
		 DAT_INVALID_HANDLE_IA);
#endif
}
END_TEST

START_TEST(test_ep_with_srq_checks_its_arguments)
{
	DAT_SRQ_ATTR srq_attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_EP_ATTR attr = {.service_type = DAT_SERVICE_TYPE_RC};
	DAT_IA_HANDLE ia = open_ia();
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;

	ck_assert_uint_eq(table->pz_create_func(ia, &pz), DAT_SUCCESS);
	ck_assert_uint_eq(table->srq_create_func(ia, pz, &srq_attr, &srq), DAT_SUCCESS);
	ck_error(table->ep_create_with_srq_func(ia, pz, NULL, NULL, NULL, pz, &attr, &ep),
		 DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	ck_error(table->ep_create_with_srq_func(ia, pz, NULL, NULL, NULL, srq, NULL, &ep),
		 DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	ck_error(table->ep_create_with_srq_func(ia, pz, NULL, NULL, NULL, srq, &attr, NULL),
		 DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	close_ia(ia);
}
END_TEST

/* --- parameters --- */

static DAT_RETURN try_open(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret = table->ia_open_func(NAME, 8, &async, &ia);

	if (ret == DAT_SUCCESS)
		close_ia(ia);
	return ret;
}

static const struct {
	const char *variable, *word;
	bool known;
} words[] = {
	{"DAT_OFI_LAST_BYTE", "library", true}, {"DAT_OFI_LAST_BYTE", "fabric", true},
	{"DAT_OFI_LAST_BYTE", "nobody", false}, {"DAT_OFI_SRQ_EP_BROKEN", "yes", true},
	{"DAT_OFI_SRQ_EP_BROKEN", "no", true},  {"DAT_OFI_SRQ_EP_BROKEN", "maybe", false},
	{"DAT_OFI_MAX_SEGMENTS", "4", true},
};

START_TEST(test_unknown_words_are_refused)
{
	const char *word = words[_i].word;
	int fd = t_capture(STDERR_FILENO);

	setenv(words[_i].variable, word, 1);
	if (words[_i].known) {
		ck_assert_uint_eq(try_open(), DAT_SUCCESS);
		ck_assert_str_eq(t_captured(fd), "");
	} else {
		ck_error(try_open(), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
		ck_assert_ptr_nonnull(strstr(t_captured(fd), word));
		ck_assert_ptr_nonnull(strstr(t_captured(fd), "is not known; there are "));
#if DOFI_DAT_MAJOR == 2
		DAT_HANDLE handle;
		DAT_IA_ATTR attr;

		ck_error(extended((DAT_HANDLE)(uintptr_t)NAME, 0x1000, &handle, DAT_IA_FIELD_ALL,
				  &attr, (DAT_PROVIDER_ATTR_MASK)0, NULL),
			 DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
#endif
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ia");
	TCase *tc = tcase_create("ia");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_init_registers_the_name);
	tcase_add_test(tc, test_no_slot_is_empty);
	tcase_add_test(tc, test_names_and_thread_safety_are_apart);
	tcase_add_test(tc, test_other_versions_are_not_registered);
	tcase_add_test(tc, test_fini_and_init_again);
	tcase_add_test(tc, test_a_name_that_is_refused_is_told);
	tcase_add_test(tc, test_open_checks_its_arguments);
	tcase_add_test(tc, test_async_evd_of_another_ia);
	tcase_add_test(tc, test_unusable_device_is_not_found);
	tcase_add_test(tc, test_query_checks_its_arguments);
	tcase_add_test(tc, test_ia_attributes);
	tcase_add_test(tc, test_provider_attributes);
	tcase_add_test(tc, test_graceful_close);
	tcase_add_test(tc, test_abrupt_close_destroys_everything);
	tcase_add_test(tc, test_the_memory_of_an_abrupt_close_is_used_again);
	tcase_add_test(tc, test_abrupt_close_releases_waiters);
	tcase_add_test(tc, test_handles_are_dead_in_a_forked_child);
	tcase_add_test(tc, test_calls_check_the_ia);
	tcase_add_test(tc, test_ep_with_srq_checks_its_arguments);
	tcase_add_loop_test(tc, test_unknown_words_are_refused, 0,
			    (int)(sizeof(words) / sizeof(words[0])));
#if DOFI_DAT_MAJOR == 2
	tcase_add_test(tc, test_calls_that_are_not_offered);
#endif
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
