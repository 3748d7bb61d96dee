/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* PZs, LMRs and RMRs as objects. conform_access.c tests their rights on connections. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

#define SIZE ((size_t)8192)
#define ALL  DAT_MEM_PRIV_ALL_FLAG

static unsigned char memory[SIZE];

static DAT_PZ_HANDLE new_pz(void)
{
	DAT_PZ_HANDLE pz;

	t_ok(dat_pz_create(t_tia.ia, &pz));
	return pz;
}

static DAT_LMR_HANDLE new_lmr(DAT_PZ_HANDLE pz)
{
	DAT_LMR_HANDLE lmr;

	t_ok(t_lmr_of(t_tia.ia, memory, SIZE, pz, ALL, &lmr));
	return lmr;
}

static DAT_RMR_HANDLE new_rmr(DAT_PZ_HANDLE pz)
{
	DAT_RMR_HANDLE rmr;

	t_ok(dat_rmr_create(pz, &rmr));
	return rmr;
}

/* --- PZ --- */

START_TEST(PZ_001_005_pzs_are_distinct)
{
	DAT_PZ_HANDLE pz[20];

	for (int i = 0; i < 20; i++) {
		pz[i] = new_pz();
		for (int j = 0; j < i; j++)
			ck_assert_ptr_ne(pz[i], pz[j]);
	}
	for (int i = 0; i < 20; i++)
		t_ok(dat_pz_free(pz[i]));
}
END_TEST

START_TEST(PZ_003_012_013_bad_arguments)
{
	DAT_PZ_PARAM param;

	t_bad_arg_of(dat_pz_create(t_tia.ia, NULL), 2);
	t_ok(dat_pz_query(t_tia.pz, (DAT_PZ_PARAM_MASK)0x80000000u, &param));
	ck_assert_ptr_eq(param.ia_handle, t_tia.ia);
	t_bad_arg_of(dat_pz_query(t_tia.pz, DAT_PZ_FIELD_ALL, NULL), 3);
}
END_TEST

START_TEST(PZ_006_008_pz_with_objects_cannot_be_freed)
{
	/* LMR-023 LMR-035 RMR-005 RMR-020 */
	DAT_PZ_HANDLE pz = new_pz();
	DAT_LMR_HANDLE lmr = new_lmr(pz);
	DAT_RMR_HANDLE rmr = new_rmr(pz);
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 8, DAT_EVD_DEFAULT_FLAG);
	DAT_EP_PARAM param = {.pz_handle = t_tia.pz};
	DAT_EP_HANDLE ep;

	t_ok(dat_ep_create(t_tia.ia, pz, evd, evd, evd, NULL, &ep));
	t_bad_state_of(dat_pz_free(pz), PZ_IN_USE);
	t_ok(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	t_bad_state_of(dat_pz_free(pz), PZ_IN_USE);
	t_ok(dat_lmr_free(lmr));
	t_bad_state_of(dat_pz_free(pz), PZ_IN_USE);
	t_ok(dat_rmr_free(rmr));
	t_ok(dat_pz_free(pz));
	pz = new_pz();
	rmr = new_rmr(pz);
	t_bad_state_of(dat_pz_free(pz), PZ_IN_USE);
	t_ok(dat_rmr_free(rmr));
	lmr = new_lmr(pz);
	t_bad_state_of(dat_pz_free(pz), PZ_IN_USE);
	t_ok(dat_lmr_free(lmr));
	t_ok(dat_pz_free(pz));
}
END_TEST

START_TEST(PZ_007_pz_of_an_srq_cannot_be_freed)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_PZ_HANDLE pz = new_pz();
	DAT_SRQ_HANDLE srq;
	DAT_RETURN ret = dat_srq_create(t_tia.ia, pz, &attr, &srq);

	if (t_tia.provider.srq_supported) {
		t_ok(ret);
		t_bad_state_of(dat_pz_free(pz), PZ_IN_USE);
		t_ok(dat_srq_free(srq));
	} else {
		t_unsupported(ret);
	}
	t_ok(dat_pz_free(pz));
}
END_TEST

