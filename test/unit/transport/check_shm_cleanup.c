/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Regions in /dev/shm: regions of killed processes, and regions that peers may name. */
#include "t_fstat.h"
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/transport/shm_cleanup.h"
#include "../../../prov/ofi/transport/shm_region.h"
#include "../../../prov/ofi/fabric/same_process.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/progress/timer.h"
#include "../../../prov/ofi/progress/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct dofi_ia ia;
static char path[64];

/* --- the engine --- */

static struct dofi_timer *set;
static uint64_t when;

T_STAND_IN uint64_t __wrap_dofi_now(void);

uint64_t __wrap_dofi_now(void)
{
	return 5;
}

void dofi_timer_set(struct dofi_ia *of, struct dofi_timer *timer, uint64_t deadline)
{
	ck_assert_ptr_eq(of, &ia);
	set = timer;
	when = deadline;
}

/* --- calls that fail when a test says so; the linker redirects them --- */

static enum { NONE, FSTAT, FCHMOD } fails;
static int open_flags;

T_STAND_IN int __wrap_fchmod(int fd, mode_t mode);
int __real_fchmod(int fd, mode_t mode);
T_STAND_IN int __wrap_open(const char *file, int flags, ...);
int __real_open(const char *file, int flags, ...);
T_STAND_IN int __wrap_openat(int dir, const char *file, int flags, ...);
int __real_openat(int dir, const char *file, int flags, ...);

int __wrap_fstat(int fd, struct stat *st)
{
	errno = EIO;
	return fails == FSTAT ? -1 : t_real_fstat(fd, st);
}

int __wrap_fchmod(int fd, mode_t mode)
{
	errno = EROFS;
	return fails == FCHMOD ? -1 : __real_fchmod(fd, mode);
}

int __wrap_open(const char *file, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
	va_end(args);
	open_flags = flags;
	return __real_open(file, flags, mode);
}

int __wrap_openat(int dir, const char *file, int flags, ...)
{
	open_flags = flags;
	return __real_openat(dir, file, flags);
}

/* Nothing of what others may put into the directory blocks this process or gets more rights. */
static void was_opened_with_care(void)
{
	ck_assert_int_eq(open_flags, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int next_fd(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

/* --- */

#define NOBODY  65534u
#define NOBODYS 99999999L /* above the limit of process ids */

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

/* Makes a region as an IA has it that is open or being opened. */
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

/* Makes a region as a killed process leaves it. The process was not waited for yet. */
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

/* Returns whether a file of this name remains when an IA over shm is opened. */
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
 * If processes in different PID namespaces share the directory, the owner may have another process
 * id here, or none.
 */
START_TEST(regions_in_use_remain)
{
	int fd = leave_held(name_of(NOBODYS, geteuid()));

	open_ia();
	ck_assert(is_left());
	dofi_shm_region_release(fd);
	open_ia();
	ck_assert(!is_left());
}
END_TEST

START_TEST(regions_of_dead_processes_are_removed)
{
	pid_t pid = leave_dead(name_of(NOBODYS, geteuid()));
	int fd = t_capture(STDERR_FILENO);

	dofi_log_set_level("info");
	ck_assert(is_left());
	open_ia();
	ck_assert(!is_left());
	ck_assert_ptr_nonnull(strstr(t_captured(fd), path)); /* which one was removed */
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* Nothing is said of files that remain. */
START_TEST(only_what_is_removed_is_reported)
{
	int fd = t_capture(STDERR_FILENO);

	dofi_log_set_level("info");
	leave(name_of(NOBODYS, geteuid()));
	open_ia();
	ck_assert(is_left());
	ck_assert_ptr_null(strstr(t_captured(fd), "removed"));
}
END_TEST

/* The region may belong to another program, or to an IA that has not marked it yet. */
START_TEST(regions_without_a_mark_remain)
{
	ck_assert(is_kept(name_of(getpid(), geteuid())));
	ck_assert(is_kept(name_of(NOBODYS, geteuid())));
}
END_TEST

START_TEST(files_with_other_names_remain)
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

START_TEST(probe_finds_a_directory)
{
	ck_assert_int_eq(dofi_shm_cleanup_probe(), 0);
}
END_TEST

START_TEST(probe_without_a_descriptor)
{
	struct rlimit files, none;
	int ret;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ret = dofi_shm_cleanup_probe();
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert_int_eq(ret, -EMFILE);
}
END_TEST

/* The kernel would end the process with SIGXFSZ when libfabric makes its region. */
START_TEST(probe_with_a_low_limit_of_file_sizes)
{
	struct rlimit sizes, low;
	int ret[2];

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &sizes), 0);
	low = sizes;
	for (rlim_t i = 0; i < 2; i++) {
		low.rlim_cur = (16 << 20) - i;
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
		ret[i] = dofi_shm_cleanup_probe();
	}
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &sizes), 0);
	ck_assert_int_eq(ret[0], 0);
	ck_assert_int_eq(ret[1], -EFBIG);
}
END_TEST

