/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "conf/conf.h"

#include "common/child.h"
#include "common/common.h"

#include <stdlib.h>
#include <string.h>

static const char *const generations[] = {"2.0", "1.2", NULL};

#define ANY_GENERATION UINT32_MAX

static struct {
	const char *file, *library, *parameters;
	uint32_t generation;
	bool thread_safe, write, dry, force, json, help, version;
} options = {.generation = ANY_GENERATION};

static const struct util_opt option_table[] = {
	UTIL_HEADING("Options:"),
	UTIL_STRING('f', "file", &options.file, "FILE",
		    "this file, not the one that registries read"),
	UTIL_FLAG('w', "write", &options.write, "generate, convert: change the file"),
	UTIL_FLAG('n', "dry-run", &options.dry, "add, remove: print the new file, change nothing"),
	UTIL_FLAG('F', "force", &options.force, "convert, remove: lines of others; add: any line"),
	UTIL_CHOICE('d', "dat", &options.generation, "VERSION",
		    "new lines: 2.0 (default), 1.2; or only its lines", generations),
	UTIL_STRING('p', "parameters", &options.parameters, "TEXT",
		    "add: such as \"provider=tcp\""),
	UTIL_STRING('l', "library", &options.library, "FILE", "add: another provider library"),
	UTIL_FLAG('t', "threadsafe", &options.thread_safe, "add: for programs that ask for it"),
	UTIL_FLAG('j', "json", &options.json, "list, check: JSON instead of text"),
	UTIL_FLAG('h', "help", &options.help, "this text"),
	UTIL_FLAG('V', "version", &options.version, "versions of the project and libfabric"),
};

static void usage(void)
{
	printf("Usage: dat_conf [OPTION]... COMMAND [NAME]...\n"
	       "Shows, checks and changes dat.conf, the file with the names of DAT interfaces.\n\n"
	       "  list [NAME...]      what each line stands for\n"
	       "  check [NAME...]     open what each line names; what is wrong, what to do\n"
	       "  generate            lines for all fabrics of this machine that open\n"
	       "  convert             lines for libdatofi from lines for OFED's libraries\n"
	       "  add NAME            a line; it has to open\n"
	       "  remove NAME...      lines\n\n"
	       "It changes the lines that it made itself, between two marks, unless forced.\n");
	util_opt_help(option_table, UTIL_ARRAY_LEN(option_table));
	printf("\nExit status: 0 all is well, 1 a line is wrong, a name has no line or the "
	       "command\nfailed, 2 wrong command line, 3 all lines open, some with "
	       "warnings.\n");
}

/* The version of DAT of new lines. */
static unsigned int new_major(void)
{
	return options.generation == 1 ? 1 : 2;
}

/* A line that is wrong has no version. */
static bool of_version(const struct conf_line *line)
{
	return options.generation == ANY_GENERATION || line->kind != CONF_ENTRY ||
	       line->entry.info.dapl_version_major == new_major();
}

static bool has_name(const struct conf_line *line, const char *name)
{
	return line->kind == CONF_ENTRY && !strcmp(line->entry.info.ia_name, name);
}

static bool asked_for(const struct conf_line *line, char **names)
{
	if (!of_version(line))
		return false;
	if (!*names)
		return true;
	for (; *names; names++) {
		if (has_name(line, *names))
			return true;
	}
	return false;
}

static bool is_entry(const struct conf_line *line)
{
	return line->kind == CONF_ENTRY;
}

/* Fails if one of the names has no line that fits. */
static int need_names(const struct conf_file *file, char **names,
		      bool (*fits)(const struct conf_line *line))
{
	char missing[512] = "";

	for (; *names; names++) {
		size_t used = strlen(missing), at = 0;

		while (at < file->count &&
		       !(has_name(&file->lines[at], *names) && of_version(&file->lines[at]) &&
			 fits(&file->lines[at])))
			at++;
		if (at == file->count)
			snprintf(missing + used, sizeof(missing) - used, "%s%s", used ? ", " : "",
				 *names);
	}
	if (!*missing)
		return 0;
	return util_fail("%s has no line%s%s for %s", file->path,
			 options.generation == ANY_GENERATION ? "" : " of that version of DAT",
			 fits == is_entry ? "" : " that registries would use", missing);
}