START_TEST(PZ_010_freed_pz_is_refused_everywhere)
{
	/* LMR-019 RMR-002 */
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 8, DAT_EVD_DEFAULT_FLAG);
	DAT_PZ_HANDLE pz = new_pz();
	DAT_EP_PARAM param = {.pz_handle = pz};
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_EP_HANDLE ep;

	t_ok(dat_ep_create(t_tia.ia, t_tia.pz, evd, evd, evd, NULL, &ep));
	t_ok(dat_pz_free(pz));
	t_bad_handle_of(t_lmr_of(t_tia.ia, memory, SIZE, pz, ALL, &lmr), PZ);
	t_bad_handle_of(dat_rmr_create(pz, &rmr), PZ);
	t_bad_handle_of(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), PZ);
	t_bad_handle_of(dat_ep_create(t_tia.ia, pz, evd, evd, evd, NULL, &ep), PZ);
#if T_DAT_MAJOR == 2
	t_error2(dat_rmr_create_for_ep(pz, &rmr), DAT_INVALID_HANDLE, DAT_MODEL_NOT_SUPPORTED);
#endif
	if (t_tia.provider.srq_supported) {
		DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};

		t_bad_handle_of(dat_srq_create(t_tia.ia, pz, &attr, &(DAT_SRQ_HANDLE){NULL}), PZ);
	}
}
END_TEST

START_TEST(PZ_011_query_tells_the_ia)
{
	/* IA-021 */
	DAT_PZ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

	t_ok(dat_pz_query(t_tia.pz, DAT_PZ_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, t_tia.ia);
}
END_TEST

/* --- LMR: create and free --- */

/* All outputs of dat_lmr_create(). */
struct region {
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN length;
	DAT_VADDR address;
};

static DAT_RETURN create_of(struct region *region, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION what,
			    DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges)
{
	memset(region, 0xff, sizeof(*region));
	return t_lmr_create(t_tia.ia, type, what, length, pz, privileges, &region->lmr,
			    &region->lmr_context, &region->rmr_context, &region->length,
			    &region->address);
}

static DAT_RETURN create(struct region *region, void *mem, DAT_VLEN length, unsigned int privileges)
{
	return create_of(region, DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION){.for_va = mem},
			 length, t_tia.pz, (DAT_MEM_PRIV_FLAGS)privileges);
}

static void covers(const struct region *region, const void *mem, size_t length)
{
	uintptr_t start = (uintptr_t)mem;

	ck_assert_uint_le(region->address, start);
	ck_assert_uint_ge(region->address + region->length, start + length);
}

START_TEST(LMR_001_002_032_033_create_returns_all_outputs)
{
	DAT_REGION_DESCRIPTION what = {.for_va = memory + 1};
	struct region region;
	DAT_LMR_HANDLE lmr;

	t_fill(memory, SIZE, 3);
	t_ok(create(&region, memory + 1, 777, ALL));
	ck_assert_ptr_nonnull(region.lmr);
	covers(&region, memory + 1, 777);
	t_ok(t_lmr_create(t_tia.ia, DAT_MEM_TYPE_VIRTUAL, what, 777, t_tia.pz, ALL, &lmr, NULL,
			  NULL, NULL, NULL));
	ck_assert(t_is_filled(memory, SIZE, 3));
	t_ok(dat_lmr_free(lmr));
	t_ok(dat_lmr_free(region.lmr));
	ck_assert(t_is_filled(memory, SIZE, 3));
	memory[0] = 0;
}
END_TEST

