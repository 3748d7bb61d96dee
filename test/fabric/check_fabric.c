/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tests of the test provider itself. Each limit is exceeded once, and correct use passes. Most
 * cases run for each pair of core and profile.
 */
#include "fault.h"
#include "side.h"
#include "unit.h"

#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#define API     FI_VERSION(1, 17)
#define WAIT_MS 20000
#define QUIET_MS                                                                                   \
	100 /* time in which nothing may come; a short time may miss a fault, but reports no false \
	       one */

static const char *const cores[] = {"shm", "tcp;ofi_rxm"};
static const char *const profiles[] = {"efa", "cxi", "cxi-client-keys", "opx"};

#define NCORES        2
#define NPROFILES     4
#define NPAIRS        (NCORES * NPROFILES)

/* The offset of most writes in the memory. */
#define MARK          4096

/* FI_OPT_CXI_SET_PROV_KEY_CACHE. Some systems do not have the header that defines it. */
#define SET_KEY_CACHE (-(0xccc << 16) + 7)

static struct t_side a, b;
/* Operation contexts. Only their addresses matter. */
static struct fi_context2 ctx[600];

/* --- begin of a case --- */

static void use_core(int core)
{
	setenv("FI_PROVIDER_PATH", T_SHAM_DIR, 1);
	setenv("FI_SHAM_CORE", cores[core], 1);
	/* rxm allocates buffers for each entry, which takes longer than most cases. */
	setenv("FI_OFI_RXM_TX_SIZE", "512", 1);
	setenv("FI_OFI_RXM_RX_SIZE", "512", 1);
}

static struct fi_info *get(struct fi_info *hints)
{
	struct fi_info *info = NULL;
	int ret = fi_getinfo(API, NULL, NULL, 0, hints, &info);

	ck_assert_msg(!ret || ret == -FI_ENODATA, "fi_getinfo: %s", fi_strerror(-ret));
	return ret ? NULL : info;
}

static bool is_cxi(const char *profile)
{
	return !strncmp(profile, "cxi", 3);
}

/* An info with all capabilities of the profile. */
static struct fi_info *info_for(const char *profile)
{
	struct fi_info *hints = t_hints("sham", profile), *info;

	if (is_cxi(profile)) {
		hints->caps |= FI_FENCE;
		hints->tx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_WAW;
	}
	info = get(hints);
	ck_assert_msg(info, "no info for %s", profile);
	fi_freeinfo(hints);
	return info;
}

static struct fi_info *local_info(const char *profile)
{
	struct fi_info *hints = t_hints("sham", profile), *info;

	hints->domain_attr->mr_mode |= FI_MR_LOCAL;
	info = get(hints);
	ck_assert(info);
	ck_assert(info->domain_attr->mr_mode & FI_MR_LOCAL);
	fi_freeinfo(hints);
	return info;
}

static void meet(struct fi_info *info, enum fi_wait_obj wait_obj)
{
	t_side_open(&a, info, wait_obj, 0);
	t_side_open(&b, fi_dupinfo(info), wait_obj, 0);
	t_side_enable(&a);
	t_side_enable(&b);
	t_side_meet(&a, &b);
}

static void begin(int pair)
{
	use_core(pair / NPROFILES);
	meet(info_for(profiles[pair % NPROFILES]), FI_WAIT_NONE);
}

/* For cases that do not depend on the profile: each core gets another one. */
static void begin_any(int core)
{
	begin(core * NPROFILES + core);
}

static void begin_with(int core, const char *profile)
{
	use_core(core);
	meet(info_for(profile), FI_WAIT_NONE);
}

static void end(void)
{
	t_side_close(&a);
	t_side_close(&b);
}

static struct sham_faults *faults(struct t_side *side)
{
	void *ops;

	ck_assert_int_eq(fi_open_ops(&side->domain->fid, SHAM_FAULTS, 0, &ops, NULL), 0);
	return ops;
}

/* The next completion of `side` must be a success with this context. */
static const struct t_seen *expect(struct t_side *side, struct t_side *other, void *context)
{
	const struct t_seen *seen = t_side_next(side, other, WAIT_MS);

	ck_assert_msg(seen, "no completion");
	ck_assert_msg(!seen->err, "%s", fi_strerror(seen->err));
	ck_assert_ptr_eq(seen->context, context);
	return seen;
}

static void expect_any(struct t_side *side, struct t_side *other, int count)
{
	while (count--) {
		const struct t_seen *seen = t_side_next(side, other, WAIT_MS);

		ck_assert_msg(seen, "%d completions are missing", count + 1);
		ck_assert_msg(!seen->err, "%s", fi_strerror(seen->err));
	}
}

static void expect_error(struct t_side *side, struct t_side *other, void *context, int err)
{
	const struct t_seen *seen = t_side_next(side, other, WAIT_MS);

	ck_assert_msg(seen, "no completion");
	ck_assert_ptr_eq(seen->context, context);
	ck_assert_int_eq(seen->err, err);
}

/* --- fi_getinfo --- */

