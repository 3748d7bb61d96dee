/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "common/common.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fabric.h>

#define MAX_OPTIONS    64
#define TERMINAL_WIDTH 79

/* getopt_long() returns this and the index of the row for a long name, else the letter. */
#define LONG_OPTION    256

static _Thread_local char error_text[1024];

/* A bit for each row of the table of options. */
static uint64_t opts_given;

int util_fail(const char *fmt, ...)
{
	/* A copy first, because the old text may be one of the arguments. */
	char text[sizeof(error_text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	memcpy(error_text, text, sizeof(error_text));
	return -1;
}

const char *util_error(void)
{
	return error_text;
}

void util_keep_streams(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		/* Its number is the lowest that is free. The stream still fails, as closed. */
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			exit(UTIL_EXIT_FAILED);
	}
}

int util_close_stdout(const char *program, int status)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (fclose(stdout))
		failed = true;
	if (!failed)
		return status;
	fprintf(stderr, "%s: cannot write to standard output: %s\n", program,
		errno ? strerror(errno) : "an earlier write failed");
	return UTIL_EXIT_FAILED;
}

const char *util_dat_text(DAT_RETURN ret)
{
	static _Thread_local char text[256];
	const char *major, *minor;

	if (dat_strerror(ret, &major, &minor) != DAT_SUCCESS)
		snprintf(text, sizeof(text), "DAT result 0x%08x, which the library cannot name",
			 ret);
	else if (DAT_GET_SUBTYPE(ret) == DAT_NO_SUBTYPE)
		snprintf(text, sizeof(text), "%s", major);
	else
		snprintf(text, sizeof(text), "%s, %s", major, minor);
	return text;
}

const char *util_named_attr(const DAT_NAMED_ATTR *attr, DAT_COUNT count, const char *name)
{
	for (DAT_COUNT i = 0; i < count; i++) {
		if (attr[i].name && !strcmp(attr[i].name, name))
			return attr[i].value;
	}
	return NULL;
}

const char *util_address_text(const struct sockaddr *addr, char *text, size_t size)
{
	const void *ip = NULL;

	if (addr && addr->sa_family == AF_INET)
		ip = &((const struct sockaddr_in *)(const void *)addr)->sin_addr;
	else if (addr && addr->sa_family == AF_INET6)
		ip = &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr;

	if (!ip || !inet_ntop(addr->sa_family, ip, text, (socklen_t)size))
		snprintf(text, size, "none that IPv4 or IPv6 can write");
	return text;
}

void util_write_wrapped(FILE *out, size_t column, size_t indent, const char *text)
{
	bool first = true;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t len = strcspn(text, " ");

		if (!first && column + 1 + len > TERMINAL_WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			putc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)len, text);
		column += len;
		text += len;
		first = false;
	}
	putc('\n', out);
}

void util_write_row(FILE *out, size_t left, size_t right, const char *name, const char *text)
{
	size_t end = left + strlen(name);

	fprintf(out, "%*s%s", (int)left, "", name);
	if (end + 1 > right)
		fprintf(out, "\n%*s", (int)right, "");
	else
		fprintf(out, "%*s", (int)(right - end), "");
	util_write_wrapped(out, right, right, text);
}

int util_parse_number(const char *text, uint64_t max, uint64_t *value_p)
{
	static const char suffixes[] = "kmg";
	unsigned long long value;
	const char *suffix;
	unsigned int shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return util_fail("\"%s\" is not a number", text);
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end) {
		suffix = strchr(suffixes, *end | 0x20);
		if (!suffix || end[1])
			return util_fail("\"%s\" is not a number; k, m and g may follow the digits",
					 text);
		shift = 10 * (unsigned int)(suffix - suffixes + 1);
	}
	if (errno || value > max >> shift)
		return util_fail("%s is too large; the limit is %llu", text,
				 (unsigned long long)max);
	*value_p = value << shift;
	return 0;
}

static int parse_real(const char *text, double *value_p)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !isfinite(value) || value <= 0)
		return util_fail("\"%s\" is not a number above 0", text);
	*value_p = value;
	return 0;
}

uint32_t util_fabric_version(void)
{
	return fi_version();
}

static const char *library_of(uintptr_t inside)
{
	Dl_info where;

	return dladdr((void *)inside, &where) ? where.dli_fname : "";
}

bool util_registry_is_ours(void)
{
	return dlvsym(RTLD_DEFAULT, "dat_registry_providers_related", "DAT_OFI_1.0");
}