START_TEST(LMR_003_004_registering_an_lmr_again)
{
	DAT_REGION_DESCRIPTION what;
	struct region first, second;
	DAT_PZ_HANDLE pz = new_pz();

	t_ok(create(&first, memory, SIZE, ALL));
	what.for_lmr_handle = first.lmr;
	t_ok(create_of(&second, DAT_MEM_TYPE_LMR, what, 0, pz, DAT_MEM_PRIV_LOCAL_READ_FLAG));
	covers(&second, memory, SIZE);
	ck_assert_ptr_ne(second.lmr, first.lmr);
	t_ok(dat_lmr_free(second.lmr));
	t_ok(create_of(&second, DAT_MEM_TYPE_LMR, what, 17, pz, ALL));
	covers(&second, memory, SIZE);
	t_ok(dat_lmr_free(first.lmr));
	t_ok(dat_lmr_free(second.lmr));
	t_bad_handle_of(create_of(&second, DAT_MEM_TYPE_LMR, what, SIZE, pz, ALL), LMR);
	what.for_lmr_handle = pz;
	t_bad_handle_of(create_of(&second, DAT_MEM_TYPE_LMR, what, SIZE, pz, ALL), LMR);
}
END_TEST

START_TEST(LMR_012_013_020_create_refuses_bad_arguments)
{
	static const unsigned int bad[] = {0x04, 0x08, 0x80, 0x40000000, 0x37};
	DAT_REGION_DESCRIPTION what = {.for_va = memory};
	struct region region;

	t_bad_arg_of(create_of(&region, (DAT_MEM_TYPE)99, what, SIZE, t_tia.pz, ALL), 2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		t_bad_arg(create(&region, memory, SIZE, bad[i]));
	t_bad_arg(t_lmr_of(t_tia.ia, memory, SIZE, t_tia.pz, ALL, NULL));
}
END_TEST

START_TEST(LMR_015_016_017_create_refuses_impossible_regions)
{
	struct region region;
	void *hole = (void *)(uintptr_t)0x20000; /* nothing is mapped at so low an address */

	t_error(create(&region, memory, 0, ALL), DAT_LENGTH_ERROR);
	t_error2(create(&region, hole, SIZE, ALL), DAT_INVALID_PARAMETER,
		 DAT_INSUFFICIENT_RESOURCES);
	t_error2(create(&region, (void *)(UINTPTR_MAX - 100), 4096, ALL), DAT_INVALID_PARAMETER,
		 DAT_INSUFFICIENT_RESOURCES);
	t_error2(create(&region, memory, UINT64_MAX, ALL), DAT_INVALID_PARAMETER,
		 DAT_INSUFFICIENT_RESOURCES);
	t_error2(create(&region, memory, (DAT_VLEN)t_tia.attr.max_lmr_block_size + 1, ALL),
		 DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES);
}
END_TEST

START_TEST(LMR_018_create_refuses_to_write_what_is_read_only)
{
	static const unsigned int writing[] = {
		DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
		DAT_MEM_PRIV_ALL_FLAG,
	};
	void *page = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct region region;

	ck_assert_ptr_ne(page, MAP_FAILED);
	for (size_t i = 0; i < sizeof(writing) / sizeof(writing[0]); i++)
		t_error2(create(&region, page, SIZE, writing[i]), DAT_PRIVILEGES_VIOLATION,
			 DAT_INVALID_PARAMETER);
	t_ok(create(&region, page, SIZE, DAT_MEM_PRIV_READ_FLAG));
}
END_TEST

START_TEST(LMR_021_022_context_for_peers)
{
	static const unsigned int remote[] = {
		DAT_MEM_PRIV_REMOTE_READ_FLAG,
		DAT_MEM_PRIV_REMOTE_WRITE_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		DAT_MEM_PRIV_ALL_FLAG,
	};
	struct region region;

	t_ok(create(&region, memory, SIZE,
		    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG));
	ck_assert_uint_eq(region.rmr_context, 0);
	for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++) {
		t_ok(create(&region, memory, SIZE, remote[i]));
		ck_assert_uint_ne(region.rmr_context, 0);
	}
}
END_TEST

