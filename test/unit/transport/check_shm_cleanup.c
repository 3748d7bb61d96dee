/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What killed processes leave in /dev/shm: whose it is, and what is removed. */
#include "unit.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/transport/shm_cleanup.h"
#include "../../../prov/ofi/fabric/same_process.h"
#include "../../../prov/ofi/progress/engine.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

static struct dofi_ia ia;
static char path[64];

/* --- the engine --- */

static struct dofi_timer *set;
static uint64_t when;

uint64_t dofi_now(void)
{
	return 5;
}

void dofi_timer_set(struct dofi_ia *of, struct dofi_timer *timer, uint64_t deadline)
{
	ck_assert_ptr_eq(of, &ia);
	set = timer;
	when = deadline;
}

/* --- */

/* A child that has ended; nobody else gets its number before it is waited for. */
static pid_t zombie(void)
{
	siginfo_t what;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &what, WEXITED | WNOWAIT), 0);
	return pid;
}

static const char *name_of(long pid, long uid)
{
	static char name[48];

	snprintf(name, sizeof(name), "%ld:%ld:987654321", pid, uid);
	return name;
}

static void leave(const char *name)
{
	int fd;

	snprintf(path, sizeof(path), "/dev/shm/%s", name);
	fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
	ck_assert_msg(fd >= 0, "%s: %m", path);
	close(fd);
}

static bool is_left(void)
{
	return !access(path, F_OK);
}

static void setup(void)
{
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	unlink(path);
}

/* Whether an IA over shm, when it opens, leaves a file of this name alone. */
static bool is_kept(const char *name)
{
	bool kept;

	leave(name);
	dofi_shm_cleanup_init(&ia, (const uint8_t *)DOFI_SHM_PREFIX "1:0:0");
	kept = is_left();
	unlink(path);
	return kept;
}

START_TEST(the_living)
{
	ck_assert(is_kept(name_of(getpid(), geteuid())));
	ck_assert(is_kept(name_of(1, geteuid()))); /* somebody's, at least */
}
END_TEST

START_TEST(the_dead)
{
	pid_t pid = zombie();

	ck_assert(!is_kept(name_of(pid, geteuid())));
	ck_assert(is_kept(name_of(pid, (long)geteuid() + 1)));
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(other_names)
{
	static const char *const names[] = {
		":",         "::",         "sem.dat-ofi",   "99999999",
		"-1:0:1",    "0:0:1",      "a:0:1",         ":0:1",
		"99999999:", "99999999:0", "99999999: 0:1", "99999999999999999999:0:1"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_msg(is_kept(names[i]), "\"%s\"", names[i]);
}
END_TEST

START_TEST(there_is_a_place)
{
	ck_assert_int_eq(dofi_shm_cleanup_probe(), 0);
}
END_TEST

START_TEST(opening_removes_what_is_left)
{
	pid_t pid = zombie();

	leave(name_of(pid, geteuid()));
	dofi_shm_cleanup_init(&ia, (const uint8_t *)"127.0.0.1"); /* another fabric */
	ck_assert(is_left());
	dofi_shm_cleanup_init(&ia, (const uint8_t *)DOFI_SHM_PREFIX "1:0:0");
	ck_assert(!is_left());
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(opening_leaves_what_is_used)
{
	leave(name_of(getpid(), geteuid()));
	dofi_shm_cleanup_init(&ia, (const uint8_t *)DOFI_SHM_PREFIX "1:0:0");
	ck_assert(is_left());
}
END_TEST

START_TEST(a_peer_dies)
{
	pid_t pid;

	dofi_shm_cleanup_init(&ia, (const uint8_t *)"127.0.0.1");
	dofi_shm_cleanup_expect(&ia);
	ck_assert_ptr_null(set);

	dofi_shm_cleanup_init(&ia, (const uint8_t *)DOFI_SHM_PREFIX "1:0:0");
	pid = zombie();
	leave(name_of(pid, geteuid()));
	dofi_shm_cleanup_expect(&ia);
	ck_assert_ptr_eq(set, &ia.shm_cleanup.timer);
	ck_assert_uint_gt(when, dofi_now());
	set->fire(set);
	ck_assert(!is_left());
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_cleanup");
	TCase *tc = tcase_create("shm_cleanup");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_living);
	tcase_add_test(tc, the_dead);
	tcase_add_test(tc, other_names);
	tcase_add_test(tc, there_is_a_place);
	tcase_add_test(tc, opening_removes_what_is_left);
	tcase_add_test(tc, opening_leaves_what_is_used);
	tcase_add_test(tc, a_peer_dies);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
