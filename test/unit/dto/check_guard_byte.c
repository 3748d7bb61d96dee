/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The guard byte behind a receive, on a fabric that truncates long messages and reports success.
 * The fabric of this test fills the segments from front to back and reports the number of stored
 * bytes.
 */
#include "unit.h"

#include "../../../prov/ofi/dto/ep_attr.h"
#include "../../../prov/ofi/progress/evd.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/dto/guard_byte.h"
#include "../../../prov/ofi/dto/ring.h"
#include "../../../prov/ofi/dto/bounce.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/cm/upcalls.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/dto/reap.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <string.h>

#define RECEIVES   4u
#define FABRIC_IOV 3u
#define NIOV       4u
#define ROOM       16u

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_evd evd;
static struct dofi_event events[RECEIVES];
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};
static char memory[NIOV * ROOM], byte;
static struct dofi_wr *posted;
static int refusals;

static ssize_t take_recv(struct dofi_ep *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ep);
	if (refusals) {
		refusals--;
		return -FI_EAGAIN;
	}
	posted = wr;
	return 0;
}

static const struct dofi_trans_ops fabric = {.recv = take_recv, .has_eq = true};

static void setup_without(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_list_init(&ia.engine.stalled);
	dofi_lock_init(&ep.lock);
	dofi_lock_init(&evd.lock);
	evd.obj.ia = ep.obj.ia = &ia;
	evd.ring = events;
	evd.qlen = RECEIVES;
	ia.trans = ep.trans = &fabric;
	ia.up = &dofi_cm_upcalls;
	ia.info = &info;
	ia.limits.fabric_iov = FABRIC_IOV;
	ck_assert_int_eq(dofi_bounces_init(&ia), 0);
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.recv, RECEIVES, NIOV + dofi_guard_segments(&ia)),
			 0);
	ep.recv_evd = &evd;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.path_up = true;
	dofi_lock(&ia.engine.lock);
}

static void setup(void)
{
	ia.quirks = DOFI_QUIRK_CUTS;
	ia.guard.byte = &byte;
	setup_without();
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
	dofi_ring_fini(&ep.recv);
	dofi_bounces_fini(&ia);
}

static void issue(void)
{
	dofi_lock(&ep.lock);
	dofi_ep_issue_receives(&ep);
	dofi_unlock(&ep.lock);
}

/* Posts a receive of n segments, of ROOM bytes each. */
static void post(uint16_t n)
{
	struct dofi_wr *wr = dofi_ring_at(&ep.recv, ep.recv.tail);

	wr->ep = &ep;
	wr->op = DOFI_OP_RECV;
	wr->state = DOFI_WR_QUEUED;
	wr->length = n * ROOM;
	wr->niov = n;
	for (uint16_t i = 0; i < n; i++)
		wr->iov[i] = (struct iovec){memory + i * ROOM, ROOM};
	ep.recv.tail++;
	issue();
}

/*
 * A message of this length comes and is truncated if it does not fit. Returns the event's status.
 */
static uint8_t arrive(const char *message, size_t length)
{
	size_t done = 0;

	for (uint16_t i = 0; i < posted->niov && done < length; i++) {
		size_t n = posted->iov[i].iov_len < length - done ? posted->iov[i].iov_len
								  : length - done;

		memcpy(posted->iov[i].iov_base, message + done, n);
		done += n;
	}
	dofi_reap_done(posted, 0, done, 0, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1);
	return dofi_evd_slot(&evd, evd.head)->status;
}

static const char text[NIOV * ROOM + 2] =
	"a message, longer than one segment, and longer than a receive";

START_TEST(messages_that_fit_succeed)
{
	post((uint16_t)_i);
	ck_assert_int_eq(arrive(text, (size_t)_i * ROOM), DAT_DTO_SUCCESS);
	ck_assert_uint_eq(dofi_evd_slot(&evd, evd.head)->dto.length, (size_t)_i * ROOM);
	ck_assert_mem_eq(memory, text, (size_t)_i * ROOM);
	ck_assert(!ep.faulty);
}
END_TEST

START_TEST(longer_messages_break_the_connection)
{
	ia.guard.desc = &ia;
	post((uint16_t)_i);
	ck_assert_uint_eq(posted->iov[posted->niov - 1].iov_len, 1);
	ck_assert_ptr_eq(posted->iov[posted->niov - 1].iov_base, &byte);
	ck_assert_ptr_eq(dofi_wr_desc(&ep.recv, posted)[posted->niov - 1], &ia);
	ck_assert_uint_le(posted->niov, FABRIC_IOV + 1);
	ck_assert_int_eq(arrive(text, (size_t)_i * ROOM + 1), DAT_DTO_ERR_LOCAL_LENGTH);
	ck_assert(ep.faulty);
}
END_TEST

