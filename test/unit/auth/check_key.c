/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sources of the key: trusted and untrusted files, the home directory, the host. */
#include "../../../prov/ofi/auth/crypto.h"
#include "../../../prov/ofi/auth/key.h"
#include "../../../prov/ofi/auth/key_file.h"
#include "../../lib/t_hooks.h"
#include "../../lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NOBODY   65534u
#define CREATORS 8
#define DIGITS   64 /* of a new key */
#define SECRET   "0123456789abcdef0123456789abcdef"

static char dir[64], file[96];
static int said;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static void teardown(void)
{
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void setup(void)
{
	static const char *const variables[] = {"PALS_APID", "PMIX_NAMESPACE", "SLURM_JOB_ID",
						"PBS_JOBID", "LSB_JOBID",      "FLUX_JOB_ID",
						"JOB_ID"};

	strcpy(dir, "/tmp/check_key.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/k", dir);
	setenv("HOME", dir, 1);
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		unsetenv(variables[i]);
	said = t_capture(STDERR_FILENO);
}

static void assert_said(const char *words)
{
	ck_assert_msg(strstr(t_captured(said), words), "\"%s\" is not in: %s", words,
		      t_captured(said));
}

static void put_file(const char *path, const void *bytes, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static void put_secret(const char *text)
{
	put_file(file, text, strlen(text), 0600);
}

#define FOLDER_SIZE 128

/* Makes the folder of the user's key, and returns its descriptor. */
static int make_folder(char folder[FOLDER_SIZE])
{
	snprintf(folder, FOLDER_SIZE, "%s/.dat-ofi", dir);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	return open(folder, O_RDONLY | O_DIRECTORY);
}

/* --- file systems; the linker redirects these calls --- */

static int write_error, fsync_error, link_error, read_error, close_error, open_error;
static bool random_repeats;         /* the same bytes each time */
static size_t most = SIZE_MAX;      /* bytes that a write takes */
static int interruptions;           /* of reads */
static size_t most_read = SIZE_MAX; /* bytes that a read gives */
static const char *not_opened;      /* beginning of the paths that open refuses */

ssize_t __real_write(int fd, const void *bytes, size_t size);
T_STAND_IN ssize_t __wrap_write(int fd, const void *bytes, size_t size);
int __real_fsync(int fd);
T_STAND_IN int __wrap_fsync(int fd);
ssize_t __real_read(int fd, void *bytes, size_t size);
T_STAND_IN ssize_t __wrap_read(int fd, void *bytes, size_t size);
int __real_close(int fd);
T_STAND_IN int __wrap_close(int fd);
int __real_open(const char *path, int flags, ...);
T_STAND_IN int __wrap_open(const char *path, int flags, ...);
int __real_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
T_STAND_IN int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);

static int inherited; /* reads and writes by descriptors that a new program would have, too */

static void look_at(int fd)
{
	inherited += !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
	look_at(fd);
	if (write_error) {
		errno = write_error;
		return -1;
	}
	return __real_write(fd, bytes, size < most ? size : most);
}

int __wrap_fsync(int fd)
{
	if (fsync_error) {
		errno = fsync_error;
		return -1;
	}
	return __real_fsync(fd);
}

/* The descriptor is closed in any case. */
int __wrap_close(int fd)
{
	int ret = __real_close(fd);

	if (close_error) {
		errno = close_error;
		return -1;
	}
	return ret;
}

int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	if (link_error) {
		errno = link_error;
		return -1;
	}
	return __real_linkat(from_dir, from, to_dir, to, flags);
}

ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
	look_at(fd);
	if (interruptions) {
		interruptions--;
		errno = EINTR;
		return -1;
	}
	if (read_error) {
		errno = read_error;
		return -1;
	}
	return __real_read(fd, bytes, size < most_read ? size : most_read);
}

/* The provider opens folders by it, never creates a file. */
int __wrap_open(const char *path, int flags, ...)
{
	if (!strcmp(path, "/dev/shm") || !strcmp(path, "/tmp"))
		ck_assert_int_eq(flags & (O_DIRECTORY | O_CLOEXEC), O_DIRECTORY | O_CLOEXEC);
	if (not_opened && !strncmp(path, not_opened, strlen(not_opened))) {
		errno = open_error;
		return -1;
	}
	return __real_open(path, flags, 0600);
}

/* --- the user database, and cryptography --- */

static char *home_of_user; /* NULL: the user is not listed */
static int database_error;
static bool has_database;
static int random_fails_at; /* 1: the next time that random bytes are needed; 0: never */
static int steps = -1;      /* keys that can be derived; -1: any number */
static bool no_crypto;

int __real_getpwuid_r(uid_t uid, struct passwd *entry, char *text, size_t size,
		      struct passwd **found);
T_STAND_IN int __wrap_getpwuid_r(uid_t uid, struct passwd *entry, char *text, size_t size,
				 struct passwd **found);
int __real_dofi_random(void *bytes, size_t size);
int __wrap_dofi_random(void *bytes, size_t size);
bool __real_dofi_hkdf(void *out, size_t size, struct dofi_bytes salt, struct dofi_bytes secret,
		      struct dofi_bytes info);
bool __wrap_dofi_hkdf(void *out, size_t size, struct dofi_bytes salt, struct dofi_bytes secret,
		      struct dofi_bytes info);
int __real_dofi_crypto_start(void);
int __wrap_dofi_crypto_start(void);