START_TEST(LMR_024_025_regions_may_overlap)
{
	enum { N = 8 };
	struct region region[N];

	for (int i = 0; i < N; i++) {
		t_ok(create(&region[i], memory + (i & 1) * 100, SIZE / 2, ALL));
		for (int j = 0; j < i; j++) {
			ck_assert_ptr_ne(region[i].lmr, region[j].lmr);
			ck_assert_uint_ne(region[i].lmr_context, region[j].lmr_context);
			ck_assert_uint_ne(region[i].rmr_context, region[j].rmr_context);
		}
	}
	for (int i = 0; i < N; i++)
		t_ok(dat_lmr_free(region[i].lmr));
}
END_TEST

START_TEST(LMR_041_contexts_are_not_used_again_at_once)
{
	enum { N = 16 };
	DAT_LMR_CONTEXT lmr_contexts[N];
	DAT_RMR_CONTEXT rmr_contexts[N];

	for (int i = 0; i < N; i++) {
		struct region region;

		t_ok(create(&region, memory, SIZE, ALL));
		lmr_contexts[i] = region.lmr_context;
		rmr_contexts[i] = region.rmr_context;
		t_ok(dat_lmr_free(region.lmr));
		for (int j = 0; j < i; j++) {
			ck_assert_uint_ne(lmr_contexts[i], lmr_contexts[j]);
			ck_assert_uint_ne(rmr_contexts[i], rmr_contexts[j]);
		}
	}
}
END_TEST

#if T_DAT_MAJOR == 2
static DAT_RETURN create_va_type(DAT_VA_TYPE type)
{
	DAT_REGION_DESCRIPTION what = {.for_va = memory};
	struct region region;

	return dat_lmr_create(t_tia.ia, DAT_MEM_TYPE_VIRTUAL, what, SIZE, t_tia.pz, ALL, type,
			      &region.lmr, &region.lmr_context, &region.rmr_context, &region.length,
			      &region.address);
}

START_TEST(LMR_030_031_va_types)
{
	/* IA-059 */
	DAT_RETURN ret = create_va_type(DAT_VA_TYPE_ZB);

	if (t_tia.attr.zb_supported)
		t_ok(ret);
	else
		t_unsupported(ret);
	t_bad_arg(create_va_type((DAT_VA_TYPE)2));
	t_bad_arg(create_va_type((DAT_VA_TYPE)77));
	t_ok(create_va_type(DAT_VA_TYPE_VA));
}
END_TEST
#endif

/* --- LMR: shared memory --- */

struct shared {
	int fd;
	unsigned char *mem;
	char cookie[DAT_LMR_COOKIE_SIZE];
};

static void *map_shared(int fd)
{
	void *mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	ck_assert_ptr_ne(mem, MAP_FAILED);
	return mem;
}

/* The cookies use all bytes, so a provider cannot treat them as strings. */
static void shared_new(struct shared *shared, int number)
{
	shared->fd = memfd_create("shared", MFD_CLOEXEC);
	ck_assert_int_ge(shared->fd, 0);
	ck_assert_int_eq(ftruncate(shared->fd, (off_t)SIZE), 0);
	shared->mem = map_shared(shared->fd);
	for (int i = 0; i < DAT_LMR_COOKIE_SIZE; i++)
		shared->cookie[i] = (char)(i * 5);
	memcpy(shared->cookie + 8, &(pid_t){getpid()}, sizeof(pid_t));
	shared->cookie[DAT_LMR_COOKIE_SIZE - 1] = (char)number;
}

static DAT_RETURN create_shared(struct region *region, void *mem, char (*cookie)[40])
{
	DAT_REGION_DESCRIPTION what;

	what.for_shared_memory.virtual_address = mem;
	what.for_shared_memory.shared_memory_id = cookie;
	return create_of(region, DAT_MEM_TYPE_SHARED_VIRTUAL, what, SIZE, t_tia.pz, ALL);
}

START_TEST(LMR_006_009_cookie_names_shared_memory)
{
	struct region first, second;
	struct shared shared;
	void *again;

	shared_new(&shared, 1);
	again = map_shared(shared.fd);
	ck_assert_ptr_ne(again, shared.mem);
	t_ok(create_shared(&first, shared.mem, &shared.cookie));
	t_ok(create_shared(&second, again, &shared.cookie));
	covers(&first, shared.mem, SIZE);
	covers(&second, again, SIZE);
	t_ok(dat_lmr_free(first.lmr));
	t_ok(dat_lmr_free(second.lmr));
}
END_TEST

