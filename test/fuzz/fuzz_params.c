/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parameters of an IA. The first line of the input is the name of the IA, the second one its
 * ia_params. The other lines are variables; DAT_OFI_ is added in front, unless the line begins with
 * a '!'.
 */
#include "fuzz.h"

#include "base/log.h"
#include "base/log_fabric.h"
#include "base/param.h"

#include <ctype.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#define MAX_LINES 32
#define TEXT_SIZE 4096

/* --- the process around it --- */

static char *variables[MAX_LINES];
static int nvariables;

char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name);
ssize_t __real_write(int fd, const void *text, size_t size);
ssize_t __wrap_write(int fd, const void *text, size_t size);

static bool is_name(const char *variable, const char *name)
{
	if (*variable == '!')
		variable++;
	else if (!strncmp(name, "DAT_OFI_", 8))
		name += 8;
	else
		return false;
	return !strncmp(variable, name, strlen(name)) && variable[strlen(name)] == '=';
}

char *__wrap_getenv(const char *name)
{
	if (strncmp(name, "DAT_OFI_", 8) && strncmp(name, "DAPL_", 5))
		return __real_getenv(name);
	for (int i = 0; i < nvariables; i++)
		if (is_name(variables[i], name))
			return strchr(variables[i], '=') + 1;
	return NULL;
}

/* The log: each message is one line without control characters. */
ssize_t __wrap_write(int fd, const void *text, size_t size)
{
	const char *line = text;

	if (fd != STDOUT_FILENO && fd != STDERR_FILENO)
		return __real_write(fd, text, size);
	FUZZ_CHECK(size && line[size - 1] == '\n');
	for (size_t i = 0; i + 1 < size; i++)
		FUZZ_CHECK((unsigned char)line[i] >= ' ' && line[i] != 0x7f);
	return (ssize_t)size;
}

void syslog(int priority, const char *format, ...)
{
	(void)priority, (void)format;
}

void dofi_log_fabric(const char *word)
{
	enum dofi_log_level level;

	dofi_log_level_of(word, &level);
}

/* --- the target --- */

static void check_text(const char *text, size_t size)
{
	FUZZ_CHECK(strnlen(text, size) < size);
}

static void check_number(uint64_t number, uint64_t min, uint64_t max)
{
	FUZZ_CHECK(number >= min && number <= max);
}

static void check(const struct dofi_params *p)
{
#define DOFI_PARAM_STR(name, def, help)           check_text(p->name, sizeof(p->name));
#define DOFI_PARAM_NUM(name, def, min, max, help) check_number(p->name, min, max);
#include "base/param.def"
#undef DOFI_PARAM_STR
#undef DOFI_PARAM_NUM
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dofi_params p, again;
	static char text[TEXT_SIZE];
	char *lines[MAX_LINES + 2] = {text, text}, *rest = text;
	int n = 0, ret;

	if (size >= sizeof(text))
		size = sizeof(text) - 1;
	memcpy(text, data, size);
	text[size] = '\0';
	while (rest && n < MAX_LINES + 2)
		lines[n++] = strsep(&rest, "\n");
	nvariables = 0;
	for (int i = 2; i < n; i++)
		if (strchr(lines[i], '='))
			variables[nvariables++] = lines[i];
	dofi_log_set_level("debug");
	ret = dofi_params_load(&p, lines[0], n > 1 ? lines[1] : NULL);
	if (!ret)
		check(&p);
	FUZZ_CHECK(dofi_params_load(&again, lines[0], n > 1 ? lines[1] : NULL) == ret);
	FUZZ_CHECK(ret || !memcmp(&p, &again, sizeof(p)));
	return 0;
}