int __wrap_getpwuid_r(uid_t uid, struct passwd *entry, char *text, size_t size,
		      struct passwd **found)
{
	if (!has_database)
		return __real_getpwuid_r(uid, entry, text, size, found);
	*entry = (struct passwd){.pw_uid = uid, .pw_dir = home_of_user};
	*found = home_of_user ? entry : NULL;
	return database_error;
}

int __wrap_dofi_random(void *bytes, size_t size)
{
	if (random_fails_at && !--random_fails_at)
		return -EPERM;
	if (random_repeats) {
		memset(bytes, 0, size);
		return 0;
	}
	return __real_dofi_random(bytes, size);
}

bool __wrap_dofi_hkdf(void *out, size_t size, struct dofi_bytes salt, struct dofi_bytes secret,
		      struct dofi_bytes info)
{
	if (!steps)
		return false;
	steps -= steps > 0;
	return __real_dofi_hkdf(out, size, salt, secret, info);
}

static int forgotten; /* times that what was computed from keys was wiped */

void __real_dofi_crypto_forget(void);
void __wrap_dofi_crypto_forget(void);

void __wrap_dofi_crypto_forget(void)
{
	forgotten++;
	__real_dofi_crypto_forget();
}

int __wrap_dofi_crypto_start(void)
{
	return no_crypto ? -ENOSYS : __real_dofi_crypto_start();
}

/* --- */

static int load(struct dofi_key *key, const char *auth, const char *path)
{
	return dofi_key_load(key, "ofi-test", auth, path);
}

/* --- files --- */

START_TEST(test_own_file_is_used)
{
	struct dofi_key key;

	put_secret(SECRET);
	ck_assert_int_eq(load(&key, _i ? "key" : "auto", file), 0);
	ck_assert_int_eq(key.source, DOFI_KEY_FILE);
	ck_assert_str_eq(key.path, file);
}
END_TEST

/* Then the key's descriptor is 0. */
START_TEST(test_a_program_without_standard_input_has_a_key)
{
	struct dofi_secret secret;
	int folder = open(dir, O_RDONLY | O_DIRECTORY);

	close(STDIN_FILENO);
	ck_assert_int_eq(dofi_secret_make(folder, "k"), 0);
	ck_assert_int_eq(dofi_secret_read(&secret, folder, "k", file), 0);
	ck_assert_uint_eq(secret.size, DIGITS);
	ck_assert_int_eq(open("/dev/null", O_RDONLY), STDIN_FILENO); /* no descriptor is left */
	close(folder);
}
END_TEST

START_TEST(test_line_ends_are_ignored)
{
	struct dofi_key one, other;

	put_secret(SECRET);
	ck_assert_int_eq(load(&one, "key", file), 0);
	put_secret(SECRET "\r\n");
	ck_assert_int_eq(load(&other, "key", file), 0);
	ck_assert_mem_eq(one.bytes, other.bytes, sizeof(one.bytes));
	put_secret(SECRET "x");
	ck_assert_int_eq(load(&other, "key", file), 0);
	ck_assert_mem_ne(one.bytes, other.bytes, sizeof(one.bytes));
	ck_assert_mem_ne(one.id, other.id, sizeof(one.id));
}
END_TEST

/* A file system may give less than a read asks for. */
START_TEST(test_a_key_that_comes_in_pieces)
{
	struct dofi_key whole, pieces;

	put_secret(SECRET);
	ck_assert_int_eq(load(&whole, "key", file), 0);
	most_read = (size_t)_i;
	ck_assert_int_eq(load(&pieces, "key", file), 0);
	ck_assert_mem_eq(whole.bytes, pieces.bytes, sizeof(whole.bytes));
}
END_TEST

/* The public key id contains no bytes of the file or the key. */
START_TEST(test_the_id_is_no_part_of_the_key)
{
	char text[DOFI_KEY_TEXT];
	struct dofi_key key;

	put_secret(SECRET);
	ck_assert_int_eq(load(&key, "key", file), 0);
	ck_assert_ptr_null(memmem(key.bytes, sizeof(key.bytes), key.id, 4));
	ck_assert_ptr_null(memmem(SECRET, strlen(SECRET), key.id, 4));
	ck_assert_ptr_null(strstr(dofi_key_text(&key, text), SECRET));
	ck_assert_ptr_nonnull(strstr(text, file));
}
END_TEST

START_TEST(test_a_file_that_others_may_read_or_write_is_refused)
{
	static const mode_t modes[] = {0640, 0604, 0620, 0602, 0610, 0660};
	struct dofi_key key;

	put_file(file, SECRET, strlen(SECRET), modes[_i]);
	ck_assert_int_eq(load(&key, "auto", file), -EACCES);
	assert_said("chmod 600");
}
END_TEST

START_TEST(test_a_file_of_another_user_is_refused)
{
	struct dofi_key key;

	if (geteuid())
		t_skip("only root can give a file away");
	put_secret(SECRET);
	ck_assert_int_eq(chown(file, NOBODY, (gid_t)-1), 0);
	ck_assert_int_eq(load(&key, "auto", file), -EACCES);
	assert_said("belongs to user 65534");
}
END_TEST

START_TEST(test_a_symbolic_link_is_refused)
{
	char link[128];
	struct dofi_key key;

	put_secret(SECRET);
	snprintf(link, sizeof(link), "%s/link", dir);
	ck_assert_int_eq(symlink(file, link), 0);
	ck_assert_int_eq(load(&key, "key", link), -EACCES);
	assert_said("is a symbolic link: name the file itself");
}
END_TEST