static int need_file(const struct conf_file *file)
{
	if (file->exists)
		return 0;
	return util_fail("there is no %s; dat_conf generate --write makes it", file->path);
}

/* ---- list ---- */

static const char *state_of(const struct conf_file *file, size_t at)
{
	const struct conf_line *line = &file->lines[at];

	if (line->kind == CONF_WRONG)
		return "wrong";
	if (!line->entry.is_user)
		return "kernel";
	if (!line->entry.is_default)
		return "nondefault";
	return conf_shadow(file, at) ? "shadowed" : "active";
}

static void json_line(struct util_json *json, const struct conf_file *file, size_t at)
{
	const struct conf_line *line = &file->lines[at];
	const struct datr_line *entry = &line->entry;
	char version[32];

	util_json_integer(json, "line", at + 1);
	util_json_string(json, "state", state_of(file, at));
	util_json_bool(json, "ours", line->ours);
	if (line->kind == CONF_WRONG) {
		util_json_string(json, "reason", line->wrong);
		return;
	}
	snprintf(version, sizeof(version), "%u.%u", entry->info.dapl_version_major,
		 entry->info.dapl_version_minor);
	util_json_string(json, "name", entry->info.ia_name);
	util_json_string(json, "dat", version);
	util_json_bool(json, "thread_safe", entry->info.is_thread_safe);
	util_json_string(json, "library", entry->library);
	util_json_string(json, "parameters", entry->ia_params);
}

static void text_line(const struct conf_file *file, size_t at)
{
	const struct conf_line *line = &file->lines[at];
	const struct datr_line *entry = &line->entry;

	printf("%4zu %c %-10s ", at + 1, line->ours ? '*' : ' ', state_of(file, at));
	if (line->kind == CONF_WRONG) {
		util_write_wrapped(stdout, 18, 18, line->wrong);
		return;
	}
	printf("%s\n%18s", entry->info.ia_name, "");
	printf("DAT %u.%u%s, %s \"%s\"\n", entry->info.dapl_version_major,
	       entry->info.dapl_version_minor, entry->info.is_thread_safe ? " threadsafe" : "",
	       entry->library, entry->ia_params);
}

static void begin_json(struct util_json *json, const struct conf_file *file)
{
	util_json_begin(json, "dat_conf");
	util_json_string(json, "file", file->path);
	util_json_open(json, "lines", '[');
}

static void end_json(struct util_json *json)
{
	util_json_close(json, ']');
	util_json_close(json, '}');
}

static int do_list(struct conf_file *file, char **names)
{
	struct util_json json = {.out = stdout};

	if (need_file(file))
		return -1;
	if (options.json)
		begin_json(&json, file);
	else
		printf("%s, lines made by dat_conf with a *\n", file->path);
	for (size_t i = 0; i < file->count; i++) {
		if (file->lines[i].kind == CONF_OTHER || !asked_for(&file->lines[i], names))
			continue;
		if (!options.json) {
			text_line(file, i);
			continue;
		}
		util_json_open(&json, NULL, '{');
		json_line(&json, file, i);
		util_json_close(&json, '}');
	}
	if (options.json)
		end_json(&json);
	return need_names(file, names, is_entry);
}

/* ---- check ---- */

static void text_verdict(const struct conf_file *file, size_t at, bool ok,
			 const struct util_answer *answer, const char *why)
{
	const struct conf_line *line = &file->lines[at], *first = conf_shadow(file, at);
	const char *name = line->kind == CONF_ENTRY ? line->entry.info.ia_name : "";

	if (ok)
		printf("%s:%zu: %s opens%s\n", file->path, at + 1, name,
		       answer->warnings ? ", with warnings:" : "");
	else
		printf("%s:%zu: %s%s\n", file->path, at + 1, name,
		       line->kind == CONF_ENTRY ? " does not open:" : "this is wrong:");
	if (first)
		printf("    it is tried only when line %zu does not open\n",
		       (size_t)(first - file->lines) + 1);
	if (ok) {
		util_write_log(stdout, answer->warnings);
		return;
	}
	printf("    ");
	util_write_wrapped(stdout, 4, 6, why);
	util_write_log(stdout, answer->log);
	printf("    to do: ");
	util_write_wrapped(stdout, 11, 6, conf_remedy(line, answer->log));
}

