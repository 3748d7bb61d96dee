/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef UTIL_COMMON_H
#define UTIL_COMMON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <dat2/udat.h>

#define UTIL_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Exit status of the tools. */
enum {
	UTIL_EXIT_OK,
	UTIL_EXIT_FAILED,
	UTIL_EXIT_USAGE,
	UTIL_EXIT_WARNED, /* of checks: nothing fails, but there are warnings */
};

/*
 * Errors: the function that detects an error calls util_fail() with a message and returns its
 * value, -1. Its callers return -1, too. Only main(), or the code that informs the peer, prints
 * util_error().
 */
int util_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *util_error(void);

/*
 * main() calls the first before it opens anything: a file must not become standard output because
 * that one is closed. The second ends main(): it returns the exit status, or UTIL_EXIT_FAILED with
 * a message if not everything could be written.
 */
void util_keep_streams(void);
int util_close_stdout(const char *program, int status);

/* "DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED"; the text is overwritten by the next call. */
const char *util_dat_text(DAT_RETURN ret);

/* The value of a named attribute, NULL when there is none of that name. */
const char *util_named_attr(const DAT_NAMED_ATTR *attr, DAT_COUNT count, const char *name);

/* "192.0.2.7" for an IPv4 or IPv6 socket address, a sentence for anything else. */
const char *util_address_text(const struct sockaddr *addr, char *text, size_t size);

/*
 * Writes text for terminals of 80 columns, with line breaks between words. The first line begins at
 * `column`, the others at `indent`.
 */
void util_write_wrapped(FILE *out, size_t column, size_t indent, const char *text);
/* Writes a name at column `left` and its text from column `right` on. */
void util_write_row(FILE *out, size_t left, size_t right, const char *name, const char *text);

/* Parses a number; the suffixes k, m and g are powers of 1024. 0, or -1 with util_error() set. */
int util_parse_number(const char *text, uint64_t max, uint64_t *value_p);

/*
 * Prints the versions of the program and of libfabric, compiled and running, and the paths of the
 * libraries.
 */
void util_print_version(const char *program);
/* Whether libdat2 is that of this project. Others open only names that have a line in dat.conf. */
bool util_registry_is_ours(void);
const char *util_registry_path(void);
uint32_t util_fabric_version(void);

/* Command lines. The parser and --help use the same table, so they cannot disagree. */
enum util_opt_kind {
	UTIL_OPT_HEADING, /* help only: a title above the options that follow */
	UTIL_OPT_FLAG,    /* bool */
	UTIL_OPT_NUMBER,  /* uint32_t, between min and max */
	UTIL_OPT_REAL,    /* double, at least min */
	UTIL_OPT_STRING,  /* const char * */
	UTIL_OPT_CHOICE,  /* uint32_t, index into choices */
};

struct util_opt {
	enum util_opt_kind kind;
	char letter; /* 0: long form only */
	const char *name;
	void *target;
	const char *arg; /* name of the argument in --help */
	const char *help;
	const char *const *choices; /* NULL terminated */
	uint32_t min, max;
};

#define UTIL_HEADING(text)                               \
	{                                                \
		.kind = UTIL_OPT_HEADING, .help = (text) \
	}
#define UTIL_ROW(kind_, letter_, name_, target_, arg_, help_, ...)                          \
	{                                                                                   \
		.kind = (kind_), .letter = (letter_), .name = (name_), .target = (target_), \
		.arg = (arg_), .help = (help_), __VA_ARGS__                                 \
	}
#define UTIL_FLAG(letter, name, target, help) \
	UTIL_ROW(UTIL_OPT_FLAG, letter, name, target, NULL, help, .max = 0)
#define UTIL_STRING(letter, name, target, arg, help) \
	UTIL_ROW(UTIL_OPT_STRING, letter, name, target, arg, help, .max = 0)
#define UTIL_REAL(letter, name, target, arg, help) \
	UTIL_ROW(UTIL_OPT_REAL, letter, name, target, arg, help, .max = 0)
#define UTIL_NUMBER(letter, name, target, arg, help, from, to) \
	UTIL_ROW(UTIL_OPT_NUMBER, letter, name, target, arg, help, .min = (from), .max = (to))
#define UTIL_CHOICE(letter, name, target, arg, help, names) \
	UTIL_ROW(UTIL_OPT_CHOICE, letter, name, target, arg, help, .choices = (names))

/* The operands begin at argv[*first_p]. -1 with util_error() set if the command line is wrong. */
int util_opt_parse(int argc, char **argv, const struct util_opt *opts, size_t count, int *first_p);
/*
 * Fails if an option was given whose name is not among the words of `allowed`. `mode` is the
 * command or option that chose what the program does.
 */
int util_opt_check(const struct util_opt *opts, size_t count, const char *allowed,
		   const char *mode);
void util_opt_help(const struct util_opt *opts, size_t count);

/* JSON, written at once. A key of NULL makes an element of an array. */
struct util_json {
	FILE *out;
	int depth;
	bool comma; /* the level has an element already */
};

/*
 * Begins the outermost object, with the members that all programs write first; util_json_close()
 * ends it.
 */
void util_json_begin(struct util_json *json, const char *program);
void util_json_open(struct util_json *json, const char *key, char bracket);
void util_json_close(struct util_json *json, char bracket);

/* Adds an element of an array that a child has written, with line breaks and indentation. */
void util_json_element(struct util_json *json, const char *text);
void util_json_string(struct util_json *json, const char *key, const char *value);
/* An array of the lines of the text; NULL: an empty one. */
void util_json_lines(struct util_json *json, const char *key, const char *text);
void util_json_integer(struct util_json *json, const char *key, uint64_t value);
void util_json_real(struct util_json *json, const char *key, double value);
void util_json_bool(struct util_json *json, const char *key, bool value);

#endif