START_TEST(refused_and_posted_again)
{
	refusals = 2;
	post((uint16_t)_i);
	issue();
	ck_assert_ptr_null(posted);
	issue();
	ck_assert_ptr_nonnull(posted);
	ck_assert_int_eq(arrive(text, (size_t)_i * ROOM + 2), DAT_DTO_ERR_LOCAL_LENGTH);
	ck_assert_uint_eq(posted->niov, _i > (int)FABRIC_IOV ? 2 : _i + 1);
}
END_TEST

START_TEST(a_receive_without_segments_gets_no_guard_byte)
{
	post(0);
	ck_assert_uint_eq(posted->niov, 0);
	ck_assert_int_eq(arrive(text, 0), DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(other_fabrics_get_the_posted_segments)
{
	ck_assert_uint_eq(dofi_guard_segments(&ia), 0);
	post(2);
	ck_assert_uint_eq(posted->niov, 2);
	ck_assert_int_eq(arrive(text, ROOM), DAT_DTO_SUCCESS);
}
END_TEST

/* --- the byte itself --- */

static int map_result;
static struct fid_mr region = {.mem_desc = &region};

int __wrap_dofi_mr_map(struct dofi_ia *of, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		       void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);

int __wrap_dofi_mr_map(struct dofi_ia *of, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		       void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_uint_eq(size + extra, 1);
	ck_assert_int_eq(privileges, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	if (map_result)
		return map_result;
	*memory_p = &byte;
	*mr_p = &region;
	*key_p = *address_p = 0;
	return 0;
}

START_TEST(the_byte_is_registered_where_the_fabric_needs_it)
{
	ia.info = &info;
	ia.quirks = DOFI_QUIRK_CUTS;
	ck_assert_int_eq(dofi_guard_open(&ia), 0);
	ck_assert_ptr_eq(ia.guard.byte, &byte);
	ck_assert_ptr_null(ia.guard.desc);
	domain_attr.mr_mode = FI_MR_LOCAL;
	ck_assert_int_eq(dofi_guard_open(&ia), 0);
	ck_assert_ptr_eq(ia.guard.desc, &region);
}
END_TEST

void __wrap_dofi_mr_abandon(struct dofi_ia *of, struct fid_mr *mr, void *at, size_t size);

static unsigned int nabandoned;

void __wrap_dofi_mr_abandon(struct dofi_ia *of, struct fid_mr *mr, void *at, size_t size)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(mr, &region);
	ck_assert_ptr_eq(at, &byte);
	ck_assert_uint_eq(size, 1);
	nabandoned++;
}

START_TEST(the_byte_goes_with_the_ia)
{
	ia.info = &info;
	ia.quirks = DOFI_QUIRK_CUTS;
	ck_assert_int_eq(dofi_guard_open(&ia), 0);
	dofi_guard_close(&ia);
	ck_assert_uint_eq(nabandoned, 1);
	ck_assert_ptr_null(ia.guard.byte);
	dofi_guard_close(&ia); /* on other fabrics there is none */
	ck_assert_uint_eq(nabandoned, 1);
}
END_TEST

START_TEST(other_fabrics_have_no_guard_byte)
{
	ia.info = &info;
	map_result = -FI_ENOMEM; /* nobody asks */
	ck_assert_int_eq(dofi_guard_open(&ia), 0);
	ck_assert_ptr_null(ia.guard.byte);
}
END_TEST

START_TEST(without_memory_there_is_no_guard_byte)
{
	ia.info = &info;
	ia.quirks = DOFI_QUIRK_CUTS;
	map_result = -FI_ENOMEM;
	ck_assert_int_eq(dofi_guard_open(&ia), -FI_ENOMEM);
	ck_assert_ptr_null(ia.guard.byte);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("guard");
	TCase *tc = tcase_create("with");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, messages_that_fit_succeed, 1, NIOV + 1);
	tcase_add_loop_test(tc, longer_messages_break_the_connection, 1, NIOV + 1);
	tcase_add_loop_test(tc, refused_and_posted_again, 1, NIOV + 1);
	tcase_add_test(tc, a_receive_without_segments_gets_no_guard_byte);
	suite_add_tcase(suite, tc);

	tc = tcase_create("without");
	tcase_add_checked_fixture(tc, setup_without, teardown);
	tcase_add_test(tc, other_fabrics_get_the_posted_segments);
	suite_add_tcase(suite, tc);

	tc = tcase_create("open");
	tcase_add_test(tc, the_byte_is_registered_where_the_fabric_needs_it);
	tcase_add_test(tc, other_fabrics_have_no_guard_byte);
	tcase_add_test(tc, the_byte_goes_with_the_ia);
	tcase_add_test(tc, without_memory_there_is_no_guard_byte);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
