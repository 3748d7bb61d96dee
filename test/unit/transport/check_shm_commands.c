/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands of ours that a dead process had: they are found and given back (2.5 and later). */
#include "made_region.h"

#include "transport/shm_commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Nothing is written behind the block of the number of bytes that a test watches. */
#define BEHIND 16u

static size_t watched_size;
static uint8_t *watched;
static void *zeroed; /* what calloc returned last, until it is freed */

T_STAND_IN void *__wrap_malloc(size_t size);
void *__real_malloc(size_t size);
T_STAND_IN void *__wrap_calloc(size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);

void *__wrap_malloc(size_t size)
{
	if (fails == MALLOC)
		return NULL;
	if (!watched_size || size != watched_size)
		return __real_malloc(size);
	watched = __real_malloc(size + BEHIND);
	memset(watched + size, 0x77, BEHIND);
	return watched;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return zeroed = fails == CALLOC ? NULL : __real_calloc(n, size);
}

static void see_freed(const void *block)
{
	if (block && block == watched) {
		for (size_t i = 0; i < BEHIND; i++)
			if (watched[watched_size + i] != 0x77)
				abort();
		watched = NULL;
	}
	if (block == zeroed)
		zeroed = NULL;
}

static unsigned int command_at(unsigned int i)
{
	return CMD_STACK + 4096 + i * at->command.size;
}

/* flags: of layouts that have some */
static void put_stack_command(unsigned int i, int16_t peer, uint8_t flags)
{
	unsigned int command = command_at(i);

	put(command + at->command.to, (uint64_t)(uint16_t)peer, 2);
	if (at->command.flags)
		put(command + at->command.flags, flags, 1);
	put(command + at->command.context, 1000 + i, 8);
}

/* The command has these flags, and the mark of a failure if it failed. */
static void expect_mark(unsigned int i, uint8_t flags, bool failed)
{
	if (at->command.flags)
		ck_assert_uint_eq(get(command_at(i) + at->command.flags, 1),
				  flags | (failed ? 4u : 0));
	else
		ck_assert_uint_eq(get(command_at(i) + at->command.status, 8),
				  failed ? (uint64_t)-ECONNRESET : 0);
}

/*
 * Commands 0 to 3 are under way. 0, 1 and 3 belong to the dead peer, 1 has already been returned,
 * and 3 does not come back, if there are such commands. 4 is free.
 */
START_TEST(commands_of_a_dead_process_are_freed)
{
	struct dofi_shm_command commands[ENTRIES];
	uint64_t base;

	make(_i);
	base = get(48, 8);
	fill_pool(CMD_STACK);
	put(CMD_STACK, 4096, 8);
	put(CMD_STACK + 26, 4, 2);
	put_peer(3, region.base);
	put_stack_command(0, 3, 8);
	put_stack_command(1, 3, 8);
	put_stack_command(2, 2, 8);
	put_stack_command(3, at->command.flags ? 3 : 2, 0);
	put_stack_command(4, 3, 8);
	put(RET_QUEUE + PUT_AT, 1, 8);
	put(RET_QUEUE + ENTRIES_AT, 1, 8);
	put(RET_QUEUE + ENTRIES_AT + 16, base + command_at(1), 8);
	ck_assert_int_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), 1);
	ck_assert_ptr_eq(commands[0].command, region.base + CMD_STACK + 4096);
	ck_assert_uint_eq(commands[0].context, 1000);
	commands[0].context = 7; /* reused meanwhile */
	dofi_shm_give_back(&region, &region, commands, 1);
	ck_assert_uint_eq(get(RET_QUEUE + PUT_AT, 8), 1);
	commands[0].context = 1000;
	dofi_shm_give_back(&region, &region, commands, 1);
	ck_assert_uint_eq(get(RET_QUEUE + PUT_AT, 8), 2);
	ck_assert_uint_eq(get(RET_QUEUE + ENTRIES_AT + 64, 8), 2);
	ck_assert_uint_eq(get(RET_QUEUE + ENTRIES_AT + 64 + 16, 8), base + CMD_STACK + 4096);
	expect_mark(0, 8, true);
	ck_assert_int_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), 0);
	finish();
}
END_TEST

/* A stack of commands that are all under way at peer 3, whose region is this one. */
static void make_stack(int layout)
{
	make(layout);
	fill_pool(CMD_STACK);
	put(CMD_STACK, 4096, 8);
	put(CMD_STACK + 26, 0xffff, 2);
	put_peer(3, region.base);
	for (unsigned int i = 0; i <= ENTRIES; i++) /* the last one is behind the stack */
		put_stack_command(i, 3, 8);
	watched_size = ENTRIES; /* bytes that tell which commands are under way */
	while_freeing = see_freed;
}

