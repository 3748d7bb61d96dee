/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs a fuzz target without libFuzzer, and writes TAP: once for each named file, or for each file
 * of the target's corpus. If the target crashes, its file is the last one in the output.
 */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>

#define PATH_SIZE  4096

/* The longest input of libFuzzer (run.sh). Longer inputs are truncated. */
#define INPUT_SIZE 4096

static void replay(const char *path, const char *name, int number)
{
	FILE *file = fopen(path, "re");
	uint8_t *input = malloc(INPUT_SIZE), *exact;
	size_t size;

	if (!file || !input) {
		printf("not ok %d - %s # cannot be read\n", number, name);
		exit(EXIT_FAILURE);
	}
	size = fread(input, 1, INPUT_SIZE, file);
	fclose(file);
	/* Exactly this size, so AddressSanitizer notices reads beyond the end. */
	exact = malloc(size ? size : 1);
	memcpy(exact, input, size);
	free(input);
	printf("# %s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	printf("ok %d - %s\n", number, name);
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int replay_corpus(void)
{
	const char *top = getenv("top_srcdir");
	char dir[PATH_SIZE], path[2 * PATH_SIZE];
	struct dirent **files;
	int n;

	snprintf(dir, sizeof(dir), "%s/test/fuzz/corpus/" FUZZ_CORPUS, top ? top : ".");
	n = scandir(dir, &files, is_file, alphasort);
	if (n <= 0) {
		printf("Bail out! there is no corpus in %s\n", dir);
		return EXIT_FAILURE;
	}
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]->d_name);
		replay(path, files[i]->d_name, i + 1);
		free(files[i]);
	}
	free(files);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return replay_corpus();
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++)
		replay(argv[i], argv[i], i);
	return EXIT_SUCCESS;
}
