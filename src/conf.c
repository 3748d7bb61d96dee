/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat.conf: finds the file, parses its lines, and reports errors in them. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "log.h"

#define BLANKS " \t\r\v\f"

bool datr_info_init(DAT_PROVIDER_INFO *info, const char *name, DAT_UINT32 major, DAT_UINT32 minor,
		    bool thread_safe)
{
	size_t length = name ? strnlen(name, DAT_NAME_MAX_LENGTH) : 0;

	if (!length || length == DAT_NAME_MAX_LENGTH)
		return false;
	memset(info, 0, sizeof(*info));
	memcpy(info->ia_name, name, length);
	info->dapl_version_major = major;
	info->dapl_version_minor = minor;
	info->is_thread_safe = thread_safe ? DAT_TRUE : DAT_FALSE;
	return true;
}

static bool parse_number(const char **pos, DAT_UINT32 *value_p)
{
	unsigned long value;
	char *end;

	if (!isdigit((unsigned char)**pos))
		return false;
	errno = 0;
	value = strtoul(*pos, &end, 10);
	if (errno || value > UINT32_MAX)
		return false;
	*pos = end;
	*value_p = (DAT_UINT32)value;
	return true;
}

static bool parse_version(const char *text, DAT_UINT32 *major_p, DAT_UINT32 *minor_p)
{
	return parse_number(&text, major_p) && *text++ == '.' && parse_number(&text, minor_p) &&
	       !*text;
}

static bool parse_name(const char *text, struct datr_line *line)
{
	return datr_info_init(&line->info, text, 0, 0, false);
}

static bool parse_api(const char *text, struct datr_line *line)
{
	line->is_user = *text == 'u';
	return (*text == 'u' || *text == 'k') &&
	       parse_version(text + 1, &line->info.dapl_version_major,
			     &line->info.dapl_version_minor);
}

