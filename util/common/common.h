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
};

/*
 * Errors: whoever finds out what is wrong says so with util_fail() and returns its value, -1. Those
 * above pass the -1 on; only main(), or the code that tells the peer, prints util_error().
 */
int util_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *util_error(void);

/* "DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED"; the text is overwritten by the next call. */
const char *util_dat_text(DAT_RETURN ret);

/* The value of a named attribute, NULL when there is none of that name. */
const char *util_named_attr(const DAT_NAMED_ATTR *attr, DAT_COUNT count, const char *name);

/* "192.0.2.7" for an IPv4 or IPv6 socket address, a sentence for anything else. */
const char *util_address_text(const struct sockaddr *addr, char *text, size_t size);

/*
 * Text for terminals of 80 columns: words, broken between blanks, and the line's end. Column says
 * where the first line begins, indent where the others do.
 */
void util_write_wrapped(FILE *out, size_t column, size_t indent, const char *text);
/* A name at "left", its text from "right" on. */
void util_write_row(FILE *out, size_t left, size_t right, const char *name, const char *text);

/* Numbers as people type them: k, m and g are powers of 1024. 0, or -1 with util_error() set. */
int util_parse_number(const char *text, uint64_t max, uint64_t *value_p);

/* Program, project and libfabric versions, compiled and running; where the libraries are. */
void util_print_version(const char *program);
uint32_t util_fabric_version(void);

/* Command lines. One table tells the parser and --help, so that they cannot disagree. */
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
	char ctrl_msg; /* 0: long form only */
	const char *name;
	void *target;
	const char *arg; /* how --help calls the argument */
	const char *help;
	const char *const *choices; /* NULL terminated */
	uint32_t min, max;
};

#define UTIL_HEADING(text)                               \
	{                                                \
		.kind = UTIL_OPT_HEADING, .help = (text) \
	}
#define UTIL_ROW(kind_, letter_, name_, target_, arg_, help_, ...)                            \
	{                                                                                     \
		.kind = (kind_), .ctrl_msg = (letter_), .name = (name_), .target = (target_), \
		.arg = (arg_), .help = (help_), __VA_ARGS__                                   \
	}
#define UTIL_FLAG(ctrl_msg, name, target, help) \
	UTIL_ROW(UTIL_OPT_FLAG, ctrl_msg, name, target, NULL, help, .max = 0)
#define UTIL_STRING(ctrl_msg, name, target, arg, help) \
	UTIL_ROW(UTIL_OPT_STRING, ctrl_msg, name, target, arg, help, .max = 0)
#define UTIL_REAL(ctrl_msg, name, target, arg, help) \
	UTIL_ROW(UTIL_OPT_REAL, ctrl_msg, name, target, arg, help, .max = 0)
#define UTIL_NUMBER(ctrl_msg, name, target, arg, help, from, to) \
	UTIL_ROW(UTIL_OPT_NUMBER, ctrl_msg, name, target, arg, help, .min = (from), .max = (to))
#define UTIL_CHOICE(ctrl_msg, name, target, arg, help, names) \
	UTIL_ROW(UTIL_OPT_CHOICE, ctrl_msg, name, target, arg, help, .choices = (names))

/* The operands stay in argv from *first_p on. -1 with util_error() set when the line is wrong. */
int util_opt_parse(int argc, char **argv, const struct util_opt *opts, size_t count, int *first_p);
void util_opt_help(const struct util_opt *opts, size_t count);

/* JSON, written as it comes. A key of NULL makes an element of an array. */
struct util_json {
	FILE *out;
	int depth;
	bool comma; /* something precedes on this level */
};

/* The outermost object, with what all programs say first; util_json_close() ends it. */
void util_json_begin(struct util_json *json, const char *program);
void util_json_open(struct util_json *json, const char *key, char bracket);
void util_json_close(struct util_json *json, char bracket);

/* An element of an array that somebody else has written, line breaks and indentation included. */
void util_json_element(struct util_json *json, const char *text);
void util_json_string(struct util_json *json, const char *key, const char *value);
void util_json_integer(struct util_json *json, const char *key, uint64_t value);
void util_json_real(struct util_json *json, const char *key, double value);
void util_json_bool(struct util_json *json, const char *key, bool value);

#endif
