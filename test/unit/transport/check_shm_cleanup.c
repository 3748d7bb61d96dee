/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Regions in /dev/shm: what killed processes leave there, and what peers may name. */
#include "unit.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/transport/shm_cleanup.h"
#include "../../../prov/ofi/transport/shm_region.h"
#include "../../../prov/ofi/fabric/same_process.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/progress/timer.h"
#include "../../../prov/ofi/progress/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
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

#define NOBODY  65534u
#define NOBODYS 99999999L /* above any limit: no process of this namespace */

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

/* As an IA that is open, or not quite yet. */
static int leave_held(const char *name)
{
	char address[96];
	int fd;

	leave(name);
	snprintf(address, sizeof(address), "%s%s", DOFI_SHM_PREFIX, name);
	fd = dofi_shm_region_hold((const uint8_t *)address);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* As an IA whose process was killed: nobody has waited for it yet. */
static pid_t leave_dead(const char *name)
{
	siginfo_t what;
	pid_t pid = fork();

	if (!pid) {
		leave_held(name);
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &what, WEXITED | WNOWAIT), 0);
	snprintf(path, sizeof(path), "/dev/shm/%s", name);
	return pid;
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

static void open_ia(void)
{
	dofi_shm_cleanup_init(&ia, (const uint8_t *)DOFI_SHM_PREFIX "1:0:0");
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

/*
 * Its process may have another number than here, or none, where both have PID namespaces of their
 * own and share the directory.
 */
START_TEST(what_is_in_use)
{
	int fd = leave_held(name_of(NOBODYS, geteuid()));

	open_ia();
	ck_assert(is_left());
	dofi_shm_region_release(fd);
	open_ia();
	ck_assert(!is_left());
}
END_TEST

START_TEST(the_dead)
{
	pid_t pid = leave_dead(name_of(NOBODYS, geteuid()));

	ck_assert(is_left());
	open_ia();
	ck_assert(!is_left());
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* Of other programs that use shm, or before its IA has it: nobody knows. */
START_TEST(what_is_not_marked)
{
	ck_assert(is_kept(name_of(getpid(), geteuid())));
	ck_assert(is_kept(name_of(NOBODYS, geteuid())));
}
END_TEST

START_TEST(other_names)
{
	static const char *const names[] = {":",
					    "::",
					    "sem.dat-ofi",
					    "99999999",
					    "-1:0:1",
					    "a:0:1",
					    ":0:1",
					    "99999999:",
					    "99999999:0",
					    "99999999: 0:1",
					    "99999999:77:1",
					    "99999999:0:1 "};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int fd;

		leave(names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		ck_assert_int_eq(fchmod(fd, S_ISVTX | 0600), 0);
		close(fd);
		open_ia();
		ck_assert_msg(is_left(), "\"%s\"", names[i]);
		unlink(path);
	}
}
END_TEST

START_TEST(there_is_a_place)
{
	ck_assert_int_eq(dofi_shm_cleanup_probe(), 0);
}
END_TEST

START_TEST(other_fabrics_leave_none)
{
	pid_t pid = leave_dead(name_of(NOBODYS, geteuid()));

	dofi_shm_cleanup_init(&ia, (const uint8_t *)"127.0.0.1");
	ck_assert(is_left());
	dofi_shm_cleanup_fini(&ia);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(an_IA_holds_its_own)
{
	char address[96];

	leave(name_of(NOBODYS, geteuid()));
	snprintf(address, sizeof(address), "%s%s", DOFI_SHM_PREFIX, name_of(NOBODYS, geteuid()));
	dofi_shm_cleanup_init(&ia, (const uint8_t *)address);
	ck_assert_int_ge(ia.shm_cleanup.held, 0);
	ck_assert(is_left()); /* its own sweep */
	dofi_shm_cleanup_fini(&ia);
	open_ia();
	ck_assert(!is_left());
}
END_TEST

START_TEST(a_peer_dies)
{
	pid_t pid;

	dofi_shm_cleanup_init(&ia, (const uint8_t *)"127.0.0.1");
	dofi_shm_cleanup_expect(&ia);
	ck_assert_ptr_null(set);

	open_ia();
	pid = leave_dead(name_of(NOBODYS, geteuid()));
	dofi_shm_cleanup_expect(&ia);
	ck_assert_ptr_eq(set, &ia.shm_cleanup.timer);
	ck_assert_uint_gt(when, dofi_now());
	set->fire(set);
	ck_assert(!is_left());
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* --- regions that peers name --- */

static int check(const char *name)
{
	char address[96];

	snprintf(address, sizeof(address), "%s%s", DOFI_SHM_PREFIX, name);
	return dofi_shm_region_check((const uint8_t *)address);
}

/* A file of one page in the directory, with this mode and owner. */
static void leave_page(mode_t mode, uid_t owner)
{
	leave(name_of(NOBODYS, geteuid()));
	ck_assert_int_eq(truncate(path, sysconf(_SC_PAGESIZE)), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
	ck_assert_int_eq(chown(path, owner, (gid_t)-1), 0);
}

START_TEST(what_peers_may_name)
{
	const char *name = name_of(NOBODYS, geteuid());
	char slashed[64];

	snprintf(slashed, sizeof(slashed), "//%s", name);
	ck_assert_int_eq(check(name), -ENOENT);
	leave_page(0600, geteuid());
	ck_assert_int_eq(check(name), 0);
	ck_assert_int_eq(check(slashed), 0); /* same_process.h */
	ck_assert_int_eq(chmod(path, 0644 | S_ISVTX), 0);
	ck_assert_int_eq(check(name), 0);
	ck_assert_int_eq(chmod(path, 0620), 0);
	ck_assert_int_eq(check(name), -EPERM);
	ck_assert_int_eq(chmod(path, 0602), 0);
	ck_assert_int_eq(check(name), -EPERM);
	ck_assert_int_eq(chmod(path, 0600), 0);
	ck_assert_int_eq(truncate(path, sysconf(_SC_PAGESIZE) - 1), 0);
	ck_assert_int_eq(check(name), -EINVAL);
}
END_TEST

START_TEST(names_that_lead_elsewhere)
{
	static const char *const names[] = {"", "/", ".", "..", "../shm", "a/b", "/../etc/passwd"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_int_eq(check(names[i]), -EINVAL);
	ck_assert_int_eq(dofi_shm_region_check((const uint8_t *)"99999999:0:1"), -EINVAL);
	snprintf(path, sizeof(path), "/dev/shm/%s", name_of(NOBODYS, geteuid()));
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_eq(check(name_of(NOBODYS, geteuid())), -ELOOP);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0); /* nor does it block */
	ck_assert_int_eq(check(name_of(NOBODYS, geteuid())), -EINVAL);
}
END_TEST

START_TEST(other_users_regions)
{
	if (geteuid()) {
		puts("# other_users_regions: skipped, only root can give files away");
		return;
	}
	leave_page(0666, NOBODY);
	ck_assert_int_eq(check(name_of(NOBODYS, geteuid())), -EPERM);
	ck_assert_int_eq(chmod(path, 0600), 0);
	ck_assert_int_eq(check(name_of(NOBODYS, geteuid())), -EPERM);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_cleanup");
	TCase *tc = tcase_create("shm_cleanup");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_is_in_use);
	tcase_add_test(tc, the_dead);
	tcase_add_test(tc, what_is_not_marked);
	tcase_add_test(tc, other_names);
	tcase_add_test(tc, there_is_a_place);
	tcase_add_test(tc, other_fabrics_leave_none);
	tcase_add_test(tc, an_IA_holds_its_own);
	tcase_add_test(tc, a_peer_dies);
	tcase_add_test(tc, what_peers_may_name);
	tcase_add_test(tc, names_that_lead_elsewhere);
	tcase_add_test(tc, other_users_regions);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
