/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "conf/conf.h"

#include "../../src/log.h"
#include "common/common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK_BEGIN "# dat_conf made the lines from here on and may change them"
#define MARK_END   "# end of the lines of dat_conf"

static char parser_said[1024];

/* The log function of the registry's parser, in this program. */
void datr_log(enum datr_log_type type, const char *fmt, ...)
{
	va_list args;

	if (type != DATR_LOG_ERROR)
		return;
	va_start(args, fmt);
	vsnprintf(parser_said, sizeof(parser_said), fmt, args);
	va_end(args);
}

/* ---- lines ---- */

static int no_memory(void)
{
	return util_fail("out of memory");
}

static void free_line(struct conf_line *line)
{
	free(line->text);
	free(line->fields);
	free(line->wrong);
}

static int parse(struct conf_line *line, const char *text)
{
	memset(line, 0, sizeof(*line));
	line->text = strdup(text);
	line->fields = strdup(text);
	if (!line->text || !line->fields) {
		free_line(line);
		return no_memory();
	}
	*parser_said = '\0';
	/* The number of the line may change, so it is added when the message is printed. */
	line->entry.path = "line";
	if (datr_line_parse(line->fields, &line->entry)) {
		line->kind = CONF_ENTRY;
	} else if (*parser_said) {
		line->kind = CONF_WRONG;
		line->wrong = strdup(parser_said + strlen("line:0: "));
		if (!line->wrong) {
			free_line(line);
			return no_memory();
		}
	}
	return 0;
}

static int insert(struct conf_file *file, size_t at, const char *text, bool ours)
{
	struct conf_line *longer, line;

	if (parse(&line, text))
		return -1;
	line.ours = ours;
	longer = realloc(file->lines, (file->count + 1) * sizeof(line));
	if (!longer) {
		free_line(&line);
		return no_memory();
	}
	file->lines = longer;
	memmove(&longer[at + 1], &longer[at], (file->count - at) * sizeof(line));
	longer[at] = line;
	file->count++;
	return 0;
}

static bool is_mark(const struct conf_file *file, size_t at, const char *mark)
{
	return at < file->count && !strcmp(file->lines[at].text, mark);
}

static size_t find_mark(const struct conf_file *file, const char *mark)
{
	size_t at = 0;

	while (at < file->count && !is_mark(file, at, mark))
		at++;
	return at;
}

int conf_check_text(const char *text)
{
	struct conf_line line;
	int ret = parse(&line, text);

	if (ret)
		return ret;
	if (line.kind != CONF_ENTRY)
		ret = util_fail("registries would not accept the line: %s",
				line.wrong ? line.wrong : "it is empty or a comment");
	free_line(&line);
	return ret;
}

int conf_file_add(struct conf_file *file, const char *text)
{
	size_t end = find_mark(file, MARK_END);

	if (conf_check_text(text))
		return -1;
	if (end == file->count && (insert(file, file->count, MARK_BEGIN, false) ||
				   insert(file, file->count, MARK_END, false)))
		return -1;
	return insert(file, find_mark(file, MARK_END), text, true);
}

void conf_file_remove(struct conf_file *file, size_t at)
{
	bool ours = file->lines[at].ours;

	free_line(&file->lines[at]);
	file->count--;
	memmove(&file->lines[at], &file->lines[at + 1], (file->count - at) * sizeof(*file->lines));
	/* Removes marks with nothing between them, too. */
	if (ours && at && is_mark(file, at - 1, MARK_BEGIN) && is_mark(file, at, MARK_END)) {
		conf_file_remove(file, at);
		conf_file_remove(file, at - 1);
	}
}

int conf_file_replace(struct conf_file *file, size_t at, const char *text)
{
	struct conf_line line;

	if (parse(&line, text))
		return -1;
	line.ours = file->lines[at].ours;
	free_line(&file->lines[at]);
	file->lines[at] = line;
	return 0;
}

bool conf_is_active(const struct conf_line *line)
{
	return line->kind == CONF_ENTRY && line->entry.is_user && line->entry.is_default;
}

static bool same_name(const struct conf_line *a, const struct conf_line *b)
{
	const DAT_PROVIDER_INFO *one = &a->entry.info, *other = &b->entry.info;

	return !strcmp(one->ia_name, other->ia_name) &&
	       one->dapl_version_major == other->dapl_version_major &&
	       one->is_thread_safe == other->is_thread_safe;
}

const struct conf_line *conf_shadow(const struct conf_file *file, size_t at)
{
	const struct conf_line *line = &file->lines[at];

	for (size_t i = 0; i < at; i++) {
		if (conf_is_active(&file->lines[i]) && same_name(&file->lines[i], line))
			return &file->lines[i];
	}
	return NULL;
}

/* ---- text ---- */

static void put_field(FILE *out, const char *text)
{
	if (*text && !strpbrk(text, " \t\r\v\f\"\\#")) {
		fprintf(out, "%s ", text);
		return;
	}
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
	fputs("\" ", out);
}

