/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Translation of libfabric's errors to DAT's. */
#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <unistd.h>

#include "fabric/error.h"
#include "fabric/fid.h"
#include "fabric/quirks.h"

#include "../../lib/unit.h"

START_TEST(test_calls)
{
	static const struct {
		int err;
		DAT_RETURN want;
	} rows[] = {
		{0, DAT_SUCCESS},
		{-FI_ENOMEM, DOFI_NO_MEMORY},
		{-FI_ENOSPC, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP)},
		{-EFBIG, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP)},
		{-FI_ENOKEY, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP)},
		{-FI_EMFILE, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP)},
		{-ENFILE, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP)},
		{-FI_EAGAIN, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP)},
		{-FI_EADDRINUSE, DAT_CONN_QUAL_IN_USE}, /* PRG-10: no class bit */
		{-FI_EACCES, DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0)},
		{-FI_EFAULT, DOFI_ERR(DAT_INVALID_PARAMETER, 0)},
		{-FI_ENODATA, DOFI_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED)},
		{-FI_ENOSYS, DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0)},
		{-FI_EIO, DOFI_ERR(DAT_INTERNAL_ERROR, 0)},
		{-FI_EOTHER, DOFI_ERR(DAT_INTERNAL_ERROR, 0)},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		DAT_RETURN ret = dofi_error(rows[i].err, DAT_RESOURCE_TEP);

		ck_assert_msg(ret == rows[i].want, "%d gives 0x%x", rows[i].err, ret);
	}
}
END_TEST

/*
 * ERR-012, ERR-014: all errors except the three of PRG-10 have the class bit, and none is a
 * success.
 */
START_TEST(test_every_error_is_an_error)
{
	for (int err = 1; err < 400; err++) {
		DAT_RETURN ret = dofi_error(-err, DAT_RESOURCE_DEVICE);

		ck_assert_msg(ret == DAT_CONN_QUAL_IN_USE || ret & DAT_CLASS_ERROR, "%d", err);
		ck_assert_msg(dofi_error_status(err) != DAT_DTO_SUCCESS, "%d", err);
	}
}
END_TEST