START_TEST(test_fifo_or_device_is_refused_at_once)
{
	struct dofi_key key;

	ck_assert_int_eq(_i ? mkdir(file, 0700) : mkfifo(file, 0600), 0);
	ck_assert_int_eq(load(&key, "key", file), -EACCES);
	assert_said("is not a file");
}
END_TEST

START_TEST(test_length_of_a_file_is_checked)
{
	static const struct {
		size_t size;
		int ret;
	} cases[] = {{0, -EINVAL},
		     {DOFI_SECRET_MIN - 1, -EINVAL},
		     {DOFI_SECRET_MIN, 0},
		     {DOFI_SECRET_MAX, 0},
		     {DOFI_SECRET_MAX + 1, -EINVAL},
		     {3 * DOFI_SECRET_MAX, -EINVAL}};
	static char bytes[3 * DOFI_SECRET_MAX];
	struct dofi_key key;

	memset(bytes, 'x', sizeof(bytes));
	put_file(file, bytes, cases[_i].size, 0600);
	ck_assert_int_eq(load(&key, "key", file), cases[_i].ret);
	if (cases[_i].ret)
		assert_said("openssl rand");
}
END_TEST

START_TEST(test_line_ends_do_not_make_a_short_key_long)
{
	static char bytes[DOFI_SECRET_MIN + 8];
	struct dofi_key key;

	memset(bytes, '\n', sizeof(bytes));
	put_file(file, bytes, sizeof(bytes), 0600);
	ck_assert_int_eq(load(&key, "key", file), -EINVAL);
}
END_TEST

/* Nothing of it is left in memory. */
START_TEST(test_a_refused_secret_is_wiped)
{
	static const struct dofi_secret none;
	struct dofi_secret secret;

	put_secret("short");
	memset(&secret, 1, sizeof(secret));
	ck_assert_int_eq(dofi_secret_read(&secret, AT_FDCWD, file, file), -EINVAL);
	ck_assert_mem_eq(&secret, &none, sizeof(secret));
}
END_TEST

START_TEST(test_a_path_that_can_not_be_read_is_named)
{
	char below[128];
	struct dofi_key key;

	put_secret(SECRET);
	snprintf(below, sizeof(below), "%s/below", file);
	ck_assert_int_eq(load(&key, "key", below), -ENOTDIR);
	assert_said("can't read the key");
	assert_said(below);
}
END_TEST

START_TEST(test_a_missing_file_is_named_with_the_remedy)
{
	struct dofi_key key;

	ck_assert_int_eq(load(&key, "auto", file), -ENOENT);
	assert_said(file);
	assert_said("umask 077");
	ck_assert_int_eq(load(&key, "key", ""), -ENOENT);
	assert_said("key_file");
}
END_TEST

START_TEST(test_a_path_that_is_too_long_is_refused)
{
	static char path[2 * DOFI_KEY_PATH];
	struct dofi_key key;

	memset(path, '/', sizeof(path) - 1);
	ck_assert_int_eq(load(&key, "key", path), -ENAMETOOLONG);
	ck_assert_str_eq(key.path, "");
	path[DOFI_KEY_PATH] = '\0';
	ck_assert_int_eq(load(&key, "key", path), -ENAMETOOLONG);
	path[DOFI_KEY_PATH - 1] = '\0';
	ck_assert_int_eq(load(&key, "key", path), -EACCES); /* it is a folder */
}
END_TEST

/* A signal interrupts a read, which goes on; an error ends it, and leaves no part of a key. */
START_TEST(test_a_read_that_fails)
{
	static const uint8_t zeros[sizeof(((struct dofi_key *)NULL)->bytes)];
	struct dofi_key key, again;

	put_secret(SECRET);
	ck_assert_int_eq(load(&key, "key", file), 0);
	interruptions = 3;
	ck_assert_int_eq(load(&again, "key", file), 0);
	ck_assert_int_eq(interruptions, 0);
	ck_assert_mem_eq(again.bytes, key.bytes, sizeof(key.bytes));
	read_error = EIO;
	ck_assert_int_eq(load(&again, "key", file), -EIO);
	read_error = 0;
	assert_said("Input/output error");
	ck_assert_mem_eq(again.bytes, zeros, sizeof(zeros));
}
END_TEST

START_TEST(test_a_library_that_refuses_gives_no_key)
{
	static const struct dofi_key none;
	struct dofi_key key;

	put_secret(SECRET);
	no_crypto = _i == 0;
	steps = _i - 1;
	ck_assert_int_eq(load(&key, "key", file), -ENOSYS);
	ck_assert_mem_eq(key.bytes, none.bytes, sizeof(none.bytes));
	if (no_crypto)
		assert_said("does a policy of this host forbid it?");
}
END_TEST

/* --- the home directory --- */

static void user_file(char path[128])
{
	snprintf(path, 128, "%s/.dat-ofi/key", dir);
}