const char *util_registry_path(void)
{
	return library_of((uintptr_t)dat_strerror);
}

void util_print_version(const char *program)
{
	uint32_t running = fi_version();

	printf("%s (dat-ofi) %s\n", program, PACKAGE_VERSION);
	printf("libfabric %u.%u, compiled with %d.%d, %s\n", FI_MAJOR(running), FI_MINOR(running),
	       FI_MAJOR_VERSION, FI_MINOR_VERSION, library_of((uintptr_t)fi_version));
	printf("DAT registry %s%s\n", util_registry_path(),
	       util_registry_is_ours() ? "" : ", not that of dat-ofi");
}

static int choose(const struct util_opt *opt, const char *text)
{
	char list[128] = "";

	for (uint32_t i = 0; opt->choices[i]; i++) {
		if (!strcmp(opt->choices[i], text)) {
			*(uint32_t *)opt->target = i;
			return 0;
		}
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 opt->choices[i]);
	}
	return util_fail("--%s %s: must be one of %s", opt->name, text, list);
}

static int apply(const struct util_opt *opt, char *text)
{
	uint64_t value;

	switch (opt->kind) {
	case UTIL_OPT_FLAG:
		*(bool *)opt->target = true;
		return 0;
	case UTIL_OPT_STRING:
		*(const char **)opt->target = text;
		return 0;
	case UTIL_OPT_CHOICE:
		return choose(opt, text);
	case UTIL_OPT_REAL:
		if (parse_real(text, opt->target))
			return util_fail("--%s: %s", opt->name, util_error());
		return 0;
	case UTIL_OPT_NUMBER:
		if (util_parse_number(text, opt->max, &value))
			return util_fail("--%s: %s", opt->name, util_error());
		if (value < opt->min)
			return util_fail("--%s %s: must be %u or more", opt->name, text, opt->min);
		*(uint32_t *)opt->target = (uint32_t)value;
		return 0;
	case UTIL_OPT_HEADING:
		break;
	}
	return util_fail("--%s: not an option", opt->name);
}

/* Why getopt_long() gave up. It has not passed a letter that others follow in one word yet. */
static int fail_option(int which, char **argv)
{
	const char *problem = which == ':' ? "needs an argument" : "is not an option";

	if (optopt && optopt < LONG_OPTION)
		return util_fail("-%c %s", optopt, problem);
	return util_fail("%s %s%s", argv[optind - 1], problem, which == ':' ? "" : " in this form");
}

static size_t row_of(const struct util_opt *opts, int which)
{
	size_t row = 0;

	if (which >= LONG_OPTION)
		return (size_t)(which - LONG_OPTION);
	while (opts[row].letter != which)
		row++;
	return row;
}

int util_opt_parse(int argc, char **argv, const struct util_opt *opts, size_t count, int *first_p)
{
	struct option longs[MAX_OPTIONS + 1] = {{0}};
	char shorts[2 * MAX_OPTIONS + 2] = ":";
	size_t nlongs = 0, nshorts = 1, row;
	int which;

	for (size_t i = 0; i < count && nlongs < MAX_OPTIONS; i++) {
		bool has_arg = opts[i].kind != UTIL_OPT_FLAG;

		if (opts[i].kind == UTIL_OPT_HEADING)
			continue;
		longs[nlongs++] =
			(struct option){opts[i].name, has_arg, NULL, LONG_OPTION + (int)i};
		if (opts[i].letter) {
			shorts[nshorts++] = opts[i].letter;
			if (has_arg)
				shorts[nshorts++] = ':';
		}
	}

	opterr = 0;
	while ((which = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (which == ':' || which == '?')
			return fail_option(which, argv);
		row = row_of(opts, which);
		if (apply(&opts[row], optarg))
			return -1;
		opts_given |= UINT64_C(1) << row;
	}
	*first_p = optind;
	return 0;
}

static bool is_word_of(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (; *words; words += strcspn(words, " "), words += strspn(words, " ")) {
		if (strcspn(words, " ") == len && !strncmp(words, word, len))
			return true;
	}
	return false;
}

int util_opt_check(const struct util_opt *opts, size_t count, const char *allowed, const char *mode)
{
	for (size_t i = 0; i < count; i++) {
		if (opts_given & UINT64_C(1) << i && !is_word_of(allowed, opts[i].name))
			return util_fail("--%s does not apply to %s", opts[i].name, mode);
	}
	return 0;
}

void util_opt_help(const struct util_opt *opts, size_t count)
{
	char left[64], letter[8];

	for (const struct util_opt *opt = opts; opt < opts + count; opt++) {
		if (opt->kind == UTIL_OPT_HEADING) {
			printf("\n%s\n", opt->help);
			continue;
		}
		snprintf(letter, sizeof(letter), opt->letter ? "-%c," : "   ", opt->letter);
		snprintf(left, sizeof(left), "%s --%s%s%s", letter, opt->name, opt->arg ? " " : "",
			 opt->arg ? opt->arg : "");
		printf("  %-27s %s\n", left, opt->help);
	}
}

/*
 * The length of the UTF-8 sequence of several bytes that stands at the beginning of the text; 0 if
 * there is none. Overlong forms, surrogates and numbers above U+10FFFF are no UTF-8, and the
 * control characters up to U+009F must not reach a terminal.
 */
static size_t utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} forms[] = {{0xe0, 0xc0, 0xa0}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	for (size_t i = 0; i < UTIL_ARRAY_LEN(forms); i++) {
		uint32_t point = *text & (unsigned char)~forms[i].mask;
		size_t at = 1;

		if ((*text & forms[i].mask) != forms[i].lead)
			continue;
		for (; at <= i + 1 && (text[at] & 0xc0) == 0x80; at++)
			point = point << 6 | (text[at] & 0x3f);
		return at == i + 2 && point >= forms[i].least && point <= 0x10ffff &&
				       (point < 0xd800 || point > 0xdfff)
			       ? at
			       : 0;
	}
	return 0;
}

