/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of regions in /dev/shm that are unique, and what they tell about PID namespaces. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/object/ia_parts.h"
#include "../../../prov/ofi/transport/shm_name.h"

#include <errno.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <unistd.h>

/* --- the endpoint --- */

static char name[DOFI_FABRIC_NAME_MAX + 1];
static int get_fails, set_fails;
static unsigned int nset;

static int get_name(fid_t fid, void *to, size_t *size_p)
{
	size_t size = strlen(name) + 1;

	(void)fid;
	if (get_fails)
		return get_fails;
	if (size > *size_p)
		return -FI_ETOOSMALL;
	memcpy(to, name, size);
	*size_p = size;
	return 0;
}

static int set_name(fid_t fid, void *from, size_t size)
{
	(void)fid;
	ck_assert_uint_eq(strlen(from) + 1, size);
	ck_assert_uint_le(size, DOFI_FABRIC_NAME_MAX);
	strcpy(name, from);
	nset++;
	return set_fails;
}

static struct fi_ops_cm cm_ops = {.size = sizeof(cm_ops), .getname = get_name, .setname = set_name};
static struct fid_ep endpoint = {.cm = &cm_ops};

/* --- the kernel --- */

static const char *pid_namespace;
static int random_fails;

T_STAND_IN ssize_t __wrap_readlink(const char *path, char *to, size_t size);
ssize_t __real_readlink(const char *path, char *to, size_t size);
int __wrap_dofi_random(void *bytes, size_t size);

ssize_t __wrap_readlink(const char *path, char *to, size_t size)
{
	if (strcmp(path, "/proc/self/ns/pid"))
		return __real_readlink(path, to, size);
	if (!pid_namespace) {
		errno = ENOENT;
		return -1;
	}
	ck_assert_uint_ge(size, strlen(pid_namespace));
	memcpy(to, pid_namespace, strlen(pid_namespace)); /* not terminated */
	return (ssize_t)strlen(pid_namespace);
}

int __wrap_dofi_random(void *bytes, size_t size)
{
	ck_assert_uint_eq(size, sizeof(uint64_t));
	memset(bytes, 0xff, size);
	return random_fails;
}

static void setup(void)
{
	strcpy(name, "fi_shm://12:34:0");
	pid_namespace = "pid:[4026531836]";
}

/* --- */

#define RANDOM "18446744073709551615"

START_TEST(the_name_of_an_endpoint_gets_two_parts)
{
	ck_assert_int_eq(dofi_shm_name_set(&endpoint), 0);
	ck_assert_uint_eq(nset, 1);
	ck_assert_str_eq(name, "fi_shm://12:34:0:4026531836:" RANDOM);
}
END_TEST

/* Without /proc, or with one that is not of Linux, the name is unique all the same. */
START_TEST(the_namespace_is_not_known)
{
	static const char *const unknown[] = {NULL, "", "pid:", "mnt:[3]"};

	pid_namespace = unknown[_i];
	ck_assert_int_eq(dofi_shm_name_set(&endpoint), 0);
	ck_assert_str_eq(name, "fi_shm://12:34:0:0:" RANDOM);
}
END_TEST

START_TEST(endpoints_of_other_fabrics_keep_their_names)
{
	strcpy(name, "fi_sockaddr_in://127.0.0.1:1");
	ck_assert_int_eq(dofi_shm_name_set(&endpoint), 0);
	strcpy(name, "");
	ck_assert_int_eq(dofi_shm_name_set(&endpoint), 0);
	strcpy(name, "fi_shm://1:0:0");
	get_fails = -FI_EOPBADSTATE;
	ck_assert_int_eq(dofi_shm_name_set(&endpoint), 0);
	ck_assert_uint_eq(nset, 0);
}
END_TEST

START_TEST(what_fails_is_reported)
{
	random_fails = -EIO;
	ck_assert_int_eq(dofi_shm_name_set(&endpoint), -EIO);
	random_fails = 0;
	ck_assert_uint_eq(nset, 0);
	set_fails = -FI_EBUSY;
	ck_assert_int_eq(dofi_shm_name_set(&endpoint), -FI_EBUSY);
	ck_assert_uint_eq(nset, 1);
}
END_TEST

/* The longest name that fits, one more byte, and no room at all. */
START_TEST(a_long_name)
{
	const size_t added = strlen(":4026531836:" RANDOM), mores[] = {0, 1, added};

	for (int i = 0; i < 3; i++) {
		const size_t more = mores[i], size = DOFI_FABRIC_NAME_MAX - 1 - added + more;

		memset(name, '7', size);
		memcpy(name, "fi_shm://", strlen("fi_shm://"));
		name[size] = '\0';
		ck_assert_int_eq(dofi_shm_name_set(&endpoint), more ? -FI_ETOOSMALL : 0);
		ck_assert_uint_eq(nset, 1);
		ck_assert_uint_eq(strlen(name), more ? size : DOFI_FABRIC_NAME_MAX - 1);
	}
}
END_TEST

static const struct {
	const char *own, *peer;
	bool near;
} pairs[] = {
	{"fi_shm://1:0:0:5:9", "fi_shm://2:0:0:5:8", true},
	{"fi_shm://1:0:0:5:9", "fi_shm://1:0:0:6:9", false},
	{"fi_shm://1:0:0:5:9", "fi_shm:///1:0:0:50:9", false},
	{"fi_shm:///1:0:0:5:9", "fi_shm:///1:0:0:5:9", true},
	{"fi_shm://1:0:0:5:9", "fi_shm://1:0:0:5", true},
	/* unknown on one side */
	{"fi_shm://1:0:0:0:9", "fi_shm://1:0:0:6:9", true},
	{"fi_shm://1:0:0:5:9", "fi_shm://1:0:0:0:9", true},
	{"fi_shm://1:0:0:5:9", "fi_shm://1:0:0", true},
	{"fi_shm://1:0:0", "fi_shm://1:0:0:6:9", true},
	/* what others may name */
	{"fi_shm://1:0:0:5:9", "fi_shm://", true},
	{"fi_shm://1:0:0:5:9", "fi_shm://:::", true},
	{"fi_shm://1:0:0:5:9", "fi_shm://:::6", false},
	{"fi_shm://1:0:0:5:9", "fi_shm://a", true},
	{"fi_shm://1:0:0:5:9", "fi_shm://1:0:0:5a:9", true},
};

START_TEST(names_tell_the_namespace)
{
	ck_assert_int_eq(dofi_shm_name_is_near(pairs[_i].own, pairs[_i].peer), pairs[_i].near);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_name");
	TCase *tc = tcase_create("shm_name");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, the_name_of_an_endpoint_gets_two_parts);
	tcase_add_loop_test(tc, the_namespace_is_not_known, 0, 4);
	tcase_add_test(tc, endpoints_of_other_fabrics_keep_their_names);
	tcase_add_test(tc, what_fails_is_reported);
	tcase_add_test(tc, a_long_name);
	tcase_add_loop_test(tc, names_tell_the_namespace, 0, sizeof(pairs) / sizeof(pairs[0]));
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