START_TEST(test_the_first_use_makes_a_file_in_the_home)
{
	char path[128], text[256] = "";
	struct dofi_key first, second;
	struct stat st;
	int fd;

	umask(_i ? 0777 : 0); /* whatever the umask */
	ck_assert_int_eq(load(&first, "auto", ""), 0);
	umask(022);
	user_file(path);
	ck_assert_int_eq(first.source, DOFI_KEY_USER);
	ck_assert_str_eq(first.path, path);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_uint_eq(st.st_nlink, 1);
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, _i ? 0 : 0700);
	user_file(path);
	fd = open(path, O_RDONLY);
	ck_assert_int_eq(read(fd, text, sizeof(text)), DIGITS + 1);
	close(fd);
	ck_assert_uint_eq(strspn(text, "0123456789abcdef"), DIGITS);
	ck_assert_int_eq(text[DIGITS], '\n');
	ck_assert_int_eq(load(&second, "user", ""), 0);
	ck_assert_mem_eq(first.bytes, second.bytes, sizeof(first.bytes));
}
END_TEST

/* As with sudo, which may leave HOME as it is. */
START_TEST(test_a_home_of_another_user_is_not_used)
{
	struct dofi_key key;
	char path[128];

	setenv("HOME", "/proc/self/fdinfo/missing", 1);
	has_database = true;
	home_of_user = dir;
	user_file(path);
	ck_assert_int_eq(load(&key, "user", ""), 0);
	ck_assert_str_eq(key.path, path);
	database_error = EIO;
	ck_assert_int_eq(load(&key, "user", ""), -ENOENT);
	database_error = 0;
	home_of_user = NULL;
	ck_assert_int_eq(load(&key, "user", ""), -ENOENT);
}
END_TEST

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* No place is a home but a folder of the user with an absolute path; and no descriptor is left. */
START_TEST(test_what_is_no_home)
{
	char other[128], none[128];
	const char *const homes[] = {"", ".", file, none, other};
	struct dofi_key key;
	int before;

	put_secret(SECRET);
	snprintf(none, sizeof(none), "%s/none", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	ck_assert_int_eq(mkdir(other, 0777), 0);
	ck_assert_int_eq(chdir(dir), 0);
	if (geteuid())
		strcpy(other, "/proc/1");
	else
		ck_assert_int_eq(chown(other, NOBODY, NOBODY), 0);
	before = open_files();
	has_database = true;
	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
		setenv("HOME", homes[i], 1);
		home_of_user = (char *)(uintptr_t)homes[i];
		ck_assert_msg(load(&key, "user", "") == -ENOENT, "%s", homes[i]);
		home_of_user = dir;
		ck_assert_msg(!load(&key, "user", ""), "%s", homes[i]);
		ck_assert_int_eq(strncmp(key.path, dir, strlen(dir)), 0);
	}
	ck_assert_int_eq(open_files(), before);
}
END_TEST

/* The array of the library has a limit, and no other folder is used instead. */
START_TEST(test_a_home_with_a_long_path)
{
	enum { LIMIT = 384 };
	char home[LIMIT + 1];
	struct dofi_key key;
	size_t begin;

	begin = (size_t)snprintf(home, sizeof(home), "%s/%0150d", dir, 0);
	ck_assert_int_eq(mkdir(home, 0700), 0);
	home[begin++] = '/';
	for (size_t size = LIMIT - 1; size <= LIMIT; size++) {
		memset(home + begin, 'x', size - begin);
		home[size] = '\0';
		ck_assert_int_eq(mkdir(home, 0700), 0);
		setenv("HOME", home, 1);
		ck_assert_int_eq(load(&key, "user", ""), size < LIMIT ? 0 : -ENOENT);
	}
}
END_TEST

/* Then the folder's descriptor is 0. Whatever happens, it is closed again. */
START_TEST(test_folders_of_a_program_without_standard_input)
{
	char folder[FOLDER_SIZE];
	struct dofi_key key;
	int before = open_files() - 1;

	close(STDIN_FILENO);
	ck_assert_int_eq(load(&key, "user", ""), 0);
	ck_assert_int_eq(open_files(), before);
	snprintf(folder, sizeof(folder), "%s/.dat-ofi", dir);
	ck_assert_int_eq(chmod(folder, 0770), 0);
	ck_assert_int_eq(load(&key, "user", ""), -EACCES);
	ck_assert_int_eq(open_files(), before);
	has_database = true;
	setenv("HOME", "/nonexistent", 1);
	not_opened = "/dev/shm";
	open_error = EACCES;
	ck_assert_int_eq(load(&key, "auto", ""), 0);
	ck_assert_int_eq(key.source, DOFI_KEY_HOST);
	unlink(key.path);
	ck_assert_int_eq(open_files(), before);
}
END_TEST

START_TEST(test_a_home_without_room_for_the_folder)
{
	struct dofi_key key;

	if (geteuid())
		t_skip("/proc is the home of root alone");
	setenv("HOME", "/proc", 1);
	ck_assert_int_eq(load(&key, "user", ""), -ENOENT);
	ck_assert_int_ge(fcntl(STDIN_FILENO, F_GETFD), 0);
}
END_TEST

static const int lacks[] = {EMFILE, ENFILE, ENOMEM};

/*
 * A process without descriptors or memory cannot see whether its user has a key. It takes no other
 * one, which its peers would not have. The folder is not to blame.
 */
START_TEST(test_a_folder_that_can_not_be_opened)
{
	struct dofi_key key;

	not_opened = dir;
	open_error = lacks[_i];
	ck_assert_int_eq(load(&key, "user", ""), -lacks[_i]);
	ck_assert_int_eq(load(&key, "auto", ""), -lacks[_i]);
	assert_said(strerror(lacks[_i]));
	open_error = EIO;
	ck_assert_int_eq(load(&key, "user", ""), -ENOENT);
	not_opened = NULL;
	ck_assert_ptr_null(strstr(t_captured(said), "chmod 700"));
	ck_assert_int_ge(fcntl(STDIN_FILENO, F_GETFD), 0);
}
END_TEST

