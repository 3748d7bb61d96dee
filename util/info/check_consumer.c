/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks of names that programs look for: libraries, interfaces, and the variables of Intel MPI. */
#include "info/check.h"

#include "common/child.h"
#include "conf/conf.h"
#include "info/info.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names of libraries ---- */

/* Finds the file that the loader takes for a name or path, or the loader's message. */
static bool find_library(FILE *out, const void *arg)
{
	void *library = dlopen(arg, RTLD_LAZY | RTLD_LOCAL);
	void *inside = library ? dlsym(library, "dat_registry_list_providers") : NULL;
	char path[PATH_MAX];
	Dl_info where;

	if (!inside || !dladdr(inside, &where) || !realpath(where.dli_fname, path)) {
		fprintf(out, "%s", library ? "it is no library of DAT" : dlerror());
		return false;
	}
	fprintf(out, "%s", path);
	return true;
}

/*
 * *text_p is the path or the loader's message, which the caller frees; NULL: no memory. True for a
 * path.
 */
static bool locate(const char *name, char **text_p)
{
	struct util_answer answer;
	bool asked = !util_ask_child(find_library, name, &answer), ok = asked && answer.ok;

	*text_p = strdup(ok && answer.text ? answer.text
			 : asked           ? util_answer_failure(&answer)
					   : util_error());
	util_answer_free(&answer);
	return ok && *text_p;
}

/* Some programs load the library at run time by the name without a version. */
static bool check_link_of(struct check *check, const char *versioned, const char *plain)
{
	char *wanted, *found = NULL;
	bool here = locate(versioned, &wanted), good = true;

	if (here && !locate(plain, &found)) {
		good = false;
		check_say(
			check, CHECK_WARN,
			"install the package that has the link, or make it: ln -s beside the "
			"library, "
			"then ldconfig",
			"%s can't be loaded, and some programs, Intel MPI among them, ask for that "
			"name; %s is %s",
			plain, versioned, wanted);
	} else if (here && strcmp(wanted, found)) {
		good = false;
		check_say(check, CHECK_WARN, "let the link point to the library that is meant",
			  "%s is %s, but %s is %s: programs that ask for the one or the other name "
			  "run "
			  "with different libraries",
			  plain, found, versioned, wanted);
	}
	free(wanted);
	free(found);
	return good;
}

void check_links(struct check *check)
{
	bool good = check_link_of(check, "libdat2.so.2", "libdat2.so");

	good &= check_link_of(check, "libdat.so.1", "libdat.so");
	if (good)
		check_say(check, CHECK_OK, NULL,
			  "names with and without a version lead to the same libraries");
}

/* ---- names of interfaces ---- */

/*
 * Whether the word is a place in a device name of systemd or rdma-core: enp3s0f1, ibs2, rdmap0s6,
 * roceo1.
 */
static bool is_place(const char *word, size_t len)
{
	static const char *const kinds[] = {"en", "ib", "iw", "wl", "rdma", "roce", "hfi", "opa"};

	for (size_t i = 0; i < UTIL_ARRAY_LEN(kinds); i++) {
		size_t kind = strlen(kinds[i]);

		if (len > kind + 1 && !strncmp(word, kinds[i], kind) &&
		    strchr("opPsxd", word[kind]) && strchr("0123456789abcdef", word[kind + 1]))
			return true;
	}
	return false;
}

/* Finds the part of the name, between dashes, that is a place; *len_p is 0 if there is none. */
static const char *find_place(const char *name, size_t *len_p)
{
	for (const char *word = name;; word += *len_p + 1) {
		*len_p = strcspn(word, "-");
		if (is_place(word, *len_p))
			return word;
		if (!word[*len_p])
			break;
	}
	*len_p = 0;
	return NULL;
}

void check_names(struct check *check)
{
	bool good = true;
	struct conf_file file;

	if (check_conf_read(check, &file))
		return; /* check_conf() reports it */
	for (size_t i = 0; i < file.count; i++) {
		const char *name = file.lines[i].entry.info.ia_name, *place;
		char remedy[512];
		size_t len;

		place = conf_is_active(&file.lines[i]) ? find_place(name, &len) : NULL;
		if (!place)
			continue;
		good = false;
		snprintf(remedy, sizeof(remedy),
			 "give it a name that all nodes share, such as %.*sfabric, and let the "
			 "parameters say \"domain=%.*s\" on this one",
			 (int)(place - name), name, (int)len, place);
		check_say(check, CHECK_WARN, remedy,
			  "%s:%zu: %s has %.*s in it, a device named after its place on the bus: "
			  "other "
			  "nodes may have another one, and programs that tell each other the name, "
			  "as "
			  "MPI does, do not find it there",
			  file.path, i + 1, name, (int)len, place);
	}
	if (good)
		check_say(check, CHECK_OK, NULL, "no interface is named after a place on the bus");
	conf_file_free(&file);
}

/* ---- Intel MPI ---- */

static bool is_on(const char *value)
{
	return value && (!strcmp(value, "1") || !strcasecmp(value, "yes") ||
			 !strcasecmp(value, "on") || !strncasecmp(value, "enable", 6));
}

static bool check_impi_library(struct check *check)
{
	const char *path = getenv("I_MPI_DAT_LIBRARY");
	char *found, *ours = NULL, *older = NULL;
	bool loads, same;

	if (!path || !*path)
		return true;
	loads = locate(path, &found);
	same = loads && ((locate("libdat2.so.2", &ours) && !strcmp(found, ours)) ||
			 (locate("libdat.so.1", &older) && !strcmp(found, older)));
	if (!loads)
		check_say(check, CHECK_FAIL, "unset it, or name libdat2.so.2",
			  "I_MPI_DAT_LIBRARY=%s cannot be loaded: %s", path, found);
	else if (!same)
		check_say(check, CHECK_WARN, "unset it",
			  "I_MPI_DAT_LIBRARY leads to %s, other programs use %s", found, ours);
	free(found);
	free(ours);
	free(older);
	return same;
}