START_TEST(LMR_007_cookies_differ_in_any_byte)
{
	struct region first, second;
	struct shared one, two;

	shared_new(&one, 1);
	shared_new(&two, 2);
	t_ok(create_shared(&first, one.mem, &one.cookie));
	t_ok(create_shared(&second, two.mem, &two.cookie));
	two.cookie[DAT_LMR_COOKIE_SIZE - 1] = 1;
	two.cookie[0]++;
	t_ok(create_shared(&second, two.mem, &two.cookie));
}
END_TEST

START_TEST(LMR_008_010_cookie_names_one_memory_while_it_is_in_use)
{
	struct region region, other;
	struct shared shared, stranger;

	shared_new(&shared, 1);
	shared_new(&stranger, 1);
	t_bad_state(create_shared(&region, memory, &shared.cookie));
	t_ok(create_shared(&region, shared.mem, &shared.cookie));
	t_bad_state(create_shared(&other, stranger.mem, &shared.cookie));
	t_bad_state(create_shared(&other, memory, &shared.cookie));
	t_ok(dat_lmr_free(region.lmr));
	t_ok(create_shared(&other, stranger.mem, &shared.cookie));
	t_ok(dat_lmr_free(other.lmr));
}
END_TEST

/*
 * The child opens its own IA, registers the memory of the descriptor with the cookie, reports that,
 * and frees the region when the parent closes its end of the pipe.
 */
static int other_process(const struct shared *shared, int to_parent, int from_parent)
{
	struct shared mine = *shared;
	struct region region;
	void *elsewhere;
	char byte = 0;

	t_ia_open(&t_tia);
	elsewhere = map_shared(mine.fd);
	if (elsewhere == mine.mem) /* the parent's mapping, which a child inherits */
		return 1;
	t_ok(create_shared(&region, elsewhere, &mine.cookie));
	covers(&region, elsewhere, SIZE);
	if (write(to_parent, "1", 1) != 1 || read(from_parent, &byte, 1) != 0)
		return 1;
	t_ok(dat_lmr_free(region.lmr));
	t_ia_close_empty(&t_tia);
	return 0;
}

