/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RDMA writes of all sizes, each followed by a message. When the message is received, the write
 * must have arrived. The last case turns the provider's ordering off and checks that this test
 * would notice that.
 */
#include <stdatomic.h>

#include "inside.h"
#include "fabric/traits.h"
#include "object/ia.h"

#define SLOTS     8u /* writes under way */
#define SLOT_SIZE 65536u
#define STRIDE    256u /* from one stamp to the next */

static const uint32_t sizes[] = {8, 4096, 64, 200, 16384, 1024, 8, 600, 65536, 32, 2048, 9000};

/* Memory that both processes share. */
static struct shared {
	uint64_t context, address;
	_Atomic uint64_t late;
} * shared;

static bool careless;
static enum dofi_order promised; /* by the attributes */

enum dofi_order __real_dofi_order_of(const struct fi_info *info);
enum dofi_order __wrap_dofi_order_of(const struct fi_info *info);

enum dofi_order __wrap_dofi_order_of(const struct fi_info *info)
{
	promised = __real_dofi_order_of(info);
	return careless ? DOFI_ORDERED : promised;
}

/* --- a write: its number in each stride and at the end --- */

static uint32_t size_of(uint64_t round)
{
	return sizes[round % (sizeof(sizes) / sizeof(sizes[0]))];
}

static void stamp(unsigned char *slot, uint32_t size, uint64_t round)
{
	for (uint32_t at = 0; at < size; at += STRIDE)
		memcpy(slot + at, &round, sizeof(round));
	memcpy(slot + size - sizeof(round), &round, sizeof(round));
}

static bool is_stamped(const unsigned char *slot, uint32_t size, uint64_t round)
{
	for (uint32_t at = 0; at < size; at += STRIDE)
		if (memcmp(slot + at, &round, sizeof(round)))
			return false;
	return !memcmp(slot + size - sizeof(round), &round, sizeof(round));
}

/* --- both sides --- */

struct side {
	struct t_ia ia;
	struct t_end end;
	struct t_buf slots;
};

static void open_side(struct side *side)
{
	setenv("FI_SHAM_LATE_US", "30", 0);
	fault_use_linked_provider();
	t_ia_open(&side->ia);
	t_end_new(&side->end, &side->ia, NULL);
	t_buf_new(&side->slots, side->ia.ia, side->ia.pz, SLOTS * (size_t)SLOT_SIZE,
		  DAT_MEM_PRIV_ALL_FLAG);
}

static void post_receive(const struct side *side, uint64_t round)
{
	t_ok(t_recv(&side->end, round % SLOTS * 16, 16, round, DAT_COMPLETION_DEFAULT_FLAG));
}

static void next_message(const struct side *side, uint64_t round)
{
	uint64_t number;

	t_wait_dto(side->end.recv_evd, side->end.ep, round, DAT_DTO_SUCCESS, sizeof(number));
	memcpy(&number, side->end.buf.mem + round % SLOTS * 16, sizeof(number));
	ck_assert_uint_eq(number, round);
}

static void say(const struct side *side, uint64_t round)
{
	size_t at = 4096 + round % SLOTS * 16;

	memcpy(side->end.buf.mem + at, &round, sizeof(round));
	t_ok(t_send(&side->end, at, sizeof(round), round, DAT_COMPLETION_SUPPRESS_FLAG));
}

static uint64_t rounds;

/* Counts the writes that came late. Answers each message, which frees the slot. */
static void target_role(struct t_peer *self)
{
	struct t_listener listener;
	struct side side;

	open_side(&side);
	shared->context = side.slots.rmr_context;
	shared->address = (uintptr_t)side.slots.mem;
	t_listen(&listener, &side.ia, DAT_PSP_CONSUMER_FLAG);
	for (uint64_t round = 1; round <= SLOTS; round++)
		post_receive(&side, round);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), side.end.ep));
	t_wait_conn(side.end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, side.end.ep);
	for (uint64_t round = 1; round <= rounds; round++) {
		const unsigned char *slot = side.slots.mem + round % SLOTS * SLOT_SIZE;

		next_message(&side, round);
		if (!is_stamped(slot, size_of(round), round))
			shared->late++;
		post_receive(&side, round + SLOTS);
		say(&side, round);
	}
	t_wait_conn(side.end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, side.end.ep);
	t_ia_close(&side.ia);
}

static void write_and_announce(const struct side *side, uint64_t round)
{
	size_t at = round % SLOTS * SLOT_SIZE;
	DAT_LMR_TRIPLET segment = t_seg(&side->slots, at, size_of(round));
	DAT_RMR_TRIPLET to = t_remote((DAT_RMR_CONTEXT)shared->context,
				      (uintptr_t)shared->address + at, size_of(round));

	stamp(side->slots.mem + at, size_of(round), round);
	t_ok(dat_ep_post_rdma_write(side->end.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = round},
				    &to, DAT_COMPLETION_SUPPRESS_FLAG));
	say(side, round);
}

/* Returns how many messages came before the write in front of them. */
static uint64_t count_late(unsigned int number)
{
	struct t_peer target;
	struct side side;

	rounds = number;
	shared = fault_share(sizeof(*shared));
	t_peer_start(&target, target_role);
	open_side(&side);
	for (uint64_t round = 1; round <= SLOTS; round++)
		post_receive(&side, round);
	t_ok(t_connect_data(side.end.ep, &side.ia, t_peer_hear(&target), T_LIMIT_US, NULL, 0));
	t_wait_conn(side.end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, side.end.ep);
	for (uint64_t round = 1; round <= rounds + SLOTS; round++) {
		if (round > SLOTS) {
			next_message(&side, round - SLOTS);
			post_receive(&side, round);
		}
		if (round <= rounds)
			write_and_announce(&side, round);
	}
	t_ok(dat_ep_disconnect(side.end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_wait_conn(side.end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, side.end.ep);
	t_peer_join(&target);
	t_ia_close(&side.ia);
	return shared->late;
}

START_TEST(a_message_never_overtakes_a_write)
{
	ck_assert_uint_eq(count_late(fault_amount(2000, 1000000)), 0);
}
END_TEST

/* Skipped on a fabric that keeps the order itself. */
START_TEST(test_detects_a_provider_without_this_protection)
{
	uint64_t late;

	careless = true;
	late = count_late(2000);
	printf("# %s: %u of 2000 messages overtook a write without the provider's care\n",
	       t_ia_name(), (unsigned int)late);
	if (fault_fabric_is_sham())
		ck_assert_uint_gt(late, 0);
	if (promised == DOFI_ORDERED)
		ck_assert_uint_eq(late, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("order");
	TCase *tcase = tcase_create("order");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, a_message_never_overtakes_a_write);
	tcase_add_test(tcase, test_detects_a_provider_without_this_protection);
	return t_run(suite);
}
