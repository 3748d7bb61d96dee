/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posts with random arguments: each call returns one of the codes that the specification allows.
 */
#include "conform_dto.h"
#include "paired.h"

enum kind { SEND, RECV, READ, WRITE, SHARED, KINDS };

#define ROUNDS       3000
#define SEGMENTS     40
#define SHARED_DEPTH 256 /* of the SRQ, whose buffers are never used */

static DAT_EP_HANDLE eps[4];   /* connected, not connected, freed, no EP */
static DAT_SRQ_HANDLE srqs[3]; /* valid, freed, no SRQ */
static struct t_buf bufs[4];   /* all rights, local read only, of another PZ, freed */

/* The same numbers in every run: xorshift. */
static uint64_t chance;

static size_t pick(size_t n)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (size_t)(chance % n);
}

static void make_srqs(const struct t_ia *ia)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = SHARED_DEPTH, .max_recv_iov = 4};

	for (int i = 0; i < 2; i++)
		t_ok(dat_srq_create(ia->ia, ia->pz, &attr, &srqs[i]));
	t_ok(dat_srq_free(srqs[1]));
	srqs[2] = ia->pz;
}

static void prepare(unsigned int seed)
{
	const struct t_ia *ia = &paired.ia[0];
	DAT_PZ_HANDLE other;
	struct t_end end;

	chance = UINT64_C(0x9e3779b97f4a7c15) * (seed + 1);
	t_end_new(&end, ia, NULL);
	eps[2] = end.ep;
	t_ok(dat_ep_free(end.ep));
	t_end_new(&end, ia, NULL);
	eps[0] = us->ep;
	eps[1] = end.ep;
	eps[3] = ia->pz;
	if (ia->provider.srq_supported)
		make_srqs(ia);
	t_ok(dat_pz_create(ia->ia, &other));
	t_buf_new(&bufs[0], ia->ia, ia->pz, T_BUF_SIZE, DAT_MEM_PRIV_ALL_FLAG);
	t_buf_new(&bufs[1], ia->ia, ia->pz, T_BUF_SIZE, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	t_buf_new(&bufs[2], ia->ia, other, T_BUF_SIZE, DAT_MEM_PRIV_ALL_FLAG);
	t_buf_new(&bufs[3], ia->ia, ia->pz, T_BUF_SIZE, DAT_MEM_PRIV_ALL_FLAG);
	t_ok(dat_lmr_free(bufs[3].lmr));
}

/* Most segments are valid, so that the later checks are reached. */
static DAT_LMR_TRIPLET any_segment(void)
{
	static const uint32_t lengths[] = {0, 1, 64, T_BUF_SIZE, T_BUF_SIZE + 1, UINT32_MAX};
	DAT_LMR_TRIPLET segment = t_seg(&bufs[pick(3) ? 0 : pick(4)], pick(64), pick(64));

	if (!pick(8))
		segment.segment_length = lengths[pick(6)];
	if (!pick(16))
		segment.virtual_address -= 100;
	if (!pick(16))
		segment.virtual_address = pick(2) ? 0 : ~(DAT_VADDR)0 - pick(64);
	if (!pick(16))
		segment.lmr_context = (DAT_LMR_CONTEXT)pick(UINT32_MAX);
	return segment;
}

static DAT_RETURN post(enum kind kind)
{
	static const unsigned int flags_of[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x80};
	static const DAT_COUNT counts[] = {-1, 0, 2, SEGMENTS};
	DAT_RMR_TRIPLET target = t_remote_seg(&peer->buf, 0, pick(4) ? 64 * 3 : pick(64));
	DAT_EP_HANDLE ep = eps[pick(4) ? 0 : pick(4)];
	DAT_DTO_COOKIE cookie = {.as_64 = chance};
	DAT_LMR_TRIPLET segments[SEGMENTS];
	DAT_COUNT n = pick(4) ? 1 : counts[pick(4)];
	DAT_LMR_TRIPLET *iov = pick(16) ? segments : NULL;
	DAT_COMPLETION_FLAGS flags = pick(8) ? 0 : (DAT_COMPLETION_FLAGS)flags_of[pick(6)];

	for (int i = 0; i < SEGMENTS; i++)
		segments[i] = any_segment();
	if (kind == SEND)
		return dat_ep_post_send(ep, n, iov, cookie, flags);
	if (kind == RECV)
		return dat_ep_post_recv(ep, n, iov, cookie, flags);
	if (kind == SHARED)
		return dat_srq_post_recv(srqs[pick(4) ? 0 : pick(3)], n, iov, cookie);
	if (kind == READ)
		return dat_ep_post_rdma_read(ep, n, iov, cookie, pick(16) ? &target : NULL, flags);
	return dat_ep_post_rdma_write(ep, n, iov, cookie, pick(16) ? &target : NULL, flags);
}

static bool needs_state(enum kind kind)
{
	return kind != RECV && kind != SHARED;
}

static bool may_answer(enum kind kind, DAT_RETURN_TYPE type)
{
	switch (type) {
	case DAT_SUCCESS:
	case DAT_INSUFFICIENT_RESOURCES:
	case DAT_INVALID_PARAMETER:
	case DAT_INVALID_HANDLE:
	case DAT_PROTECTION_VIOLATION:
	case DAT_PRIVILEGES_VIOLATION:
		return true;
	case DAT_INVALID_STATE:
		return needs_state(kind);
	case DAT_LENGTH_ERROR:
		return kind == READ || kind == WRITE;
	default:
		return false;
	}
}

/* Each return code must have come several times, else the random arguments tested nothing. */
static void expect_variety(enum kind kind, const unsigned int *seen)
{
	static const DAT_RETURN_TYPE wanted[] = {
		DAT_SUCCESS,
		DAT_INVALID_PARAMETER,
		DAT_INVALID_HANDLE,
		DAT_PROTECTION_VIOLATION,
		DAT_PRIVILEGES_VIOLATION,
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		ck_assert_uint_gt(seen[wanted[i] >> 16], 0);
	if (needs_state(kind))
		ck_assert_uint_gt(seen[DAT_INVALID_STATE >> 16], 0);
	if (kind == SHARED)
		ck_assert_uint_gt(seen[DAT_INSUFFICIENT_RESOURCES >> 16], 0);
	if (kind == READ || kind == WRITE)
		ck_assert_uint_gt(seen[DAT_LENGTH_ERROR >> 16], 0);
}

START_TEST(DTO_067_093_116_131_162_posts_return_only_allowed_codes)
{
	/* DTO-002; only an accepted transfer may end the connection */
	enum kind kind = (enum kind)_i;
	unsigned int seen[256] = {0};

	prepare((unsigned int)_i);
	if (kind == SHARED && !paired.ia[0].provider.srq_supported)
		t_skip("the fabric has no SRQs");
	for (int i = 0; i < ROUNDS; i++) {
		DAT_RETURN ret = post(kind);

		ck_assert_msg(may_answer(kind, DAT_GET_TYPE(ret)), "post %d answers %s", i,
			      t_words(ret));
		seen[DAT_GET_TYPE(ret) >> 16 & 0xff]++;
		t_drain(us->request_evd);
		t_drain(us->recv_evd);
	}
	expect_variety(kind, seen);
	ck_assert_int_eq(t_ep_state(eps[1]), DAT_EP_STATE_UNCONNECTED);
}
END_TEST

void conform_returns(Suite *suite)
{
	TCase *tcase = paired_case(suite, "dto-returns");

	tcase_add_loop_test(tcase, DTO_067_093_116_131_162_posts_return_only_allowed_codes, 0,
			    KINDS);
}