START_TEST(test_a_lack_of_resources_makes_no_key)
{
	struct dofi_key key;

	link_error = lacks[_i];
	ck_assert_int_eq(load(&key, "auto", ""), -lacks[_i]);
	assert_said(strerror(lacks[_i]));
	link_error = 0;
	setenv("HOME", "/nonexistent", 1);
	has_database = true;
	open_error = lacks[_i];
	not_opened = "/";
	ck_assert_int_eq(load(&key, "auto", ""), -lacks[_i]);
	/* Only the second folder is there, with or without a key of an earlier program. */
	open_error = EACCES;
	not_opened = "/dev/shm";
	link_error = read_error = lacks[_i];
	ck_assert_int_eq(load(&key, "auto", ""), -lacks[_i]);
	link_error = read_error = 0;
	not_opened = "/tmp"; /* which is not asked if the first folder takes the key */
	ck_assert_int_eq(load(&key, "auto", ""), 0);
	ck_assert_int_eq(key.source, DOFI_KEY_HOST);
	unlink(key.path);
}
END_TEST

START_TEST(test_a_key_that_can_not_be_read_is_not_replaced)
{
	struct dofi_key key;

	ck_assert_int_eq(load(&key, "auto", ""), 0);
	ck_assert_int_eq(key.source, DOFI_KEY_USER);
	read_error = EIO;
	ck_assert_int_eq(load(&key, "auto", ""), -EIO);
	read_error = 0;
	assert_said("Input/output error");
}
END_TEST

START_TEST(test_a_folder_that_others_may_write_to_is_refused)
{
	char folder[FOLDER_SIZE];
	struct dofi_key key;

	snprintf(folder, sizeof(folder), "%s/.dat-ofi", dir);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	ck_assert_int_eq(chmod(folder, 0770), 0);
	ck_assert_int_eq(load(&key, "auto", ""), -EACCES);
	assert_said("chmod 700");
}
END_TEST

START_TEST(test_a_folder_that_is_a_link_is_refused)
{
	char folder[FOLDER_SIZE], real[128];
	struct dofi_key key;

	snprintf(folder, sizeof(folder), "%s/.dat-ofi", dir);
	snprintf(real, sizeof(real), "%s/real", dir);
	ck_assert_int_eq(mkdir(real, 0700), 0);
	ck_assert_int_eq(symlink(real, folder), 0);
	ck_assert_int_eq(load(&key, "auto", ""), -EACCES);
}
END_TEST

/*
 * A bad file is an error: if it were skipped, peers would have another key for no visible reason.
 */
START_TEST(test_a_bad_file_in_the_home_is_an_error)
{
	struct dofi_key key;
	char path[128];

	ck_assert_int_eq(load(&key, "auto", ""), 0);
	user_file(path);
	ck_assert_int_eq(chmod(path, 0644), 0);
	ck_assert_int_eq(load(&key, "auto", ""), -EACCES);
	put_file(path, "short", 5, 0600);
	ck_assert_int_eq(load(&key, "auto", ""), -EINVAL);
}
END_TEST

/* Several processes use the library for the first time at the same time. */
START_TEST(test_processes_that_create_a_key_at_once_agree)
{
	uint8_t first[DOFI_KEY_SIZE], other[DOFI_KEY_SIZE];
	struct dofi_key key;
	int start[2], keys[2], status;
	char byte;

	ck_assert_int_eq(pipe(start), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, keys), 0);
	for (int i = 0; i < CREATORS; i++) {
		if (fork())
			continue;
		close(start[1]);
		status = read(start[0], &byte, 1) || load(&key, "user", "") ||
			 write(keys[1], key.bytes, sizeof(key.bytes)) != sizeof(key.bytes);
		_exit(status);
	}
	close(start[1]); /* starts all processes */
	for (int i = 0; i < CREATORS; i++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_int_eq(read(keys[0], first, sizeof(first)), sizeof(first));
	for (int i = 1; i < CREATORS; i++) {
		ck_assert_int_eq(read(keys[0], other, sizeof(other)), sizeof(other));
		ck_assert_mem_eq(first, other, sizeof(first));
	}
}
END_TEST

START_TEST(test_creating_a_key_leaves_no_temporary_file)
{
	struct dofi_key key;
	char folder[FOLDER_SIZE];
	int fd;

	ck_assert_int_eq(load(&key, "user", ""), 0);
	snprintf(folder, sizeof(folder), "%s/.dat-ofi", dir);
	fd = open(folder, O_RDONLY | O_DIRECTORY);
	/* A second key, whose name is in use. An older error is not reported. */
	errno = EIO;
	ck_assert_int_eq(dofi_secret_make(fd, "key"), 0);
	close(fd);
	ck_assert_int_eq(remove(key.path), 0);
	ck_assert_msg(!rmdir(folder), "something is left in %s", folder);
}
END_TEST

