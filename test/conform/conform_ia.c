/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* IAs: open, close, and attributes. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "zoo.h"
#include "../lib/t_heap.h"

static DAT_RETURN open_with(DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd)
{
	DAT_IA_HANDLE ia;
	DAT_RETURN ret = dat_ia_open(name, qlen, evd, &ia);

	if (ret == DAT_SUCCESS)
		t_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return ret;
}

static DAT_RETURN open_version(DAT_UINT32 major, DAT_UINT32 minor)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	return dat_ia_openv(t_ia_name(), 8, &evd, &ia, major, minor, DAT_THREADSAFE);
}

/* --- open --- */

START_TEST(IA_001_008_046_060_open)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL, queried;
	DAT_EVD_PARAM param;
	DAT_PROVIDER_ATTR provider;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;

	t_ok(dat_ia_open(t_ia_name(), 40, &evd, &ia));
	ck_assert_ptr_nonnull(ia);
	ck_assert_ptr_nonnull(evd);
	t_ok(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	ck_assert_int_ge(param.evd_qlen, 40);
	ck_assert_ptr_null(param.cno_handle);
	ck_assert_ptr_eq(param.ia_handle, ia);
	ck_assert(param.evd_flags & DAT_EVD_ASYNC_FLAG);
	t_ok(dat_ia_query(ia, &queried, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL,
			  &provider));
	ck_assert_ptr_eq(queried, evd);
	ck_assert_str_eq(attr.adapter_name, t_ia_name());
	ck_assert_uint_eq(provider.dapl_version_major, DAT_VERSION_MAJOR);
	ck_assert_uint_eq(provider.dapl_version_minor, DAT_VERSION_MINOR);
	ck_assert_uint_gt(strnlen(provider.provider_name, DAT_NAME_MAX_LENGTH), 0);
	ck_assert_uint_lt(strnlen(provider.provider_name, DAT_NAME_MAX_LENGTH),
			  DAT_NAME_MAX_LENGTH);
	ck_assert(provider.is_thread_safe == DAT_FALSE || provider.is_thread_safe == DAT_TRUE);
	t_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(IA_002_003_004_unknown_names_and_versions)
{
	static char unknown[] = "no-such-ia-is-here";
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	t_error_sub(open_with(unknown, 8, &evd), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	if (!getenv("DAT_OVERRIDE")) /* a dat.conf may have the name in both generations */
		t_error_sub(open_version(T_OTHER_MAJOR, 0), DAT_PROVIDER_NOT_FOUND,
			    DAT_MAJOR_NOT_FOUND);
	t_error_sub(open_version(99, 0), DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	t_error_sub(open_version(DAT_VERSION_MAJOR, DAT_VERSION_MINOR + 1), DAT_PROVIDER_NOT_FOUND,
		    DAT_MINOR_NOT_FOUND);
	ck_assert_ptr_null(evd);
}
END_TEST

START_TEST(IA_006_007_010_open_refuses_bad_arguments)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	char endless[DAT_NAME_MAX_LENGTH];

	memset(endless, 'a', sizeof(endless));
	t_bad_arg_of(open_with(NULL, 8, &evd), 1);
	t_bad_arg_of(open_with(endless, 8, &evd), 1);
	t_error2(dat_ia_open(t_ia_name(), 8, &evd, NULL), DAT_INVALID_PARAMETER,
		 DAT_INVALID_HANDLE);
	t_bad_arg_of(open_with(t_ia_name(), 0, &evd), 2);
	t_bad_arg_of(open_with(t_ia_name(), -1, &evd), 2);
	ck_assert_ptr_null(evd);
}
END_TEST

START_TEST(IA_009_async_evd_is_an_evd)
{
	DAT_EVD_HANDLE evd = t_tia.async_evd;
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_PARAM param;
	DAT_COUNT nmore;
	DAT_EVENT event;

	t_error(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	t_error(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
	t_ok(dat_evd_modify_cno(evd, cno));
	t_ok(dat_evd_resize(evd, 100));
	t_ok(dat_evd_disable(evd));
	t_ok(dat_evd_set_unwaitable(evd));
	t_ok(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.cno_handle, cno);
	ck_assert_int_ge(param.evd_qlen, 100);
	ck_assert_int_eq(param.evd_state, DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE);
	t_ok(dat_evd_enable(evd));
	t_ok(dat_evd_clear_unwaitable(evd));
	t_error(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
}
END_TEST

START_TEST(IA_011_async_queue_above_the_limit)
{
	/* IA-048 */
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	t_error(open_with(t_ia_name(), t_tia.attr.max_evd_qlen + 1, &evd),
		DAT_INSUFFICIENT_RESOURCES);
	ck_assert_ptr_null(evd);
	t_ok(open_with(t_ia_name(), t_tia.attr.max_evd_qlen, &evd));
}
END_TEST

START_TEST(IA_012_027_async_evd_of_the_consumer)
{
	DAT_EVD_HANDLE mine = t_evd(&t_tia, 8, DAT_EVD_ASYNC_FLAG | DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_HANDLE evd = mine, queried;
	DAT_IA_HANDLE ia;

	t_ok(dat_ia_open(t_ia_name(), 0, &evd, &ia)); /* the length is ignored */
	ck_assert_ptr_eq(evd, mine);
	t_ok(dat_ia_query(ia, &queried, 0, NULL, 0, NULL));
	ck_assert_ptr_eq(queried, mine);
	t_bad_state(dat_evd_free(mine));
	t_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	t_ok(t_post_se(mine, &marks[0]));
	t_wait_se(mine, &marks[0]);
	t_ok(dat_evd_free(mine));
}
END_TEST

START_TEST(IA_013_open_refuses_handles_other_than_an_async_evd)
{
	DAT_EVD_HANDLE freed = t_evd(&t_tia, 8, DAT_EVD_ASYNC_FLAG);
	DAT_EVD_HANDLE bad[3];

	t_ok(dat_evd_free(freed));
	bad[0] = freed;
	bad[1] = t_evd(&t_tia, 8, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	bad[2] = t_tia.pz;
	for (int i = 0; i < 3; i++) {
		DAT_EVD_HANDLE evd = bad[i];

		t_bad_handle_of(open_with(t_ia_name(), 8, &evd), EVD_ASYNC);
		ck_assert_ptr_eq(evd, bad[i]);
	}
}
END_TEST

START_TEST(IA_014_no_async_evd)
{
	/* ERR-041 */
	DAT_EVD_HANDLE evd = DAT_EVD_ASYNC_EXISTS, queried = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	t_ok(dat_ia_open(t_ia_name(), 8, &evd, &ia));
	ck_assert_ptr_eq(evd, DAT_EVD_ASYNC_EXISTS);
	t_ok(dat_ia_query(ia, &queried, 0, NULL, 0, NULL));
	ck_assert_ptr_eq(queried, DAT_EVD_OUT_OF_SCOPE);
	t_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

/* What the program prints would go into a connection. */
START_TEST(IA_001_no_socket_is_a_standard_descriptor)
{
	struct t_ia ia;
	struct stat st;

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	t_ia_open(&ia);
	for (int fd = 0; fd < 3; fd++) {
		ck_assert_int_lt(write(fd, "", 1), 0);
		ck_assert(fstat(fd, &st) < 0 || S_ISDIR(st.st_mode));
	}
	t_ia_close(&ia);
}
END_TEST

START_TEST(IA_015_opens_are_independent)
{
	enum { N = 4 };
	struct t_ia ia[N];
	DAT_EVD_HANDLE evd;

	for (int i = 0; i < N; i++) {
		t_ia_open(&ia[i]);
		for (int j = 0; j < i; j++) {
			ck_assert_ptr_ne(ia[i].ia, ia[j].ia);
			ck_assert_ptr_ne(ia[i].async_evd, ia[j].async_evd);
		}
	}
	evd = t_evd(&ia[N - 1], 4, DAT_EVD_SOFTWARE_FLAG);
	for (int i = 0; i < N - 1; i++)
		t_ia_close_empty(&ia[i]);
	t_ok(t_post_se(evd, &marks[1]));
	t_wait_se(evd, &marks[1]);
	t_ok(dat_evd_free(evd));
	t_ia_close_empty(&ia[N - 1]);
}
END_TEST

START_TEST(IA_017_no_descriptors_are_left)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	struct rlimit limit, tight;
	int before = entries_of("/proc/self/fd");

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (rlim_t spare = 0; spare < 12; spare++) {
		DAT_RETURN ret;

		tight = limit;
		tight.rlim_cur = (rlim_t)before - 1 + spare; /* the directory itself */
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
		ret = open_with(t_ia_name(), 8, &evd);
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		if (ret == DAT_SUCCESS) {
			ck_assert_uint_gt(spare, 0);
			evd = DAT_HANDLE_NULL;
			break;
		}
		t_error(ret, DAT_INSUFFICIENT_RESOURCES);
		ck_assert_ptr_null(evd);
		ck_assert_int_eq(entries_of("/proc/self/fd"), before);
	}
	t_ok(open_with(t_ia_name(), 8, &evd));
	ck_assert_int_eq(entries_of("/proc/self/fd"), before);
}
END_TEST

static bool is_loaded(void)
{
	void *library = dlopen(T_PROVIDER_SONAME, RTLD_LAZY | RTLD_NOLOAD);

	if (library)
		dlclose(library);
	return library;
}

START_TEST(IA_018_first_open_loads_the_library)
{
	/* REG-031 */
	struct t_ia first, second;

	ck_assert(!is_loaded());
	t_ia_open(&first);
	ck_assert(is_loaded());
	t_ia_open(&second);
	t_ia_close_empty(&first);
	t_ia_close_empty(&second);
	t_ia_open(&first);
	t_ia_close_empty(&first);
}
END_TEST

/* --- close --- */

START_TEST(IA_022_abrupt_close_destroys_all_objects)
{
	struct zoo zoo;

	zoo_open(&zoo);
	zoo_close(&zoo);
	zoo_open(&zoo);
	zoo_free(&zoo);
}
END_TEST

START_TEST(IA_023_024_graceful_close_of_single_objects)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	struct t_ia ia = {0};
	DAT_HANDLE object;

	t_ok(dat_ia_open(t_ia_name(), 8, &evd, &ia.ia));
	object = t_cno(&ia);
	t_bad_state_of(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	t_ok(dat_cno_free(object));
	object = t_evd(&ia, 4, DAT_EVD_DTO_FLAG);
	t_bad_state_of(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	t_ok(dat_evd_free(object));
	t_ok(dat_pz_create(ia.ia, &object));
	t_bad_state_of(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	t_ok(dat_pz_free(object));
	t_ok(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(IA_023_graceful_close_refuses_and_changes_nothing)
{
	struct t_ia *ia;
	struct zoo zoo;

	zoo_open(&zoo);
	ia = &zoo.ia;
	t_bad_state_of(dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	/* The IA and its objects still work. */
	t_ok(t_cr_accept(zoo.of[DAT_HANDLE_TYPE_CR], zoo.end.ep));
	t_wait_conn(zoo.end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, zoo.end.ep);
	t_wait_conn(zoo.wild.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, zoo.wild.ep);
	t_ok(t_recv(&zoo.wild, 0, 8, 1, 0));
	t_ok(t_send(&zoo.end, 0, 8, 2, 0));
	t_wait_dto(zoo.wild.recv_evd, zoo.wild.ep, 1, DAT_DTO_SUCCESS, 8);
	t_bad_state_of(dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	zoo_close(&zoo);
}
END_TEST

START_TEST(IA_023_undecided_request_keeps_the_ia_open)
{
	struct t_listener listener;
	struct t_ia asked, asking;
	struct t_end end;
	DAT_CR_HANDLE cr;

	t_ia_open(&asked);
	t_ia_open(&asking);
	t_end_new(&end, &asking, NULL);
	t_listen(&listener, &asked, DAT_PSP_CONSUMER_FLAG);
	t_ok(t_connect(end.ep, &listener));
	cr = t_next_cr(&listener);
	t_listener_free(&listener);
	t_ok(dat_pz_free(asked.pz));
	t_bad_state_of(dat_ia_close(asked.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	t_ok(t_cr_reject(cr));
	t_ok(dat_ia_close(asked.ia, DAT_CLOSE_GRACEFUL_FLAG));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED, end.ep);
	t_ia_close(&asking);
}
END_TEST

START_TEST(IA_025_026_close_refuses_bad_flags_and_closed_ias)
{
	struct t_ia ia;

	t_ia_open(&ia);
	t_bad_arg_of(dat_ia_close(ia.ia, (DAT_CLOSE_FLAGS)2), 2);
	t_bad_arg_of(dat_ia_close(ia.ia, (DAT_CLOSE_FLAGS)0x80000000u), 2);
	t_ia_close_empty(&ia);
	t_bad_handle_of(dat_ia_close(ia.ia, DAT_CLOSE_ABRUPT_FLAG), IA);
	t_bad_handle_of(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG), IA);
	t_bad_handle_of(dat_ia_close(DAT_HANDLE_NULL, DAT_CLOSE_ABRUPT_FLAG), IA);
}
END_TEST

START_TEST(IA_028_abrupt_close_aborts_waiters)
{
	/* EVD-076 */
	struct t_waiter waiter[3];
	struct t_ia ia;

	t_ia_open(&ia);
	t_evd_waiter_start(&waiter[0], t_evd(&ia, 4, DAT_EVD_SOFTWARE_FLAG), 1);
	t_evd_waiter_start(&waiter[1], t_evd(&ia, 4, DAT_EVD_DEFAULT_FLAG), 2);
	t_evd_waiter_start(&waiter[2], ia.async_evd, 1);
	t_ia_close(&ia);
	for (int i = 0; i < 3; i++)
		t_error(t_waiter_join(&waiter[i]), DAT_ABORT);
}
END_TEST

/*
 * Posts, dequeues and queries until the handle is invalid. The test passes if no call crashes.
 */
static void *use_evd(void *evd)
{
	DAT_EVD_PARAM param;
	DAT_EVENT event;

	do {
		t_post_se(evd, NULL);
		dat_evd_dequeue(evd, &event);
		dat_evd_resize(evd, 16);
	} while (DAT_GET_TYPE(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param)) != DAT_INVALID_HANDLE);
	return NULL;
}

START_TEST(IA_037_calls_on_an_evd_while_its_ia_closes)
{
	pthread_t threads[3];
	struct t_ia ia;

	for (int round = 0; round < 20; round++) {
		t_ia_open(&ia);
		for (int i = 0; i < 3; i++) {
			DAT_EVD_HANDLE evd = t_evd(&ia, 4, DAT_EVD_SOFTWARE_FLAG);

			ck_assert_int_eq(pthread_create(&threads[i], NULL, use_evd, evd), 0);
		}
		for (int i = 0; i < round; i++)
			t_pause();
		t_ia_close(&ia);
		for (int i = 0; i < 3; i++)
			t_join(threads[i]);
	}
}
END_TEST

START_TEST(IA_031_032_peer_of_a_closed_ia)
{
	DAT_EVENT_NUMBER number;
	struct t_pair pair;
	struct t_end *end = &pair.end[0];
	unsigned char *mem;
	DAT_EVENT event;

	t_pair_open(&pair, NULL);
	mem = pair.end[1].buf.mem;
	t_fill(mem, T_BUF_SIZE, 7);
	for (uint64_t i = 0; i < 3; i++)
		t_ok(t_recv(end, 0, 8, i, 0));
	t_ia_close(&pair.ia[1]);
	t_ok(t_write(end, 0, 4096, 9, t_remote_seg(&pair.end[1].buf, 0, 4096), 0));
	number = t_wait(end->connect_evd).event_number;
	ck_assert_msg(number == DAT_CONNECTION_EVENT_DISCONNECTED ||
			      number == DAT_CONNECTION_EVENT_BROKEN,
		      "the peer gets %s", t_event_name(number));
	event = t_wait_for(end->request_evd, DAT_DTO_COMPLETION_EVENT);
	ck_assert_int_ne(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	for (uint64_t i = 0; i < 3; i++)
		t_wait_dto(end->recv_evd, end->ep, i, DAT_DTO_ERR_FLUSHED, 0);
	ck_assert(t_is_filled(mem, T_BUF_SIZE, 7));
	t_ia_close(&pair.ia[0]);
}
END_TEST

/* Creates a connection and an object of each type, and closes the IA abruptly. */
static void use_and_close(void)
{
	struct t_pair pair;
	struct zoo zoo;

	zoo_open(&zoo);
	zoo_close(&zoo);
	t_pair_open(&pair, NULL);
	t_ok(t_recv(&pair.end[0], 0, 8, 1, 0));
	t_ia_close(&pair.ia[0]);
	t_ia_close(&pair.ia[1]);
}

/*
 * The memory that libfabric leaks in a round: up to 1.7 KiB for each of two connectionless
 * endpoints.
 */
static size_t loss_of_the_fabric(void)
{
	DAT_PROVIDER_ATTR attr;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	size_t loss = 512;

	t_ok(dat_ia_open(t_ia_name(), 8, &evd, &ia));
	t_ok(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	if (!strcmp(t_named(&attr, DAT_OFI_ATTR_TRANSPORT), "rdm"))
		loss = 4096;
	t_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	return loss;
}

START_TEST(IA_034_abrupt_close_leaks_nothing)
{
	/*
	 * The allocator counts its caches for threads as memory in use. With many rounds they do
	 * not matter.
	 */
	enum { ROUNDS = 80 };
	size_t loss = loss_of_the_fabric();
	int descriptors, threads;
	size_t bytes;

	for (int i = 0; i < 10; i++)
		use_and_close();
	descriptors = entries_of("/proc/self/fd");
	threads = entries_of("/proc/self/task");
	bytes = t_heap_and_maps();
	for (int i = 0; i < ROUNDS; i++)
		use_and_close();
	ck_assert_int_eq(entries_of("/proc/self/fd"), descriptors);
	t_until(entries_of("/proc/self/task") <= threads); /* the last one may be on its way out */
	ck_assert_uint_le(t_heap_and_maps(), bytes + ROUNDS * loss);
}
END_TEST

/* --- query --- */

START_TEST(IA_038_044_query_fills_what_is_asked)
{
	/* IA-039 */
	DAT_PROVIDER_ATTR provider;
	DAT_EVD_HANDLE evd;
	DAT_IA_ATTR attr;

	memset(&attr, 0xff, sizeof(attr));
	memset(&provider, 0xff, sizeof(provider));
	t_ok(dat_ia_query(t_tia.ia, &evd, DAT_IA_FIELD_IA_MAX_EPS | DAT_IA_FIELD_IA_ADDRESS_PTR,
			  &attr, DAT_PROVIDER_FIELD_EP_CREATOR, &provider));
	ck_assert_ptr_eq(evd, t_tia.async_evd);
	ck_assert_int_eq(attr.max_eps, t_tia.attr.max_eps);
	ck_assert_ptr_eq(attr.ia_address_ptr, t_tia.attr.ia_address_ptr);
	ck_assert_int_eq(provider.ep_creator, t_tia.provider.ep_creator);
	t_ok(dat_ia_query(t_tia.ia, NULL, 0, NULL, 0, NULL));
	t_ok(dat_ia_query(t_tia.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	t_ok(dat_ia_query(t_tia.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &provider));
}
END_TEST

START_TEST(IA_040_041_042_043_query_refuses_bad_arguments)
{
	const DAT_IA_ATTR_MASK ia_bit = DAT_IA_FIELD_ALL + 1;
	const DAT_PROVIDER_ATTR_MASK provider_bit = DAT_PROVIDER_FIELD_ALL + 1;
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	t_bad_arg_of(dat_ia_query(t_tia.ia, NULL, ia_bit, &attr, 0, NULL), 3);
	t_bad_arg_of(dat_ia_query(t_tia.ia, NULL, UINT64_MAX, &attr, 0, NULL), 3);
	t_ok(dat_ia_query(t_tia.ia, NULL, 0, NULL, provider_bit, &provider));
	ck_assert_str_eq(provider.provider_name, t_tia.provider.provider_name);
	t_ok(dat_ia_query(t_tia.ia, NULL, 0, NULL, UINT64_MAX, &provider));
	t_bad_arg_of(dat_ia_query(t_tia.ia, NULL, DAT_IA_FIELD_IA_MAX_EPS, NULL, 0, NULL), 4);
	t_bad_arg_of(dat_ia_query(t_tia.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_EP_CREATOR, NULL), 6);
}
END_TEST

START_TEST(IA_046_050_051_054_058_060_attributes_make_sense)
{
	const DAT_PROVIDER_ATTR *provider = &t_tia.provider;
	const DAT_SOCK_ADDR *address = t_tia.attr.ia_address_ptr;
	unsigned int memory = (unsigned int)provider->lmr_mem_types_supported;
	unsigned int known = DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL;

	ck_assert_uint_lt(strnlen(t_tia.attr.adapter_name, DAT_NAME_MAX_LENGTH),
			  DAT_NAME_MAX_LENGTH);
	ck_assert_str_eq(t_tia.attr.adapter_name, t_ia_name());
	ck_assert_ptr_nonnull(address);
	ck_assert(address->sa_family == AF_INET || address->sa_family == AF_INET6);
	ck_assert_uint_eq(memory & known, known);
	ck_assert_uint_gt(provider->optimal_buffer_alignment, 0);
	ck_assert_uint_eq(DAT_OPTIMAL_ALIGNMENT % provider->optimal_buffer_alignment, 0);
	ck_assert(provider->pz_support == DAT_PZ_UNIQUE ||
		  provider->pz_support == DAT_PZ_SHAREABLE);
	ck_assert_uint_eq(provider->dapl_version_major, DAT_VERSION_MAJOR);
	ck_assert(provider->provider_version_major || provider->provider_version_minor);
	ck_assert(provider->ep_creator == DAT_PSP_CREATES_EP_NEVER ||
		  provider->ep_creator == DAT_PSP_CREATES_EP_IFASKED ||
		  provider->ep_creator == DAT_PSP_CREATES_EP_ALWAYS);
	ck_assert_int_ge(provider->max_private_data_size, 64);
}
END_TEST

START_TEST(IA_047_limits_are_not_zero)
{
	const DAT_IA_ATTR *attr = &t_tia.attr;
	const DAT_COUNT counts[] = {
		attr->max_eps,
		attr->max_dto_per_ep,
		attr->max_rdma_read_per_ep_in,
		attr->max_rdma_read_per_ep_out,
		attr->max_evds,
		attr->max_evd_qlen,
		attr->max_iov_segments_per_dto,
		attr->max_lmrs,
		attr->max_pzs,
		attr->max_rmrs,
		attr->max_iov_segments_per_rdma_read,
		attr->max_iov_segments_per_rdma_write,
		attr->max_rdma_read_in,
		attr->max_rdma_read_out,
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		ck_assert_msg(counts[i] > 0, "limit %zu is %d", i, counts[i]);
	ck_assert_uint_gt(attr->max_message_size, 0);
	ck_assert_uint_gt(attr->max_rdma_size, 0);
	ck_assert_uint_gt(attr->max_lmr_block_size, 0);
	ck_assert_uint_gt(attr->max_lmr_virtual_address, (uintptr_t)attr);
	ck_assert_uint_gt(attr->max_rmr_target_address, (uintptr_t)attr);
	if (t_tia.provider.srq_supported) {
		ck_assert_int_gt(attr->max_srqs, 0);
		ck_assert_int_gt(attr->max_ep_per_srq, 0);
		ck_assert_int_gt(attr->max_recv_per_srq, 0);
	}
}
END_TEST

/* Makes the EVD long enough for that many completions. */
static void lengthen(DAT_EVD_HANDLE evd, DAT_COUNT events)
{
	t_ok(dat_evd_resize(evd,
			    events < t_tia.attr.max_evd_qlen ? events : t_tia.attr.max_evd_qlen));
}

START_TEST(IA_047_limits_can_be_reached)
{
	/* 64 Ki receives, and a message with the largest number of segments. */
	DAT_EP_ATTR attr = t_default_attr(&t_tia);
	DAT_COUNT n = t_tia.attr.max_iov_segments_per_dto;
	DAT_LMR_TRIPLET segments[1024];
	struct t_loop loop;

	attr.max_recv_dtos = t_tia.attr.max_dto_per_ep;
	attr.max_request_iov = n;
	attr.max_recv_iov = n;
	attr.max_rdma_read_in = t_tia.attr.max_rdma_read_per_ep_in;
	attr.max_rdma_read_out = t_tia.attr.max_rdma_read_per_ep_out;
	attr.max_rdma_read_iov = t_tia.attr.max_iov_segments_per_rdma_read;
	attr.max_rdma_write_iov = t_tia.attr.max_iov_segments_per_rdma_write;
	if (n > 1024)
		n = 1024;
	t_loop_open(&loop, &t_tia, &attr);
	lengthen(loop.end[1].recv_evd, attr.max_recv_dtos);
	t_fill(loop.end[0].buf.mem, T_BUF_SIZE, 3);
	for (DAT_COUNT i = 0; i < n; i++)
		segments[i] = t_seg(&loop.end[1].buf, (size_t)i * 32, 16);
	t_ok(dat_ep_post_recv(loop.end[1].ep, n, segments, (DAT_DTO_COOKIE){.as_64 = 1}, 0));
	for (DAT_COUNT i = 1; i < attr.max_recv_dtos; i++)
		t_ok(t_recv(&loop.end[1], 0, 0, 2, 0));
	for (DAT_COUNT i = 0; i < n; i++)
		segments[i] = t_seg(&loop.end[0].buf, (size_t)i * 16, 16);
	t_ok(dat_ep_post_send(loop.end[0].ep, n, segments, (DAT_DTO_COOKIE){.as_64 = 3}, 0));
	t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 1, DAT_DTO_SUCCESS, (size_t)n * 16);
	for (DAT_COUNT i = 0; i < n; i++)
		ck_assert_int_eq(memcmp(loop.end[1].buf.mem + i * 32, loop.end[0].buf.mem + i * 16,
					16),
				 0);
}
END_TEST

/* Segments of PIECE bytes with gaps between them. */
#define PIECE 100

static DAT_COUNT pieces_of(const struct t_buf *buf, DAT_COUNT n, DAT_LMR_TRIPLET *pieces)
{
	for (DAT_COUNT i = 0; i < n; i++)
		pieces[i] = t_seg(buf, (size_t)i * 3 * PIECE, PIECE);
	return n;
}

static void expect_pieces(const struct t_buf *scattered, const struct t_buf *whole, DAT_COUNT n)
{
	for (DAT_COUNT i = 0; i < n; i++)
		ck_assert_mem_eq(scattered->mem + i * 3 * PIECE, whole->mem + i * PIECE, PIECE);
}

/* Each kind of transfer, with the segments at either end of a message. */
START_TEST(IA_047_as_many_segments_as_the_ia_reports)
{
	const DAT_COUNT most = t_tia.attr.max_iov_segments_per_dto, n = most < 64 ? most : 64;
	const size_t length = (size_t)n * PIECE;
	const DAT_DTO_COOKIE cookie = {.as_64 = 7};
	DAT_EP_ATTR attr = t_default_attr(&t_tia);
	DAT_RMR_TRIPLET target;
	DAT_LMR_TRIPLET pieces[64];
	struct t_end *us, *peer;
	struct t_loop loop;

	attr.max_request_iov = attr.max_recv_iov = n;
	attr.max_rdma_read_iov = attr.max_rdma_write_iov = n;
	t_loop_open(&loop, &t_tia, &attr);
	us = &loop.end[0];
	peer = &loop.end[1];
	target = t_remote_seg(&peer->buf, 0, length);
	t_fill(us->buf.mem, T_BUF_SIZE, 3);
	memset(peer->buf.mem, 0, T_BUF_SIZE);

	t_ok(t_recv(peer, 0, length, 1, 0));
	t_ok(dat_ep_post_send(us->ep, pieces_of(&us->buf, n, pieces), pieces, cookie, 0));
	t_wait_dto(us->request_evd, us->ep, 7, DAT_DTO_SUCCESS, length);
	t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_SUCCESS, length);
	expect_pieces(&us->buf, &peer->buf, n);

	t_ok(dat_ep_post_recv(peer->ep, pieces_of(&peer->buf, n, pieces), pieces, cookie, 0));
	t_ok(t_send(us, 0, length, 2, 0));
	t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_SUCCESS, length);
	t_wait_dto(peer->recv_evd, peer->ep, 7, DAT_DTO_SUCCESS, length);
	expect_pieces(&peer->buf, &us->buf, n);

	/* The message comes behind the write. */
	t_ok(t_recv(peer, T_BUF_SIZE - 1, 1, 3, 0));
	t_ok(dat_ep_post_rdma_write(us->ep, pieces_of(&us->buf, n, pieces), pieces, cookie, &target,
				    0));
	t_ok(t_send(us, T_BUF_SIZE - 1, 1, 4, 0));
	t_wait_dto(us->request_evd, us->ep, 7, DAT_DTO_SUCCESS, length);
	t_wait_dto(us->request_evd, us->ep, 4, DAT_DTO_SUCCESS, 1);
	t_wait_dto(peer->recv_evd, peer->ep, 3, DAT_DTO_SUCCESS, 1);
	expect_pieces(&us->buf, &peer->buf, n);

	t_fill(peer->buf.mem, T_BUF_SIZE, 4);
	t_ok(dat_ep_post_rdma_read(us->ep, pieces_of(&us->buf, n, pieces), pieces, cookie, &target,
				   0));
	t_wait_dto(us->request_evd, us->ep, 7, DAT_DTO_SUCCESS, length);
	expect_pieces(&us->buf, &peer->buf, n);
}
END_TEST

static DAT_RETURN create_ep(const DAT_EP_ATTR *attr)
{
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 8, DAT_EVD_DEFAULT_FLAG);
	DAT_EP_HANDLE ep;
	DAT_RETURN ret = dat_ep_create(t_tia.ia, t_tia.pz, evd, evd, evd, attr, &ep);

	if (ret == DAT_SUCCESS)
		t_ok(dat_ep_free(ep));
	t_ok(dat_evd_free(evd));
	return ret;
}

START_TEST(IA_048_limits_of_endpoints)
{
	const DAT_IA_ATTR *ia = &t_tia.attr;
	const DAT_EP_ATTR good = t_default_attr(&t_tia);
	DAT_EP_ATTR attr;
	const struct {
		DAT_COUNT *member;
		DAT_COUNT limit;
	} limits[] = {
		{&attr.max_recv_dtos, ia->max_dto_per_ep},
		{&attr.max_request_dtos, ia->max_dto_per_ep},
		{&attr.max_recv_iov, ia->max_iov_segments_per_dto},
		{&attr.max_request_iov, ia->max_iov_segments_per_dto},
		{&attr.max_rdma_read_in, ia->max_rdma_read_per_ep_in},
		{&attr.max_rdma_read_out, ia->max_rdma_read_per_ep_out},
		{&attr.max_rdma_read_iov, ia->max_iov_segments_per_rdma_read},
		{&attr.max_rdma_write_iov, ia->max_iov_segments_per_rdma_write},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		attr = good;
		*limits[i].member = limits[i].limit;
		t_ok(create_ep(&attr));
		*limits[i].member = limits[i].limit + 1;
		t_error2(create_ep(&attr), DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES);
	}
}
END_TEST

START_TEST(IA_048_limits_of_srqs)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = t_tia.attr.max_recv_per_srq, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq;

	if (!t_tia.provider.srq_supported)
		t_skip("the fabric has no SRQs");
	t_ok(dat_srq_create(t_tia.ia, t_tia.pz, &attr, &srq));
	attr.max_recv_dtos++;
	t_error2(dat_srq_create(t_tia.ia, t_tia.pz, &attr, &srq), DAT_INVALID_PARAMETER,
		 DAT_INSUFFICIENT_RESOURCES);
}
END_TEST

START_TEST(IA_052_completion_flags)
{
	DAT_EP_ATTR attr = t_default_attr(&t_tia);
	unsigned int supported = (unsigned int)t_tia.provider.completion_flags_supported;
	struct t_loop loop;

	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	t_loop_open(&loop, &t_tia, &attr);
	for (unsigned int bit = 1; bit <= 0x400; bit <<= 1) {
		DAT_RETURN ret;

		t_ok(t_recv(&loop.end[1], 0, 8, bit, 0));
		ret = t_send(&loop.end[0], 0, 8, bit, (DAT_COMPLETION_FLAGS)bit);
		if (supported & bit) {
			t_ok(ret);
		} else {
			t_bad_arg(ret);
			t_ok(t_send(&loop.end[0], 0, 8, bit, 0));
		}
		t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, bit, DAT_DTO_SUCCESS, 8);
	}
}
END_TEST

START_TEST(IA_053_consumer_owns_the_segments_after_the_post)
{
	DAT_LMR_TRIPLET segments[2];
	struct t_end *from, *to;
	struct t_loop loop;

	if (t_tia.provider.iov_ownership_on_return != DAT_IOV_CONSUMER)
		t_skip("segments stay with the provider");
	t_loop_open(&loop, &t_tia, NULL);
	from = &loop.end[0];
	to = &loop.end[1];
	t_fill(from->buf.mem, 200, 17);
	/* The send waits for a receive, so a change of the memory before that would be seen. */
	segments[0] = t_seg(&from->buf, 0, 100);
	segments[1] = t_seg(&from->buf, 100, 100);
	t_ok(dat_ep_post_send(from->ep, 2, segments, (DAT_DTO_COOKIE){.as_64 = 1}, 0));
	memset(segments, 0xff, sizeof(segments));
	segments[0] = t_seg(&to->buf, 0, 50);
	segments[1] = t_seg(&to->buf, 50, 150);
	t_ok(dat_ep_post_recv(to->ep, 2, segments, (DAT_DTO_COOKIE){.as_64 = 2}, 0));
	memset(segments, 0xff, sizeof(segments));
	t_wait_dto(from->request_evd, from->ep, 1, DAT_DTO_SUCCESS, 200);
	t_wait_dto(to->recv_evd, to->ep, 2, DAT_DTO_SUCCESS, 200);
	ck_assert(t_is_filled(to->buf.mem, 200, 17));
}
END_TEST

START_TEST(IA_056_attributes_tell_what_calls_do)
{
	DAT_SRQ_ATTR srq_attr = {.max_recv_dtos = 8, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq;
	DAT_COUNT buffers, span;
	DAT_RETURN ret;
	struct t_buf sink;
	struct t_loop loop;
	DAT_LMR_TRIPLET segment;
	DAT_RMR_TRIPLET remote;

	ret = dat_srq_create(t_tia.ia, t_tia.pz, &srq_attr, &srq);
	if (t_tia.provider.srq_supported)
		t_ok(ret);
	else
		t_unsupported(ret);
	t_loop_open(&loop, &t_tia, NULL);
	ret = dat_ep_recv_query(loop.end[0].ep, &buffers, &span);
	if (t_tia.provider.ep_recv_info_supported)
		t_ok(ret);
	else
		t_unsupported(ret);
	ck_assert(!t_tia.provider.lmr_sync_req); /* tested by LMR_048 */
	/* An RDMA read does not need the right of remote writes, and no post waits for the peer. */
	ck_assert(!t_tia.provider.rdma_write_for_rdma_read_req);
	ck_assert(t_tia.provider.dto_async_return_guaranteed);
	t_buf_new(&sink, t_tia.ia, t_tia.pz, 4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	t_fill(loop.end[1].buf.mem, 64, 4);
	segment = t_seg(&sink, 0, 64);
	remote = t_remote_seg(&loop.end[1].buf, 0, 64);
	t_ok(dat_ep_post_rdma_read(loop.end[0].ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1},
				   &remote, 0));
	t_wait_dto(loop.end[0].request_evd, loop.end[0].ep, 1, DAT_DTO_SUCCESS, 64);
	ck_assert(t_is_filled(sink.mem, 64, 4));
	t_ok(t_send(&loop.end[0], 0, 64, 2, 0));
	t_no_event(loop.end[1].recv_evd);
}
END_TEST

#if T_DAT_MAJOR == 2
START_TEST(IA_059_attributes_of_2_0)
{
	/* HND-023 */
	const DAT_PROVIDER_ATTR *provider = &t_tia.provider;
	DAT_RETURN ret = dat_extension_op(t_tia.ia, 0x12345);

	t_error2(ret, DAT_MODEL_NOT_SUPPORTED, DAT_NOT_IMPLEMENTED);
	if (t_tia.attr.extension_supported == DAT_EXTENSION_NONE)
		ck_assert_int_eq(t_tia.attr.extension_version, 0);
	else
		ck_assert_int_gt(t_tia.attr.extension_version, 0);
	ck_assert(t_tia.attr.zb_supported == DAT_FALSE || t_tia.attr.zb_supported == DAT_TRUE);
	ck_assert(provider->rmr_scope_supported == DAT_RMR_SCOPE_EP ||
		  provider->rmr_scope_supported == DAT_RMR_SCOPE_PZ ||
		  provider->rmr_scope_supported == DAT_RMR_SCOPE_ANY);
	ck_assert_int_eq(provider->ha_supported, provider->supports_multipath);
	if (!provider->ha_supported)
		ck_assert_uint_eq(provider->ha_loadbalancing, DAT_HA_LB_NONE);
	ck_assert(provider->is_signal_safe == DAT_FALSE || provider->is_signal_safe == DAT_TRUE);
	ck_assert(provider->rdma_read_lmr_rmr_context_exposure == DAT_FALSE ||
		  provider->rdma_read_lmr_rmr_context_exposure == DAT_TRUE);
}
END_TEST
#endif

static void names_are_complete(DAT_COUNT count, const DAT_NAMED_ATTR *list)
{
	ck_assert_int_ge(count, 0);
	for (DAT_COUNT i = 0; i < count; i++) {
		ck_assert_ptr_nonnull(list[i].name);
		ck_assert_ptr_nonnull(list[i].value);
	}
}

START_TEST(IA_061_named_attributes)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	memset(&attr, 0xff, sizeof(attr));
	memset(&provider, 0xff, sizeof(provider));
	t_ok(dat_ia_query(t_tia.ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL,
			  &provider));
	names_are_complete(attr.num_transport_attr, attr.transport_attr);
	names_are_complete(attr.num_vendor_attr, attr.vendor_attr);
	names_are_complete(provider.num_provider_specific_attr, provider.provider_specific_attr);
}
END_TEST

static atomic_int differences;

static void *query_often(void *arg)
{
	(void)arg;
	for (int i = 0; i < 500; i++) {
		DAT_PROVIDER_ATTR provider;
		DAT_EVD_HANDLE evd;
		DAT_IA_ATTR attr;

		memset(&attr, 0, sizeof(attr));
		memset(&provider, 0, sizeof(provider));
		differences += dat_ia_query(t_tia.ia, &evd, DAT_IA_FIELD_ALL, &attr,
					    DAT_PROVIDER_FIELD_ALL, &provider) != DAT_SUCCESS ||
			       evd != t_tia.async_evd || memcmp(&attr, &t_tia.attr, sizeof(attr)) ||
			       memcmp(&provider, &t_tia.provider, sizeof(provider));
	}
	return NULL;
}

START_TEST(IA_062_queries_of_several_threads)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, query_often, NULL), 0);
	for (int i = 0; i < 4; i++)
		t_join(threads[i]);
	ck_assert_int_eq(differences, 0);
}
END_TEST

static void add_query_tests(Suite *suite)
{
	TCase *tc = conform_case(suite, "ia_query");

	tcase_add_test(tc, IA_038_044_query_fills_what_is_asked);
	tcase_add_test(tc, IA_040_041_042_043_query_refuses_bad_arguments);
	tcase_add_test(tc, IA_046_050_051_054_058_060_attributes_make_sense);
	tcase_add_test(tc, IA_047_limits_are_not_zero);
	tcase_add_test(tc, IA_047_limits_can_be_reached);
	tcase_add_test(tc, IA_047_as_many_segments_as_the_ia_reports);
	tcase_add_test(tc, IA_048_limits_of_endpoints);
	tcase_add_test(tc, IA_048_limits_of_srqs);
	tcase_add_test(tc, IA_052_completion_flags);
	tcase_add_test(tc, IA_053_consumer_owns_the_segments_after_the_post);
	tcase_add_test(tc, IA_056_attributes_tell_what_calls_do);
#if T_DAT_MAJOR == 2
	tcase_add_test(tc, IA_059_attributes_of_2_0);
#endif
	tcase_add_test(tc, IA_061_named_attributes);
	tcase_add_test(tc, IA_062_queries_of_several_threads);
}

Suite *conform_ia(void)
{
	Suite *suite = suite_create("ia");
	TCase *tc = conform_case(suite, "ia_open");

	tcase_add_test(tc, IA_002_003_004_unknown_names_and_versions);
	tcase_add_test(tc, IA_006_007_010_open_refuses_bad_arguments);
	tcase_add_test(tc, IA_009_async_evd_is_an_evd);
	tcase_add_test(tc, IA_011_async_queue_above_the_limit);
	tcase_add_test(tc, IA_012_027_async_evd_of_the_consumer);
	tcase_add_test(tc, IA_013_open_refuses_handles_other_than_an_async_evd);
	tcase_add_test(tc, IA_017_no_descriptors_are_left);
	add_query_tests(suite);

	tc = tcase_create("ia_life"); /* these open what they need */
	suite_add_tcase(suite, tc);
	tcase_add_test(tc, IA_001_008_046_060_open);
	tcase_add_test(tc, IA_001_no_socket_is_a_standard_descriptor);
	tcase_add_test(tc, IA_014_no_async_evd);
	tcase_add_test(tc, IA_015_opens_are_independent);
	tcase_add_test(tc, IA_018_first_open_loads_the_library);
	tcase_add_test(tc, IA_022_abrupt_close_destroys_all_objects);
	tcase_add_test(tc, IA_023_024_graceful_close_of_single_objects);
	tcase_add_test(tc, IA_023_graceful_close_refuses_and_changes_nothing);
	tcase_add_test(tc, IA_023_undecided_request_keeps_the_ia_open);
	tcase_add_test(tc, IA_025_026_close_refuses_bad_flags_and_closed_ias);
	tcase_add_test(tc, IA_028_abrupt_close_aborts_waiters);
	tcase_add_test(tc, IA_037_calls_on_an_evd_while_its_ia_closes);
	tcase_add_test(tc, IA_031_032_peer_of_a_closed_ia);
	tcase_add_test(tc, IA_034_abrupt_close_leaks_nothing);
	return suite;
}
