/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Behaviour that existing programs rely on, tested in the way they use it. */
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"
#include "paired.h"
#include "../lib/t_peer.h"

/* --- connection qualifiers --- */

static DAT_RETURN create_psp(const struct t_ia *ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			     DAT_PSP_HANDLE *psp)
{
	return dat_psp_create(ia->ia, qual, evd, DAT_PSP_CONSUMER_FLAG, psp);
}

/* Connects the IA with itself by this qualifier. The request event must have the same qualifier. */
static void connect_by(DAT_PSP_HANDLE psp, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd)
{
	struct t_end end, other;
	DAT_EVENT event;
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival = &event.event_data.cr_arrival_event_data;

	t_end_new(&end, &t_tia, NULL);
	t_end_new(&other, &t_tia, NULL);
	t_ok(t_connect_data(end.ep, &t_tia, qual, T_LIMIT_US, NULL, 0));
	event = t_wait_for(evd, DAT_CONNECTION_REQUEST_EVENT);
	ck_assert_uint_eq(arrival->conn_qual, qual);
	ck_assert_ptr_eq(arrival->sp_handle.psp_handle, psp);
	t_ok(t_cr_accept(arrival->cr_handle, other.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_wait_conn(other.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, other.ep);
	t_end_free(&end);
	t_end_free(&other);
}

START_TEST(PRG_01_qualifiers_of_all_kinds_side_by_side)
{
	/* EP-102 PSP-001 */
	const DAT_CONN_QUAL wanted[] = {
		(DAT_CONN_QUAL)getpid(),
		1024 + (DAT_CONN_QUAL)getpid(),
		1040,
		45248,
		62000,
		0xB0de,
		0xAffab1e,
		0xAffab1e + 1,
		(DAT_CONN_QUAL)1 << 35 | 0x12345678,
		(DAT_CONN_QUAL)(4095 + 1) << 35 | 0x7ffffff8,
		UINT64_MAX - (DAT_CONN_QUAL)getpid(), /* both suites may run at once */
	};
	enum { WANTED = sizeof(wanted) / sizeof(wanted[0]) };
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 16, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL quals[WANTED];
	DAT_PSP_HANDLE psps[WANTED];

	for (int i = 0; i < WANTED; i++) {
		DAT_RETURN ret;

		/* Programs try the next number until one is free. */
		for (quals[i] = wanted[i];; quals[i]++) {
			ret = create_psp(&t_tia, quals[i], evd, &psps[i]);
			if (ret != DAT_CONN_QUAL_IN_USE)
				break;
		}
		t_ok(ret);
	}
	for (int i = WANTED - 1; i >= 0; i--)
		connect_by(psps[i], quals[i], evd);
	for (int i = 0; i < WANTED; i++)
		t_ok(dat_psp_free(psps[i]));
}
END_TEST

START_TEST(PRG_01_any_qualifier_has_16_bits)
{
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 16, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL quals[20];
	DAT_PSP_HANDLE psps[20];

	for (int i = 0; i < 20; i++) {
		t_ok(dat_psp_create_any(t_tia.ia, &quals[i], evd, DAT_PSP_CONSUMER_FLAG, &psps[i]));
		ck_assert_uint_gt(quals[i], 0);
		ck_assert_uint_le(quals[i], UINT16_MAX);
		for (int j = 0; j < i; j++)
			ck_assert_uint_ne(quals[i], quals[j]);
	}
	connect_by(psps[7], quals[7], evd);
}
END_TEST

/* --- addresses --- */

START_TEST(PRG_02_address_at_the_end_of_a_page_with_any_port)
{
	/* The last 16 bytes in front of a page that cannot be read. */
	long page = sysconf(_SC_PAGESIZE);
	struct t_end end, other;
	struct t_listener listener;
	struct sockaddr_in *address;
	char *mem;

	if (t_tia.attr.ia_address_ptr->sa_family != AF_INET)
		t_skip("the IA has no IPv4 address");
	mem = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	ck_assert_ptr_ne(mem, MAP_FAILED);
	ck_assert_int_eq(mprotect(mem + page, (size_t)page, PROT_NONE), 0);
	address = (struct sockaddr_in *)(void *)(mem + page - 16);
	memcpy(address, t_tia.attr.ia_address_ptr, 16);
	address->sin_port = 0xffff;
	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&end, &t_tia, NULL);
	t_end_new(&other, &t_tia, NULL);
	t_ok(dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)address, listener.qual, T_LIMIT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	memset(address, 0, 16);
	t_ok(t_cr_accept(t_next_cr(&listener), other.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
}
END_TEST

static void expect_own_address(const void *address)
{
	const struct sockaddr_in *in = address;

	ck_assert_ptr_nonnull(in);
	if (t_tia.attr.ia_address_ptr->sa_family != AF_INET)
		return;
	ck_assert_int_eq(in->sin_family, AF_INET);
	ck_assert_uint_ne(in->sin_addr.s_addr, 0);
	ck_assert_uint_eq(in->sin_addr.s_addr,
			  ((const struct sockaddr_in *)(const void *)t_tia.attr.ia_address_ptr)
				  ->sin_addr.s_addr);
}

START_TEST(PRG_02_queries_return_addresses)
{
	struct t_listener listener;
	struct t_end end, other;
	DAT_EP_PARAM param;
	DAT_CR_PARAM cr;
	DAT_EVENT event;
	DAT_CR_HANDLE handle;

	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&end, &t_tia, NULL);
	t_end_new(&other, &t_tia, NULL);
	t_ok(t_connect(end.ep, &listener));
	event = t_wait_for(listener.evd, DAT_CONNECTION_REQUEST_EVENT);
	expect_own_address(event.event_data.cr_arrival_event_data.local_ia_address_ptr);
	handle = event.event_data.cr_arrival_event_data.cr_handle;
	t_ok(dat_cr_query(handle, DAT_CR_FIELD_ALL, &cr));
	expect_own_address(cr.remote_ia_address_ptr);
	t_ok(t_cr_accept(handle, other.ep));
	t_wait_conn(other.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, other.ep);
	t_ok(dat_ep_query(other.ep, DAT_EP_FIELD_ALL, &param));
	expect_own_address(param.local_ia_address_ptr);
	expect_own_address(param.remote_ia_address_ptr);
}
END_TEST

/* --- spinning on memory --- */

/*
 * A write whose last bytes are a flag of this size, and the distance of segment borders from its
 * end.
 */
struct spin {
	size_t lead, size, flag;
	DAT_COUNT nsegments;
	size_t cuts[3];
};

/*
 * Sizes that fabrics and processors copy in different ways, at aligned and unaligned addresses. A
 * flag lies in one segment.
 */
static const struct spin spins[] = {
	{0, 20000, 1, 1, {0}},    {0, 20000, 8, 1, {0}}, {4, 20000, 4, 4, {7, 5, 4}},
	{1, 20000, 1, 3, {2, 1}}, {0, 4096, 8, 1, {0}},  {8, 9000, 8, 2, {11}},
	{6, 300, 2, 1, {0}},      {0, 65536, 8, 1, {0}}, {0, 65536, 1, 4, {4, 3, 1}},
	{0, 24, 8, 2, {8}},       {4, 12, 4, 1, {0}},    {5, 10, 1, 1, {0}},
	{2, 6, 2, 1, {0}},        {4, 8, 4, 2, {4}},     {3, 3, 2, 1, {0}},
	{0, 8, 8, 1, {0}},        {7, 1, 1, 1, {0}},
};

#define NSPINS      (sizeof(spins) / sizeof(spins[0]))
#define SPIN_ROUNDS (20u * NSPINS)

/* No byte of a flag is 0. */
static uint64_t flag_of(unsigned int round)
{
	return (round % 255 + 1) * UINT64_C(0x0101010101010101);
}

static void post_spin(const struct t_end *end, const struct spin *spin, unsigned int round,
		      DAT_RMR_TRIPLET target)
{
	DAT_LMR_TRIPLET segments[4];
	uint64_t flag = flag_of(round);
	size_t at = 0;

	t_fill(end->buf.mem, spin->size - spin->flag, round);
	memcpy(end->buf.mem + spin->size - spin->flag, &flag, spin->flag);
	for (DAT_COUNT i = 0; i < spin->nsegments; i++) {
		size_t stop = i + 1 < spin->nsegments ? spin->size - spin->cuts[i] : spin->size;

		segments[i] = t_seg(&end->buf, at, stop - at);
		at = stop;
	}
	t_ok(dat_ep_post_rdma_write(end->ep, spin->nsegments, segments,
				    (DAT_DTO_COOKIE){.as_64 = round}, &target,
				    DAT_COMPLETION_DEFAULT_FLAG));
}

/*
 * Rounds take the halves of the memory in turn. The C library stores a word that it copies twice,
 * as two overlapping words. If the fabric copies so and is interrupted in between, the second store
 * comes when the flag has been seen, and would look like a part of the next one.
 */
static size_t half_of(unsigned int round)
{
	return round % 2 * 2 * T_BUF_SIZE;
}

/* The other process makes the writes that the test asks for. The flag is the end of each. */
static void writer_role(struct t_peer *self)
{
	DAT_RMR_CONTEXT context;
	struct t_end end;
	struct t_ia ia;
	uintptr_t address;
	DAT_CONN_QUAL qual;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	qual = t_peer_hear(self);
	t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	address = (uintptr_t)t_peer_hear(self);
	context = (DAT_RMR_CONTEXT)t_peer_hear(self);
	for (unsigned int round = 1; round <= SPIN_ROUNDS; round++) {
		const struct spin *spin = &spins[round % NSPINS];
		uintptr_t target = address + half_of(round) + spin->lead;

		ck_assert_uint_eq(t_peer_hear(self), round);
		post_spin(&end, spin, round, t_remote(context, target, spin->size));
		t_wait_dto(end.request_evd, end.ep, round, DAT_DTO_SUCCESS, spin->size);
	}
	t_peer_hear(self);
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	t_peer_tell(self, 1);
	t_peer_hear(self);
}

/* Loads the flag by one instruction, as programs do. */
static uint64_t load_flag(const volatile void *flag, size_t size)
{
	switch (size) {
	case 1:
		return *(const volatile uint8_t *)flag;
	case 2:
		return *(const volatile uint16_t *)flag;
	case 4:
		return *(const volatile uint32_t *)flag;
	default:
		return *(const volatile uint64_t *)flag;
	}
}

static uint64_t spin_until_set(const volatile void *flag, size_t size)
{
	uint64_t end = t_now_us() + T_LIMIT_US, value;

	for (;;) {
		for (int i = 0; i < 1000; i++) {
			value = load_flag(flag, size);
			if (value)
				return value;
		}
		ck_assert_msg(t_now_us() < end, "the flag at the end of a write never appeared");
	}
}

/*
 * Whether the kernel stores the end of the write, which it may do byte after byte. libfabric reads
 * the end of a shorter write from the socket into a buffer, and copies the flag at once.
 */
static bool kernel_copies(const struct t_ia *ia, const struct spin *spin)
{
	const char *provider = t_named(&ia->provider, "DAT_OFI_PROVIDER");

	return spin->size > 4096 && (strstr(provider, "tcp") || !strcmp(provider, "net"));
}

/* Whether these are the first bytes of the flag, and those behind them are not stored yet. */
static bool is_beginning(const void *got, const void *want, size_t size)
{
	const unsigned char *bytes = got;
	size_t n = 0;

	while (n < size && bytes[n])
		n++;
	for (size_t i = n; i < size; i++)
		if (bytes[i])
			return false;
	return !memcmp(got, want, n);
}

/* The last byte is stored last, and unless the kernel copies, the flag is stored at once. */
static void expect_spin(unsigned char *mem, const struct spin *spin, unsigned int round, bool whole)
{
	size_t body = spin->size - spin->flag;
	unsigned char *flag = mem + spin->lead + body;
	uint64_t want = flag_of(round), got;

	got = spin_until_set(flag, spin->flag);
	atomic_thread_fence(memory_order_acquire); /* what comes next is read behind the flag */
	ck_assert_msg(t_is_filled(mem + spin->lead, body, round),
		      "a flag of %zu bytes came before the %zu bytes in front of it", spin->flag,
		      body);
	if (!whole && is_beginning(&got, &want, spin->flag)) {
		spin_until_set(flag + spin->flag - 1, 1);
		got = load_flag(flag, spin->flag);
	}
	ck_assert_msg(!memcmp(&got, &want, spin->flag), "a flag of %zu bytes came in parts: %#jx",
		      spin->flag, (uintmax_t)got);
}

START_TEST(PRG_03_polling_program_sees_the_last_byte_last)
{
	/* EVS-133 EVS-135 DTO-112 DTO-130 */
	struct t_listener listener;
	struct t_peer writer;
	struct t_end end;
	struct t_ia ia;

	t_peer_start(&writer, writer_role);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_buf_free(&end.buf);
	t_buf_new(&end.buf, ia.ia, ia.pz, 4 * T_BUF_SIZE, DAT_MEM_PRIV_ALL_FLAG);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(&writer, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_peer_tell(&writer, (uintptr_t)end.buf.mem);
	t_peer_tell(&writer, end.buf.rmr_context);
	for (unsigned int round = 1; round <= SPIN_ROUNDS; round++) {
		const struct spin *spin = &spins[round % NSPINS];

		unsigned char *mem = end.buf.mem + half_of(round);

		memset(mem, 0, spin->lead + spin->size);
		t_peer_tell(&writer, round);
		expect_spin(mem, spin, round, !kernel_copies(&ia, spin));
	}
	/* The peer's disconnect finishes without a call of ours, too. */
	t_peer_tell(&writer, 0);
	ck_assert_uint_eq(t_peer_hear(&writer), 1);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	t_peer_tell(&writer, 0);
	t_peer_join(&writer);
	t_ia_close(&ia);
}
END_TEST

/* --- queue lengths --- */

START_TEST(PRG_04_eps_larger_than_their_evds)
{
	static const DAT_COUNT dtos[] = {70, 20000, 0}, qlen[] = {10, 1024, 8};
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE evd;
	struct t_end model;

	t_end_new(&model, &t_tia, NULL);
	attr = t_ep_attr(model.ep);
	t_end_free(&model);
	for (int i = 0; i < 3; i++) {
		evd = t_evd(&t_tia, qlen[i], DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
		attr.max_recv_dtos = attr.max_request_dtos = dtos[i];
		t_ok(dat_ep_create(t_tia.ia, t_tia.pz, evd, evd, evd, dtos[i] ? &attr : NULL, &ep));
		t_ok(dat_ep_free(ep));
	}
}
END_TEST

START_TEST(PRG_04_evds_of_all_lengths)
{
	/* EVD-002 */
	static const DAT_COUNT lengths[] = {1, 8, 10, 16, 1024, 51200};
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		evd = t_evd(&t_tia, lengths[i], DAT_EVD_SOFTWARE_FLAG);
		t_ok(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		ck_assert_int_ge(param.evd_qlen, lengths[i]);
		t_ok(dat_evd_resize(evd, 2 * lengths[i]));
		t_ok(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		ck_assert_int_ge(param.evd_qlen, 2 * lengths[i]);
	}
}
END_TEST

/* --- merged streams --- */

static void use_merged(DAT_EVD_FLAGS cr_and_more, DAT_EVD_FLAGS dto_and_more)
{
	DAT_EVD_HANDLE cr = t_evd(&t_tia, 64, cr_and_more);
	DAT_EVD_HANDLE dto = t_evd(&t_tia, 64, dto_and_more);
	DAT_EVD_HANDLE conn = cr_and_more & DAT_EVD_CONNECTION_FLAG
				      ? cr
				      : t_evd(&t_tia, 64, DAT_EVD_CONNECTION_FLAG);
	DAT_EVENT event;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	struct t_end end;
	DAT_EP_HANDLE ep;

	t_ok(dat_psp_create_any(t_tia.ia, &qual, cr, DAT_PSP_CONSUMER_FLAG, &psp));
	t_ok(dat_ep_create(t_tia.ia, t_tia.pz, dto, dto, conn, NULL, &ep));
	t_end_new(&end, &t_tia, NULL);
	t_ok(t_connect_data(end.ep, &t_tia, qual, T_LIMIT_US, NULL, 0));
	event = t_wait_for(cr, DAT_CONNECTION_REQUEST_EVENT);
	t_ok(t_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep));
	t_wait_conn(conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_ok(dat_ep_post_recv(ep, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 1},
			      DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_post_send(end.ep, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 2},
			      DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(dto, ep, 1, DAT_DTO_SUCCESS, 0);
	t_ok(dat_ep_free(ep));
	t_end_free(&end);
	t_ok(dat_psp_free(psp));
}

START_TEST(PRG_05_streams_that_programs_merge)
{
	/* EVS-107 EVS-108 */
	use_merged(DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
		   DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	use_merged(DAT_EVD_DTO_FLAG | DAT_EVD_CR_FLAG | DAT_EVD_RMR_BIND_FLAG, DAT_EVD_DTO_FLAG);
}
END_TEST

START_TEST(PRG_05_one_cno_over_all)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE cr = t_evd_of_cno(&t_tia, cno, DAT_EVD_CR_FLAG), hint;
	DAT_EVD_HANDLE soft = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	struct t_end end;
	DAT_EVENT event;

	t_end_new(&end, &t_tia, NULL);
	t_ok(dat_evd_modify_cno(end.recv_evd, cno));
	t_ok(dat_evd_modify_cno(end.connect_evd, cno));
	t_ok(dat_evd_modify_cno(t_tia.async_evd, cno));
	t_ok(dat_psp_create_any(t_tia.ia, &qual, cr, DAT_PSP_CONSUMER_FLAG, &psp));
	t_ok(t_connect_data(end.ep, &t_tia, qual, T_LIMIT_US, NULL, 0));
	t_ok(dat_cno_wait(cno, T_LIMIT_US, &hint));
	ck_assert_ptr_eq(hint, cr);
	t_ok(dat_evd_dequeue(cr, &event));
	t_ok(t_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
	t_ok(dat_cno_wait(cno, T_LIMIT_US, &hint));
	ck_assert_ptr_eq(hint, end.connect_evd);
	t_ok(t_post_se(soft, NULL));
	t_ok(dat_cno_wait(cno, T_LIMIT_US, &hint));
	ck_assert_ptr_eq(hint, soft);
	t_ok(t_recv(&end, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG)); /* the EP is disconnected */
	t_ok(dat_cno_wait(cno, T_LIMIT_US, &hint));
	ck_assert_ptr_eq(hint, end.recv_evd);
}
END_TEST

/* MVAPICH2 uses one EVD for receives, which notify, and requests, which do not. */
START_TEST(PRG_22_receives_and_unsignalled_requests_on_one_evd)
{
	/* EVS-083 EVS-084 */
	struct t_waiter waiter;
	struct t_pair pair;
	struct t_end *near = &pair.end[0], *far = &pair.end[1];
	DAT_EP_PARAM param;
	uint64_t first;

	t_pair_prepare(&pair, NULL);
	param.ep_attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	param.request_evd_handle = near->recv_evd;
	t_ok(dat_ep_modify(near->ep,
			   DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				   DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS,
			   &param));
	t_establish(&pair.listener, near, far);
	t_ok(t_recv(near, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_recv(far, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_evd_waiter_start(&waiter, near->recv_evd, 1);
	t_ok(t_send(near, 0, 8, 1, DAT_COMPLETION_UNSIGNALLED_FLAG));
	t_wait_dto(far->recv_evd, far->ep, 1, DAT_DTO_SUCCESS, 8);
	t_ok(t_send(far, 0, 8, 3, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_waiter_join(&waiter));
	/* The receive woke the thread. The request's event may come first. */
	first = waiter.event.event_data.dto_completion_event_data.user_cookie.as_64;
	ck_assert(first == 2 || (first == 1 && waiter.nmore == 1));
	t_wait_dto(near->recv_evd, near->ep, 3 - first, DAT_DTO_SUCCESS, 8);
	t_wait_dto(far->request_evd, far->ep, 3, DAT_DTO_SUCCESS, 8);
	t_pair_close(&pair);
}
END_TEST

/* In dapltest, connection events of all threads go to EVDs of the first IA. */
START_TEST(PRG_21_connection_events_at_another_ia)
{
	/* EP-020 */
	struct t_pair pair;
	DAT_EVD_HANDLE own;
	DAT_EP_PARAM param;
	struct t_ia other;

	t_ia_open(&other);
	t_pair_prepare(&pair, NULL);
	own = pair.end[0].connect_evd;
	param.connect_evd_handle = t_evd(&other, 8, DAT_EVD_CONNECTION_FLAG);
	t_ok(dat_ep_modify(pair.end[0].ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	pair.end[0].connect_evd = param.connect_evd_handle;
	t_establish(&pair.listener, &pair.end[0], &pair.end[1]);
	t_error_sub(dat_evd_free(param.connect_evd_handle), DAT_INVALID_STATE,
		    DAT_INVALID_STATE_EVD_IN_USE);
	if (_i == 0) {
		t_ok(dat_ep_disconnect(pair.end[1].ep, DAT_CLOSE_GRACEFUL_FLAG));
		t_wait_conn(param.connect_evd_handle, DAT_CONNECTION_EVENT_DISCONNECTED,
			    pair.end[0].ep);
		t_wait_conn(pair.end[1].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED,
			    pair.end[1].ep);
		pair.end[0].connect_evd = own;
		t_ok(dat_ep_free(pair.end[0].ep));
		pair.end[0].ep = DAT_HANDLE_NULL;
		t_ok(dat_evd_free(param.connect_evd_handle));
		t_ia_close_empty(&other);
	} else {
		/*
		 * Closing the IA frees the EVD. The end of the connection is reported by the EP's
		 * own IA.
		 */
		t_ia_close(&other);
		t_ok(dat_ep_disconnect(pair.end[1].ep, DAT_CLOSE_ABRUPT_FLAG));
		t_wait_for(pair.ia[0].async_evd, DAT_ASYNC_ERROR_EP_BROKEN);
		t_wait_conn(pair.end[1].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED,
			    pair.end[1].ep);
		pair.end[0].connect_evd = own;
	}
	t_pair_close(&pair);
}
END_TEST

/* --- attributes --- */

static void expect_big_rdma(const struct t_end *end, const struct t_buf *from,
			    const struct t_buf *to)
{
	DAT_RMR_TRIPLET target = t_remote_seg(to, 0, 1 << 20);
	DAT_LMR_TRIPLET segment = t_seg(from, 0, 1 << 20);
	DAT_DTO_COOKIE cookie = {.as_64 = 9};

	t_ok(dat_ep_post_rdma_write(end->ep, 1, &segment, cookie, &target,
				    DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end->request_evd, end->ep, 9, DAT_DTO_SUCCESS, 1 << 20);
	t_ok(dat_ep_post_rdma_read(end->ep, 1, &segment, cookie, &target,
				   DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end->request_evd, end->ep, 9, DAT_DTO_SUCCESS, 1 << 20);
}

START_TEST(PRG_06_sizes_in_attributes_are_no_limits)
{
	const DAT_VLEN sizes[] = {0, 65536, INT32_MAX}; /* the largest signed 32-bit number */
	struct t_buf big[2];
	struct t_end model;
	DAT_EP_ATTR attr;
	struct t_loop loop;
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	t_end_new(&model, &t_tia, NULL);
	attr = t_ep_attr(model.ep);
	t_end_free(&model);
	/* A device may refuse more than its limit. */
	if (sizes[_i] < attr.max_message_size)
		attr.max_message_size = sizes[_i];
	if (sizes[_i] < attr.max_rdma_size)
		attr.max_rdma_size = sizes[_i];
	t_loop_open(&loop, &t_tia, &attr);
	for (int i = 0; i < 2; i++) {
		DAT_LMR_TRIPLET segment;

		t_buf_new(&big[i], t_tia.ia, t_tia.pz, 1 << 20, DAT_MEM_PRIV_ALL_FLAG);
		segment = t_seg(&big[i], 0, 1 << 20);
		if (i == 0)
			t_ok(dat_ep_post_recv(loop.end[1].ep, 1, &segment, cookie,
					      DAT_COMPLETION_DEFAULT_FLAG));
		else
			t_ok(dat_ep_post_send(loop.end[0].ep, 1, &segment, cookie,
					      DAT_COMPLETION_DEFAULT_FLAG));
	}
	t_wait_dto(loop.end[0].request_evd, loop.end[0].ep, 1, DAT_DTO_SUCCESS, 1 << 20);
	t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 1, DAT_DTO_SUCCESS, 1 << 20);
	expect_big_rdma(&loop.end[0], &big[1], &big[0]);
}
END_TEST

/* The values of InfiniBand that programs ask for without a query, and the sums of the IA. */
START_TEST(PRG_06_attributes_of_other_adapters_become_the_limits)
{
	const uint32_t longest = UINT32_C(1) << 31;
	DAT_EP_ATTR attr = t_default_attr(&t_tia), got;
	DAT_EP_PARAM param;
	struct t_end end;

	attr.max_message_size = attr.max_rdma_size = longest;
	attr.max_rdma_read_in = t_tia.attr.max_rdma_read_in;
	attr.max_rdma_read_out = t_tia.attr.max_rdma_read_out;
	t_end_new(&end, &t_tia, &attr);
	for (int again = 0; again < 2; again++) {
		got = t_ep_attr(end.ep);
		ck_assert_uint_eq(got.max_message_size, t_tia.attr.max_message_size);
		ck_assert_uint_eq(got.max_rdma_size, t_tia.attr.max_rdma_size);
		ck_assert_int_eq(got.max_rdma_read_in, t_tia.attr.max_rdma_read_per_ep_in);
		ck_assert_int_eq(got.max_rdma_read_out, t_tia.attr.max_rdma_read_per_ep_out);
		param.ep_attr = attr;
		t_ok(dat_ep_modify(end.ep,
				   DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE |
					   DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE |
					   DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN |
					   DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
				   &param));
	}
	t_end_free(&end);
}
END_TEST

START_TEST(PRG_06_request_flags_that_programs_set)
{
	static const unsigned int flags[] = {
		DAT_COMPLETION_SUPPRESS_FLAG,
		DAT_COMPLETION_UNSIGNALLED_FLAG,
	};
	struct t_end model;
	struct t_loop loop;
	DAT_EP_ATTR attr;

	t_end_new(&model, &t_tia, NULL);
	attr = t_ep_attr(model.ep);
	t_end_free(&model);
	attr.request_completion_flags = (DAT_COMPLETION_FLAGS)flags[_i];
	t_loop_open(&loop, &t_tia, &attr);
	t_ok(t_recv(&loop.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_recv(&loop.end[1], 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(&loop.end[0], 0, 64, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(t_send(&loop.end[0], 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(loop.end[0].request_evd, loop.end[0].ep, 2, DAT_DTO_SUCCESS, 64);
	t_loop_close(&loop);
}
END_TEST

/* --- early messages --- */

START_TEST(PRG_07_receives_are_posted_when_messages_are_there)
{
	/* DTO-065 */
	struct t_pair pair;

	t_pair_open(&pair, NULL);
	for (int i = 0; i < 2; i++) {
		t_fill(pair.end[i].buf.mem, 1000, 7);
		t_ok(t_send(&pair.end[i], 0, 1000, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(dat_ep_post_send(pair.end[i].ep, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 2},
				      DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (int i = 0; i < 2; i++) {
		const struct t_end *end = &pair.end[i];

		t_ok(t_recv(end, 2000, 1000, 3, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(dat_ep_post_recv(end->ep, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 4},
				      DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(end->recv_evd, end->ep, 3, DAT_DTO_SUCCESS, 1000);
		t_wait_dto(end->recv_evd, end->ep, 4, DAT_DTO_SUCCESS, 0);
		ck_assert(t_is_filled(end->buf.mem + 2000, 1000, 7));
	}
	t_pair_close(&pair);
}
END_TEST

/* --- disconnect and free --- */

START_TEST(PRG_08_both_sides_disconnect_and_free)
{
	struct t_pair pair;

	t_pair_open(&pair, NULL);
	for (int i = 0; i < 2; i++)
		t_ok(t_recv(&pair.end[i], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	for (int i = 0; i < 2; i++)
		t_ok(dat_ep_disconnect(pair.end[i].ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (int i = 0; i < 2; i++) {
		const struct t_end *end = &pair.end[i];

		t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end->ep);
		t_ok(dat_ep_disconnect(end->ep, DAT_CLOSE_GRACEFUL_FLAG));
		t_ok(dat_ep_disconnect(end->ep, DAT_CLOSE_ABRUPT_FLAG));
		t_stays_quiet(end->connect_evd);
	}
	t_pair_close(&pair);
}
END_TEST

START_TEST(PRG_08_free_right_after_a_graceful_disconnect)
{
	struct t_pair pair;

	t_pair_open(&pair, NULL);
	t_ok(t_recv(&pair.end[0], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_disconnect(pair.end[0].ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_ok(dat_ep_free(pair.end[0].ep));
	pair.end[0].ep = DAT_HANDLE_NULL;
	t_wait_conn(pair.end[1].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, pair.end[1].ep);
	t_pair_close(&pair);
}
END_TEST

/* False if the peer had not taken the earlier data in time, as on a busy host. */
static bool ends_in_the_call(struct t_pair *pair)
{
	const struct t_end *end = &pair->end[0];
	DAT_EVENT event;

	t_ok(t_recv(end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_recv(&pair->end[1], 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(end, 64, 64, 3, DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(dat_ep_disconnect(end->ep, DAT_CLOSE_ABRUPT_FLAG));
	if (t_ep_state(end->ep) != DAT_EP_STATE_DISCONNECTED)
		return false;
	t_ok(dat_evd_dequeue(end->connect_evd, &event));
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	t_ok(dat_evd_dequeue(end->recv_evd, &event));
	ck_assert_int_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
	t_ok(dat_ep_reset(end->ep));
	return true;
}

/* OFED's library waits in the call, too, so programs read the events and reset the EP at once. */
START_TEST(PRG_08_abrupt_disconnect_has_ended_on_return)
{
	bool ended = false;

	for (int i = 0; i < 50 && !ended; i++) {
		struct t_pair pair;

		t_pair_open(&pair, NULL);
		ended = ends_in_the_call(&pair);
		t_pair_close(&pair);
	}
	ck_assert(ended);
}
END_TEST

START_TEST(PRG_08_evds_are_freed_too_early)
{
	struct t_listener listener;
	struct t_ia ia;
	DAT_RETURN ret;

	t_ia_open(&ia);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_bad_state(dat_evd_free(listener.evd));
	t_ok(dat_psp_free(listener.psp));
	t_ok(dat_evd_free(listener.evd));
	ret = dat_evd_free(ia.async_evd);
	ck_assert_msg(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_INVALID_STATE ||
			      DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE,
		      "freeing the asynchronous EVD answers %s", t_words(ret));
	t_ia_close(&ia);
}
END_TEST

/* --- private data --- */

START_TEST(PRG_09_private_data_is_changed_and_sent_back)
{
	/* CR-009 EPS-111 */
	struct t_listener listener;
	struct t_end end, other;
	unsigned char data[64];
	DAT_CR_HANDLE handle;
	DAT_CR_PARAM param;
	DAT_EVENT event;
	DAT_COUNT size = _i ? 64 : 28;

	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&end, &t_tia, NULL);
	t_end_new(&other, &t_tia, NULL);
	t_fill(data, sizeof(data), 1);
	t_ok(t_connect_data(end.ep, &t_tia, listener.qual, T_LIMIT_US, data, (size_t)size));
	handle = t_next_cr(&listener);
	memset(&param, 0, sizeof(param));
	t_ok(dat_cr_query(handle, DAT_CR_FIELD_PRIVATE_DATA, &param));
	ck_assert(t_is_filled(param.private_data, (size_t)size, 1));
	t_ok(dat_cr_query(handle, (DAT_CR_PARAM_MASK)DAT_LMR_FIELD_ALL, &param));
	ck_assert_int_eq(param.private_data_size, size);
	t_fill(param.private_data, (size_t)size, 2);
	t_ok(dat_cr_accept(handle, other.ep, size, param.private_data));
	event = t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	ck_assert_int_eq(event.event_data.connect_event_data.private_data_size, size);
	ck_assert(t_is_filled(event.event_data.connect_event_data.private_data, (size_t)size, 2));
}
END_TEST

START_TEST(PRG_09_reject_takes_the_arguments_of_its_generation)
{
	struct t_listener listener;
	struct t_end end;

	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&end, &t_tia, NULL);
	t_ok(t_connect(end.ep, &listener));
#if T_DAT_MAJOR == 1
	t_ok(dat_cr_reject(t_next_cr(&listener)));
#else
	t_ok(dat_cr_reject(t_next_cr(&listener), 0, NULL));
#endif
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED, end.ep);
}
END_TEST

/* --- raw comparisons --- */

START_TEST(PRG_10_three_return_codes_have_no_class_bit)
{
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 4, DAT_EVD_SOFTWARE_FLAG), hint;
	struct t_listener listener;
	DAT_PSP_HANDLE psp;
	DAT_COUNT nmore;
	DAT_EVENT event;

	ck_assert_uint_eq(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	ck_assert_uint_eq(dat_evd_wait(evd, 1000, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	ck_assert_uint_eq(dat_cno_wait(t_cno(&t_tia), 1000, &hint), DAT_QUEUE_EMPTY);
	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	ck_assert_uint_eq(create_psp(&t_tia, listener.qual, listener.evd, &psp),
			  DAT_CONN_QUAL_IN_USE);
	ck_assert_uint_eq(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)), DAT_QUEUE_EMPTY);
}
END_TEST

/* --- null outputs --- */

START_TEST(PRG_11_outputs_may_be_null)
{
	static unsigned char mem[4096];
	DAT_REGION_DESCRIPTION region = {.for_va = mem};
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;
	DAT_LMR_HANDLE lmr;

	t_ok(t_lmr_create(t_tia.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(mem), t_tia.pz,
			  DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL));
	t_ok(dat_lmr_free(lmr));
	t_error(t_lmr_create(t_tia.ia, DAT_MEM_TYPE_VIRTUAL, region, 0, t_tia.pz,
			     DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL),
		DAT_LENGTH_ERROR);
	t_ok(dat_ia_query(t_tia.ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL,
			  &provider));
	t_ok(dat_ia_query(t_tia.ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_NONE, NULL));
	t_ok(dat_ia_query(t_tia.ia, NULL, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL,
			  &provider));
}
END_TEST

START_TEST(PRG_11_sends_from_write_only_memory)
{
	struct t_loop loop;
	struct t_buf buf;
	DAT_LMR_TRIPLET segment;

	t_loop_open(&loop, &t_tia, NULL);
	t_buf_new(&buf, t_tia.ia, t_tia.pz, 4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	segment = t_seg(&buf, 0, 100);
	t_ok(t_recv(&loop.end[1], 0, 100, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_post_send(loop.end[0].ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 2},
			      DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 1, DAT_DTO_SUCCESS, 100);
}
END_TEST

/* --- handles and names --- */

START_TEST(PRG_12_stale_and_wrong_handles)
{
	/* HND-016 */
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 4, DAT_EVD_CR_FLAG);
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct t_end end;
	DAT_EVENT event;

	t_ok(dat_psp_create_any(t_tia.ia, &qual, evd, DAT_PSP_PROVIDER_FLAG, &psp));
	t_ok(dat_psp_free(psp));
	t_bad_handle(dat_psp_free(psp));
	t_end_new(&end, &t_tia, NULL);
	t_bad_handle(dat_ep_free(end.recv_evd));
	t_bad_handle(dat_evd_free(end.ep));
	t_bad_handle(dat_lmr_free(end.ep));
	t_end_free(&end);
	t_bad_handle(dat_ep_free(end.ep));
	t_bad_handle(dat_lmr_free(end.buf.lmr));
	t_bad_handle(dat_evd_dequeue(end.recv_evd, &event));
}
END_TEST

static DAT_RETURN open_name(const char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char copy[64];
	DAT_IA_HANDLE ia;

	snprintf(copy, sizeof(copy), "%s", name);
	return dat_ia_open(copy, 8, &async, &ia);
}

START_TEST(PRG_12_unknown_ia)
{
	t_error(open_name("no-such-adapter0"), DAT_PROVIDER_NOT_FOUND);
}
END_TEST

START_TEST(PRG_13_short_list_of_providers)
{
	/* REG-014 */
	DAT_PROVIDER_INFO info[1], *list[1] = {info};
	DAT_COUNT number = 77;

	memset(info, 0, sizeof(info));
	t_ok(dat_registry_list_providers(1, &number, list));
	ck_assert_int_eq(number, 1);
	ck_assert_int_ne(info[0].ia_name[0], '\0');
}
END_TEST

START_TEST(PRG_13_lines_of_both_generations_in_one_file)
{
	/* REG-029 */
	char path[] = "/tmp/dat-ofi-prg13.XXXXXX";
	int fd = mkstemp(path);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "prg13";
	DAT_IA_HANDLE ia;

	ck_assert_int_ge(fd, 0);
	dprintf(fd, "prg13 " T_OTHER_API
		    " nonthreadsafe default /nowhere/libother.so dapl.1.0 \"\" \"\"\n"
		    "prg13 " T_API " nonthreadsafe default " T_PROVIDER_SONAME
		    " dapl.1.0 \"provider=tcp domain=lo\" \"\"\n");
	close(fd);
	setenv("DAT_OVERRIDE", path, 1);
	t_ok(dat_ia_open(name, 8, &async, &ia));
	t_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	unlink(path);
}
END_TEST

/* --- the library as a whole --- */

#ifndef dat_ia_open
#error "programs expect dat_ia_open to be a macro over dat_ia_openv"
#endif

START_TEST(PRG_14_symbol_versions)
{
	/* ERR-001 */
	static const char *const calls[] = {"dat_ia_openv", "dat_ia_close", "dat_ep_post_send",
					    "dat_evd_wait", "dat_strerror"};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		ck_assert_msg(dlvsym(RTLD_DEFAULT, calls[i],
				     T_DAT_MAJOR == 1 ? "DAT_1.2" : "DAT_2.0"),
			      "%s has not its version", calls[i]);
}
END_TEST

static void forked_role(struct t_peer *self)
{
	struct t_ia ia;

	t_ia_open(&ia);
	t_peer_tell(self, 1);
	t_ia_close_empty(&ia);
}

START_TEST(PRG_14_fork_comes_first_then_the_ia)
{
	DAT_PROVIDER_INFO info[4], *list[4] = {&info[0], &info[1], &info[2], &info[3]};
	int threads = entries_of("/proc/self/task");
	struct t_peer child;
	struct t_ia ia;
	DAT_COUNT number;

	t_ok(dat_registry_list_providers(4, &number,
					 list)); /* starts the library's threads and sockets */
	ck_assert_int_eq(entries_of("/proc/self/task"), threads);
	t_peer_start(&child, forked_role);
	t_ia_open(&ia);
	ck_assert_uint_eq(t_peer_hear(&child), 1);
	t_peer_join(&child);
	t_ia_close_empty(&ia);
}
END_TEST

#if T_DAT_MAJOR == 2
START_TEST(PRG_15_attributes_by_name)
{
	ck_assert_str_eq(t_named(&t_tia.provider, "DAT_IB_RDMA_READ"), "TRUE");
	ck_assert_int_gt(atoi(t_named(&t_tia.provider, "DAT_IB_TRANSPORT_MTU")), 0);
}
END_TEST
#endif

START_TEST(PRG_16_lengths_and_cookies_are_exact)
{
	/* DTO-005 DTO-031 */
	struct t_loop loop;

	t_loop_open(&loop, &t_tia, NULL);
	for (uint64_t i = 0; i < 60; i++) {
		uint64_t cookie = UINT64_C(0xfedcba9800000000) | i;

		t_ok(t_recv(&loop.end[1], 0, T_BUF_SIZE, ~cookie, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&loop.end[0], 0, 1000 * i, cookie, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(loop.end[0].request_evd, loop.end[0].ep, cookie, DAT_DTO_SUCCESS,
			   1000 * i);
		t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, ~cookie, DAT_DTO_SUCCESS,
			   1000 * i);
	}
	t_loop_close(&loop);
}
END_TEST

START_TEST(PRG_17_open_and_close_with_few_descriptors)
{
	struct rlimit few = {50, 50};
	struct t_loop loop;
	struct t_ia ia;
	int threads = 0, files = 0;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int round = 0; round < 400; round++) {
		if (round % 200 == 0)
			t_error2(open_name("ofi-tcp-nosuchdevice0"), DAT_PROVIDER_NOT_FOUND,
				 DAT_INVALID_ADDRESS);
		t_ia_open(&ia);
		if (round % 8 == 0) {
			t_loop_open(&loop, &ia, NULL);
			t_loop_close(&loop);
		}
		t_ia_close_empty(&ia);
		if (round > 0)
			continue;
		files = entries_of("/proc/self/fd"); /* libfabric keeps some */
		threads = entries_of("/proc/self/task");
	}
	ck_assert_int_eq(entries_of("/proc/self/fd"), files);
	t_until(entries_of("/proc/self/task") <= threads); /* the last one may be on its way out */
}
END_TEST

/* --- suite --- */

static void add_with_ia(Suite *suite)
{
	TCase *tcase = conform_case(suite, "prg-ia");

	tcase_add_test(tcase, PRG_01_qualifiers_of_all_kinds_side_by_side);
	tcase_add_test(tcase, PRG_01_any_qualifier_has_16_bits);
	tcase_add_test(tcase, PRG_02_address_at_the_end_of_a_page_with_any_port);
	tcase_add_test(tcase, PRG_02_queries_return_addresses);
	tcase_add_test(tcase, PRG_04_eps_larger_than_their_evds);
	tcase_add_test(tcase, PRG_04_evds_of_all_lengths);
	tcase_add_test(tcase, PRG_05_streams_that_programs_merge);
	tcase_add_test(tcase, PRG_05_one_cno_over_all);
	tcase_add_test(tcase, PRG_22_receives_and_unsignalled_requests_on_one_evd);
	tcase_add_loop_test(tcase, PRG_21_connection_events_at_another_ia, 0, 2);
	tcase_add_loop_test(tcase, PRG_06_sizes_in_attributes_are_no_limits, 0, 3);
	tcase_add_test(tcase, PRG_06_attributes_of_other_adapters_become_the_limits);
	tcase_add_loop_test(tcase, PRG_06_request_flags_that_programs_set, 0, 2);
	tcase_add_loop_test(tcase, PRG_09_private_data_is_changed_and_sent_back, 0, 2);
	tcase_add_test(tcase, PRG_09_reject_takes_the_arguments_of_its_generation);
	tcase_add_test(tcase, PRG_10_three_return_codes_have_no_class_bit);
	tcase_add_test(tcase, PRG_11_outputs_may_be_null);
	tcase_add_test(tcase, PRG_11_sends_from_write_only_memory);
	tcase_add_test(tcase, PRG_12_stale_and_wrong_handles);
#if T_DAT_MAJOR == 2
	tcase_add_test(tcase, PRG_15_attributes_by_name);
#endif
	tcase_add_test(tcase, PRG_16_lengths_and_cookies_are_exact);
}

static void add_spinning(Suite *suite)
{
	TCase *tcase = tcase_create("prg-spin");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, PRG_03_polling_program_sees_the_last_byte_last);
}

static void add_from_scratch(Suite *suite)
{
	TCase *tcase = tcase_create("prg-scratch");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, PRG_07_receives_are_posted_when_messages_are_there);
	tcase_add_test(tcase, PRG_08_both_sides_disconnect_and_free);
	tcase_add_test(tcase, PRG_08_free_right_after_a_graceful_disconnect);
	tcase_add_test(tcase, PRG_08_abrupt_disconnect_has_ended_on_return);
	tcase_add_test(tcase, PRG_08_evds_are_freed_too_early);
	tcase_add_test(tcase, PRG_12_unknown_ia);
	tcase_add_test(tcase, PRG_13_short_list_of_providers);
	tcase_add_test(tcase, PRG_13_lines_of_both_generations_in_one_file);
	tcase_add_test(tcase, PRG_14_symbol_versions);
	tcase_add_test(tcase, PRG_14_fork_comes_first_then_the_ia);
	tcase_add_test(tcase, PRG_17_open_and_close_with_few_descriptors);
}

Suite *conform_prg(void)
{
	Suite *suite = suite_create("prg");

	add_with_ia(suite);
	add_spinning(suite);
	add_from_scratch(suite);
	return suite;
}