START_TEST(LMR_006_008_009_010_processes_of_the_host_share_a_cookie)
{
	/* This case does not use t_tia, because an IA must be opened after the fork. */
	struct shared shared, stranger;
	int up[2], down[2], status;
	struct region region;
	pid_t child;
	char byte;

	shared_new(&shared, 3);
	shared_new(&stranger, 3);
	ck_assert_int_eq(pipe(up), 0);
	ck_assert_int_eq(pipe(down), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		close(down[1]);
		_exit(other_process(&shared, up[1], down[0]));
	}
	close(up[1]);
	t_ia_open(&t_tia);
	ck_assert_int_eq(read(up[0], &byte, 1), 1);
	t_bad_state(create_shared(&region, stranger.mem, &shared.cookie));
	t_ok(create_shared(&region, shared.mem, &shared.cookie));
	covers(&region, shared.mem, SIZE);
	t_ok(dat_lmr_free(region.lmr));
	close(down[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	t_ok(create_shared(&region, stranger.mem, &shared.cookie));
	t_ok(dat_lmr_free(region.lmr));
	t_ia_close_empty(&t_tia);
}
END_TEST

/* --- LMR: query and sync --- */

START_TEST(LMR_042_043_044_query_returns_the_values_of_the_creation)
{
	/* IA-021 */
	struct region region, second;
	DAT_REGION_DESCRIPTION what;
	DAT_LMR_PARAM param;

	t_ok(create(&region, memory + 16, 500, ALL));
	t_ok(dat_lmr_query(region.lmr, DAT_LMR_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, t_tia.ia);
	ck_assert_int_eq(param.mem_type, DAT_MEM_TYPE_VIRTUAL);
	ck_assert_ptr_eq(param.region_desc.for_va, memory + 16);
	ck_assert_uint_eq(param.length, 500);
	ck_assert_ptr_eq(param.pz_handle, t_tia.pz);
	ck_assert_int_eq(param.mem_priv, ALL);
	ck_assert_uint_eq(param.lmr_context, region.lmr_context);
	ck_assert_uint_eq(param.rmr_context, region.rmr_context);
	ck_assert_uint_eq(param.registered_size, region.length);
	ck_assert_uint_eq(param.registered_address, region.address);
#if T_DAT_MAJOR == 2
	ck_assert_int_eq(param.va_type, DAT_VA_TYPE_VA);
#endif
	what.for_lmr_handle = region.lmr;
	t_ok(create_of(&second, DAT_MEM_TYPE_LMR, what, 0, t_tia.pz, DAT_MEM_PRIV_READ_FLAG));
	t_ok(dat_lmr_query(second.lmr, DAT_LMR_FIELD_ALL, &param));
	ck_assert_int_eq(param.mem_type, DAT_MEM_TYPE_LMR);
	ck_assert_ptr_eq(param.region_desc.for_lmr_handle, region.lmr);
	ck_assert_int_eq(param.mem_priv, DAT_MEM_PRIV_READ_FLAG);
}
END_TEST

START_TEST(LMR_045_query_refuses_bad_arguments)
{
	DAT_LMR_HANDLE lmr = new_lmr(t_tia.pz);
	DAT_LMR_PARAM param;

	t_ok(dat_lmr_query(lmr, (DAT_LMR_PARAM_MASK)0x80000000u, &param));
	ck_assert_ptr_eq(param.pz_handle, t_tia.pz);
	t_bad_arg_of(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, NULL), 3);
}
END_TEST

typedef DAT_RETURN (*sync_fn)(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);

static const sync_fn syncs[] = {dat_lmr_sync_rdma_read, dat_lmr_sync_rdma_write};

START_TEST(LMR_048_049_052_055_sync_takes_segments_of_all_regions)
{
	/* LMR-056 */
	struct t_buf one, two;
	DAT_LMR_TRIPLET segments[3];

	t_buf_new(&one, t_tia.ia, t_tia.pz, SIZE, ALL);
	t_buf_new(&two, t_tia.ia, new_pz(), SIZE, DAT_MEM_PRIV_READ_FLAG);
	segments[0] = t_seg(&one, 0, SIZE);
	segments[1] = t_seg(&two, 100, 100);
	memset(&segments[2], 0xff, sizeof(segments[2]));
	segments[2].segment_length = 0;
	t_fill(one.mem, SIZE, 1);
	t_ok(syncs[_i](t_tia.ia, segments, 1));
	t_ok(syncs[_i](t_tia.ia, segments, 3));
	ck_assert(t_is_filled(one.mem, SIZE, 1));
}
END_TEST

START_TEST(LMR_050_056_sync_refuses_what_is_not_registered)
{
	DAT_LMR_TRIPLET segment, stale;
	struct t_buf buf, freed;

	t_buf_new(&buf, t_tia.ia, t_tia.pz, SIZE, ALL);
	t_buf_new(&freed, t_tia.ia, t_tia.pz, SIZE, ALL);
	stale = t_seg(&freed, 0, 8);
	t_buf_free(&freed);
	segment = t_seg(&buf, 1, SIZE);
	t_bad_arg(syncs[_i](t_tia.ia, &segment, 1));
	segment = t_seg(&buf, 0, 8);
	segment.virtual_address -= 1;
	t_bad_arg(syncs[_i](t_tia.ia, &segment, 1));
	t_bad_arg(syncs[_i](t_tia.ia, &stale, 1));
	segment = t_seg(&buf, 0, 8);
	segment.lmr_context ^= 0x5a5a5a5a;
	t_bad_arg(syncs[_i](t_tia.ia, &segment, 1));
	t_bad_arg(syncs[_i](t_tia.ia, &segment, 0));
	t_bad_arg(syncs[_i](t_tia.ia, NULL, 1));
}
END_TEST

/* --- RMR --- */

START_TEST(RMR_001_006_010_016_new_rmr_is_unbound)
{
	/* IA-021 */
	DAT_RMR_HANDLE rmr = new_rmr(t_tia.pz);
	DAT_RMR_PARAM param;
	DAT_RETURN ret;

	t_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_IA_HANDLE | DAT_RMR_FIELD_PZ_HANDLE, &param));
	ck_assert_ptr_eq(param.ia_handle, t_tia.ia);
	ck_assert_ptr_eq(param.pz_handle, t_tia.pz);
	ret = dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param);
	if (ret != DAT_SUCCESS)
		t_bad_arg(ret);
	t_ok(dat_rmr_free(rmr));
}
END_TEST