/* A full disk, and errors that show only when the file reaches the disk or a server. */
START_TEST(test_a_key_that_can_not_be_stored_leaves_no_file)
{
	static const int errors[] = {EIO, ENOSPC, EDQUOT, ENOSPC, EIO};
	char folder[FOLDER_SIZE];
	struct dofi_key key;
	int fd, ret;

	fd = make_folder(folder);
	write_error = _i == 0 ? EIO : 0;
	most = _i == 1 ? 10 : SIZE_MAX;
	fsync_error = _i == 2 ? EDQUOT : 0;
	link_error = _i == 3 ? ENOSPC : 0;
	close_error = _i == 4 ? EIO : 0;
	ret = dofi_secret_make(fd, "key");
	ck_assert_int_eq(ret, -errors[_i]);
	ck_assert_int_eq(load(&key, "user", ""), -ENOENT);
	write_error = fsync_error = link_error = close_error = 0;
	most = SIZE_MAX;
	close(fd);
	ck_assert_msg(!rmdir(folder), "something is left in %s", folder);
}
END_TEST

START_TEST(test_without_random_bytes_there_is_no_new_key)
{
	char folder[FOLDER_SIZE];
	int fd;

	fd = make_folder(folder);
	random_fails_at = _i;
	ck_assert_int_eq(dofi_secret_make(fd, "key"), -EPERM);
	ck_assert_int_eq(random_fails_at, 0);
	close(fd);
	ck_assert_msg(!rmdir(folder), "something is left in %s", folder);
}
END_TEST

START_TEST(test_a_folder_that_is_gone_gets_no_key)
{
	char folder[FOLDER_SIZE];
	int fd;

	fd = make_folder(folder);
	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_eq(dofi_secret_make(fd, "key"), -ENOENT);
	close(fd);
}
END_TEST

