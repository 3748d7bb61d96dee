/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Control slots: a peer can write to them at any time, also between the check and the use. */
#include "unit.h"

#include "dto/atomic.h"
#include "dto/control.h"
#include "object/ctxtab.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/transport.h"

#include <string.h>

static struct dofi_ctrl_slots slots[1];
static struct dofi_ctx_wire wire[1];
static struct dofi_ep ep;
static struct dofi_ia ia;
static struct {
	int answers;
	uint64_t address, key;
} seen;

static ssize_t take_answer(struct dofi_ep *of, const void *record, size_t size, uint64_t raddr,
			   uint64_t rkey, uint64_t data)
{
	(void)record;
	(void)data;
	ck_assert_ptr_eq(of, &ep);
	ck_assert_uint_eq(size, sizeof(struct dofi_atomic_answer));
	seen.answers++;
	seen.address = raddr;
	seen.key = rkey;
	return 0;
}

static const struct dofi_trans_ops fabric = {.write_ctrl = take_answer};

static void setup(void)
{
	memset(&seen, 0, sizeof(seen));
	memset(&ep, 0, sizeof(ep));
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ep.lock);
	ia.trans = ep.trans = &fabric;
	ia.ctrl_memory.slots = slots;
	ia.ctxtab.wire = wire;
	ep.obj.ia = &ia;
	dofi_lock(&ia.engine.lock);
	dofi_lock(&ep.lock);
}

static void teardown(void)
{
	dofi_unlock(&ep.lock);
	dofi_unlock(&ia.engine.lock);
}

START_TEST(an_answer_goes_where_its_request_said)
{
	struct dofi_atomic_request *request = &slots[0].requests[2];

	*request = (struct dofi_atomic_request){.op = DOFI_OP_FETCH_ADD,
						.answer_key = 7,
						.answer_address = 0x1000};
	ep.path_up = false; /* the answer has to wait */
	dofi_atomic_arrived(&ep, 2);
	ck_assert_int_eq(seen.answers, 0);
	request->answer_key = 8;
	request->answer_address = 0x2000;
	ep.path_up = true;
	dofi_ctrl_send_answers(&ep);
	ck_assert_int_eq(seen.answers, 1);
	ck_assert_uint_eq(seen.key, 7);
	ck_assert_uint_eq(seen.address, 0x1000);
	dofi_ctrl_send_answers(&ep);
	ck_assert_int_eq(seen.answers, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control");
	TCase *tcase = tcase_create("control");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_answer_goes_where_its_request_said);
	return t_run(suite);
}
