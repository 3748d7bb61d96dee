/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program with more rights than its user takes neither libraries nor parameters from the user's
 * environment, and no library from a folder that the user chooses. The test runs a copy of this
 * program that belongs to root and has the set-user-ID bit, as another user.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <rdma/fabric.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "../../src/loader.h"
#include "object/ia.h"
#include "object/mem.h"

#define IA_NAME      "ofi-tcp-lo"
#define NOBODY       65534u
#define HANDSHAKE_MS 77

/* What the copy found; also its exit status. */
enum {
	IS_ELEVATED = 1,
	HAS_FOREIGN_PROVIDER = 2,
	HAS_VARIABLE = 4,
	HAS_PARAMETER = 8,
	HAS_RELATIVE_LIBRARY = 16, /* by a relative path of dat.conf */
	HAS_LIBRARY_BESIDE = 32,   /* beside the name that it was started by */
	IS_THROUGH = 64,
	HAS_ALL = HAS_FOREIGN_PROVIDER | HAS_VARIABLE | HAS_PARAMETER | HAS_RELATIVE_LIBRARY,
};

static char dir[] = "/tmp/dat-ofi-elevated-XXXXXX", copy[sizeof(dir) + 8];
static char library[sizeof(dir) + 32], beside[sizeof(dir) + 32];

/* A path relative to dir, where the program is started, and a library of the same name there. */
#define RELATIVE "./user.so"

/* --- the copy --- */

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *ia_params);

static int find_parameter(void)
{
	DAT_PROVIDER_INFO info = {.dapl_version_major = DAT_VERSION_MAJOR,
				  .dapl_version_minor = DAT_VERSION_MINOR,
				  .ia_name = IA_NAME};
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	uint32_t ms;

	dat_provider_init(&info, "");
	if (dat_ia_open((DAT_NAME_PTR)(uintptr_t)IA_NAME, 8, &async, &ia) != DAT_SUCCESS ||
	    dat_pz_create(ia, &pz) != DAT_SUCCESS)
		_exit(0);
	ms = (uint32_t)((struct dofi_pz *)pz)->obj.ia->params.handshake_ms;
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ms == HANDSHAKE_MS ? HAS_PARAMETER : 0;
}

static int find_libraries(void)
{
	struct datr_library lib;
	int found = 0;
	Dl_info info;

	if (datr_library_open(&lib, RELATIVE, "elevated")) {
		found |= HAS_RELATIVE_LIBRARY;
		datr_library_close(&lib);
	}
	if (datr_library_open(&lib, NULL, "elevated")) {
		if (dladdr((void *)(uintptr_t)lib.init, &info) &&
		    strstr(info.dli_fname, "dat-ofi-elevated"))
			found |= HAS_LIBRARY_BESIDE;
		datr_library_close(&lib);
	}
	return found;
}

static int look(void)
{
	struct fi_info *list = NULL;
	int found = IS_THROUGH;

	found |= getauxval(AT_SECURE) ? IS_ELEVATED : 0;
	found |= find_parameter();
	found |= find_libraries();
	found |= getenv("FI_PROVIDER_PATH") ? HAS_VARIABLE : 0;
	fi_getinfo(FI_VERSION(1, 17), NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &list);
	for (struct fi_info *info = list; info; info = info->next)
		if (strstr(info->fabric_attr->prov_name, "sham"))
			found |= HAS_FOREIGN_PROVIDER;
	fi_freeinfo(list);
	return found;
}

/* --- the test, which starts the copy --- */

static void copy_file(const char *from_path, const char *to_path, mode_t mode)
{
	int from = open(from_path, O_RDONLY | O_CLOEXEC), to;
	struct stat st;

	to = open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	ck_assert_msg(from >= 0 && to >= 0 && !fstat(from, &st), "%s: %m", from_path);
	for (off_t at = 0; at < st.st_size;)
		ck_assert_int_gt(sendfile(to, from, &at, (size_t)(st.st_size - at)), 0);
	ck_assert(!fchmod(to, mode));
	close(from);
	close(to);
}

/* The program, and what a user puts into a folder of the user's. */
static void make_files(void)
{
	const char *top = getenv("top_builddir");
	char fake[512];

	ck_assert_ptr_nonnull(top);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert(!chmod(dir, 0755));
	snprintf(copy, sizeof(copy), "%s/look", dir);
	snprintf(library, sizeof(library), "%s/" RELATIVE, dir);
	snprintf(beside, sizeof(beside), "%s/" DATR_PROVIDER_SONAME, dir);
	snprintf(fake, sizeof(fake), "%s/test/lib/.libs/fake_provider2.so", top);
	copy_file("/proc/self/exe", copy, 04755);
	copy_file(fake, library, 0755);
	copy_file(fake, beside, 0755);
}

static void remove_files(void)
{
	unlink(copy);
	unlink(library);
	unlink(beside);
	rmdir(dir);
}

static void set_variables(void)
{
	char path[512], text[16];
	const char *top = getenv("top_builddir");

	ck_assert_ptr_nonnull(top);
	snprintf(path, sizeof(path), "%s/test/fabric/.libs", top);
	snprintf(text, sizeof(text), "%d", HANDSHAKE_MS);
	setenv("FI_PROVIDER_PATH", path, 1);
	setenv("FI_SHAM_CORE", "tcp;ofi_rxm", 1);
	setenv("DAT_OFI_HANDSHAKE_MS", text, 1);
}

/* Runs the copy. Returns its exit status, or 0 if it could not be started. */
static int run(const char *program, uid_t user)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		set_variables();
		if (!chdir(dir) && !setgid(user) && !setuid(user))
			execl(program, program, "look", NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status), "it ended with status 0x%x", (unsigned int)status);
	return WEXITSTATUS(status);
}

START_TEST(elevated_program_ignores_variables_of_the_user)
{
	int found;

	if (geteuid())
		t_skip("only root can make a set-user-ID program of another user");
	make_files();
	found = run(copy, NOBODY);
	remove_files();
	if (!(found & IS_ELEVATED))
		t_skip("the copy does not start, or without more rights");
	/* 127 is also the status of a program whose libraries are not found. */
	if (found == 127 && *getenv("libfabric_libdir"))
		t_skip("such a program does not find this libfabric");
	ck_assert_int_eq(found, IS_THROUGH | IS_ELEVATED);
}
END_TEST

/* A program without more rights uses the variables that the elevated program must ignore. */
START_TEST(other_programs_use_variables_of_the_user)
{
	int found;

	make_files();
	found = run("/proc/self/exe", geteuid());
	remove_files();
	ck_assert_int_eq(found, IS_THROUGH | HAS_ALL);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite;
	TCase *tcase;

	if (argc == 2 && !strcmp(argv[1], "look"))
		return look();
	suite = suite_create("elevated");
	tcase = tcase_create("elevated");
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, elevated_program_ignores_variables_of_the_user);
	tcase_add_test(tcase, other_programs_use_variables_of_the_user);
	return t_run(suite);
}