char *conf_format(const struct conf_fields *fields)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_field(out, fields->name);
	fprintf(out, "u%u.%u %s default ", fields->major, fields->minor,
		fields->thread_safe ? "threadsafe" : "nonthreadsafe");
	if (fields->library)
		put_field(out, fields->library);
	else
		fprintf(out, "libdatofi.so.%u ", fields->major);
	fprintf(out, "ofi.%u.%u \"", fields->major, fields->minor);
	for (const char *c = fields->parameters; *c; c++)
		fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
	fputs("\" \"\"", out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- reading ---- */

/* Follows a symbolic link, so that writing keeps the link. */
static FILE *open_path(struct conf_file *file, const char *path)
{
	char real[PATH_MAX];

	snprintf(file->path, sizeof(file->path), "%s", realpath(path, real) ? real : path);
	return fopen(file->path, "re");
}

/*
 * Chooses the file as the registries do. Exception: if the file in DAT_OVERRIDE is missing, they
 * read the next one, which is not the one to change.
 */
static FILE *open_default(struct conf_file *file)
{
	const char *override = getenv("DAT_OVERRIDE");
	FILE *in;

	if (override && *override)
		return open_path(file, override);
	in = datr_conf_open(file->path, sizeof(file->path));
	if (!in) {
		snprintf(file->path, sizeof(file->path), "%s", DAT_CONF_DIR "/dat.conf");
		errno = ENOENT;
	}
	return in;
}

static int read_lines(struct conf_file *file, FILE *in)
{
	char *text = NULL;
	size_t size = 0;
	bool ours = false;
	ssize_t length;
	int ret = 0;

	while (!ret && (length = getline(&text, &size, in)) >= 0) {
		if (strlen(text) != (size_t)length) {
			ret = util_fail("%s:%zu: the line holds a zero byte; this is no text file",
					file->path, file->count + 1);
			break;
		}
		text[strcspn(text, "\n")] = '\0';
		if (!strcmp(text, MARK_END))
			ours = false;
		ret = insert(file, file->count, text, ours);
		if (!strcmp(text, MARK_BEGIN))
			ours = true;
	}
	if (!ret && ferror(in))
		ret = util_fail("cannot read %s: %s", file->path, strerror(errno));
	free(text);
	return ret;
}

int conf_file_read(struct conf_file *file, const char *path)
{
	FILE *in;
	int ret;

	memset(file, 0, sizeof(*file));
	in = path ? open_path(file, path) : open_default(file);
	if (!in && errno == ENOENT)
		return 0;
	if (!in)
		return util_fail("cannot open %s: %s", file->path, strerror(errno));
	file->exists = true;
	ret = fstat(fileno(in), &file->stat)
		      ? util_fail("cannot look at %s: %s", file->path, strerror(errno))
		      : read_lines(file, in);
	fclose(in);
	if (ret)
		conf_file_free(file);
	return ret;
}

void conf_file_free(struct conf_file *file)
{
	for (size_t i = 0; i < file->count; i++)
		free_line(&file->lines[i]);
	free(file->lines);
	file->lines = NULL;
	file->count = 0;
}

/* ---- writing ---- */

void conf_file_print(const struct conf_file *file, FILE *out)
{
	for (size_t i = 0; i < file->count; i++)
		fprintf(out, "%s\n", file->lines[i].text);
}

/* Fails if another program has changed the file meanwhile. */
static int check_unchanged(const struct conf_file *file)
{
	struct stat now;
	bool there = !stat(file->path, &now);

	if (there != file->exists)
		return util_fail("%s %s meanwhile; nothing was written", file->path,
				 there ? "was made" : "has gone");
	if (there && (now.st_ino != file->stat.st_ino || now.st_size != file->stat.st_size ||
		      now.st_mtim.tv_sec != file->stat.st_mtim.tv_sec ||
		      now.st_mtim.tv_nsec != file->stat.st_mtim.tv_nsec))
		return util_fail("%s was changed meanwhile; nothing was written", file->path);
	return 0;
}

static int keep_owner(const struct conf_file *file, int fd)
{
	mode_t mode = file->exists ? file->stat.st_mode & 07777 : 0644;

	if (file->exists && (file->stat.st_uid != geteuid() || file->stat.st_gid != getegid()) &&
	    fchown(fd, file->stat.st_uid, file->stat.st_gid))
		return util_fail("cannot keep the owner of %s: %s; run this as its owner or root",
				 file->path, strerror(errno));
	if (fchmod(fd, mode))
		return util_fail("cannot set the mode of %s: %s", file->path, strerror(errno));
	return 0;
}

static int fill(const struct conf_file *file, int fd)
{
	FILE *out = fdopen(fd, "w");
	int ret = 0;

	if (!out) {
		close(fd);
		return no_memory();
	}
	conf_file_print(file, out);
	if (fflush(out) || fsync(fd))
		ret = util_fail("cannot write %s: %s", file->path, strerror(errno));
	else
		ret = keep_owner(file, fd);
	fclose(out);
	return ret;
}

int conf_file_write(struct conf_file *file)
{
	char real[PATH_MAX], temporary[PATH_MAX + 8];
	int fd;

	if (file->exists && !S_ISREG(file->stat.st_mode))
		return util_fail("%s is no regular file and can't be changed", file->path);
	if (realpath(file->path, real))
		strcpy(file->path, real);
	snprintf(temporary, sizeof(temporary), "%s.XXXXXX", file->path);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return util_fail("cannot write %s: %s", file->path, strerror(errno));
	if (fill(file, fd) || check_unchanged(file)) {
		unlink(temporary);
		return -1;
	}
	if (rename(temporary, file->path)) {
		util_fail("cannot replace %s: %s", file->path, strerror(errno));
		unlink(temporary);
		return -1;
	}
	return 0;
}