/* The commands that are found, as bits. */
static unsigned int commands_found(void)
{
	struct dofi_shm_command commands[ENTRIES];
	ssize_t n = dofi_shm_commands(&region, &region, commands, ENTRIES);
	unsigned int bits = 0;

	ck_assert_ptr_null(watched);
	for (ssize_t i = 0; i < n; i++)
		bits |= 1u << (commands[i].context - 1000);
	ck_assert_int_eq(__builtin_popcount(bits), (int)n);
	return bits;
}

/* The list of free commands, whatever a dead process has written there. */
START_TEST(free_commands_are_not_under_way)
{
	static const struct {
		uint16_t top, next[3]; /* of commands 0 to 2 */
		unsigned int found;
	} lists[] = {{0xffff, {1, 2, 3}, 0xff},  {0, {0xffff, 2, 3}, 0xfe},
		     {0, {2, 2, 0xffff}, 0xfa},  {1, {1, 0, 3}, 0xfc},
		     {0, {0, 2, 3}, 0xfe},       {ENTRIES - 1, {1, 2, 3}, 0x7f},
		     {ENTRIES, {1, 2, 3}, 0xff}, {0x7fff, {1, 2, 3}, 0xff},
		     {0, {ENTRIES, 2, 3}, 0xfe}, {0, {1, 2, 3}, 0},
		     {0x8000, {1, 2, 3}, 0xff}};

	make_stack(V2_6);
	put(CMD_STACK + 26, lists[_i].top, 2);
	for (unsigned int i = 0; i < 3; i++)
		put(CMD_STACK + 28 + 2 * i, lists[_i].next[i], 2);
	ck_assert_uint_eq(commands_found(), lists[_i].found);
	finish();
}
END_TEST

static void put_return(unsigned int position, uint64_t command)
{
	put(RET_QUEUE + ENTRIES_AT + position % ENTRIES * 64, position + 1, 8);
	put(RET_QUEUE + ENTRIES_AT + position % ENTRIES * 64 + 16, command, 8);
}

/* Also if the queue has wrapped, and up to as many as it has entries. */
START_TEST(returned_commands_are_not_under_way)
{
	uint64_t first = 0x10000000 + CMD_STACK + 4096;

	make_stack(_i);
	put(RET_QUEUE + TAKEN_AT, 5, 8);
	put(RET_QUEUE + PUT_AT, 5, 8);
	ck_assert_uint_eq(commands_found(), 0xff);
	for (unsigned int i = 0; i < ENTRIES; i++) {
		put_return(5 + i, first + i * at->command.size);
		put(RET_QUEUE + PUT_AT, 5 + i + 1, 8);
		ck_assert_uint_eq(commands_found(), 0xff & ~((2u << i) - 1));
	}
	put(RET_QUEUE + PUT_AT, 5 + ENTRIES + 1, 8); /* it has no such number of entries */
	ck_assert_uint_eq(commands_found(), 0xff);
	/* what is no command */
	put(RET_QUEUE + PUT_AT, 7, 8);
	put_return(5, first - 1);
	put_return(6, first + ENTRIES * at->command.size);
	ck_assert_uint_eq(commands_found(), 0xff);
	finish();
}
END_TEST

START_TEST(commands_at_other_peers_are_left)
{
	static const int16_t peers[ENTRIES] = {3, -1, 0, 255, 256, 2, INT16_MAX, INT16_MIN};
	struct dofi_shm_command commands[ENTRIES] = {{0}};

	make_stack(_i);
	for (unsigned int i = 0; i < ENTRIES; i++)
		put_stack_command(i, peers[i], 8);
	ck_assert_uint_eq(commands_found(), 1);
	put_peer(255, region.base);
	put_peer(0, region.base);
	ck_assert_uint_eq(commands_found(), 0xd);
	put_stack_command(0, 3, 0xf7); /* one that the peer does not give back */
	ck_assert_uint_eq(commands_found(), at->command.flags ? 0xc : 0xd);
	put_stack_command(0, 3, 0xff);
	ck_assert_int_eq(dofi_shm_commands(&region, &region, commands, 2), 2);
	ck_assert_uint_eq(commands[1].context, 1002);
	ck_assert_ptr_null(commands[2].command);
	finish();
}
END_TEST

