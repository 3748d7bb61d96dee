/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rights of memory on a connection: local segments, remote access, RMRs. */
#include <sys/mman.h>
#include <unistd.h>

#include "conform.h"

#define SIZE ((size_t)4096)
#define ALL  DAT_MEM_PRIV_ALL_FLAG
#define REMOTE \
	((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
#define LOCAL ((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG))

static struct t_loop loop; /* end[0] starts operations on memory of end[1] */

static void open_loop(void)
{
	t_ia_open(&t_tia);
	t_loop_open(&loop, &t_tia, NULL);
}

static void close_loop(void)
{
	t_ia_close(&t_tia);
}

static DAT_PZ_HANDLE new_pz(void)
{
	DAT_PZ_HANDLE pz;

	t_ok(dat_pz_create(t_tia.ia, &pz));
	return pz;
}

static DAT_RMR_HANDLE new_rmr(DAT_PZ_HANDLE pz)
{
	DAT_RMR_HANDLE rmr;

	t_ok(dat_rmr_create(pz, &rmr));
	return rmr;
}

static void new_buf(struct t_buf *buf, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges)
{
	t_buf_new(buf, t_tia.ia, pz, SIZE, privileges);
	t_fill(buf->mem, SIZE, 77);
}

/* --- remote access that succeeds or fails --- */

static uint64_t next_cookie;

static void writes(DAT_RMR_TRIPLET to, unsigned int seed)
{
	const struct t_end *end = &loop.end[0];
	size_t length = (size_t)to.segment_length;

	t_fill(end->buf.mem, length, seed);
	t_ok(t_write(end, 0, length, ++next_cookie, to, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end->request_evd, end->ep, next_cookie, DAT_DTO_SUCCESS, length);
}

/* The write has arrived when a message behind it has arrived. */
static void writes_and_arrives(DAT_RMR_TRIPLET to, const void *mem, unsigned int seed)
{
	const struct t_end *from = &loop.end[0], *at = &loop.end[1];

	t_ok(t_recv(at, T_BUF_SIZE - 1, 1, ++next_cookie, DAT_COMPLETION_DEFAULT_FLAG));
	writes(to, seed);
	t_ok(t_send(from, 0, 1, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(at->recv_evd, at->ep, next_cookie - 1, DAT_DTO_SUCCESS, 1);
	ck_assert(t_is_filled(mem, (size_t)to.segment_length, seed));
}

static void reads(DAT_RMR_TRIPLET from, unsigned int seed)
{
	const struct t_end *end = &loop.end[0];
	size_t length = (size_t)from.segment_length;

	memset(end->buf.mem, 0, length);
	t_ok(t_read(end, 0, length, ++next_cookie, from, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end->request_evd, end->ep, next_cookie, DAT_DTO_SUCCESS, length);
	ck_assert(t_is_filled(end->buf.mem, length, seed));
}

static void both_break(void)
{
	for (int i = 0; i < 2; i++)
		t_wait_conn(loop.end[i].connect_evd, DAT_CONNECTION_EVENT_BROKEN, loop.end[i].ep);
}

static void reconnect(void)
{
	for (int i = 0; i < 2; i++)
		t_ok(dat_ep_reset(loop.end[i].ep));
	t_establish(&loop.listener, &loop.end[0], &loop.end[1]);
}

typedef DAT_RETURN (*access_fn)(const struct t_end *, size_t, size_t, uint64_t, DAT_RMR_TRIPLET,
				DAT_COMPLETION_FLAGS);

static void refuses(access_fn access, DAT_RMR_TRIPLET remote)
{
	const struct t_end *end = &loop.end[0];

	t_fill(end->buf.mem, (size_t)remote.segment_length, 5);
	t_ok(access(end, 0, (size_t)remote.segment_length, ++next_cookie, remote,
		    DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end->request_evd, end->ep, next_cookie, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	both_break();
	reconnect();
}

static void is_untouched(const struct t_buf *buf)
{
	ck_assert(t_is_filled(buf->mem, buf->size, 77));
}

/* --- PZ --- */

START_TEST(PZ_015_017_local_memory_is_of_the_zone_of_the_endpoint)
{
	const struct t_end *end = &loop.end[0];
	DAT_RMR_TRIPLET remote = t_remote_seg(&loop.end[1].buf, 0, 8);
	DAT_DTO_COOKIE cookie = {.as_64 = 1};
	DAT_LMR_TRIPLET segment;
	struct t_buf buf;

	new_buf(&buf, new_pz(), ALL);
	segment = t_seg(&buf, 0, 8);
	t_error(dat_ep_post_send(end->ep, 1, &segment, cookie, 0), DAT_PROTECTION_VIOLATION);
	t_error(dat_ep_post_recv(end->ep, 1, &segment, cookie, 0), DAT_PROTECTION_VIOLATION);
	t_error(dat_ep_post_rdma_write(end->ep, 1, &segment, cookie, &remote, 0),
		DAT_PROTECTION_VIOLATION);
	t_error(dat_ep_post_rdma_read(end->ep, 1, &segment, cookie, &remote, 0),
		DAT_PROTECTION_VIOLATION);
	t_no_event(end->request_evd);
	writes(remote, 1);
}
END_TEST

START_TEST(PZ_016_017_remote_memory_is_of_the_zone_of_the_endpoint)
{
	struct t_buf buf;

	new_buf(&buf, new_pz(), ALL);
	refuses(t_write, t_remote_seg(&buf, 0, 8));
	is_untouched(&buf);
	refuses(t_read, t_remote_seg(&buf, 0, 8));
	writes(t_remote_seg(&loop.end[1].buf, 0, 8), 1);
}
END_TEST

/* --- LMR --- */

START_TEST(LMR_003_005_region_outlives_the_region_it_was_created_from)
{
	DAT_REGION_DESCRIPTION what;
	struct t_buf buf, second;

	new_buf(&buf, new_pz(), ALL);
	second = buf;
	what.for_lmr_handle = buf.lmr;
	t_ok(t_lmr_create(t_tia.ia, DAT_MEM_TYPE_LMR, what, 0, t_tia.pz, ALL, &second.lmr,
			  &second.lmr_context, &second.rmr_context, NULL, NULL));
	t_ok(dat_lmr_free(buf.lmr));
	writes_and_arrives(t_remote_seg(&second, 8, 100), second.mem + 8, 9);
	reads(t_remote_seg(&second, 8, 100), 9);
}
END_TEST

START_TEST(LMR_014_region_without_privileges_allows_no_transfer)
{
	const struct t_end *end = &loop.end[0];
	DAT_DTO_COOKIE cookie = {.as_64 = 1};
	DAT_REGION_DESCRIPTION what;
	DAT_LMR_TRIPLET segment;
	struct t_buf buf = {.mem = loop.end[0].buf.mem};
	DAT_RETURN ret;

	what.for_va = buf.mem;
	ret = t_lmr_create(t_tia.ia, DAT_MEM_TYPE_VIRTUAL, what, SIZE, t_tia.pz,
			   DAT_MEM_PRIV_NONE_FLAG, &buf.lmr, &buf.lmr_context, &buf.rmr_context,
			   NULL, NULL);
	if (ret != DAT_SUCCESS) {
		t_bad_arg(ret);
		return;
	}
	segment = t_seg(&buf, 0, 8);
	t_error(dat_ep_post_send(end->ep, 1, &segment, cookie, 0), DAT_PRIVILEGES_VIOLATION);
	t_error(dat_ep_post_recv(end->ep, 1, &segment, cookie, 0), DAT_PRIVILEGES_VIOLATION);
	t_no_event(end->request_evd);
}
END_TEST

START_TEST(LMR_021_022_024_contexts_allow_the_registered_access)
{
	struct t_buf both, read_only, write_only, local;

	new_buf(&both, t_tia.pz, ALL);
	new_buf(&read_only, t_tia.pz, DAT_MEM_PRIV_READ_FLAG);
	new_buf(&write_only, t_tia.pz, DAT_MEM_PRIV_WRITE_FLAG);
	new_buf(&local, t_tia.pz, LOCAL);
	reads(t_remote_seg(&both, 0, 100), 77);
	writes_and_arrives(t_remote_seg(&both, 0, 100), both.mem, 4);
	reads(t_remote_seg(&read_only, 0, 100), 77);
	writes_and_arrives(t_remote_seg(&write_only, 0, 100), write_only.mem, 6);
	refuses(t_write, t_remote_seg(&read_only, 0, 8));
	is_untouched(&read_only);
	refuses(t_read, t_remote_seg(&write_only, 0, 8));
	refuses(t_write, t_remote_seg(&local, 0, 8));
	is_untouched(&local);
	refuses(t_read, t_remote_seg(&local, 0, 8));
}
END_TEST

START_TEST(LMR_026_029_local_segments_of_several_regions)
{
	const struct t_end *from = &loop.end[0], *at = &loop.end[1];
	DAT_LMR_TRIPLET segments[2];
	struct t_buf one, two;

	new_buf(&one, t_tia.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	new_buf(&two, t_tia.pz, LOCAL);
	t_fill(one.mem, 100, 1);
	t_fill(two.mem + 50, 100, 2);
	segments[0] = t_seg(&one, 0, 100);
	segments[1] = t_seg(&two, 50, 100);
	t_ok(t_recv(at, 0, 300, 1, 0));
	t_ok(dat_ep_post_send(from->ep, 2, segments, (DAT_DTO_COOKIE){.as_64 = 2}, 0));
	t_wait_dto(from->request_evd, from->ep, 2, DAT_DTO_SUCCESS, 200);
	t_wait_dto(at->recv_evd, at->ep, 1, DAT_DTO_SUCCESS, 200);
	ck_assert(t_is_filled(at->buf.mem, 100, 1));
	ck_assert(t_is_filled(at->buf.mem + 100, 100, 2));
}
END_TEST

START_TEST(LMR_037_segment_of_a_freed_region_is_refused)
{
	const struct t_end *end = &loop.end[0];
	DAT_DTO_COOKIE cookie = {.as_64 = 1};
	DAT_LMR_TRIPLET segment;
	struct t_buf buf;

	new_buf(&buf, t_tia.pz, ALL);
	segment = t_seg(&buf, 0, 8);
	t_ok(dat_lmr_free(buf.lmr));
	t_error2(dat_ep_post_send(end->ep, 1, &segment, cookie, 0), DAT_PRIVILEGES_VIOLATION,
		 DAT_PROTECTION_VIOLATION);
	t_error2(dat_ep_post_recv(end->ep, 1, &segment, cookie, 0), DAT_PRIVILEGES_VIOLATION,
		 DAT_PROTECTION_VIOLATION);
	t_no_event(end->request_evd);
	t_no_event(end->recv_evd);
}
END_TEST

START_TEST(LMR_038_freed_region_is_closed_to_peers)
{
	/* _i: the peer has used it before, or never */
	DAT_RMR_TRIPLET remote;
	struct t_buf buf;

	for (int reading = 0; reading < 2; reading++) {
		new_buf(&buf, t_tia.pz, ALL);
		remote = t_remote_seg(&buf, 0, 64);
		if (_i)
			reads(remote, 77);
		t_ok(dat_lmr_free(buf.lmr));
		refuses(reading ? t_read : t_write, remote);
		is_untouched(&buf);
	}
}
END_TEST

START_TEST(LMR_047_053_054_sync_keeps_data)
{
	const struct t_buf *buf = &loop.end[1].buf;
	DAT_LMR_TRIPLET segment = t_seg(buf, 0, SIZE);

	t_fill(buf->mem, SIZE, 21);
	t_ok(dat_lmr_sync_rdma_read(t_tia.ia, &segment, 1));
	reads(t_remote_seg(buf, 0, SIZE), 21);
	t_ok(dat_lmr_sync_rdma_write(t_tia.ia, &segment, 1));
	t_fill(buf->mem, 100, 22);
	writes_and_arrives(t_remote_seg(buf, 100, 100), buf->mem + 100, 23);
	t_ok(dat_lmr_sync_rdma_write(t_tia.ia, &segment, 1));
	ck_assert(t_is_filled(buf->mem, 100, 22));
	ck_assert(t_is_filled(buf->mem + 100, 100, 23));
}
END_TEST

START_TEST(LMR_048_memory_is_coherent_without_sync)
{
	/* IA-056 */
	const struct t_buf *buf = &loop.end[1].buf;

	ck_assert(!t_tia.provider.lmr_sync_req);
	for (unsigned int i = 0; i < 20; i++) {
		t_fill(buf->mem, SIZE, i);
		reads(t_remote_seg(buf, 0, SIZE), i);
		writes_and_arrives(t_remote_seg(buf, 0, SIZE), buf->mem, i + 100);
	}
}
END_TEST

/* --- RMR --- */

/* end[1] opens the window. */
static DAT_RMR_CONTEXT open_window(DAT_RMR_HANDLE rmr, const struct t_buf *buf, size_t offset,
				   size_t length, DAT_MEM_PRIV_FLAGS privileges)
{
	const struct t_end *at = &loop.end[1];
	DAT_RMR_CONTEXT context = 0;

	t_ok(t_rmr_bind(rmr, buf, t_seg(buf, offset, length), privileges, at->ep, ++next_cookie, 0,
			&context));
	t_wait_bind(at->request_evd, rmr, next_cookie, DAT_DTO_SUCCESS);
	return context;
}

START_TEST(LMR_034_region_with_a_window_cannot_be_freed)
{
	/* RMR-017 */
	DAT_RMR_HANDLE rmr = new_rmr(t_tia.pz), unbound = new_rmr(t_tia.pz);
	struct t_buf buf;

	new_buf(&buf, t_tia.pz, ALL);
	open_window(rmr, &buf, 0, 64, REMOTE);
	open_window(unbound, &buf, 0, 64, REMOTE);
	t_bad_state_of(dat_lmr_free(buf.lmr), LMR_IN_USE);
	reads(t_remote_seg(&buf, 0, 64), 77);
	open_window(unbound, &buf, 0, 0, REMOTE); /* closes it */
	t_bad_state_of(dat_lmr_free(buf.lmr), LMR_IN_USE);
	t_ok(dat_rmr_free(rmr));
	t_ok(dat_lmr_free(buf.lmr));
	t_ok(dat_rmr_free(unbound));
}
END_TEST

START_TEST(LMR_027_region_stays_accessible_beside_a_window)
{
	DAT_RMR_HANDLE rmr = new_rmr(t_tia.pz);
	struct t_buf buf;

	new_buf(&buf, t_tia.pz, ALL);
	open_window(rmr, &buf, 0, 64, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	writes_and_arrives(t_remote_seg(&buf, 0, SIZE), buf.mem, 8);
	t_ok(dat_rmr_free(rmr));
	writes_and_arrives(t_remote_seg(&buf, 0, SIZE), buf.mem, 9);
}
END_TEST

#define PART      ((size_t)16 << 20)
#define FAR       ((size_t)1 << 32)
#define VERY_LONG (FAR + PART)

/*
 * Maps the same 16 MiB again and again, and memory of its own behind 4 GiB. Devices that pin memory
 * pin only these two.
 */
static unsigned char *map_very_long(void)
{
	int fd = memfd_create("part of a long region", MFD_CLOEXEC);
	unsigned char *mem;

	ck_assert_int_eq(ftruncate(fd, (off_t)PART), 0);
	mem = mmap(NULL, VERY_LONG, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(mem, MAP_FAILED);
	for (size_t at = 0; at < FAR; at += PART)
		ck_assert_ptr_eq(mmap(mem + at, PART, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_FIXED, fd, 0),
				 mem + at);
	close(fd);
	return mem;
}

START_TEST(PRG_06_region_of_more_than_4_GiB)
{
	struct t_buf buf = {.mem = map_very_long(), .size = VERY_LONG};
	DAT_REGION_DESCRIPTION region = {.for_va = buf.mem};
	unsigned char *far = buf.mem + FAR + 100;
	DAT_DTO_COOKIE cookie = {.as_64 = 5};
	const struct t_end *end = &loop.end[0], *peer = &loop.end[1];
	DAT_RMR_TRIPLET remote;
	DAT_LMR_TRIPLET local;
	DAT_VLEN length;

	t_ok(t_lmr_create(t_tia.ia, DAT_MEM_TYPE_VIRTUAL, region, VERY_LONG, t_tia.pz, ALL,
			  &buf.lmr, &buf.lmr_context, &buf.rmr_context, &length, NULL));
	ck_assert_uint_ge(length, VERY_LONG);
	remote = t_remote_seg(&buf, FAR + 100, SIZE);
	writes_and_arrives(remote, far, 21);
	reads(remote, 21);
	ck_assert_uint_eq(buf.mem[100], 0);
	t_fill(far, SIZE, 22);
	local = t_seg(&buf, FAR + 100, SIZE);
	remote = t_remote_seg(&peer->buf, 0, SIZE);
	t_ok(t_recv(peer, SIZE, 1, 6, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_post_rdma_write(end->ep, 1, &local, cookie, &remote,
				    DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(end, SIZE, 1, 7, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(end->request_evd, end->ep, 5, DAT_DTO_SUCCESS, SIZE);
	t_wait_dto(peer->recv_evd, peer->ep, 6, DAT_DTO_SUCCESS, 1);
	ck_assert(t_is_filled(peer->buf.mem, SIZE, 22));
	t_ok(dat_lmr_free(buf.lmr));
	munmap(buf.mem, VERY_LONG);
}
END_TEST

START_TEST(RMR_009_query_tells_the_latest_bind)
{
	DAT_RMR_HANDLE rmr = new_rmr(t_tia.pz);
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;
	struct t_buf buf;

	new_buf(&buf, t_tia.pz, ALL);
	open_window(rmr, &buf, 0, 64, REMOTE);
	context = open_window(rmr, &buf, 128, 256, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	t_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, t_tia.ia);
	ck_assert_ptr_eq(param.pz_handle, t_tia.pz);
	ck_assert_uint_eq(param.lmr_triplet.lmr_context, buf.lmr_context);
	ck_assert_uint_eq(param.lmr_triplet.virtual_address, (uintptr_t)(buf.mem + 128));
	ck_assert_uint_eq(param.lmr_triplet.segment_length, 256);
	ck_assert_int_eq(param.mem_priv, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	ck_assert_uint_eq(param.rmr_context, context);
#if T_DAT_MAJOR == 2
	/* RMR-012 */
	ck_assert_int_eq(param.va_type, DAT_VA_TYPE_VA);
#endif
	t_fill(buf.mem + 128, 256, 33);
	reads(t_remote(context, (uintptr_t)(buf.mem + 128), 256), 33);
}
END_TEST

START_TEST(RMR_018_freed_window_is_closed_to_peers)
{
	/* _i: the peer has used it before, or never */
	DAT_RMR_HANDLE rmr = new_rmr(t_tia.pz);
	DAT_RMR_TRIPLET remote;
	struct t_buf buf;

	new_buf(&buf, t_tia.pz, ALL);
	remote = t_remote(open_window(rmr, &buf, 0, 64, REMOTE), (uintptr_t)buf.mem, 64);
	if (_i)
		reads(remote, 77);
	t_ok(dat_rmr_free(rmr));
	refuses(t_write, remote);
	is_untouched(&buf);
	refuses(t_read, remote);
}
END_TEST

Suite *conform_access(void)
{
	Suite *suite = suite_create("access");
	TCase *tc = tcase_create("access");

	tcase_add_checked_fixture(tc, open_loop, close_loop);
	suite_add_tcase(suite, tc);
	tcase_add_test(tc, PZ_015_017_local_memory_is_of_the_zone_of_the_endpoint);
	tcase_add_test(tc, PZ_016_017_remote_memory_is_of_the_zone_of_the_endpoint);
	tcase_add_test(tc, LMR_003_005_region_outlives_the_region_it_was_created_from);
	tcase_add_test(tc, LMR_014_region_without_privileges_allows_no_transfer);
	tcase_add_test(tc, LMR_021_022_024_contexts_allow_the_registered_access);
	tcase_add_test(tc, LMR_026_029_local_segments_of_several_regions);
	tcase_add_test(tc, LMR_037_segment_of_a_freed_region_is_refused);
	tcase_add_loop_test(tc, LMR_038_freed_region_is_closed_to_peers, 0, 2);
	tcase_add_test(tc, LMR_047_053_054_sync_keeps_data);
	tcase_add_test(tc, LMR_048_memory_is_coherent_without_sync);
	tcase_add_test(tc, LMR_034_region_with_a_window_cannot_be_freed);
	tcase_add_test(tc, LMR_027_region_stays_accessible_beside_a_window);
	tcase_add_test(tc, PRG_06_region_of_more_than_4_GiB);
	tcase_add_test(tc, RMR_009_query_tells_the_latest_bind);
	tcase_add_loop_test(tc, RMR_018_freed_window_is_closed_to_peers, 0, 2);
	return suite;
}