/* It stays if this process is killed, so the user is told. */
START_TEST(a_region_that_cannot_be_locked)
{
	int fd = t_capture(STDERR_FILENO);
	char address[96];

	snprintf(address, sizeof(address), "%s%s", DOFI_SHM_PREFIX, name_of(NOBODYS, geteuid()));
	dofi_log_set_level("info");
	dofi_shm_cleanup_init(&ia, (const uint8_t *)address);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "can't be locked and will stay"));
	dofi_shm_cleanup_fini(&ia);
}
END_TEST

/* Nothing is open after a look at the directory, and without a descriptor there is none. */
START_TEST(looks_at_the_directory)
{
	pid_t pid = leave_dead(name_of(NOBODYS, geteuid()));
	struct rlimit files, none;
	int next = next_fd();

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	open_ia();
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert(is_left());
	ck_assert_int_eq(ia.shm_cleanup.held, -EMFILE);
	open_ia();
	ck_assert(!is_left());
	ck_assert_int_eq(next_fd(), next);
	ck_assert_int_eq(dofi_shm_cleanup_probe(), 0);
	ck_assert_int_eq(next_fd(), next);
	ck_assert_int_eq(open_flags, O_TMPFILE | O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* A region in the first descriptor is locked as well. */
START_TEST(a_region_that_is_locked)
{
	int fd = t_capture(STDERR_FILENO);
	char address[96];

	dofi_log_set_level("info");
	leave(name_of(NOBODYS, geteuid()));
	snprintf(address, sizeof(address), "%s%s", DOFI_SHM_PREFIX, name_of(NOBODYS, geteuid()));
	close(STDIN_FILENO);
	dofi_shm_cleanup_init(&ia, (const uint8_t *)address);
	ck_assert_int_eq(ia.shm_cleanup.held, STDIN_FILENO);
	dofi_shm_cleanup_fini(&ia);
	ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
	ck_assert_ptr_null(strstr(t_captured(fd), "can't be locked"));
}
END_TEST

START_TEST(other_fabrics_remove_nothing)
{
	pid_t pid = leave_dead(name_of(NOBODYS, geteuid()));

	dofi_shm_cleanup_init(&ia, (const uint8_t *)"127.0.0.1");
	ck_assert(is_left());
	ck_assert_int_lt(ia.shm_cleanup.held, 0);
	dofi_shm_cleanup_fini(&ia);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(an_IA_locks_its_own_region)
{
	char address[96];

	leave(name_of(NOBODYS, geteuid()));
	snprintf(address, sizeof(address), "%s%s", DOFI_SHM_PREFIX, name_of(NOBODYS, geteuid()));
	dofi_shm_cleanup_init(&ia, (const uint8_t *)address);
	ck_assert_int_ge(ia.shm_cleanup.held, 0);
	ck_assert(is_left()); /* the clean-up at its open */
	dofi_shm_cleanup_fini(&ia);
	open_ia();
	ck_assert(!is_left());
}
END_TEST

START_TEST(the_region_of_a_dead_peer_is_removed)
{
	pid_t pid;

	dofi_shm_cleanup_init(&ia, (const uint8_t *)"127.0.0.1");
	dofi_shm_cleanup_expect(&ia);
	ck_assert_ptr_null(set);

	open_ia();
	pid = leave_dead(name_of(NOBODYS, geteuid()));
	dofi_shm_cleanup_expect(&ia);
	ck_assert_ptr_eq(set, &ia.shm_cleanup.timer);
	ck_assert_uint_eq(when, dofi_now() + 1000000000); /* the process takes a while to end */
	set->fire(set);
	ck_assert(!is_left());
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* A timer would outlive the IA, and the descriptor may be another file by now. */
START_TEST(an_IA_that_has_closed_cleans_up_no_more)
{
	char address[96];
	int held, again;

	leave(name_of(NOBODYS, geteuid()));
	snprintf(address, sizeof(address), "%s%s", DOFI_SHM_PREFIX, name_of(NOBODYS, geteuid()));
	dofi_shm_cleanup_init(&ia, (const uint8_t *)address);
	held = ia.shm_cleanup.held;
	ck_assert_int_ge(held, 0);
	dofi_shm_cleanup_fini(&ia);
	again = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(again, held);
	dofi_shm_cleanup_fini(&ia);
	ck_assert_int_eq(fcntl(again, F_GETFD), FD_CLOEXEC);
	dofi_shm_cleanup_expect(&ia);
	ck_assert_ptr_null(set);
	close(again);
	unlink(path);
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

START_TEST(regions_that_peers_may_name)
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

START_TEST(names_outside_the_directory_are_refused)
{
	static const char *const names[] = {"", "/", ".", "..", "../shm", "a/b", "/../etc/passwd"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_int_eq(check(names[i]), -EINVAL);
	ck_assert_int_eq(dofi_shm_region_check((const uint8_t *)"99999999:0:1"), -EINVAL);
	snprintf(path, sizeof(path), "/dev/shm/%s", name_of(NOBODYS, geteuid()));
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_eq(check(name_of(NOBODYS, geteuid())), -ELOOP);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0); /* the check does not block */
	ck_assert_int_eq(check(name_of(NOBODYS, geteuid())), -EINVAL);
}
END_TEST

START_TEST(regions_of_other_users_are_refused)
{
	if (geteuid())
		t_skip("only root can give files away");
	leave_page(0666, NOBODY);
	ck_assert_int_eq(check(name_of(NOBODYS, geteuid())), -EPERM);
	ck_assert_int_eq(chmod(path, 0600), 0);
	ck_assert_int_eq(check(name_of(NOBODYS, geteuid())), -EPERM);
}
END_TEST

START_TEST(regions_of_a_user_and_of_root)
{
	const char *name = name_of(NOBODYS, geteuid());

	if (geteuid())
		t_skip("only root can act as another user");
	leave_page(0644, 0);
	ck_assert_int_eq(seteuid(NOBODY), 0);
	ck_assert_int_eq(check(name), 0);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chown(path, NOBODY, (gid_t)-1), 0);
	ck_assert_int_eq(seteuid(NOBODY), 0);
	ck_assert_int_eq(check(name), 0);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chown(path, NOBODY - 1, (gid_t)-1), 0);
	ck_assert_int_eq(seteuid(NOBODY), 0);
	ck_assert_int_eq(check(name), -EPERM);
	ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

/* --- the opening of a region --- */

static int hold(const char *name)
{
	char address[NAME_MAX + 32];

	snprintf(address, sizeof(address), "%s%s", DOFI_SHM_PREFIX, name);
	return dofi_shm_region_hold((const uint8_t *)address);
}

START_TEST(only_files_of_the_directory_are_opened)
{
	static const char *const names[] = {"", "/", ".", "..", ".hidden", "a/b", "/a/", "/../shm"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_int_eq(hold(names[i]), -EINVAL);
	ck_assert_int_eq(dofi_shm_region_hold((const uint8_t *)"99999999:0:1"), -EINVAL);
	ck_assert_int_eq(dofi_shm_region_check((const uint8_t *)"99999999:0:1"), -EINVAL);
	ck_assert_int_ge(fcntl(STDIN_FILENO, F_GETFD), 0);
	ck_assert(dofi_shm_region_is_of((const uint8_t *)DOFI_SHM_PREFIX "1"));
	ck_assert(!dofi_shm_region_is_of((const uint8_t *)"fi_shm:/1"));
}
END_TEST

START_TEST(the_longest_name)
{
	char name[NAME_MAX + 2], file[sizeof(name) + sizeof(DOFI_SHM_DIR)];
	int fd;

	memset(name, '7', sizeof(name));
	name[NAME_MAX] = '\0';
	snprintf(file, sizeof(file), "%s/%s", DOFI_SHM_DIR, name);
	fd = open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	fd = hold(name);
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_ge(fd, 0);
	dofi_shm_region_release(fd);
	name[NAME_MAX] = '7';
	name[NAME_MAX + 1] = '\0';
	ck_assert_int_eq(hold(name), -EINVAL);
}
END_TEST

/* Only the permissions remain beside the mark. */
START_TEST(a_held_region_is_marked)
{
	static const mode_t modes[][2] = {{0600, 01600},
					  {04640, 01640},
					  {0777, 01777},
					  {01400, 01400}};
	struct stat st;
	int fd;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		leave(name_of(NOBODYS, geteuid()));
		ck_assert_int_eq(chmod(path, modes[i][0]), 0);
		fd = hold(name_of(NOBODYS, geteuid()));
		was_opened_with_care();
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_uint_eq(st.st_mode & 07777, modes[i][1]);
		ck_assert_int_ge(hold(name_of(NOBODYS, geteuid())), 0); /* locks are shared */
		dofi_shm_region_release(fd);
		ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
		ck_assert_int_eq(unlink(path), 0);
	}
}
END_TEST

/* The lock is another process's, or a call fails: there is no mark without a lock. */
START_TEST(a_region_that_cannot_be_held)
{
	static const int errs[] = {-EWOULDBLOCK, -EIO, -EROFS};
	struct stat st;
	int fd, next, ret;

	leave_page(0600, geteuid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!_i)
		ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	next = next_fd();
	fails = (unsigned int)_i;
	ret = hold(name_of(NOBODYS, geteuid()));
	fails = NONE;
	ck_assert_int_eq(ret, errs[_i]);
	ck_assert_int_eq(next_fd(), next);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	fails = _i == FSTAT ? FSTAT : NONE;
	ret = check(name_of(NOBODYS, geteuid()));
	fails = NONE;
	ck_assert_int_eq(ret, _i == FSTAT ? -EIO : 0);
	was_opened_with_care();
	ck_assert_int_eq(next_fd(), next);
	close(fd);
}
END_TEST

/* A program without standard input: the first descriptor is one, too. */
START_TEST(a_region_in_the_first_descriptor)
{
	struct stat st;

	leave_page(0600, geteuid());
	close(STDIN_FILENO);
	ck_assert_int_eq(check(name_of(NOBODYS, geteuid())), 0);
	ck_assert_int_eq(hold(name_of(NOBODYS, geteuid())), STDIN_FILENO);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 01600);
	ck_assert_int_eq(check(name_of(NOBODYS, geteuid())), 0);
	dofi_shm_region_release(-1);
	dofi_shm_region_release(STDIN_FILENO);
	ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
	ck_assert_int_eq(dofi_shm_cleanup_probe(), 0);
	ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
}
END_TEST

/* --- the removal of a region --- */

static bool is_swept(const char *name)
{
	int dir = open(DOFI_SHM_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC), next;
	bool removed;

	close(STDIN_FILENO); /* the first descriptor is one, too */
	next = next_fd();
	removed = dofi_shm_region_sweep(dir, name);
	ck_assert_int_eq(next_fd(), next);
	close(dir);
	return removed;
}

/* What is no file, is of another user, is not marked, is locked or can't be looked at remains. */
START_TEST(what_is_not_removed)
{
	const char *name = name_of(NOBODYS, geteuid());
	int fd;

	leave_page(01600, geteuid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_SH), 0);
	ck_assert(!is_swept(name));
	was_opened_with_care();
	close(fd);
	fails = FSTAT;
	fd = is_swept(name);
	fails = NONE;
	ck_assert(!fd);
	ck_assert_int_eq(chmod(path, 0777), 0);
	ck_assert(!is_swept(name));
	if (!geteuid()) {
		ck_assert_int_eq(chown(path, NOBODY, (gid_t)-1), 0);
		ck_assert_int_eq(chmod(path, 01600), 0);
		ck_assert(!is_swept(name));
		ck_assert_int_eq(chown(path, 0, (gid_t)-1), 0);
	}
	ck_assert_int_eq(chmod(path, 01600), 0);
	ck_assert(is_left());
	ck_assert_int_eq(dup(STDERR_FILENO), STDIN_FILENO); /* so the directory has another one */
	ck_assert(is_swept(name));
	ck_assert(!is_left());
	ck_assert(!is_swept(name));
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(chmod(path, 01600), 0);
	ck_assert(!is_swept(name));
	ck_assert(is_left());
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_cleanup");
	TCase *tc = tcase_create("shm_cleanup");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, regions_in_use_remain);
	tcase_add_test(tc, regions_of_dead_processes_are_removed);
	tcase_add_test(tc, only_what_is_removed_is_reported);
	tcase_add_test(tc, regions_without_a_mark_remain);
	tcase_add_test(tc, files_with_other_names_remain);
	tcase_add_test(tc, probe_finds_a_directory);
	tcase_add_test(tc, probe_without_a_descriptor);
	tcase_add_test(tc, probe_with_a_low_limit_of_file_sizes);
	tcase_add_test(tc, a_region_that_cannot_be_locked);
	tcase_add_test(tc, looks_at_the_directory);
	tcase_add_test(tc, a_region_that_is_locked);
	tcase_add_test(tc, other_fabrics_remove_nothing);
	tcase_add_test(tc, an_IA_locks_its_own_region);
	tcase_add_test(tc, the_region_of_a_dead_peer_is_removed);
	tcase_add_test(tc, an_IA_that_has_closed_cleans_up_no_more);
	tcase_add_test(tc, regions_that_peers_may_name);
	tcase_add_test(tc, names_outside_the_directory_are_refused);
	tcase_add_test(tc, regions_of_other_users_are_refused);
	tcase_add_test(tc, regions_of_a_user_and_of_root);
	tcase_add_test(tc, only_files_of_the_directory_are_opened);
	tcase_add_test(tc, the_longest_name);
	tcase_add_test(tc, a_held_region_is_marked);
	tcase_add_loop_test(tc, a_region_that_cannot_be_held, 0, FCHMOD + 1);
	tcase_add_test(tc, a_region_in_the_first_descriptor);
	tcase_add_test(tc, what_is_not_removed);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
