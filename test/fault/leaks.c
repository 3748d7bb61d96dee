/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A closed IA leaves no descriptor, no thread and no memory (PRG-17). */
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process.h"
#include "../lib/t_heap.h"
#include "../lib/t_hooks.h"

#define FEW_FILES     50
#define WARM_UP       40
#define ROUNDS        400
/* for the fabric, over all rounds: the test notices a leak of 137 bytes in each */
#define BYTES_ALLOWED 49152
#define PAGES_ALLOWED 1024

struct use {
	int files, threads;
	size_t bytes, pages;
};

static size_t resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t total = 0, resident = 0;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%zu %zu", &total, &resident), 2);
	fclose(file);
	return resident;
}

/*
 * malloc keeps free pages, which vary by megabytes and are not a leak. malloc_trim gives them back,
 * but not those at the end of a thread's arena. So main lets all threads share one arena.
 */
static struct use use_now(void)
{
	malloc_trim(0);
	return (struct use){
		.files = fault_open_files(),
		.threads = fault_threads(),
		.bytes = t_heap(),
		.pages = resident_pages(),
	};
}

static void expect_no_more(const struct use *before)
{
	struct use after;

	/* The kernel may still list a thread that was joined before. */
	t_until(fault_threads() <= before->threads);
	after = use_now();
	ck_assert_int_eq(after.files, before->files);
	if (!T_HOOKS)
		return; /* a sanitizer keeps freed memory, and finds leaks itself */
	ck_assert_msg(after.bytes <= before->bytes + BYTES_ALLOWED,
		      "%zu bytes more are allocated after %d rounds", after.bytes - before->bytes,
		      ROUNDS - WARM_UP);
	ck_assert_msg(after.pages <= before->pages + PAGES_ALLOWED,
		      "%zu pages more are resident after %d rounds", after.pages - before->pages,
		      ROUNDS - WARM_UP);
}

/* --- the work of a round --- */

static void open_and_close(struct t_ia *ia)
{
	t_ia_open(ia);
	t_ia_close_empty(ia);
}

static void use_and_clean_up(struct t_ia *ia)
{
	struct t_loop loop;

	t_ia_open(ia);
	t_loop_open(&loop, ia, NULL);
	t_ok(t_recv(&loop.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(&loop.end[0], 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 1, DAT_DTO_SUCCESS, 64);
	t_loop_close(&loop);
	t_ia_close_empty(ia);
}

/* The IA is closed while all objects exist and requests are under way. */
static void use_and_close_abruptly(struct t_ia *ia)
{
	DAT_CNO_HANDLE cno;
	struct t_loop loop;
	struct t_end asking;
	DAT_RMR_HANDLE rmr;

	t_ia_open(ia);
	t_loop_open(&loop, ia, NULL);
	cno = t_cno(ia);
	t_ok(dat_evd_modify_cno(loop.end[0].recv_evd, cno));
	t_ok(dat_rmr_create(ia->pz, &rmr));
	t_end_new(&asking, ia, NULL);
	t_ok(t_connect(asking.ep, &loop.listener));
	t_next_cr(&loop.listener);
	for (uint64_t i = 0; i < 5; i++) {
		t_ok(t_recv(&loop.end[0], 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&loop.end[0], 0, T_BUF_SIZE, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_read(&loop.end[0], 0, 64, i, t_remote_seg(&loop.end[1].buf, 0, 64),
			    DAT_COMPLETION_DEFAULT_FLAG));
	}
	t_ia_close(ia);
	for (int i = 0; i < 2; i++)
		munmap(loop.end[i].buf.mem, loop.end[i].buf.size);
	munmap(asking.buf.mem, asking.buf.size);
}

static void fail_to_open(struct t_ia *ia)
{
	char name[] = "ofi-tcp-nosuchdevice0";

	t_error2(dat_ia_open(name, 8, &ia->async_evd, &ia->ia), DAT_PROVIDER_NOT_FOUND,
		 DAT_INVALID_ADDRESS);
	ia->async_evd = DAT_HANDLE_NULL;
}

static void (*const kinds[])(struct t_ia *ia) = {
	open_and_close,
	use_and_clean_up,
	use_and_close_abruptly,
	fail_to_open,
};

START_TEST(closed_ia_leaves_nothing)
{
	struct rlimit few = {FEW_FILES, FEW_FILES};
	struct t_ia ia = {.async_evd = DAT_HANDLE_NULL};
	struct use before = {0};

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	setenv("DAT_OFI_LOG", "off", 1);
	for (int round = 0; round < ROUNDS; round++) {
		if (round == WARM_UP)
			before = use_now();
		kinds[_i](&ia);
	}
	expect_no_more(&before);
}
END_TEST

/* One IA remains open. Its objects are created and freed. */
START_TEST(freed_objects_leave_nothing_in_an_ia)
{
	struct use before = {0};
	struct t_loop loop;
	struct t_ia ia;

	t_ia_open(&ia);
	for (int round = 0; round < ROUNDS; round++) {
		if (round == WARM_UP)
			before = use_now();
		t_loop_open(&loop, &ia, NULL);
		t_ok(t_recv(&loop.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_loop_close(&loop);
	}
	expect_no_more(&before);
	t_ia_close_empty(&ia);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("leaks");
	TCase *tcase = tcase_create("leaks");

	mallopt(M_ARENA_MAX, 1);
	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, closed_ia_leaves_nothing, 0, sizeof(kinds) / sizeof(kinds[0]));
	tcase_add_test(tcase, freed_objects_leave_nothing_in_an_ia);
	return t_run(suite);
}
