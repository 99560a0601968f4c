/* Feeds files, and the files of folders, to a fuzz target that is built without libFuzzer.
 * Arguments with a leading dash are libFuzzer's and left alone. */
#include "config.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef PFL_FUZZING

#define INPUT_MAX ((size_t)64 << 20)

static unsigned inputs;

static int run_file(const char *path)
{
	struct buf input = BUF_INIT;
	uint8_t *exact;
	int r = io_read_file(path, INPUT_MAX, &input);

	if (r < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
		return r;
	}
	/* Memory of just that size, so that a sanitizer or valgrind sees a read past its end. */
	exact = malloc(input.len ? input.len : 1);
	if (!exact)
		abort();
	if (input.len > 0)
		memcpy(exact, input.data, input.len);
	fprintf(stderr, "%s\n", path); /* the last one named is the one that crashed */
	LLVMFuzzerTestOneInput(exact, input.len);
	inputs++;
	free(exact);
	buf_done(&input);
	return 0;
}

static int run_path(const char *path)
{
	struct dirent *entry;
	struct stat st;
	int r = 0;
	DIR *dir;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return run_file(path);
	dir = opendir(path);
	if (!dir)
		return -1;
	while (r == 0 && (entry = readdir(dir))) {
		AUTO(free_auto) char *inside = NULL;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&inside, "%s/%s", path, entry->d_name) < 0)
			abort();
		r = run_path(inside);
	}
	closedir(dir);
	return r;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (argv[i][0] != '-' && run_path(argv[i]) < 0)
			return 1;
	if (inputs == 0) {
		fprintf(stderr, "no input in what was named\n");
		return 1;
	}
	printf("%u inputs\n", inputs);
	return 0;
}

#endif