START_TEST(RMR_003_013_bad_arguments)
{
	DAT_RMR_HANDLE rmr = new_rmr(t_tia.pz);
	DAT_RMR_PARAM param;

	t_bad_arg_of(dat_rmr_create(t_tia.pz, NULL), 2);
	t_ok(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)0x80000000u, &param));
	ck_assert_ptr_eq(param.pz_handle, t_tia.pz);
	t_bad_arg_of(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, NULL), 3);
}
END_TEST

#if T_DAT_MAJOR == 2
START_TEST(RMR_007_008_012_scope)
{
	/* IA-059 */
	DAT_RMR_HANDLE rmr = new_rmr(t_tia.pz), for_ep;
	DAT_RETURN ret = dat_rmr_create_for_ep(t_tia.pz, &for_ep);
	DAT_RMR_PARAM param;

	t_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_RMR_SCOPE, &param));
	ck_assert_int_eq(param.rmr_scope, DAT_RMR_SCOPE_PZ);
	if (ret == DAT_SUCCESS) {
		t_ok(dat_rmr_query(for_ep, DAT_RMR_FIELD_RMR_SCOPE, &param));
		ck_assert_int_eq(param.rmr_scope, DAT_RMR_SCOPE_EP);
		ck_assert_int_ne(t_tia.provider.rmr_scope_supported, DAT_RMR_SCOPE_PZ);
		t_bad_handle_of(dat_rmr_create_for_ep(for_ep, &rmr), PZ);
	} else {
		t_unsupported(ret);
		ck_assert_int_eq(t_tia.provider.rmr_scope_supported, DAT_RMR_SCOPE_PZ);
	}
}
END_TEST
#endif

/* --- memory runs out --- */

enum { MANY = 1000000 };

static DAT_RETURN make_pz(DAT_HANDLE *pz)
{
	return dat_pz_create(t_tia.ia, pz);
}

static DAT_RETURN make_cno(DAT_HANDLE *cno)
{
	return dat_cno_create(t_tia.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, cno);
}

static DAT_RETURN make_lmr(DAT_HANDLE *lmr)
{
	return t_lmr_of(t_tia.ia, memory, SIZE, t_tia.pz, ALL, lmr);
}

static DAT_RETURN make_rmr(DAT_HANDLE *rmr)
{
	return dat_rmr_create(t_tia.pz, rmr);
}

/* Creates objects until one fails, frees all of them, and creates one again. */
static void runs_out(DAT_RETURN (*make)(DAT_HANDLE *), DAT_RETURN (*release)(DAT_HANDLE),
		     DAT_RETURN_SUBTYPE of)
{
	/* Not static: LeakSanitizer would read it at the end of each case of the program. */
	DAT_HANDLE *made = calloc(MANY, sizeof(*made));
	DAT_RETURN ret;
	int n = 0;

	ck_assert_ptr_nonnull(made);
	if (!t_limit_memory(4 << 20)) {
		free(made);
		t_skip("a sanitizer needs address space without limit");
	}
	while ((ret = make(&made[n])) == DAT_SUCCESS && n < MANY - 1)
		n++;
	t_unlimit_memory();
	if (of)
		t_error_sub(ret, DAT_INSUFFICIENT_RESOURCES, of);
	else
		t_error(ret, DAT_INSUFFICIENT_RESOURCES);
	while (n)
		t_ok(release(made[--n]));
	t_ok(make(&made[0]));
	t_ok(release(made[0]));
	free(made);
}

