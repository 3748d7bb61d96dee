/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of shm endpoints that get a slash, and the fault of libfabric that requires it. */
#include "unit.h"

#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/fabric/same_process.h"

#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <string.h>

#define ROOM 32

static const uint8_t own[ROOM] = "fi_shm://12:0:0";

static struct {
	uint8_t name[ROOM];
	size_t size;
} it;

static void call_it(const char *name)
{
	memset(it.name, 0, sizeof(it.name));
	it.size = strlen(name) + 1;
	memcpy(it.name, name, it.size);
}

static void expect(const char *name)
{
	ck_assert_str_eq((char *)it.name, name);
	ck_assert_uint_eq(it.size, strlen(name) + 1);
}

static const struct {
	uint64_t quirks;
	bool hides, avoids;
} faults[] = {{0, false, false},
	      {DOFI_QUIRK_OWN_PROCESS, true, false},
	      {DOFI_QUIRK_OWN_PROCESS_CLOSED, false, true}};

START_TEST(name_gets_a_slash_with_the_quirk)
{
	call_it("fi_shm://12:0:1");
	ck_assert_int_eq(dofi_same_process_hide(faults[_i].quirks, it.name, &it.size, ROOM), 0);
	expect(faults[_i].hides ? "fi_shm:///12:0:1" : "fi_shm://12:0:1");
	call_it("fi_shm://12:0:1");
	ck_assert_int_eq(dofi_same_process_avoid(faults[_i].quirks, it.name, &it.size, ROOM, own),
			 0);
	expect(faults[_i].avoids ? "fi_shm:///12:0:1" : "fi_shm://12:0:1");
}
END_TEST

static const char *const strangers[] = {
	"fi_shm://13:0:1",
	"fi_shm://123:0:1",
	"fi_shm://1:0:1",
	"fi_shm://12",
	"fi_shm://",
	"12:0:1",
	"",
};

/* A name of another process's endpoint does not change. */
START_TEST(names_of_other_processes_remain)
{
	call_it(strangers[_i]);
	ck_assert_int_eq(dofi_same_process_avoid(DOFI_QUIRK_OWN_PROCESS_CLOSED, it.name, &it.size,
						 ROOM, own),
			 0);
	expect(strangers[_i]);
}
END_TEST

START_TEST(own_name_remains)
{
	call_it("fi_shm://12:0:0");
	ck_assert_int_eq(dofi_same_process_avoid(DOFI_QUIRK_OWN_PROCESS_CLOSED, it.name, &it.size,
						 ROOM, own),
			 0);
	expect("fi_shm://12:0:0");
}
END_TEST

START_TEST(names_of_other_fabrics_remain)
{
	call_it("fi_sock://12:0:1");
	ck_assert_int_eq(dofi_same_process_hide(DOFI_QUIRK_OWN_PROCESS, it.name, &it.size, ROOM),
			 0);
	expect("fi_sock://12:0:1");
}
END_TEST

START_TEST(too_long_a_name_remains)
{
	call_it("fi_shm://12:0:1");
	ck_assert_int_eq(dofi_same_process_hide(DOFI_QUIRK_OWN_PROCESS, it.name, &it.size, it.size),
			 -FI_ETOOSMALL);
	ck_assert_int_eq(dofi_same_process_avoid(DOFI_QUIRK_OWN_PROCESS_CLOSED, it.name, &it.size,
						 it.size, own),
			 -FI_ETOOSMALL);
	expect("fi_shm://12:0:1");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("same_process");
	TCase *tc = tcase_create("same_process");

	tcase_add_loop_test(tc, name_gets_a_slash_with_the_quirk, 0,
			    sizeof(faults) / sizeof(faults[0]));
	tcase_add_loop_test(tc, names_of_other_processes_remain, 0,
			    sizeof(strangers) / sizeof(strangers[0]));
	tcase_add_test(tc, own_name_remains);
	tcase_add_test(tc, names_of_other_fabrics_remain);
	tcase_add_test(tc, too_long_a_name_remains);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