static void json_verdict(struct util_json *json, const struct conf_file *file, size_t at, bool ok,
			 const struct util_answer *answer, const char *why)
{
	util_json_open(json, NULL, '{');
	json_line(json, file, at);
	util_json_bool(json, "opens", ok);
	if (!ok && file->lines[at].kind == CONF_ENTRY)
		util_json_string(json, "reason", why);
	if (!ok)
		util_json_string(json, "remedy", conf_remedy(&file->lines[at], answer->log));
	util_json_lines(json, "warnings", ok ? answer->warnings : NULL);
	util_json_string(json, "log", answer->log ? answer->log : "");
	util_json_close(json, '}');
}

/* Reports on one line. */
static int check_line(struct util_json *json, const struct conf_file *file, size_t at)
{
	const struct conf_line *line = &file->lines[at];
	struct util_answer answer = {.ok = false};
	bool ok = line->kind == CONF_ENTRY && conf_try(line, &answer);
	const char *why = line->kind == CONF_WRONG ? line->wrong : util_answer_failure(&answer);
	bool ok_warned;

	if (options.json)
		json_verdict(json, file, at, ok, &answer, why);
	else
		text_verdict(file, at, ok, &answer, why);
	ok_warned = ok && answer.warnings;
	util_answer_free(&answer);
	return ok_warned ? UTIL_EXIT_WARNED : ok ? UTIL_EXIT_OK : UTIL_EXIT_FAILED;
}

static int do_check(struct conf_file *file, char **names)
{
	struct util_json json = {.out = stdout};
	size_t looked = 0, count[UTIL_EXIT_WARNED + 1] = {0}, wrong, warned;
	int missing;

	if (need_file(file))
		return -1;
	if (options.json)
		begin_json(&json, file);
	for (size_t i = 0; i < file->count; i++) {
		const struct conf_line *line = &file->lines[i];

		if ((!conf_is_active(line) && line->kind != CONF_WRONG) || !asked_for(line, names))
			continue;
		looked++;
		count[check_line(&json, file, i)]++;
	}
	if (options.json)
		end_json(&json);
	wrong = count[UTIL_EXIT_FAILED];
	warned = count[UTIL_EXIT_WARNED];
	missing = need_names(file, names, conf_is_active);
	if (wrong)
		return util_fail("%zu of %zu lines of %s do not work%s%s", wrong, looked,
				 file->path, missing ? "; " : "", missing ? util_error() : "");
	if (missing || !warned)
		return missing;
	util_fail("%zu of %zu lines of %s open with warnings", warned, looked, file->path);
	return UTIL_EXIT_WARNED;
}

/* ---- changes ---- */

static int finish(struct conf_file *file, bool write)
{
	if (write)
		return conf_file_write(file);
	conf_file_print(file, stdout);
	return 0;
}

static int do_generate(struct conf_file *file, char **names)
{
	(void)names;
	if (conf_generate(file, new_major()))
		return -1;
	return finish(file, options.write);
}

static int do_convert(struct conf_file *file, char **names)
{
	(void)names;
	if (need_file(file) || conf_convert(file, options.force))
		return -1;
	return finish(file, options.write);
}

static int do_remove(struct conf_file *file, char **names)
{
	if (need_file(file) || need_names(file, names, is_entry))
		return -1;
	for (size_t i = file->count; i-- > 0;) {
		if (i >= file->count || file->lines[i].kind != CONF_ENTRY ||
		    !asked_for(&file->lines[i], names))
			continue;
		if (!file->lines[i].ours && !options.force)
			return util_fail("%s:%zu: dat_conf did not make the line for %s; --force "
					 "removes it all the same",
					 file->path, i + 1, file->lines[i].entry.info.ia_name);
		conf_file_remove(file, i);
	}
	return finish(file, !options.dry);
}

/* Fails if a line has the name already, because registries would try it before the new one. */
static int check_free(const struct conf_file *file, const char *name, unsigned int major)
{
	for (size_t i = 0; i < file->count; i++) {
		const struct datr_line *entry = &file->lines[i].entry;

		if (conf_is_active(&file->lines[i]) && !strcmp(entry->info.ia_name, name) &&
		    entry->info.dapl_version_major == major && !options.force)
			return util_fail(
				"%s:%zu: %s is there already; remove that line, or add one "
				"behind it with --force",
				file->path, i + 1, name);
	}
	return 0;
}