/* Compares only the beginning of the word, because old files have words such as "nondefault,". */
static bool starts_with(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

static bool parse_threads(const char *text, struct datr_line *line)
{
	line->info.is_thread_safe = starts_with(text, "threadsafe") ? DAT_TRUE : DAT_FALSE;
	return line->info.is_thread_safe || starts_with(text, "nonthreadsafe");
}

static bool parse_default(const char *text, struct datr_line *line)
{
	line->is_default = starts_with(text, "default");
	return line->is_default || starts_with(text, "nondefault");
}

static bool parse_library(const char *text, struct datr_line *line)
{
	line->library = text;
	return *text;
}

/*
 * ID.MAJOR.MINOR, where the id may contain dots. Only the form is checked, to notice a misplaced
 * field.
 */
static bool parse_provider_version(const char *text, struct datr_line *line)
{
	DAT_UINT32 major, minor;
	const char *dot = strrchr(text, '.');

	(void)line;
	while (dot && dot > text && *--dot != '.')
		;
	return dot && dot > text && parse_version(dot + 1, &major, &minor);
}

static bool parse_ia_params(const char *text, struct datr_line *line)
{
	line->ia_params = text;
	return true;
}

static bool parse_platform_params(const char *text, struct datr_line *line)
{
	(void)text, (void)line;
	return true;
}

static const struct {
	const char *name;
	const char *expected;
	bool (*parse)(const char *text, struct datr_line *line);
} fields[] = {
	{"IA name", "1 to 255 characters", parse_name},
	{"API version", "u or k and a version, as in " DATR_API_WORD, parse_api},
	{"thread safety", "threadsafe or nonthreadsafe", parse_threads},
	{"default", "default or nondefault", parse_default},
	{"library", "the file name of a provider library", parse_library},
	{"provider version", "an id and a version, as in dapl.2.0", parse_provider_version},
	{"IA parameters", "any text, \"\" for none", parse_ia_params},
	{"platform parameters", "any text, \"\" for none", parse_platform_params},
};

#define NUM_FIELDS (sizeof(fields) / sizeof(fields[0]))

/*
 * Removes quotes and backslashes in place, because the text never gets longer. False if the closing
 * quote is missing.
 */
static bool cut_quoted(char **pos)
{
	char *out = *pos;
	char *in = *pos;

	for (; *in && *in != '"'; in++) {
		if (*in == '\\' && in[1])
			in++;
		*out++ = *in;
	}
	if (!*in)
		return false;
	*out = '\0';
	*pos = in + 1;
	return true;
}

/*
 * The next field, or NULL at the end of the line or at a comment. False if a quote is not closed.
 */
static bool next_field(char **pos, char **field_p)
{
	char *start = *pos + strspn(*pos, BLANKS);
	char *end;

	*pos = *field_p = start;
	if (!*start || *start == '#') {
		*field_p = NULL;
		return true;
	}
	if (*start == '"') {
		*field_p = *pos = start + 1;
		return cut_quoted(pos);
	}
	end = start + strcspn(start, BLANKS);
	*pos = *end ? end + 1 : end;
	*end = '\0';
	return true;
}

#define LINE_IGNORED "; the line is ignored"

bool datr_line_parse(char *text, struct datr_line *line)
{
	char *field;

	for (unsigned int i = 0; i < NUM_FIELDS; i++) {
		if (!next_field(&text, &field)) {
			datr_log(DATR_LOG_ERROR,
				 "%s:%u: field %u, %s, has no closing quote" LINE_IGNORED,
				 line->path, line->number, i + 1, fields[i].name);
			return false;
		}
		if (!field) {
			if (i)
				datr_log(DATR_LOG_ERROR,
					 "%s:%u: the line has %u of %zu fields, the next would be "
					 "%s (%s)" LINE_IGNORED,
					 line->path, line->number, i, NUM_FIELDS, fields[i].name,
					 fields[i].expected);
			return false;
		}
		if (!fields[i].parse(field, line)) {
			datr_log(DATR_LOG_ERROR,
				 "%s:%u: field %u, %s, is \"%s\", expected %s" LINE_IGNORED,
				 line->path, line->number, i + 1, fields[i].name, field,
				 fields[i].expected);
			return false;
		}
	}
	if (!next_field(&text, &field) || field) {
		datr_log(DATR_LOG_ERROR,
			 "%s:%u: more than %zu fields, \"%s\" is too much (a field with blanks "
			 "needs quotes)" LINE_IGNORED,
			 line->path, line->number, NUM_FIELDS, field);
		return false;
	}
	return true;
}

struct datr_entry *datr_entry_alloc(const DAT_PROVIDER_INFO *info, const char *library,
				    const char *ia_params)
{
	size_t params_size = strlen(ia_params) + 1;
	size_t library_size = library ? strlen(library) + 1 : 0;
	struct datr_entry *entry = calloc(1, sizeof(*entry) + params_size + library_size);

	if (!entry)
		return NULL;
	entry->info = *info;
	entry->ia_params = memcpy(entry->text, ia_params, params_size);
	if (library)
		entry->library = memcpy(entry->text + params_size, library, library_size);
	return entry;
}

static struct datr_entry *read_line(char *text, size_t length, struct datr_line *line)
{
	struct datr_entry *entry;

	if (strlen(text) != length) {
		datr_log(DATR_LOG_ERROR, "%s:%u: the line holds a zero byte" LINE_IGNORED,
			 line->path, line->number);
		return NULL;
	}
	text[strcspn(text, "\n")] = '\0';
	if (!datr_line_parse(text, line))
		return NULL;
	if (!line->is_user || !line->is_default) {
		datr_log(DATR_LOG_STATIC, "%s:%u: IA %s is marked %s" LINE_IGNORED, line->path,
			 line->number, line->info.ia_name,
			 line->is_user ? "nondefault" : "for the kernel");
		return NULL;
	}
	entry = datr_entry_alloc(&line->info, line->library, line->ia_params);
	if (!entry) {
		datr_log(DATR_LOG_ERROR, "%s:%u: IA %s can't be kept, out of memory" LINE_IGNORED,
			 line->path, line->number, line->info.ia_name);
		return NULL;
	}
	entry->line = line->number;
	datr_log(DATR_LOG_STATIC, "%s:%u: IA %s, version %u.%u, library %s, parameters \"%s\"",
		 line->path, line->number, entry->info.ia_name,
		 (unsigned int)entry->info.dapl_version_major,
		 (unsigned int)entry->info.dapl_version_minor, entry->library, entry->ia_params);
	return entry;
}

static void read_file(FILE *file, struct datr_conf *conf)
{
	struct datr_entry **tail = &conf->entries;
	struct datr_line line = {.path = conf->path};
	char *text = NULL;
	size_t size = 0;
	ssize_t length;

	while ((length = getline(&text, &size, file)) >= 0) {
		line.number++;
		*tail = read_line(text, (size_t)length, &line);
		if (*tail)
			tail = &(*tail)->next;
	}
	if (ferror(file))
		datr_log(DATR_LOG_ERROR, "cannot read %s beyond line %u: %s", conf->path,
			 line.number, strerror(errno));
	free(text);
}

/* Whether the file can be opened later, when the process or the system has more to give. */
static bool is_shortage(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM;
}

/*
 * A file that DAT_OVERRIDE names must exist. A default file may be missing. On failure errno is
 * set.
 */
static FILE *open_file(const char *path, bool must_exist)
{
	FILE *file = fopen(path, "re");
	int err = errno;

	if (!file && (must_exist || err != ENOENT))
		datr_log(DATR_LOG_ERROR, "cannot open %s%s: %s; %s", path,
			 must_exist ? " (named by DAT_OVERRIDE)" : "", strerror(err),
			 is_shortage(err) ? "the next dat_ia_open tries again"
					  : "going on with the next default");
	errno = err;
	return file;
}

FILE *datr_conf_open(char *path, size_t size)
{
	/* A program with more rights than its user must not load a library that the user names. */
	const char *override = secure_getenv("DAT_OVERRIDE");
	const char *const paths[] = {override && *override ? override : NULL, DATR_CONF_DEFAULTS};

	for (unsigned int i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		FILE *file = paths[i] ? open_file(paths[i], i == 0) : NULL;

		if (file)
			snprintf(path, size, "%s", paths[i]);
		if (file || (paths[i] && is_shortage(errno)))
			return file;
	}
	return NULL;
}

bool datr_conf_load(struct datr_conf *conf)
{
	FILE *file = datr_conf_open(conf->path, sizeof(conf->path));

	if (!file)
		return !is_shortage(errno);
	read_file(file, conf);
	fclose(file);
	return true;
}