START_TEST(PZ_004_memory_runs_out)
{
	/* CNO-007 LMR-028 RMR-004 */
	static const struct {
		DAT_RETURN (*make)(DAT_HANDLE *);
		DAT_RETURN (*release)(DAT_HANDLE);
		DAT_RETURN_SUBTYPE of; /* where the rule names it */
	} kinds[] = {
		{make_pz, dat_pz_free, DAT_NO_SUBTYPE},
		{make_cno, dat_cno_free, DAT_NO_SUBTYPE},
		{make_lmr, dat_lmr_free, DAT_RESOURCE_MEMORY_REGION},
		{make_rmr, dat_rmr_free, DAT_RESOURCE_MEMORY_REGION},
	};

	runs_out(kinds[_i].make, kinds[_i].release, kinds[_i].of);
	t_ia_close_empty(&t_tia);
	t_ia_open(&t_tia);
}
END_TEST

static void add_lmr_tests(Suite *suite)
{
	TCase *tc = conform_case(suite, "lmr");

	tcase_add_test(tc, LMR_001_002_032_033_create_returns_all_outputs);
	tcase_add_test(tc, LMR_003_004_registering_an_lmr_again);
	tcase_add_test(tc, LMR_012_013_020_create_refuses_bad_arguments);
	tcase_add_test(tc, LMR_015_016_017_create_refuses_impossible_regions);
	tcase_add_test(tc, LMR_018_create_refuses_to_write_what_is_read_only);
	tcase_add_test(tc, LMR_021_022_context_for_peers);
	tcase_add_test(tc, LMR_024_025_regions_may_overlap);
	tcase_add_test(tc, LMR_041_contexts_are_not_used_again_at_once);
#if T_DAT_MAJOR == 2
	tcase_add_test(tc, LMR_030_031_va_types);
#endif
	tcase_add_test(tc, LMR_006_009_cookie_names_shared_memory);
	tcase_add_test(tc, LMR_007_cookies_differ_in_any_byte);
	tcase_add_test(tc, LMR_008_010_cookie_names_one_memory_while_it_is_in_use);
	tcase_add_test(tc, LMR_042_043_044_query_returns_the_values_of_the_creation);
	tcase_add_test(tc, LMR_045_query_refuses_bad_arguments);
	tcase_add_loop_test(tc, LMR_048_049_052_055_sync_takes_segments_of_all_regions, 0, 2);
	tcase_add_loop_test(tc, LMR_050_056_sync_refuses_what_is_not_registered, 0, 2);

	tc = tcase_create("lmr_of_processes");
	tcase_add_test(tc, LMR_006_008_009_010_processes_of_the_host_share_a_cookie);
	suite_add_tcase(suite, tc);
}

Suite *conform_mem(void)
{
	Suite *suite = suite_create("mem");
	TCase *tc = conform_case(suite, "pz");

	tcase_add_test(tc, PZ_001_005_pzs_are_distinct);
	tcase_add_test(tc, PZ_003_012_013_bad_arguments);
	tcase_add_test(tc, PZ_006_008_pz_with_objects_cannot_be_freed);
	tcase_add_test(tc, PZ_007_pz_of_an_srq_cannot_be_freed);
	tcase_add_loop_test(tc, PZ_004_memory_runs_out, 0, 4);
	tcase_add_test(tc, PZ_010_freed_pz_is_refused_everywhere);
	tcase_add_test(tc, PZ_011_query_tells_the_ia);
	add_lmr_tests(suite);

	tc = conform_case(suite, "rmr");
	tcase_add_test(tc, RMR_001_006_010_016_new_rmr_is_unbound);
	tcase_add_test(tc, RMR_003_013_bad_arguments);
#if T_DAT_MAJOR == 2
	tcase_add_test(tc, RMR_007_008_012_scope);
#endif
	return suite;
}