static int add_line(struct conf_file *file, const char *name, const char *text)
{
	struct util_answer answer;
	bool opens = conf_try_text(text, &answer);
	int ret = 0;

	if (!opens && !options.force) {
		util_write_log(stderr, answer.log);
		ret = util_fail("%s does not open: %s; --force adds it all the same", name,
				util_answer_failure(&answer));
	}
	if (opens)
		util_write_log(stderr, answer.warnings);
	util_answer_free(&answer);
	if (ret || conf_file_add(file, text))
		return -1;
	return finish(file, !options.dry);
}

static int do_add(struct conf_file *file, char **names)
{
	const struct conf_fields fields = {
		.name = *names,
		.library = options.library,
		.parameters = options.parameters ? options.parameters : "",
		.major = new_major(),
		.minor = new_major() == 1 ? 2 : 0,
		.thread_safe = options.thread_safe,
	};
	char *text;
	int ret;

	if (strpbrk(*names, "\n") || strpbrk(fields.parameters, "\n") ||
	    (fields.library && strpbrk(fields.library, "\n")))
		return util_fail("a line of dat.conf can't hold a line break");
	if (check_free(file, *names, fields.major))
		return -1;
	text = conf_format(&fields);
	if (!text)
		return util_fail("out of memory");
	ret = conf_check_text(text);
	if (!ret)
		ret = add_line(file, *names, text);
	free(text);
	return ret;
}

static const struct command {
	const char *name;
	/* -1 with util_error() set, or an exit status */
	int (*run)(struct conf_file *file, char **names);
	int least, most; /* number of names; -1: any */
	const char *options;
} commands[] = {
	{"list", do_list, 0, -1, "file dat json"},
	{"check", do_check, 0, -1, "file dat json"},
	{"generate", do_generate, 0, 0, "file dat write"},
	{"convert", do_convert, 0, 0, "file force write"},
	{"add", do_add, 1, 1, "file force dry-run dat library parameters threadsafe"},
	{"remove", do_remove, 1, -1, "file force dry-run dat"},
};

static const struct command *find_command(int argc, char **argv, int first)
{
	int names = argc - first - 1;

	if (first == argc) {
		util_fail("no command");
		return NULL;
	}
	for (size_t i = 0; i < UTIL_ARRAY_LEN(commands); i++) {
		const struct command *command = &commands[i];

		if (strcmp(command->name, argv[first]))
			continue;
		if (names < command->least || (command->most >= 0 && names > command->most)) {
			util_fail("%s takes %s", command->name,
				  command->most == 1 ? "one name"
				  : command->least   ? "at least one name"
						     : "no names");
			return NULL;
		}
		return util_opt_check(option_table, UTIL_ARRAY_LEN(option_table), command->options,
				      command->name)
			       ? NULL
			       : command;
	}
	util_fail("%s is no command", argv[first]);
	return NULL;
}

static int run(const struct command *command, char **names)
{
	struct conf_file file;
	int ret = conf_file_read(&file, options.file);

	if (!ret) {
		ret = command->run(&file, names);
		conf_file_free(&file);
	}
	if (!ret)
		return UTIL_EXIT_OK;
	fflush(stdout);
	fprintf(stderr, "dat_conf: %s\n", util_error());
	return ret < 0 ? UTIL_EXIT_FAILED : ret;
}

static int run_line(int argc, char **argv)
{
	const struct command *command = NULL;
	int first;
	bool wrong = util_opt_parse(argc, argv, option_table, UTIL_ARRAY_LEN(option_table), &first);

	if (!wrong && (options.help || options.version)) {
		options.help ? usage() : util_print_version("dat_conf");
		return UTIL_EXIT_OK;
	}
	if (!wrong)
		command = find_command(argc, argv, first);
	if (!command) {
		fprintf(stderr, "dat_conf: %s; dat_conf --help tells more\n", util_error());
		return UTIL_EXIT_USAGE;
	}
	return run(command, &argv[first + 1]);
}

int main(int argc, char **argv)
{
	util_keep_streams();
	return util_close_stdout("dat_conf", run_line(argc, argv));
}