/* ERR-021 to ERR-030 */
START_TEST(test_completions)
{
	static const struct {
		int err;
		DAT_DTO_COMPLETION_STATUS want;
	} rows[] = {
		{0, DAT_DTO_SUCCESS},
		{FI_ECANCELED, DAT_DTO_ERR_FLUSHED},
		{FI_ETRUNC, DAT_DTO_ERR_LOCAL_LENGTH},
		{FI_EMSGSIZE, DAT_DTO_ERR_LOCAL_LENGTH},
		{FI_EINVAL, DAT_DTO_ERR_LOCAL_EP},
		{FI_EFAULT, DAT_DTO_ERR_LOCAL_PROTECTION},
		{EPROTO, DAT_DTO_ERR_BAD_RESPONSE},
		{FI_EACCES, DAT_DTO_ERR_REMOTE_ACCESS},
		{FI_ENOKEY, DAT_DTO_ERR_REMOTE_ACCESS},
		{FI_EREMOTEIO, DAT_DTO_ERR_REMOTE_RESPONDER},
		{FI_EIO, DAT_DTO_ERR_TRANSPORT},
		{FI_ENOTCONN, DAT_DTO_ERR_TRANSPORT},
		{FI_ECONNRESET, DAT_DTO_ERR_TRANSPORT},
		{FI_ENORX, DAT_DTO_ERR_RECEIVER_NOT_READY},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_int_eq(dofi_error_status(rows[i].err), rows[i].want);
}
END_TEST

/*
 * CXI, verbs and EFA use one error for failures that DAT distinguishes. Their provider error
 * numbers tell the cause.
 */
#define CXI   DOFI_QUIRK_CASSINI_STATUS
#define VERBS DOFI_QUIRK_VERBS_STATUS
#define IWARP (DOFI_QUIRK_VERBS_STATUS | DOFI_QUIRK_IWARP_STATUS)
#define EFA   DOFI_QUIRK_EFA_STATUS

static const struct {
	uint64_t quirks;
	int err, prov_errno;
	uint64_t flags;
	int want;
} causes[] = {
	{CXI, FI_EIO, 18, FI_RMA | FI_WRITE, FI_EACCES},
	{CXI, FI_EIO, 29, FI_RMA | FI_READ, FI_EACCES},
	{CXI, FI_EIO, 52, FI_RMA | FI_READ, FI_EACCES},
	/* the endpoint is gone, too */
	{CXI, FI_EIO, 26, FI_RMA | FI_READ, FI_EIO},
	{CXI, FI_EIO, 18, FI_TAGGED | FI_SEND, FI_EIO},
	{CXI, FI_EHOSTUNREACH, 2, FI_RMA | FI_WRITE, FI_EHOSTUNREACH},
	{~(CXI | IWARP | EFA | DOFI_QUIRK_RESET_IS_EIO), FI_EIO, 18, FI_RMA | FI_WRITE, FI_EIO},
	/* its one use */
	{DOFI_QUIRK_RESET_IS_EIO, FI_EIO, -FI_EIO, FI_RMA | FI_WRITE, FI_ECONNRESET},
	{DOFI_QUIRK_RESET_IS_EIO, FI_ETRUNC, -FI_ETRUNC, FI_MSG | FI_RECV, FI_ETRUNC},
	/* status of work completions */
	{VERBS, FI_EIO, 1, FI_MSG | FI_RECV, FI_ETRUNC},
	{VERBS, FI_EIO, 2, FI_MSG | FI_RECV, FI_ETRUNC},
	{VERBS, FI_EIO, 2, FI_MSG | FI_SEND, FI_EIO},
	{IWARP, FI_EIO, 2, FI_MSG | FI_RECV, FI_ETRUNC},
	{IWARP, FI_EIO, 2, FI_MSG | FI_SEND, FI_ECONNABORTED},
	{VERBS, FI_EIO, 4, FI_MSG | FI_SEND, FI_EFAULT},
	{VERBS, FI_EIO, 7, FI_RMA | FI_READ, EBADMSG},
	{VERBS, FI_EIO, 8, FI_RMA | FI_READ, FI_EFAULT},
	{VERBS, FI_EIO, 9, FI_RMA | FI_WRITE, FI_EREMOTEIO},
	{VERBS, FI_EIO, 10, FI_RMA | FI_WRITE, FI_EACCES},
	{VERBS, FI_EIO, 11, FI_RMA | FI_WRITE, FI_EREMOTEIO},
	{VERBS, FI_EIO, 13, FI_MSG | FI_SEND, FI_ENORX},
	{VERBS, FI_EIO, 12, FI_MSG | FI_SEND, FI_EIO},
	{VERBS, FI_ECANCELED, 10, FI_MSG | FI_SEND, FI_ECANCELED},
	{EFA, FI_EIO, 5, FI_MSG | FI_SEND, FI_EFAULT},
	{EFA, FI_EIO, 7, FI_RMA | FI_READ, FI_EACCES},
	{EFA, FI_EINVAL, 7, FI_RMA | FI_READ, FI_EACCES},
	{EFA, FI_EIO, 8, FI_MSG | FI_SEND, FI_ECONNABORTED},
	{EFA, FI_EIO, 9, FI_MSG | FI_SEND, FI_ENOTCONN},
	{EFA, FI_EIO, 10, FI_MSG | FI_SEND, FI_ENORX},
	{EFA, FI_EIO, 13, FI_MSG | FI_SEND, FI_ECONNABORTED},
	{EFA, FI_EIO, 14, FI_RMA | FI_READ, FI_ENOTCONN},
	{EFA, FI_EIO, 15, FI_MSG | FI_SEND, FI_EHOSTUNREACH},
	{EFA, FI_EIO, 3, FI_MSG | FI_SEND, FI_EIO},
	{EFA, FI_EINVAL, 3, FI_MSG | FI_SEND, FI_EINVAL},
	{EFA, FI_ETRUNC, 9, FI_MSG | FI_RECV, FI_ETRUNC},
};

START_TEST(test_cause)
{
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		const struct fi_cq_err_entry err = {.err = causes[i].err,
						    .prov_errno = causes[i].prov_errno,
						    .flags = causes[i].flags};
		bool receive = causes[i].flags & FI_RECV;

		ck_assert_msg(dofi_error_cause(causes[i].quirks, &err, receive) == causes[i].want,
			      "row %zu", i);
	}
}
END_TEST

/*
 * A cancelled operation is no failure. An error of one operation tells nothing about others.
 */
START_TEST(test_errors_of_the_peer)
{
	static const struct {
		int err;
		bool back, peer;
	} rows[] = {
		{FI_ECANCELED, true, true},  {FI_ENOTCONN, true, true},
		{FI_ECONNRESET, true, true}, {EPIPE, true, true},
		{FI_ETIMEDOUT, false, true}, {FI_EHOSTUNREACH, false, true},
		{ENETDOWN, false, true},     {FI_ETRUNC, false, false},
		{FI_EACCES, false, false},   {FI_EKEYREJECTED, false, false},
		{FI_EINVAL, false, false},   {FI_EMSGSIZE, false, false},
		{FI_ENORX, false, false},    {FI_EIO, false, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_msg(dofi_error_gives_back(rows[i].err) == rows[i].back, "%d",
			      rows[i].err);
		ck_assert_msg(dofi_error_is_of_peer(rows[i].err) == rows[i].peer, "%d",
			      rows[i].err);
	}
}
END_TEST

/* --- objects of the fabric that can't be closed --- */

static int close_result;

static int close_it(struct fid *fid)
{
	(void)fid;
	return close_result;
}

START_TEST(test_close)
{
	struct fi_ops ops = {.size = sizeof(ops), .close = close_it};
	struct fid fid = {.ops = &ops};
	int fd = t_capture(STDERR_FILENO);

	dofi_fid_close("ia", &fid, "domain");
	ck_assert_str_eq(t_captured(fd), "");
	close_result = -FI_EBUSY;
	dofi_fid_close("ia", &fid, "domain");
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "IA ia: closing the domain failed"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("error");
	TCase *tc = tcase_create("error");

	tcase_add_test(tc, test_calls);
	tcase_add_test(tc, test_every_error_is_an_error);
	tcase_add_test(tc, test_completions);
	tcase_add_test(tc, test_close);
	tcase_add_test(tc, test_cause);
	tcase_add_test(tc, test_errors_of_the_peer);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