/* Whether the name has a line in dat.conf, or needs none. */
static bool is_name(const struct check *check, const char *name, size_t len)
{
	struct conf_file file;
	bool found = !strncmp(name, "ofi", 3) && (len == 3 || name[3] == '-');

	if (found || check_conf_read(check, &file))
		return true; /* check_conf() reports a file that can't be read */
	for (size_t i = 0; i < file.count && !found; i++) {
		const char *other = file.lines[i].entry.info.ia_name;

		found = conf_is_active(&file.lines[i]) && strlen(other) == len &&
			!strncmp(other, name, len);
	}
	conf_file_free(&file);
	return found;
}

/* Checks a variable with names separated by commas. */
static bool check_impi_provider(struct check *check, const char *variable)
{
	const char *name = getenv(variable);
	bool good = true;

	while (name && *name) {
		size_t len = strcspn(name, ",");

		if (len && !is_name(check, name, len)) {
			good = false;
			check_say(check, CHECK_FAIL,
				  "choose a name that dat_info lists, or add a line: dat_conf add",
				  "%s has %.*s, which is neither in dat.conf nor a name that needs "
				  "no line",
				  variable, (int)len, name);
		}
		name += len + (name[len] == ',');
	}
	return good;
}

static void write_ud(FILE *out, const struct info_name *name, const struct info_ia *ia)
{
	(void)name;
	fprintf(out, "%s", info_named(ia, "DAT_IB_UD"));
}

static bool open_for_ud(FILE *out, const void *arg)
{
	return info_with_ia(out, arg, write_ud);
}

/*
 * Whether the interface that Intel MPI would use has UD: the one that is set, or the first of the
 * registry.
 */
static bool has_ud(char *name, size_t size)
{
	const char *asked = getenv("I_MPI_DAPL_UD_PROVIDER");
	struct info_names names;
	struct util_answer answer;
	bool found = true; /* check_conf() or an interface's own check reports other errors */

	asked = asked && *asked ? asked : getenv("I_MPI_DAPL_PROVIDER");
	*name = '\0';
	if (asked && *asked ? info_names_list(&names, asked) : info_names_registered(&names))
		goto free_names;
	if (!names.count)
		goto free_names;
	snprintf(name, size, "%s", names.list[0].text);
	if (!util_ask_child(open_for_ud, &names.list[0], &answer))
		found = !answer.ok || (answer.text && !strcasecmp(answer.text, "TRUE"));
	util_answer_free(&answer);
free_names:
	info_names_free(&names);
	return found;
}

static bool check_impi_ud(struct check *check)
{
	const char *value = getenv("I_MPI_DAPL_UD");
	char name[DAT_NAME_MAX_LENGTH];

	if (!is_on(value) || has_ud(name, sizeof(name)))
		return true;
	check_say(check, CHECK_FAIL, "unset it, or name an interface with UD",
		  "I_MPI_DAPL_UD=%s, but %s has no UD endpoints (DAT_IB_UD): the job would end",
		  value, name);
	return false;
}

/*
 * The values are "shm:dapl" or a list with commas; those of the older I_MPI_DEVICE "rdma" or
 * "rdssm:NAME".
 */
static bool check_impi_fabrics(struct check *check)
{
	static const struct {
		const char *name, *words[2];
	} variables[] = {
		{"I_MPI_FABRICS", {"dapl", "dapl"}},
		{"I_MPI_FABRICS_LIST", {"dapl", "dapl"}},
		{"I_MPI_DEVICE", {"rdma", "rdssm"}},
	};
	bool good = true;

	for (size_t i = 0; i < UTIL_ARRAY_LEN(variables); i++) {
		const char *value = getenv(variables[i].name);

		if (!value || !*value || strstr(value, variables[i].words[0]) ||
		    strstr(value, variables[i].words[1]))
			continue;
		good = false;
		check_say(check, CHECK_WARN,
			  "for Intel MPI up to 2018 say shm:dapl; later ones have no DAT and use "
			  "libfabric "
			  "themselves",
			  "%s=%s: Intel MPI will not use DAT", variables[i].name, value);
	}
	return good;
}

void check_impi(struct check *check)
{
	static const char *const variables[] = {
		"I_MPI_DAT_LIBRARY",  "I_MPI_DAPL_PROVIDER",    "I_MPI_DAPL_PROVIDER_LIST",
		"I_MPI_DAPL_UD",      "I_MPI_DAPL_UD_PROVIDER", "I_MPI_FABRICS",
		"I_MPI_FABRICS_LIST", "I_MPI_DEVICE",
	};
	bool any = false, good;

	for (size_t i = 0; i < UTIL_ARRAY_LEN(variables); i++)
		any |= check_env(variables[i]);
	if (!any)
		return;
	good = check_impi_fabrics(check);
	good &= check_impi_library(check);
	good &= check_impi_provider(check, "I_MPI_DAPL_PROVIDER");
	good &= check_impi_provider(check, "I_MPI_DAPL_PROVIDER_LIST");
	good &= check_impi_provider(check, "I_MPI_DAPL_UD_PROVIDER");
	good &= check_impi_ud(check);
	if (good)
		check_say(check, CHECK_OK, NULL, "its variables lead to interfaces that are there");
}