/* Sizes that are possible, and those that are not; and no memory. */
START_TEST(stacks_of_commands)
{
	struct dofi_shm_command commands[ENTRIES];
	ssize_t n;

	make_stack(_i);
	fails = MALLOC;
	n = dofi_shm_commands(&region, &region, commands, ENTRIES);
	fails = NONE;
	ck_assert_int_eq(n, -ENOMEM);
	put(CMD_STACK + 8, 0, 8); /* all in one place */
	put(CMD_STACK + 16, INT16_MAX, 8);
	ck_assert_int_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), ENTRIES);
	put(CMD_STACK + 16, INT16_MAX + 1, 8);
	ck_assert_int_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), 0);
	finish();
}
END_TEST

/* Those that are still the same; without memory it is not known which. */
START_TEST(only_the_same_commands_are_given_back)
{
	struct dofi_shm_command commands[ENTRIES];
	bool ret;

	make_stack(_i);
	ck_assert_int_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), ENTRIES);
	fails = CALLOC;
	ret = dofi_shm_give_back(&region, &region, commands, ENTRIES);
	fails = NONE;
	ck_assert(!ret);
	ck_assert_uint_eq(get(RET_QUEUE + PUT_AT, 8), 0);
	commands[0].context++;
	commands[1].command = commands[2].command;
	put_stack_command(3, 2, 8);
	put_stack_command(5, 3, 0x48);
	zeroed = NULL;
	ck_assert(dofi_shm_give_back(&region, &region, commands, 6));
	ck_assert_ptr_null(zeroed);
	ck_assert_uint_eq(get(RET_QUEUE + PUT_AT, 8), 3);
	for (unsigned int i = 0; i < 3; i++) {
		static const unsigned int back[] = {2, 4, 5};

		ck_assert_uint_eq(get(RET_QUEUE + ENTRIES_AT + i * 64, 8), i + 1);
		ck_assert_uint_eq(get(RET_QUEUE + ENTRIES_AT + i * 64 + 16, 8),
				  0x10000000 + command_at(back[i]));
	}
	expect_mark(5, 0x48, true);
	ck_assert_uint_eq(commands_found(), 0xff & ~0x3cu);
	finish();
}
END_TEST

/* The queue of commands that come back is full, or has an entry that is no command. */
START_TEST(commands_that_can_not_be_given_back)
{
	struct dofi_shm_command commands[ENTRIES];

	make(_i);
	fill_pool(CMD_STACK);
	put(CMD_STACK, 4096, 8);
	put(CMD_STACK + 26, 1, 2);
	put_peer(3, region.base);
	put_stack_command(0, 3, 8);
	put(RET_QUEUE + PUT_AT, 2, 8);
	put(RET_QUEUE + ENTRIES_AT, 1, 8);
	put(RET_QUEUE + ENTRIES_AT + 16, 1, 8);
	put(RET_QUEUE + ENTRIES_AT + 64, 2, 8);
	put(RET_QUEUE + ENTRIES_AT + 64 + 16, UINT64_MAX, 8);
	ck_assert_int_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), 1);
	put(RET_QUEUE + PUT_AT, ENTRIES, 8);
	for (unsigned int i = 0; i < ENTRIES; i++)
		put(RET_QUEUE + ENTRIES_AT + i * 64, i + 1, 8);
	put(RET_QUEUE + TAKEN_AT, ENTRIES - 1, 8);
	put(RET_QUEUE + ENTRIES_AT + (ENTRIES - 1) * 64 + 16, 1, 8);
	dofi_shm_give_back(&region, &region, commands, 1);
	ck_assert_uint_eq(get(RET_QUEUE + PUT_AT, 8), ENTRIES);
	expect_mark(0, 8, false);
	put(CMD_STACK + 16, 40000, 8);
	ck_assert_int_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), 0);
	finish();
}
END_TEST

START_TEST(layouts_without_commands)
{
	struct dofi_shm_command commands[4];

	make(_i);
	put_peer(0, region.base);
	ck_assert_int_eq(dofi_shm_commands(&region, &region, commands, 4), 0);
	finish();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_commands");
	TCase *tcase = tcase_create("shm_commands");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, free_commands_are_not_under_way, 0, 11);
	tcase_add_loop_test(tcase, returned_commands_are_not_under_way, V2_5_0, LAYOUTS);
	tcase_add_loop_test(tcase, commands_at_other_peers_are_left, V2_5_0, LAYOUTS);
	tcase_add_loop_test(tcase, stacks_of_commands, V2_5_0, LAYOUTS);
	tcase_add_loop_test(tcase, only_the_same_commands_are_given_back, V2_5_0, LAYOUTS);
	tcase_add_loop_test(tcase, commands_of_a_dead_process_are_freed, V2_5_0, LAYOUTS);
	tcase_add_loop_test(tcase, commands_that_can_not_be_given_back, V2_5_0, LAYOUTS);
	tcase_add_loop_test(tcase, layouts_without_commands, 0, V2_5_0);
	return t_run(suite);
}