/* Without hard links the file is renamed, and an existing key still wins. */
START_TEST(test_a_file_system_without_hard_links)
{
	static const int errors[] = {EPERM, EOPNOTSUPP, ENOSYS, EMLINK};
	struct dofi_key first, second;
	char folder[FOLDER_SIZE];
	int fd;

	link_error = errors[_i];
	ck_assert_int_eq(load(&first, "user", ""), 0);
	snprintf(folder, sizeof(folder), "%s/.dat-ofi", dir);
	fd = open(folder, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(dofi_secret_make(fd, "key"), 0);
	close(fd);
	ck_assert_int_eq(load(&second, "user", ""), 0);
	ck_assert_mem_eq(first.bytes, second.bytes, sizeof(first.bytes));
	ck_assert_int_eq(remove(first.path), 0);
	ck_assert_msg(!rmdir(folder), "something is left in %s", folder);
}
END_TEST

START_TEST(test_a_file_in_place_of_the_folder_is_refused)
{
	char folder[FOLDER_SIZE];
	struct dofi_key key;

	snprintf(folder, sizeof(folder), "%s/.dat-ofi", dir);
	put_file(folder, "", 0, 0600);
	ck_assert_int_eq(load(&key, "auto", ""), -EACCES);
	assert_said("chmod 700");
}
END_TEST

START_TEST(test_without_a_writable_home_the_key_is_that_of_the_host)
{
	struct dofi_key key, again;
	char path[64];

	/* root can write to every folder. */
	ck_assert_int_eq(geteuid() ? chmod(dir, 0500) : seteuid(NOBODY), 0);
	ck_assert_int_eq(load(&key, "auto", ""), 0);
	ck_assert_int_eq(load(&again, "auto", ""), 0);
	ck_assert_int_eq(key.source, DOFI_KEY_HOST);
	snprintf(path, sizeof(path), "/dev/shm/dat-ofi-key-%u", (unsigned int)geteuid());
	ck_assert_str_eq(key.path, path);
	ck_assert_mem_eq(key.bytes, again.bytes, sizeof(key.bytes));
	ck_assert_int_eq(load(&key, "user", ""), -ENOENT);
	assert_said("auth=user needs a home directory");
	unlink(again.path);
	ck_assert_int_eq(seteuid(getuid()), 0);
	chmod(dir, 0700);
}
END_TEST

/* Two folders can have the key of the host. Without them only this process has a key. */
START_TEST(test_without_a_folder_the_key_is_that_of_the_process)
{
	struct dofi_key key, other;
	char text[DOFI_KEY_TEXT];

	setenv("HOME", "/proc/self/fdinfo/missing", 1);
	has_database = true;
	not_opened = "/dev/shm";
	open_error = EACCES;
	ck_assert_int_eq(load(&key, "auto", ""), 0);
	ck_assert_int_eq(key.source, DOFI_KEY_HOST);
	ck_assert_int_eq(strncmp(key.path, "/tmp/", 5), 0);
	unlink(key.path);
	link_error = EIO; /* the file has a name, and can't be made */
	ck_assert_int_eq(load(&key, "auto", ""), 0);
	link_error = 0;
	ck_assert_int_eq(key.source, DOFI_KEY_PROCESS);
	ck_assert_ptr_null(strstr(dofi_key_text(&key, text), " of "));
	not_opened = "/";
	ck_assert_int_eq(load(&key, "auto", ""), 0);
	ck_assert_int_eq(load(&other, "auto", ""), 0);
	not_opened = NULL;
	ck_assert_int_eq(key.source, DOFI_KEY_PROCESS);
	ck_assert_mem_ne(key.bytes, other.bytes, sizeof(key.bytes));
	assert_said("all other processes are refused");
	ck_assert_ptr_null(strstr(dofi_key_text(&key, text), " of "));
}
END_TEST

/* --- the job, and parameters --- */

START_TEST(test_a_key_of_a_job_is_for_that_job)
{
	struct dofi_key user, one, two, again;

	ck_assert_int_eq(load(&one, "job", ""), -ENOENT);
	assert_said("auth=job needs a job");
	ck_assert_int_eq(load(&user, "auto", ""), 0);
	setenv("SLURM_JOB_ID", "17", 1);
	ck_assert_int_eq(load(&one, "job", ""), 0);
	ck_assert_int_eq(load(&again, "job", ""), 0);
	setenv("SLURM_JOB_ID", "18", 1);
	ck_assert_int_eq(load(&two, "job", ""), 0);
	ck_assert_mem_eq(one.bytes, again.bytes, sizeof(one.bytes));
	ck_assert_mem_ne(one.bytes, two.bytes, sizeof(one.bytes));
	ck_assert_mem_ne(one.bytes, user.bytes, sizeof(one.bytes));
	/* By default the identity is that of the user: programs of two jobs may connect. */
	ck_assert_int_eq(load(&again, "auto", ""), 0);
	ck_assert_mem_eq(again.bytes, user.bytes, sizeof(user.bytes));
}
END_TEST

START_TEST(test_the_text_names_the_job)
{
	static char name[sizeof(((struct dofi_key *)NULL)->job)];
	char text[DOFI_KEY_TEXT];
	struct dofi_key key;

	memset(name, 'x', sizeof(name) - 1);
	setenv("PALS_APID", name, 1); /* it does not fit, so the next one counts */
	setenv("SLURM_JOB_ID", "17", 1);
	ck_assert_int_eq(load(&key, "job", ""), 0);
	ck_assert_ptr_nonnull(strstr(dofi_key_text(&key, text), " for SLURM_JOB_ID=17"));
}
END_TEST

START_TEST(test_unknown_words_are_refused)
{
	struct dofi_key key;

	ck_assert_int_eq(load(&key, "kerberos", ""), -EINVAL);
	assert_said("auth=kerberos is not known");
	ck_assert_int_eq(load(&key, "munge", ""), -EINVAL);
	assert_said("no support for munge");
}
END_TEST

START_TEST(test_no_authentication_is_logged)
{
	static const uint8_t zeros[DOFI_KEY_ID_SIZE];
	char text[DOFI_KEY_ID_TEXT], whole[DOFI_KEY_TEXT];
	struct dofi_key key;

	ck_assert_int_eq(load(&key, "none", ""), 0);
	ck_assert_int_eq(key.source, DOFI_KEY_NONE);
	ck_assert_mem_eq(key.id, zeros, sizeof(zeros));
	ck_assert_str_eq(dofi_key_id_text(key.id, text), "none");
	ck_assert_str_eq(dofi_key_text(&key, whole), "no key");
	assert_said("every process that reaches this one may connect");
}
END_TEST

/* Another process may have put a file or a link where the new key is to be written. */
START_TEST(test_a_new_key_is_written_to_no_other_file)
{
	static const char draft[] = ".dat-ofi-0000000000000000";
	int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	put_file(file, "", 0, 0600);
	ck_assert_int_eq(_i ? linkat(folder, "k", folder, draft, 0) : symlinkat("k", folder, draft),
			 0);
	random_repeats = true;
	ck_assert_int_eq(dofi_secret_make(folder, "new"), -EEXIST);
	random_repeats = false;
	ck_assert_int_eq(fstatat(folder, "k", &st, 0), 0);
	ck_assert_int_eq(st.st_size, 0);
	ck_assert_int_ne(fstatat(folder, "new", &st, AT_SYMLINK_NOFOLLOW), 0);
	close(folder);
}
END_TEST

/* 0: the process got no controlling terminal; 77: there are no terminals here. */
static int load_terminal(void)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	struct dofi_secret secret;
	const char *name;

	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal) || !(name = ptsname(terminal)))
		return 77;
	if (setsid() < 0 || dofi_secret_read(&secret, AT_FDCWD, name, name) != -EACCES)
		return 1;
	return open("/dev/tty", O_RDWR | O_NOCTTY) >= 0;
}

/* The end of a controlling terminal would end the process. */
START_TEST(test_a_terminal_that_is_refused_does_not_control_the_process)
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (!pid)
		_exit(load_terminal());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
}
END_TEST

/* 32 random bytes in digits, and a line feed. */
START_TEST(test_the_content_of_a_new_key)
{
	int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	char text[2][128];

	for (int i = 0; i < 2; i++) {
		char name[] = {'n', (char)('0' + i), '\0'};

		memset(text[i], 0, sizeof(text[i]));
		ck_assert_int_eq(dofi_secret_make(folder, name), 0);
		fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
		ck_assert_int_eq(read(fd, text[i], sizeof(text[i])), 65);
		close(fd);
		ck_assert_uint_eq(strspn(text[i], "0123456789abcdef"), 64);
		ck_assert_str_eq(text[i] + 64, "\n");
	}
	for (int i = 0; i < 64; i += 8)
		ck_assert_int_ne(strncmp(text[0] + i, text[1] + i, 8), 0);
	close(folder);
}
END_TEST

/* A program that this process starts by a call of exec has no descriptor of a key. */
START_TEST(test_no_other_program_gets_a_descriptor_of_a_key)
{
	struct dofi_key key;

	inherited = 0;
	setenv("HOME", dir, 1);
	for (int i = 0; i < 2; i++) /* the first call writes the key */
		ck_assert_int_eq(load(&key, "user", ""), 0);
	ck_assert_int_eq(inherited, 0);
}
END_TEST