/* A byte that is no UTF-8 is written as the character of its number. */
static void json_quoted(FILE *out, const char *text)
{
	putc('"', out);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		size_t length = utf8_length(c);

		if (length) {
			fprintf(out, "%.*s", (int)length, (const char *)c);
			c += length - 1;
		} else if (*c == '"' || *c == '\\') {
			fprintf(out, "\\%c", *c);
		} else if (*c < 0x20 || *c >= 0x7f) {
			fprintf(out, "\\u%04x", *c);
		} else {
			putc(*c, out);
		}
	}
	putc('"', out);
}

/* Writes everything in front of a value: comma, new line, key. */
static void json_lead(struct util_json *json, const char *key)
{
	if (json->comma)
		putc(',', json->out);
	if (json->depth)
		fprintf(json->out, "\n%*s", 2 * json->depth, "");
	json->comma = true;
	if (!key)
		return;
	json_quoted(json->out, key);
	fputs(": ", json->out);
}

void util_json_open(struct util_json *json, const char *key, char bracket)
{
	json_lead(json, key);
	putc(bracket, json->out);
	json->depth++;
	json->comma = false;
}

void util_json_close(struct util_json *json, char bracket)
{
	json->depth--;
	if (json->comma)
		fprintf(json->out, "\n%*s", 2 * json->depth, "");
	putc(bracket, json->out);
	json->comma = true;
	if (!json->depth)
		putc('\n', json->out);
}

void util_json_element(struct util_json *json, const char *text)
{
	if (json->comma)
		putc(',', json->out);
	fputs(text, json->out);
	json->comma = true;
}

void util_json_string(struct util_json *json, const char *key, const char *value)
{
	json_lead(json, key);
	json_quoted(json->out, value);
}

void util_json_lines(struct util_json *json, const char *key, const char *text)
{
	char *copy = text ? strdup(text) : NULL, *save = NULL;

	util_json_open(json, key, '[');
	for (char *line = copy ? strtok_r(copy, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		util_json_string(json, NULL, line);
	util_json_close(json, ']');
	free(copy);
}

void util_json_integer(struct util_json *json, const char *key, uint64_t value)
{
	json_lead(json, key);
	fprintf(json->out, "%llu", (unsigned long long)value);
}

void util_json_real(struct util_json *json, const char *key, double value)
{
	json_lead(json, key);
	if (isfinite(value))
		fprintf(json->out, "%.6g", value);
	else
		fputs("null", json->out);
}

void util_json_bool(struct util_json *json, const char *key, bool value)
{
	json_lead(json, key);
	fputs(value ? "true" : "false", json->out);
}

void util_json_begin(struct util_json *json, const char *program)
{
	char version[32];

	snprintf(version, sizeof(version), "%u.%u", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
	util_json_open(json, NULL, '{');
	util_json_string(json, "program", program);
	util_json_string(json, "version", PACKAGE_VERSION);
	util_json_string(json, "libfabric", version);
}