/* Hints with one feature that the hardware lacks must find nothing. */
#define REFUSES(profile, change)                                               \
	do {                                                                   \
		struct fi_info *hints = t_hints("sham", profile);              \
                                                                               \
		hints->change;                                                 \
		ck_assert_msg(!get(hints), "%s accepts %s", profile, #change); \
		fi_freeinfo(hints);                                            \
	} while (0)

#define ACCEPTS(profile, change)                                         \
	do {                                                             \
		struct fi_info *hints = t_hints("sham", profile), *info; \
                                                                         \
		hints->change;                                           \
		info = get(hints);                                       \
		ck_assert_msg(info, "%s refuses %s", profile, #change);  \
		fi_freeinfo(info);                                       \
		fi_freeinfo(hints);                                      \
	} while (0)

START_TEST(info_lists_profiles)
{
	struct fi_info *hints, *info;
	int found = 0;

	use_core(_i);
	hints = t_hints("sham", NULL);
	info = get(hints);
	for (const struct fi_info *i = info; i; i = i->next)
		ck_assert_str_eq(i->domain_attr->name, profiles[found++]);
	ck_assert_int_eq(found, NPROFILES);
	fi_freeinfo(info);
	setenv("FI_SHAM_PROFILE", "cxi", 1);
	info = get(hints);
	ck_assert_str_eq(info->domain_attr->name, "cxi");
	ck_assert_ptr_null(info->next);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}
END_TEST

START_TEST(info_needs_mr_mode)
{
	use_core(_i);
	for (int i = 0; i < NPROFILES; i++) {
		if (strcmp(profiles[i], "opx"))
			REFUSES(profiles[i], domain_attr->mr_mode = 0);
		ACCEPTS(profiles[i], domain_attr->mr_mode |= FI_MR_LOCAL);
	}
	ACCEPTS("opx", domain_attr->mr_mode = 0);
	REFUSES("efa", domain_attr->mr_mode &= ~FI_MR_VIRT_ADDR);
	REFUSES("efa", domain_attr->mr_mode &= ~FI_MR_ALLOCATED);
	REFUSES("efa", domain_attr->mr_mode &= ~FI_MR_PROV_KEY);
	ACCEPTS("efa", domain_attr->mr_mode &= ~FI_MR_ENDPOINT);
	REFUSES("cxi", domain_attr->mr_mode &= ~FI_MR_ENDPOINT);
	REFUSES("cxi", domain_attr->mr_mode &= ~FI_MR_PROV_KEY);
	ACCEPTS("cxi", domain_attr->mr_mode &= ~FI_MR_VIRT_ADDR);
	REFUSES("cxi-client-keys", domain_attr->mr_mode &= ~FI_MR_ENDPOINT);
	ACCEPTS("cxi-client-keys", domain_attr->mr_mode &= ~FI_MR_PROV_KEY);
}
END_TEST

START_TEST(info_needs_mode)
{
	use_core(_i);
	for (int i = 0; i < 3; i++)
		ACCEPTS(profiles[i], mode = 0);
	REFUSES("opx", mode = 0);
	REFUSES("opx", mode &= ~FI_CONTEXT2);
	REFUSES("opx", mode &= ~FI_ASYNC_IOV);
}
END_TEST

/* Hints without a threading level get one without threads. */
START_TEST(info_threads_where_asked)
{
	static const enum fi_threading asked[] = {FI_THREAD_UNSPEC, FI_THREAD_SAFE,
						  FI_THREAD_COMPLETION};
	struct fi_info *hints, *info;

	use_core(_i);
	for (int i = 0; i < 3; i++) {
		hints = t_hints("sham", "opx");
		hints->domain_attr->threading = asked[i];
		info = get(hints);
		ck_assert_int_eq(info->domain_attr->threading,
				 asked[i] ? asked[i] : FI_THREAD_DOMAIN);
		fi_freeinfo(info);
		fi_freeinfo(hints);
	}
}
END_TEST

START_TEST(info_refuses_everywhere)
{
	use_core(_i);
	for (int i = 0; i < NPROFILES; i++) {
		REFUSES(profiles[i], ep_attr->type = FI_EP_MSG);
		REFUSES(profiles[i], ep_attr->type = FI_EP_DGRAM);
		REFUSES(profiles[i], caps |= FI_ATOMIC);
		REFUSES(profiles[i], tx_attr->rma_iov_limit = 2);
		REFUSES(profiles[i], tx_attr->inject_size = 8192);
		REFUSES(profiles[i], tx_attr->size = 1 << 20);
		REFUSES(profiles[i], rx_attr->size = 1 << 20);
		REFUSES(profiles[i], domain_attr->data_progress = FI_PROGRESS_AUTO);
		REFUSES(profiles[i], domain_attr->control_progress = FI_PROGRESS_AUTO);
		REFUSES(profiles[i], addr_format = FI_SOCKADDR_IN);
		ACCEPTS(profiles[i], tx_attr->msg_order = FI_ORDER_SAS);
	}
}
END_TEST

START_TEST(info_differs)
{
	use_core(_i);
	REFUSES("efa", caps |= FI_FENCE);
	REFUSES("efa", domain_attr->cq_data_size = 8);
	REFUSES("efa", tx_attr->iov_limit = 5);
	REFUSES("efa", tx_attr->msg_order = FI_ORDER_WAW);
	REFUSES("efa", tx_attr->msg_order = FI_ORDER_SAW);
	REFUSES("cxi", tx_attr->msg_order = FI_ORDER_SAW);
	ACCEPTS("opx", tx_attr->msg_order = FI_ORDER_SAW); /* and does not promise it */
	REFUSES("opx", tx_attr->iov_limit = 2);
	ACCEPTS("efa", tx_attr->iov_limit = 4);
	ACCEPTS("efa", tx_attr->inject_size = 4096);
	REFUSES("cxi", tx_attr->iov_limit = 2);
	REFUSES("cxi", rx_attr->iov_limit = 2);
	REFUSES("cxi", tx_attr->inject_size = 193);
	REFUSES("cxi", ep_attr->mem_tag_format = UINT64_C(1) << 48);
	REFUSES("cxi", ep_attr->max_msg_size = UINT64_C(1) << 32);
	REFUSES("cxi-client-keys", domain_attr->mr_key_size = 8);
	ACCEPTS("cxi", caps |= FI_FENCE);
	ACCEPTS("cxi", domain_attr->cq_data_size = 8);
	ACCEPTS("cxi", tx_attr->msg_order = FI_ORDER_WAW);
}
END_TEST

/* Hints with small values get small values. */
START_TEST(info_gives_what_is_asked)
{
	struct fi_info *hints, *info;

	use_core(_i);
	for (int i = 0; i < NPROFILES; i++) {
		hints = t_hints("sham", profiles[i]);
		hints->tx_attr->inject_size = 16;
		hints->tx_attr->size = 32;
		hints->rx_attr->size = 64;
		info = get(hints);
		ck_assert_uint_eq(info->tx_attr->inject_size, 16);
		ck_assert_uint_eq(info->tx_attr->size, 32);
		ck_assert_uint_eq(info->rx_attr->size, 64);
		fi_freeinfo(info);
		fi_freeinfo(hints);
	}
}
END_TEST

/* Some capabilities make the card slower, so only hints that ask for them get them. */
START_TEST(info_gives_on_request)
{
	struct fi_info *hints, *info;

	use_core(_i / 2);
	hints = t_hints("sham", profiles[1 + _i % 2]);
	hints->caps &= ~(uint64_t)FI_SOURCE;
	info = get(hints);
	ck_assert_uint_eq(info->caps & (FI_FENCE | FI_SOURCE), 0);
	ck_assert_uint_eq((info->tx_attr->caps | info->rx_attr->caps) & (FI_FENCE | FI_SOURCE), 0);
	ck_assert_uint_eq(info->tx_attr->msg_order, 0);
	ck_assert_uint_ne(info->rx_attr->msg_order & FI_ORDER_WAW, 0);
	fi_freeinfo(info);
	hints->caps |= FI_FENCE | FI_SOURCE;
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	info = get(hints);
	ck_assert_uint_eq(info->caps & (FI_FENCE | FI_SOURCE), FI_FENCE | FI_SOURCE);
	ck_assert_uint_eq(info->tx_attr->msg_order, FI_ORDER_SAS);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}
END_TEST

/* opx promises neither an order nor a length of its queues, and no protection of them unasked. */
START_TEST(info_of_opx_promises_little)
{
	struct fi_info *hints, *info;

	use_core(_i);
	hints = t_hints("sham", "opx");
	hints->tx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_SAW;
	info = get(hints);
	ck_assert_uint_eq(info->tx_attr->msg_order | info->rx_attr->msg_order, 0);
	ck_assert_uint_eq(info->tx_attr->size, SIZE_MAX);
	ck_assert_uint_eq(info->rx_attr->size, SIZE_MAX);
	ck_assert_int_eq(info->domain_attr->mr_mode, FI_MR_HMEM);
	ck_assert_int_eq(info->domain_attr->resource_mgmt, FI_RM_DISABLED);
	fi_freeinfo(info);
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	info = get(hints);
	ck_assert_int_eq(info->domain_attr->resource_mgmt, FI_RM_ENABLED);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}
END_TEST

START_TEST(info_says_little_for_itself)
{
	struct fi_info *hints, *info;

	use_core(_i);
	hints = t_hints("sham", "cxi");
	setenv("FI_OFI_RXM_TX_SIZE", "2048", 1);
	setenv("FI_OFI_RXM_RX_SIZE", "2048", 1);
	info = get(hints);
	ck_assert_uint_eq(info->tx_attr->size, 1024);
	ck_assert_uint_eq(info->rx_attr->size, 1024);
	ck_assert_uint_eq(info->domain_attr->mr_cnt, 100); /* it accepts many more */
	ck_assert_int_eq(info->domain_attr->av_type, FI_AV_UNSPEC);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}
END_TEST

START_TEST(info_knows_no_hosts)
{
	struct fi_info *hints, *info;

	use_core(_i);
	hints = t_hints("sham", NULL);
	ck_assert_int_eq(fi_getinfo(API, "127.0.0.1", NULL, FI_SOURCE, hints, &info), -FI_ENODATA);
	ck_assert_int_eq(fi_getinfo(API, "127.0.0.1", "7", 0, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}
END_TEST

static TCase *case_info(void)
{
	TCase *tc = tcase_create("info");

	tcase_add_loop_test(tc, info_lists_profiles, 0, NCORES);
	tcase_add_loop_test(tc, info_needs_mr_mode, 0, NCORES);
	tcase_add_loop_test(tc, info_needs_mode, 0, NCORES);
	tcase_add_loop_test(tc, info_threads_where_asked, 0, NCORES);
	tcase_add_loop_test(tc, info_refuses_everywhere, 0, NCORES);
	tcase_add_loop_test(tc, info_differs, 0, NCORES);
	tcase_add_loop_test(tc, info_gives_what_is_asked, 0, NCORES);
	tcase_add_loop_test(tc, info_gives_on_request, 0, 2 * NCORES);
	tcase_add_loop_test(tc, info_of_opx_promises_little, 0, NCORES);
	tcase_add_loop_test(tc, info_says_little_for_itself, 0, NCORES);
	tcase_add_loop_test(tc, info_knows_no_hosts, 0, NCORES);
	return tc;
}

/* --- correct use --- */

START_TEST(use_messages)
{
	begin(_i);
	for (size_t len = 1; len <= 1 << 18; len *= 8) {
		const struct t_seen *seen;

		memset(a.mem, (int)len % 251 + 1, len);
		memset(b.mem, 0, len);
		t_side_recv(&b, &a, 0, len, len, &ctx[0]);
		t_side_send(&a, &b, 0, len, len, FI_COMPLETION, &ctx[1]);
		expect(&a, &b, &ctx[1]);
		seen = expect(&b, &a, &ctx[0]);
		ck_assert_uint_eq(seen->len, len);
		ck_assert_uint_eq(seen->tag, len);
		ck_assert_uint_eq(seen->src, b.peer);
		ck_assert_mem_eq(a.mem, b.mem, len);
	}
	end();
}
END_TEST

START_TEST(use_untagged_and_inject)
{
	void *desc;
	const struct t_seen *seen;

	begin_any(_i);
	desc = fi_mr_desc(b.mr);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(fi_recv(b.ep, b.mem + 64 * i, 64, desc, b.peer, &ctx[i]), 0);
	memcpy(a.mem, "one", 4);
	ck_assert_int_eq(fi_inject(a.ep, a.mem, 4, a.peer), 0);
	memcpy(a.mem, "two", 4); /* what was injected is gone already */
	ck_assert_int_eq(fi_injectdata(a.ep, a.mem, 4, 0x7654321, a.peer), 0);
	ck_assert_int_eq(fi_send(a.ep, a.mem, 4, fi_mr_desc(a.mr), a.peer, &ctx[4]), 0);
	expect(&a, &b, &ctx[4]);
	ck_assert_int_eq(fi_senddata(a.ep, a.mem, 4, fi_mr_desc(a.mr), 9, a.peer, &ctx[5]), 0);
	expect(&a, &b, &ctx[5]);
	for (int i = 0; i < 4; i++) {
		seen = t_side_next(&b, &a, WAIT_MS);
		ck_assert(seen && !seen->err);
		if (seen->context == &ctx[1])
			ck_assert_uint_eq(seen->data, 0x7654321);
		ck_assert_int_eq(!!(seen->flags & FI_REMOTE_CQ_DATA),
				 seen->context == &ctx[1] || seen->context == &ctx[3]);
	}
	ck_assert_str_eq(b.mem, "one");
	ck_assert_str_eq(b.mem + 64, "two");
	ck_assert_str_eq(b.mem + 192, "two");
	end();
}
END_TEST

START_TEST(use_rdma)
{
	begin(_i);
	for (size_t len = 1; len <= 1 << 18; len *= 8) {
		memset(a.mem, (int)len % 251 + 1, len);
		t_side_write(&a, &b, 0, len, 8, FI_COMPLETION | FI_DELIVERY_COMPLETE, &ctx[0]);
		expect(&a, &b, &ctx[0]);
		ck_assert_mem_eq(a.mem, b.mem + 8, len);
		t_side_read(&a, &b, 1 << 19, len, 8, &ctx[1]);
		expect(&a, &b, &ctx[1]);
		ck_assert_mem_eq(a.mem, a.mem + (1 << 19), len);
	}
	end();
}
END_TEST

START_TEST(use_rdma_variants)
{
	uint64_t key, at;
	struct iovec iov;
	void *desc;

	begin(_i);
	key = fi_mr_key(b.mr);
	at = b.base;
	desc = fi_mr_desc(a.mr);
	iov = (struct iovec){.iov_base = a.mem, .iov_len = 8};
	memcpy(a.mem, "written", 8);
	ck_assert_int_eq(fi_write(a.ep, a.mem, 8, desc, a.peer, at, key, &ctx[0]), 0);
	ck_assert_int_eq(fi_writev(a.ep, &iov, &desc, 1, a.peer, at + 8, key, &ctx[1]), 0);
	ck_assert_int_eq(fi_inject_write(a.ep, a.mem, 8, a.peer, at + 16, key), 0);
	expect_any(&a, &b, 2);
	while (strcmp(b.mem, "written") || strcmp(b.mem + 8, "written") ||
	       strcmp(b.mem + 16, "written")) {
		t_side_poll(&a);
		t_side_poll(&b);
	}
	iov.iov_base = a.mem + 8;
	ck_assert_int_eq(fi_readv(a.ep, &iov, &desc, 1, a.peer, at, key, &ctx[2]), 0);
	expect(&a, &b, &ctx[2]);
	ck_assert_str_eq(a.mem + 8, "written");
	end();
}
END_TEST

START_TEST(use_many_at_once)
{
	begin_any(_i);
	for (int i = 0; i < 256; i++)
		t_side_recv(&b, &a, 4096 + 64 * (size_t)i, 64, (uint64_t)i, &ctx[i]);
	for (int i = 0; i < 256; i++) {
		a.mem[64 * i] = (char)i;
		t_side_send(&a, &b, 64 * (size_t)i, 64, (uint64_t)i, FI_COMPLETION, &ctx[256 + i]);
	}
	expect_any(&a, &b, 256);
	expect_any(&b, &a, 256);
	for (int i = 0; i < 256; i++)
		ck_assert_int_eq(b.mem[4096 + 64 * i], (char)i);
	end();
}
END_TEST

/* An endpoint with selective completions. */
START_TEST(use_selective)
{
	struct fi_info *info;

	use_core(_i);
	info = info_for(profiles[_i]);
	t_side_open(&a, info, FI_WAIT_NONE, FI_SELECTIVE_COMPLETION);
	t_side_open(&b, fi_dupinfo(info), FI_WAIT_NONE, 0);
	t_side_enable(&a);
	t_side_enable(&b);
	t_side_meet(&a, &b);
	for (int i = 0; i < 3; i++)
		t_side_recv(&b, &a, 0, 64, 1, &ctx[i]);
	t_side_send(&a, &b, 0, 64, 1, 0, &ctx[3]);
	t_side_send(&a, &b, 0, 64, 1, FI_COMPLETION, &ctx[4]);
	t_side_send(&a, &b, 0, 64, 1, 0, &ctx[5]);
	expect_any(&b, &a, 3);
	expect(&a, &b, &ctx[4]);
	ck_assert_ptr_null(t_side_next(&a, &b, QUIET_MS));
	end();
}
END_TEST

static TCase *case_use(void)
{
	TCase *tc = tcase_create("use");

	tcase_add_loop_test(tc, use_messages, 0, NPAIRS);
	tcase_add_loop_test(tc, use_untagged_and_inject, 0, NCORES);
	tcase_add_loop_test(tc, use_rdma, 0, NPAIRS);
	tcase_add_loop_test(tc, use_rdma_variants, 0, NPAIRS);
	tcase_add_loop_test(tc, use_many_at_once, 0, NCORES);
	tcase_add_loop_test(tc, use_selective, 0, NCORES);
	return tc;
}

/* --- limits of operations --- */

static ssize_t try_send(struct t_side *side, size_t len, size_t count, uint64_t tag, uint64_t flags)
{
	static struct iovec iov[5]; /* with FI_ASYNC_IOV until the message is sent */
	void *desc[5];
	struct fi_msg_tagged msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = side->peer,
		.tag = tag,
		.context = &ctx[599],
	};

	for (size_t i = 0; i < count; i++) {
		iov[i] = (struct iovec){.iov_base = side->mem, .iov_len = len};
		desc[i] = fi_mr_desc(side->mr);
	}
	return fi_tsendmsg(side->ep, &msg, flags);
}

START_TEST(op_limits)
{
	const struct fi_info *info;

	begin(_i);
	info = a.info;
	ck_assert_int_eq(try_send(&a, 8, info->tx_attr->iov_limit + 1, 1, FI_COMPLETION),
			 -FI_EINVAL);
	ck_assert_int_eq(try_send(&a, info->tx_attr->inject_size + 1, 1, 1, FI_INJECT),
			 -FI_EMSGSIZE);
	ck_assert_int_eq(try_send(&a, 8, 1, 1, FI_MULTICAST), -FI_EBADFLAGS);
	if (info->ep_attr->mem_tag_format < UINT64_C(1) << 48) {
		ck_assert_int_eq(try_send(&a, 8, 1, UINT64_C(1) << 48, FI_COMPLETION), -FI_EINVAL);
		ck_assert_int_eq(fi_trecv(a.ep, a.mem, 8, NULL, a.peer, 0, UINT64_MAX, &ctx[0]),
				 -FI_EINVAL);
	}
	if (!(info->caps & FI_FENCE))
		ck_assert_int_eq(try_send(&a, 8, 1, 1, FI_FENCE), -FI_EINVAL);
	t_side_recv(&b, &a, 0, 8192, 1, &ctx[0]);
	ck_assert_int_eq(try_send(&a, 8, info->tx_attr->iov_limit, 1, FI_COMPLETION), 0);
	expect(&b, &a, &ctx[0]);
	expect(&a, &b, &ctx[599]);
	end();
}
END_TEST

START_TEST(op_before_enable)
{
	char name[256];
	size_t size = sizeof(name);

	use_core(_i / NPROFILES);
	t_side_open(&a, info_for(profiles[_i % NPROFILES]), FI_WAIT_NONE, 0);
	ck_assert_int_eq(fi_getname(&a.ep->fid, name, &size), -FI_EOPBADSTATE);
	ck_assert_int_eq(fi_trecv(a.ep, a.mem, 8, NULL, FI_ADDR_UNSPEC, 0, 0, &ctx[0]),
			 -FI_EOPBADSTATE);
	t_side_close(&a);
}
END_TEST

START_TEST(op_queue_full)
{
	size_t posted = 0;
	ssize_t ret;

	begin_any(_i);
	faults(&a)->drop = 0; /* so that nothing leaves the queue */
	while (!(ret = fi_tsend(a.ep, a.mem, 8, fi_mr_desc(a.mr), a.peer, 1, NULL)))
		posted++;
	ck_assert_int_eq(ret, -FI_EAGAIN);
	ck_assert_uint_eq(posted, a.info->tx_attr->size);
	end();
}
END_TEST

START_TEST(op_cancel)
{
	ssize_t unknown;

	begin(_i);
	unknown = a.info->caps & FI_FENCE ? -FI_ENOENT : 0;
	t_side_recv(&a, &b, 0, 64, 1, &ctx[0]);
	ck_assert_int_eq(fi_cancel(&a.ep->fid, &ctx[1]), unknown);
	ck_assert_int_eq(fi_cancel(&a.ep->fid, &ctx[0]), 0);
	/* CXI does not know a cancelled operation, though its completion was not read. */
	ck_assert(!unknown || fi_cancel(&a.ep->fid, &ctx[0]) == unknown);
	expect_error(&a, &b, &ctx[0], FI_ECANCELED);
	t_side_recv(&a, &b, 0, 64, 1, &ctx[0]); /* the context is free again */
	faults(&b)->drop = 0;
	t_side_send(&b, &a, 0, 64, 1, FI_COMPLETION, &ctx[2]);
	ck_assert_int_eq(fi_cancel(&b.ep->fid, &ctx[2]), unknown);
	ck_assert_ptr_null(t_side_next(&b, &a, QUIET_MS));
	end();
}
END_TEST

START_TEST(op_cq_data_is_cut)
{
	const struct t_seen *seen;
	uint64_t data = UINT64_C(0x1122334455667788);

	begin(_i);
	t_side_recv(&b, &a, 0, 64, 1, &ctx[0]);
	ck_assert_int_eq(fi_tsenddata(a.ep, a.mem, 8, fi_mr_desc(a.mr), data, a.peer, 1, &ctx[1]),
			 0);
	seen = expect(&b, &a, &ctx[0]);
	ck_assert_uint_eq(seen->data, a.info->domain_attr->cq_data_size == 8 ? data : 0x55667788);
	end();
}
END_TEST

START_TEST(op_write_data)
{
	ssize_t ret;

	begin(_i);
	memcpy(a.mem, "written", 8);
	ret = fi_writedata(a.ep, a.mem, 8, fi_mr_desc(a.mr), 77, a.peer, b.base, fi_mr_key(b.mr),
			   &ctx[0]);
	if (a.info->caps & FI_FENCE) {
		ck_assert_int_eq(ret, -FI_EBADFLAGS);
	} else {
		ck_assert_int_eq(ret, 0);
		expect(&a, &b, &ctx[0]);
		ck_assert_uint_eq(expect(&b, &a, NULL)->data, 77);
		ck_assert_str_eq(b.mem, "written");
	}
	end();
}
END_TEST

/*
 * An injected operation has no completion, but its failure has one, with the context of the
 * endpoint, because the operation has none.
 */
START_TEST(op_injected_fails)
{
	begin_with(_i / 2, profiles[1 + _i % 2]);
	faults(&a)->refuse = 100;
	ck_assert_int_eq(fi_inject_write(a.ep, a.mem, 8, a.peer, b.base, fi_mr_key(b.mr)), 0);
	expect_error(&a, &b, &a, FI_EIO);
	end();
}
END_TEST

START_TEST(op_rdma_is_refused)
{
	char before[8];

	begin_with(_i / 2, profiles[1 + _i % 2]);
	memcpy(before, b.mem, sizeof(before));
	memcpy(a.mem, "written", 8);
	faults(&a)->refuse = 100;
	t_side_write(&a, &b, 0, 8, 0, FI_COMPLETION, &ctx[0]);
	expect_error(&a, &b, &ctx[0], FI_EIO);
	t_side_read(&a, &b, 64, 8, 0, &ctx[1]);
	expect_error(&a, &b, &ctx[1], FI_EIO);
	ck_assert_mem_eq(b.mem, before, sizeof(before));
	/* Endpoint and peer still work. */
	faults(&a)->refuse = 0;
	t_side_write(&a, &b, 0, 8, 0, FI_COMPLETION | FI_DELIVERY_COMPLETE, &ctx[0]);
	expect(&a, &b, &ctx[0]);
	ck_assert_str_eq(b.mem, "written");
	end();
}
END_TEST

static TCase *case_op(void)
{
	TCase *tc = tcase_create("op");

	tcase_add_loop_test(tc, op_limits, 0, NPAIRS);
	tcase_add_loop_test(tc, op_before_enable, 0, NPAIRS);
	tcase_add_loop_test(tc, op_queue_full, 0, NCORES);
	tcase_add_loop_test(tc, op_cancel, 0, NPAIRS);
	tcase_add_loop_test(tc, op_cq_data_is_cut, 0, NPAIRS);
	tcase_add_loop_test(tc, op_write_data, 0, NPAIRS);
	tcase_add_loop_test(tc, op_injected_fails, 0, 2 * NCORES);
	tcase_add_loop_test(tc, op_rdma_is_refused, 0, 2 * NCORES);
	return tc;
}

/* --- registrations --- */

START_TEST(mr_endpoint)
{
	struct fid_mr *mr;
	struct fid_ep *second;

	begin_with(_i, "cxi");
	t_need(fi_mr_reg(a.domain, a.mem, 64, FI_REMOTE_READ, 0, 0, 0, &mr, NULL), "fi_mr_reg");
	ck_assert_uint_eq(fi_mr_key(mr), FI_KEY_NOTAVAIL);
	ck_assert_int_eq(fi_mr_enable(mr), -FI_EINVAL);
	t_need(fi_endpoint(a.domain, a.info, &second, NULL), "fi_endpoint");
	/* tcp;ofi_rxm of libfabric 1.17 crashes when an endpoint without a queue is closed. */
	t_need(fi_ep_bind(second, &a.av->fid, 0), "fi_ep_bind");
	t_need(fi_ep_bind(second, &a.cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	ck_assert_int_eq(fi_mr_bind(mr, &second->fid, 0), -FI_EINVAL); /* not enabled */
	ck_assert_int_eq(fi_mr_bind(mr, &a.ep->fid, 0), 0);
	ck_assert_int_eq(fi_mr_bind(mr, &a.ep->fid, 0), -FI_EINVAL);
	ck_assert_uint_eq(fi_mr_key(mr), FI_KEY_NOTAVAIL);
	ck_assert_int_eq(fi_mr_enable(mr), 0);
	ck_assert_uint_ne(fi_mr_key(mr), FI_KEY_NOTAVAIL);
	ck_assert_int_eq(fi_close(&a.ep->fid), -FI_EBUSY);
	ck_assert_int_eq(fi_close(&a.domain->fid), -FI_EBUSY);
	ck_assert_int_eq(fi_close(&mr->fid), 0);
	ck_assert_int_eq(fi_close(&second->fid), 0);
	end();
}
END_TEST

START_TEST(mr_local_only)
{
	struct fid_mr *mr;

	begin_with(_i / 2, profiles[1 + _i % 2]);
	mr = t_side_register(&a, a.mem, 64, FI_SEND | FI_RECV,
			     1); /* the key of the side's own registration */
	ck_assert_uint_eq(fi_mr_key(mr), FI_KEY_NOTAVAIL);
	ck_assert_int_eq(fi_close(&mr->fid), 0);
	end();
}
END_TEST

START_TEST(mr_provider_key)
{
	uint64_t key, cut;

	begin(_i);
	key = fi_mr_key(b.mr);
	if (b.info->domain_attr->mr_mode & FI_MR_PROV_KEY)
		ck_assert_uint_ne(key, 1); /* the requested key */
	else
		ck_assert_uint_eq(key, 1);
	/* a client may choose any key of 64 bits */
	if (strcmp(profiles[_i % NPROFILES], "opx") == 0) {
		end();
		return;
	}
	ck_assert_int_eq(key >> 32 != 0, b.info->domain_attr->mr_key_size == 8);
	/* A key without its upper half, or with a wrong one. */
	cut = key >> 32 ? key & UINT32_MAX : key | UINT64_C(1) << 32;
	ck_assert_int_eq(fi_write(a.ep, a.mem, 8, fi_mr_desc(a.mr), a.peer, b.base, cut, &ctx[0]),
			 -FI_EKEYREJECTED);
	end();
}
END_TEST

START_TEST(mr_client_key)
{
	struct fid_mr *mr, *other;

	begin_with(_i, "cxi-client-keys");
	ck_assert_int_eq(fi_mr_reg(a.domain, a.mem, 64, FI_REMOTE_READ, 0, UINT64_C(1) << 32, 0,
				   &mr, NULL),
			 -FI_EKEYREJECTED);
	ck_assert_int_eq(fi_mr_reg(a.domain, a.mem, 64, FI_REMOTE_READ, 0, 77, 0, &mr, NULL), 0);
	ck_assert_int_eq(fi_mr_reg(a.domain, a.mem, 64, FI_REMOTE_READ, 0, 77, 0, &other, NULL),
			 -FI_ENOKEY);
	ck_assert_int_eq(fi_close(&mr->fid), 0);
	ck_assert_int_eq(fi_mr_reg(a.domain, a.mem, 64, FI_REMOTE_READ, 0, 77, 0, &mr, NULL), 0);
	ck_assert_int_eq(fi_close(&mr->fid), 0);
	end();
}
END_TEST

START_TEST(mr_client_keys_run_out)
{
	static struct fid_mr *mrs[1 << 16];
	int count = 0, ret;

	begin_with(_i, "cxi-client-keys");
	for (;; count++) {
		ck_assert_int_lt(count, 1 << 16);
		ret = fi_mr_reg(a.domain, a.mem, 8, FI_REMOTE_READ, 0, (uint64_t)count + 2, 0,
				&mrs[count], NULL);
		if (ret)
			break;
	}
	ck_assert_int_eq(ret, -FI_ENOSPC);
	ck_assert_int_eq(count, (1 << 16) - 1); /* besides the side's own registration */
	while (count--)
		t_need(fi_close(&mrs[count]->fid), "fi_close");
	end();
}
END_TEST

START_TEST(mr_addressing)
{
	begin(_i);
	/* The side's base is 0 if addresses are offsets. Other cases test correct use. */
	ck_assert_int_eq(b.base != 0, !!(b.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR));
	end();
}
END_TEST

START_TEST(mr_needs_memory)
{
	struct fid_mr *mr;
	char *gone = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(gone, MAP_FAILED);
	begin_any(_i);
	munmap(gone + 4096, 4096);
	ck_assert_int_eq(fi_mr_reg(a.domain, gone, 8192, FI_REMOTE_READ, 0, 5, 0, &mr, NULL),
			 -FI_EFAULT);
	ck_assert_int_eq(fi_mr_reg(a.domain, gone, 4096, FI_REMOTE_READ, 0, 5, 0, &mr, NULL), 0);
	ck_assert_int_eq(fi_close(&mr->fid), 0);
	munmap(gone, 4096);
	end();
}
END_TEST

/* By default a key belongs to the memory: it has all rights and outlives the registration. */
START_TEST(mr_keys_are_cached)
{
	struct fid_mr *mr, *other;
	uint64_t key;

	begin_with(_i, "cxi");
	mr = t_side_register(&b, b.mem + MARK, 64, FI_REMOTE_READ, 0);
	other = t_side_register(&b, b.mem + MARK, 64, FI_REMOTE_READ, 0);
	key = fi_mr_key(mr);
	ck_assert_uint_eq(fi_mr_key(other), key);
	t_need(fi_close(&mr->fid), "fi_close");
	t_need(fi_close(&other->fid), "fi_close");
	memcpy(a.mem, "written", 8);
	ck_assert_int_eq(fi_write(a.ep, a.mem, 8, NULL, a.peer, 0, key, &ctx[0]), 0);
	expect(&a, &b, &ctx[0]);
	while (strcmp(b.mem + MARK, "written")) {
		t_side_poll(&a);
		t_side_poll(&b);
	}
	end();
}
END_TEST

START_TEST(mr_keys_are_of_registrations)
{
	struct fid_mr *mr, *other;
	bool cache = false;

	begin_with(_i, "cxi");
	ck_assert_int_eq(fi_control(&b.domain->fid, SET_KEY_CACHE, &cache), 0);
	mr = t_side_register(&b, b.mem + MARK, 64, FI_REMOTE_READ, 0);
	other = t_side_register(&b, b.mem + MARK, 64, FI_REMOTE_READ, 0);
	ck_assert_uint_ne(fi_mr_key(other), fi_mr_key(mr));
	t_need(fi_close(&mr->fid), "fi_close");
	t_need(fi_close(&other->fid), "fi_close");
	end();
}
END_TEST

START_TEST(mr_client_keys_are_not_cached)
{
	bool cache = false;

	begin_with(_i, "cxi-client-keys");
	ck_assert_int_eq(fi_control(&b.domain->fid, SET_KEY_CACHE, &cache), -FI_EINVAL);
	end();
}
END_TEST

static TCase *case_mr(void)
{
	TCase *tc = tcase_create("mr");

	tcase_add_loop_test(tc, mr_endpoint, 0, NCORES);
	tcase_add_loop_test(tc, mr_local_only, 0, 2 * NCORES);
	tcase_add_loop_test(tc, mr_provider_key, 0, NPAIRS);
	tcase_add_loop_test(tc, mr_client_key, 0, NCORES);
	tcase_add_loop_test(tc, mr_client_keys_run_out, 0, NCORES);
	tcase_add_loop_test(tc, mr_addressing, 0, NPAIRS);
	tcase_add_loop_test(tc, mr_needs_memory, 0, NCORES);
	tcase_add_loop_test(tc, mr_keys_are_cached, 0, NCORES);
	tcase_add_loop_test(tc, mr_keys_are_of_registrations, 0, NCORES);
	tcase_add_loop_test(tc, mr_client_keys_are_not_cached, 0, NCORES);
	return tc;
}

/* --- wrong use, which ends the program --- */

/* Removes what shm left of a process that died. */
static void bury(pid_t pid)
{
	char pattern[64];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/dev/shm/%d:*", pid);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		unlink(found.gl_pathv[i]);
	globfree(&found);
}

/* In a process of its own: providers install signal handlers, so it can end in several ways. */
static void dies(void (*wrong)(int), int arg, const char *message)
{
	int fd = t_memfile("stderr"), status;
	const char *said;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		dup2(fd, STDERR_FILENO);
		wrong(arg);
		_exit(EXIT_SUCCESS);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	bury(pid);
	said = t_captured(fd);
	ck_assert_msg(status && strstr(said, "wrong use of libfabric") && strstr(said, message),
		      "status %d, said: %s", status, said);
	close(fd);
}

static void begin_local(int core)
{
	use_core(core);
	meet(local_info("efa"), FI_WAIT_NONE);
}

START_TEST(local_is_used)
{
	begin_local(_i);
	t_side_recv(&b, &a, 0, 64, 1, &ctx[0]);
	t_side_send(&a, &b, 0, 64, 1, FI_COMPLETION, &ctx[1]);
	expect(&b, &a, &ctx[0]);
	t_side_write(&a, &b, 0, 64, 64, FI_COMPLETION | FI_DELIVERY_COMPLETE, &ctx[2]);
	expect_any(&a, &b, 2);
	/* Injected and empty messages need no descriptor. */
	ck_assert_int_eq(fi_tinject(a.ep, a.mem, 64, a.peer, 1), 0);
	ck_assert_int_eq(fi_tsend(a.ep, NULL, 0, NULL, a.peer, 1, &ctx[3]), 0);
	end();
}
END_TEST

static void send_without_descriptor(int core)
{
	begin_local(core);
	fi_tsend(a.ep, a.mem, 64, NULL, a.peer, 1, &ctx[0]);
}

static void send_with_half_the_descriptors(int core)
{
	struct iovec iov[2];
	void *desc[2];

	begin_local(core);
	iov[0] = (struct iovec){.iov_base = a.mem, .iov_len = 8};
	iov[1] = (struct iovec){.iov_base = a.mem + 8, .iov_len = 8};
	desc[0] = fi_mr_desc(a.mr);
	desc[1] = NULL;
	fi_tsendv(a.ep, iov, desc, 2, a.peer, 1, &ctx[0]);
}

static void send_after_close(int core)
{
	struct fid_mr *mr;
	void *desc;

	begin_local(core);
	mr = t_side_register(&a, a.mem, 64, FI_SEND, 0);
	desc = fi_mr_desc(mr);
	fi_close(&mr->fid);
	fi_tsend(a.ep, a.mem, 64, desc, a.peer, 1, &ctx[0]);
}

static void send_a_byte_too_much(int core)
{
	struct fid_mr *mr;

	begin_local(core);
	mr = t_side_register(&a, a.mem, 64, FI_SEND, 0);
	fi_tsend(a.ep, a.mem, 65, fi_mr_desc(mr), a.peer, 1, &ctx[0]);
}

static void receive_without_access(int core)
{
	struct fid_mr *mr;

	begin_local(core);
	mr = t_side_register(&a, a.mem, 64, FI_SEND, 0);
	fi_trecv(a.ep, a.mem, 64, fi_mr_desc(mr), a.peer, 1, 0, &ctx[0]);
}

START_TEST(local_is_enforced)
{
	dies(send_without_descriptor, _i, "segment 0 has descriptor");
	dies(send_with_half_the_descriptors, _i, "segment 1 has descriptor");
	dies(send_after_close, _i, "no live registration");
	dies(send_a_byte_too_much, _i, "outside its registration");
	dies(receive_without_access, _i, "needs access");
}
END_TEST

static void post_twice(int core)
{
	begin_any(core);
	t_side_recv(&a, &b, 0, 64, 1, &ctx[0]);
	t_side_recv(&a, &b, 64, 64, 2, &ctx[0]);
}

/* The first operation has ended, but its completion was not read yet. */
static void post_before_reading(int core)
{
	begin_any(core);
	t_side_write(&a, &b, 0, 8, 0, FI_COMPLETION, &ctx[0]);
	t_side_write(&a, &b, 0, 8, 0, FI_COMPLETION, &ctx[0]);
}

static void write_to_a_context(int core)
{
	begin_with(core, "opx");
	t_side_recv(&a, &b, 0, 64, 1, &ctx[0]);
	ctx[0].internal[7] = &a;
	t_side_send(&b, &a, 0, 8, 1, FI_COMPLETION, &ctx[1]);
	expect(&a, &b, &ctx[0]);
}

static void change_segments(int core)
{
	static struct iovec iov;

	begin_with(core, "opx");
	iov = (struct iovec){a.mem, 8};
	t_need(fi_trecvv(a.ep, &iov, NULL, 1, a.peer, 1, 0, &ctx[0]), "fi_trecvv");
	iov.iov_len = 4;
	t_side_send(&b, &a, 0, 8, 1, FI_COMPLETION, &ctx[1]);
	expect(&a, &b, &ctx[0]);
}

START_TEST(context_is_left_alone)
{
	dies(write_to_a_context, _i, "was written to before its completion was read");
	dies(change_segments, _i, "were changed before it ended");
}
END_TEST

/* The memory of a context has three contents: before the post, while posted, and afterwards. */
START_TEST(context_is_overwritten)
{
	struct fi_context2 before = {{NULL}}, meanwhile;

	begin_with(_i, "opx");
	ctx[0] = before;
	t_side_recv(&a, &b, 0, 64, 1, &ctx[0]);
	meanwhile = ctx[0];
	ck_assert_int_ne(memcmp(&meanwhile, &before, sizeof(before)), 0);
	t_side_send(&b, &a, 0, 8, 1, FI_COMPLETION, &ctx[1]);
	expect(&a, &b, &ctx[0]);
	ck_assert_int_ne(memcmp(&ctx[0], &meanwhile, sizeof(meanwhile)), 0);
	end();
}
END_TEST

START_TEST(context_is_used_once)
{
	dies(post_twice, _i, "is given again");
	dies(post_before_reading, _i, "is given again");
}
END_TEST

static void send_to_nobody(int core)
{
	begin_any(core);
	fi_tsend(a.ep, a.mem, 8, fi_mr_desc(a.mr), a.peer + 17, 1, &ctx[0]);
}

static void send_after_removal(int core)
{
	begin_any(core);
	fi_av_remove(a.av, &a.peer, 1, 0);
	fi_tsend(a.ep, a.mem, 8, fi_mr_desc(a.mr), a.peer, 1, &ctx[0]);
}

/* The card accepts more receives than its limit, until it has no entries left. */
static void receive_without_end(int core)
{
	use_core(core);
	setenv("FI_OFI_RXM_RX_SIZE", "16384", 1);
	setenv("FI_OFI_RXM_BUFFER_SIZE", "256", 1);
	meet(info_for("cxi"), FI_WAIT_NONE);
	while (!fi_trecv(a.ep, a.mem, 8, NULL, a.peer, 1, 0, NULL))
		;
}

START_TEST(receives_have_an_end)
{
	dies(receive_without_end, 1, "15360 receives are posted");
}
END_TEST

START_TEST(address_is_known)
{
	dies(send_to_nobody, _i, "not in the address vector");
	dies(send_after_removal, _i, "not in the address vector");
}
END_TEST

/* Operations that wait for a removed address are discarded. The next user does not get them. */
START_TEST(address_is_left)
{
	begin_any(_i);
	faults(&a)->late_us = 1000000;
	t_side_write(&a, &b, 0, 8, 0, FI_COMPLETION | FI_DELIVERY_COMPLETE, &ctx[0]);
	t_need(fi_av_remove(a.av, &a.peer, 1, 0), "fi_av_remove");
	expect_error(&a, &b, &ctx[0], FI_ECANCELED);
	end();
}
END_TEST

static TCase *case_wrong(void)
{
	TCase *tc = tcase_create("wrong");

	tcase_add_loop_test(tc, local_is_used, 0, NCORES);
	tcase_add_loop_test(tc, local_is_enforced, 0, NCORES);
	tcase_add_loop_test(tc, context_is_used_once, 0, NCORES);
	tcase_add_test(tc, receives_have_an_end);
	tcase_add_loop_test(tc, context_is_left_alone, 0, NCORES);
	tcase_add_loop_test(tc, context_is_overwritten, 0, NCORES);
	tcase_add_loop_test(tc, address_is_known, 0, NCORES);
	tcase_add_loop_test(tc, address_is_left, 0, NCORES);
	return tc;
}

/* --- order --- */

#define ROUNDS 40

/* Sends a write and a message behind it in rounds. Returns how often the message came first. */
static int count_late(uint64_t write_flags, uint64_t send_flags, bool wait)
{
	int late = 0;

	for (int i = 1; i <= ROUNDS; i++) {
		memcpy(a.mem, &i, sizeof(i));
		t_side_recv(&b, &a, 0, 64, 1, &ctx[0]);
		t_side_write(&a, &b, 0, sizeof(i), MARK, FI_COMPLETION | write_flags, &ctx[1]);
		if (wait)
			expect(&a, &b, &ctx[1]);
		t_side_send(&a, &b, 0, 64, 1, FI_COMPLETION | send_flags, &ctx[2]);
		expect(&b, &a, &ctx[0]);
		late += !!memcmp(b.mem + MARK, &i, sizeof(i));
		expect_any(&a, &b, wait ? 1 : 2);
		while (memcmp(b.mem + MARK, &i, sizeof(i))) {
			t_side_poll(&a);
			t_side_poll(&b);
		}
	}
	return late;
}

START_TEST(order_write_is_late)
{
	begin(_i);
	ck_assert_int_gt(count_late(0, 0, false), ROUNDS / 2);
	end();
}
END_TEST

/* A completion does not mean that the write has arrived, unless delivery was asked for. */
START_TEST(order_completion_is_early)
{
	begin(_i);
	ck_assert_int_gt(count_late(0, 0, true), ROUNDS / 2);
	end();
}
END_TEST

START_TEST(order_delivery_holds)
{
	begin(_i);
	ck_assert_int_eq(count_late(FI_DELIVERY_COMPLETE, 0, true), 0);
	end();
}
END_TEST

START_TEST(order_fence_holds)
{
	begin_with(_i / 2, profiles[1 + _i % 2]);
	ck_assert_int_eq(count_late(0, FI_FENCE, false), 0);
	end();
}
END_TEST

/* Operations behind a fenced one do not overtake operations before it. */
START_TEST(order_fence_holds_followers)
{
	begin_with(_i, "cxi");
	for (int i = 1; i <= ROUNDS; i++) {
		memcpy(a.mem, &i, sizeof(i));
		t_side_recv(&b, &a, 0, 64, 1, &ctx[0]);
		t_side_recv(&b, &a, 64, 64, 2, &ctx[1]);
		t_side_write(&a, &b, 0, sizeof(i), MARK, FI_COMPLETION, &ctx[2]);
		t_side_send(&a, &b, 0, 64, 2, FI_COMPLETION | FI_FENCE, &ctx[3]);
		t_side_send(&a, &b, 0, 64, 1, FI_COMPLETION, &ctx[4]);
		expect_any(&b, &a, 1);
		ck_assert_mem_eq(b.mem + MARK, &i, sizeof(i));
		expect_any(&b, &a, 1);
		expect_any(&a, &b, 3);
	}
	end();
}
END_TEST

/* If the order of writes is promised, the last of many writes to one place wins. */
START_TEST(order_of_writes)
{
	begin_with(_i, "cxi");
	for (int i = 0; i < 200; i++) {
		memcpy(a.mem + 8 * i, &i, sizeof(i));
		t_side_write(&a, &b, 8 * (size_t)i, sizeof(i), MARK,
			     FI_COMPLETION | FI_DELIVERY_COMPLETE, &ctx[i]);
	}
	expect_any(&a, &b, 200);
	ck_assert_int_eq(b.mem[MARK], (char)199);
	end();
}
END_TEST

/* Without asking for the order there is none. */
START_TEST(order_of_writes_is_asked_for)
{
	struct fi_info *hints;
	int late = 0;

	use_core(_i);
	hints = t_hints("sham", "cxi");
	meet(get(hints), FI_WAIT_NONE);
	fi_freeinfo(hints);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 8; i++) {
			a.mem[i] = (char)i;
			t_side_write(&a, &b, (size_t)i, 1, MARK,
				     FI_COMPLETION | FI_DELIVERY_COMPLETE, &ctx[i]);
		}
		expect_any(&a, &b, 8);
		late += b.mem[MARK] != 7;
	}
	ck_assert_int_gt(late, 0);
	end();
}
END_TEST

START_TEST(order_of_messages)
{
	begin_any(_i);
	for (int i = 0; i < 200; i++)
		t_side_recv(&b, &a, MARK + 8 * (size_t)i, 8, 1, &ctx[i]);
	for (int i = 0; i < 200; i++) {
		memcpy(a.mem + 8 * i, &i, sizeof(i));
		t_side_send(&a, &b, 8 * (size_t)i, 8, 1, FI_COMPLETION, &ctx[200 + i]);
	}
	expect_any(&b, &a, 200);
	for (int i = 0; i < 200; i++)
		ck_assert_mem_eq(b.mem + MARK + 8 * i, &i, sizeof(i));
	end();
}
END_TEST

/* Returns how many completions of sends came out of order. */
static int count_shuffled(void)
{
	int shuffled = 0;

	for (int i = 0; i < 100; i++)
		t_side_recv(&b, &a, 0, 8, 1, &ctx[i]);
	for (int i = 0; i < 100; i++)
		t_side_send(&a, &b, 0, 8, 1, FI_COMPLETION, &ctx[100 + i]);
	for (int i = 0; i < 100; i++) {
		const struct t_seen *seen = t_side_next(&a, &b, WAIT_MS);

		ck_assert(seen && !seen->err);
		shuffled += seen->context != &ctx[100 + i];
	}
	expect_any(&b, &a, 100);
	return shuffled;
}

START_TEST(order_of_completions)
{
	begin_any(_i);
	ck_assert_int_gt(count_shuffled(), 0);
	faults(&a)->shuffle = 0;
	ck_assert_int_eq(count_shuffled(), 0);
	end();
}
END_TEST

START_TEST(order_late_off)
{
	begin(_i);
	faults(&a)->late_us = 0;
	if (!(a.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR))
		ck_assert_int_eq(count_late(0, 0, false), 0);
	end();
}
END_TEST

static void *poll_b(void *stop)
{
	while (!atomic_load((atomic_bool *)stop))
		t_side_poll(&b);
	return NULL;
}

/* A write that has completed arrives, although the endpoint is closed at once. */
START_TEST(order_close_delivers)
{
	static atomic_bool stop;
	int last = 4711;
	pthread_t peer;

	begin(_i);
	faults(&a)->late_us = 1000000;
	memcpy(a.mem, &last, sizeof(last));
	t_side_write(&a, &b, 0, sizeof(last), MARK, FI_COMPLETION, &ctx[0]);
	expect(&a, &b, &ctx[0]);
	ck_assert_int_eq(pthread_create(&peer, NULL, poll_b, &stop), 0);
	t_side_close(&a);
	atomic_store(&stop, true);
	pthread_join(peer, NULL);
	ck_assert_mem_eq(b.mem + MARK, &last, sizeof(last));
	t_side_close(&b);
}
END_TEST

static TCase *case_order(void)
{
	TCase *tc = tcase_create("order");

	tcase_add_loop_test(tc, order_write_is_late, 0, NPAIRS);
	tcase_add_loop_test(tc, order_completion_is_early, 0, NPAIRS);
	tcase_add_loop_test(tc, order_delivery_holds, 0, NPAIRS);
	tcase_add_loop_test(tc, order_fence_holds, 0, 2 * NCORES);
	tcase_add_loop_test(tc, order_fence_holds_followers, 0, NCORES);
	tcase_add_loop_test(tc, order_of_writes, 0, NCORES);
	tcase_add_loop_test(tc, order_of_writes_is_asked_for, 0, NCORES);
	tcase_add_loop_test(tc, order_of_messages, 0, NCORES);
	tcase_add_loop_test(tc, order_of_completions, 0, NCORES);
	tcase_add_loop_test(tc, order_late_off, 0, NPAIRS);
	tcase_add_loop_test(tc, order_close_delivers, 0, NPAIRS);
	return tc;
}

/* --- waiting --- */

static int try_wait_obj(const char *profile, enum fi_wait_obj wait_obj)
{
	struct fi_cq_attr attr = {.wait_obj = wait_obj};
	struct fid_cq *cq;
	int ret;

	t_side_open(&a, info_for(profile), FI_WAIT_NONE, 0);
	ret = fi_cq_open(a.domain, &attr, &cq, NULL);
	if (!ret)
		t_need(fi_close(&cq->fid), "fi_close");
	t_side_close(&a);
	return ret;
}

START_TEST(wait_objects)
{
	use_core(_i);
	ck_assert_int_eq(try_wait_obj("efa", FI_WAIT_NONE), 0);
	ck_assert_int_eq(try_wait_obj("efa", FI_WAIT_FD), -FI_ENOSYS);
	ck_assert_int_eq(try_wait_obj("efa", FI_WAIT_UNSPEC), -FI_ENOSYS);
	ck_assert_int_eq(try_wait_obj("cxi", FI_WAIT_NONE), 0);
	ck_assert_int_eq(try_wait_obj("cxi", FI_WAIT_YIELD), -FI_ENOSYS);
	ck_assert_int_eq(try_wait_obj("cxi", FI_WAIT_MUTEX_COND), -FI_ENOSYS);
	/* shm has no descriptor. */
	ck_assert_int_eq(try_wait_obj("cxi", FI_WAIT_FD),
			 strcmp(cores[_i], "shm") ? 0 : -FI_ENOSYS);
}
END_TEST

START_TEST(wait_sread_refused)
{
	struct fi_cq_tagged_entry entry;

	begin(_i);
	ck_assert_int_eq(fi_cq_sread(a.cq, &entry, 1, NULL, 1),
			 a.info->caps & FI_FENCE ? -FI_EINVAL : -FI_ENOSYS);
	end();
}
END_TEST

/* A reader sleeps by the rules: read the queue, fi_trywait, poll. */
static void sleep_on_fd(struct t_side *side)
{
	struct pollfd pfd = {.events = POLLIN};
	struct fid *fid = &side->cq->fid;
	int ret;

	t_need(fi_control(fid, FI_GETWAIT, &pfd.fd), "FI_GETWAIT");
	ret = fi_trywait(side->fabric, &fid, 1);
	if (!ret)
		poll(&pfd, 1, 10);
	else
		ck_assert_int_eq(ret, -FI_EAGAIN);
}

START_TEST(wait_fd)
{
	unsigned int wanted = 40;

	use_core(1);
	meet(info_for("cxi"), FI_WAIT_FD);
	for (unsigned int i = 0; i < wanted; i++) {
		t_side_recv(&b, &a, 0, 64, 1, &ctx[i]);
		t_side_write(&a, &b, 0, 64, MARK, FI_COMPLETION | FI_DELIVERY_COMPLETE,
			     &ctx[100 + i]);
		t_side_send(&a, &b, 0, 64, 1, FI_COMPLETION, &ctx[200 + i]);
	}
	while (a.nseen < 2 * wanted || b.nseen < wanted) {
		t_side_poll(&a);
		t_side_poll(&b);
		if (b.nseen < wanted)
			sleep_on_fd(&b);
	}
	end();
}
END_TEST

/* A completion of a write that another thread posted wakes a sleeping thread. */
START_TEST(wait_wakes)
{
	struct pollfd pfd = {.events = POLLIN};
	struct fi_wait_pollfd list = {.fd = &pfd};
	struct fid *fid;

	use_core(1);
	meet(info_for("cxi"), _i ? FI_WAIT_POLLFD : FI_WAIT_FD);
	fid = &a.cq->fid;
	if (_i) {
		ck_assert_int_eq(fi_control(fid, FI_GETWAIT, &list), -FI_ETOOSMALL);
		list.nfds = 1;
		t_need(fi_control(fid, FI_GETWAIT, &list), "FI_GETWAIT");
	} else {
		t_need(fi_control(fid, FI_GETWAIT, &pfd.fd), "FI_GETWAIT");
	}
	while (fi_trywait(a.fabric, &fid, 1) || poll(&pfd, 1, 0))
		t_side_poll(&a);
	t_side_write(&a, &b, 0, 64, MARK, FI_COMPLETION | FI_DELIVERY_COMPLETE, &ctx[0]);
	ck_assert_int_eq(poll(&pfd, 1, WAIT_MS), 1);
	expect(&a, &b, &ctx[0]);
	end();
}
END_TEST

static void *read_b(void *arg)
{
	(void)arg;
	t_side_poll(&b);
	return NULL;
}

/* Another thread that reads the queue disables the card's interrupts. fi_trywait enables them. */
START_TEST(wait_is_muted)
{
	struct pollfd pfd = {.events = POLLIN};
	struct fid *fid;
	pthread_t reader;

	use_core(1);
	meet(info_for("cxi"), FI_WAIT_FD);
	fid = &b.cq->fid;
	t_need(fi_control(fid, FI_GETWAIT, &pfd.fd), "FI_GETWAIT");
	/* Both ends exchange a message first. */
	t_side_recv(&b, &a, 0, 64, 1, &ctx[0]);
	t_side_recv(&b, &a, 0, 64, 1, &ctx[1]);
	t_side_send(&a, &b, 0, 64, 1, FI_COMPLETION, &ctx[2]);
	expect(&b, &a, &ctx[0]);
	expect(&a, &b, &ctx[2]);
	while (fi_trywait(b.fabric, &fid, 1) || poll(&pfd, 1, 0))
		t_side_poll(&b);
	ck_assert_int_eq(pthread_create(&reader, NULL, read_b, NULL), 0);
	pthread_join(reader, NULL);
	t_side_send(&a, &b, 0, 64, 1, FI_COMPLETION, &ctx[3]);
	expect(&a, &a, &ctx[3]);
	ck_assert_int_eq(poll(&pfd, 1, QUIET_MS), 0);
	while (!fi_trywait(b.fabric, &fid, 1))
		ck_assert_int_eq(poll(&pfd, 1, WAIT_MS), 1);
	expect(&b, &a, &ctx[1]);
	end();
}
END_TEST

START_TEST(wait_sread)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	use_core(1);
	meet(info_for("cxi"), FI_WAIT_FD);
	ck_assert_int_eq(fi_cq_sread(b.cq, &entry, 1, NULL, 20), -FI_EAGAIN);
	t_side_recv(&b, &a, 0, 64, 1, &ctx[0]);
	t_side_send(&a, &b, 0, 64, 1, FI_COMPLETION, &ctx[1]);
	do {
		t_side_poll(&a);
		ret = fi_cq_sread(b.cq, &entry, 1, NULL, 20);
	} while (ret == -FI_EAGAIN);
	ck_assert_int_eq(ret, 1);
	ck_assert_ptr_eq(entry.op_context, &ctx[0]);
	ck_assert_int_eq(fi_cq_signal(b.cq), -FI_ENOSYS);
	end();
}
END_TEST

static TCase *case_wait(void)
{
	TCase *tc = tcase_create("wait");

	tcase_add_loop_test(tc, wait_objects, 0, NCORES);
	tcase_add_loop_test(tc, wait_sread_refused, 0, NPAIRS);
	tcase_add_test(tc, wait_fd);
	tcase_add_loop_test(tc, wait_wakes, 0, 2);
	tcase_add_test(tc, wait_is_muted);
	tcase_add_test(tc, wait_sread);
	return tc;
}

/* --- faults --- */

START_TEST(fault_eagain)
{
	int refused = 0, done = 0;

	begin_any(_i);
	faults(&a)->eagain = 30;
	for (int i = 0; i < 100; i++)
		t_side_recv(&b, &a, 0, 8, 1, &ctx[i]);
	while (done < 100) {
		ssize_t ret =
			fi_tsend(a.ep, a.mem, 8, fi_mr_desc(a.mr), a.peer, 1, &ctx[100 + done]);

		ck_assert(ret == 0 || ret == -FI_EAGAIN);
		done += !ret;
		refused += !!ret;
	}
	ck_assert_int_gt(refused, 0);
	expect_any(&a, &b, 100);
	expect_any(&b, &a, 100);
	end();
}
END_TEST

START_TEST(fault_drop)
{
	begin_any(_i);
	faults(&a)->drop = 1;
	for (int i = 0; i < 2; i++)
		t_side_recv(&b, &a, 0, 8, 1, &ctx[i]);
	t_side_recv(&a, &b, 0, 8, 1, &ctx[2]);
	t_side_send(&a, &b, 0, 8, 1, FI_COMPLETION, &ctx[3]);
	expect(&b, &a, &ctx[0]);
	expect(&a, &b, &ctx[3]);
	/* Now `a` is silent: its posts are discarded, and it receives nothing. */
	t_side_send(&a, &b, 0, 8, 1, FI_COMPLETION, &ctx[4]);
	t_side_send(&b, &a, 0, 8, 1, FI_COMPLETION, &ctx[5]);
	ck_assert_ptr_null(t_side_next(&a, &b, QUIET_MS));
	for (unsigned int i = b.ntaken; i < b.nseen; i++)
		ck_assert_ptr_ne(b.seen[i].context, &ctx[1]);
	end();
}
END_TEST

START_TEST(fault_truncate)
{
	begin_any(_i);
	faults(&b)->truncate = 100;
	t_side_recv(&b, &a, 0, 64, 1, &ctx[0]);
	t_side_send(&a, &b, 0, 64, 1, FI_COMPLETION, &ctx[1]);
	expect_error(&b, &a, &ctx[0], FI_ETRUNC);
	expect(&a, &b, &ctx[1]);
	end();
}
END_TEST

START_TEST(fault_mr_limit)
{
	struct fid_mr *mr, *other;

	begin_any(_i);
	faults(&a)->mr_limit = 2;
	ck_assert_int_eq(fi_mr_reg(a.domain, a.mem, 64, FI_SEND, 0, 8, 0, &mr, NULL), 0);
	ck_assert_int_eq(fi_mr_reg(a.domain, a.mem, 64, FI_SEND, 0, 9, 0, &other, NULL),
			 -FI_ENOMEM);
	ck_assert_int_eq(fi_close(&mr->fid), 0);
	ck_assert_int_eq(fi_mr_reg(a.domain, a.mem, 64, FI_SEND, 0, 9, 0, &other, NULL), 0);
	ck_assert_int_eq(fi_close(&other->fid), 0);
	end();
}
END_TEST

START_TEST(fault_from_environment)
{
	setenv("FI_SHAM_EAGAIN", "5", 1);
	setenv("FI_SHAM_TRUNCATE", "6", 1);
	setenv("FI_SHAM_DROP", "7", 1);
	setenv("FI_SHAM_MR_LIMIT", "8", 1);
	setenv("FI_SHAM_LATE_US", "9", 1);
	setenv("FI_SHAM_SHUFFLE", "10", 1);
	setenv("FI_SHAM_REFUSE", "11", 1);
	begin_any(_i);
	ck_assert_int_eq(faults(&a)->eagain, 5);
	ck_assert_int_eq(faults(&a)->truncate, 6);
	ck_assert_int_eq(faults(&a)->drop, 7);
	ck_assert_int_eq(faults(&a)->mr_limit, 8);
	ck_assert_int_eq(faults(&a)->late_us, 9);
	ck_assert_int_eq(faults(&a)->shuffle, 10);
	ck_assert_int_eq(faults(&a)->refuse, 11);
	end();
}
END_TEST

static TCase *case_fault(void)
{
	TCase *tc = tcase_create("fault");

	tcase_add_loop_test(tc, fault_eagain, 0, NCORES);
	tcase_add_loop_test(tc, fault_drop, 0, NCORES);
	tcase_add_loop_test(tc, fault_truncate, 0, NCORES);
	tcase_add_loop_test(tc, fault_mr_limit, 0, NCORES);
	tcase_add_loop_test(tc, fault_from_environment, 0, NCORES);
	return tc;
}

int main(void)
{
	Suite *suite = suite_create("fabric");

	suite_add_tcase(suite, case_info());
	suite_add_tcase(suite, case_use());
	suite_add_tcase(suite, case_op());
	suite_add_tcase(suite, case_mr());
	suite_add_tcase(suite, case_wrong());
	suite_add_tcase(suite, case_order());
	suite_add_tcase(suite, case_wait());
	suite_add_tcase(suite, case_fault());
	return t_run(suite);
}
