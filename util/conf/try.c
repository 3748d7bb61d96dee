/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tries a line by the registry of its generation, with a file that contains only this line. */
#include "conf/conf.h"

#include "common/child.h"
#include "common/common.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Functions that are the same in both generations. */
struct registry {
	__typeof__(&dat_ia_openv) open;
	__typeof__(&dat_ia_close) close;
	__typeof__(&dat_strerror) strerror;
};

/* ISO C has no cast from an object pointer to a function pointer. */
static bool find(void *library, const char *name, void *function_p)
{
	void *symbol = dlsym(library, name);

	memcpy(function_p, &symbol, sizeof(symbol));
	return symbol;
}

static bool load(FILE *out, unsigned int major, struct registry *registry)
{
	const char *name = major == 1 ? "libdat.so.1" : "libdat2.so.2";
	void *library = dlopen(name, RTLD_NOW);

	if (!library) {
		fprintf(out, "the registry of DAT %u cannot be loaded: %s", major, dlerror());
		return false;
	}
	if (!find(library, "dat_ia_openv", &registry->open) ||
	    !find(library, "dat_ia_close", &registry->close) ||
	    !find(library, "dat_strerror", &registry->strerror)) {
		fprintf(out, "%s is no registry of DAT: %s", name, dlerror());
		return false;
	}
	return true;
}

/* Puts the text into a file in memory, which disappears with the process. */
static bool override(FILE *out, const char *text)
{
	int fd = memfd_create("dat.conf", 0);
	char path[64];

	if (fd < 0 || dprintf(fd, "%s\n", text) < 0) {
		fprintf(out, "cannot make a file for one line: %s", strerror(errno));
		return false;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return !setenv("DAT_OVERRIDE", path, 1);
}

static bool open_line(FILE *out, const void *arg)
{
	const struct conf_line *line = arg;
	const DAT_PROVIDER_INFO *info = &line->entry.info;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	const char *major = "", *minor = "";
	struct registry registry;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (info->dapl_version_major != 1 && info->dapl_version_major != 2) {
		fprintf(out, "there is no DAT %u.%u", info->dapl_version_major,
			info->dapl_version_minor);
		return false;
	}
	if (!override(out, line->text) || !load(out, info->dapl_version_major, &registry))
		return false;
	ret = registry.open((DAT_NAME_PTR)(uintptr_t)info->ia_name, 8, &async, &ia,
			    info->dapl_version_major, info->dapl_version_minor,
			    info->is_thread_safe);
	if (ret == DAT_SUCCESS) {
		registry.close(ia, DAT_CLOSE_ABRUPT_FLAG);
		return true;
	}
	registry.strerror(ret, &major, &minor);
	fprintf(out, "%s", major);
	return false;
}

static bool try_at(const char *level, const struct conf_line *line, struct util_answer *answer)
{
	if (!util_ask_child_at(level, open_line, line, answer))
		return answer->ok;
	/* The caller gets the reason from the answer. */
	free(answer->text);
	answer->text = strdup(util_error());
	return false;
}

/* If the line does not open, the user's own level of the log may tell more. */
bool conf_try(const struct conf_line *line, struct util_answer *answer)
{
	const char *level = getenv("DAT_OFI_LOG");

	if (try_at("warn", line, answer) || answer->late || !level)
		return answer->ok;
	util_answer_free(answer);
	return try_at(level, line, answer);
}

bool conf_try_text(const char *text, struct util_answer *answer)
{
	struct conf_file file = {.count = 0};
	bool ok;

	memset(answer, 0, sizeof(*answer));
	if (conf_file_add(&file, text))
		answer->text = strdup(util_error());
	/* Line 1: line 0 is the mark. */
	ok = file.count > 1 && conf_is_active(&file.lines[1]) && conf_try(&file.lines[1], answer);
	conf_file_free(&file);
	return ok;
}

bool conf_for_ofed(const struct conf_line *line)
{
	const char *slash = strrchr(line->entry.library, '/');

	return !strncmp(slash ? slash + 1 : line->entry.library, "libdapl", strlen("libdapl"));
}

const char *conf_remedy(const struct conf_line *line, const char *log)
{
	if (line->kind == CONF_WRONG)
		return "write it as in: NAME u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "
		       "\"provider=tcp domain=eth0\" \"\"";
	if (conf_for_ofed(line))
		return "dat_conf convert makes a line for libdatofi of it";
	if (log && strstr(log, "cannot load its provider library"))
		return "install the library, correct its name, or add its folder to "
		       "LD_LIBRARY_PATH";
	if (log && strstr(log, "no fabric can be used"))
		return "correct the parameters (dat_info lists what is there), or remove the line";
	if (log && strstr(log, "dat-ofi: ") && strstr(log, "asks for DAT"))
		return "correct the version or the library";
	if (log && strstr(log, "dat-ofi: "))
		return "correct what the message names (dat-ofi-provider(7) has all parameters), "
		       "or remove the line";
	return "remove the line, or put \"nondefault\" into its fourth field";
}