START_TEST(test_a_key_that_is_wiped_leaves_nothing)
{
	static const struct dofi_key none;
	struct dofi_key key;

	put_secret("0123456789abcdef0123456789abcdef");
	ck_assert_int_eq(load(&key, "key", file), 0);
	ck_assert_int_eq(forgotten, 0);
	dofi_key_wipe(&key);
	ck_assert_mem_eq(&key, &none, sizeof(key));
	ck_assert_int_eq(forgotten, 1);
}
END_TEST

START_TEST(test_the_text_of_an_id)
{
	uint8_t id[DOFI_KEY_ID_SIZE] = {0x01, 0x2a, 0xb3, 0xff, 0x55};
	char text[DOFI_KEY_ID_TEXT];

	ck_assert_str_eq(dofi_key_id_text(id, text), "012ab3ff");
	memset(id, 0, sizeof(id));
	ck_assert_str_eq(dofi_key_id_text(id, text), "none");
	id[sizeof(id) - 1] = 1;
	ck_assert_str_eq(dofi_key_id_text(id, text), "00000000");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("key");
	TCase *tcase = tcase_create("key");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, test_own_file_is_used, 0, 2);
	tcase_add_test(tcase, test_a_program_without_standard_input_has_a_key);
	tcase_add_test(tcase, test_line_ends_are_ignored);
	tcase_add_loop_test(tcase, test_a_key_that_comes_in_pieces, 1, 4);
	tcase_add_test(tcase, test_the_id_is_no_part_of_the_key);
	tcase_add_loop_test(tcase, test_a_file_that_others_may_read_or_write_is_refused, 0, 6);
	tcase_add_test(tcase, test_a_file_of_another_user_is_refused);
	tcase_add_test(tcase, test_a_symbolic_link_is_refused);
	tcase_add_loop_test(tcase, test_fifo_or_device_is_refused_at_once, 0, 2);
	tcase_add_loop_test(tcase, test_length_of_a_file_is_checked, 0, 6);
	tcase_add_test(tcase, test_line_ends_do_not_make_a_short_key_long);
	tcase_add_test(tcase, test_a_refused_secret_is_wiped);
	tcase_add_test(tcase, test_a_path_that_can_not_be_read_is_named);
	tcase_add_test(tcase, test_a_missing_file_is_named_with_the_remedy);
	tcase_add_test(tcase, test_a_path_that_is_too_long_is_refused);
	tcase_add_test(tcase, test_a_read_that_fails);
	tcase_add_loop_test(tcase, test_a_library_that_refuses_gives_no_key, 0, 3);
	tcase_add_loop_test(tcase, test_the_first_use_makes_a_file_in_the_home, 0, 2);
	tcase_add_test(tcase, test_a_home_of_another_user_is_not_used);
	tcase_add_test(tcase, test_what_is_no_home);
	tcase_add_test(tcase, test_a_home_with_a_long_path);
	tcase_add_test(tcase, test_folders_of_a_program_without_standard_input);
	tcase_add_test(tcase, test_a_home_without_room_for_the_folder);
	tcase_add_loop_test(tcase, test_a_folder_that_can_not_be_opened, 0, 3);
	tcase_add_loop_test(tcase, test_a_lack_of_resources_makes_no_key, 0, 3);
	tcase_add_test(tcase, test_a_key_that_can_not_be_read_is_not_replaced);
	tcase_add_test(tcase, test_a_folder_that_others_may_write_to_is_refused);
	tcase_add_test(tcase, test_a_folder_that_is_a_link_is_refused);
	tcase_add_test(tcase, test_a_bad_file_in_the_home_is_an_error);
	tcase_add_test(tcase, test_processes_that_create_a_key_at_once_agree);
	tcase_add_test(tcase, test_creating_a_key_leaves_no_temporary_file);
	tcase_add_loop_test(tcase, test_a_key_that_can_not_be_stored_leaves_no_file, 0, 5);
	tcase_add_loop_test(tcase, test_without_random_bytes_there_is_no_new_key, 1, 3);
	tcase_add_test(tcase, test_a_folder_that_is_gone_gets_no_key);
	tcase_add_loop_test(tcase, test_a_file_system_without_hard_links, 0, 4);
	tcase_add_test(tcase, test_a_file_in_place_of_the_folder_is_refused);
	tcase_add_test(tcase, test_without_a_writable_home_the_key_is_that_of_the_host);
	tcase_add_test(tcase, test_without_a_folder_the_key_is_that_of_the_process);
	tcase_add_test(tcase, test_a_key_of_a_job_is_for_that_job);
	tcase_add_test(tcase, test_the_text_names_the_job);
	tcase_add_test(tcase, test_unknown_words_are_refused);
	tcase_add_test(tcase, test_no_authentication_is_logged);
	tcase_add_loop_test(tcase, test_a_new_key_is_written_to_no_other_file, 0, 2);
	tcase_add_test(tcase, test_a_terminal_that_is_refused_does_not_control_the_process);
	tcase_add_test(tcase, test_the_content_of_a_new_key);
	tcase_add_test(tcase, test_no_other_program_gets_a_descriptor_of_a_key);
	tcase_add_test(tcase, test_a_key_that_is_wiped_leaves_nothing);
	tcase_add_test(tcase, test_the_text_of_an_id);
	suite_add_tcase(suite, tcase);
	return t_run(suite);
}
